"""Asynchronous I/O: what requests of libaio and io_uring do to records of files, and how many they are."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from iolens.metrics import Dataset
from observed import Observe, Observed

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SIZE = 16 << 20
BLOCK = 64 << 10
PROGRAMS = Path(__file__).parent / "programs"


def requests(seen: Observed, interface: str, direction: str) -> shown.Row:
    rows = [
        row
        for row in seen.sections["async"]
        if (row["interface"], row["direction"]) == (interface, direction)
    ]
    assert len(rows) == 1, seen.sections["async"]
    return rows[0]


def batches(seen: Observed, interface: str) -> shown.Row:
    (row,) = [row for row in seen.sections["async_batches"] if row["interface"] == interface]
    return row


def counters(seen: Observed, name: str, *wanted: str) -> list[int]:
    return [seen.total("POSIX", counter, name) for counter in wanted]


def built(folder: Path, name: str, *flags: str) -> Path:
    source = PROGRAMS / f"{name}.c"
    subprocess.run(["cc", "-w", "-D_GNU_SOURCE", "-o", "program", source, *flags], cwd=folder, check=True)
    return folder / "program"


def moved(seen: Observed) -> dict[str, tuple[int, int]]:
    """The summary's table of what moved how, by its key: bytes read and written."""
    with Dataset([seen.log]) as logs:
        return {row["way"]: (row["bytes_read"], row["bytes_written"]) for row in logs.metric("moved")}


def test_libaio_requests_are_accesses_of_their_files(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "libaio", "-laio")], cwd=tmp_path)
    assert seen.done.returncode == 0
    data, other = str(tmp_path / "data"), str(tmp_path / "other")
    assert counters(seen, data, "WRITES", "BYTES_WRITTEN", "READS", "BYTES_READ") == [
        6,
        6 * 4096,
        2,
        1024 + 10,
    ]
    assert counters(seen, other, "WRITES", "BYTES_WRITTEN") == [2, 2 * 4096]
    assert counters(seen, data, "MAX_BYTE_WRITTEN", "FSYNCS", "CONSEC_WRITES") == [6 * 4096 - 1, 1, 5]
    assert counters(seen, data, "SIZE_WRITE_1K_10K", "ACCESS1_ACCESS", "ACCESS1_COUNT") == [6, 4096, 6]
    written, read = requests(seen, "libaio", "write"), requests(seen, "libaio", "read")
    assert [int(written[f]) for f in ("count", "errors", "bytes", "recorded")] == [8, 0, 8 * 4096, 8 * 4096]
    assert [int(read[f]) for f in ("count", "errors", "bytes", "untimed")] == [2, 0, 1034, 0]
    row = batches(seen, "libaio")
    assert [int(row[f]) for f in ("calls", "requests", "largest", "size_2_4", "size_5_16")] == [
        2,
        11,
        8,
        1,
        1,
    ]
    assert float(written["span_time"]) > 0 and float(written["wait_time"]) > 0
    spent = float(seen.records["POSIX", other, 0]["POSIX_F_WRITE_TIME"])  # no fsync in it
    assert 0 < spent <= float(written["wait_time"]) + 3e-6  # times are on a grid


def test_batches_are_in_classes_of_sizes(observe: Observe, tmp_path: Path) -> None:
    """An edge belongs to the class below."""
    seen = observe([built(tmp_path, "batches", "-laio")], cwd=tmp_path)
    assert seen.done.returncode == 0
    row = batches(seen, "libaio")
    classes = ("size_1", "size_2_4", "size_5_16", "size_17_64", "size_65_plus")
    assert [int(row[f]) for f in ("calls", "requests", "largest", *classes)] == [8, 174, 65, 1, 2, 2, 2, 1]


def test_what_moved_is_counted_once(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "libaio", "-laio")], cwd=tmp_path)
    ways = moved(seen)
    assert ways["libaio"] == (1034, 8 * 4096)
    assert ways.get("posix", (0, 0)) == (0, 0)
    assert all(int(row["unexplained_written"]) < 4096 for row in seen.sections["process"])


def test_registered_files_and_buffers(observe: Observe, tmp_path: Path) -> None:
    """They outlive their descriptors; what a ring closes is closed."""
    seen = observe([built(tmp_path, "registered_files", "-luring")], cwd=tmp_path)
    assert seen.done.returncode == 0
    for name, writes, size in ("a", 3, 15000), ("b", 3, 15000), ("c", 1, 100), ("d", 1, 7):
        assert counters(seen, str(tmp_path / name), "WRITES", "BYTES_WRITTEN") == [writes, size], name
    assert counters(seen, str(tmp_path / "c"), "FDSYNCS", "FSYNCS") == [1, 0]
    row = requests(seen, "io_uring", "write")
    assert [int(row[f]) for f in ("count", "bytes", "recorded", "fixed_files", "fixed_buffers")] == [
        7,
        30100,
        30100,
        7,
        6,
    ]
    assert int(batches(seen, "io_uring")["largest"]) == 6


def test_descriptors_of_a_ring_and_appends(observe: Observe, tmp_path: Path) -> None:
    """What a ring opens is a file of its own; RWF_APPEND writes behind what is there, whatever the offset."""
    seen = observe([built(tmp_path, "ring_descriptors", "-luring", "-laio")], cwd=tmp_path)
    if seen.done.returncode == 77:
        pytest.skip("the kernel makes no ring")
    assert seen.done.returncode == 0
    wanted = ("OPENS", "WRITES", "BYTES_WRITTEN", "MAX_BYTE_WRITTEN")
    assert counters(seen, str(tmp_path / "before_open"), *wanted) == [1, 1, 10, 9]
    assert counters(seen, str(tmp_path / "before_socket"), *wanted) == [1, 1, 10, 9]
    assert counters(seen, str(tmp_path / "opened"), *wanted) == [1, 2, 150, 149]
    assert counters(seen, str(tmp_path / "appended"), *wanted) == [1, 2, 1200, 1199]


def test_a_ring_that_is_entered_by_syscall_is_exact(observe: Observe, tmp_path: Path) -> None:
    """As Rust's and Go's bindings do it."""
    seen = observe([built(tmp_path, "ring_by_syscall")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert counters(seen, str(tmp_path / "even"), "WRITES", "BYTES_WRITTEN") == [25, 75000]
    assert counters(seen, str(tmp_path / "odd"), "WRITES", "BYTES_WRITTEN") == [25, 25000]
    row = requests(seen, "io_uring", "write")
    assert [int(row[f]) for f in ("count", "errors", "bytes", "untimed")] == [50, 0, 100000, 0]
    assert [int(batches(seen, "io_uring")[f]) for f in ("calls", "largest")] == [50, 1]


def test_threads_that_close_at_once_count_a_request_once(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "driven_ring", "-pthread")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert counters(seen, str(tmp_path / "data"), "WRITES", "BYTES_WRITTEN") == [5000, 500000]


def test_a_killed_ring_that_was_entered_by_syscall_has_lost_nothing(observe: Observe, tmp_path: Path) -> None:
    """Whole pages of it went to storage: that is not unexplained."""
    seen = observe([built(tmp_path, "ring_by_syscall"), "killed"], cwd=tmp_path)
    assert counters(seen, str(tmp_path / "even"), "WRITES", "BYTES_WRITTEN") == [25, 75000]
    assert [row["unexplained_written"] for row in seen.sections["process"]] == ["0"]


def test_libaio_by_syscall_and_with_bad_pointers(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "libaio_by_syscall")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert counters(seen, str(tmp_path / "data"), "WRITES", "BYTES_WRITTEN") == [1, 2000]


def test_hostile_arguments_have_the_kernels_answer(observe: Observe, tmp_path: Path) -> None:
    program = built(tmp_path, "hostile_arguments", "-laio", "-luring")
    assert subprocess.run([program], cwd=tmp_path, check=False).returncode == 0
    assert observe([program], cwd=tmp_path).done.returncode == 0


def test_another_thread_reaps_before_the_submission_returns(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "other_thread_reaps", "-laio", "-pthread")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert counters(seen, str(tmp_path / "data"), "WRITES", "BYTES_WRITTEN") == [20000, 20000 * 512]
    assert int(requests(seen, "libaio", "write")["untimed"]) == 0


@pytest.mark.parametrize("rw", ["randread", "randwrite"])
@pytest.mark.parametrize("engine", ["libaio", "io_uring", "posixaio"])
def test_fio_says_the_same_of_its_file(
    engine: str, rw: str, observe: Observe, run_iolens: Run, tmp_path: Path
) -> None:
    """Requests of fio's own ring are known by their number and by the last of them."""
    data = tmp_path / "data"
    data.write_bytes(bytes(SIZE))
    job = [
        f"--filename={data}",
        f"--ioengine={engine}",
        f"--rw={rw}",
        "--iodepth=8",
        "--bs=64k",
        f"--size={SIZE}",
    ]
    seen = observe(["fio", "--name=job", *job], cwd=tmp_path, options=())
    assert seen.done.returncode == 0
    kind, calls = ("READ", "READS") if rw == "randread" else ("WRITTEN", "WRITES")
    assert counters(seen, str(data), calls, f"BYTES_{kind}") == [SIZE // BLOCK, SIZE]
    size = f"SIZE_{'READ' if rw == 'randread' else 'WRITE'}_10K_100K"
    assert counters(seen, str(data), size, "ACCESS1_ACCESS", "ACCESS1_COUNT") == [256, BLOCK, 256]
    consecutive = seen.total("POSIX", f"CONSEC_{calls}", str(data))
    assert consecutive < 64
    row = requests(seen, {"posixaio": "posix_aio"}.get(engine, engine), rw.removeprefix("rand"))
    assert [int(row[f]) for f in ("count", "errors", "bytes", "recorded")] == [256, 0, SIZE, SIZE]
    own_ring = engine == "io_uring"  # fio drives it without liburing
    assert [int(row[f]) for f in ("untimed", "estimated")] == ([SIZE, SIZE] if own_ring else [0, 0])
    said = run_iolens(["info", seen.log]).stdout
    assert ("16.0 MiB of io_uring are estimated from the last requests of its rings" in said) == own_ring
    assert (b"estimated from the last requests of rings" in seen.done.stderr) == own_ring
    with Dataset([seen.log]) as logs:
        assert [(row["way"], row["bytes"], row["share"]) for row in logs.metric("estimated")] == (
            [("io_uring", SIZE, 1.0)] if own_ring else []
        )
    classes = ("under_10us", "under_100us", "under_1ms", "under_10ms", "under_100ms", "slower")
    assert sum(int(row[f]) for f in classes) == (0 if engine == "io_uring" else 256)


def comm(pid: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def test_what_a_killed_ring_moved_is_unexplained(iolens: Path, tmp_path: Path) -> None:
    """It is known at the end alone; until then nobody knows what the requests were, but the kernel what was stored."""
    job = ["--thread", "--filename=data", "--ioengine=io_uring", "--rw=write", "--direct=1", "--bs=64k"]
    line = ["fio", "--name=job", *job, "--size=64m", "--time_based", "--runtime=60"]
    log = tmp_path / "log.darshan"
    process = subprocess.Popen([iolens, "run", "-q", "-o", log, "--", *line], cwd=tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    started: list[str] = []
    while not started:
        time.sleep(0.01)
        started = [pid for pid in children.read_text().split() if comm(pid) == "fio"]
    fio = int(started[0])
    least = 0
    began = time.monotonic()
    while least < max(
        32 << 20, 0.1 * 1e9 * (time.monotonic() - began)
    ):  # what can matter in a run of this time
        time.sleep(0.01)
        if time.monotonic() - began > 20:
            process.terminate()
            process.wait()
            pytest.skip("the disk writes less than 100 MB/s")
        least = int(Path(f"/proc/{fio}/io").read_text().split("\nwrite_bytes: ")[1].split()[0])
    os.kill(fio, signal.SIGKILL)
    process.wait()
    with Dataset([log]) as logs:
        (row,) = logs.rows("SELECT sum(unexplained_written)::BIGINT AS bytes FROM process")
        assert row["bytes"] >= least - 4096 > 0  # what fio printed is explained
        assert logs.metric("unexplained")[0]["partly"]


def test_requests_of_one_key_are_told_apart_by_what_they_asked_for(observe: Observe, tmp_path: Path) -> None:
    """A read that takes its time is overtaken by the write behind it; neither has set its user data."""
    seen = observe([built(tmp_path, "same_key", "-luring")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert counters(seen, str(tmp_path / "a"), "READS", "BYTES_READ", "WRITES") == [100, 100_000, 0]
    assert counters(seen, str(tmp_path / "b"), "WRITES", "BYTES_WRITTEN", "READS") == [100, 5_000_000, 0]


def test_requests_that_bear_one_key_cost_what_others_cost(observe: Observe, tmp_path: Path) -> None:
    """The best of several runs: with a list that was walked for each, 16,384 in flight took 20 times as long."""
    program, best = built(tmp_path, "many_of_one_key"), {"same": 1e9, "own": 1e9}
    for _ in range(3):
        for key, least in best.items():
            seen = observe([program, key], cwd=tmp_path)
            assert seen.done.returncode == 0
            assert counters(seen, str(tmp_path / "data"), "READS", "BYTES_READ") == [49152, 49152 * 512]
            best[key] = min(least, float(seen.done.stdout))
    assert best["same"] < 3 * best["own"] + 1, best


def test_requests_belong_to_the_process_that_submitted_them(observe: Observe, tmp_path: Path) -> None:
    seen = observe([built(tmp_path, "forked", "-laio")], cwd=tmp_path)
    assert seen.done.returncode == 0
    for name in "parents", "childs":
        assert counters(seen, str(tmp_path / name), "WRITES", "BYTES_WRITTEN") == [1, 1000]
    rows = {row["rank"]: int(row["bytes"]) for row in seen.sections["async"]}
    assert sorted(rows.values()) == [1000, 1000]
