"""A lake with pseudonyms: no name in clear anywhere, and what is equal stays equal."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

import duckdb
import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.batch import Options
from iolens.fleet.ingest import Ingest
from iolens.fleet.pseudonyms import Pseudonyms
from made_log import Make
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]

KEY = b"0123456789abcdef0123"
WORDS = ("zephyr", "quagga", "ibexes", "okapis", "narwhal", "4242424")


def texts(file: Path) -> str:
    """All values of a Parquet file, decompressed, and its bytes: pages, statistics, footer."""
    rows = duckdb.execute(f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{file}')").fetchall()
    return repr(rows) + file.read_bytes().decode("latin-1")


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
    done = Ingest(lake, Options(str(lake.path), key=KEY), jobs=1).run([area])
    assert (done.ingested, done.quarantined) == (2, 1)
    files = [file for file in lake.path.rglob("*") if file.is_file()]
    assert len(files) > 20
    for file in files:
        text = texts(file) if file.suffix == ".parquet" else file.read_bytes().decode("latin-1")
        assert not [word for word in WORDS if word in text], file
    assert Ingest(lake, Options(str(lake.path), key=KEY), jobs=1).run([area]).known == 3
    with lake.open() as data:
        rows = data.rows("SELECT name, mount, file_system, extension FROM name WHERE file_system = 'lustre'")
        assert len(rows) == 2 and {row["extension"] for row in rows} == {"h5", ""}
        assert all(row["name"].startswith(row["mount"] + "/~") for row in rows)
        assert data.rows("SELECT count(*) AS n FROM name WHERE id = 11 AND name = '<STDIN>'") == [{"n": 1}]


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
