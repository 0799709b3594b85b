"""How long a training loop waits for its loader, and for what: loops of known parts, which measure themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from iolens.metrics import Dataset
from iolens.rules import find
from observed import Observe

LOOP = Path(__file__).with_name("loop.py")

SLOW = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static ssize_t slowly(const char *name, int fd, void *to, size_t n, off64_t at)
{
	ssize_t (*next)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, name);
	const char *us = getenv("SLOW_US");
	struct timespec pause = {0, us ? atol(us) * 1000 : 0};
	nanosleep(&pause, NULL);
	return next(fd, to, n, at);
}
ssize_t pread64(int fd, void *to, size_t n, off64_t at) { return slowly("pread64", fd, to, n, at); }
ssize_t pread(int fd, void *to, size_t n, off_t at) { return slowly("pread", fd, to, n, at); }
"""

# What a loop is made of (loop.py), and what must be its first cause; None: the loader keeps up.
LOOPS: dict[str, tuple[dict[str, Any], str | None]] = {
    "two-workers-read": ({"workers": 2, "read": 0.03}, "reading"),
    "alone-reads": ({"read": 0.02}, "reading"),
    "alone-decodes": ({"burn": 0.02}, "processor"),
    "alone-sleeps": ({"sleep": 0.02}, "something else"),
    "alone-reads-and-decodes": ({"read": 0.02, "burn": 0.008}, "reading"),
    "alone-decodes-and-reads": ({"read": 0.006, "burn": 0.02}, "processor"),
    "alone-in-epochs": ({"read": 0.01, "epochs": 3, "batches": 10}, "reading"),
    "one-worker-reads": ({"workers": 1, "read": 0.02}, "reading"),
    "one-worker-decodes": ({"workers": 1, "burn": 0.02}, "processor"),
    "one-worker-sleeps": ({"workers": 1, "sleep": 0.02}, "something else"),
    "two-workers-read-and-decode": ({"workers": 2, "read": 0.03, "burn": 0.01}, "reading"),
    "two-workers-sleep": ({"workers": 2, "sleep": 0.04}, "something else"),
    "four-workers-read": ({"workers": 4, "read": 0.06, "batches": 40}, "reading"),
    "four-workers-sleep-and-read": (
        {"workers": 4, "read": 0.02, "sleep": 0.06, "batches": 40},
        "something else",
    ),
    "spawned-workers-read": ({"workers": 2, "read": 0.1, "method": "spawn"}, "reading"),
    "spawned-workers-import": (
        {"workers": 1, "read": 0.005, "step": 0.01, "start": 0.6, "method": "spawn"},
        "starting",
    ),
    "forkserver": ({"workers": 2, "read": 0.1, "method": "forkserver"}, "reading"),
    "workers-that-start-slowly": ({"workers": 2, "read": 0.005, "start": 0.5, "step": 0.01}, "starting"),
    "workers-of-each-epoch": (
        {"workers": 2, "read": 0.01, "start": 0.2, "epochs": 3, "batches": 8},
        "starting",
    ),
    "handing-over": ({"workers": 2, "read": 0.002, "hand": 0.02, "step": 0.01}, "handing over"),
    "unmarked-workers-read": ({"workers": 2, "read": 0.05, "marked": False}, "reading"),
    "zarr-decompresses": ({"library": "zarr", "inside": 0.02, "read": 0.006}, "in Zarr itself"),
    "zarr-decompresses-in-threads": (
        {"library": "zarr", "inside": 0.02, "read": 0.006, "burn": 0.004, "threads": True},
        "in Zarr itself",
    ),
    "zarr-reads-in-threads": (
        {"library": "zarr", "inside": 0.006, "read": 0.02, "threads": True},
        "reading",
    ),
    "zarr-and-its-user": ({"library": "zarr", "inside": 0.006, "burn": 0.02}, "processor"),
    "parquet-in-a-worker": (
        {"library": "pyarrow.parquet", "inside": 0.03, "read": 0.005, "burn": 0.01, "workers": 1},
        "in Parquet itself",
    ),
    "parquet-in-a-worker-s-threads": (
        {"library": "pyarrow.parquet", "inside": 0.03, "sleep": 0.01, "workers": 1, "threads": True},
        "in Parquet itself",
    ),
    "keeps-up-with-parquet": (
        {"library": "pyarrow.parquet", "inside": 0.0005, "step": 0.03, "batches": 40},
        None,
    ),
    "keeps-up": ({"workers": 2, "read": 0.002, "step": 0.02, "batches": 60}, None),
    "keeps-up-with-four": ({"workers": 4, "read": 0.02, "step": 0.02, "batches": 60}, None),
    "keeps-up-alone": ({"read": 0.0005, "step": 0.03, "batches": 40}, None),
}


# Packages with the names of Zarr's and PyArrow's: their methods call what the loop gives them.
PACKAGES = {
    "zarr/__init__.py": "from .core.array import Array\n",
    "zarr/core/__init__.py": "",
    "zarr/core/array.py": "class Array:\n"
    "    def __init__(self, get):\n        self.get = get\n"
    "    def __getitem__(self, n):\n        return self.get(n)\n",
    "pyarrow/__init__.py": "",
    "pyarrow/parquet/__init__.py": "from .core import *\n",
    "pyarrow/parquet/core.py": "class ParquetFile:\n"
    "    def __init__(self, get):\n        self.get = get\n"
    "    def read_row_group(self, n):\n        return self.get(n)\n"
    "class ParquetDataset:\n    pass\n",
}


def packages(folder: Path) -> dict[str, str]:
    for name, text in PACKAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {"PYTHONPATH": str(folder)}


class Loop:
    """What a loop says of itself, and its log of it."""

    def __init__(self, observe: Observe, slow: Path, place: Path, parts: dict[str, Any]) -> None:
        environment = {"LD_PRELOAD": str(slow), "SLOW_US": str(round(1e6 * parts.get("read", 0)))}
        if parts.get("library"):
            environment |= packages(place / "packages")
        seen = observe([sys.executable, LOOP, json.dumps(parts)], env=environment, cwd=place, timeout=300)
        assert seen.done.returncode == 0, seen.done.stderr.decode()
        self.true = json.loads(seen.done.stdout)
        with Dataset([seen.log]) as data:
            (self.row,) = data.metric("loader_waits")
            self.findings = {f.rule: f for f in find(data)}


def shares(row: dict[str, Any]) -> dict[str, float]:
    """Of the loop's time, by cause."""
    parts = {"reading": "read", "processor": "processor", "something else": "other", "handing over": "hand"}
    found = {name: row[f"{key}_time"] / row["loop"] for name, key in parts.items()}
    found[f"in {row['library']} itself"] = row["library_time"] / row["loop"]
    return {**found, "starting": (row["start_time"] + row["end_time"]) / row["loop"]}


def as_meant(true: dict[str, Any], parts: dict[str, Any]) -> bool:
    """False where the machine was so busy that waiting for a processor was more than what the loop was made of."""
    made = sum(parts.get(kind, 0) for kind in ("read", "burn", "sleep", "inside")) * true["batches"]
    meant = (made / max(1, parts.get("workers", 0)) + parts.get("step", 0.005) * true["batches"]) * 1.3 + 0.3
    return true["made"] < 1.3 * made + 0.1 and true["loop"] < meant + parts.get("start", 0) * parts.get(
        "epochs", 1
    )


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_known_parts(observe: Observe, slow: Path, tmp_path: Path, name: str) -> None:
    parts, cause = LOOPS[name]
    loop = Loop(observe, slow, tmp_path, parts)
    row, true = loop.row, loop.true
    assert (row["batches"], row["workers"] > 0) == (true["batches"], parts.get("workers", 0) > 0)
    off = 0.03 * true["loop"]
    assert true["waited"] - off < row["wait"] < true["wait"] + off and row["loop"] < true["loop"] + off
    found = shares(row)
    assert sum(found.values()) == pytest.approx(row["share"], abs=0.001)
    waits = ("starting", "first_batch", "next_batch", "ending")
    assert sum(row[kind] for kind in waits) == pytest.approx(row["wait"], rel=0.001)
    if cause is None:
        kept_up = row["share"] < 0.05 or row["wait"] <= 0.1  # a busy machine may let it wait
        assert ("loader_waits" not in loop.findings) == kept_up
        return
    if as_meant(true, parts):
        assert max(found, key=lambda one: found[one]) == cause
        message = loop.findings["loader_waits"].message
        assert message.startswith("The training loop waited ") and cause in message.split(", ")[0]
    if parts.get("marked", True):
        library = row["library_time"] / row["loop"]
        made = library + sum(found[kind] for kind in ("reading", "processor", "something else"))
        assert (row["library"] is None) == (true["library"] == 0)
        # Reads and burns take what they are asked to, at least. A wait for a processor may lie outside of the phase.
        read, inside = (true["batches"] * parts.get(kind, 0) for kind in ("read", "inside"))
        processor = max(0, true["processor"])
        bounds = {
            "reading": (found["reading"], read, true["read"]),
            "library": (library, inside, true["library"] + true["read"] - read if inside else 0),
            "processor": (found["processor"], processor, processor),
        }
        for what, (share, least, most) in bounds.items():
            assert share > made * least / true["made_at_most"] - 0.05, what
            assert share < made * most / true["made"] + 0.05, what


def as_asked(loop: Loop, parts: dict[str, Any]) -> bool:
    """Batches and steps took at most 10 % longer than asked."""
    batch = parts["read"] + parts.get("sleep", 0)
    took = loop.row["loop"] - loop.row["start_time"] - loop.row["end_time"]
    each = max(parts["step"], batch / parts["workers"]) if parts.get("workers") else parts["step"] + batch
    return bool(took < 1.1 * parts["batches"] * each + batch)


@pytest.mark.parametrize("parts", [{"read": 0.02}, {"read": 0.02, "sleep": 0.02, "workers": 1}])
def test_other_numbers_of_workers_are_foretold(
    observe: Observe, slow: Path, tmp_path: Path, parts: dict[str, Any]
) -> None:
    """Reads here get faster with more workers: the low end."""
    parts = {**parts, "step": 0.015, "batches": 60}
    loop = Loop(observe, slow, tmp_path, parts)
    row, better = loop.row, loop.row["better"]
    assert better == (2 if not parts.get("workers") else 3)
    more = Loop(observe, slow, tmp_path, {**parts, "workers": better})
    then = more.row
    assert row["better_high"] >= row["better_low"]
    if not (as_asked(loop, parts) and as_asked(more, {**parts, "workers": better})):
        pytest.skip("other programs had the processor: the two runs are not alike")
    before, after = row["loop"], then["loop"] - then["start_time"] - then["end_time"]
    assert row["loop"] - row["wait"] + row["better_low"] == pytest.approx(after, rel=0.2)
    assert after < 0.8 * before


LIBRARIES = {
    "pyarrow": """\
import pyarrow, pyarrow.parquet
values = [str(n * 7919 % 104729) for n in range(200_000)]
pyarrow.parquet.write_table(pyarrow.table({"x": values * 4}), "x.parquet", row_group_size=200_000, compression="gzip")
data = pyarrow.parquet.ParquetFile("x.parquet")
def get(n):
    return data.read_row_group(n % 4)
""",
    "zarr": """\
import numpy, zarr
data = zarr.open_array("x.zarr", mode="w", shape=(4, 2_000_000), chunks=(1, 500_000), dtype="f4")
data[:] = numpy.random.default_rng(1).integers(0, 9, data.shape)
def get(n):
    return data[n % 4]
""",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_s_own_time(observe: Observe, tmp_path: Path, library: str) -> None:
    if not find_spec(library):
        pytest.skip(f"{library} is not installed: what a package of its names shows is tested above")
    script = f"""\
import time
from iolens.phases import end, steps
{LIBRARIES[library]}
end()
for n in range(4):
    get(n)                      # in no loop
def batches():
    global took
    for n in range(12):
        before = time.monotonic()
        batch = get(n)
        took += time.monotonic() - before
        yield batch
took, began = 0, time.monotonic()
for batch in steps(batches()):
    time.sleep(0.005)
print(took, time.monotonic() - began)
"""
    seen = observe([sys.executable, "-c", script], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    took, loop = (float(word) for word in seen.done.stdout.split())
    with Dataset([seen.log]) as data:
        (row,) = data.metric("loader_waits")
        message = {f.rule: f.message for f in find(data)}["loader_waits"]
    name = {"pyarrow": "Parquet", "zarr": "Zarr"}[library]
    assert row["library"] == name and f" in {name} itself" in message
    assert (row["library_time"] + row["read_time"]) / row["loop"] == pytest.approx(took / loop, abs=0.05)
    assert row["library_time"] > row["read_time"]
    counted = {row["phase"]: int(row["count"]) for row in seen.sections["phases"] if " in " in row["phase"]}
    first, rest = f"loader: first batch/loader: in {name}", f"loader: next batch/loader: in {name}"
    assert counted == {first: 1, rest: 11}


def test_without_iolens_steps_are_the_loader(tmp_path: Path) -> None:
    from iolens import steps

    assert list(steps([1, 2, 3])) == [1, 2, 3] and list(steps([])) == []
    with pytest.raises(TypeError, match="not iterable"):
        list(steps(7))  # type: ignore[arg-type]


def test_a_loop_that_ends_early_or_fails(observe: Observe, tmp_path: Path) -> None:
    script = """\
from iolens import steps
for batch in steps(range(10)):
    if batch == 3:
        break
def failing():
    yield 1
    raise KeyError("no such sample")
try:
    for batch in steps(failing()):
        pass
except KeyError as error:
    assert error.args == ("no such sample",)
assert list(steps([])) == []
"""
    seen = observe([sys.executable, "-c", script], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    rows = {row["phase"]: (int(row["count"]), int(row["open"])) for row in seen.sections["phases"]}
    assert rows == {
        "loader: start": (3, 0),
        "loader: first batch": (2, 0),
        "loader: next batch": (4, 0),
        "loader: end": (1, 0),
    }


def test_a_loop_is_in_the_phases_around_it(observe: Observe, tmp_path: Path) -> None:
    script = """\
import os
from iolens import phase, steps
def batches():
    for n in range(3):
        with phase("decode"):
            fd = os.open("sample", os.O_CREAT | os.O_WRONLY)
            os.write(fd, bytes(10))
            os.close(fd)
        yield n
with phase("train"):
    assert list(steps(steps(batches()))) == [0, 1, 2]
"""
    seen = observe([sys.executable, "-c", script], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    with Dataset([seen.log]) as data:
        (row,) = data.metric("loader_waits")
    assert row["batches"] == 3 and 0 < row["read_time"] <= row["wait"] * 1.001
    processor = {row["phase"]: float(row["processor_time"]) for row in seen.sections["phases"]}
    assert processor["train"] == -1 and processor["train/loader: first batch"] > 0


RANKS = """\
import json, multiprocessing, os, sys, time
from iolens.phases import end, steps
def batches(pause):
    for _ in range(40):
        time.sleep(pause)
        yield None
def train(pause, barrier, results):
    worked, began = 0, time.monotonic()
    for _ in steps(batches(pause)):
        before = time.monotonic()
        time.sleep(0.005)
        barrier.wait()
        worked += time.monotonic() - before
    results.put((os.getpid(), pause, worked, time.monotonic() - began))
end()  # nothing; what it imports is there
context, pauses = multiprocessing.get_context("fork"), json.loads(sys.argv[1])
barrier, results = context.Barrier(len(pauses)), context.SimpleQueue()
ranks = [context.Process(target=train, args=(pause, barrier, results)) for pause in pauses]
for rank in ranks:
    rank.start()
found = [results.get() for _ in ranks]
for rank in ranks:
    rank.join()
json.dump(found, sys.stdout)
"""


@pytest.mark.parametrize("pauses", [[0.002, 0.03, 0.002], [0.02, 0.02]])
def test_which_process_makes_the_others_wait(observe: Observe, tmp_path: Path, pauses: list[float]) -> None:
    """Steps that end together, as those of several accelerators."""
    seen = observe([sys.executable, "-c", RANKS, json.dumps(pauses)], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    true = {pid: values for pid, *values in json.loads(seen.done.stdout)}
    ranks = {int(row["rank"]): int(row["pid"]) for row in seen.sections["process"]}
    with Dataset([seen.log]) as data:
        rows = data.metric("loader_waits")
        message = {f.rule: f.message for f in find(data)}["loader_waits"]
    assert len(rows) == len(pauses)
    late = {row["rank"] for row in rows if true[ranks[row["rank"]]][0] == max(pauses)}
    least = min(worked for _, worked, _ in true.values())
    for row in rows:
        _, worked, loop = true[ranks[row["rank"]]]
        assert row["others_time"] / row["loop"] == pytest.approx((worked - least) / loop, abs=0.05)
        if len(late) == 1:
            assert row["waits_for"] == (None if row["rank"] in late else min(late))
    assert (f"For this process (rank {min(late)}), 2 others wait in their steps, up to " in message) == (
        len(late) == 1
    )


HDF5 = """\
import json, sys, time
import h5py, numpy
from copied import steps
def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
def batches():
    global read, burned, ran, took
    for n in range(20):
        space, processor, before = file_space(n), time.thread_time(), time.monotonic()
        data.id.read(memory, space, values)
        middle = time.thread_time()
        read, ran = read + time.monotonic() - before, ran + middle - processor
        before = time.monotonic()
        burn(float(sys.argv[1]))
        burned, took = burned + time.thread_time() - middle, took + time.monotonic() - before
        yield n
def file_space(n):
    space = data.id.get_space()
    space.select_hyperslab((n, 0), (1, 1_000_000))
    return space
read = burned = ran = took = 0
values, memory = numpy.empty((1, 1_000_000), "u1"), h5py.h5s.create_simple((1, 1_000_000))
before = time.monotonic()
data = h5py.File("samples.h5")["x"]
data[0]  # what HDF5 and h5py do once is no part of a batch
setup, began = time.monotonic() - before, time.monotonic()
for _ in steps(batches()):
    time.sleep(0.01)
loop = time.monotonic() - began
true = {"read": read, "ran": ran, "burned": burned, "took": took, "setup": setup, "loop": loop}
json.dump(true, sys.stdout)
"""

MAKE = """\
import h5py, numpy
data = numpy.random.default_rng(1).integers(0, 16, (20, 1_000_000), dtype="u1")
with h5py.File("samples.h5", "w") as f:
    f.create_dataset("x", data=data, chunks=(1, 1_000_000), compression="gzip", compression_opts=1)
"""


@pytest.mark.parametrize(("burn", "cause"), [(0.002, "in HDF5 itself"), (0.03, "on the processor")])
def test_decompression_is_hdf5_s_own(observe: Observe, tmp_path: Path, burn: float, cause: str) -> None:
    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import h5py"], check=False, capture_output=True).returncode:
        pytest.skip(f"h5py is not installed for {python}")
    copied = Path(__file__).parents[2] / "python" / "iolens" / "phases.py"
    (tmp_path / "copied.py").write_bytes(copied.read_bytes())
    (tmp_path / "train.py").write_text(HDF5)
    subprocess.run([python, "-c", MAKE], cwd=tmp_path, check=True)
    seen = observe([python, "train.py", str(burn)], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    true = json.loads(seen.done.stdout)
    with Dataset([seen.log]) as data:
        (row,) = data.metric("loader_waits")
        found = {f.rule: f for f in find(data)}["loader_waits"]
    # The number has the process's reads, those before the loop, too.
    library = (row["hdf5_time"] + row["read_time"]) / row["loop"]
    assert true["read"] / true["loop"] - 0.03 < library < (true["read"] + true["setup"]) / true["loop"] + 0.03
    assert row["hdf5_time"] > row["read_time"]
    # HDF5's own time is that of its calls. Where it waits for a processor, this much less is left for the rest.
    waited = true["read"] + true["setup"] - true["ran"]
    processor = row["processor_time"] / row["loop"]
    least, most = (true["burned"] - waited) / true["loop"], true["burned"] / true["loop"]
    assert least - 0.03 < processor < most + 0.03
    waits = true["took"] - true["burned"]
    first = {
        "in HDF5 itself": true["read"] > 1.2 * max(true["burned"], waits),
        "on the processor": true["burned"] - waited > 1.2 * max(true["read"] + true["setup"], waits),
    }
    if first[cause]:  # else other programs had the processor
        assert cause in found.message.split("): ")[1].split(", ")[0]
    assert any("chunk cache" in advice.text for advice in found.advice)
