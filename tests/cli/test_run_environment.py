"""`iolens run` in unusual surroundings: odd paths, other preloads, limits, programs it cannot observe."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from observed import Observe, Observed

NOBODY = 65534


def compile_c(source: str, out: Path, *options: str) -> Path:
    made = subprocess.run(
        ["cc", "-x", "c", "-", "-o", out, *options], input=source, text=True, capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cc {' '.join(options)}: {made.stderr.splitlines()[-1]}")
    return out


# ---------------------------------------------------------------- where iolens lies


@pytest.mark.parametrize("name", ["with blank", "with:colon", "with;semicolon", "with$ORIGIN", "with'quote"])
def test_an_installation_below_any_name(iolens: Path, preload: Path, tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    (home / "bin").mkdir(parents=True)
    (home / "lib" / "iolens").mkdir(parents=True)
    shutil.copy(iolens, home / "bin" / "iolens")
    shutil.copy(preload, home / "lib" / "iolens" / "libiolens.so")
    seen = Observe(home / "bin" / "iolens", tmp_path)(["sh", "-c", "echo text >file"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert seen.files("POSIX") == {str(tmp_path / "file")}
    settings = subprocess.run([seen.iolens, "config"], capture_output=True, text=True, check=True)
    assert "\nBUDGET " in settings.stdout and "ERROR" not in settings.stdout


def test_a_directory_of_stores_below_any_name(observe: Observe, preload: Path, tmp_path: Path) -> None:
    place = tmp_path / "with blank: and colon"
    place.mkdir()
    env = {"IOLENS_TMPDIR": str(place), "IOLENS_PRELOAD": str(preload)}
    seen = observe(["sh", "-c", "echo $IOLENS_SESSION >file"], cwd=tmp_path, env=env)
    assert (tmp_path / "file").read_text().startswith(f"{place}/iolens-")
    assert seen.files("POSIX") == {str(tmp_path / "file")}


def test_both_below_such_names_is_said_before_the_command_starts(
    iolens: Path, preload: Path, tmp_path: Path
) -> None:
    place = tmp_path / "with blank"
    place.mkdir()
    shutil.copy(preload, place / "libiolens.so")
    env = {**os.environ, "IOLENS_TMPDIR": str(place), "IOLENS_PRELOAD": str(place / "libiolens.so")}
    command = [iolens, "run", "-o", "a.darshan", "touch", "started"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"IOLENS_TMPDIR" in done.stderr and done.stderr.count(b"\n") == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["libiolens.so", "with blank"]


# ---------------------------------------------------------------- other preloads


def test_other_preloaded_libraries_stay(observe: Observe, tmp_path: Path) -> None:
    source = (
        "#include <unistd.h>\n"
        '__attribute__((constructor)) static void hello(void) { write(1, "hello\\n", 6); }'
    )
    others = [compile_c(source, tmp_path / f"{name}.so", "-shared", "-fPIC") for name in ("one", "two")]
    for separator in (" ", ":"):
        seen = observe(["true"], env={"LD_PRELOAD": separator.join(map(str, others))})
        assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (
            0,
            b"hello\n" * 4,
            b"",
        )  # in iolens too
        assert len(seen.sections["process"]) == 1


def test_a_session_within_a_session(observe: Observe, tmp_path: Path) -> None:
    inner = [
        observe.iolens,
        "run",
        "-o",
        tmp_path / "inner.darshan",
        "--",
        "sh",
        "-c",
        "echo text >file; exit 5",
    ]
    seen = observe(["sh", "-c", 'echo "$@" >outer; "$@"', "sh", *inner], cwd=tmp_path)
    assert seen.done.returncode == 5
    assert b"\niolens: sh -c echo text >file; exit 5\n" in seen.done.stderr
    assert str(tmp_path / "outer") in seen.files("POSIX")
    assert str(tmp_path / "file") not in seen.files("POSIX")
    inside = Observed(seen.done, tmp_path / "inner.darshan", observe.iolens)
    assert inside.files("POSIX") == {str(tmp_path / "file")}


def test_the_library_is_not_named_twice(observe: Observe) -> None:
    script = '"$0" run -q -o /dev/null/x true; echo $LD_PRELOAD'
    seen = observe(["sh", "-c", script, observe.iolens])
    assert seen.done.stdout.count(b"libiolens.so") == 1


# ---------------------------------------------------------------- what cannot be observed


def test_a_program_that_clears_the_environment_gets_it_cleared(observe: Observe) -> None:
    seen = observe(["env", "-i", "/usr/bin/env"])
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (0, b"", b"")
    assert [row["ended"] for row in seen.sections["process"]] == ["exec"]


@pytest.mark.parametrize("companion", [True, False], ids=["iolens-kernel", "no iolens-kernel"])
def test_a_static_program_runs_and_says_what_to_do(
    iolens: Path, preload: Path, tmp_path: Path, companion: bool
) -> None:
    for name in ("bin", "lib/iolens", "stores"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(iolens, tmp_path / "bin" / "iolens")
    shutil.copy(preload, tmp_path / "lib" / "iolens" / "libiolens.so")
    if companion:
        (tmp_path / "bin" / "iolens-kernel").touch(mode=0o755)
    compile_c("int main(void) { return 7; }", tmp_path / "program", "-static")
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        [tmp_path / "bin" / "iolens", "run", "-q", "-o", "a.darshan", "./program"],
        cwd=tmp_path,
        env={**os.environ, "IOLENS_TMPDIR": str(tmp_path / "stores")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "")
    user = "" if os.geteuid() == 0 else " as root, or as this user for its bytes alone"
    step = user if companion else ", for its bytes (iolens-kernel, for its files, is not installed)"
    said = f"./program was not observed, no log: it is statically linked; next: iolens run --kernel{step}"
    assert done.stderr == f"iolens: run: {said}\n"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_static_program_in_a_script_is_unseen_io_of_the_script(observe: Observe, tmp_path: Path) -> None:
    source = "#include <unistd.h>\nint main(void) { char b[5000] = {0}; write(1, b, 5000); return 0; }"
    compile_c(source, tmp_path / "program", "-static")
    seen = observe(["sh", "-c", "./program >file; true"], cwd=tmp_path)
    assert (tmp_path / "file").stat().st_size == 5000
    (process,) = (row for row in seen.sections["process"] if row["ended"] == "exit")
    assert int(process["unseen_written"]) == 5000


def test_observation_that_is_switched_off(run_iolens, tmp_path: Path) -> None:
    for variable in ("IOLENS_DISABLE", "DARSHAN_DISABLE"):
        done = run_iolens(["run", "sh", "-c", "exit 7"], cwd=tmp_path, env={variable: "1"})
        assert (done.returncode, done.stdout) == (7, "")
        assert "DISABLE" in done.stderr and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that another user can reach."""
    place = Path(tempfile.mkdtemp(prefix="iolens-test-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a setuid program")
def test_a_setuid_program_is_passed_over_quietly(iolens: Path, preload: Path, public: Path) -> None:
    for file in (iolens, preload):
        shutil.copy(file, public / file.name)
    privileged = Path(shutil.copy("/usr/bin/id", public / "privileged"))
    privileged.chmod(0o4755)
    script = "echo text >file; ./privileged -u; exit 7"
    env = {**os.environ, "IOLENS_PRELOAD": str(public / preload.name)}
    command = [public / "iolens", "run", "-q", "-o", "a.darshan", "--", "sh", "-c", script]
    done = subprocess.run(
        command,
        cwd=public,
        env=env,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        check=False,
    )
    if done.stdout != b"0\n":
        pytest.skip("the temporary directory allows no setuid programs")
    assert (done.returncode, done.stderr) == (7, b"")
    seen = Observed(done, public / "a.darshan", iolens)
    assert seen.files("POSIX") == {str(public / "file")}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_directory_of_somebody_else_is_no_place_for_the_log(
    iolens: Path, preload: Path, public: Path
) -> None:
    for file in (iolens, preload):
        shutil.copy(file, public / file.name)
    (public / "theirs").mkdir(mode=0o755)
    env = {**os.environ, "IOLENS_PRELOAD": str(public / preload.name)}
    identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for options in (["-o", "theirs/a"], ["--json", "theirs/a", "-o", "a"], ["-o", "/root/a"]):
        done = subprocess.run(
            [public / "iolens", "run", *options, "--", "touch", "started"],
            cwd=public,
            env=env,
            capture_output=True,
            check=False,
            **identity,
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"Permission denied" in done.stderr and done.stderr.count(b"\n") == 1
    assert sorted(p.name for p in public.iterdir()) == sorted([iolens.name, preload.name, "theirs"])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_program_that_becomes_somebody_else_goes_on(observe: Observe, public: Path) -> None:
    """The stores' directory is the first user's alone: others have one of their own."""
    script = (
        "import os, sys; open('before', 'w').close(); os.setresgid(*[65534] * 3); os.setresuid(*[65534] * 3);"
        "pid = os.fork(); open(f'after{pid > 0}', 'w').close(); pid or os._exit(0); os.waitpid(pid, 0);"
        "sys.exit(os.system('id -u; exit 3') >> 8)"
    )
    seen = observe(["/usr/bin/python3", "-S", "-c", script], cwd=public)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (3, b"65534\n", b"")
    assert {str(public / name) for name in ("before", "afterTrue", "afterFalse")} <= seen.files()


# ---------------------------------------------------------------- limits

LIMITS = ["-n 4", "-n 5", "-n 6", "-n 10", "-f 1", "-f 100", "-f 100000", "-c 0", "-v 4000000", "-s 256"]


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_are_the_commands_and_change_nothing(iolens: Path, tmp_path: Path, limit: str) -> None:
    script = "ulimit -a; echo text >file; cat file; exit 7"
    outer = f'ulimit {limit} && exec "$@"'
    shell = ["bash", "-c", outer, "bash"]
    plain = subprocess.run([*shell, "bash", "-c", script], cwd=tmp_path, capture_output=True, check=False)
    command = [*shell, iolens, "run", "-q", "-o", "a.darshan", "--", "bash", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    for line in done.stderr.splitlines():
        assert line.startswith(b"iolens: run: ") or line in plain.stderr.splitlines()


def test_few_descriptors_do_not_cost_the_log(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text\n")
    seen = observe(["bash", "-c", "ulimit -n 5; cat file"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"text\n")
    assert seen.total("POSIX", "BYTES_READ", str(tmp_path / "file")) == 5


def test_a_full_place_for_the_stores_ends_nothing(iolens: Path, tmp_path: Path) -> None:
    """Processes that find no room for a store run unobserved; those that have one go on."""
    line = 'mount -t tmpfs -o size=20m tmpfs /dev/shm 2>/dev/null || exit 99; exec "$@"'
    fill = "dd if=/dev/zero of=/dev/shm/filler bs=64k 2>/dev/null; echo text >file; cat file; echo $?; exit 7"
    command = ["sh", "-c", line, "sh", iolens, "run", "-q", "-o", "a.darshan", "--", "bash", "-c", fill]
    done = subprocess.run(
        ["unshare", "--mount", *map(str, command)], cwd=tmp_path, capture_output=True, check=False
    )
    if done.returncode in (1, 99):
        pytest.skip("a mount namespace needs root")
    assert (done.returncode, done.stdout, done.stderr) == (7, b"text\n0\n", b"")
    seen = Observed(done, tmp_path / "a.darshan", iolens)
    assert len(seen.sections["process"]) >= 1


def test_the_umask_is_the_commands(observe: Observe, tmp_path: Path) -> None:
    script = "umask; echo >file"
    seen = observe([sys.executable, "-c", f"import os; os.umask(0o027); os.system('{script}')"], cwd=tmp_path)
    assert seen.done.stdout == b"0027\n"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
