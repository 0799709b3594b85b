"""Programs of another C library or word size in an observed tree: they run as ever, and the log names them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from observed import Observe

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	FILE *made = fopen("made", "w");
	fputs("12345", made);
	puts(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
	return argc > 1 ? atoi(argv[1]) : 6;
}
"""
KINDS = {"musl": (["musl-gcc"], "libc"), "32-bit": (["gcc", "-m32"], "machine")}


@pytest.fixture(params=KINDS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """The program, and the reason that the log gives."""
    compiler, reason = KINDS[request.param]
    (tmp_path / "foreign.c").write_text(SOURCE)
    command = [*compiler, "-o", "foreign", "foreign.c"]
    if not shutil.which(compiler[0]) or subprocess.run(command, cwd=tmp_path, check=False).returncode:
        pytest.skip(f"no {' '.join(compiler)}")
    return tmp_path / "foreign", reason


SPAWN = "import os, sys; sys.exit(os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn{0}, 0)[1]))"
EXEC = "import os; os.exec{0}"
BY = {
    "a shell": ["sh", "-c", "./foreign; exit $?"],
    "exec of a shell": ["sh", "-c", "exec ./foreign"],
    "env": ["env", "./foreign"],
    "a script": ["./script"],
    "posix_spawn": [sys.executable, "-S", "-c", SPAWN.format("('./foreign', ['foreign'], os.environ)")],
    "posix_spawnp": [sys.executable, "-S", "-c", SPAWN.format("p('foreign', ['foreign'], os.environ)")],
    "execv": [sys.executable, "-S", "-c", EXEC.format("v('./foreign', ['foreign'])")],
    "execvp": [sys.executable, "-S", "-c", EXEC.format("vp('foreign', ['foreign'])")],
    "execve": [sys.executable, "-S", "-c", EXEC.format("ve('./foreign', ['foreign'], os.environ)")],
    "fexecve": [
        sys.executable,
        "-S",
        "-c",
        EXEC.format("ve(os.open('foreign', 0), ['foreign'], os.environ)"),
    ],
    "itself": ["./foreign"],
}


def alone(command: list[str], directory: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command, cwd=directory, env={**os.environ, **env}, capture_output=True, check=False, timeout=300
    )


def surroundings(directory: Path) -> Mapping[str, str]:
    (directory / "script").write_text("#!./foreign 6\n")
    (directory / "script").chmod(0o755)
    return {"PATH": f"{directory}:{os.environ['PATH']}"}


@pytest.mark.parametrize("by", BY)
def test_it_runs_under_iolens_run_as_ever(
    observe: Observe, foreign: tuple[Path, str], tmp_path: Path, by: str
) -> None:
    _, reason = foreign
    seen = observe(BY[by], cwd=tmp_path, env=surroundings(tmp_path), options=())
    assert (seen.done.returncode, seen.done.stdout) == (6, b"none\n")
    assert b"ERROR" not in seen.done.stderr and b"Error" not in seen.done.stderr
    assert (tmp_path / "made").read_text() == "12345"
    if by in ("itself", "a script"):
        assert b"was not observed, no log: it " in seen.done.stderr
        return
    (row,) = seen.sections["unobserved"]
    assert row["program"].endswith("foreign") and (row["reason"], row["count"]) == (reason, "1")


@pytest.mark.parametrize("observed", ["", "1"], ids=["not observed", "observed"])
def test_it_runs_below_the_library_alone(
    preload: Path, foreign: tuple[Path, str], tmp_path: Path, observed: str
) -> None:
    other = tmp_path / "other.so"
    settings = {"LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(tmp_path), **surroundings(tmp_path)}
    if observed:
        settings["IOLENS_ENABLE_NONMPI"] = "1"
    for by in ("a shell", "env", "posix_spawnp", "fexecve"):
        done = alone(BY[by], tmp_path, **settings)
        assert (done.returncode, done.stdout, done.stderr) == (6, b"none\n", b"")
    settings["LD_PRELOAD"] = f"{other}:{preload}"
    done = alone(["sh", "-c", "./foreign 2>/dev/null"], tmp_path, **settings)
    assert done.stdout == f"{other}\n".encode()


def test_a_site_names_the_library_by_the_loaders_own_word(
    preload: Path, foreign: tuple[Path, str], tmp_path: Path
) -> None:
    """docs/guide/surroundings.md: where nothing of ours comes before the program."""
    empty = tmp_path / "empty.c"
    empty.write_text("")
    for name in ("lib/x86_64-linux-gnu", "lib/i386-linux-gnu", "lib64", "lib", "lib32"):
        (tmp_path / "site" / name).mkdir(parents=True, exist_ok=True)
    for name in ("lib/x86_64-linux-gnu", "lib64"):
        (tmp_path / "site" / name / "libiolens.so").symlink_to(preload)
    for name in ("lib/i386-linux-gnu", "lib", "lib32"):
        target = tmp_path / "site" / name / "libiolens.so"
        command = ["gcc", "-m32", "-shared", "-nostdlib", "-o", target, empty]
        if subprocess.run(list(map(str, command)), check=False).returncode:
            pytest.skip("no 32-bit compiler")
    value = f"{tmp_path}/site/$LIB/libiolens.so"
    settings = {"LD_PRELOAD": value, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(tmp_path / "log")}
    done = alone(["./foreign"], tmp_path, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (6, f"{value}\n".encode(), b"")
    assert alone(["true"], tmp_path, **settings).stderr == b"" and (tmp_path / "log").exists()
