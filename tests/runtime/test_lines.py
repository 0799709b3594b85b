"""Calls, bytes and seconds by line of Python code: sums agree with the counters, lines with the program."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics import Dataset
from observed import Observe
from python_constructs import KNOWN, interpreters, names

every = pytest.mark.parametrize("version", KNOWN, ids=names)

READS = """\
import os

def first(fd):
    for _ in range(300):
        os.pread(fd, 100, 0)

def second(fd):
    for _ in range(50):
        os.pread(fd, 40, 8)
        os.pread(fd, 20, 8)

def deep(fd, n):
    return deep(fd, n - 1) if n else os.pread(fd, 7, 0)

with open("data", "wb", buffering=0) as file:
    for _ in range(200):
        file.write(b"x" * 10)
    os.fsync(file.fileno())
fd = os.open("data", os.O_RDONLY)
first(fd); second(fd)
deep(fd, 60)
os.stat("data")
os.close(fd)
"""


def by_line(log: Path, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Of a file, by kind of call and place."""
    with Dataset(log) as data:
        rows = data.rows(
            "SELECT kind, place, calls, bytes, time, basis FROM line JOIN name_of USING (log, id) "
            "WHERE interface = 'posix' AND name LIKE '%/' || ?",
            [name],
        )
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault((row["kind"], row["place"]), {"calls": 0, "bytes": 0, "basis": row["basis"]})
        one["calls"] += row["calls"]
        one["bytes"] += row["bytes"]
    return found


def sums_are_the_counters(log: Path) -> None:
    with Dataset(log) as data:
        (row,) = data.rows("""
            SELECT (SELECT sum(reads) FROM lowest_file) AS reads,
                (SELECT sum(bytes_read) FROM lowest_file) AS bytes_read,
                (SELECT sum(writes) FROM lowest_file) AS writes, (SELECT sum(total_time) FROM lowest_file) AS time,
                sum(calls) FILTER (kind = 'read') AS line_reads, sum(bytes) FILTER (kind = 'read') AS line_bytes_read,
                sum(calls) FILTER (kind = 'write') AS line_writes, sum(time) AS line_time
            FROM line
        """)
    assert row["line_reads"] == row["reads"]
    assert row["line_bytes_read"] == row["bytes_read"]
    assert row["line_writes"] == row["writes"]
    assert row["line_time"] == pytest.approx(row["time"])


@every
def test_each_call_is_counted_at_its_line(observe: Observe, tmp_path: Path, version: tuple[int, ...]) -> None:
    (tmp_path / "reads.py").write_text(READS)
    seen = observe([interpreters()[version], "reads.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    found = by_line(seen.log, "data")
    reads = {place: (one["calls"], one["bytes"]) for (kind, place), one in found.items() if kind == "read"}
    assert reads == {
        "first (reads.py:5)": (300, 30000),
        "second (reads.py:9)": (50, 2000),
        "second (reads.py:10)": (50, 1000),
        "deep (reads.py:13)": (1, 7),
    }
    writes = {place: (one["calls"], one["bytes"]) for (kind, place), one in found.items() if kind == "write"}
    assert writes == {"reads.py:17": (200, 2000), "reads.py:18": (0, 0)}
    assert {one["basis"] for (kind, _), one in found.items() if kind != "meta"} == {"counted"}
    meta = {place: one["calls"] for (kind, place), one in found.items() if kind == "meta"}
    assert {"reads.py:19", "reads.py:22"} <= set(meta)
    sums_are_the_counters(seen.log)


def test_calls_without_the_clock_have_the_lines_of_those_with_it(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text(
        "import os\nfd = os.open('data', os.O_RDWR | os.O_CREAT)\nos.write(fd, bytes(4096))\n"
        "for n in range(40000):\n    os.pread(fd, 8, 0)\n"
        "for n in range(10000):\n    os.pread(fd, 8, 0)\n"
    )
    seen = observe(
        [interpreters()[KNOWN[-1]], "long.py"], cwd=tmp_path, env={"IOLENS_TIMES": "always-sampled"}
    )
    found = by_line(seen.log, "data")
    four, seven = found["read", "long.py:5"], found["read", "long.py:7"]
    assert four["basis"] == seven["basis"] == "estimated"
    assert four["calls"] + seven["calls"] == 50000
    assert four["bytes"] + seven["bytes"] == 400000
    assert four["calls"] == pytest.approx(40000, rel=0.02)
    sums_are_the_counters(seen.log)


MADE = """\
import os
fd = os.open("data", os.O_RDWR | os.O_CREAT)
for n in range(400):
    exec(compile("\\n" * n + "os.pwrite(fd, b'x', 0)", "made_%03d.py" % n, "exec"))
"""


@every
def test_code_that_gets_the_address_of_code_that_is_gone_has_its_own_line(
    observe: Observe, tmp_path: Path, version: tuple[int, ...]
) -> None:
    (tmp_path / "made.py").write_text(MADE)
    seen = observe([interpreters()[version], "made.py"], cwd=tmp_path)
    found = {
        place: one["calls"] for (kind, place), one in by_line(seen.log, "data").items() if kind == "write"
    }
    assert found == {f"made_{n:03}.py:{n + 1}": 1 for n in range(400)}


FORKS = """\
import os, sys, threading

def work(name, size):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    for _ in range(100):
        os.write(fd, bytes(size))

child = os.fork()
work("child" if child == 0 else "parent", 3)
if child:
    os.waitpid(child, 0)
    thread = threading.Thread(target=work, args=("thread", 5))
    thread.start(); thread.join()
os.kill(os.getpid(), 9)
"""


def test_forks_threads_and_killed_processes(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    seen = observe([interpreters()[KNOWN[-1]], "forks.py"], cwd=tmp_path)
    for name, size in (("parent", 3), ("child", 3), ("thread", 5)):
        found = by_line(seen.log, name)
        assert found["write", "work (forks.py:6)"]["bytes"] == 100 * size
        assert {place for kind, place in found if kind == "write"} == {"work (forks.py:6)"}
    assert {row["rank"] for row in seen.sections["lines"]} == {"0", "1"}


@pytest.fixture
def log_of_reads(observe: Observe, tmp_path: Path) -> Path:
    (tmp_path / "reads.py").write_text(READS)
    return observe([interpreters()[KNOWN[-1]], "reads.py"], cwd=tmp_path).log


def test_anonymized_the_sums_stay_and_names_go(log_of_reads: Path, tmp_path: Path, iolens: Path) -> None:
    new = tmp_path / "new.darshan"
    subprocess.run([iolens, "convert", "--anonymize", log_of_reads, new], check=True)
    with Dataset(new) as data:
        rows = data.rows(
            "SELECT stack, calls, bytes FROM line WHERE kind = 'read' AND basis = 'counted' AND bytes > 0"
        )
    assert sorted(row["calls"] for row in rows if row["stack"].endswith((":20)", ":21)")))[-1] == 300
    assert not [row for row in rows if re.search(r"reads|first|second|deep|pytest", row["stack"])]


def test_merged_logs_add_up(log_of_reads: Path, observe: Observe, tmp_path: Path, iolens: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "reads.py").write_text(READS)
    second = observe([interpreters()[KNOWN[-1]], "reads.py"], cwd=tmp_path / "other").log
    merged = tmp_path / "merged.darshan"
    subprocess.run([iolens, "merge", "-o", merged, log_of_reads, second], check=True)
    with Dataset(merged) as data:
        rows = data.rows(
            "SELECT sum(calls) AS calls, sum(bytes) AS bytes FROM line WHERE place = 'first (reads.py:5)'"
        )
    assert rows == [{"calls": 600, "bytes": 60000}]
    sums_are_the_counters(merged)


def test_other_programs_have_the_line_that_opened_the_file(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    source = """
    #include <fcntl.h>
    #include <unistd.h>
    int main(void) { int f = open("data", O_WRONLY | O_CREAT, 0600); for (int n = 0; n < 9; n++) write(f, "xy", 2); }
    """
    seen = observe([compile_program(source)], cwd=tmp_path)
    assert "lines" not in seen.sections
    found = by_line(seen.log, "data")
    assert found["write", "main in program"] == {"calls": 9, "bytes": 18, "basis": "opened"}


def test_no_lines_where_sites_are_off(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(READS)
    seen = observe([interpreters()[KNOWN[-1]], "reads.py"], cwd=tmp_path, env={"IOLENS_SITES": "off"})
    assert "lines" not in seen.sections
    assert {place for _, place in by_line(seen.log, "data")} == {"unknown"}
    sums_are_the_counters(seen.log)


MANY = """\
import os
def save(n):
    with open(f"many/{n}", "wb") as file:
        file.write(bytes(100))
def load(n):
    with open(f"many/{n}", "rb", buffering=0) as file:
        return file.read(100)
os.mkdir("many")
for n in range(2500): save(n)
for n in range(2500): load(n)
"""


def test_files_beyond_the_room_have_the_lines_that_use_them(observe: Observe, tmp_path: Path) -> None:
    """There is room for sums of 1,536 files that are opened and written at one line each."""
    (tmp_path / "many.py").write_text(MANY)
    seen = observe([interpreters()[KNOWN[-1]], "many.py"], cwd=tmp_path)
    with Dataset(seen.log) as data:
        rows = data.rows(
            "SELECT kind, function, sum(calls) AS calls, sum(bytes) AS bytes FROM line JOIN name_of USING (log, id) "
            "WHERE interface = 'posix' AND name LIKE '%/many/%' GROUP BY kind, function"
        )
    found = {(row["kind"], row["function"]): (row["calls"], row["bytes"]) for row in rows}
    assert set(found) == {("read", "load"), *((kind, "save") for kind in ("write", "meta")), ("meta", "load")}
    assert found["read", "load"] == (2500, 250000) and found["write", "save"] == (2500, 250000)
    # Opens are counted; fstat, which is not, goes with them.
    assert found["meta", "load"][0] == pytest.approx(found["meta", "save"][0], rel=0.35)
    sums_are_the_counters(seen.log)
