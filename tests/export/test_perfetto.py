"""Traces hold to the Trace Event Format, and show every access."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable

import pytest
from iolens.log.modules import TRACES
from iolens.metrics import Dataset
from logmaker import LogMaker
from observed import Observe
from opened import dxt_log, dxt_record

Export = Callable[..., "subprocess.CompletedProcess[str]"]
Events = list[dict[str, Any]]

# Phase -> what an event of it must have, by type: the format's description.
FIELDS: dict[str, dict[str, Any]] = {
    "X": {
        "name": str,
        "cat": str,
        "pid": int,
        "tid": int,
        "ts": (int, float),
        "dur": (int, float),
        "args": dict,
    },
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "C": {"name": str, "pid": int, "ts": (int, float), "args": dict},
}
METADATA = {"process_name": "name", "process_sort_index": "sort_index", "thread_name": "name"}


def checked(path: Path) -> Events:
    """The events of a trace that holds to the format: slices of a thread nest, metadata names what is there."""
    trace = json.loads(path.read_text())
    assert set(trace) == {"displayTimeUnit", "traceEvents"} and trace["displayTimeUnit"] in ("ms", "ns")
    events: Events = trace["traceEvents"]
    ends: dict[tuple[int, int], float] = defaultdict(float)
    named = set()
    for event in events:
        for field, kind in FIELDS[event["ph"]].items():
            assert isinstance(event[field], kind), (field, event)
        if event["ph"] == "M":
            assert list(event["args"]) == [METADATA[event["name"]]]
            named.add((event["name"], event["pid"], event["tid"]))
        if event["ph"] == "X":
            lane = (event["pid"], event["tid"])
            assert event["ts"] >= ends[lane] - 0.002 and event["dur"] >= 0
            ends[lane] = event["ts"] + event["dur"]
        if event["ph"] == "C":
            assert all(isinstance(value, (int, float)) for value in event["args"].values())
    for rank, thread in ends:
        assert {("thread_name", rank, thread), ("process_name", rank, 0)} <= named
    return events


def test_every_access_of_a_trace_is_a_slice(export: Export, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "mpi-io-test-dxt.darshan"
    assert export("perfetto", log).returncode == 0
    slices = [event for event in checked(tmp_path / "out" / "trace.json") if event["ph"] == "X"]
    with Dataset(log) as data:
        for interface in (m.traces for m in TRACES):
            (row,) = data.rows(
                f'SELECT count(*) AS n, sum(length)::BIGINT AS s, max("end") AS e FROM dxt_{interface}'
            )
            here = [event for event in slices if event["cat"] == interface]
            assert (len(here), sum(event["args"]["length"] for event in here)) == (row["n"], row["s"] or 0)
            assert not here or max(e["ts"] + e["dur"] for e in here) == pytest.approx(row["e"] * 1e6, abs=1)
    assert {event["args"]["file"] for event in slices} >= {"/yellow/users/treddy/mpi_io_rough_work/test.out"}


def tracks(events: Events) -> dict[str, int]:
    """How many slices each named row has."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    return Counter(names[e["pid"], e["tid"]] for e in events if e["ph"] == "X")


THREADS = """
import os, sys, threading
together = threading.Barrier(3)
def work(n):
    f = os.open(f"{sys.argv[1]}/{n}", os.O_CREAT | os.O_WRONLY)
    for i in range(50 + n):
        os.write(f, b"x" * 3000)
    together.wait()
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]
"""


@pytest.mark.parametrize("trace", ["", "on"])
def test_each_thread_has_its_row(trace: str, export: Export, observe: Observe, tmp_path: Path) -> None:
    env = {**os.environ, **({"IOLENS_TRACE": trace} if trace else {})}
    log = observe(["/usr/bin/python3", "-S", "-c", THREADS, tmp_path], env=env).log
    assert export("perfetto", log).returncode == 0
    events = checked(tmp_path / "out" / "trace.json")
    assert {event["ph"] for event in events} == {"X", "M", "C"}
    found = tracks(events)
    if trace:
        assert sorted(found[f"thread {n}: POSIX"] for n in (2, 3, 4)) == [50, 51, 52]
    else:
        assert {event["cat"] for event in events if event["ph"] == "X"} == {"timeline"}
        assert set(found) == {f"thread {n}: calls" for n in (1, 2, 3, 4)}


def test_accesses_that_overlap_have_lanes_of_their_own(export: Export, tmp_path: Path) -> None:
    """Of threads that have no numbers, and of those that have handles."""
    writes = [(n, 1, 1.0 + n / 10, 1.25 + n / 10) for n in range(6)]
    records = [dxt_record(1, 0, writes, [], thread) for thread in (0, 2**47 + 64, 2**47)]
    log = dxt_log(tmp_path / "a.darshan", records, {1: b"/f"})
    assert export("perfetto", log).returncode == 0
    events = checked(tmp_path / "out" / "trace.json")
    rows = ["POSIX", "thread 1: POSIX", "thread 2: POSIX"]
    assert tracks(events) == {f"{row}{lane}": 2 for row in rows for lane in ("", " 2", " 3")}
    assert max(event["tid"] for event in events) < 2**31


def test_heat_maps_are_counters(export: Export, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / "runtime-and-dxt-heatmaps.darshan"
    assert export("perfetto", log).returncode == 0
    counters = [event for event in checked(tmp_path / "out" / "trace.json") if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {"posix bytes/s"}
    last = {event["pid"]: event["args"] for event in counters}
    assert len(last) == 32 and all(args == {"read": 0, "written": 0} for args in last.values())


def test_several_logs_are_several_traces(export: Export, corpus: Path, tmp_path: Path) -> None:
    logs = [
        corpus / "logs" / f"{name}.darshan"
        for name in ("mpi-io-test-dxt", "release-x86_64-3.1.0", "ior-hdf5")
    ]
    assert export("perfetto", *logs).returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["trace-0.json", "trace-2.json"]


def test_a_log_without_times_is_one_line(export: Export, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(bytes(LogMaker()))
    done = export("perfetto", tmp_path / "log")
    assert (
        done.returncode == 2
        and "no trace, timeline or heat map" in done.stderr
        and done.stderr.count("\n") == 1
    )
