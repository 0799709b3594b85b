"""MPI applications of the distribution under iolens: they print and leave the same, and the log says what they wrote.

LAMMPS runs the example `melt` of its package, with every way of writing it has; Quantum ESPRESSO computes silicon.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import shown
from interfaces import LIBC
from mpi_job import Job
from mpis import MPIS

MELT = Path("/usr/share/lammps/examples/melt/in.melt")
SILICON = Path("/usr/share/espresso/pseudo/Si.pz-vbc.UPF")

# One writer, one file per rank, all ranks by MPI-IO.
DUMPS = """
dump 1 all atom 50 dump.one
dump 2 all custom 50 dump.rank.% id type x y z
dump 3 all atom/mpiio 50 dump.together
run 100
write_data data.melt
write_restart restart.one
write_restart restart.together.mpiio
"""
SILICON_INPUT = f"""
&control
  calculation = 'scf', prefix = 'si', pseudo_dir = '{SILICON.parent}/', outdir = 'out/'
/
&system
  ibrav = 2, celldm(1) = 10.20, nat = 2, ntyp = 1, ecutwfc = 12.0
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 {SILICON.name}
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
"""

SNAPSHOTS = 3  # at the steps 250, 300, 350: the example itself has made 250

Sizes = dict[str, int]


@dataclass(frozen=True)
class Application:
    """How it is started, and which numbers of what it prints are measured times."""

    needs: tuple[str, ...]
    command: tuple[str, ...]
    ranks: int
    times: tuple[bytes, ...]
    once: tuple[str, ...]  # files that it writes from the first to the last byte, each byte once

    def prepare(self, place: Path) -> None:
        if self.command[0] == "lmp":
            (place / "in").write_text(MELT.read_text() + DUMPS)
        else:
            (place / "in").write_text(SILICON_INPUT)

    def masked(self, text: bytes) -> bytes:
        for pattern in self.times:
            text = re.sub(pattern, b"(a time)", text, flags=re.MULTILINE)
        return text


APPLICATIONS = {
    "LAMMPS": Application(
        ("lmp", str(MELT)),
        ("lmp", "-in", "in"),
        4,
        (
            rb"^(Loop time of|Performance:|Total wall time:).*",
            rb"^(Pair|Neigh|Comm|Output|Modify|Other) +\|.*",
            rb"^[0-9.]+% CPU use",
            rb"CPU = [0-9.]+ seconds",
        ),
        (
            "dump.one",
            *(f"dump.rank.{rank}" for rank in range(4)),
            "dump.together",
            "data.melt",
            "restart.one",
            "log.lammps",
        ),
    ),
    "Quantum ESPRESSO": Application(
        ("pw.x", str(SILICON)),
        ("pw.x", "-in", "in"),
        2,
        (
            rb"starts on .*",
            rb"This run was terminated on:.*",
            rb"[0-9.]+s CPU +[0-9.]+s WALL",
            rb"cpu time spent up to now is .*",
            rb"<(created|closed) .*",
            rb"<(cpu|wall)>[^<]*<",
        ),
        (
            "out/si.xml",
            "out/si.save/data-file-schema.xml",
            f"out/si.save/{SILICON.name}",
            "out/si.save/wfc1.dat",
            "out/si.save/wfc2.dat",
        ),
    ),
}


@pytest.fixture(params=list(APPLICATIONS))
def application(request: pytest.FixtureRequest) -> Application:
    found: Application = APPLICATIONS[request.param]
    missing = [need for need in found.needs if not (shutil.which(need) or Path(need).exists())]
    if missing or not shutil.which("mpirun.openmpi"):
        pytest.skip(f"{request.param} is not installed: no {', '.join(missing) or 'mpirun.openmpi'}")
    return found


@pytest.fixture
def openmpi_job(iolens: Path, preload: Path, tmp_path: Path) -> Job:
    cwd, stores = tmp_path.resolve() / "cwd", tmp_path.resolve() / "stores"
    stores.mkdir()
    return Job(MPIS["openmpi"], Path, iolens, preload, cwd, stores, {"OMP_NUM_THREADS": "1"})


def run(job: Job, app: Application, way: str) -> tuple[int, bytes, str, dict[str, bytes]]:
    """Exit code, output, errors and files, without the times; always in the same directory."""
    job.cwd.mkdir()
    app.prepare(job.cwd)
    command = [*job.command(app.ranks, app.command[0]), *app.command[1:]]
    ended = job.end(job.start(command)) if way == "plain" else getattr(job, way)(command)
    left = {
        str(path.relative_to(job.cwd)): app.masked(path.read_bytes())
        for path in job.cwd.rglob("*")
        if path.is_file()
    }
    job.cwd.rename(job.cwd.with_name(way))
    return ended.code, app.masked(ended.out.encode()), ended.err, left


def written(job: Job) -> Sizes:
    """Bytes of each file below the working directory, by PyDarshan; MPI-IO's own are POSIX's already."""
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(job.log), read_all=True)
    sizes: Sizes = {}
    for module in set(LIBC) & set(report.records):
        counters = report.records[module].to_df()["counters"]
        for record, size in zip(counters["id"], counters[f"{module}_BYTES_WRITTEN"]):
            name = Path(report.name_records[record])
            if job.cwd in name.parents:
                inside = str(name.relative_to(job.cwd))
                sizes[inside] = sizes.get(inside, 0) + int(size)
    return sizes


@pytest.mark.parametrize("way", ["session", "alone"])
def test_an_application_is_not_changed_and_its_files_are_counted(
    openmpi_job: Job, application: Application, way: str
) -> None:
    job = openmpi_job
    plain = run(job, application, "plain")
    observed = run(job, application, way)
    assert plain[0] == observed[0] == 0, observed[2]
    assert plain[1:3] == observed[1:3]
    assert plain[3].keys() == observed[3].keys()
    assert [name for name in plain[3] if plain[3][name] != observed[3][name]] == []
    assert not job.kept()

    counted = written(job)
    left = job.cwd.with_name(way)
    assert {name: counted[name] for name in application.once} == {
        name: (left / name).stat().st_size for name in application.once
    }
    assert f"# nprocs: {application.ranks}\n" in job.show()
    ranks = sorted(int(row["rank"]) for row in job.processes() if row["exe"].endswith(application.command[0]))
    assert ranks == list(range(application.ranks))


def test_lammps_ranks_write_together_by_mpi_io(openmpi_job: Job) -> None:
    app = APPLICATIONS["LAMMPS"]
    if not (shutil.which("lmp") and MELT.exists() and shutil.which("mpirun.openmpi")):
        pytest.skip("LAMMPS is not installed")
    job = openmpi_job
    assert run(job, app, "alone")[0] == 0
    size = (job.cwd.with_name("alone") / "dump.together").stat().st_size
    record = shown.records(job.show())["MPI-IO", str(job.cwd / "dump.together"), -1]
    assert int(record["MPIIO_BYTES_WRITTEN"]) == size
    assert int(record["MPIIO_COLL_WRITES"]) == SNAPSHOTS * app.ranks
