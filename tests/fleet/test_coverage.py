"""iolens fleet accounting and coverage: against the generator's truth, and hand-made accounting with its traps."""

from __future__ import annotations

import csv
import importlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from here import run_here
from iolens import schemas
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from jsonschema import Draft202012Validator
from made_area import Here
from made_log import Make
from once import once

FLEETGEN = Path(__file__).resolve().parents[2] / "bench" / "fleetgen"
T0 = 1_359_676_800  # 2013-02-01T00:00:00 UTC
HEAD = "JobID|JobIDRaw|User|Account|State|Start|End|AllocCPUS|Comment"


def run(*args: object, code: int = 0, given: str | None = None) -> subprocess.CompletedProcess[str]:
    done = run_here("fleet", *args, given=given or "")
    assert done.returncode == code, (args, done.stdout, done.stderr)
    return done


def told(name: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    errors = list(Draft202012Validator(schemas.load(name)).iter_errors(found))
    assert not errors, errors
    return found


@pytest.fixture(scope="module")
def fleetgen() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FLEETGEN))
    try:
        yield importlib.import_module("generate")
    finally:
        sys.path.remove(str(FLEETGEN))


@pytest.fixture(scope="module")
def population(fleetgen: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A population, its lake and its accounting in it."""

    def make(out: Path) -> None:
        fleetgen.generate(out, logs=400, days=20, users=50, files=3, most=30, damaged=6)
        run("ingest", out / "logs", "--lake", out / "lake", "--no-rules", "-j", 1, code=4)
        run("accounting", out / "accounting.txt", "--zone", "UTC", "--lake", out / "lake")

    return once(tmp_path_factory, "population", make)


def truth_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "truth.json").read_text())
    return found


def test_coverage_of_each_day_is_what_the_generator_knows(population: Path) -> None:
    found = told("coverage", run("coverage", "--lake", population / "lake", "--json").stdout)
    truth = truth_of(population)
    for row, day in zip(found["groups"], truth["coverage"]):
        assert {
            "day": row["key"],
            **{name: row[name] for name in ("users", "users_logged", "jobs", "jobs_logged")},
            "core_seconds": round(row["core_hours"] * 3600),
            "core_seconds_logged": round(row["core_hours_logged"] * 3600),
        } == day
        assert row["percent_jobs"] == pytest.approx(100 * day["jobs_logged"] / day["jobs"])
    assert len(found["groups"]) == len(truth["coverage"]) == 20
    assert found["total"]["jobs"] == truth["accounted_jobs"]
    ends = {
        row["state"]: (row["started"], row["no_log"], round(3600 * row["core_hours_no_log"]))
        for row in found["no_log"]
    }
    assert ends == {
        state: (row["started"], row["no_log"], row["core_seconds_no_log"])
        for state, row in truth["started"].items()
        if row["started"]
    }
    assert found["observed_told"]


def test_weeks_and_accounts_add_up_to_the_same(population: Path) -> None:
    with (population / "accounting.txt").open() as file:
        jobs = [row for row in csv.DictReader(file, delimiter="|") if "." not in row["JobID"]]
    for by, groups in (("week", 3), ("account", len({job["Account"] for job in jobs}))):
        found = told("coverage", run("coverage", "--lake", population / "lake", "--json", "--by", by).stdout)
        assert len(found["groups"]) == groups
        assert sum(row["jobs"] for row in found["groups"]) == len(jobs)
        assert sum(row["jobs_logged"] for row in found["groups"]) == found["total"]["jobs_logged"]


def test_csv_and_text_say_the_same(population: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(run("coverage", "--lake", population / "lake", "--csv").stdout)))
    first = truth_of(population)["coverage"][0]
    assert (rows[0]["day"], rows[0]["jobs"], rows[0]["users_logged"]) == (
        first["day"], str(first["jobs"]), str(first["users_logged"])
    )  # fmt: skip
    text = run("coverage", "--lake", population / "lake").stdout
    line = next(line.split() for line in text.splitlines() if first["day"] in line)
    assert line[3:5] == [str(first["jobs"]), f"{100 * first['jobs_logged'] / first['jobs']:.1f}"]
    assert "TIMEOUT" in text


def test_the_same_accounting_again_changes_nothing(population: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(population / "lake", lake)
    before = run("coverage", "--lake", lake, "--csv").stdout
    again = run("accounting", population / "accounting.txt", "--zone", "UTC", "--lake", lake, "--json")
    (file,) = told("accounting", again.stdout)["files"]
    assert (file["added"], file["jobs"]) == (0, truth_of(population)["accounted_jobs"])
    assert run("coverage", "--lake", lake, "--csv").stdout == before


def test_accounting_read_in_a_wrong_zone_is_found_out(population: Path, tmp_path: Path) -> None:
    run("ingest", population / "logs", "--lake", tmp_path / "lake", "--no-rules", "-j", 1, code=4)
    run("accounting", population / "accounting.txt", "--zone", "Asia/Tokyo", "--lake", tmp_path / "lake")
    told_of = run("coverage", "--lake", tmp_path / "lake").stderr
    assert "began +9.0 h from the run of the job: was the accounting read in another time zone" in told_of


# ---- by hand ----


def lake_of(make_log: Make, tmp_path: Path, logs: Sequence[tuple[int, int]]) -> Path:
    """A lake of logs: (number of the job, start in seconds after T0)."""
    area = tmp_path / "area"
    area.mkdir()
    for number, (job_id, start) in enumerate(logs):
        made = make_log(job_id=job_id, start=T0 + start, end=T0 + start + 10)
        made.rename(area / f"anna_x_id{job_id}-{number}_2-1-0-1_1.darshan")
    lake = tmp_path / "lake"
    Ingest(Lake.create(lake), Options(str(lake), rules=False), jobs=1, pool=Here()).run([area])
    return lake


def line(  # noqa: PLR0913, PLR0917
    job: str, start: int, end: int, user: str = "anna", state: str = "COMPLETED", comment: str = ""
) -> str:
    raw = job.rsplit("_", maxsplit=1)[-1]
    return f"{job}|{raw}|{user}|m1|{state}|{T0 + start}|{T0 + end}|10|{comment}"


def jobs_of(lake: Path, *lines: str) -> dict[str, Any]:
    run("accounting", "-", "--lake", lake, given="\n".join([HEAD, *lines, ""]))
    return told("coverage", run("coverage", "--lake", lake, "--json").stdout)


def test_a_number_used_again_is_told_apart_by_time(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(5, 100_000), (6, 50_000)])
    found = jobs_of(
        lake,
        line("5", 0, 100),
        line("5", 99_990, 100_100),
        line("6", 0, 100, user="carl"),
        line("7", 0, 100_000),
    )
    assert [
        (row["users"], row["users_logged"], row["jobs"], row["jobs_logged"]) for row in found["groups"]
    ] == [
        (2, 0, 3, 0),
        (1, 1, 1, 1),
    ]
    assert found["unmatched"] == {"unknown": 0, "elsewhen": 1, "seconds_off": 50_000}


def test_a_log_with_the_number_of_another_users_job_is_none_of_it(make_log: Make, tmp_path: Path) -> None:
    """A user chooses what a log says; whose it is says its file."""
    lake = lake_of(make_log, tmp_path, [(5, 10), (6, 10)])
    found = jobs_of(lake, line("5", 0, 100, user="bert"), line("6", 0, 100))
    assert (found["total"]["jobs"], found["total"]["jobs_logged"]) == (2, 1)


def test_several_logs_of_a_job_and_tasks_of_an_array(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(21, 5), (21, 50), (22, 7), (99, 8)])
    found = jobs_of(lake, line("20_21", 0, 100), line("20_22", 0, 100), line("20_23", 0, 100))
    assert (found["total"]["jobs"], found["total"]["jobs_logged"]) == (3, 2)
    assert found["unmatched"]["unknown"] == 1
    assert not found["observed_told"]


def test_clocks_may_differ_by_the_slack(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(1, -30), (2, 0)])
    assert jobs_of(lake, line("1", 0, 100), line("2", 0, 100))["total"]["jobs_logged"] == 2
    strict = told("coverage", run("coverage", "--lake", lake, "--json", "--slack", 10).stdout)
    assert strict["total"]["jobs_logged"] == 1


def test_a_running_job_counts_when_it_has_ended(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(1, 5)])
    running = f"2|2|bert|m1|RUNNING|{T0}|Unknown|10|iolens"
    assert jobs_of(lake, line("1", 0, 100), running)["total"]["jobs"] == 1
    found = jobs_of(lake, line("2", 0, 3600, user="bert", state="TIMEOUT", comment="iolens 1.0"))
    assert (found["total"]["jobs"], found["total"]["core_hours"]) == (2, pytest.approx(10 + 1000 / 3600))
    assert [(row["state"], row["started"], row["no_log"]) for row in found["no_log"]] == [
        ("TIMEOUT", 1, 1),
        ("COMPLETED", 1, 0),
    ]
    # Failed jobs make no active user.
    assert (found["total"]["users"], found["total"]["users_logged"]) == (1, 1)


def test_what_ran_under_iolens_may_be_listed(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(1, 5)])
    (tmp_path / "list").write_text("1\n3 node7 1359676800\n")
    lines = "\n".join([HEAD, *(line(str(job), 0, 100) for job in (1, 2, 3)), ""])
    run("accounting", "-", "--lake", lake, "--observed", tmp_path / "list", given=lines)
    found = told("coverage", run("coverage", "--lake", lake, "--json").stdout)
    assert [(row["started"], row["no_log"]) for row in found["no_log"]] == [(2, 1)]
    (tmp_path / "list").write_text("job 1\n")
    failed = run("accounting", "-", "--lake", lake, "--observed", tmp_path / "list", given=lines, code=3)
    assert failed.stderr == f"iolens: {tmp_path}/list: line 1: expected the number of a job\n"


def test_changes_are_shown_beside_the_days(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(1, 5)])
    jobs_of(lake, line("1", 0, 100))
    run("mark", "2013-02-01", "Cray compiler", "--lake", lake)
    found = told("coverage", run("coverage", "--lake", lake, "--json").stdout)
    assert found["changes"] == [{"day": "2013-02-01", "text": "Cray compiler"}]
    assert "2013-02-01  Cray compiler" in run("coverage", "--lake", lake).stdout


def test_what_is_wrong_is_told_in_a_line(make_log: Make, tmp_path: Path) -> None:
    lake = lake_of(make_log, tmp_path, [(1, 5)])
    none = run("coverage", "--lake", lake, code=2)
    assert none.stderr == (
        "iolens: the lake has no accounting of ended jobs: `iolens fleet accounting FILE --lake DIR` adds it\n"
    )
    partly = run("accounting", "-", "--lake", lake, given=f"{HEAD}\n{line('1', 0, 9)}\nx|y\n", code=4)
    assert partly.stderr == "iolens: -: line 3: 2 columns instead of 9\n"
    nothing = run("accounting", "-", "--lake", lake, given=f"{HEAD}\nx|y\n", code=3)
    assert nothing.stderr == "iolens: -: no line can be read, the first: line 2: 2 columns instead of 9\n"
    zone = run("accounting", "-", "--lake", lake, "--zone", "Mars", given="", code=2)
    assert "expected a time zone such as UTC or Europe/Berlin" in zone.stderr
