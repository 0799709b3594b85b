"""Names of old jobs become pseudonyms: no page of any file has them, and everything else stays as it was."""

from __future__ import annotations

import shutil
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from here import Run, in_this_process
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.accounting import Reading
from iolens.fleet.accounting.store import store
from iolens.fleet.archive import archive, extracted, sources
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.notify import Message, Outbox
from iolens.fleet.tables.delta import Table
from iolens.fleet.tables.pseudonyms import Pseudonyms
from iolens.fleet.upkeep import pseudonymize
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.pseudonymize import age
from iolens.fleet.upkeep.retention import retain
from iolens.rules.text import agree, counted
from made_area import LOGS, Here, fill, whole

KEY = b"0123456789abcdef0123"
WORDS = ("dora", "zephyr", "carol", "scratch", "secret", "bob", "quokka")
AFTER = date(2100, 1, 1)


def words_in(lake: Path, words: tuple[str, ...] = WORDS) -> dict[str, set[str]]:
    """Words that are in any page, statistic or footer of a table's files -> the tables."""
    found: dict[str, set[str]] = {}
    for file in lake.rglob("*"):
        if not file.is_file() or file.is_relative_to(lake / "logs"):
            continue
        text = file.read_bytes().decode("latin-1")
        if file.suffix == ".parquet":
            rows = duckdb.execute(f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{file}')").fetchall()
            text += repr(rows)
        for word in words:
            if word in text:
                found.setdefault(word, set()).add(file.relative_to(lake).parts[0])
    return found


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


@pytest.fixture
def lake(area: Path, tmp_path: Path) -> Lake:
    (area / "quokka.darshan").write_bytes(b"no log")
    fill(area, tmp_path / "lake", rules=True)
    return Lake(tmp_path / "lake")


def test_no_name_of_an_old_job_is_in_clear(area: Path, lake: Path, tmp_path: Path) -> None:
    told = tmp_path / "carol.txt"
    told.write_text(
        "JobID|User|State|Start|End|AllocCPUS|\n7|dora|COMPLETED|2023-11-15T10:00:00|2023-11-15T11:00:00|4|\n"
    )
    store(lake, Reading(str(told)))
    assert set(words_in(lake.path)) == set(WORDS)
    assert age(lake, AFTER, KEY, keep_hours=0) == LOGS
    assert words_in(lake.path) == {}
    whole(lake.path)
    with lake.open() as data:
        assert data.rows('SELECT count(DISTINCT "user") AS n, count(DISTINCT uid) AS uids FROM job') == [
            {"n": 1, "uids": 1}
        ]
        assert data.rows("SELECT count(*) AS n FROM job WHERE uid = 4242") == [{"n": 0}]
        joined = 'SELECT count(*) AS n FROM accounting JOIN job USING ("user")'
        assert data.rows(joined) == [{"n": LOGS}]
        assert data.rows("SELECT count(DISTINCT name) AS n FROM name WHERE name LIKE '/~%/~%.h5'") == [
            {"n": LOGS}
        ]
    before = sorted(file.name for file in lake.path.rglob("*.parquet"))
    assert age(lake, AFTER, KEY, keep_hours=0) == 0
    assert sorted(file.name for file in lake.path.rglob("*.parquet")) == before
    compact(lake, keep_hours=0)
    assert words_in(lake.path) == {} and age(lake, AFTER, KEY, keep_hours=0) == 0


def test_young_jobs_keep_their_names_and_old_files_stay_for_a_while(lake: Lake) -> None:
    days = sorted({str(file.day) for file in lake.snapshot().files["job"]})
    logs = age(lake, date.fromisoformat(days[2]), KEY)
    with lake.open() as data:
        rows = data.rows(
            'SELECT day::VARCHAR AS day, any_value("user") AS who FROM job GROUP BY day ORDER BY day'
        )
        assert [row["who"] == "dora" for row in rows] == [day >= days[2] for day in days]
        assert data.rows("SELECT count(*) AS n FROM job WHERE \"user\" LIKE '~%'") == [{"n": logs}]
        assert (
            data.rows("SELECT count(*) AS n FROM finding WHERE message = title AND day < ?::DATE", [days[2]])[
                0
            ]["n"]
            > 0
        )
    whole(lake.path)
    assert age(lake, AFTER, KEY, keep_hours=0) == LOGS - logs
    assert words_in(lake.path) == {}


def test_what_was_cut_off_is_done_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of some tables are gone, those of job not: as a kill leaves it."""
    replace = pseudonymize._replace

    def until_job(table: Table, *rest: Any) -> None:
        if table.name == "job":
            raise KeyboardInterrupt
        replace(table, *rest)

    monkeypatch.setattr(pseudonymize, "_replace", until_job)
    with pytest.raises(KeyboardInterrupt):
        age(lake, AFTER, KEY)
    whole(lake.path)
    monkeypatch.undo()
    with lake.open() as data:
        names = data.rows("SELECT name FROM name_of ORDER BY ALL")
    age(lake, AFTER, KEY, keep_hours=0)
    with lake.open() as data:
        found = data.rows("SELECT name FROM name_of ORDER BY ALL")
    first = sorted(file.day for file in lake.snapshot().files["job"])[0]
    assert first and words_in(lake.path) == {} and len(found) == len(names)
    assert (
        sum(one in found for one in names) == 2
    )  # those of the first day, of one job, were pseudonyms already


def test_ingest_knows_logs_whose_paths_the_lake_has_forgotten(area: Path, lake: Lake) -> None:
    age(lake, AFTER, KEY, keep_hours=0)
    again = Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([area])
    assert (again.known, again.ingested, again.quarantined) == (LOGS + 1, 0, 0)
    log = next(path for path in area.iterdir() if "id7-" in path.name)
    log.write_bytes(log.read_bytes() + b"\0")
    again = Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([area])
    assert (again.ingested, again.replaced) == (1, 1)
    whole(lake.path)
    assert age(lake, AFTER, KEY, keep_hours=0) == 1 and words_in(lake.path) == {}
    assert Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([area]).known == LOGS + 1
    retain(lake, jobs=AFTER)
    assert Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([area]).ingested == 0


def test_what_was_archived_before_still_opens(area: Path, lake: Lake, iolens: Path) -> None:
    content = sorted(path.read_bytes() for path in area.glob("dora*"))
    archive(lake, lake.path / "logs", before=AFTER, program=str(iolens))
    age(lake, AFTER, KEY, keep_hours=0)
    with lake.open() as data:
        rows = sources(data)
    with extracted(lake, rows) as paths:
        assert sorted(Path(path).read_bytes() for path in paths) == content


def test_what_is_beside_the_tables_is_forgotten_or_named(
    area: Path, lake: Lake, iolens: Path, tmp_path: Path, run_iolens: Run
) -> None:
    done = archive(lake, lake.path / "logs", before=AFTER, program=str(iolens))
    new = datetime(2100, 1, 2, tzinfo=timezone.utc).timestamp()
    file = lake.path / "outbox.sqlite"
    with Outbox(file) as outbox:
        for id, user, at in (("sent", "dora", 1.7e9), ("waits", "zephyr", 1.7e9), ("new", "carol", new)):
            message = Message(id, f"user:{user}", f"of {user}", "text", {}, at)
            outbox.add([(message, {(user, f"{user}-program", "sync_storm"): 7})])
        outbox.delivered("sent", 1.7e9)
        outbox.delivered("new", new)
    (tmp_path / "key").write_bytes(KEY)
    command = ["fleet", "retention", "--lake", lake.path, "--pseudonyms", AFTER, "--key", tmp_path / "key"]
    told = run_iolens([*command, "--keep", "0"])
    assert told.returncode == 0
    assert told.stderr.splitlines() == [
        f"iolens: {counted(done.archives, 'archive')} still {agree(done.archives, 'has', 'have')} {LOGS} logs of "
        f"before 2100-01-01 with names: delete {agree(done.archives, 'that file', 'those files')}",
        f"iolens: {file}: 1 message of before 2100-01-01 waits, and names users and files",
    ]
    assert words_in(lake.path, ("dora", "zephyr", "carol")) == {
        "zephyr": {"outbox.sqlite"},
        "carol": {"outbox.sqlite"},
    }
    with Outbox(file) as outbox:
        assert outbox.told("user:carol", 0) == {("carol", "carol-program", "sync_storm")}
        assert outbox.counts() == {"waiting": 1, "delivered": 1, "withdrawn": 0}
        outbox.delivered("waits", new)
    shutil.rmtree(lake.path / "logs")
    assert run_iolens([*command, "--keep", "0"]).stderr == ""
    assert set(words_in(lake.path, ("dora", "zephyr", "carol"))) == {"carol"}


def test_what_is_wrong_is_told_before_anything_changes(lake: Lake, tmp_path: Path, run_iolens: Run) -> None:
    (tmp_path / "key").write_bytes(KEY)
    (tmp_path / "notes").write_text("no outbox " * 100)
    (tmp_path / "short").write_bytes(b"short")
    files = {file: file.stat().st_size for file in lake.path.rglob("*")}
    command = [
        "fleet",
        "retention",
        "--lake",
        lake.path,
        "--detail",
        "2100-01-01",
        "--pseudonyms",
        "2100-01-01",
    ]
    key, absent = ["--key", tmp_path / "key"], tmp_path / "absent"
    for more, code, said in (
        ([*key, "--outbox", absent], 2, f"{absent}: no such outbox; nothing was changed"),
        ([*key, "--outbox", tmp_path / "notes"], 3, f"{tmp_path}/notes: cannot open the outbox"),
        (["--key", absent], 2, f"{absent}: No such file or directory"),
        (["--key", tmp_path / "short"], 2, f"{tmp_path}/short: a key has 16 bytes or more"),
    ):
        done = run_iolens([*command, *more])
        assert (done.returncode, done.stdout) == (code, "") and done.stderr.startswith(f"iolens: {said}"), (
            done
        )
        assert {file: file.stat().st_size for file in lake.path.rglob("*")} == files
    assert not absent.exists()
    done = run_iolens([*command[:6], "--outbox", absent])
    assert done.returncode == 2 and "--outbox goes with --pseudonyms" in done.stderr


def test_another_key_is_refused(lake: Lake, tmp_path: Path, run_iolens: Run) -> None:
    age(lake, date(2000, 1, 1), KEY)
    (tmp_path / "key").write_bytes(b"another key of some length")
    command = ["fleet", "retention", "--lake", lake.path, "--pseudonyms", "2100-01-01"]
    assert "belong together" in run_iolens(command).stderr
    done = run_iolens([*command, "--key", tmp_path / "key"])
    assert done.returncode == 2 and "pseudonyms of another key" in done.stderr
    (tmp_path / "key").write_bytes(KEY)
    done = run_iolens([*command, "--key", tmp_path / "key", "--keep", "0"])
    assert done.returncode == 0 and f"the names of {LOGS} jobs" in done.stdout
    assert words_in(lake.path) == {}
    with pytest.raises(IolensError, match="from the start"):
        age(Lake.create(tmp_path / "other", pseudonyms=Pseudonyms(KEY).mark), AFTER, KEY)
