"""`make module NAME=probe` and one word in meson.build make a module that works.

Its records, totals, operations, heat map, summary line, `show`, `check` and Python table; shared records are reduced.
Done in a scratch copy of the tree, which is built there: this test alone compiles and runs the template of modules.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mpis
import pytest
import shown

ROOMS = ["api", "cli", "format", "modules", "python", "runtime", "tools"]
TOP = ["Makefile", "meson.build", "meson.options", "pyproject.toml", "README.md", "LICENSE"]
# The test is about what is in the log. How fast it is, and the companion in the kernel, are not in question.
QUICKLY = ["-Doptimization=0", "-Ddebug=false", "-Dkernel=disabled", "-Dtests=false"]

# Two objects; every rank gets and puts the same one, and puts one of its own.
PROGRAM = """
#include "library/probe.h"
#include <stdio.h>
#include <string.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
int main(int argc, char **argv)
{
	char own[64], data[4096] = {0};
	int rank = 0;
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
	snprintf(own, sizeof own, "own.%d", rank);
	long moved = probe_put("shared", data, 1000) + probe_put("shared", data, 24) + probe_get("shared", data, 512);
	moved += probe_put(own, data, 4096);
	int refused = probe_get("missing/none", data, 1) + probe_sync("missing/none");
	int synced = probe_sync("shared");
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return moved == 1000 + 24 + 512 + 4096 && refused == -2 && synced == 0 ? 0 : 1;
}
"""


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return str(done.stdout)


@dataclass
class Scratch:
    """A copy of the tree with a module probe, built."""

    tree: Path
    build: Path

    @property
    def iolens(self) -> Path:
        return self.build / "cli" / "iolens"

    def program(self, name: str, compiler: str, *flags: str) -> Path:
        source, program = self.build / f"{name}.c", self.build / name
        source.write_text(PROGRAM)
        include = ["-I", str(self.tree / "modules" / "probe")]
        run(
            compiler,
            *flags,
            *include,
            source,
            "-o",
            program,
            f"-L{self.build}",
            "-lprobe",
            f"-Wl,-rpath,{self.build}",
        )
        return program

    def show(self, log: Path) -> dict[tuple[str, str, int], shown.Row]:
        assert "sound" in run(self.iolens, "check", log)
        return shown.records(run(self.iolens, "show", "--base", log))


@pytest.fixture(scope="module")
def scratch(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    tree = tmp_path_factory.mktemp("tree")
    for name in ROOMS:
        shutil.copytree(root / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in TOP:
        shutil.copy(root / name, tree / name)
    run("make", "-s", "module", "NAME=probe", cwd=tree)
    listed = (tree / "meson.build").read_text()
    (tree / "meson.build").write_text(
        listed.replace("modules = ['posix',", "modules = ['posix', 'probe',", 1)
    )
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env |= {
        "CCACHE_BASEDIR": str(tree),
        "CCACHE_NOHASHDIR": "1",
    }  # where there is one, it knows the next copy, too
    build = tree / "build"
    run("meson", "setup", build, *QUICKLY, cwd=tree, env=env)
    run("ninja", "-C", build, env=env)
    library = tree / "modules" / "probe" / "library" / "probe.c"
    run("cc", "-shared", "-fPIC", "-I", library.parent, library, "-o", build / "libprobe.so")
    return Scratch(tree, build)


def observe(scratch: Scratch, directory: Path, *command: str | Path) -> tuple[Path, str]:
    log = directory / "log.darshan"
    done = subprocess.run(
        [scratch.iolens, "run", "-o", log, "--", *command],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return log, done.stderr


def names(record: shown.Row) -> dict[str, float]:
    return {
        key.removeprefix("PROBE_"): float(value) for key, value in record.items() if key.startswith("PROBE_")
    }


def test_its_records_totals_operations_and_heat_map_are_in_the_log(scratch: Scratch, tmp_path: Path) -> None:
    log, summary = observe(scratch, tmp_path, scratch.program("serial", "cc"))
    records = scratch.show(log)
    shared = names(records["NULL", str(tmp_path / "shared"), 0])
    assert (shared["PUTS"], shared["GETS"], shared["SYNCS"]) == (2, 1, 1)
    assert (shared["BYTES_WRITTEN"], shared["BYTES_READ"]) == (1024, 512)
    assert (shared["MAX_PUT"], shared["MAX_GET"]) == (1000, 512)
    assert (
        shared["F_WRITE_TIME"] > 0
        and shared["F_WRITE_END_TIMESTAMP"] >= shared["F_WRITE_START_TIMESTAMP"] > 0
    )
    assert names(records["NULL", str(tmp_path / "own.0"), 0])["BYTES_WRITTEN"] == 4096
    assert not [name for module, name, _ in records if module == "NULL" and "missing" in name]

    sections = shown.sections(run(scratch.iolens, "show", "--ext", log))
    total = next(row for row in sections["total"] if row["interface"] == "probe")
    assert (total["records"], total["writes"], total["bytes_written"]) == ("2", "3", "5120")
    sync = next(row for row in sections["operation"] if (row["interface"], row["name"]) == ("probe", "sync"))
    assert (sync["count"], sync["errors"]) == ("2", "1")
    heat = next(row for (module, name, _), row in records.items() if name == "heatmap:PROBE")
    assert sum(float(value) for key, value in heat.items() if "WRITE_BIN" in key) == 5120
    assert "probe" in summary


def test_it_can_be_switched_off(scratch: Scratch, tmp_path: Path) -> None:
    log = tmp_path / "log.darshan"
    program = scratch.program("serial", "cc")
    env = {**os.environ, "IOLENS_MOD_DISABLE": "NULL"}
    run(scratch.iolens, "run", "-o", log, "--", program, cwd=tmp_path, env=env)
    assert not [module for module, _, _ in scratch.show(log) if module == "NULL"]


def test_it_is_a_table_in_python(scratch: Scratch, tmp_path: Path) -> None:
    log, _ = observe(scratch, tmp_path, scratch.program("serial", "cc"))
    native = next((scratch.build / "python" / "ext").glob("_native*.so"))
    shutil.copy(native, scratch.tree / "python" / "iolens" / "log")
    script = (
        "import iolens.log, json, pyarrow, sys\n"
        "rows = pyarrow.table(iolens.log.open(sys.argv[1]).table('probe')).to_pylist()\n"
        "print(json.dumps([[r['puts'], r['bytes_written']] for r in rows]))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(scratch.tree / "python")}
    found = json.loads(run(sys.executable, "-c", script, log, env=env))
    assert sorted(found) == [[1, 4096], [2, 1024]]


@pytest.mark.parametrize("family", mpis.FAMILIES)
def test_what_all_ranks_used_is_reduced(scratch: Scratch, tmp_path: Path, family: str) -> None:
    mpi = mpis.MPIS[family]
    mpi.require()
    program = scratch.program(f"parallel-{mpi.name}", mpi.compiler(".c"), "-DWITH_MPI")
    log, _ = observe(scratch, tmp_path, *mpi.launcher(2), program)
    records = scratch.show(log)
    shared = names(records["NULL", str(tmp_path / "shared"), -1])
    assert (shared["PUTS"], shared["BYTES_WRITTEN"], shared["MAX_PUT"]) == (4, 2048, 1000)
    assert {name for module, name, rank in records if module == "NULL" and rank >= 0} == {
        str(tmp_path / "own.0"),
        str(tmp_path / "own.1"),
    }
