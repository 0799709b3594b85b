"""Where files were opened, in logs that are made of others: merged ones, parts, anonymized ones."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shown
from iolens.metrics import Dataset
from observed import Observe
from sites import KNOWS_THREADS, LOW, build, files, opened

Run = Callable[..., "subprocess.CompletedProcess[str]"]

OPENS = """
static int use(int file) { return write(file, "x", 1) != 1 || close(file); }
NAMED(reader) { return use(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: reader */ }
NAMED(writer) { return use(open(path, O_CREAT | O_RDWR, 0600)) | 0; /* LINE: writer */ }
int main(int argc, char **argv)
{
	struct stat s;
	for (int n = 1; n + 1 < argc; n += 2)
		if (argv[n][0] == 'r')
			reader(argv[n + 1]);
		else if (argv[n][0] == 'w')
			writer(argv[n + 1]);
		else
			stat(argv[n + 1], &s);
	return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return build(tmp_path, "program", OPENS)


def text(run_iolens: Run, log: Path) -> str:
    done = run_iolens(["show", "--base", "--ext", log])
    assert done.returncode == 0, done.stderr
    return done.stdout


def site_rows(text: str) -> list[dict[str, Any]]:
    return sorted(shown.sections(text).get("sites", []), key=lambda row: sorted(row.items()))


def ranks(log: Path) -> dict[tuple[str, str], int | None]:
    """(file, function) -> how many ranks opened it there."""
    with Dataset(log) as data:
        rows = data.query(
            "SELECT name, function, ranks FROM call_site JOIN name_of USING (log, id)"
        ).fetchall()
    return {(Path(name).name, function): count for name, function, count in rows}


def test_merged_logs_know_the_place_of_each_file(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    untold = {"env": {"IOLENS_SITES": "off"}}
    runs: list[tuple[list[str], dict[str, Any]]] = [
        (["r", "a", "r", "b", "r", "both"], {}),
        (["w", "c", "w", "both", "r", "all"], {}),
        (["r", "all", "stat", "a", "r", "both"], {}),
        (["r", "untold", "r", "a"], untold),
    ]
    logs = [observe([program, *words], cwd=tmp_path, **more).log for words, more in runs]
    merged = tmp_path / "merged.darshan"
    assert run_iolens(["merge", "-o", merged, *logs]).returncode == 0
    shows = text(run_iolens, merged)
    want = {
        "a": {"reader:reader", ""},
        "b": {"reader:reader"},
        "c": {"writer:writer"},
        "both": {"reader:reader", "writer:writer"},
        "all": {"reader:reader"},
        "untold": {""},
    }
    assert files(shows, "posix", want) == want
    several = {("a", "reader"): 1, ("a", ""): 1, ("both", "reader"): 2, ("both", "writer"): 1}
    alone = {("c", "writer"): 1, ("untold", ""): 1, ("b", "reader"): None, ("all", "reader"): None}
    assert ranks(merged) == {**several, **alone}
    table = run_iolens(["files", "--sites", merged]).stdout
    places = dict(re.findall(r" (program\+0x[0-9a-f]+|-) +\S*/(\w+)$", table, re.M))
    assert {name for place, name in re.findall(r" (-) +\S*/(\w+)$", table, re.M)} == {"untold"}
    assert len(places) == 3 and run_iolens(["report", merged, "-o", tmp_path / "r.html"]).returncode == 0
    assert "writer (program.c:" in (tmp_path / "r.html").read_text()


def test_merged_again_and_alone_the_table_stays(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    logs = [
        observe([program, *words], cwd=tmp_path).log
        for words in (["r", "a", "w", "b", "r", "c"], ["w", "a", "r", "d"], ["r", "e"])
    ]
    at_once, first, then, alone = (tmp_path / f"{n}.darshan" for n in range(4))
    for made, of in ((at_once, logs), (first, logs[:2]), (then, [first, logs[2]]), (alone, logs[:1])):
        assert run_iolens(["merge", "-o", made, *of]).returncode == 0
    assert site_rows(text(run_iolens, then)) == site_rows(text(run_iolens, at_once)) != []
    assert site_rows(text(run_iolens, alone)) == site_rows(text(run_iolens, logs[0])) != []


FORKS = """
NAMED(reader) { return close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: reader */ }
NAMED(writer) { return close(open(path, O_CREAT | O_RDWR, 0600)) | 0; /* LINE: writer */ }
int main(void)
{
	reader("one");
	for (int n = 0; n < 2; n++)
		if (fork() == 0)
			_exit(writer("two") | (n ? writer("one") : reader("one")));
		else
			wait(NULL);
	return reader("three");
}
"""


@pytest.mark.parametrize(
    "parts", [(["--rank", "0-1"], ["--rank", "2"]), (["--name", "*one"], ["--name", "*t*"])]
)
def test_parts_of_a_log_become_it_again(
    observe: Observe, run_iolens: Run, tmp_path: Path, parts: tuple[list[str], list[str]]
) -> None:
    whole = observe([build(tmp_path, "program", FORKS)], cwd=tmp_path).log
    made = [tmp_path / f"{n}.darshan" for n in range(2)]
    for options, log in zip(parts, made):
        assert run_iolens(["convert", *options, whole, log]).returncode == 0
    merged = tmp_path / "merged.darshan"
    assert run_iolens(["merge", "-o", merged, *made]).returncode == 0
    assert site_rows(text(run_iolens, merged)) == site_rows(text(run_iolens, whole))
    if KNOWS_THREADS:
        assert ranks(merged)["one", "reader"] == 2 and ranks(merged)["one", "writer"] == 1


def test_logs_without_sites_have_none_when_merged(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    untold = [observe([program, "r", name], cwd=tmp_path, env={"IOLENS_SITES": "off"}).log for name in "ab"]
    merged = tmp_path / "merged.darshan"
    assert run_iolens(["merge", "-o", merged, *untold]).returncode == 0
    assert not site_rows(text(run_iolens, merged))
    told = observe([program, "r", "c"], cwd=tmp_path).log
    assert run_iolens(["merge", "--drop-trailer", "-o", tmp_path / "m", told, untold[0]]).returncode == 0
    assert not site_rows(text(run_iolens, tmp_path / "m"))


def test_anonymized_logs_keep_places_and_no_names(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    log = observe(
        [program, "r", "a", "w", "b", "r", "c", "r", "d"], cwd=tmp_path, options=("-q", "--trace")
    ).log
    new = tmp_path / "new.darshan"
    assert run_iolens(["convert", "--anonymize", log, new]).returncode == 0
    old_rows, rows = site_rows(text(run_iolens, log)), site_rows(text(run_iolens, new))
    assert sorted(row["offset"] for row in rows) == sorted(row["offset"] for row in old_rows)
    for field in ("module", "build_id"):
        assert not {row[field] for row in rows} & {row[field] for row in old_rows}
        assert len({row[field] for row in rows}) == len({row[field] for row in old_rows}) == 1
    assert not {row["file"] for row in rows} & {row["file"] for row in old_rows} - {"0"}
    places = [
        sorted((place is not None, len(names)) for place, names in by_place(run_iolens, one).items())
        for one in (log, new)
    ]
    assert places[0] == places[1] == [(True, 1), (True, 3)]
    module = rows[0]["module"].rpartition("/")[2]
    assert f" {module}+0x" in run_iolens(["files", "--sites", new]).stdout
    assert f"/{module}+0x" in run_iolens(["trace", new]).stdout
    with Dataset(new) as data:
        assert data.query("SELECT DISTINCT note FROM call_site").fetchall() == [("not on this machine",)]
    found = {row["exe"] for row in shown.sections(text(run_iolens, new))["process"]}
    assert {row["module"] for row in rows} == found, "the pseudonym is that of the program"


def by_place(run_iolens: Run, log: Path) -> dict[int, list[str]]:
    """Offset of the call -> names of the files that it opened."""
    found: dict[int, list[str]] = {}
    for file in json.loads(run_iolens(["files", "--sites", "--json", log]).stdout)["files"]:
        for site in file["opened_by"]:
            found.setdefault(site["offset"], []).append(file["name"])
    return found


def test_an_anonymized_part_has_the_places_of_its_files(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    log = observe([program, "r", "a", "w", "b", "r", "c"], cwd=tmp_path).log
    new = tmp_path / "new.darshan"
    done = run_iolens(["convert", "--anonymize", "--name", "*/a", log, new])
    assert done.returncode == 0, done.stderr
    shows = text(run_iolens, new)
    (place,) = opened(shows).values()
    assert len(place) == 1 and len(site_rows(shows)) == 1
    ids = {int(row["file"]) for row in site_rows(shows)}
    assert all(one <= LOW for one in ids)


def test_a_merged_log_can_be_anonymized(
    observe: Observe, run_iolens: Run, program: Path, tmp_path: Path
) -> None:
    logs = [observe([program, "r", name], cwd=tmp_path).log for name in "ab"]
    merged, new = tmp_path / "merged.darshan", tmp_path / "new.darshan"
    assert run_iolens(["merge", "-o", merged, *logs]).returncode == 0
    done = run_iolens(["convert", "--anonymize", merged, new])
    assert done.returncode == 0, done.stderr
    assert len(site_rows(text(run_iolens, new))) == 1
