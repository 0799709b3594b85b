"""A lake with pseudonyms: no name in clear anywhere, and what is equal stays equal."""

from __future__ import annotations

import sqlite3
import subprocess
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Callable

import duckdb
import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.tables.pseudonyms import Pseudonyms
from iolens.fleet.upkeep.compact import compact
from made_area import Here
from made_log import Make
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]

KEY = b"0123456789abcdef0123"
WORDS = ("zephyr", "quagga", "ibexes", "okapis", "narwhal", "4242424")


def texts(file: Path) -> str:
    """A file's bytes; of a Parquet file, and of a table of SQLite, also all values, decompressed, and statistics."""
    said = [file.read_bytes().decode("latin-1")]
    if file.suffix == ".parquet":
        for rows in ("read_parquet", "parquet_metadata", "parquet_kv_metadata", "parquet_schema"):
            said.append(repr(duckdb.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {rows}('{file}')").fetchall()))
    elif file.suffix == ".sqlite":
        said += sqlite3.connect(file).iterdump()
    return "\n".join(said)


def words_in(folder: Path) -> dict[str, list[str]]:
    """File -> words of ``WORDS`` that are in it, whatever wrote it."""
    said = {str(file.relative_to(folder)): texts(file) for file in folder.rglob("*") if file.is_file()}
    return {file: found for file, text in said.items() if (found := [word for word in WORDS if word in text])}


def test_no_name_is_in_clear(make_log: Make, observe: Observe, tmp_path: Path) -> None:
    area = tmp_path / "quagga"
    area.mkdir()
    names = {7: b"/scratch/zephyr/ibexes.h5", 9: b"/scratch/zephyr/ibexes.okapis", 11: b"<STDIN>"}
    made = make_log(
        posix=[{"id": number, "writes": 3} for number in names],
        names=names,
        uid=4242424,
        exe=b"/home/narwhal/zephyr --input okapis",
        metadata=b"lib_ver=3.4.7\nnote=narwhal\n",
        mounts=[("lustre", "/scratch/zephyr")],
    )
    made.rename(area / "narwhal_zephyr_id1-1_1-1-1-1_1.darshan")
    observed = observe(["cp", "/etc/hostname", tmp_path / "okapis.h5"])
    (area / "observed_okapis.darshan").write_bytes(observed.log.read_bytes())
    (area / "narwhal.darshan").write_bytes(b"no log")
    lake = Lake.create(tmp_path / "lake", pseudonyms=Pseudonyms(KEY).mark)
    done = Ingest(lake, Options(str(lake.path), key=KEY), jobs=1, pool=Here()).run([area])
    assert (done.ingested, done.quarantined) == (2, 1)
    assert words_in(lake.path) == {} and len(list(lake.path.rglob("*.parquet"))) > 20
    assert Ingest(lake, Options(str(lake.path), key=KEY), jobs=1, pool=Here()).run([area]).known == 3
    with lake.open() as data:
        rows = data.rows("SELECT name, mount, file_system, extension FROM name WHERE file_system = 'lustre'")
        assert len(rows) == 2 and {row["extension"] for row in rows} == {"h5", ""}
        assert all(row["name"].startswith(row["mount"] + "/~") for row in rows)
        assert data.rows("SELECT count(*) AS n FROM name WHERE id = 11 AND name = '<STDIN>'") == [{"n": 1}]


def checkpoints(lake: Lake) -> list[Path]:
    return sorted(lake.path.rglob("_delta_log/*.checkpoint.parquet"))


def test_no_name_is_in_clear_whatever_becomes_of_the_lake(
    make_log: Make, tmp_path: Path, run_iolens: Run
) -> None:
    """Its history by Delta (JSON and checkpoints), compaction, what notices keep, and the texts that these are of."""
    area, lake = tmp_path / "quagga", Lake.create(tmp_path / "lake", pseudonyms=Pseudonyms(KEY).mark)
    area.mkdir()

    def ingest(job: int) -> None:
        names = {7: f"/scratch/zephyr/ibexes{job}.h5".encode(), 9: b"/home/narwhal/okapis"}
        # Reads the same GiB eight times: something that a rule finds, and tells the file of.
        again = {
            "id": 7,
            "reads": 8192,
            "bytes_read": 8 << 30,
            "max_byte_read": (1 << 30) - 1,
            "read_time": 50,
        }
        log = make_log(
            posix=[again, {"id": 9, "writes": 1}],
            names=names,
            uid=4242424,
            exe=b"/home/narwhal/zephyr --input okapis",
            mounts=[("lustre", "/scratch/zephyr")],
            job_id=job,
            start=1_700_000_000,
            end=1_700_000_060,
        )
        log.rename(area / f"narwhal_zephyr_id{job}-1_1-1-1-1_1.darshan")
        assert Ingest(lake, Options(str(lake.path), key=KEY), jobs=1, pool=Here()).run([area]).ingested == 1

    for job in range(3):
        ingest(job)
    for name in lake.names():
        made = lake.table(name).delta
        assert made is not None
        made.create_checkpoint()
    before = checkpoints(lake)
    assert len(before) == len(lake.names()) and words_in(lake.path) == {}
    ingest(3)  # after a checkpoint

    site = tmp_path / "site.toml"
    spool = (
        f'[[recipient]]\nname = "all"\nchannel = "directory"\npath = "{tmp_path}/spool"\nseverity = "good"\n'
    )
    site.write_text(f"[notify]\nmax_age_days = 100000\n{spool}")
    (tmp_path / "spool").write_text("in the way: what is to be sent is kept, with its text")
    told = run_iolens(["fleet", "notify", "--lake", lake.path, "--site", site])
    assert told.returncode == 4 and "0 delivered" in told.stdout
    kept = texts(lake.path / "outbox.sqlite")
    with lake.open() as data:
        (user,) = data.rows('SELECT DISTINCT "user" FROM job')
    assert user["user"] in kept and "redundant_reads" in kept

    assert run_iolens(["fleet", "archive", "--lake", lake.path]).returncode == 2
    assert compact(lake, keep_hours=0).merged > 0
    assert checkpoints(lake) != before and words_in(lake.path) == {}
    lake.append("change", [(date(2026, 11, 25), "zephyr", datetime.now(timezone.utc))])
    assert list(words_in(lake.path).values()) == [["zephyr"]]  # if one were there, it would be seen


def test_accounting_is_refused(tmp_path: Path, run_iolens: Run) -> None:
    """It would bring users' names."""
    lake = Lake.create(tmp_path / "lake", pseudonyms=Pseudonyms(KEY).mark)
    told = tmp_path / "jobs.txt"
    told.write_text(
        "JobID|User|State|Start|End|AllocCPUS|\n7|okapis|COMPLETED|2026-11-20T10:00:00|2026-11-20T11:00:00|4|\n"
    )
    done = run_iolens(["fleet", "accounting", told, "--lake", lake.path])
    assert done.returncode == 2 and "takes no accounting" in done.stderr
    assert [file.name for file in lake.path.rglob("*") if file.is_file()] == ["lake.json"]


def test_another_key_is_refused(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake", pseudonyms=Pseudonyms(KEY).mark)
    for key in (b"", b"another key of some length"):
        with pytest.raises(IolensError, match="pseudonym"):
            Ingest(lake, Options(str(lake.path), key=key), jobs=1)
