"""HDF5 of every release since 1.8, by programs that were linked to it: handles of 32 bits and of 64."""

from __future__ import annotations

import subprocess
from pathlib import Path

import drishti
import places
import pytest
from observed import Observe

SOURCE = Path(__file__).parent / "programs" / "releases.c"
ROWS, COLUMNS, TURNS = 40, 60, 500
TABLE = 8 * ROWS * COLUMNS
# Each turn writes one row more of three columns, and after the last row begins again.
PARTS = sum(8 * 3 * (1 + turn % ROWS) for turn in range(TURNS))
RELEASES = {"1.8": "int", "1.10": "int64_t", "1.12": "int64_t", "1.14": "int64_t"}


@pytest.fixture(scope="session", params=RELEASES)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    release = request.param
    found = sorted((places.ROOT / ".venv" / "hdf5" / release).glob("h5py*/**/libhdf5-*"))
    if not found:
        pytest.skip(f"no HDF5 {release}: ./bootstrap test fetches it")
    place = tmp_path_factory.mktemp("release") / "program"
    names = [f"-DHANDLE={RELEASES[release]}", "-DDATASET_CREATION=H5P_CLS_DATASET_CREATE_ID_g"]
    # Not as RUNPATH, which holds for the program alone: the library has libraries beside it.
    libraries = [found[0], f"-Wl,--disable-new-dtags,-rpath,{found[0].parent}", "-Wl,--allow-shlib-undefined"]
    subprocess.run(["cc", "-O1", *names, "-o", place, SOURCE, *libraries], check=True)
    return release, place


def test_a_release(observe: Observe, tmp_path: Path, program: tuple[str, Path]) -> None:
    release, command = program
    bare = subprocess.run([command], cwd=tmp_path, check=True, capture_output=True)
    made = (tmp_path / "release.h5").stat().st_size
    seen = observe([command], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    assert seen.done.stdout == bare.stdout
    version, points = bare.stdout.decode().split()
    assert version.startswith(f"{release}.") and int(points) == 1 + ROWS * COLUMNS
    assert (tmp_path / "release.h5").stat().st_size == made

    rows = {module: row for (module, name, _), row in seen.records.items() if "release.h5" in name}
    file, table = rows["H5F"], rows["H5D"]
    assert (file["H5F_OPENS"], file["H5F_FLUSHES"]) == ("2", "1")
    # What 1.8 has no function for is not known: H5Dflush, and whether a hyperslab is regular.
    unknown = release == "1.8"
    wanted = {
        "OPENS": 2,
        "READS": 1,
        "WRITES": 1 + TURNS,
        "BYTES_READ": 16,
        "BYTES_WRITTEN": TABLE + PARTS,
        "FLUSHES": -1 if unknown else 0,
        "REGULAR_HYPERSLAB_SELECTS": -1 if unknown else TURNS,
        "POINT_SELECTS": 1,
        "DATATYPE_SIZE": 8,
        "DATASPACE_NDIMS": 2,
        "DATASPACE_NPOINTS": ROWS * COLUMNS,
        "CHUNK_SIZE_D1": 20,
        "CHUNK_SIZE_D2": 10,
    }
    assert {name: int(table[f"H5D_{name}"]) for name in wanted} == wanted
    drishti.agrees(seen)
