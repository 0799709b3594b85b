"""HDF5: what programs do through it is in the records of files (H5F) and datasets (H5D), exactly."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import places
import pytest
import shown
import traced
from interfaces import HDF5
from mpis import MPIS
from observed import Observe

HERE = Path(__file__).parent / "programs"
LAYERS = Path(os.environ.get("IOLENS_LAYERS", places.CORPUS.parent / "layers"))
Seen = dict[tuple[str, str], dict[str, str]]


def compiled(compiler: str, source: Path, place: Path) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    program = place / source.stem
    command = [compiler, *(["-shlib"] if "h5" in compiler else []), "-o", program, source]
    subprocess.run(command, check=True, cwd=place, capture_output=True)
    return program


def hdf5(seen: object) -> Seen:
    """Records of HDF5 by module and name within the working directory, their ranks added up."""
    found: Seen = {}
    for (module, name, _), row in seen.records.items():  # type: ignore[attr-defined]
        if module in HDF5:
            assert (module, name.rpartition("/work/")[2]) not in found
            found[module, name.rpartition("/work/")[2]] = row
    return found


def some(row: dict[str, str], *names: str) -> dict[str, int]:
    return {name: int(next(v for k, v in row.items() if k.endswith(f"H5D_{name}"))) for name in names}


@pytest.fixture(scope="session")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("h5cc", HERE / "calls.c", tmp_path_factory.mktemp("calls"))


def run(observe: Observe, place: Path, *command: str | Path) -> object:
    (place / "work").mkdir()
    seen = observe(command, cwd=place / "work")
    assert seen.done.returncode == 0, seen.done.stderr
    return seen


def test_files(observe: Observe, tmp_path: Path, calls: Path) -> None:
    """Flushes count by whatever they are asked for; a failed open is none; the directory may have changed since."""
    found = hdf5(run(observe, tmp_path, calls, "files"))
    assert set(found) == {("H5F", "files.h5"), ("H5D", "files.h5:/g/d")}
    file, dataset = found["H5F", "files.h5"], found["H5D", "files.h5:/g/d"]
    assert (file["H5F_OPENS"], file["H5F_FLUSHES"], file["H5F_USE_MPIIO"]) == ("2", "5", "0")
    assert some(dataset, "OPENS", "READS", "WRITES", "FLUSHES") == {
        "OPENS": 2, "READS": 1, "WRITES": 1, "FLUSHES": 1,
    }  # fmt: skip
    for row, prefix in ((file, "H5F"), (dataset, "H5D")):
        opened, closed = (float(row[f"{prefix}_F_{n}_END_TIMESTAMP"]) for n in ("OPEN", "CLOSE"))
        assert 0 < opened < closed


def test_one_dataset_has_one_record(observe: Observe, tmp_path: Path, calls: Path) -> None:
    found = hdf5(run(observe, tmp_path, calls, "names"))
    assert set(found) == {("H5F", "names.h5"), ("H5D", "names.h5:/g/d"), ("H5D", "names.h5:/soft")}
    wanted = {"OPENS": 6, "READS": 5, "WRITES": 0, "BYTES_READ": 5 * 128, "BYTES_WRITTEN": 0}
    assert some(found["H5D", "names.h5:/g/d"], *wanted) == wanted
    assert some(found["H5D", "names.h5:/soft"], "OPENS", "WRITES") == {"OPENS": 1, "WRITES": 1}


def test_selections(observe: Observe, tmp_path: Path, calls: Path) -> None:
    row = hdf5(run(observe, tmp_path, calls, "shapes"))["H5D", "shapes.h5:/d"]
    wanted = {
        "READS": 5,
        "WRITES": 4,
        "BYTES_WRITTEN": 8 * (192 + 3 * 8),
        "BYTES_READ": 8 * (8 + 2 + 2 + 0 + 192),
        "REGULAR_HYPERSLAB_SELECTS": 4,
        "IRREGULAR_HYPERSLAB_SELECTS": 1,
        "POINT_SELECTS": 1,
        "RW_SWITCHES": 1,
        "SIZE_READ_AGG_0_100": 4,
        "SIZE_READ_AGG_1K_10K": 1,
        "SIZE_WRITE_AGG_0_100": 3,
        "SIZE_WRITE_AGG_1K_10K": 1,
        "DATASPACE_NDIMS": 3,
        "DATASPACE_NPOINTS": 192,
        "DATATYPE_SIZE": 8,
        "USE_DEPRECATED": 0,
    }
    assert some(row, *wanted) == wanted
    first = {key: int(value) for key, value in row.items() if key.startswith("H5D_ACCESS1_")}
    assert {key.removeprefix("H5D_ACCESS1_"): value for key, value in first.items() if value} == {
        "ACCESS": 64, "COUNT": 4, "LENGTH_D3": 2, "LENGTH_D4": 2, "LENGTH_D5": 2,
        "STRIDE_D3": 4, "STRIDE_D4": 3, "STRIDE_D5": 2,
    }  # fmt: skip
    # Twice the whole, which is no hyperslab; two accesses of 16 bytes without a pattern.
    assert [row[f"H5D_ACCESS{n}_ACCESS"] + "x" + row[f"H5D_ACCESS{n}_COUNT"] for n in (2, 3, 4)] == [
        "1536x2", "16x2", "0x0",
    ]  # fmt: skip
    assert [row[f"H5D_CHUNK_SIZE_D{n}"] for n in range(1, 6)] == ["4", "3", "2", "0", "0"]


KINDS = {
    "points": "POINT_SELECTS",
    "regular": "REGULAR_HYPERSLAB_SELECTS",
    "irregular": "IRREGULAR_HYPERSLAB_SELECTS",
}
SHAPE = [f"ACCESS1_{word}_D{d}" for word in ("LENGTH", "STRIDE") for d in range(1, 6)]


def said(line: str) -> tuple[str, dict[str, int]]:
    """What HDF5 said of a selection, as the record of a dataset that was written with it."""
    name, elements, kind, *dimensions = line.split(" ")
    wanted = {"BYTES_WRITTEN": int(elements), **dict.fromkeys([*KINDS.values(), *SHAPE], 0)}
    if kind in KINDS:
        wanted[KINDS[kind]] = 1
    for i, pair in enumerate(dimensions[:5]):
        wanted[f"ACCESS1_LENGTH_D{5 - i}"], wanted[f"ACCESS1_STRIDE_D{5 - i}"] = map(int, pair.split("/"))
    return name, wanted


@pytest.mark.parametrize("seed", range(1, 5))
def test_what_is_remembered_of_selections_is_what_hdf5_says(
    observe: Observe, tmp_path: Path, seed: int
) -> None:
    """300 writes, each of a dataset of its own, with dataspaces changed in every way; HDF5 ends between."""
    program = compiled("h5cc", HERE / "selections.c", tmp_path)
    seen = run(observe, tmp_path, program, str(seed), "300")
    found = {name: row for (module, name), row in hdf5(seen).items() if module == "H5D"}
    lines = seen.done.stdout.decode().splitlines()  # type: ignore[attr-defined]
    assert len(lines) > 250 and sum(" regular" in line for line in lines) > 80
    for line in lines:
        name, wanted = said(line)
        assert (name, some(found[f"selections.h5:/{name}"], *wanted)) == (name, wanted)


def test_accesses_of_datasets_are_traced(
    observe: Observe, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of the selection, in order; where they are in the file only HDF5 knows."""
    monkeypatch.setenv("IOLENS_TRACE", "compact")
    seen = run(observe, tmp_path, calls, "shapes")
    found = traced.accesses(traced.segments(seen.log))  # type: ignore[attr-defined]
    assert {key: value for key, value in found.items() if key[0] == "H5D"} == {
        ("H5D", "d", 0, "write"): [(-1, 8 * 192), (-1, 64), (-1, 64), (-1, 64)],
        ("H5D", "d", 0, "read"): [(-1, 64), (-1, 16), (-1, 16), (-1, 0), (-1, 8 * 192)],
    }


def test_seven_dimensions(observe: Observe, tmp_path: Path, calls: Path) -> None:
    row = hdf5(run(observe, tmp_path, calls, "deep"))["H5D", "deep.h5:/d"]
    wanted = {"DATASPACE_NDIMS": 7, "DATASPACE_NPOINTS": 576, "BYTES_WRITTEN": 8 * 144, "WRITES": 1}
    assert some(row, *wanted) == wanted
    assert [row[f"H5D_ACCESS1_LENGTH_D{n}"] for n in range(1, 6)] == ["4", "2", "3", "1", "2"]
    assert [row[f"H5D_CHUNK_SIZE_D{n}"] for n in range(1, 6)] == ["3", "2", "4", "2", "3"]
    assert row["H5D_ACCESS2_COUNT"] == "0"
    documented = (HERE.parents[2] / "modules" / "h5d" / "h5d.toml").read_text()
    assert "D5 = the slowest varying" in documented and "D1 = the fastest varying" in documented


def test_a_dataset_that_grows_attributes_and_raw_chunks(
    observe: Observe, tmp_path: Path, calls: Path
) -> None:
    seen = run(observe, tmp_path, calls, "growing")
    row = hdf5(seen)["H5D", "growing.h5:/d"]
    wanted = {"WRITES": 2, "BYTES_WRITTEN": 80 + 240, "USE_DEPRECATED": 1, "OPENS": 1}
    assert some(row, *wanted) == wanted
    operations = {
        row["name"]: (int(row["count"]), int(row["bytes"]))
        for row in seen.sections["operation"]  # type: ignore[attr-defined]
        if row["interface"] == "hdf5"
    }
    assert operations == {
        "attribute_write": (1, 4),
        "attribute_read": (2, 8),
        "chunk_write": (1, 80),
        "chunk_read": (1, 80),
    }


def test_a_forked_child_goes_on(observe: Observe, tmp_path: Path, calls: Path) -> None:
    seen = run(observe, tmp_path, calls, "forked")
    reads: Counter[int] = Counter()
    writes: Counter[int] = Counter()
    for (module, name, rank), row in seen.records.items():  # type: ignore[attr-defined]
        if module == "H5D":
            assert name.endswith("/forked.h5:/d")
            reads[rank] += int(row["H5D_READS"])
            writes[rank] += int(row["H5D_WRITES"])
    assert (reads, writes) == (Counter({0: 0, 1: 2}), Counter({0: 1, 1: 0}))


def test_many_handles(observe: Observe, tmp_path: Path, calls: Path) -> None:
    row = hdf5(run(observe, tmp_path, calls, "often"))["H5D", "often.h5:/d"]
    assert some(row, "OPENS", "READS") == {"OPENS": 20001, "READS": 20000}


def test_what_hdf5_refuses_is_nowhere(observe: Observe, tmp_path: Path, calls: Path) -> None:
    seen = run(observe, tmp_path, calls, "hostile")
    assert not hdf5(seen)
    counted = [row for row in seen.sections.get("operation", []) if row["interface"] == "hdf5"]  # type: ignore[attr-defined]
    assert all(row["count"] == row["errors"] and row["bytes"] == "0" for row in counted)


@pytest.mark.parametrize("off", [*HDF5, ",".join(HDF5)])
def test_a_module_that_is_off_has_no_records(
    observe: Observe, tmp_path: Path, calls: Path, off: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOLENS_MOD_DISABLE", off)
    found = hdf5(run(observe, tmp_path, calls, "shapes"))
    assert {module for module, _ in found} == set(HDF5) - set(off.split(","))
    assert {name for _, name in found} <= {"shapes.h5", "shapes.h5:/d"}


def test_an_excluded_file_has_no_records(
    observe: Observe, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOLENS_NAME_EXCLUDE", r"\.h5$")
    assert not hdf5(run(observe, tmp_path, calls, "shapes"))


PYTHON = """
import os, sys, h5py
with h5py.File("p.h5", "w") as f:
    d = f.create_dataset("a/b", (100, 50), dtype="f8", chunks=(10, 50), compression="gzip")
    for i in range(100):
        d[i] = float(i)
    d.attrs["unit"] = "m"
for _ in range(50):
    with h5py.File("p.h5") as f:
        assert f["a/b"][7].sum() == 350
        assert f["a"]["b"][:, ::10].shape == (100, 5)
try:
    h5py.File("missing.h5")
except OSError:
    print(h5py.version.hdf5_version)
"""


@pytest.mark.parametrize("python", [sys.executable, "/usr/bin/python3"], ids=["wheel", "distribution"])
def test_h5py(observe: Observe, tmp_path: Path, python: str) -> None:
    """A wheel brings an HDF5 of its own, under a name of its own, out of sight of the global scope."""
    if subprocess.run([python, "-c", "import h5py"], check=False, capture_output=True).returncode:
        pytest.skip(f"{python} has no h5py")
    seen = run(observe, tmp_path, python, "-c", PYTHON)
    found = hdf5(seen)
    assert set(found) == {("H5F", "p.h5"), ("H5D", "p.h5:/a/b")}
    assert found["H5F", "p.h5"]["H5F_OPENS"] == "51"
    wanted = {
        "OPENS": 101,
        "WRITES": 100,
        "READS": 100,
        "BYTES_WRITTEN": 100 * 400,
        "BYTES_READ": 50 * (400 + 100 * 5 * 8),
        "REGULAR_HYPERSLAB_SELECTS": 200,
        "CHUNK_SIZE_D1": 50,
        "CHUNK_SIZE_D2": 10,
    }
    assert some(found["H5D", "p.h5:/a/b"], *wanted) == wanted
    assert re.fullmatch(rb"[12]\.\d+\.\d+\n", seen.done.stdout)  # type: ignore[attr-defined]


def test_a_dataset_that_is_named_after_it_was_written(observe: Observe, tmp_path: Path) -> None:
    """One that never gets a name is none of the file's."""
    found = hdf5(run(observe, tmp_path, compiled("h5cc", HERE / "unnamed.c", tmp_path)))
    assert set(found) == {("H5F", "u.h5"), ("H5D", "u.h5:/late")}
    wanted = {
        "OPENS": 1,
        "WRITES": 2,
        "BYTES_WRITTEN": 4000 + 2000,
        "READS": 1,
        "BYTES_READ": 4000,
        "RW_SWITCHES": 1,
        "REGULAR_HYPERSLAB_SELECTS": 1,
        "DATASPACE_NPOINTS": 500,
        "DATATYPE_SIZE": 8,
    }
    assert some(found["H5D", "u.h5:/late"], *wanted) == wanted


ASSIGNED = """
import h5py, numpy as np
with h5py.File('i.h5', 'w') as f:
    f['x'] = np.zeros(1000)
    f['g/y'] = np.zeros((10, 10))
"""


def test_h5py_assigns_an_array(observe: Observe, tmp_path: Path) -> None:
    found = hdf5(run(observe, tmp_path, sys.executable, "-c", ASSIGNED))
    written = {name: row["H5D_BYTES_WRITTEN"] for (module, name), row in found.items() if module == "H5D"}
    assert written == {"i.h5:/x": "8000", "i.h5:/g/y": "800"}


@pytest.mark.parametrize("which", ["mpich", "openmpi"])
def test_parallel(observe: Observe, tmp_path: Path, which: str) -> None:
    ranks = 4
    mpi = MPIS[which]
    mpi.require()
    program = compiled(f"h5pcc.{mpi.name}", HERE / "parallel.c", tmp_path)
    found = hdf5(run(observe, tmp_path, *mpi.launcher(ranks), program))
    assert set(found) == {("H5F", "parallel.h5")} | {
        ("H5D", f"parallel.h5:/{name}") for name in ("apart", "together")
    }
    file = found["H5F", "parallel.h5"]
    assert (file["H5F_OPENS"], file["H5F_FLUSHES"], file["H5F_USE_MPIIO"]) == ("4", "4", "1")
    for name in ("apart", "together"):
        wanted = {
            "OPENS": 4,
            "READS": 4,
            "WRITES": 8,
            "BYTES_READ": 64 * 64 * 4,
            "BYTES_WRITTEN": 64 * 64 * 4 // 4 * 7,
            "REGULAR_HYPERSLAB_SELECTS": 11,
            "USE_MPIIO_COLLECTIVE": int(name == "together"),
        }
        row = found["H5D", f"parallel.h5:/{name}"]
        assert some(row, *wanted) == wanted
        assert [row[f"H5D_ACCESS1_{n}"] for n in ("ACCESS", "COUNT", "LENGTH_D4", "LENGTH_D5")] == [
            "4096", "11", "64", "16",
        ]  # fmt: skip


# ---- compared with Darshan: differences are those of docs/decisions/0018 ----

TIMES = re.compile(r"TIME|FASTEST|SLOWEST|VARIANCE|FILE_REC_ID")
CHUNKS = {f"H5D_CHUNK_SIZE_D{n}" for n in range(1, 6)}


def darshan_s(name: str, base: str) -> Seen:
    path = LAYERS / "expected" / f"{name}.counters.txt.gz"
    found: Seen = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        module, _, _, counter, value, file = line.split("\t")[:6]
        if module in HDF5 and not TIMES.search(counter):
            found.setdefault((module, file.removeprefix(f"{base}/")), {})[counter] = value
    return found


def different(ours: Seen, theirs: Seen) -> dict[tuple[str, str], set[str]]:
    assert set(ours) == set(theirs)
    unlike = {key: {c for c, value in row.items() if ours[key][c] != value} for key, row in theirs.items()}
    return {key: counters for key, counters in unlike.items() if counters}


@pytest.fixture
def layers() -> Path:
    if not LAYERS.is_dir():
        pytest.skip(f"no programs and logs of Darshan's layers at {LAYERS}: set IOLENS_LAYERS")
    return LAYERS


@pytest.mark.parametrize(
    ("name", "arguments", "known"),
    [
        ("h5_shapes", [], {}),
        ("h5_lifetime", [], {("H5F", "lifetime.h5"): {"H5F_FLUSHES"}}),
        ("h5_deep_whole", ["whole"], {("H5D", f"deep.h5:/r{n}chunked"): CHUNKS for n in (6, 7)}),
        ("h5_deep", [], {("H5D", f"deep.h5:/r{n}chunked"): CHUNKS for n in (6, 7)}),
    ],
)
def test_as_darshan_counts(  # noqa: PLR0913, PLR0917
    observe: Observe,
    tmp_path: Path,
    layers: Path,
    name: str,
    arguments: list[str],
    known: dict[tuple[str, str], set[str]],
) -> None:
    source = layers / "programs" / f"{name.removesuffix('_whole')}.c"
    program = compiled("h5cc", source, tmp_path)
    ours = hdf5(run(observe, tmp_path, program, ".", *arguments))
    unlike = different(ours, darshan_s(name, f"/srv/data/{name}"))
    assert set(unlike) == set(known)
    assert all(counters <= known[key] for key, counters in unlike.items())


def totals(seen: Seen) -> Counter[str]:
    added: Counter[str] = Counter()
    for (module, _), row in seen.items():
        for counter in ("OPENS", "READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN"):
            added[f"{module} {counter}"] += int(row.get(f"{module}_{counter}", 0))
    return added


def test_names_are_the_datasets_own(observe: Observe, tmp_path: Path, layers: Path) -> None:
    """What Darshan has under up to three names each, we have under one: the sums are the same."""
    program = compiled("h5cc", layers / "programs" / "h5_names.c", tmp_path)
    ours = hdf5(run(observe, tmp_path, program, "."))
    assert totals(ours) == totals(darshan_s("h5_names", "/srv/data/h5_names"))
    assert not any("//" in name for _, name in ours)
    assert some(ours["H5D", "names1.h5:/same"], "OPENS", "READS") == {"OPENS": 3, "READS": 2}  # a link's, too


@pytest.mark.parametrize("which", ["mpich", "openmpi"])
def test_parallel_as_darshan_counts(observe: Observe, tmp_path: Path, layers: Path, which: str) -> None:
    mpi = MPIS[which]
    mpi.require()
    program = compiled(f"h5pcc.{mpi.name}", layers / "programs" / "h5_parallel.c", tmp_path)
    ours = hdf5(run(observe, tmp_path, *mpi.launcher(4), program, "."))
    name = f"h5_parallel.{mpi.name}"
    assert not different(ours, darshan_s(name, f"/srv/data/{name}"))


# ---- other programs, unchanged ----

COPY = """
h5perf_serial -e 100,200 -x 10,20 >/dev/null &&
h5repack -f GZIP=5 {from_} packed.h5 && h5dump packed.h5 &&
h5diff {from_} packed.h5 && h5ls -r packed.h5 && h5stat -f packed.h5
"""


def test_tools_do_what_they_did(iolens: Path, observe: Observe, tmp_path: Path, calls: Path) -> None:
    if not shutil.which("h5repack"):
        pytest.skip("no hdf5-tools")
    made = tmp_path / "made"
    made.mkdir()
    subprocess.run([calls, "shapes"], cwd=made, check=True)
    script = COPY.format(from_=made / "shapes.h5")
    bare = subprocess.run(["sh", "-c", script], cwd=made, check=True, capture_output=True).stdout
    seen = run(observe, tmp_path, "sh", "-c", script)
    assert seen.done.stdout == bare  # type: ignore[attr-defined]
    assert ("H5D", "packed.h5:/d") in {(m, n.rpartition("/work/")[2]) for m, n, _ in seen.records}  # type: ignore[attr-defined]


def printed(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_what_many_datasets_share_is_said_of_none(
    iolens: Path, observe: Observe, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the budget one record counts for all: their bytes, not the shape, nor the file, of the last."""
    (tmp_path / "conf").write_text("MAX_RECORDS 1 H5D\n")
    monkeypatch.setenv("IOLENS_CONFIG_PATH", str(tmp_path / "conf"))
    seen = run(observe, tmp_path, calls, "names")
    text = printed(iolens, "show", "--base", "--show-incomplete", seen.log)  # type: ignore[attr-defined]
    rows = {name: row for (module, name, _), row in shown.records(text).items() if module == "H5D"}
    own, other = rows.pop(next(name for name in rows if name.endswith("names.h5:/g/d"))), *rows.values()
    assert own["H5D_FILE_REC_ID"] != "0" and own["H5D_DATASPACE_NPOINTS"] == "16"
    assert some(other, "OPENS", "BYTES_WRITTEN") == {"OPENS": 1, "BYTES_WRITTEN": 128}
    assert other["H5D_FILE_REC_ID"] == other["H5D_DATASPACE_NPOINTS"] == "0"


MANY = """
import h5py
with h5py.File("many.h5", "w") as f:
    for n in range(1500):
        f.create_dataset(f"d{n}", (8,), "i4")[...] = n
for n in range(100):
    with open(f"{n}.txt", "w") as f:
        f.write("own")
"""


def test_many_datasets_leave_room_for_files(
    iolens: Path, observe: Observe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("h5py")
    monkeypatch.setenv("IOLENS_BUDGET", "1")
    seen = run(observe, tmp_path, sys.executable, "-c", MANY)
    text = printed(iolens, "show", "--base", "--show-incomplete", seen.log)  # type: ignore[attr-defined]
    names = [(module, name) for module, name, _ in shown.records(text)]
    assert sum(module == "POSIX" and name.endswith(".txt") for module, name in names) == 100
    own = sum(module == "H5D" and "many.h5:/d" in name for module, name in names)
    folded = sum(module == "H5D" for module, _ in names) - own
    assert 500 < own + folded <= (1 << 19) // 912 + 1 and folded == 1
