"""Address space and pages are the program's: what it may lock, map or keep in caches is left to it."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from observed import Observe

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PEAK = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* KiB, asked in a way that no observer records. */
static long peak(void)
{
	static char text[8192];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 ? atol(strstr(text, "VmPeak:") + 7) : 0;
}
"""

IDLE = (
    PEAK
    + r"""
int main(void)
{
	printf("%ld\n", peak());
	return 0;
}
"""
)

FIRST_FILE = (
    PEAK
    + r"""
int main(void)
{
	int fd = open("data", O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, "12345", 5) != 5)
		return 1;
	printf("%ld\n", peak());
	return 0;
}
"""
)

LOCK = r"""
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Without the right of an administrator to lock what he likes. */
static int lock(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	struct rlimit limit = {8 << 20, 8 << 20};
	if (syscall(SYS_capget, &head, data) != 0)
		return 10;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &head, data) != 0 || setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return 11;
	return mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : 12;
}

int main(void)
{
	int fd = open("data", O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, "12345", 5) != 5)
		return 1;
	int code = lock();
	return code ? code : write(fd, "12345", 5) != 5;
}
"""


def alone(preload: Path, logs: Path) -> dict[str, str]:
    """The environment of the library without `iolens run`."""
    logs.mkdir(exist_ok=True)
    return {
        **os.environ,
        "LD_PRELOAD": str(preload),
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_LOGPATH": str(logs),
        "IOLENS_ABANDONED": "keep",  # other programs' stores are none of this one's logs
    }


def printed(program: Path, folder: Path, environment: dict[str, str] | None = None) -> int:
    done = subprocess.run(
        [program], cwd=folder, env=environment, check=True, capture_output=True, timeout=300
    )
    return int(done.stdout)


def test_an_idle_process_has_little_more_address_space(
    compile_program: Compile, preload: Path, tmp_path: Path
) -> None:
    program = compile_program(IDLE)
    bare = printed(program, tmp_path)
    idle = printed(program, tmp_path, {**os.environ, "LD_PRELOAD": str(preload)})
    assert idle - bare <= 2256  # KiB: the library's text, its data, and one page of each that it may share


def started_by(parent: int) -> int:
    """The one process that `parent` starts."""
    children = Path(f"/proc/{parent}/task/{parent}/children")
    while not children.read_text():
        time.sleep(0.01)
    return int(children.read_text().split()[0])


def at_rest(*before: str | Path) -> tuple[int, int]:
    """KiB resident and page faults of a program that has done nothing but start, as a shell starts it."""
    with subprocess.Popen([*before, "sh", "-c", "sleep 60; true"]) as started:
        shell = started_by(started.pid) if before else started.pid
        pid = started_by(shell)
        while "nanosleep" not in Path(f"/proc/{pid}/wchan").read_text():
            time.sleep(0.01)
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        faults = int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[7])
        os.kill(pid, signal.SIGTERM)
    return int(re.findall(r"^Rss: +(\d+) kB", rollup, re.MULTILINE)[0]), faults


def test_before_the_first_file_few_pages_are_resident(iolens: Path, tmp_path: Path) -> None:
    """Medians: how many pages the kernel maps around one that is touched depends on where they lie."""
    bare = [at_rest() for _ in range(9)]
    seen = [at_rest(iolens, "run", "-q", "-o", tmp_path / f"{turn}", "--") for turn in range(9)]
    kib, faults = (statistics.median(s[i] - b[i] for b, s in zip(bare, seen, strict=True)) for i in (0, 1))
    assert kib <= 400
    assert faults <= 19


def test_an_observed_one_has_eight(compile_program: Compile, preload: Path, tmp_path: Path) -> None:
    program = compile_program(FIRST_FILE)
    bare = printed(program, tmp_path)
    logs = tmp_path / "logs"
    observed = printed(program, tmp_path, alone(preload, logs))
    assert observed - bare <= 8 << 10
    limit = (bare + (8 << 10)) << 10
    subprocess.run(
        [program],
        cwd=tmp_path,
        env=alone(preload, logs),
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert len(list(logs.iterdir())) == 2, "the log has been made within that, too"


def test_all_memory_can_be_locked_within_the_usual_limit(
    compile_program: Compile, run_iolens: Run, tmp_path: Path
) -> None:
    program, log = compile_program(LOCK), tmp_path / "log"
    assert subprocess.run([program], cwd=tmp_path, check=False).returncode == 0
    done = run_iolens(["run", "-q", "-o", log, "--", program], cwd=tmp_path)
    assert done.returncode == 0
    row = shown.records(run_iolens(["show", log]).stdout)["POSIX", f"{tmp_path}/data", 0]
    assert (row["POSIX_WRITES"], row["POSIX_BYTES_WRITTEN"]) == ("2", "10")


def test_the_library_alone_makes_its_log_within_that_limit(
    compile_program: Compile, preload: Path, run_iolens: Run, tmp_path: Path
) -> None:
    environment = {**alone(preload, tmp_path / "logs"), "IOLENS_TMPDIR": str(tmp_path)}
    program = compile_program(LOCK)
    done = subprocess.run([program], cwd=tmp_path, env=environment, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    (log,) = (tmp_path / "logs").iterdir()
    row = shown.records(run_iolens(["show", log]).stdout)["POSIX", f"{tmp_path}/data", 0]
    assert (row["POSIX_WRITES"], row["POSIX_BYTES_WRITTEN"]) == ("2", "10")


# Names of all lengths, so that they and the records begin and end anywhere in what is mapped piece by piece.
MANY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int first, int end)
{
	static char name[256];
	for (int i = first; i < end; i++) {
		int n = snprintf(name, sizeof name, "f%d-", i);
		memset(name + n, 'x', (size_t)(i * 7 % 200));
		name[n + i * 7 % 200] = 0;
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		for (int k = 0; k <= i % 3; k++)
			if (fd < 0 || write(fd, "0123456789", 10) != 10)
				return 1;
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int files = atoi(argv[1]), status = 0;
	if (work(0, files))
		return 1;
	int kept = open("kept", O_WRONLY | O_CREAT, 0600);
	pid_t child = fork();
	if (child == 0)
		_exit(work(files, 2 * files) || write(kept, "x", 1) != 1);
	waitpid(child, &status, 0);
	return argc < 2 || status;
}
"""


def counted_exactly(log: Path, files: int, run_iolens: Run, first: int = 0) -> None:
    """`first`: images before the program's own."""
    done = run_iolens(["show", log])
    assert done.returncode == 0, done.stderr
    rows = {
        (int(Path(name).name[1:].split("-")[0]), rank): row
        for (module, name, rank), row in shown.records(done.stdout).items()
        if module == "POSIX" and Path(name).name.startswith("f")
    }
    assert set(rows) == {(n, first if n < files else first + 1) for n in range(2 * files)}
    for (n, _), row in rows.items():
        assert (row["POSIX_OPENS"], row["POSIX_WRITES"]) == ("1", str(n % 3 + 1))


def test_records_and_names_lie_anywhere_in_their_pieces(
    compile_program: Compile, run_iolens: Run, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    log = tmp_path / "log"
    done = run_iolens(["run", "-q", "-o", log, "--", compile_program(MANY), "3000"], cwd=place)
    assert done.returncode == 0, done.stderr
    counted_exactly(log, 3000, run_iolens)
    assert run_iolens(["check", log]).returncode == 0


@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_a_store_grows_where_a_mapping_cannot_be_had_twice(
    compile_program: Compile, run_iolens: Run, tmp_path: Path
) -> None:
    """Under valgrind, which refuses such mremap."""
    place = tmp_path / "place"
    place.mkdir()
    log = tmp_path / "log"
    command = ["run", "-q", "-o", log, "--", "valgrind", "-q", "--tool=none", compile_program(MANY), "700"]
    done = run_iolens(command, cwd=place, timeout=120)
    assert done.returncode == 0, done.stderr
    counted_exactly(log, 700, run_iolens, 2)


DESCRIPTORS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const int numbers[] = {3, 4095, 4096, 4097, 8191, 8192, 12287, 16000};

int main(void)
{
	struct rlimit limit = {16384, 16384};
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 77;
	for (int i = 0; i < 8; i++) {
		char name[] = {'f', (char)('0' + i), 0};
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd != numbers[i]) {
			if (dup2(fd, numbers[i]) != numbers[i])
				return 1;
			close(fd);
		}
		for (int k = 0; k <= i; k++)
			if (write(numbers[i], "12345", 5) != 5)
				return 2;
	}
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 8; i++)
			if (write(numbers[i], "1", 1) != 1)
				_exit(3);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	if (close_range(4096, ~0u, 0) != 0)
		return 4;
	int fd = open("last", O_RDWR | O_CREAT, 0600);
	if (dup2(fd, 4097) != 4097 || write(4097, "1234", 4) != 4)
		return 5;
	return status;
}
"""


def test_descriptors_of_any_number_are_recorded(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(DESCRIPTORS)], cwd=tmp_path)
    if seen.done.returncode == 77:
        pytest.skip("so many descriptors are not allowed")
    assert seen.done.returncode == 0, seen.done.stderr
    for n in range(8):
        assert seen.total("POSIX", "WRITES", f"{tmp_path}/f{n}") == n + 2
        assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/f{n}") == 5 * (n + 1) + 1
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/last") == 4


def cached_pages(path: Path) -> int:
    """Pages of a file that the kernel keeps in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shown_file:
        pages = (len(shown_file) + 4095) // 4096
        vector = (ctypes.c_ubyte * pages)()
        start = ctypes.addressof(ctypes.c_char.from_buffer(shown_file))
        assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(len(shown_file)), vector) == 0
        return sum(v & 1 for v in vector)


KILLED = r"""
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	int fd = open("data", O_WRONLY | O_CREAT, 0600);
	return write(fd, "12345", 5) == 5 ? raise(SIGKILL) : 1;
}
"""


def test_a_store_on_a_disk_is_not_read_ahead(compile_program: Compile, preload: Path, tmp_path: Path) -> None:
    """Around each page that was touched, up to megabytes of nothing used to be cleared and kept."""
    stores = tmp_path / "stores"
    stores.mkdir(mode=0o700)
    environment = {**os.environ, "LD_PRELOAD": str(preload), "IOLENS_SESSION": str(stores)}
    done = subprocess.run([compile_program(KILLED)], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    (store,) = stores.glob("*.store")
    assert store.stat().st_size > 16 << 20
    assert cached_pages(store) <= 32


# Each generation forks the next one, and says how many mappings it has.
GENERATIONS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int mappings(void)
{
	static char text[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY), lines = 0;
	for (ssize_t n; (n = read(fd, text, sizeof text)) > 0;)
		for (ssize_t i = 0; i < n; i++)
			lines += text[i] == '\n';
	close(fd);
	return lines;
}
int main(int argc, char **argv)
{
	for (int n = 0; n < atoi(argv[1]); n++) {
		char data[10];
		int fd = open("shared", O_RDONLY), status = 0;
		if (read(fd, data, sizeof data) != sizeof data)
			return 1;
		close(fd);
		printf("%d\n", mappings());
		fflush(stdout);
		if (fork() != 0) {
			wait(&status);
			_exit(status != 0);
		}
	}
	return 0;
}
"""


def test_a_generation_has_the_mappings_of_the_one_before(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    """One more for each would make a fork of the 200th generation ten times as dear."""
    (tmp_path / "shared").write_bytes(b"0123456789")
    seen = observe([compile_program(GENERATIONS), "64"], cwd=tmp_path)
    assert seen.done.returncode == 0
    counts = [int(line) for line in seen.done.stdout.split()]
    assert len(counts) == 64
    assert counts[-1] - counts[1] <= 6
    assert seen.total("POSIX", "READS", str(tmp_path / "shared")) == 64
