"""MPI programs with known calls, under every MPI that is here; the TOML of a test's name says what is counted of them.

    [run]       program     its source (default: the test's name), arguments
                ranks       numbers of processes
                mpi         the MPIs it is for (default: all)
    [call.X]    count, bytes and size classes of a call that Darshan's record has counters for, summed over the ranks;
                numbers, or expressions in n, the number of ranks, or "ignore". What is not listed is 0.
    [other.x]   count and bytes of the trailer's rows of another call

A call that is not named must not have been counted.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import places
import pytest
import shown
from mpi_job import Job, Programs
from mpis import FAMILIES, MPI, MPIS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent / "programs"
EXPECTED = {path.stem: tomllib.loads(path.read_text()) for path in sorted(HERE.glob("*.toml"))}
CLASSES = "0_256 256_1K 1K_8K 8K_256K 256K_1M 1M_PLUS".split()

Counters = dict[str, float]


def source_of(name: str) -> Path:
    return next(iter(HERE.glob(f"{EXPECTED[name]['run'].get('program', name)}.[cf]*")))


def ranks_under(mpi: MPI, name: str) -> list[int]:
    run = EXPECTED[name]["run"]
    there = source_of(name).suffix == ".c" or mpi.name in FAMILIES
    return run["ranks"] if there and mpi.name in run.get("mpi", [mpi.name]) else []


RUNS = [
    pytest.param(mpi, name, n, id=f"{name}-{mpi.name}-{n}")
    for name in EXPECTED
    for mpi in MPIS.values()
    for n in ranks_under(mpi, name)
]


@pytest.fixture(scope="session")
def communication(preload: Path) -> Path:
    """The library that counts communication, too."""
    return Path(preload).resolve().with_name("libiolens-communication.so")


@pytest.fixture(scope="session")
def programs_of_mpi(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(HERE, tmp_path_factory.mktemp)


@pytest.fixture
def job_of(
    programs_of_mpi: Programs, iolens: Path, communication: Path, tmp_path: Path
) -> Callable[[MPI], Job]:
    return programs_of_mpi.jobs(iolens, communication, tmp_path)


@dataclass
class Counted:
    """What a log says of communication."""

    ranks: dict[int, Counters]  # of the record, without MPI_
    variance: float
    others: dict[str, Counters]  # of the trailer, summed over the ranks
    sections: dict[str, list[shown.Row]]

    def total(self, counter: str) -> float:
        return sum(rank[counter] for rank in self.ranks.values())


def read(job: Job) -> Counted:
    text = job.show()
    ranks: dict[int, Counters] = defaultdict(dict)
    variance = -1.0
    for line in text.splitlines():
        cells = line.split("\t")
        if cells[0] != "APMPI":
            continue
        if cells[3] == "MPI_TOTAL_COMM_TIME_VARIANCE":
            variance = float(cells[4])
        elif cells[3] != "MPI_PROCESSOR_NAME":
            ranks[int(cells[1])][cells[3].removeprefix("MPI_")] = float(cells[4])
    others: dict[str, Counters] = defaultdict(lambda: defaultdict(float))
    sections = shown.sections(text)
    for row in sections.get("communication", []):
        for what in ("count", "bytes", "time"):
            others[row["call"]][what] += float(row[what])
    return Counted(ranks, variance, dict(others), sections)


def number(value: int | str, n: int) -> float:
    return float(eval(value, {"n": n})) if isinstance(value, str) else float(value)


def wanted_counters(expected: dict[str, Any], n: int) -> Counters:
    wanted: Counters = {}
    for call, row in expected.get("call", {}).items():
        if row["count"] != "ignore":
            wanted[f"{call}_CALL_COUNT"] = number(row["count"], n)
        if "bytes" in row:
            wanted[f"{call}_TOTAL_BYTES"] = number(row["bytes"], n)
        for name, size in zip(CLASSES, row.get("size", [])):
            wanted[f"{call}_MSG_SIZE_AGG_{name}"] = number(size, n)
    return wanted


def wrong_counters(found: Counted, expected: dict[str, Any], n: int) -> list[str]:
    wanted = wanted_counters(expected, n)
    ignored = {call for call, row in expected.get("call", {}).items() if row["count"] == "ignore"}
    wrong = []
    for counter in next(iter(found.ranks.values())):
        if re.search("_(TOTAL|MIN|MAX|COMM|SYNC)_TIME$", counter) or counter.split("_CALL")[0] in ignored:
            continue
        if found.total(counter) != wanted.get(counter, 0):
            wrong.append(f"{counter}: {found.total(counter)}, not {wanted.get(counter, 0)}")
    return wrong


def wrong_others(found: Counted, expected: dict[str, Any], n: int) -> list[str]:
    wanted = {
        call: (number(row["count"], n), number(row.get("bytes", 0), n))
        for call, row in expected.get("other", {}).items()
    }
    there = {call: (row["count"], row["bytes"]) for call, row in found.others.items()}
    return [
        f"{call}: {there.get(call)}, not {wanted.get(call)}"
        for call in sorted(wanted.keys() | there)
        if there.get(call) != wanted.get(call)
    ]


def wrong_times(found: Counted, expected: dict[str, Any]) -> list[str]:
    """Each call's times agree with each other, and with the total."""
    wrong = []
    untimed = {call for call, row in expected.get("call", {}).items() if row.get("time") == 0}
    for rank, counters in found.ranks.items():
        total = 0.0
        for name, calls in counters.items():
            if not name.endswith("_CALL_COUNT"):
                continue
            call = name.removesuffix("_CALL_COUNT")
            time, least, most = (counters[f"{call}_{what}_TIME"] for what in ("TOTAL", "MIN", "MAX"))
            total += time
            if calls == 0 and (time or least or most):
                wrong.append(f"{rank} {call}: time without calls")
            if call in untimed and time:
                wrong.append(f"{rank} {call}: {time} s of waiting for files")
            if not least <= most <= time * 1.01 + 1e-6:
                wrong.append(f"{rank} {call}: {least} {most} {time}")
        other = sum(
            float(r["time"]) for r in found.sections.get("communication", []) if r["rank"] == str(rank)
        )
        if abs(counters["TOTAL_COMM_TIME"] - total - other) > 0.01 * (total + other) + 1e-4:
            wrong.append(f"{rank}: in all {counters['TOTAL_COMM_TIME']}, not {total} and {other}")
    return wrong


@pytest.mark.parametrize(("mpi", "name", "n"), RUNS)
def test_calls_are_counted(mpi: MPI, name: str, n: int, job_of: Callable[[MPI], Job]) -> None:
    job, expected = job_of(mpi), EXPECTED[name]
    run = expected["run"]
    ended = job.alone(job.command(n, run.get("program", name), *run.get("arguments", [])))
    assert ended.code == 0, ended.err
    found = read(job)
    assert sorted(found.ranks) == list(range(n))
    wrong = (
        wrong_counters(found, expected, n) + wrong_others(found, expected, n) + wrong_times(found, expected)
    )
    assert not wrong, "\n".join(wrong)
    times = [rank["TOTAL_COMM_TIME"] for rank in found.ranks.values()]
    mean = sum(times) / n
    assert found.variance == pytest.approx(sum((t - mean) ** 2 for t in times) / n, rel=0.02, abs=2e-6)


@pytest.fixture(params=FAMILIES)
def job(request: pytest.FixtureRequest, job_of: Callable[[MPI], Job]) -> Job:
    return job_of(MPIS[request.param])


def test_a_session_counts_when_asked(job: Job, run_iolens: Callable[..., Any]) -> None:
    for options, counted in (([], False), (["--mpi-communication"], True)):
        job.log.unlink(missing_ok=True)
        command = ["run", "--quiet", *options, "-o", job.log, "--", *job.command(2, "persistent")]
        env = {**job.which.environment, "IOLENS_TMPDIR": str(job.stores)}
        done = run_iolens(command, cwd=job.cwd, env=env)
        assert done.returncode == 0, done.stderr
        assert bool(read(job).ranks) is counted


IMBALANCE = {"BCAST": 4, "ALLREDUCE": 4, "IALLREDUCE": 4, "ALLGATHER": 4, "ALLTOALL": 4, "BARRIER": 0}


@pytest.mark.parametrize("asked", [True, False])
def test_who_waits_for_a_late_rank(job: Job, run_iolens: Callable[..., Any], asked: bool) -> None:
    """Rank 1 is 0.3 s late. Ranks meet before calls that block, in intracommunicators of several ranks alone."""
    option = "--mpi-communication=sync" if asked else "--mpi-communication"
    command = ["run", "--quiet", option, "-o", job.log, "--", *job.command(4, "imbalance")]
    env = {**job.which.environment, "IOLENS_TMPDIR": str(job.stores)}
    done = run_iolens(command, cwd=job.cwd, env=env)
    assert done.returncode == 0, done.stderr
    found = read(job)
    assert {call: found.total(f"{call}_CALL_COUNT") for call in IMBALANCE} == IMBALANCE
    others = [counters for rank, counters in found.ranks.items() if rank != 1]
    for call in ("BCAST", "ALLREDUCE"):
        waited = sum(counters.get(f"{call}_TOTAL_SYNC_TIME", 0) for counters in others)
        called = sum(counters[f"{call}_TOTAL_TIME"] for counters in others)
        assert (waited > 0.3 > called) if asked else (waited == 0 and called > 0.3)
    for counters in found.ranks.values():
        waits = {name: value for name, value in counters.items() if name.endswith("_TOTAL_SYNC_TIME")}
        assert {name for name, value in waits.items() if value > 0} == (
            {"BCAST_TOTAL_SYNC_TIME", "ALLREDUCE_TOTAL_SYNC_TIME"} if asked else set()
        )
        if asked:
            assert counters["TOTAL_COMM_SYNC_TIME"] == pytest.approx(sum(waits.values()), rel=0.01)
    (row,) = json.loads(
        run_iolens(
            ["sql", "--format", "json", job.log, "select waiting, time from metric.communication"]
        ).stdout
    )
    assert (row["waiting"] > 0.15) if asked else (row["waiting"] == 0)


def test_darshans_setting_asks_for_it_and_takes_it_away(job: Job) -> None:
    assert job.session(job.command(2, "persistent"), DARSHAN_MOD_ENABLE="APMPI").code == 0
    assert read(job).total("WAITALL_CALL_COUNT") == 6
    job.log.unlink()
    assert job.alone(job.command(2, "persistent"), IOLENS_MOD_DISABLE="APMPI").code == 0
    assert not read(job).ranks


def test_what_was_counted_stays_when_a_rank_is_killed(job: Job) -> None:
    job.alone(job.command(3, "killed"))
    job.recover()
    found = read(job)
    assert {rank["ALLREDUCE_CALL_COUNT"] for rank in found.ranks.values()} == {100}
    assert sorted(found.ranks) == [0, 1, 2]


def test_the_oracle_reads_what_show_says(job: Job, oracle: ModuleType) -> None:
    assert job.alone(job.command(4, "messages")).code == 0
    lines = [line for line in job.show().splitlines() if line.startswith("APMPI")]
    command = [sys.executable, oracle.__file__, str(job.log)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line for line in said.splitlines() if line.startswith("APMPI")] == lines


LAYERS = places.CORPUS.parent / "layers"


def reference_counters(mpi: str) -> dict[tuple[int, str], str]:
    """What Darshan counted of the same program, but for times."""
    with gzip.open(LAYERS / "expected" / f"apmpi_p2p.{mpi}.counters.txt.gz", "rt") as text:
        rows = [line.split("\t") for line in text if line.startswith("APMPI")]
    return {(int(row[1]), row[3].removeprefix("MPI_")): row[4] for row in rows if "TIME" not in row[3]}


@pytest.mark.skipif(not LAYERS.is_dir(), reason="no runs of Darshan to compare with")
def test_counts_are_darshans(job: Job, tmp_path: Path) -> None:
    program = tmp_path / "apmpi_p2p"
    source = LAYERS / "programs" / "apmpi_p2p.c"
    subprocess.run([job.which.compiler(".c"), "-O1", source, "-o", program], check=True)
    assert job.alone([*job.which.launcher(4), str(program)]).code == 0
    found = read(job)
    wanted = reference_counters(job.which.name)
    counted = {key: float(value) for key, value in wanted.items() if key[1] != "PROCESSOR_NAME"}
    assert len(counted) == 4 * 396
    assert {key: found.ranks[key[0]][key[1]] for key in counted} == counted
    assert {call: row["count"] for call, row in found.others.items()} == {
        "send_init": 4,
        "recv_init": 4,
        "startall": 12,
    }


def symbols(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    )
    return {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}


# What of communication is left alone: no call of it ends an MPI, none tells a program that there is an MPI.
PROBES = {
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Get_version",
    "MPI_Get_library_version",
    "MPI_Abi_get_version",
}


def test_only_the_library_for_it_has_the_names(preload: Path, communication: Path) -> None:
    plain, counting = symbols(preload), symbols(communication)
    assert plain < counting
    more = counting - plain
    assert {name for name in more if not re.fullmatch(r"P?MPI_[A-Z]\w+", name)} == set()
    assert {f"P{name}" for name in more if name.startswith("MPI_")} == {n for n in more if n.startswith("P")}
    assert not counting & (PROBES | {f"P{name}" for name in PROBES})
    assert not plain & {"MPI_Send", "MPI_Barrier", "MPI_Put", "MPI_Start"}


# Of MPI 4, and answered for where there is none: the work of the 32-bit function, or an error.
OF_MPI_4 = re.compile(r"P?MPI_(\w+_c|\w+_init|P(ready|arrived)\w*|Isendrecv\w*|Session_\w+)")


@pytest.mark.parametrize("mpi", MPIS.values(), ids=list(MPIS))
def test_every_name_is_one_of_the_mpi(communication: Path, mpi: MPI) -> None:
    ours = {name for name in symbols(communication) if re.match(r"P?MPI_[A-Z]+[a-z]", name)}
    absent = ours - symbols(mpi.library())
    assert {name for name in absent if not OF_MPI_4.fullmatch(name)} == set()
