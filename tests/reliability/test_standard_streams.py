"""What iolens says never harms the job: data in place of a stream, readers that are gone or slow, limits on files."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Compile = Callable[[str], Path]
Launch = Callable[..., "subprocess.CompletedProcess[bytes]"]

NO_PLACE = "missing/log.darshan"


@pytest.fixture(params=["alone", "session"])
def launch(request: pytest.FixtureRequest, iolens: Path, preload: Path, tmp_path: Path) -> Launch:
    """Runs a command under the library alone or under `iolens run`; by default its log has a place."""

    def run(
        command: list[str | Path], log: str = "log.darshan", env: Mapping[str, str] | None = None, **options
    ) -> subprocess.CompletedProcess[bytes]:
        settings = {
            "IOLENS_ENABLE_NONMPI": "1",
            "IOLENS_LOGFILE": str(tmp_path / log),
            "LD_PRELOAD": str(preload),
        }
        alone = request.param == "alone"
        line = command if alone else [iolens, "run", "-o", tmp_path / "log.darshan", "--", *command]
        environment = {**os.environ, **(settings if alone else {}), **(env or {})}
        defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "timeout": 60, "cwd": tmp_path}
        return subprocess.run(list(map(str, line)), check=False, env=environment, **{**defaults, **options})

    return run


# What is written where standard error was is the program's data.
IN_PLACE = r"""
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argv;
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	close(2);
	if (argc > 1)
		dup2(fd, 2);
	else
		fd = open("data", O_RDWR);
	return fd == 2 || argc > 1 ? write(2, "precious", 8) != 8 : 9;
}
"""


@pytest.mark.parametrize("arguments", [[], ["dup2"]])
def test_data_that_has_the_number_of_stderr_stays_as_it_is(
    launch: Launch, compile_program: Compile, tmp_path: Path, arguments: list[str]
) -> None:
    done = launch([compile_program(IN_PLACE), *arguments], log=NO_PLACE, stderr=subprocess.PIPE)
    assert done.returncode == 0
    assert (tmp_path / "data").read_bytes() == b"precious"


def test_a_program_without_stderr_gets_no_line_into_its_first_file(launch: Launch, tmp_path: Path) -> None:
    command = ["bash", "-c", 'exec "$@" 2>&-', "bash", "/usr/bin/python3", "-c"]
    script = "import os; assert os.open('data', os.O_RDWR | os.O_CREAT) in (2, 3); os.write(2, b'') "
    launch([*command, script], log=NO_PLACE)
    assert (tmp_path / "data").read_bytes() == b""


def test_a_reader_of_stderr_that_is_gone_changes_no_exit_code(launch: Launch, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = launch(["sh", "-c", "exit 3"], log=NO_PLACE, stderr=writer)
    os.close(writer)
    assert done.returncode == 3


def fill(writer: int) -> None:
    os.set_blocking(writer, False)
    for piece in (4096, 1):
        try:
            while True:
                os.write(writer, b"x" * piece)
        except BlockingIOError:
            pass
    os.set_blocking(writer, True)


def test_a_full_pipe_as_stderr_does_not_hold_the_process(launch: Launch) -> None:
    reader, writer = os.pipe()
    fill(writer)
    done = launch(["sh", "-c", "exit 3"], log=NO_PLACE, stderr=writer, timeout=300)
    assert done.returncode == 3
    assert not fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK
    os.close(writer)
    os.close(reader)


def test_a_stopped_terminal_does_not_hold_the_process(launch: Launch) -> None:
    """As after Ctrl-S, or when nothing reads what it shows."""
    master, terminal = os.openpty()
    fill(terminal)
    done = launch(["sh", "-c", "exit 3"], log=NO_PLACE, stderr=terminal, timeout=300)
    assert done.returncode == 3
    os.close(terminal)
    os.close(master)


def test_the_line_still_comes_where_stderr_is_as_at_the_start(preload: Path, tmp_path: Path) -> None:
    settings = {"IOLENS_ENABLE_NONMPI": "1", "LD_PRELOAD": str(preload)}
    (tmp_path / "log").write_text("in the way")
    env = {**os.environ, **settings, "IOLENS_LOGFILE": str(tmp_path / "log")}
    with (tmp_path / "file").open("wb") as file:
        subprocess.run(["true"], env=env, stderr=file, check=True)
    done = subprocess.run(["true"], env=env, capture_output=True, check=True)
    assert (
        done.stderr.count(b"log not written") == (tmp_path / "file").read_text().count("log not written") == 1
    )


def test_our_descriptors_are_not_the_standard_ones(
    preload: Path, tmp_path: Path, compile_program: Compile
) -> None:
    """A program that closed all three: what is stored and written goes through others."""
    program = compile_program(
        "#include <unistd.h>\nint main(void) { return close(0) | close(1) | close(2); }\n"
    )
    env = [f"LD_PRELOAD={preload}", "IOLENS_ENABLE_NONMPI=1", f"IOLENS_LOGFILE={tmp_path / 'log'}"]
    given = [word for setting in env for word in ("-E", setting)]
    traced = "trace=pwrite64,write,ftruncate,flock,fchmod,getdents64"
    closed = ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash"]
    command = ["strace", "-o", tmp_path / "trace", "-e", traced, *given, *closed, program]
    subprocess.run(list(map(str, command)), check=False, capture_output=True)
    used = re.findall(r"^\w+\((\d+)", (tmp_path / "trace").read_text(), re.MULTILINE)
    assert used and min(map(int, used)) > 2
    assert (tmp_path / "log").exists()


# ---- limits on the size of files ----

LOWERED = r"""
#include <stdio.h>
#include <sys/resource.h>
int main(void)
{
	printf("forty characters that are still buffered\n");
	struct rlimit limit = {64, 64};
	return setrlimit(RLIMIT_FSIZE, &limit) ? 9 : 5;
}
"""


def test_a_limit_lowered_while_running_costs_no_output(
    launch: Launch, compile_program: Compile, tmp_path: Path
) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = launch([compile_program(LOWERED)], stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 5
    assert (tmp_path / "out").read_text() == "forty characters that are still buffered\n"


@pytest.mark.parametrize("blocks", [0, 1, 64])
@pytest.mark.parametrize("kind", ["-f", "-Sf"])
def test_a_limit_from_the_start_leaves_the_command_alone(
    launch: Launch, iolens: Path, tmp_path: Path, blocks: int, kind: str
) -> None:
    script = f'ulimit {kind} {blocks}; exec "$@"'
    command = ["sh", "-c", "echo text; exit 4"]
    done = launch(["bash", "-c", script, "bash", *command], stderr=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (4, b"text\n")
    run = [iolens, "run", "-o", tmp_path / "again.darshan", "--", *command]
    around = ["bash", "-c", script, "bash", *map(str, run)]
    done = subprocess.run(around, capture_output=True, check=False, cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stdout) == (4, b"text\n")


def test_the_signal_of_the_limit_is_still_the_programs_own(launch: Launch, tmp_path: Path) -> None:
    script = "ulimit -f 1; dd if=/dev/zero of=big bs=4096 count=4 status=none; echo $?"
    done = launch(["bash", "-c", script], stderr=subprocess.PIPE)
    assert done.stdout == b"153\n"


# AddressSanitizer says on standard error that swapcontext changes a stack: once, under a lock that no fork resets.
SANITIZED = r"""
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	pid_t child = fork();
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	int status = 1;
	return write(fd, "x", 1) != 1 || (child && (waitpid(child, &status, 0) != child || status));
}
"""


def test_a_sanitizer_of_the_program_has_nothing_to_say(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "sanitized.c").write_text(SANITIZED)
    subprocess.run(
        ["cc", "-fsanitize=address,undefined", "-o", "sanitized", "sanitized.c"], cwd=tmp_path, check=True
    )
    done = launch([tmp_path / "sanitized"], stderr=subprocess.PIPE)
    assert (done.returncode, [line for line in done.stderr.splitlines() if b"ASan" in line]) == (0, [])
