"""The compact form: what a trace is in the trailer of a log, and what becomes of it."""

from __future__ import annotations

import os
import random
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import traced
from observed import Observe, Observed

PYTHON = ["/usr/bin/python3", "-S", "-c"]
PROGRAM = """
import os, threading
f = os.open('file', os.O_RDWR | os.O_CREAT)
for n in range(5000):
    os.pwrite(f, b'x' * (1 + n % 3), n * n)
for n in range(100):
    os.pread(f, 10, n * 10)
def work():
    for n in range(50):
        os.pwrite(f, b'thread', 1000 + n)
t = threading.Thread(target=work)
t.start()
t.join()
os.pwrite(f, b'end', 7)
os.write(os.open('other', os.O_RDWR | os.O_CREAT), b'12')
"""
WRITES = [(n * n, 1 + n % 3) for n in range(5000)] + [(1000 + n, 6) for n in range(50)] + [(7, 3)]
OF_THAT = {
    ("POSIX", "file", 0, "write"): WRITES,
    ("POSIX", "file", 0, "read"): [(n * 10, 10) for n in range(100)],
    ("POSIX", "other", 0, "write"): [(0, 2)],
}


def run(observe: Observe, cwd: Path, form: str) -> Observed:
    env = {**os.environ, "IOLENS_TRACE": form}
    return observe([*PYTHON, PROGRAM], cwd=cwd, env=env)


def region(log: Path, module: int) -> bytes:
    """What a module's region in the header unpacks to."""
    data = log.read_bytes()
    at, size = (int.from_bytes(data[48 + 16 * module + n :][:8], "little") for n in (0, 8))
    stored, unpacked = data[at : at + size], b""
    while stored:
        stream = zlib.decompressobj()
        unpacked += stream.decompress(stored)
        stored = stream.unused_data
    return unpacked


def convert(iolens: Path, log: Path, to: Path, *options: str) -> Path:
    subprocess.run([iolens, "convert", *options, log, to], check=True, capture_output=True)
    return to


def lines(iolens: Path, log: Path, *options: str) -> list[str]:
    done = subprocess.run([iolens, "trace", *options, log], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_a_compact_trace_is_read_as_any_other(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    seen = run(observe, tmp_path, "compact")
    assert not region(seen.log, 10)
    assert traced.accesses(traced.segments(seen.log)) == OF_THAT
    subprocess.run([iolens, "check", seen.log], check=True, capture_output=True)


def test_regions_made_of_it_are_those_that_were_written(
    observe: Observe, tmp_path: Path, iolens: Path
) -> None:
    """A log with both: its region came from the store, that of the converted one from the compact form."""
    log = run(observe, tmp_path, "on").log
    again = convert(iolens, log, tmp_path / "again.darshan")
    assert len(region(log, 10)) == 2 * 104 + 32 * sum(map(len, OF_THAT.values()))
    assert region(again, 10) == region(log, 10)
    assert lines(iolens, again, "--csv") == lines(iolens, log, "--csv")


def test_darshans_tools_read_what_convert_makes(
    observe: Observe, tmp_path: Path, iolens: Path, oracle: ModuleType
) -> None:
    log = run(observe, tmp_path, "compact").log
    assert not any("X_POSIX" in line for line in oracle.dxt_lines(oracle.Log(str(log))))
    again = convert(iolens, log, tmp_path / "again.darshan")
    assert traced.of_lines(oracle.dxt_lines(oracle.Log(str(again)))) == traced.segments(log)
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    darshan.DarshanReport(str(log), read_all=True)
    report = darshan.DarshanReport(str(again), read_all=False)
    report.mod_read_all_dxt_records("DXT_POSIX")
    records = report.records["DXT_POSIX"].to_df()
    assert sorted(record["write_count"] for record in records) == [1, len(WRITES)]


def test_threads_are_told(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    for form in ("on", "compact"):
        place = tmp_path / form
        place.mkdir()
        log = run(observe, place, form).log
        assert not any("Pthread-ID" in line for line in lines(iolens, log))
        told = [line.split() for line in lines(iolens, log, "--threads", "--op", "write", "--name", "*/file")]
        threads = [row[-1] for row in told if row[:1] == ["X_POSIX"]]
        assert threads == ["1"] * 5000 + ["2"] * 50 + ["1"]


def test_accesses_of_all_files_in_the_order_they_began(
    observe: Observe, tmp_path: Path, iolens: Path
) -> None:
    log = run(observe, tmp_path, "compact").log
    rows = [line.split() for line in lines(iolens, log, "--chronological")[1:]]
    assert len(rows) == sum(map(len, OF_THAT.values()))
    starts = [float(row[6]) for row in rows]
    assert starts == sorted(starts)
    assert [row[-1].rpartition("/")[2] for row in rows[-2:]] == ["file", "other"]
    few = lines(iolens, log, "--chronological", "--min-size", "6", "--max-size", "9")[1:]
    assert len(few) == 50
    large = [
        lines(iolens, log, "--chronological", "--min-size", size) for size in ("1k", "1K", "1KiB", "1024")
    ]
    assert large == large[:1] * 4
    for wrong in ("1kB", "1KiBs", "k", "-1", "1iB"):
        command = [iolens, "trace", "--min-size", wrong, log]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"--min-size {wrong}: expected bytes, as in 4096, 64k or 1MiB" in refused.stderr


def test_python_has_it(observe: Observe, tmp_path: Path) -> None:
    import iolens
    import pyarrow as pa

    for form in ("on", "compact"):
        place = tmp_path / form
        place.mkdir()
        with iolens.open(run(observe, place, form).log) as log:
            rows = pa.table(log["dxt_posix"]).to_pylist()
        assert len(rows) == sum(map(len, OF_THAT.values()))
        assert {row["thread"] for row in rows} == {1, 2}
        writes = [(r["offset"], r["length"]) for r in rows if r["operation"] == "write"]
        assert sorted(writes) == sorted([*WRITES, (0, 2)])


def test_a_part_of_it(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    log = run(observe, tmp_path, "compact").log
    part = convert(iolens, log, tmp_path / "part.darshan", "--name", "*/other")
    assert traced.accesses(traced.segments(part)) == {("POSIX", "other", 0, "write"): [(0, 2)]}
    without = convert(iolens, log, tmp_path / "without.darshan", "--drop-trailer")
    assert traced.accesses(traced.segments(without)) == OF_THAT


def test_anonymized(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    log = run(observe, tmp_path, "compact").log
    hidden = convert(iolens, log, tmp_path / "hidden.darshan", "--anonymize")
    hosts = {line.split()[-1] for line in lines(iolens, hidden) if line.startswith("# DXT, rank: ")}
    assert len(hosts) == 1 and os.uname().nodename not in hosts
    found = traced.accesses(traced.segments(hidden))
    assert sorted(map(len, found.values())) == [1, 100, 5051]
    assert not {name for _, name, _, _ in found} & {"file", "other"}


@pytest.mark.parametrize("form", ["on", "compact"])
def test_parts_are_put_together_again(observe: Observe, tmp_path: Path, iolens: Path, form: str) -> None:
    log = run(observe, tmp_path, form).log
    parts = [convert(iolens, log, tmp_path / f"{n}.darshan", "--name", f"*/{n}") for n in ("file", "other")]
    whole = tmp_path / "whole.darshan"
    subprocess.run([iolens, "merge", "-o", whole, *parts], check=True, capture_output=True)
    assert lines(iolens, whole, "--csv") == lines(iolens, log, "--csv")
    assert sorted(traced.accesses(traced.segments(whole))) == sorted(OF_THAT)


def test_two_runs_as_one(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    logs = []
    for form in ("compact", "on"):
        (tmp_path / form).mkdir()
        logs.append(run(observe, tmp_path / form, form).log)
    whole = tmp_path / "whole.darshan"
    subprocess.run([iolens, "merge", "-o", whole, *logs], check=True, capture_output=True)
    found = traced.accesses(traced.segments(whole))
    assert found == {(m, n, rank, op): v for (m, n, _, op), v in OF_THAT.items() for rank in (0, 1)}
    again = convert(iolens, whole, tmp_path / "again.darshan")
    assert region(again, 10) == region(whole, 10)


def test_a_log_and_its_converted_one_do_not_differ(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    log = run(observe, tmp_path, "compact").log
    again = convert(iolens, log, tmp_path / "again.darshan")
    done = subprocess.run([iolens, "diff", log, again], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_damaged_accesses_are_refused(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    log = run(observe, tmp_path, "compact").log
    whole = log.read_bytes()
    chance = random.Random(14)
    broken = tmp_path / "broken.darshan"
    refused = 0
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole) // 3, len(whole))] ^= 1 + chance.randrange(255)
        broken.write_bytes(damaged)
        done = subprocess.run([iolens, "trace", broken], check=False, capture_output=True)
        assert done.returncode in (0, 3, 4), done.stderr
        refused += done.returncode != 0
        checked = subprocess.run([iolens, "check", broken], check=False, capture_output=True)
        assert checked.returncode in (1, 3, 4) or not done.returncode
    assert refused > 20


STREAMS = r"""
#include <stdio.h>
static char data[100000];
int main(void)
{
	FILE *f = fopen("stream", "w+");
	for (int n = 0; n < 1000; n++)
		fwrite(data, 1, 10 + n % 5, f);
	fwrite(data, 1, sizeof data, f);
	rewind(f);
	fread(data, 1, 300, f);
	fseek(f, 5000, SEEK_SET);
	fread(data, 1, 300, f);
	return fclose(f);
}
"""


@pytest.mark.parametrize("form", ["on", "compact"])
def test_streams_are_traced(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path], form: str
) -> None:
    env = {**os.environ, "IOLENS_TRACE": form}
    seen = observe([compile_program(STREAMS)], cwd=tmp_path, env=env)
    found = traced.accesses(traced.segments(seen.log))
    sizes = [10 + n % 5 for n in range(1000)] + [100000]
    assert found["STDIO", "stream", 0, "write"] == [(sum(sizes[:n]), size) for n, size in enumerate(sizes)]
    assert found["STDIO", "stream", 0, "read"] == [(0, 300), (5000, 300)]
    assert all(s.start <= s.end for s in traced.segments(seen.log))


def test_streams_may_be_left_out(
    observe: Observe, tmp_path: Path, compile_program: Callable[[str], Path]
) -> None:
    env = {**os.environ, "IOLENS_TRACE": "on", "IOLENS_MOD_DISABLE": "DXT_STDIO"}
    seen = observe([compile_program(STREAMS)], cwd=tmp_path, env=env)
    assert not [s for s in traced.segments(seen.log) if s.interface == "STDIO"]
    assert seen.total("STDIO", "WRITES") == 1001


def test_a_trace_of_streams_without_room_says_so(
    observe: Observe, tmp_path: Path, iolens: Path, compile_program: Callable[[str], Path]
) -> None:
    many = STREAMS.replace("n < 1000", "n < 60000")
    env = {**os.environ, "IOLENS_TRACE": "on", "IOLENS_TRACE_BUDGET": "0.0625"}
    seen = observe([compile_program(many)], cwd=tmp_path, env=env)
    header = seen.log.read_bytes()[24:32]
    assert int.from_bytes(header, "little") >> 18 == 0
    done = subprocess.run([iolens, "trace", "--csv", seen.log], check=False, capture_output=True, text=True)
    assert done.returncode == 4
    assert "DXT_STDIO module is incomplete" in done.stderr
