"""`iolens peak`: what the storage gives, measured and removed again, and how much of it a job got."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import iolens.log
import pytest
from iolens import schemas
from jobs import Job, MiB
from jsonschema import Draft202012Validator

Run = Callable[..., Any]
QUICK = ["--seconds", "0.2", "--size", "4M"]
PARTS = ("write", "read", "random_read", "create", "stat", "unlink")


def measured(run_iolens: Run, place: Path, *options: str, **settings: Any) -> dict[str, Any]:
    done = run_iolens(["peak", "--json", *QUICK, *options, place], **settings)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(schemas.load("peak")).validate(found)
    return found


def test_what_is_measured(run_iolens: Run, tmp_path: Path) -> None:
    found = measured(run_iolens, tmp_path)
    assert found["directory"] == str(tmp_path)
    assert str(tmp_path).startswith(found["mount"]) and found["type"]
    for part in PARTS:
        assert found[part]["count"] > 0 and found[part]["seconds"] > 0, part
    assert 0 < found["write"]["bytes"] <= 4 * MiB
    assert found["read"]["bytes"] <= found["write"]["bytes"]
    assert found["random_read"]["bytes"] == 4096 * found["random_read"]["count"]
    assert found["create"]["count"] == found["unlink"]["count"] >= found["stat"]["count"]
    assert found["write_rate"] == pytest.approx(found["write"]["bytes"] / found["write"]["seconds"])
    assert list(tmp_path.iterdir()) == []


def test_the_page_says_where_reads_came_from(run_iolens: Run, tmp_path: Path) -> None:
    done = run_iolens(["peak", *QUICK, tmp_path])
    assert (done.returncode, done.stderr) == (0, "")
    labels = [line[:20].strip() for line in done.stdout.splitlines()[:8]]
    assert labels == [
        *("directory", "file system", "sequential write", "sequential read", "random read, 4 KiB"),
        *("create", "stat", "unlink"),
    ]
    assert done.stdout.count("past the page cache") + done.stdout.count("may come from the page cache") == 2
    memory = run_iolens(["peak", *QUICK, "/dev/shm"]).stdout
    assert memory.endswith("This file system is memory: its rates are those of no disk.\n")


def test_a_signal_leaves_nothing_behind(iolens: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([iolens, "peak", "--seconds", "60", "--size", "1M", tmp_path], stdout=-1)
    end = time.monotonic() + 60
    while not list(tmp_path.glob(".iolens-peak-*/*")):  # its many files
        assert time.monotonic() < end and process.poll() is None
        if list(tmp_path.glob(".iolens-peak-*")):
            break
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == -signal.SIGINT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "give one directory"),
        (["nowhere"], 3, "nowhere: No such file or directory"),
        (["file"], 2, "file: is not a directory"),
        (["--seconds", "0", "."], 2, "--seconds 0: expected seconds"),
        (["--seconds", "x", "."], 2, "--seconds x: expected seconds"),
        (["--size", "1k", "."], 2, "--size 1k: expected bytes"),
        (["--size", "1Q", "."], 2, "--size 1Q: expected bytes"),
        (["/proc"], 3, "/proc: "),
    ],
)
def test_wrong_use(run_iolens: Run, tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    (tmp_path / "file").touch()
    done = run_iolens(["peak", *arguments], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"iolens: peak: {said}") and done.stderr.count("\n") == 1


def job_at(found: dict[str, Any], path: Path, host: str) -> Path:
    """Reads 10 MiB in 2 s, writes 1 MiB in 1 s, on that mount."""
    job = Job(nprocs=1, mounts=[(found["type"], found["mount"])], run_time=10)
    name = f"{found['mount'].rstrip('/')}/some/file"
    job.posix(name, 0, read={MiB: 10}, write={MiB: 1}, read_time=2.0, write_time=1.0)
    job.section("process", {"rank": 0, "pid": 1, "ended": "exit", "host": host, "io_time": 3.0})
    return job.save(path)


def test_a_job_beside_what_was_saved(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = measured(run_iolens, tmp_path / "place", "--save", env=cache)
    (kept,) = (tmp_path / "cache" / "iolens" / "peak").iterdir()
    assert json.loads(kept.read_text()) == found
    log = job_at(found, tmp_path / "job.darshan", os.uname().nodename)
    (peak,) = json.loads(run_iolens(["info", "--json", log], env=cache).stdout)["peaks"]
    assert (peak["mount"], peak["time"]) == (found["mount"], found["time"])
    assert (peak["read_rate"], peak["write_rate"]) == (5 * MiB, MiB)
    assert (peak["peak_read_rate"], peak["peak_write_rate"]) == (found["read_rate"], found["write_rate"])
    page = run_iolens(["info", log], env=cache).stdout.partition("\npart of a peak")[2]
    assert f"{100 * 5 * MiB / found['read_rate']:.1f} %" in page
    nowhere = {"XDG_CACHE_HOME": "/nowhere"}
    assert "peaks" not in json.loads(run_iolens(["info", "--json", log], env=nowhere).stdout)
    table = run_iolens(["report", "--text", log], env=cache).stdout
    table = table.partition("Compared with a measured peak")[2].partition("\n\n==")[0]
    rows = [line.split() for line in table.splitlines() if line.split()[:1] == [found["mount"]]]
    assert [row[1] for row in rows] == ["read", "write"]
    assert re.search(r" read +5(\.0)? MiB/s ", table) and re.search(r" write +1(\.0)? MiB/s ", table)
    assert "Compared with a measured peak" not in run_iolens(["report", "--text", log], env=nowhere).stdout


def test_a_disk_of_another_host_is_another_disk(run_iolens: Run, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "iolens" / "peak"
    folder.mkdir(parents=True)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for kind, shown in (("ext4", False), ("nfs", True)):
        rates = {"read_rate": 1e9, "write_rate": 1e9}
        told = {"mount": "/m", "type": kind, "host": "other", "time": "2026-01-01T00:00:00Z", **rates}
        (folder / "%m.json").write_text(json.dumps(told, indent=1))
        log = job_at(told, tmp_path / f"{kind}.darshan", "another-host")
        assert ("peaks" in json.loads(run_iolens(["info", "--json", log], env=cache).stdout)) is shown


def test_saved_where_it_is_asked_for(run_iolens: Run, tmp_path: Path) -> None:
    found = measured(run_iolens, tmp_path, f"--save={tmp_path}/peak.json")
    assert json.loads((tmp_path / "peak.json").read_text()) == found
    done = run_iolens(["peak", *QUICK, f"--save={tmp_path}/no/peak.json", tmp_path])
    assert done.returncode == 3 and "not saved: No such file or directory" in done.stderr


LAYERED = ["mpi-io-test-dxt", "imbalanced-io", "sample-badost"]


@pytest.mark.parametrize("name", LAYERED)
def test_info_and_report_have_the_same_rates(
    name: str, corpus: Path, run_iolens: Run, tmp_path: Path
) -> None:
    """One is computed in C, from the log's digest, the other by SQL."""
    log, folder = corpus / "logs" / f"{name}.darshan", tmp_path / "cache" / "iolens" / "peak"
    folder.mkdir(parents=True)
    with iolens.log.open(log) as opened:
        mounts = opened.mounts
    for mount in mounts:
        told = {
            "mount": mount.point,
            "type": mount.file_system,
            "host": "other",
            "time": "2026-01-01T00:00:00Z",
        }
        text = json.dumps({**told, "read_rate": 1e9, "write_rate": 1e9}, indent=1)
        (folder / f"{mount.point.replace('/', '%')}.json").write_text(text)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    told = json.loads(run_iolens(["info", "--json", log], env=cache).stdout)["peaks"]
    found = {
        (peak["mount"], way): peak[f"{way}_rate"]
        for peak in told
        for way in ("read", "write")
        if peak[f"{way}_rate"]
    }
    report = json.loads(run_iolens(["report", "--json", log], env=cache).stdout)
    tables = [table for table in tables_of(report) if table["title"] == "Compared with a measured peak"]
    rows = {(row[0], row[1]): row[2] for table in tables for row in table["rows"]}
    assert rows == pytest.approx(found, rel=1e-8)  # JSON has nine digits
    assert rows


def tables_of(part: Any) -> Iterator[dict[str, Any]]:
    """Every object with rows in a report."""
    if isinstance(part, dict):
        if isinstance(part.get("rows"), list):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from tables_of(one)
