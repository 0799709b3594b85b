"""Two logs compared: what is the same, what is near enough, and which records belong together."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest
from logmaker import HEATMAP, POSIX, LogMaker, dxt_posix, heatmap, posix

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Diff = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def diff(run_iolens: Run, tmp_path: Path) -> Diff:
    def compared(a: LogMaker, b: LogMaker, *options: str) -> subprocess.CompletedProcess[str]:
        for name, log in (("a", a), ("b", b)):
            (tmp_path / name).write_bytes(bytes(log))
        return run_iolens(["diff", *options, "a", "b"], cwd=tmp_path)

    return compared


def one(name: bytes = b"/data/x", record: int = 5, **counters: float) -> LogMaker:
    return LogMaker(names={record: name}, regions={POSIX: (4, posix(record, **counters))})


LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan*")) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))
]


@pytest.mark.parametrize("name", LOGS)
def test_a_log_and_itself_are_the_same(name: str, run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    """Written again, too: whatever its version, with heat maps and traces."""
    log, new = corpus / "logs" / name, tmp_path / "new"
    assert run_iolens(["convert", log, new]).returncode == 0
    for other in (log, new):
        done = run_iolens(["diff", "--job", "--tolerance", "job.run_time=0.001", log, other])
        assert (done.returncode, done.stderr) == (0, ""), done.stdout[:2000]
        assert done.stdout.startswith("no difference in ")


def test_counters_that_differ_are_told(diff: Diff) -> None:
    a = one(opens=2, bytes_read=100, read_time=1.0)
    b = one(opens=2, bytes_read=150, read_time=0.5)
    done = diff(a, b)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "posix /data/x, rank 0",
        "    bytes_read: 100 -> 150  (+50 %)",
        "    read_time: 1 -> 0.5  (-50 %)",
        "posix: 1 of 1 record differs, in 2 counters; 0 only in A, 0 only in B",
    ]


def test_json_has_the_same(diff: Diff) -> None:
    b = one(bytes_read=2**53 + 1)
    b.nprocs, b.names = 2, {5: b"/data/x", 6: b"/new"}
    b.regions = {POSIX: (4, b.regions[POSIX][1] + posix(6, rank=1))}
    page = json.loads(diff(one(bytes_read=1), b, "--json").stdout)
    assert page["same"] is False
    assert page["job"] == [{"field": "nprocs", "a": 1, "b": 2}]
    assert page["modules"] == [
        {
            "module": "posix",
            "differences": [
                {
                    "name": "/data/x",
                    "rank": 0,
                    "id": "5",
                    "counters": [{"counter": "bytes_read", "a": 1, "b": 2**53 + 1}],
                },
                {"name": "/new", "rank": 1, "id": "6", "only_in": "b"},
            ],
            **{"compared": 1, "differing": 1, "counters": 1, "only_in_a": 0, "only_in_b": 1},
        }
    ]
    assert json.loads(diff(one(), one(), "--json").stdout)["same"] is True


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--tolerance", "10%"], 0),
        (["--tolerance", "9%"], 1),
        (["--tolerance", "5"], 1),
        (["--tolerance", "10"], 0),
        (["--tolerance", "1,10%"], 0),
        (["--tolerance", "posix.bytes_*=10"], 0),
        (["--tolerance", "bytes_read=10"], 0),
        (["--tolerance", "mpiio.*=10"], 1),
        (["--tolerance", "10%", "--tolerance", "bytes_*=1"], 1),
        (["--ignore", "posix.bytes_read"], 0),
        (["--ignore", "bytes_written"], 1),
        (["--ignore-times"], 1),
        (["--module", "stdio"], 0),
        (["--name", "*.h5"], 0),
        (["--regex", "^/data"], 1),
        (["--rank", "1"], 0),
    ],
)
def test_how_far_apart_values_may_be(diff: Diff, options: list[str], code: int) -> None:
    done = diff(one(bytes_read=100), one(bytes_read=110), *options)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout


def test_times_can_be_left_out(diff: Diff) -> None:
    fast = {"read_time": 1.0, "open_start_timestamp": 2.0, "max_read_time": 1.0, "max_read_time_size": 4}
    slow = {"read_time": 7.0, "open_start_timestamp": 3.0, "max_read_time": 2.0, "max_read_time_size": 9}
    a, b = one(opens=3, slowest_rank=1, **fast), one(opens=3, slowest_rank=3, **slow)
    a.regions = {**a.regions, HEATMAP: (1, heatmap(9, 0, 0.1, [1, 2], [0, 0]))}
    b.regions = {**b.regions, HEATMAP: (1, heatmap(9, 0, 0.1, [3], [0]))}
    b.end += 7
    assert diff(a, b).returncode == 1
    assert diff(a, b, "--ignore-times").returncode == 0


def test_records_meet_by_their_names(diff: Diff) -> None:
    """Ids are hashes of paths in most logs, and of other things in some."""
    assert diff(one(record=5, opens=1), one(record=77, opens=1)).returncode == 0


@pytest.mark.parametrize(
    ("a", "b", "options", "code"),
    [
        (b"/run-17/out.0007", b"/run-18/out.0008", [], 1),
        (b"/run-17/out.0007", b"/run-18/out.0008", ["--numbers"], 0),
        (b"/old/data/x", b"/new/data/x", ["--map", "^/old/=/new/"], 0),
        (b"/a/x.h5", b"/x.h5/b", ["--map", r"^/[ab]/(.*)=\1", "--map", r"^/(.*)/b$=\1"], 0),
        (b"/old/data/x", b"/new/data/y", ["--map", "^/old/=/new/"], 1),
    ],
)
def test_names_can_be_made_to_meet(diff: Diff, a: bytes, b: bytes, options: list[str], code: int) -> None:
    done = diff(one(a, opens=1), one(b, record=6, opens=1), *options)
    assert done.returncode == code, done.stdout


def test_numbered_files_meet_in_their_order(diff: Diff) -> None:
    names = [{1: b"/out.1", 2: b"/out.2", 3: b"/log"}, {7: b"/out.4", 6: b"/out.3", 3: b"/log"}]
    logs = [LogMaker(names=n, regions={POSIX: (4, b"")}) for n in names]
    logs[0].regions = {POSIX: (4, posix(2, opens=20) + posix(1, opens=10) + posix(3))}
    logs[1].regions = {POSIX: (4, posix(7, opens=20) + posix(6, opens=10) + posix(3))}
    assert diff(*logs, "--numbers").returncode == 0
    logs[1].regions = {POSIX: (4, posix(6, opens=11) + posix(3))}
    done = diff(*logs, "--numbers")
    assert "only in A: posix /out.2, rank 0" in done.stdout
    assert "posix /out.1, rank 0 (in B /out.3)\n    opens: 10 -> 11" in done.stdout


def test_a_reference_to_a_file_is_compared_by_its_name(diff: Diff) -> None:
    logs = []
    for record in (8, 9):
        log = one(renamed_from=record)
        log.names = {5: b"/data/x", record: b"/data/old"}
        logs.append(log)
    assert diff(*logs).returncode == 0


def test_traces_are_compared_access_by_access(diff: Diff) -> None:
    def traced(*writes: tuple[int, int, float, float]) -> LogMaker:
        return LogMaker(names={5: b"/t"}, regions={10: (1, dxt_posix(5, 0, writes, [(9, 9, 8.0, 9.0)]))})

    a = traced((0, 10, 1.0, 2.0), (10, 10, 2.0, 3.0))
    assert diff(a, traced((0, 10, 1.0, 2.0), (10, 10, 2.5, 3.0)), "--ignore-times").returncode == 0
    done = diff(a, traced((0, 10, 1.0, 2.0), (30, 10, 2.0, 3.0)))
    assert "dxt_posix /t, rank 0\n    write[1].offset: 10 -> 30" in done.stdout
    done = diff(a, traced((0, 10, 1.0, 2.0)))
    assert "    writes: 2 -> 1" in done.stdout and "read[" not in done.stdout


def test_what_an_old_version_did_not_count_is_no_difference(diff: Diff) -> None:
    """POSIX 3 has no dups; the record is 40 bytes shorter."""
    new = posix(5, opens=3, dups=4)
    words = [new[at : at + 8] for at in range(0, len(new), 8)]
    old = b"".join(words[:3] + words[5:12] + words[15:])
    a, b = one(), one()
    a.regions, b.regions = {POSIX: (3, old)}, {POSIX: (4, new)}
    assert diff(a, b).returncode == 0
    a.regions = {POSIX: (3, old)}
    b.regions = {POSIX: (4, posix(5, opens=4))}
    assert diff(a, b).stdout.startswith("posix /data/x, rank 0\n    opens: 3 -> 4")


def test_a_log_and_its_conversion_are_the_same(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    logs = [log for log in sorted((corpus / "logs").iterdir()) if log.stat().st_size < 20_000]
    assert len(logs) > 20
    for log in logs:
        new = tmp_path / log.name
        assert run_iolens(["convert", log, new]).returncode == 0
        done = run_iolens(["diff", log, new])
        assert done.returncode == 0, done.stdout


def test_a_record_takes_little_memory(iolens: Path, tmp_path: Path) -> None:
    """The counters of a million files in two logs are 1.4 GB, most of them 0."""

    def most_memory(records: int) -> int:
        for name in "ab":
            first = posix(0, opens=1, bytes_written=10, open_start_timestamp=1.5, close_end_timestamp=2.5)
            body = b"".join(struct.pack("<Q", k) + first[8:] for k in range(1, records + 1))
            names = {k: b"/data/d%03d/file-%07d" % (k % 100, k) for k in range(1, records + 1)}
            (tmp_path / name).write_bytes(bytes(LogMaker(names=names, regions={POSIX: (4, body)})))
        process = subprocess.Popen([iolens, "diff", "--brief", "a", "b"], cwd=tmp_path)
        _, process.returncode, used = os.wait4(process.pid, 0)
        assert process.returncode == 0
        return used.ru_maxrss << 10

    few, many = 5_000, 20_000
    assert (most_memory(many) - most_memory(few)) / (many - few) < 500


def test_brief_is_a_line_per_module(diff: Diff) -> None:
    assert diff(one(opens=1), one(opens=2), "--brief").stdout.count("\n") == 1


def test_a_damaged_module_does_not_hide_the_others(diff: Diff, tmp_path: Path) -> None:
    a, b = one(opens=1), one(opens=2)
    b.regions = {**b.regions, HEATMAP: (1, bytes(30))}
    done = diff(a, b)
    assert done.returncode == 4 and "opens: 1 -> 2" in done.stdout
    assert len(done.stderr.splitlines()) == 1 and "b: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["a"], 2, "give two logs"),
        (["a", "b", "b"], 2, "give two logs"),
        (["--frobnicate", "a", "b"], 2, "--frobnicate"),
        (["--tolerance", "much", "a", "b"], 2, "--tolerance"),
        (["--tolerance", "x=", "a", "b"], 2, "--tolerance"),
        (["--tolerance", "-1", "a", "b"], 2, "--tolerance"),
        (["--map", "(=x", "a", "b"], 2, "--map"),
        (["--map", "noequals", "a", "b"], 2, "--map"),
        (["--module", "nosuch", "a", "b"], 2, "--module"),
        (["--regex", "(", "a", "b"], 2, "--regex"),
        (["--rank", "x", "a", "b"], 2, "--rank"),
        (["a", "missing"], 3, "missing"),
        (["a", "text"], 3, "text"),
    ],
)
def test_wrong_use(run_iolens: Run, tmp_path: Path, arguments: list[str], code: int, complaint: str) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(bytes(one()))
    (tmp_path / "text").write_text("no log")
    done: Any = run_iolens(["diff", *arguments], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and complaint in done.stderr
