"""What `meson install --tags static` brings for pkg-config, CMake and MPICH's wrappers links iolens into programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import places
import pytest
import shown
from mpis import MPIS

SOURCES = Path(__file__).resolve().parent.parent / "static" / "programs"
CMAKE = """cmake_minimum_required(VERSION 3.13)
project(streams C)
find_package(iolens REQUIRED)
add_executable(program {source})
target_link_options(program PRIVATE -static)
target_link_libraries(program PRIVATE iolens::static)
"""


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed, and moved to a place that the build does not know."""
    build = places.BUILD
    if not (build / "runtime/linked/libiolens.a").exists():
        pytest.skip("no libiolens.a in this build")
    place = tmp_path_factory.mktemp("installed")
    meson = Path(sys.executable).parent / "meson"
    run([meson, "install", "-C", build, "--no-rebuild", "--tags", "static", "--destdir", place], cwd=place)
    (archive,) = place.rglob("libiolens.a")
    (cut,) = [folder for folder in archive.parents if folder.name == "lib"]
    return cut.parent


def writes(iolens: Path, logs: Path, name: str) -> list[str]:
    found = []
    for log in logs.rglob("*.darshan"):
        rows = shown.records(run([iolens, "show", "--base", log], cwd=logs))
        found += [
            row["POSIX_WRITES"]
            for (module, path, _), row in rows.items()
            if (module, Path(path).name) == ("POSIX", name)
        ]
    return found


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_pkg_config_links_a_static_program(compiler: str, prefix: Path, iolens: Path, tmp_path: Path) -> None:
    (file,) = prefix.rglob("iolens-static.pc")
    flags = run(["pkg-config", "--libs", "iolens-static"], tmp_path, PKG_CONFIG_PATH=str(file.parent)).split()
    run([compiler, "-static", SOURCES / "streams.c", "-o", "program", *flags], tmp_path)
    run(["./program"], tmp_path, IOLENS_LOGPATH=str(tmp_path), IOLENS_ENABLE_NONMPI="1")
    assert writes(iolens, tmp_path, "blocks") == ["20", "20"]  # the child has a log of its own


def test_cmake_links_a_static_program(prefix: Path, iolens: Path, tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(source=SOURCES / "streams.c"))
    (file,) = prefix.rglob("iolens-config.cmake")
    run(["cmake", "-S", ".", "-B", "made", f"-Diolens_DIR={file.parent}"], tmp_path)
    run(["cmake", "--build", "made"], tmp_path)
    run(["made/program"], tmp_path, IOLENS_LOGPATH=str(tmp_path), IOLENS_ENABLE_NONMPI="1")
    assert writes(iolens, tmp_path, "blocks") == ["20", "20"]


DYNAMIC = """cmake_minimum_required(VERSION 3.13)
project(streams C)
find_package(iolens REQUIRED)
add_executable(program {source})
target_link_libraries(program PRIVATE iolens::dynamic)
"""


def test_cmake_links_a_dynamic_program(prefix: Path, iolens: Path, tmp_path: Path) -> None:
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    (tmp_path / "CMakeLists.txt").write_text(DYNAMIC.format(source=SOURCES / "streams.c"))
    (file,) = prefix.rglob("iolens-config.cmake")
    run(
        ["cmake", "-S", ".", "-B", "made", f"-Diolens_DIR={file.parent}", f"-DIOLENS_EXECUTABLE={iolens}"],
        tmp_path,
    )
    run(["cmake", "--build", "made"], tmp_path)
    run(["made/program"], tmp_path, IOLENS_LOGPATH=str(tmp_path), IOLENS_ENABLE_NONMPI="1")
    assert writes(iolens, tmp_path, "blocks") == ["20", "20"]


# ---------------------------------------------------------------- with a static MPICH

FOLDER = Path("/usr/lib/x86_64-linux-gnu")
INCLUDE = "/usr/include/x86_64-linux-gnu/mpich"
# Debian has no complete static archives of what libmpich.a asks for.
NEEDED = ["-Wl,-Bstatic", "-lmpich", "-Wl,-Bdynamic", "-lhwloc", "-lucp", "-lucs", "-lm"]
COMPILERS = {
    "gcc": (["gcc"], "ranks.c", "C"),
    "clang": (["clang"], "ranks.c", "C"),
    "c++": (["g++", "-x", "c++"], "ranks.c", "CXX"),
    "fortran": (["gfortran"], "ranks.f90", "Fortran"),
}
MPI_CMAKE = """cmake_minimum_required(VERSION 3.13)
project(ranks {language})
find_package(iolens REQUIRED)
set_source_files_properties({source} PROPERTIES LANGUAGE {language})
add_executable(program {source})
target_include_directories(program PRIVATE {include})
iolens_link_static(program {archives})
target_link_libraries(program PRIVATE {libraries})
"""


def ranks_counted(iolens: Path, logs: Path) -> dict[tuple[str, str, int], dict[str, str]]:
    (log,) = logs.rglob("*.darshan")
    rows = shown.records(run([iolens, "show", "--base", log], logs))
    return {
        (module, Path(name).name, rank): {
            counter: value for counter, value in row.items() if not OF_THE_RUN.match(counter)
        }
        for (module, name, rank), row in rows.items()
        if Path(name).name == "shared"
    }


OF_THE_RUN = re.compile(r".*_(TIME|TIME_SIZE|TIMESTAMP|SLOWEST\w*|FASTEST\w*|VARIANCE\w*)$")


@pytest.mark.parametrize("way", ["flags", "pkg-config", "cmake"])
@pytest.mark.parametrize("name", COMPILERS)
def test_a_static_mpich_counts_what_a_preloaded_one_does(
    name: str, way: str, prefix: Path, iolens: Path, tmp_path: Path
) -> None:
    compiler, source, language = COMPILERS[name]
    mpi = MPIS["mpich"]
    mpi.require()
    if way == "cmake" and (name == "clang" or not shutil.which("cmake")):
        pytest.skip("no cmake, or the same as with gcc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]}")
    fortran = language == "Fortran"
    archives = [FOLDER / "libmpich.a", *([FOLDER / "libmpichfort.a"] if fortran else [])]
    libraries = ["-Wl,-Bstatic", "-lmpichfort", *NEEDED[1:]] if fortran else NEEDED
    if not all(archive.exists() for archive in archives):
        pytest.skip(f"no {archives[-1]}")
    ask = [iolens, "config", "--static-ldflags", *archives]
    if way == "cmake":
        (file,) = prefix.rglob("iolens-config.cmake")
        text = MPI_CMAKE.format(
            language=language,
            source=SOURCES / source,
            include=INCLUDE,
            archives=" ".join(map(str, archives)),
            libraries=" ".join(libraries),
        )
        (tmp_path / "CMakeLists.txt").write_text(text)
        run(
            ["cmake", "-S", ".", "-B", ".", f"-Diolens_DIR={file.parent}", f"-DIOLENS_EXECUTABLE={iolens}"],
            tmp_path,
        )
        run(["cmake", "--build", "."], tmp_path)
    else:
        if way == "pkg-config":
            (tmp_path / "iolens-mpich.pc").write_text(run([*ask, "--pkg-config"], tmp_path))
            ask = ["pkg-config", "--static", "--libs", "iolens-mpich"]
        flags = run(ask, tmp_path, PKG_CONFIG_PATH=str(tmp_path)).split()
        run(
            [*compiler, f"-I{INCLUDE}", SOURCES / source, "-x", "none", "-o", "program", *flags, *libraries],
            tmp_path,
        )
    run([mpi.compiler(Path(source).suffix), SOURCES / source, "-o", "dynamic"], tmp_path)
    found = []
    for program, more in (("program", {}), ("dynamic", {"LD_PRELOAD": str(places.PRELOAD)})):
        logs = tmp_path / f"log-{program}"
        logs.mkdir()
        (tmp_path / "shared").unlink(missing_ok=True)
        environment = {**mpi.environment, "IOLENS_LOGPATH": str(logs), **more}
        run([*mpi.launcher(2), f"./{program}"], tmp_path, **environment)
        found.append(ranks_counted(iolens, logs))
    assert found[0] == found[1]
    assert found[0]["MPI-IO", "shared", -1]["MPIIO_COLL_WRITES"] == "2"


MODULES = Path("/usr/share/modules/init/bash")
# What is known of Cray's wrappers: they ask pkg-config for the packages in this variable.
AS_CRAY = "module use . && module load cray && pkg-config --static --libs ${PE_PKGCONFIG_LIBS//:/ }"


def test_the_module_lines_for_cray_lead_pkg_config_to_the_flags(iolens: Path, tmp_path: Path) -> None:
    mpi, archive = MPIS["mpich"], FOLDER / "libmpich.a"
    mpi.require()
    if not MODULES.exists() or not archive.exists():
        pytest.skip("no environment-modules, or no libmpich.a")
    guide = (
        (places.ROOT / "docs/guide/static.md").read_text().replace("/opt/iolens/lib/pkgconfig", str(tmp_path))
    )
    lines = re.findall(r"^(prepend-path \S+ +[^#\s]+)", guide, re.MULTILINE)
    (tmp_path / "cray").write_text("#%Module\n" + "\n".join(lines) + "\n")
    ask = [iolens, "config", "--static-ldflags", archive, "--pkg-config"]
    (tmp_path / "iolens-mpi.pc").write_text(run(ask, tmp_path))
    flags = run(["bash", "--norc", "-c", f". {MODULES} && {AS_CRAY}"], tmp_path).split()
    run(["gcc", f"-I{INCLUDE}", SOURCES / "ranks.c", "-o", "program", *flags, *NEEDED], tmp_path)
    logs = tmp_path / "logs"
    logs.mkdir()
    run([*mpi.launcher(2), "./program"], tmp_path, **mpi.environment, IOLENS_LOGPATH=str(logs))
    assert ranks_counted(iolens, logs)["MPI-IO", "shared", -1]["MPIIO_COLL_WRITES"] == "2"


@pytest.mark.parametrize("command", ["mpicc.mpich", "mpicc.mpich -static-mpi", "mpifort.mpich"])
def test_mpich_wrappers_take_the_profile(command: str, prefix: Path, iolens: Path, tmp_path: Path) -> None:
    source = "ranks.f90" if "fort" in command else "ranks.c"
    mpi = MPIS["mpich"]
    mpi.require()
    (file,) = prefix.rglob("iolens.conf")
    shutil.copy(file, tmp_path)
    path = f"{iolens.parent}:{os.environ['PATH']}"
    run([*command.split(), "-profile=iolens", SOURCES / source, "-o", "program"], tmp_path, PATH=path)
    logs = tmp_path / "logs"
    logs.mkdir()
    run([*mpi.launcher(2), "./program"], tmp_path, **mpi.environment, IOLENS_LOGPATH=str(logs))
    (log,) = logs.rglob("*.darshan")
    rows = shown.records(run([iolens, "show", "--base", log], tmp_path))
    shared = {
        (module, rank): row for (module, name, rank), row in rows.items() if Path(name).name == "shared"
    }
    assert shared["MPI-IO", -1]["MPIIO_COLL_WRITES"] == "2"
    assert shared["POSIX", -1]["POSIX_BYTES_WRITTEN"] == ("2048" if source.endswith(".f90") else "40960")
