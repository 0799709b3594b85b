"""A lake of a few logs: what is in it, and what it answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from iolens import schemas
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.archive import archive
from iolens.fleet.ingest import batch as batch_module
from iolens.fleet.ingest import ingest as ingest_module
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from iolens.fleet.tables.pseudonyms import Pseudonyms
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.retention import retain
from iolens.fleet.upkeep.verify import verify
from iolens.metrics import Dataset, log_tables
from jsonschema import Draft202012Validator
from made_area import Here, make_large
from made_log import Make
from places import BIN

NAMES = {7: b"/scratch/data.h5", (1 << 63) + 5: b"/scratch/a", 9: b"/home/x"}


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """Three logs in Darshan's layout, of two days."""
    for day, jobs in (("2023/11/14", (1, 2)), ("2023/11/9", (3,))):
        folder = tmp_path / "logs" / day
        folder.mkdir(parents=True)
        make = Make(folder)
        for job in jobs:
            start = 1_700_000_000 - (5 * 86400 if job == 3 else 0)
            records = [{"id": number, "rank": 0, "writes": job, "bytes_written": 4096} for number in NAMES]
            made = make(
                posix=records,
                names=NAMES,
                job_id=job,
                start=start,
                end=start + 10,
                exe=b"mpirun -n 2 ./solver",
            )
            made.rename(folder / f"ann_solver_id{job}-1_11-14-1-{job}_1.darshan")
    return tmp_path / "logs"


def ingest(area: Path, lake: Path, **more: object) -> Summary:
    return Ingest(Lake.create(lake), Options(str(lake)), jobs=1, pool=Here(), **more).run([area])  # type: ignore[arg-type]


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """iolens fleet WORDS."""
    done = subprocess.run([BIN, "fleet", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_a_lake_has_what_the_logs_have(area: Path, tmp_path: Path) -> None:
    done = ingest(area, tmp_path / "ann's lake")
    assert (done.found, done.ingested, done.known, done.quarantined) == (3, 3, 0, 0)
    with Lake(tmp_path / "ann's lake").open() as data:
        rows = data.rows(
            "SELECT job_id, user, application, day::VARCHAR AS day, nprocs FROM job ORDER BY job_id"
        )
        assert [tuple(row.values()) for row in rows] == [
            (1, "ann", "solver", "2023-11-14", 1),
            (2, "ann", "solver", "2023-11-14", 1),
            (3, "ann", "solver", "2023-11-09", 1),
        ]
        ids = data.rows("SELECT DISTINCT id, name FROM posix JOIN name_of USING (log, id) ORDER BY id")
        assert [(row["id"], row["name"].encode()) for row in ids] == sorted(NAMES.items())
        (total,) = data.rows("SELECT sum(writes)::BIGINT AS writes, count(*) AS files FROM file")
        assert total == {"writes": 3 * (1 + 2 + 3), "files": 9}


def test_a_log_is_one_however_its_path_is_written(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another directory, too, it is found where it is."""
    monkeypatch.chdir(tmp_path)
    came = []
    for written in ("logs", "./logs/", str(area), "logs/../logs/2023"):
        done = command("ingest", written, "--lake", "lake", "--json", "--jobs", "1")
        came.append((json.loads(done.stdout)["ingested"], json.loads(done.stdout)["known"]))
    assert came == [(3, 0), (0, 3), (0, 3), (0, 3)]
    with Lake(tmp_path / "lake").open() as data:
        assert {path.startswith("/") for (path,) in data.query("SELECT path FROM job").fetchall()} == {True}


def test_a_log_is_one_from_python_too(area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = ingest(Path("logs"), tmp_path / "lake")
    monkeypatch.chdir(area)
    again = ingest(Path("2023"), tmp_path / "lake")
    assert (first.ingested, again.ingested, again.known) == (3, 0, 3)


def test_a_lake_with_paths_as_they_were_given(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As earlier versions kept them."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(os.path, "abspath", os.fspath)
        assert ingest(Path("logs"), tmp_path / "lake").ingested == 3
    with Lake(tmp_path / "lake").open() as data:
        assert all(path.startswith("logs/") for (path,) in data.query("SELECT path FROM job").fetchall())
    again = ingest(area, tmp_path / "lake")
    assert (again.ingested, again.known) == (0, 3)


def test_show_tables(area: Path, tmp_path: Path) -> None:
    ingest(area, tmp_path / "lake")
    done = command("sql", "--lake", tmp_path / "lake", "show tables", "--format", "csv")
    listed = done.stdout.split()
    assert {"job", "posix", "finding", "quarantine", "file"} <= set(listed) and "path" not in listed


def test_what_is_there_is_not_read_again(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "ann's lake"
    ingest(area, lake)
    again = ingest(area, lake)
    assert (again.found, again.ingested, again.known) == (3, 0, 3)
    new = area / "2023/11/9/new.darshan"
    new.write_bytes(next(area.rglob("*.darshan")).read_bytes() + b"\0")
    assert ingest(area, lake).ingested == 1


def jobs(lake: Path) -> list[tuple[int, str]]:
    with Lake(lake).open() as data:
        return data.query("SELECT job_id, parse_filename(path) FROM job ORDER BY ALL").fetchall()


def test_a_copy_of_a_log_is_no_second_job(area: Path, tmp_path: Path) -> None:
    """In the batch of its log, in the next scan, and when its job is long gone."""
    lake = tmp_path / "lake"
    first = sorted(area.rglob("*.darshan"))[0]
    shutil.copy(first, area / "in-the-batch.darshan")
    done = ingest(area, lake)
    assert (done.found, done.ingested, done.known) == (4, 3, 1)
    before = jobs(lake)
    shutil.copy(first, area / "later.darshan")
    (area / "new.darshan").write_bytes(first.read_bytes() + b"\0")
    (area / "bad.darshan").write_bytes(b"no log")
    done = ingest(area, lake)
    assert (done.found, done.ingested, done.known, done.quarantined) == (7, 1, 5, 1)
    assert ingest(area, lake).known == 7
    assert len(jobs(lake)) == len(before) + 1
    retain(Lake(lake), jobs=date(2100, 1, 1))
    shutil.copy(first, area / "much-later.darshan")
    done = ingest(area, lake)
    assert (done.ingested, done.known, jobs(lake)) == (0, 8, [])


def test_a_moved_log_stays_one_job_with_its_new_path(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(area, lake)
    for log in sorted(area.rglob("*.darshan"))[:2]:
        log.rename(log.with_name(f"moved-{log.name}"))
    done = ingest(area, lake)
    assert (done.ingested, done.replaced, done.known) == (2, 2, 1)
    assert sorted(name.startswith("moved-") for _, name in jobs(lake)) == [False, True, True]
    assert ingest(area, lake).known == 3
    with Lake(lake).open() as data:
        assert data.rows("SELECT sum(writes)::BIGINT AS n FROM posix") == [{"n": 3 * (1 + 2 + 3)}]
    compact(Lake(lake), keep_hours=0)
    assert len(jobs(lake)) == 3 and list(verify(Lake(lake))) == []


def test_the_name_of_an_archived_log_may_be_used_again(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ingest(area, lake)
    log, other = sorted(area.rglob("*.darshan"))[:2]
    content = other.read_bytes() + b"\0"
    packed = archive(Lake(lake), tmp_path / "kept", before=date(2100, 1, 1), program=str(BIN), courtesy=0)
    assert packed.removed == 3
    log.write_bytes(content)
    done = ingest(area, lake)
    assert (done.ingested, done.replaced) == (1, 0)
    assert len(jobs(lake)) == 4 and list(verify(Lake(lake))) == []
    assert ingest(area, lake).known == 1


def test_a_log_that_is_written_again_replaces_what_was(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "ann's lake"
    ingest(area, lake)
    one, other = sorted(area.rglob("*.darshan"))[:2]
    one.write_bytes(other.read_bytes() + b"\0")
    done = ingest(area, lake)
    assert (done.ingested, done.replaced, done.known) == (1, 1, 2)
    with Lake(lake).open() as data:
        jobs = data.rows("SELECT job_id, count(*) AS n FROM job GROUP BY 1 ORDER BY 1")
        assert sum(row["n"] for row in jobs) == 3
        assert len(data.rows("FROM posix")) == 9


def test_what_is_no_log_is_in_quarantine_with_the_reason(area: Path, tmp_path: Path) -> None:
    (area / "bad.darshan").write_bytes(b"no log")
    (area / "empty.darshan").write_bytes(b"")
    done = ingest(area, tmp_path / "ann's lake")
    assert (done.ingested, done.quarantined) == (3, 2)
    with Lake(tmp_path / "ann's lake").open() as data:
        found = data.rows("SELECT path, log_size AS size, reason FROM quarantine ORDER BY path")
    assert [(Path(row["path"]).name, row["size"]) for row in found] == [
        ("bad.darshan", 6),
        ("empty.darshan", 0),
    ]
    assert all(row["reason"] for row in found)
    assert ingest(area, tmp_path / "ann's lake").known == 5


def test_findings_are_those_of_the_logs(area: Path, tmp_path: Path) -> None:
    from iolens.rules import find

    ingest(area, tmp_path / "ann's lake")
    with Lake(tmp_path / "ann's lake").open() as data:
        kept = data.rows("SELECT job_id, rule, severity, message FROM finding JOIN job USING (log)")
    direct = []
    for log in area.rglob("*.darshan"):
        with Dataset(log) as one:
            (job,) = one.rows("SELECT job_id FROM job")
            direct += [(job["job_id"], f.rule, f.severity, f.message) for f in find(one)]
    assert sorted(tuple(row.values()) for row in kept) == sorted(direct)


def test_a_batch_loads_each_table_once(area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every column that metrics, rules and tables ask for."""
    loaded: list[str] = []
    load = log_tables.LogTables._load

    def counted(base: log_tables.LogTables, name: str, *more: object) -> None:
        loaded.append(name)
        load(base, name, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(log_tables.LogTables, "_load", counted)
    assert ingest(area, tmp_path / "lake").ingested == 3
    assert "posix" in loaded and sorted(loaded) == sorted(set(loaded))


def test_a_batch_has_as_many_whole_folders_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day's files are not divided, and statements run for many logs at once."""
    for number in range(18):
        folder = tmp_path / "logs" / str(number // 3)
        folder.mkdir(parents=True, exist_ok=True)
        Make(folder)(posix=[{"id": 1, "writes": 1}], job_id=number).rename(folder / f"{number}.darshan")
    batches: list[list[str]] = []

    def counted(base: log_tables.LogTables, **more: object) -> Dataset:
        batches.append([Path(path).parent.name for path in base.paths])
        return Dataset(base, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_module, "Dataset", counted)
    assert ingest(tmp_path / "logs", tmp_path / "lake", batch_logs=10).ingested == 18
    assert batches == [[*"000111222"], [*"333444555"]]


@pytest.mark.parametrize("key", [b"", b"0123456789abcdef"], ids=["plain", "pseudonyms"])
def test_a_large_log_is_alone_and_its_tables_are_in_a_file(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    """The lake has the same; what has pseudonyms stays in memory."""
    make_large(tmp_path / "large").rename(area / "2023" / "11" / "9" / "ann_big_id9-1_1-1-1_1.darshan")
    batches: list[tuple[int, bool]] = []

    def counted(base: log_tables.LogTables, **more: object) -> Dataset:
        batches.append((len(base.logs), base.large))
        return Dataset(base, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(batch_module, "Dataset", counted)
    found = []
    for large in (log_tables.LARGE_BYTES, 20_000):
        monkeypatch.setattr(ingest_module, "LARGE_BYTES", large)
        monkeypatch.setattr(log_tables, "LARGE_BYTES", large)
        lake = Lake.create(tmp_path / f"lake-{large}", pseudonyms=Pseudonyms(key).mark if key else "")
        Ingest(lake, Options(str(lake.path), key=key), jobs=1, pool=Here()).run([area])
        with lake.open() as data:
            rows = "SELECT j.job_id, t.* EXCLUDE (log) FROM {} AS t JOIN job AS j USING (log) ORDER BY ALL"
            tables = ("posix", "file_sum", "name_of", "finding", "metric")
            found.append([data.rows(rows.format(table)) for table in tables])
    assert found[0] == found[1] and len(found[0][0]) == 3009
    assert batches == [(4, False), (1, not key), (3, False)]


def test_the_commands(area: Path, tmp_path: Path, iolens: Path) -> None:
    lake = str(tmp_path / "ann's lake")

    def fleet(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(iolens), "fleet", *words], check=False, capture_output=True, text=True)

    done = fleet("ingest", str(area), "--lake", lake, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    Draft202012Validator({**schemas.load("ingest"), "additionalProperties": False}).validate(told)
    assert told["ingested"] == 3
    asked = fleet("sql", "select user, count(*) as jobs from job group by 1", "--lake", lake, "--json")
    assert json.loads(asked.stdout) == [{"user": "ann", "jobs": 3}], asked.stderr
    asked = fleet("sql", "select job_id from job", "--lake", lake, "--csv", "--until", "2023-11-10")
    assert asked.stdout == "job_id\n3\n"
    for statement in (
        "copy (select 1) to 'x.csv'",
        f"copy (select 1) to '{lake}/job/x.parquet'",
        f"explain analyze copy (select 1) to '{lake}/job/x.parquet'",
        "select * from read_text('/etc/passwd')",
        "create table x (i int)",
        "call pragma_version()",
    ):
        asked = fleet("sql", statement, "--lake", lake)
        assert asked.returncode == 2, statement
        assert not list(Path(lake).rglob("x.parquet"))
    assert fleet("sql", "select 1", "--lake", str(area)).returncode == 2


def test_what_a_killed_creation_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".lake.json.0123").write_text("{")
    assert Lake.create(tmp_path).batches() == set()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes").write_text("")
    with pytest.raises(IolensError, match="no lake, and not empty"):
        Lake.create(tmp_path / "other")
