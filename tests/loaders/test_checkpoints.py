"""Checkpoints of training loops, recognized from outside: loops of known parts, which measure themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from here import Run, in_this_process, verdict
from iolens.metrics import Dataset
from iolens.rules import find
from observed import Observe

ROOT = Path(__file__).parents[2]
SYSTEM = Path("/usr/bin/python3")

SLOW = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void pause_for(const char *what)
{
	const char *us = getenv(what);
	struct timespec pause = {0, us ? atol(us) * 1000 : 0};
	nanosleep(&pause, NULL);
}
#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
int rename(const char *from, const char *to);
ssize_t write(int fd, const void *data, size_t n)
{
	NEXT(write);
	if (n >= 65536)
		pause_for("SLOW_WRITE");
	return next(fd, data, n);
}
int fsync(int fd)
{
	NEXT(fsync);
	pause_for("SLOW_SYNC");
	return next(fd);
}
int rename(const char *from, const char *to)
{
	NEXT(rename);
	pause_for("SLOW_RENAME");
	return next(from, to);
}
"""

LOOP = """\
import json, os, sys, time
from iolens.phases import steps
parts = {"batches": 12, "every": 4, "step": 0.02, "burn": 0, "sleep": 0, "file": "state", **json.loads(sys.argv[1])}
true = {"time": 0, "write": 0, "sync": 0, "rename": 0, "serialize": 0, "other": 0}

def timed(what, call, *arguments):
    before, ran = time.monotonic(), time.thread_time()
    call(*arguments)
    took, ran = time.monotonic() - before, time.thread_time() - ran
    true[what] += ran if what == "serialize" else took
    true["other"] += took - ran if what == "serialize" else 0  # for a processor

def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

def checkpoint(name):
    began, data = time.monotonic(), bytes(1 << 16)
    fd = os.open(name + ".part", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    timed("serialize", burn, parts["burn"])
    for _ in range(8):
        timed("write", os.write, fd, data)
    timed("other", time.sleep, parts["sleep"])
    timed("sync", os.fsync, fd)
    os.close(fd)
    timed("rename", os.replace, name + ".part", name)
    true["time"] += time.monotonic() - began

for n, _ in enumerate(steps(range(parts["batches"]))):
    began = began if n else time.monotonic()
    time.sleep(parts["step"])
    with open("log", "a") as log:
        log.write(f"step {n}\\n")
    if n % parts["every"] == parts["every"] - 1:
        checkpoint(parts["file"].format(n))
json.dump({**true, "loop": time.monotonic() - began}, sys.stdout)
"""

# What a checkpoint is made of (s).
LOOPS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "syncs": ({}, {"SYNC": 0.08}),
    "writes": ({}, {"WRITE": 0.01}),
    "renames": ({}, {"RENAME": 0.08}),
    "serializes": ({"burn": 0.08}, {}),
    "waits": ({"sleep": 0.08}, {}),
    "files-of-each": ({"file": "state{}", "burn": 0.02}, {"WRITE": 0.005}),
    "all-of-them": ({"burn": 0.02, "sleep": 0.01}, {"WRITE": 0.003, "SYNC": 0.06, "RENAME": 0.02}),
}

CAUSES = {
    "write": "writing",
    "sync": "forcing it to storage (fsync)",
    "rename": "renaming",
    "serialize": "serializing",
    "other": "waiting for something else",
}


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


def checkpoints(log: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The rows of the metric, and what the findings say."""
    with Dataset([log]) as data:
        return data.metric("checkpoints"), {f.rule: f.message for f in find(data)}


@pytest.mark.parametrize("name", LOOPS)
def test_parts_of_a_checkpoint(
    observe: Observe, run_iolens: Run, slow: Path, tmp_path: Path, name: str
) -> None:
    parts, pauses = LOOPS[name]
    environment = {f"SLOW_{what}": str(round(1e6 * s)) for what, s in pauses.items()}
    command = [sys.executable, "-c", LOOP, json.dumps(parts)]
    seen = observe(command, env={"LD_PRELOAD": str(slow), **environment}, cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    true = json.loads(seen.done.stdout)
    (row,), found = checkpoints(seen.log)
    assert (row["checkpoints"], row["bytes"]) == (3, 3 * 8 * 65536)
    assert row["share"] == pytest.approx(true["time"] / true["loop"], abs=0.03)
    for part in CAUSES:
        share, meant = row[f"{part}_time"] / row["loop"], true[part] / true["loop"]
        assert share == pytest.approx(meant, abs=0.05), part
    whole = sum(row[f"{p}_time"] for p in ("write", "sync", "rename", "meta", "read", "serialize", "other"))
    assert whole == pytest.approx(row["time"], rel=0.001)
    message = found["checkpoint_stalls"]
    assert message.startswith("The training loop stood still ") and "for 3 checkpoints (" in message
    second, first = sorted(CAUSES, key=lambda part: float(true[part]))[-2:]
    if true[first] > 1.5 * true[second]:  # whatever a busy machine makes of it
        assert CAUSES[first] in message.split("): ")[1].split(", ")[0]
    assert "the training loop stood still " in verdict(run_iolens, seen.log)["text"]


PHASES = """\
import os, sys, threading
from iolens.phases import phase, steps
def save(name, size=200_000):
    with open(name, "wb", buffering=0) as f:
        f.write(bytes(size))
with phase("train"):
    log = open("log", "wb", buffering=0)
    for n, _ in enumerate(steps(range(4))):
        log.write(bytes(100_000))          # opened before the loop
        save("small", 10_000)              # too small
        writer = threading.Thread(target=save, args=("other",))
        writer.start()                     # the loop goes on meanwhile
        writer.join()
        if n % 2:
            save("state")
            with phase("metrics"):
                save("metrics", 1_000)
    save("last")
if sys.argv[1:]:
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("killed", [[], ["killed"]])
def test_a_checkpoint_is_a_phase(observe: Observe, tmp_path: Path, killed: list[str]) -> None:
    """Of the loop's thread, and of files that it opens between two waits; the last one is behind the loop."""
    seen = observe([sys.executable, "-c", PHASES, *killed], cwd=tmp_path)
    assert (seen.done.returncode != 0) == bool(killed), seen.done.stderr.decode()
    rows = {row["phase"]: row for row in seen.sections["phases"]}
    kinds = {"start": 1, "first batch": 1, "next batch": 3, "end": 1, "checkpoint": 3}
    found = {name: (int(row["count"]), int(row["open"])) for name, row in rows.items()}
    expected = {"train": (1, 0), "train/metrics": (2, 0)}
    assert found == {**expected, **{f"train/loader: {kind}": (n, 0) for kind, n in kinds.items()}}
    written = {name: int(row["bytes_written"]) for name, row in rows.items()}
    # A step that has no other writes small, too: what the thread does in the checkpoint's time is the checkpoint's.
    assert written["train/loader: checkpoint"] - 600_000 in (0, 10_000, 20_000, 30_000)
    assert written["train/metrics"] == 2_000
    total = 4 * (100_000 + 10_000 + 200_000) + 2 * 201_000 + 200_000
    assert sum(written.values()) == total
    (step,) = (row for row in seen.sections["steps"] if row["phase"] == "train")
    assert int(step["bytes_written"]) == total
    steps = [row for row in seen.sections["steps"] if row["phase"] == "train/loader: checkpoint"]
    assert [int(row["count"]) for row in steps] == [1, 1, 1]


def test_a_loop_that_writes_little_has_none(observe: Observe, tmp_path: Path) -> None:
    script = """\
from iolens.phases import steps
for n in steps(range(50)):
    with open("log", "a") as log:
        log.write(f"step {n}\\n" * 100)
"""
    seen = observe([sys.executable, "-c", script], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    rows, found = checkpoints(seen.log)
    assert rows == [] and "checkpoint_stalls" not in found
    assert not any("checkpoint" in row["phase"] for row in seen.sections["phases"])


LIBRARIES = {
    "numpy": "import numpy\ndef save(n): numpy.savez(f'state{n}.npz', a=numpy.ones(200_000), b=numpy.ones(50_000))",
    "torch": "import torch\nstate = {'a': torch.ones(500_000)}\ndef save(n): torch.save(state, 'state.pt')",
    "pickle": "import pickle\ndef save(n): pickle.dump([bytes(200_000)] * 10, open('state', 'wb'))",
    "safetensors": """\
import numpy, safetensors.numpy
state = {'a': numpy.ones(250_000)}
def save(n): safetensors.numpy.save_file(state, 'state.safetensors')""",
    "h5py": "import h5py\ndef save(n):\n    with h5py.File('state.h5', 'w') as f: f['a'] = [1.0] * 250_000",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries(observe: Observe, tmp_path: Path, library: str) -> None:
    """Where the distribution's Python has them."""
    code = f"import importlib.util as i, sys; sys.exit(not i.find_spec({library!r}))"
    if not SYSTEM.exists() or subprocess.run([SYSTEM, "-c", code], check=False).returncode:
        pytest.skip(f"{library} is not installed for {SYSTEM}")
    shutil.copy(ROOT / "python" / "iolens" / "phases.py", tmp_path / "copied.py")
    script = f"""\
import time
from copied import steps
{LIBRARIES[library]}
save(0)
took = 0
for n in steps(range(6)):
    time.sleep(0.005)
    if n % 2:
        before = time.monotonic()
        save(n)
        took += time.monotonic() - before
print(took)
"""
    (tmp_path / "train.py").write_text(script)
    seen = observe([SYSTEM, "train.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    (row,), _ = checkpoints(seen.log)
    assert row["checkpoints"] == 3 and row["bytes"] >= 3 * 200_000
    # Seen from the first open on: what a library does before is its own.
    assert 0.4 * float(seen.done.stdout) - 0.005 < row["time"] <= float(seen.done.stdout) + 0.001
