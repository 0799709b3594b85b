"""MPI programs with known calls, under every MPI that is here; the TOML of a test's name says what the
log must hold.

    [run]       program     its source (default: the test's name), arguments
                ranks       numbers of processes (default: 1, 2, 4)
                mpi         the MPIs it is for (default: all)
                below       a library between it and the MPI
                threads     several at once: times leave out what a later operation's end covers
    [record.name]           MPI-IO counters without prefix, summed over the ranks; what is not listed is 0.
                Numbers, or expressions in n, the number of ranks. `{rank}` in a name: one record per rank.
                WORLD_OPENS are collective opens, but independent ones where one process is the world.
    [operation.x]           fields of the trailer's rows of interface mpiio
    [completion.kind_direction]  those of its table of second halves, where they are not what the first ones say

A record that is not named must not be there. What counters and trailer say twice must agree.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mpis import FAMILIES, MPI, MPIS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent / "programs"
FLAGS = ["-O1", "-g", "-lpthread"]
CLASSES = "0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M 100M_1G 1G_PLUS".split()
KINDS = {"INDEP": "independent", "COLL": "collective", "SPLIT": "split", "NB": "nonblocking"}
READ_WRITE_CREATE = 9

Counters = dict[str, float]


@dataclass
class Expectation:
    """One TOML file."""

    name: str
    run: dict[str, Any] = field(default_factory=dict)
    record: dict[str, dict[str, Any]] = field(default_factory=dict)
    operation: dict[str, dict[str, Any]] = field(default_factory=dict)
    completion: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        program = self.run.get("program", self.name)
        return next(
            path for suffix in (".c", ".f90", ".py") for path in [HERE / (program + suffix)] if path.exists()
        )

    def records(self, n: int) -> dict[str, dict[str, Any]]:
        """What each record must hold, in numbers."""
        found = {}
        for name, listed in self.record.items():
            values = {key: number(value, n) for key, value in {"MODE": READ_WRITE_CREATE, **listed}.items()}
            world = values.pop("WORLD_OPENS", 0)
            opens = "COLL_OPENS" if n > 1 else "INDEP_OPENS"
            values[opens] = values.get(opens, 0) + world
            for rank in range(n if "{rank}" in name else 1):
                found[name.replace("{rank}", str(rank))] = values
        return found


def number(value: int | str, n: int) -> int | str:
    return eval(value, {"n": n}) if isinstance(value, str) and value != "ignore" else value


def numbers(listed: dict[str, dict[str, Any]], n: int) -> dict[str, Any]:
    return {name: {key: number(value, n) for key, value in row.items()} for name, row in listed.items()}


def load(name: str) -> Expectation:
    return Expectation(name, **tomllib.loads((HERE / f"{name}.toml").read_text()))


EXPECTATIONS = [load(path.stem) for path in sorted(HERE.glob("*.toml"))]


# What Intel MPI 2021.19 does not do without iolens either; through the standard ABI it does not heed error handlers of
# files, and some reads read nothing.
SHORT = {"short_reads", "short_writes"}
CANNOT = {
    "intel": SHORT,
    "intel-abi": {
        *SHORT,
        *("failed_accesses", "failed_messages", "file_operations", "large_counts", "nonblocking", "split"),
        *("ior_shared_strided", "ior_shared_strided_independent"),
    },
}


REPRESENTATIVE = {
    *("collective", "failed_requests", "file_operations", "independent", "large_counts"),
    *("nonblocking", "other_ends", "shared_pointer", "split", "views"),
}


def ranks_under(mpi: MPI, expected: Expectation) -> list[int]:
    """All programs and numbers of ranks for each ABI, some of them at one number for another release of a library."""
    ranks: list[int] = expected.run.get("ranks", [1, 2, 4])
    if mpi.family not in expected.run.get("mpi", [mpi.family]) or expected.name in CANNOT.get(mpi.name, ()):
        return []
    if mpi.name in FAMILIES:
        return ranks
    if expected.source.suffix != ".c":
        return []
    if mpi.name == "abi":
        return ranks
    return ranks[1:2] or ranks if expected.name in REPRESENTATIVE or mpi.name in CANNOT else []


RUNS = [
    pytest.param(mpi, expected, n, id=f"{expected.name}-{mpi.name}-{n}")
    for expected in EXPECTATIONS
    for mpi in MPIS.values()
    for n in ranks_under(mpi, expected)
]
DEBIANS = [pytest.param(MPIS[name], id=name) for name in FAMILIES]
ALL = [pytest.param(mpi, id=name) for name, mpi in MPIS.items()]


# ---------------------------------------------------------------- the log


@dataclass
class Log:
    """What `iolens show` says."""

    records: dict[str, list[Counters]]
    ids: dict[tuple[str, str], str]
    heat: Counters
    sections: dict[str, list[dict[str, str]]]

    def rows(self, section: str, **keys: str) -> list[dict[str, str]]:
        rows = self.sections.get(section, [])
        return [row for row in rows if all(row[key] == value for key, value in keys.items())]

    def total(self, section: str, what: str, **keys: str) -> float:
        return sum(float(row[what]) for row in self.rows(section, **keys))


def read_log(iolens: Path, path: Path, cwd: Path) -> Log:
    command: list[str | Path] = [iolens, "show", "--base", "--ext", path]
    shown = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    records: dict[tuple[str, str], Counters] = defaultdict(dict)
    log = Log(defaultdict(list), {}, defaultdict(float), defaultdict(list))
    fields: dict[str, list[str]] = {}
    for line in shown.splitlines():
        cells = line.split("\t")
        if line.startswith("# [") and cells[0] in fields:
            log.sections[cells[0][3:-1]].append(dict(zip(fields[cells[0]], cells[1:])))
        elif line.startswith("# ["):
            fields[cells[0]] = [cell.split(" (")[0] for cell in cells[1:]]
        elif line and line[0] != "#":
            module, rank, record, counter, value, name = cells[:6]
            log.ids[module, name.removeprefix(f"{cwd}/")] = record
            if module == "MPI-IO":
                records[name.removeprefix(f"{cwd}/"), rank][counter.removeprefix("MPIIO_")] = float(value)
            elif name == "heatmap:MPIIO" and "_BIN_" in counter:
                log.heat[re.sub("HEATMAP_|_BIN.*", "", counter)] += float(value)
    for (name, _), counters in records.items():
        log.records[name].append(counters)
    return log


def add_up(records: list[Counters]) -> Counters:
    """The ranks' records of one file as one: also when the log holds them merged already."""
    total = {key: sum(r[key] for r in records) for key in records[0]}
    total["MODE"] = records[-1]["MODE"]
    counts: dict[float, float] = defaultdict(float)
    for r in records:
        for i in range(1, 5):
            counts[r[f"ACCESS{i}_ACCESS"]] += r[f"ACCESS{i}_COUNT"]
    counts.pop(0, None)
    order = [*sorted(counts, key=lambda v: (counts[v], v), reverse=True), 0, 0, 0, 0]
    for i in range(1, 5):
        total[f"ACCESS{i}_ACCESS"] = order[i - 1]
        total[f"ACCESS{i}_COUNT"] = counts.get(order[i - 1], 0)
    return total


# ---------------------------------------------------------------- checks: each yields what is wrong


def check_counters(wanted: dict[str, Any], found: Counters) -> Iterator[str]:
    for name in wanted.keys() - found.keys():
        yield f"{name} is no counter"
    for name, value in found.items():
        free = name.startswith("F_") or re.fullmatch("MAX_.*_TIME_SIZE|(FASTEST|SLOWEST)_.*", name)
        expected = wanted.get(name, "ignore" if free else 0)
        if expected not in ("ignore", value):
            yield f"{name} is {value:.0f}, not {expected}"


def check_times(r: Counters, threads: bool) -> Iterator[str]:
    for kind, of in {"READ": "BYTES_READ", "WRITE": "BYTES_WRITTEN"}.items():
        calls = sum(r[f"{way}_{kind}S"] for way in KINDS)
        first, last = r[f"F_{kind}_START_TIMESTAMP"], r[f"F_{kind}_END_TIMESTAMP"]
        time, longest = r[f"F_{kind}_TIME"], r[f"F_MAX_{kind}_TIME"]
        if (first > 0) != (calls > 0) or (longest > 0) != (calls > 0):
            yield f"{calls:.0f} {kind}S, the first at {first}, the longest {longest}"
        if first > last or (longest > time + 1e-5 and not threads):
            yield f"{kind}: {first} .. {last}, {time} s, the longest {longest}"
        if not calls and not (kind == "WRITE" and r["SYNCS"]) and time:
            yield f"no {kind}S, F_{kind}_TIME {time}"
        if not 0 <= r[f"MAX_{kind}_TIME_SIZE"] <= r[of]:
            yield f"MAX_{kind}_TIME_SIZE is {r[f'MAX_{kind}_TIME_SIZE']}"
    if not 0 < r["F_OPEN_START_TIMESTAMP"] <= r["F_OPEN_END_TIMESTAMP"] <= r["F_CLOSE_END_TIMESTAMP"]:
        yield "opens and closes are not in order"
    if r["F_META_TIME"] <= 0:
        yield "F_META_TIME is 0"


def check_sizes(log: Log, total: Counters) -> Iterator[str]:
    """The trailer's accesses by kind and by size, and the heat map, against the records."""
    for direction, of in {"read": "BYTES_READ", "write": "BYTES_WRITTEN"}.items():
        upper = direction.upper()
        for prefix, kind in KINDS.items():
            counted = log.total("mpiio_sizes", "count", kind=kind, direction=direction)
            if counted != total[f"{prefix}_{upper}S"]:
                yield f"mpiio_sizes: {kind} {direction}: {counted:.0f}"
        for size in CLASSES:
            counted = log.total("mpiio_sizes", "count", size=size, direction=direction)
            if counted != total[f"SIZE_{upper}_AGG_{size}"]:
                yield f"mpiio_sizes: {direction} {size}: {counted:.0f}"
        if log.total("mpiio_sizes", "bytes", direction=direction) != total[of]:
            yield f"mpiio_sizes: {direction} bytes are not {total[of]:.0f}"
        calls = sum(total[f"{prefix}_{upper}S"] for prefix in KINDS)
        if abs(log.heat[upper] - total[of]) > calls:
            yield f"heat map: {direction} {log.heat[upper]:.0f}, not {total[of]:.0f}"


def check_completions(log: Log, listed: dict[str, Counters]) -> Iterator[str]:
    for direction in ("read", "write"):
        for kind in KINDS.values():
            which = {"kind": kind, "direction": direction}
            wanted = {"count": 0.0, "errors": 0.0, "bytes": 0.0}
            if kind in ("split", "nonblocking"):
                wanted.update({what: log.total("mpiio_sizes", what, **which) for what in ("count", "bytes")})
            wanted.update(listed.get(f"{kind}_{direction}", {}))
            found = {what: log.total("mpiio_completions", what, **which) for what in wanted}
            if found != wanted:
                yield f"mpiio_completions: {kind} {direction}: {found}, not {wanted}"
    for row in log.rows("mpiio_completions"):
        if not 0 < float(row["wait_time"]) <= float(row["span_time"]):
            yield f"mpiio_completions: {row}"


def check_operations(log: Log, total: Counters, listed: dict[str, Counters]) -> Iterator[str]:
    opens = total["COLL_OPENS"] + total["INDEP_OPENS"]
    counts = {"open": opens, "close": opens, "sync": total["SYNCS"], "set_view": total["VIEWS"]}
    wanted = {name: {"count": count, **listed.get(name, {})} for name, count in counts.items()}
    wanted = {**listed, **wanted}
    wanted["open"]["count"] += wanted["open"].get("errors", 0)
    for name in {row["name"] for row in log.rows("operation", interface="mpiio")} | wanted.keys():
        for what in ("count", "errors", "bytes"):
            found = log.total("operation", what, interface="mpiio", name=name)
            if found != wanted.get(name, {}).get(what, 0):
                yield f"operation {name}: {what} {found:.0f}, not {wanted.get(name)}"


def check(log: Log, expected: Expectation, n: int) -> Iterator[str]:
    records = expected.records(n)
    threads = expected.run.get("threads", False)
    for name in log.records.keys() ^ records.keys():
        yield f"{name}: {'no record' if name in records else 'there should be no record'}"
    for name in log.records.keys() & records.keys():
        found = log.records[name]
        times = (wrong for record in found for wrong in check_times(record, threads))
        for wrong in (*check_counters(records[name], add_up(found)), *times):
            yield f"{name}: {wrong}"
        if log.ids["MPI-IO", name] != log.ids.get(("POSIX", name)):
            yield f"{name}: not the id of its POSIX record"
    total = add_up([r for records in log.records.values() for r in records])
    yield from check_sizes(log, total)
    yield from check_completions(log, numbers(expected.completion, n))
    yield from check_operations(log, total, numbers(expected.operation, n))


# ---------------------------------------------------------------- programs


@dataclass
class Bench:
    """Where programs are built and run."""

    iolens: Path
    built: Path
    cwd: Path

    def command(self, mpi: MPI, source: Path, below: str = "") -> list[str]:
        """What a source is as a command; `below` = a library that stands between it and the MPI."""
        mpi.require()
        if source.suffix == ".py":
            return [python_for(mpi, "h5py" if "h5py" in source.stem else "mpi4py"), str(source)]
        program = self.built / f"{source.stem}.{mpi.name}"
        if not program.exists():
            flags = [*FLAGS] if source.suffix == ".c" else []
            if below:
                library = str(self.built / f"{below}.{mpi.name}.so")
                make = [mpi.compiler(".c"), "-shared", "-fPIC", "-o", library, str(HERE / f"{below}.c")]
                subprocess.run(make, cwd=self.built, check=True)
                flags += ["-Wl,--no-as-needed", library]
            make = [mpi.compiler(source.suffix), "-o", str(program), str(source), *flags]
            made = subprocess.run(make, cwd=self.built, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stderr
        return [str(program)]

    def observe(self, mpi: MPI, n: int, command: list[str], **environment: str) -> Log:
        log = self.cwd.parent / "program.darshan"
        observed = [self.iolens, "run", "--quiet", "-o", log, "--", *mpi.launcher(n), *command]
        started = subprocess.Popen(
            observed,
            cwd=self.cwd,
            env={**os.environ, **mpi.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = started.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            raise
        assert started.returncode == 0, said
        return read_log(self.iolens, log, self.cwd)


def python_for(mpi: MPI, package: str) -> str:
    """The system's Python, whose mpi4py and h5py are made for one MPI."""
    asks = {
        "mpi4py": "from mpi4py import MPI; print(MPI.Get_library_version())",
        "h5py": "import h5py; assert h5py.get_config().mpi",
    }
    asked = subprocess.run(
        ["/usr/bin/python3", "-c", f"{asks['mpi4py']}; {asks[package]}"],
        env={**os.environ, "H5PY_ALWAYS_USE_MPI": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode or mpi.name not in asked.stdout.lower().replace(" ", ""):
        pytest.skip(f"no {package} of the system for {mpi.name}")
    return "/usr/bin/python3"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


@pytest.fixture
def bench(iolens: Path, built: Path, tmp_path: Path) -> Bench:
    cwd = tmp_path.resolve() / "cwd"
    cwd.mkdir()
    return Bench(iolens, built, cwd)


@pytest.mark.parametrize(("mpi", "expected", "n"), RUNS)
def test_program(bench: Bench, mpi: MPI, expected: Expectation, n: int) -> None:
    command = bench.command(mpi, expected.source, expected.run.get("below", ""))
    command += expected.run.get("arguments", [])
    log = bench.observe(mpi, n, command)
    wrong = list(check(log, expected, n))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("mpi", ALL)
def test_an_installation_below_a_name_with_blanks(
    bench: Bench, mpi: MPI, preload: Path, tmp_path: Path
) -> None:
    """LD_PRELOAD cannot have such a name, the session preloads a link: the backends lie beside what that leads to."""
    place = tmp_path / "with blanks"
    place.mkdir()
    for library in preload.resolve().parent.glob("*.so"):
        shutil.copy(library, place)
    expected = load("collective")
    log = bench.observe(mpi, 2, bench.command(mpi, expected.source), IOLENS_PRELOAD=str(place / preload.name))
    wrong = list(check(log, expected, 2))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("mpi", ALL)
def test_mpi4py_from_the_package_index(bench: Bench, mpi: MPI, tmp_path: Path) -> None:
    """It loads the MPI itself, out of the global scope, and probes for functions that this MPI may lack."""
    found = importlib.util.find_spec("mpi4py")
    abi = "mpiabi" if mpi.name == "abi" else mpi.family
    if not found or not list(Path(found.origin or "").parent.glob(f"MPI.{abi}.*")):
        pytest.skip(f"no mpi4py for {abi} in this environment")
    library = mpi.library()
    if mpi.name == "mpich":  # Debian has another name for what such wheels look for
        (tmp_path / "libmpi.so.12").symlink_to(library)
        library = tmp_path / "libmpi.so.12"
    places = {"LD_LIBRARY_PATH": str(library.parent), "MPI4PY_MPIABI": abi, "MPI4PY_LIBMPI": str(library)}
    expected = load("python_mpi4py")
    log = bench.observe(mpi, 2, [sys.executable, str(expected.source)], **places)
    wrong = list(check(log, expected, 2))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("mpi", DEBIANS)
@pytest.mark.parametrize("n", [1, 4])
def test_hdf5_in_parallel(bench: Bench, mpi: MPI, n: int) -> None:
    """How HDF5 goes about it is its business: the rows go through MPI-IO, once."""
    log = bench.observe(mpi, n, bench.command(mpi, HERE / "python_h5py.py"))
    assert list(log.records) == ["shared.h5"]
    total = add_up(log.records["shared.h5"])
    assert total["COLL_OPENS" if n > 1 else "INDEP_OPENS"] == 2 * n
    assert 8192 * n <= total["BYTES_WRITTEN"] <= 8192 * n + 65536
    assert total["BYTES_READ"] >= 8192 * n
    assert total["COLL_WRITES"] >= n
    assert not [*check_sizes(log, total), *check_completions(log, {})]


def data_lines(lines: Iterable[str]) -> list[str]:
    return sorted(line.rstrip() for line in lines if line.startswith("MPI-IO\t"))


@pytest.mark.parametrize("mpi", DEBIANS)
def test_other_readers_agree(bench: Bench, mpi: MPI, oracle: ModuleType) -> None:
    """The independent decoder and PyDarshan read the numbers that `iolens show` prints."""
    darshan = pytest.importorskip("darshan")
    log = bench.observe(mpi, 2, bench.command(mpi, HERE / "nonblocking.c"))
    path = bench.cwd.parent / "program.darshan"
    shown = subprocess.run([bench.iolens, "show", "--base", path], capture_output=True, text=True, check=True)
    assert data_lines(shown.stdout.splitlines()) == data_lines(oracle.parser_lines(oracle.Log(str(path))))
    with darshan.DarshanReport(str(path), read_all=True) as report:
        frames = report.records["MPI-IO"].to_df()
    shared = add_up(log.records["shared"])
    for name in ("NB_READS", "NB_WRITES", "BYTES_READ", "SIZE_READ_AGG_100_1K", "COLL_OPENS"):
        assert frames["counters"][f"MPIIO_{name}"].sum() == shared[name]
    assert frames["fcounters"]["MPIIO_F_READ_TIME"].sum() == pytest.approx(shared["F_READ_TIME"], abs=1e-5)


def test_every_source_has_an_expectation() -> None:
    sources = {path for path in HERE.iterdir() if path.suffix in (".c", ".f90", ".py")}
    below = {HERE / f"{expected.run['below']}.c" for expected in EXPECTATIONS if "below" in expected.run}
    assert sources == {expected.source for expected in EXPECTATIONS} | below
