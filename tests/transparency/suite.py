#!/usr/bin/env python3
"""Other people's tests, with and without observation: the verdicts must be the same.

usage: tests/transparency/suite.py [--list] [--short] [NAME...]

A case is a shell script that is run twice, each time in a fresh directory. What is compared is its exit code and
the lines that it prints on standard output (addresses and temporary names struck out). `make transparency` runs all
cases, CI the short ones. What is not installed is skipped and said so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import places  # noqa: E402


@dataclass(frozen=True)
class Case:
    script: str
    needs: tuple[str, ...] = ()  # commands, or files when there is a slash
    short: bool = False  # in CI too
    user: str = ""  # run as this user
    timeout: int = 900
    alone: bool = False  # by the library alone, not by `iolens run`
    every: bool = False  # alone: programs without MPI too, of all users
    root: bool = False  # needs root, and changes the user itself
    prepare: str = ""  # run once, unobserved: what it makes stays
    holds: tuple[str, ...] = ()  # programs of which the log has processes


def cpython(*tests: str) -> Case:
    """Verdict of every test case, one line each."""
    script = (
        "mkdir tmp && cd tmp && export TMPDIR=$PWD && "
        f"/usr/bin/python3 -m test -v {' '.join(tests)} >../out 2>&1; code=$?; "
        f"/usr/bin/python3 -I {HERE}/cases/verdicts.py ../out; exit $code"
    )
    return Case(script, ("/usr/lib/python3.11/test/test_io.py", "/usr/bin/python3"))


def fio(engine: str, more: str = "") -> Case:
    script = (
        f"fio --name=v --ioengine={engine} --rw=randwrite --bs=4k --size=16m --verify=crc32c --verify_fatal=1 "
        f"--do_verify=1 --filename=data --output-format=terse --minimal {more} >out 2>err; code=$?; "
        "head -c 60 err; cut -d';' -f5,6 out; ls -l data | cut -d' ' -f5; exit $code"
    )
    return Case(script, ("fio",), short=engine in ("psync", "libaio"))


def compiled(flags: str, run: str = "./p", compiler: str = "cc", needs: tuple[str, ...] = ()) -> Case:
    build = f"{compiler} -O1 -g {flags} -o p {HERE}/cases/program.c || exit 9\n"
    return Case(f"{build}{run}; echo $?; ls | sort; cat c", (compiler, *needs), short=True)


def script(name: str, needs: tuple[str, ...], short: bool = False, user: str = "") -> Case:
    return Case((HERE / "cases" / f"{name}.sh").read_text(), needs, short, user)


def romio(mpi: str, own: bool = False, alone: bool = False) -> Case:
    """ROMIO's tests by an MPI, whose MPI-IO may be another: own asks Open MPI for its copy of ROMIO."""
    source = HERE.parents[1] / "build" / "romio"  # tests/transparency/romio-source brings it
    settings = f"mpi={mpi} romio={int(own)} source={source} yield={HERE.parents[1]}/bench/shutdown/yield.c\n"
    needs = (f"mpicc.{mpi}", f"mpif77.{mpi}", f"{source}/simple.c")
    return Case(settings + (HERE / "cases" / "romio.sh").read_text(), needs, alone=alone)


SOURCES = HERE.parents[1] / "build" / "sources"


def own_tests(
    name: str, package: str, build: str, done: str, needs: tuple[str, ...] = (), **more: Any
) -> Case:
    """A package's own tests (cases/NAME-tests.sh), out of its source, which is fetched and built at the first time."""
    source = SOURCES / package
    prepare = f"[ -e {source}/{done} ] && exit 0; {HERE}/source-package {package} {source} && cd {source} && {build}"
    text = (HERE / "cases" / f"{name}-tests.sh").read_text()
    needs = ("make", "cc", "apt-get", *needs)
    return Case(f"source={source}\n{text}", needs, timeout=1800, prepare=prepare, **more)


def coreutils(**more: Any) -> Case:
    build = "FORCE_UNSAFE_CONFIGURE=1 ./configure -q --disable-dependency-tracking && make -s"
    return own_tests("coreutils", "coreutils", build, "src/ls", holds=("cp", "mv", "dd", "ls"), **more)


def postgresql(**more: Any) -> Case:
    """The server comes from the distribution; its tests and the functions that they load are built."""
    build = (
        "./configure -q --without-icu --without-readline --without-zlib && "
        "make -s -C src/interfaces/libpq all && make -s -C src/test/regress all"
    )
    done, holds = "src/test/regress/pg_regress", ("initdb", "postgres", "psql")
    needs = ("/usr/lib/postgresql", "setpriv")
    return own_tests("postgresql", "postgresql-15", build, done, needs, holds=holds, root=True, **more)


def stdio(flags: str) -> Case:
    """280 calls at the edges of stdio: results, errno, states of the streams, and the files that they leave."""
    build = f"cc {flags} -w -o p {HERE}/cases/stdio.c -pthread || exit 9\n"
    return Case(f"{build}./p; echo $?; rm p; md5sum *", ("cc",), short=True)


def hostile() -> Case:
    """Every wrapped function with bad pointers: results, errno, signals, memory and files."""
    build = f"cc -O1 -w -o p {HERE}/cases/hostile.c || exit 9\n"
    return Case(f"{build}./p; echo $?", ("cc",), short=True)


LIBRARIES = "/usr/lib/x86_64-linux-gnu"

CASES = {
    "cpython-io": cpython("test_io", "test_fileio", "test_file", "test_mmap", "test_tempfile"),
    "cpython-os": cpython("test_os", "test_posix", "test_fcntl", "test_shutil", "test_glob"),
    "cpython-subprocess": cpython("test_subprocess", "test_popen", "test_signal", "test_pty"),
    "cpython-multiprocessing-fork": cpython("test_multiprocessing_fork"),
    "cpython-multiprocessing-spawn": cpython("test_multiprocessing_spawn"),
    "cpython-multiprocessing-forkserver": cpython("test_multiprocessing_forkserver"),
    "cpython-multiprocessing-main": cpython("test_multiprocessing_main_handling", "test_concurrent_futures"),
    "cpython-threads": cpython(
        "test_threading", "test_select", "test_selectors", "test_asyncio.test_subprocess"
    ),
    "cpython-sockets": cpython("-i '*VSOCK*'", "test_socket"),  # in a virtual machine those wait for ever
    "cpython-archives": cpython(
        "test_tarfile", "test_zipfile", "test_gzip", "test_bz2", "test_lzma", "test_dbm", "test_sqlite3"
    ),
    "stdio": stdio("-O1"),
    "stdio-fortified": stdio("-O2 -D_FORTIFY_SOURCE=2"),
    "hostile-arguments": hostile(),
    "coreutils": script("coreutils", ("cp", "bash"), short=True),
    "stress-ng": script("stress-ng", ("stress-ng",)),
    "tar": script("tar", ("tar", "gzip"), short=True),
    "git": script("git", ("git",), short=True),
    "sqlite3": script("sqlite3", ("sqlite3",), short=True),
    "rsync": script("rsync", ("rsync",), short=True),
    "make": script("make", ("make", "cc"), short=True),
    "hdf5-netcdf": script("hdf5-netcdf", ("h5dump", "ncgen", "nccopy")),
    "pnetcdf": script("pnetcdf", ("ncmpigen", "ncmpidump", "ncvalidator", "mpiexec.openmpi"), short=True),
    "pgbench": script("pgbench", ("pgbench", "/usr/lib/postgresql"), user="postgres"),
    "coreutils-tests": coreutils(),
    "coreutils-tests-alone": coreutils(alone=True, every=True),
    "postgresql-tests": postgresql(),
    "postgresql-tests-alone": postgresql(alone=True, every=True),
    **{f"fio-{engine}": fio(engine) for engine in ("sync", "vsync", "psync", "pvsync", "pvsync2", "splice")},
    "fio-libaio": fio("libaio", "--iodepth=8 --direct=0"),
    "fio-io_uring": fio("io_uring", "--iodepth=8"),
    "fio-mmap": fio("mmap"),
    "fio-posixaio": fio("posixaio", "--iodepth=4"),
    "fio-threads": fio("psync", "--thread --numjobs=1 --fsync=64"),
    "asan-gcc": compiled("-fsanitize=address"),
    "asan-clang": compiled("-fsanitize=address,undefined", compiler="clang"),
    "tsan-clang": compiled("-fsanitize=thread", compiler="clang"),
    "jemalloc": compiled(
        "",
        "LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}libjemalloc.so.2 ./p",
        needs=(f"{LIBRARIES}/libjemalloc.so.2",),
    ),
    "tcmalloc": compiled(
        "",
        "LD_PRELOAD=libtcmalloc_minimal.so.4${LD_PRELOAD:+:$LD_PRELOAD} ./p",
        needs=(f"{LIBRARIES}/libtcmalloc_minimal.so.4",),
    ),
    "static": compiled("-static"),
    "fortified": compiled("-D_FORTIFY_SOURCE=2 -O2"),
    "seccomp": script("seccomp", ("cc",), short=True),
    "limits": script("limits", (), short=True),
    "romio-mpich": romio("mpich"),
    "romio-mpich-alone": romio("mpich", alone=True),
    "romio-openmpi": romio("openmpi"),
    "romio-openmpi-alone": romio("openmpi", alone=True),
    "romio-openmpi-romio-alone": romio("openmpi", own=True, alone=True),
    "namespaces": script("namespaces", ("unshare",), short=True),
}


def missing(case: Case) -> list[str]:
    return [n for n in case.needs if not (Path(n).exists() if "/" in n else shutil.which(n))]


STRUCK = [
    (re.compile(rb"0x[0-9a-f]{6,}"), b"0x."),
    (re.compile(rb"(pid|PID|process)[ =]+\d+"), rb"\1 ."),
    (re.compile(rb"/tmp/\S+"), b"/tmp/."),
]


def run_case(case: Case, command: list[str], place: Path) -> tuple[int, list[bytes], bytes]:
    if case.user:
        shutil.chown(place, case.user)
        command = ["runuser", "-u", case.user, "--", *command]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("IOLENS_", "DARSHAN_", "LD_PRELOAD"))}
    env.update(LC_ALL="C.UTF-8", PWD=str(place))
    if "run" in command:
        env["IOLENS_PRELOAD"] = str(places.PRELOAD)
    done = subprocess.run(
        [*command, "bash", "-c", case.script],
        cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=case.timeout, check=False,
    )  # fmt: skip
    lines = done.stdout
    for pattern, by in STRUCK:
        lines = pattern.sub(by, lines)
    return done.returncode, lines.splitlines(), done.stderr


def compare(case: Case) -> str:
    """`equal`, or what differs. Tests that depend on the time get a second chance, which is said."""
    if case.prepare:
        made = subprocess.run(
            ["bash", "-c", case.prepare], capture_output=True, timeout=case.timeout, check=False
        )
        if made.returncode:
            return f"skipped: {made.stderr[-200:].decode(errors='replace').strip()}"
    first = compare_once(case)
    if first.startswith("equal"):
        return first
    second = compare_once(case)
    return f"{second} (at the second attempt; first: {first})" if second.startswith("equal") else second


def observing(case: Case, log: Path) -> list[str]:
    """What stands before the command; alone, every job leaves a log of its own in the directory."""
    if not case.alone:
        return [str(places.BIN), "run", "-q", "-o", str(log), "--"]
    stores = log.with_name("stores")  # of programs that end without MPI_Finalize
    for place in (log, stores):
        place.mkdir()
        place.chmod(0o1777)
    settings = [f"LD_PRELOAD={places.PRELOAD}", f"IOLENS_LOGPATH={log}", f"IOLENS_TMPDIR={stores}"]
    return ["env", *settings, *(["IOLENS_ENABLE_NONMPI=1"] if case.every else [])]


def programs(log: Path) -> set[str]:
    """The names of the programs that have a process in the log, or a log of their own in the directory."""
    if log.is_dir():
        return {one.name.partition("_")[2].rpartition("_id")[0] for one in log.rglob("*.darshan")}
    found = set()
    for one in log.parent.glob(f"{log.name}*"):
        shown = subprocess.run(
            [str(places.BIN), "show", "--ext", str(one)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        rows = [line.split("\t") for line in shown.stdout.splitlines() if line.startswith("# [process]\t")]
        found |= {Path(row[6]).name for row in rows[1:]}
    return found


def compare_once(case: Case) -> str:
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        results = []
        for observed in (False, True):
            place = Path(folder) / "w"
            place.mkdir()
            log = Path(folder) / "log"
            if case.user:
                log = place / "the.darshan"
            results.append(run_case(case, observing(case, log) if observed else [], place))
            if observed and not (any(log.iterdir()) if case.alone else list(log.parent.glob(f"{log.name}*"))):
                return f"no log: {results[1][2][-300:].decode(errors='replace')}"
            if observed and (lacks := set(case.holds) - programs(log)):
                return f"no process of {', '.join(sorted(lacks))} in the log"
            place.rename(Path(folder) / f"{observed}")
    (code, lines, _), (code2, lines2, _) = results
    lines2 = [line for line in lines2 if line != b"the.darshan"]
    if code != code2:
        return f"exit code {code}, observed {code2}: {results[1][2][-300:].decode(errors='replace')}"
    if lines == lines2:
        return f"equal: {len(lines)} lines, exit code {code}"
    less, more = [x for x in lines if x not in lines2], [x for x in lines2 if x not in lines]
    return f"differs: plain {less[:5]}, observed {more[:5]}"


def main(arguments: list[str]) -> int:
    names = [
        n for n in CASES if not arguments or n in arguments or ("--short" in arguments and CASES[n].short)
    ]
    if "--list" in arguments:
        print("\n".join(CASES))
        return 0
    bad = 0
    for name in names:
        began = time.time()
        lacks = missing(CASES[name])
        if (CASES[name].user or CASES[name].root) and os.geteuid() != 0:
            lacks.append("root")
        verdict = f"skipped: no {', '.join(lacks)}" if lacks else compare(CASES[name])
        bad += not verdict.startswith(("equal", "skipped"))
        print(f"{name:36s} {verdict} ({time.time() - began:.0f} s)", flush=True)
    print(f"{len(names) - bad} of {len(names)} as without iolens")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
