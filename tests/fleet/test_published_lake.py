"""Published data sets in a lake: asked as logs are."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.published.bring import bring
from iolens.fleet.published.columns import fields_of
from iolens.fleet.saved_queries import ask
from iolens.fleet.tables.schema import BATCH_BITS
from iolens.metrics import Dataset
from iolens.schemas import load
from jsonschema import Draft202012Validator

GIB = 1 << 30
HEAD = "uid,jobid,start_time,end_time,exe,nprocs,runtime".split(",")


def write_csv(path: Path, head: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([head, *rows])
    return path


def totals(path: Path, jobs: range) -> Path:
    head = [*HEAD, "total_POSIX_BYTES_READ", "total_POSIX_F_READ_TIME", "total_POSIX_F_META_TIME"]
    rows = [
        [f"u{n % 3}", n, 1546300800 + 3600 * n, "", f"exe{n % 2}", 256, 7200, n * GIB, 256.0, 256 * 40.0]
        for n in jobs
    ]
    return write_csv(path, head, rows)


def test_totals_are_asked_as_jobs_are(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    done = bring(lake, str(totals(tmp_path / "jobs.csv", range(1, 7))), cluster="theta")
    assert (done.jobs, done.known, done.findings, done.ignored) == (6, 0, 0, [])
    with lake.open() as data:
        rows = ask(data, "top_users", by="bytes", cluster="theta").dicts()
        assert [(r["user"], r["jobs"], r["bytes_read"]) for r in rows] == [
            ("u0", 2, 9 * GIB),
            ("u2", 2, 7 * GIB),
            ("u1", 2, 5 * GIB),
        ]
        assert [r["core_hours"] for r in rows] == [2 * 256 * 2] * 3
        assert [r["io_time"] for r in rows] == [2 * 41.0] * 3  # of a mean rank: 1 s reading, 40 s metadata
        # Of files nothing is known: these screens do not judge them.
        assert [(r["jobs"], r["matching"]) for r in ask(data, "screen", bytes=1, writes=1).dicts()] == [
            (0, 0),
            (6, 6),
            (0, 0),
        ]


def test_a_file_may_be_imported_again_and_grow(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    path = tmp_path / "jobs.csv"
    counts = []
    for jobs in (range(1, 7), range(1, 7), range(1, 10)):
        done = bring(lake, str(totals(path, jobs)))
        counts.append((done.jobs, done.known))
    assert counts == [(6, 0), (0, 6), (3, 6)]
    with lake.open() as data:
        assert data.query(
            "SELECT count(*), count(DISTINCT log), count(DISTINCT job_id) FROM job"
        ).fetchone() == (9, 9, 9)
        assert data.query("SELECT count(*) FROM posix").fetchone() == (9,)


def test_a_batch_may_have_a_small_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.create(tmp_path / "lake")
    monkeypatch.setattr("secrets.randbits", lambda bits: (1 << 31) - 1)
    assert bring(lake, str(totals(tmp_path / "jobs.csv", range(1, 4)))).jobs == 3
    with lake.open() as data:
        numbers = data.query("SELECT log FROM job ORDER BY log").fetchall()
    assert numbers == [(((1 << 31) - 1 << BATCH_BITS) + place,) for place in range(3)]


def test_records_have_the_metrics_and_findings_of_their_log(corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "imbalanced-io.darshan"
    fields = [one for one in fields_of("posix") if one.darshan]
    with Dataset(log, every_column=True) as data:
        (job,) = data.rows("SELECT * FROM job")
        facts = [job[k] for k in ("uid", "job_id", "start", "end", "exe", "nprocs", "run_time")]
        records = data.rows("SELECT * FROM posix ORDER BY id, rank")
        expected = data.value("redundant_reads")
    rows = [
        [
            *facts,
            r["id"],
            r["rank"],
            *(v for f in fields for v in (r[f.name] if f.count != 1 else [r[f.name]])),
        ]
        for r in records
    ]
    head = [*HEAD, "id", "rank", *(name for f in fields for name in f.darshan)]
    lake = Lake.create(tmp_path / "lake")
    done = bring(lake, str(write_csv(tmp_path / "records.csv", head, rows)))
    assert done.jobs == 1 and done.findings > 0
    with lake.open() as data:
        kept = dict(data.query('SELECT name, "value" FROM metric').fetchall())
        assert kept["bytes_read"] == sum(r["bytes_read"] for r in records)
        assert kept["redundant_reads"] > 0 and expected == 1025628
        assert data.query("SELECT count(*) FROM finding").fetchone() == (done.findings,)
        assert data.query("SELECT count(*) FROM posix").fetchone() == (len(records),)
        assert {format for (format,) in data.query("SELECT format FROM job").fetchall()} == {"records"}


def test_the_command(run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    path, lake = totals(tmp_path / "jobs.csv", range(1, 3)), tmp_path / "lake"
    done = run_iolens(["fleet", "import", path, "--lake", lake, "--json"])
    told = json.loads(done.stdout)
    Draft202012Validator(load("imported")).validate(told)
    assert told["files"] == [{"file": str(path), "jobs": 2, "known": 0, "findings": 0, "ignored": []}]
    (tmp_path / "no.csv").write_text("a\n1\n")
    done = run_iolens(["fleet", "import", tmp_path / "no.csv", "--lake", lake])
    assert done.returncode == 3 and "no column with a name of Darshan's counters" in done.stderr


def test_a_lake_of_pseudonyms_takes_none(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake", pseudonyms="key")
    with pytest.raises(IolensError, match="holds pseudonyms"):
        bring(lake, str(totals(tmp_path / "jobs.csv", range(1, 3))))
