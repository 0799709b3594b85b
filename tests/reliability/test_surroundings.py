"""Where a program may find itself: in a chroot, in namespaces, at the end of a small stack."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from observed import Observe, Observed

WORK = "echo text >/tmp/a; cat /tmp/a; exit 5"

# A root of its own with the programs of this machine, and where asked the library and the session.
CHROOT = """
mkdir -p root/usr root/tmp root/dev/shm root{library}
for link in bin lib lib64; do ln -s usr/$link root/$link; done
mount --rbind /usr root/usr
{more}
exec chroot root sh -c '{work}'
"""


@pytest.fixture
def namespaces() -> list[str]:
    """The command in front of one that mounts something nobody else sees."""
    command = ["unshare", "-Urm"]
    if not Path("/lib").is_symlink() or subprocess.run([*command, "true"], check=False).returncode:
        pytest.skip("no user namespaces, or a /lib of its own")
    return command


def chroot(library: Path, more: str = "") -> list[str]:
    return ["sh", "-ec", CHROOT.format(library=library.parent, more=more, work=WORK)]


def test_a_chroot_without_the_library_changes_nothing_but_a_word_of_the_loader(
    observe: Observe, namespaces: list[str], preload: Path, tmp_path: Path
) -> None:
    seen = observe([*namespaces, *chroot(preload)], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (5, b"text\n")
    complaints = seen.done.stderr.decode().splitlines()
    assert complaints and all("cannot be preloaded" in line and "ignored" in line for line in complaints)
    assert ("STDIO", "/tmp/a", 0) not in seen.records


def test_a_chroot_with_the_library_is_observed(
    observe: Observe, namespaces: list[str], preload: Path, tmp_path: Path
) -> None:
    bind = f"mount --bind {preload.parent} root{preload.parent}; mount --rbind /dev/shm root/dev/shm"
    seen = observe([*namespaces, *chroot(preload, bind)], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (5, b"text\n", b"")
    assert seen.total("POSIX", "BYTES_READ", "/tmp/a") == 5
    blocks = {
        row["POSIX_FILE_ALIGNMENT"]
        for (m, name, _), row in seen.records.items()
        if name == "/tmp/a" and m == "POSIX"
    }
    assert blocks == {str(os.statvfs(tmp_path).f_bsize)}


@pytest.mark.parametrize("kinds", ["-U", "-Ur", "-Urm", "-Urn", "-Uripf"])
def test_a_user_namespace_is_observed(
    observe: Observe, namespaces: list[str], kinds: str, tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("text")
    tmp_path.chmod(0o755)
    seen = observe(["unshare", kinds, "sh", "-c", "cat input; exit 4"], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout, seen.done.stderr) == (4, b"text", b"")
    assert seen.total("POSIX", "BYTES_READ", f"{tmp_path}/input") == 4


# Small reads in bursts: enough that not all of them take the clock.
BURSTS = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char bytes[64] = {0};
	int fd = open("data", O_RDWR | O_CREAT, 0600), good = write(fd, bytes, 64) == 64;
	for (int k = 0; k < 20; k++, usleep(8000))
		for (int i = 0; i < 6000; i++)
			good &= pread(fd, bytes, 64, 0) == 64;
	puts(good ? "good" : "bad");
	return 7;
}
"""


@pytest.mark.parametrize("behind", [40, 29_000, 3_000_000])
def test_a_clock_that_is_before_the_start_of_the_job_moves_no_other_numbers(
    iolens: Path, preload: Path, compile_program: Callable[[str], Path], tmp_path: Path, behind: int
) -> None:
    """As after a restored checkpoint or hibernation. The job starts in one time namespace, the program in another."""
    ahead = ["unshare", "-Ur", "--time", "--monotonic", str(behind), "--fork"]
    back = ["unshare", "--time", "--monotonic", "0", "--fork"]
    if subprocess.run([*ahead, *back, "true"], check=False).returncode:
        pytest.skip("no time namespaces")
    log, program = tmp_path / "log.darshan", compile_program(BURSTS)
    command = [*ahead, iolens, "run", "--quiet", "-o", log, "--", *back, program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (7, b"good\n")
    seen = Observed(done, log, iolens)
    assert seen.total("POSIX", "READS", f"{tmp_path}/data") == 120_000
    assert seen.total("POSIX", "BYTES_READ", f"{tmp_path}/data") == 120_000 * 64
    assert seen.total("POSIX", "SEQ_READS", f"{tmp_path}/data") == 0


SMALL = """
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *leave(void *unused)
{
	int fd = open("data", O_WRONLY | O_CREAT, 0600);
	if (write(fd, "12345", 5) == 5)
		exit(3);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
	pthread_create(&thread, &small, leave, NULL);
	return pthread_join(thread, NULL);
}
"""


def test_a_log_is_written_from_a_thread_with_the_smallest_stack(
    compile_program: Callable[[str], Path],
    preload: Path,
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    settings = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(tmp_path / "log")}
    env = {**os.environ, **settings, "LD_PRELOAD": str(preload)}
    done = subprocess.run([compile_program(SMALL)], cwd=tmp_path, env=env, check=False)
    assert done.returncode == 3
    found = shown.records(run_iolens(["show", tmp_path / "log"]).stdout)
    assert found["POSIX", f"{tmp_path}/data", 0]["POSIX_BYTES_WRITTEN"] == "5"


def test_the_command_of_a_process_without_iolens_run_is_its_own(
    preload: Path, run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A file in the home that forbids it was looked for before."""
    settings = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(tmp_path / "log"), "HOME": str(tmp_path)}
    (tmp_path / "a").write_text("text")
    env = {**os.environ, **settings, "LD_PRELOAD": str(preload)}
    subprocess.run(["cat", "a"], cwd=tmp_path, env=env, check=True, capture_output=True)
    lines = run_iolens(["info", tmp_path / "log"]).stdout.splitlines()
    assert [line.split(None, 1)[1] for line in lines if line.startswith("command")] == ["cat a"]
    assert "not in it: what the process moved after it had written this log" in lines
