"""Programs that iolens is linked into count what they count under the preload library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import places
import pytest
import shown
from here import sampled
from mpis import MPIS
from observed import Observe

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "programs"))
import test_programs  # noqa: E402

# Those in which libc calls wrapped names itself, those that end or multiply, and a fifth of the others.
CLOSE = re.compile(
    r"stdio_.*(line|unlocked|scan|print|char|unget|inlined|pushed)|fork_|exit_|exec_|vfork_|kill_"
)
ALIKE = [
    name
    for name in test_programs.PROGRAMS
    if (CLOSE.match(name) or sampled(name, 5) or "IOLENS_STATIC_ALL" in os.environ)
]
# They ask the dynamic linker for libc's old names.
DYNAMIC = {"posix_closed_by_other_names", "posix_old_stat_names", "stdio_old_names"}
# A static libc makes an entry of functions that are wrapped: each line is a read.
DYNAMIC |= {"stdio_entries"}
# What a run has of its own: times, which access was the slowest, and places in a heat map.
OF_THE_RUN = re.compile(
    r".*_(TIME|TIME_SIZE|TIMESTAMP|SLOWEST\w*|FASTEST\w*|BIN_\d+|BIN_WIDTH_SECONDS|VARIANCE\w*)$"
)

LANGUAGES = {
    "gcc": ("gcc", "streams.c", []),
    "clang": ("clang", "streams.c", []),
    "position-independent": ("gcc", "streams.c", ["-static-pie", "-fPIE"]),
    "c++": ("g++", "streams.cpp", []),
    "fortran": ("gfortran", "streams.f90", []),
}
FOLDER = Path("/usr/lib/x86_64-linux-gnu")

Counters = dict[tuple[str, str, int], shown.Row]
Flags = Callable[..., list[str]]


def run(command: Sequence[str | Path], **settings: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **settings)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return done  # type: ignore[no-any-return]


def counters(iolens: Path, log: Path, cwd: Path) -> Counters:
    """Every counter that two runs of the same program have in common, by names within its directory."""
    text = run([iolens, "show", "--base", "--show-incomplete", log]).stdout
    return {
        (module, name.replace(f"{cwd}/", ""), rank): {
            counter: value for counter, value in row.items() if not OF_THE_RUN.match(counter)
        }
        for (module, name, rank), row in shown.records(text).items()
    }


def compiler(name: str) -> str:
    return shutil.which(name) or pytest.skip(f"no {name}")


@pytest.fixture(scope="session")
def flags(iolens: Path) -> Flags:
    """What `iolens config` says."""

    def ask(*words: str | Path) -> list[str]:
        return run([iolens, "config", *words]).stdout.split()

    return ask


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "cwd").mkdir()
    return tmp_path.resolve() / "cwd"


# ---------------------------------------------------------------- without MPI


@pytest.mark.parametrize("name", [name for name in ALIKE if name not in DYNAMIC])
def test_programs_count_what_they_count_under_preload(
    name: str, flags: Flags, iolens: Path, cwd: Path
) -> None:
    source = HERE.parent / "programs" / f"{name}.c"
    program, log = cwd.parent / name, cwd.parent / "log.darshan"
    options = ["-static", "-w", "-O0", "-fno-builtin", "-D_GNU_SOURCE"]
    run([compiler("gcc"), *options, source, "-o", program, *flags("--static-ldflags"), "-lrt", "-lpthread"])
    expected = test_programs.EXPECTATIONS[name]
    expected.prepare(cwd)
    ended = expected.execute([iolens, "run", "--quiet", "-o", log, "--", program], cwd)
    signal = expected.run.get("signal", 0)
    assert ended.returncode in ({128 + signal, -signal} if signal else {0}), ended.stderr.decode()
    wrong = list(test_programs.check(expected, test_programs.read_log(iolens, log, cwd)))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_ways_of_building_give_the_same_log(
    language: str, flags: Flags, iolens: Path, observe: Observe, cwd: Path
) -> None:
    name, source, options = LANGUAGES[language]
    logs, outputs = [], []
    for way, with_ in {
        "dynamic": [],
        "linked": [*(options or ["-static"]), *flags("--static-ldflags")],
        "plain": options or ["-static"],
    }.items():
        program = cwd.parent / way
        run([compiler(name), "-O1", HERE / "programs" / source, "-o", program, *with_])
        done = observe([program], cwd=emptied(cwd))
        assert done.done.returncode == 0, done.done.stderr.decode()
        assert done.log.exists() == (way != "plain")
        outputs.append(done.done.stdout)
        if way != "plain":
            logs.append(counters(iolens, done.log, cwd))
    assert outputs[0] == outputs[1] == outputs[2]
    assert logs[0] == logs[1]
    assert len([name for _, name, _ in logs[0] if not name.startswith(("<", "heatmap"))]) >= 2


def test_alone_it_writes_its_own_log(flags: Flags, iolens: Path, cwd: Path) -> None:
    program = cwd.parent / "program"
    run([compiler("gcc"), "-static", HERE / "programs/streams.c", "-o", program, *flags("--static-ldflags")])
    environment = {"IOLENS_LOGPATH": str(cwd.parent), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_ABANDONED": "keep"}
    run([program], cwd=cwd, env={**os.environ, **environment})
    logs = [counters(iolens, log, cwd) for log in cwd.parent.rglob("*.darshan")]
    writes = [log["POSIX", "blocks", 0]["POSIX_WRITES"] for log in logs]
    assert writes == ["20", "20"]  # the child has one of its own


def test_its_parent_does_not_call_it_unobserved(
    flags: Flags, iolens: Path, observe: Observe, cwd: Path
) -> None:
    program, plain = cwd.parent / "program", cwd.parent / "plain"
    source = HERE / "programs/names.c"
    run([compiler("gcc"), "-static", source, "-o", program, *flags("--static-ldflags")])
    run([compiler("gcc"), "-static", source, "-o", plain])
    done = observe(["sh", "-c", f"{program}; {plain}; true"], cwd=cwd)
    assert [row["program"] for row in done.sections["unobserved"]] == [str(plain)]
    assert done.total("STDIO", "WRITES", f"{cwd}/sum") == 1


def test_names_of_the_runtime_are_free(flags: Flags, iolens: Path, observe: Observe, cwd: Path) -> None:
    program = cwd.parent / "program"
    run([compiler("gcc"), "-static", HERE / "programs/names.c", "-o", program, *flags("--static-ldflags")])
    assert observe([program], cwd=cwd).done.returncode == 0
    assert (cwd / "sum").read_text() == "21\n"
    archive = next(word for word in flags("--static-ldflags") if word.endswith(".a"))
    defined = run(["nm", "-g", "--defined-only", archive]).stdout
    names = {line.split()[2] for line in defined.splitlines() if len(line.split()) == 3}
    assert {name for name in names if not name.startswith(("__wrap_", "iolens_"))} == set()


# ---------------------------------------------------------------- linked and preloaded


@pytest.mark.parametrize("how", ["--static-ldflags", "--dynamic-ldflags"])
@pytest.mark.parametrize("more", [(), ("--mpi-communication",)])
def test_linked_and_preloaded_counts_once(
    how: str, more: Sequence[str], flags: Flags, observe: Observe, cwd: Path
) -> None:
    program = cwd.parent / "program"
    run([compiler("gcc"), HERE / "programs/streams.c", "-o", program, *flags(how)])
    done = observe([program], options=["--quiet", *more], cwd=cwd)
    assert done.total("POSIX", "WRITES", f"{cwd}/blocks") == 40
    assert done.total("STDIO", "WRITES", f"{cwd}/lines") == 9300
    assert len(done.sections["process"]) == 2


def test_linked_dynamically_it_needs_no_preload(flags: Flags, iolens: Path, cwd: Path) -> None:
    program = cwd.parent / "program"
    run([compiler("clang"), HERE / "programs/streams.c", "-o", program, *flags("--dynamic-ldflags")])
    environment = {"IOLENS_LOGPATH": str(cwd.parent), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_ABANDONED": "keep"}
    run([program], cwd=cwd, env={**os.environ, **environment})
    logs = [counters(iolens, log, cwd) for log in cwd.parent.rglob("*.darshan")]
    assert [log["POSIX", "blocks", 0]["POSIX_WRITES"] for log in logs] == ["20", "20"]


# ---------------------------------------------------------------- libraries


def emptied(cwd: Path) -> Path:
    """What one run has left would be there for the next."""
    for path in cwd.iterdir():
        path.unlink()
    return cwd


def archives(*names: str) -> list[Path]:
    found = [FOLDER / name for name in names]
    return found if all(path.is_file() for path in found) else pytest.skip(f"no {', '.join(names)}")


@pytest.mark.parametrize("source", ["ranks.c", "ranks.f90"])
def test_ranks_of_a_static_mpich_make_one_log(source: str, flags: Flags, iolens: Path, cwd: Path) -> None:
    """Of Debian's MPICH libmpich.a alone can be linked statically: UCX and udev have no complete archives."""
    mpi = MPIS["mpich"]
    mpi.require()
    fortran = source.endswith(".f90")
    static = archives("libmpich.a", *(["libmpichfort.a"] if fortran else []))
    libraries = [
        *(["-lmpichfort"] if fortran else []),
        "-lmpich",
        "-Wl,-Bdynamic",
        "-lhwloc",
        "-lucp",
        "-lucs",
        "-lm",
    ]
    logs = []
    for way in ("linked", "dynamic"):
        program, logged = cwd.parent / way, cwd.parent / f"log-{way}"
        logged.mkdir()
        place = HERE / "programs" / source
        if way == "linked":
            told = ["-Wl,-Bstatic", *libraries]
            command = [
                compiler("gfortran" if fortran else "gcc"),
                f"-I{FOLDER.parent.parent}/include/x86_64-linux-gnu/mpich",
            ]
            run([*command, place, "-o", program, *flags("--static-ldflags", *static), *told])
        else:
            run([mpi.compiler(place.suffix), place, "-o", program])
        environment = {**os.environ, **mpi.environment, "IOLENS_LOGPATH": str(logged)}
        preload = {} if way == "linked" else {"LD_PRELOAD": str(places.PRELOAD)}
        run([*mpi.launcher(2), program], cwd=emptied(cwd), env={**environment, **preload})
        (log,) = logged.rglob("*.darshan")
        logs.append(counters(iolens, log, cwd))
    # A library that the program does not have statically flushes its stdout.
    assert logs[0] == {key: row for key, row in logs[1].items() if key[1] != "<STDOUT>"}
    shared = logs[0]["MPI-IO", "shared", -1]
    assert shared["MPIIO_COLL_WRITES"] == "2"
    assert logs[0]["POSIX", "shared", -1]["POSIX_BYTES_WRITTEN"] == ("2048" if fortran else "40960")


def test_a_static_hdf5_has_its_files_and_datasets(
    flags: Flags, observe: Observe, iolens: Path, cwd: Path
) -> None:
    (static,) = archives("hdf5/serial/libhdf5.a")
    needed = ["-Wl,-Bdynamic", "-lcrypto", "-lcurl", "-lsz", "-lz", "-lm", "-ldl"]
    logs = []
    for way, words in {
        "linked": [*flags("--static-ldflags", static), static, *needed],
        "dynamic": [f"-L{static.parent}", "-lhdf5"],
    }.items():
        program = cwd.parent / way
        made = subprocess.run(
            [compiler("gcc"), "-I/usr/include/hdf5/serial", HERE / "programs/h5.c", "-o", program, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode and "cannot find -l" in made.stderr:
            pytest.skip(made.stderr.splitlines()[0])
        assert made.returncode == 0, made.stderr
        done = observe([program], cwd=emptied(cwd))
        logs.append(counters(iolens, done.log, cwd))
    assert logs[0] == logs[1]
    assert logs[0]["H5D", "file.h5:/numbers", 0]["H5D_BYTES_WRITTEN"] == "4000"


# ---------------------------------------------------------------- the flags


def test_only_what_an_archive_has_is_wrapped(flags: Flags) -> None:
    (mpich,) = archives("libmpich.a")
    assert all(word.startswith("-Wl,@") or word.endswith(".a") for word in flags("--static-ldflags"))
    told = flags("--static-ldflags", mpich)
    assert "-Wl,--wrap=MPI_File_open,--undefined=MPI_File_open" in told
    assert "-Wl,--undefined=PMPI_Comm_idup" in told  # asked for, not wrapped
    assert not [word for word in told if "mpi_init_" in word or "H5" in word or "ncmpi" in word]


def test_wrong_use_is_a_line(
    run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("no archive")
    for words, code, said in (
        (
            ["--static-ldflags", text],
            3,
            f"config: {text}: no archive with an index: give static libraries (libmpich.a)",
        ),
        (
            ["--static-ldflags", "--dynamic-ldflags"],
            2,
            "config: --static-ldflags or --dynamic-ldflags, not both",
        ),
        (["--dynamic-ldflags", text], 2, "config: --dynamic-ldflags takes no files"),
        (["--pkg-config", text], 2, "config: --pkg-config: with --static-ldflags alone"),
        (["a", "b"], 2, "config: give one file"),
    ):
        done = run_iolens(["config", *words])
        assert (done.returncode, done.stderr.strip()) == (code, f"iolens: {said}")
