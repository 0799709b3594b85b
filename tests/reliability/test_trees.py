"""Process trees: one job, one log, exact totals, however the processes came about."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from interfaces import LIBC
from observed import Observe, Observed

Compile = Callable[[str], Path]


def written(seen: Observed, folder: Path) -> dict[str, int]:
    """Bytes written by file name, over all processes and interfaces."""
    found: dict[str, int] = {}
    for (module, name, _), row in seen.records.items():
        if module in LIBC and name.startswith(f"{folder}/"):
            n = int(row[f"{module}_BYTES_WRITTEN"])
            found[name[len(str(folder)) + 1 :]] = found.get(name[len(str(folder)) + 1 :], 0) + n
    return {name: n for name, n in found.items() if n}


def on_disk(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files if path.stat().st_size}


def test_a_descriptor_passed_over_a_socket(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    program = compile_program(
        r"""
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int ends[2];
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	if (fork() == 0) {
		recvmsg(ends[1], &m, 0);
		int fd = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&m));
		for (int i = 0; i < 100; i++)
			if (write(fd, "0123456789", 10) != 10)
				return 1;
		return 0;
	}
	int fd = open("passed", O_WRONLY | O_CREAT, 0600);
	if (write(fd, "abc", 3) != 3)
		return 1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	sendmsg(ends[0], &m, 0);
	close(fd);
	int status;
	wait(&status);
	return status;
}
"""
    )
    seen = observe([program], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert written(seen, tmp_path) == {"passed": 1003}
    assert seen.records["POSIX", f"{tmp_path}/passed", 1]["POSIX_MAX_BYTE_WRITTEN"] == "1002"


def test_a_thousand_children(observe: Observe, tmp_path: Path) -> None:
    children = int(os.environ.get("CHILDREN", "300"))
    child = "dd if=/dev/zero of=f$i bs=$((i+1)) count=1 status=none"
    script = f"i=0; while [ $i -lt {children} ]; do {child}; i=$((i+1)); done"
    began = time.monotonic()
    seen = observe(["sh", "-c", script], cwd=tmp_path)
    took = time.monotonic() - began
    assert seen.done.returncode == 0 and len(seen.sections["process"]) == children + 1
    assert written(seen, tmp_path) == on_disk(tmp_path)
    steps = sum(float(row["time"]) for row in seen.sections["phase"])
    assert steps < took and steps < 5 + children * 0.005, f"{steps} s to put the log together"


LOADER = """
import multiprocessing, os, random, sys

# As a data loader does: workers forked or spawned, an index queue for each, batches of file contents back.
def worker(indices, results):
    for batch in iter(indices.get, None):
        total = 0
        for n in batch:
            with open(f"sample{n}", "rb", buffering=0) as f:
                total += len(f.read())
        results.put((len(batch), total))

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    for n in range(64):
        with open(f"sample{n}", "wb", buffering=0) as f:
            f.write(bytes(1000 + n))
    results = multiprocessing.Queue()
    queues = [multiprocessing.Queue() for _ in range(4)]
    workers = [multiprocessing.Process(target=worker, args=(q, results), daemon=True) for q in queues]
    for w in workers: w.start()
    for epoch in range(3):
        order = list(range(64))
        random.Random(epoch).shuffle(order)
        for b in range(16):
            queues[b % 4].put(order[4 * b : 4 * b + 4])
        done = [results.get() for _ in range(16)]
        assert sum(d[0] for d in done) == 64 and sum(d[1] for d in done) == sum(1000 + n for n in range(64))
    for q in queues: q.put(None)
    for w in workers: w.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_data_loader_workers(method: str, observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "loader.py").write_text(LOADER)
    seen = observe([sys.executable, "loader.py", method], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    samples = {f"sample{n}": 1000 + n for n in range(64)}
    assert {k: n for k, n in written(seen, tmp_path).items() if k in samples} == samples
    for name, size in samples.items():
        assert seen.total("POSIX", "BYTES_READ", f"{tmp_path}/{name}") == 3 * size
        assert seen.total("POSIX", "OPENS", f"{tmp_path}/{name}") == 4


PIPELINES = """
import subprocess
a = subprocess.Popen(["seq", "20000"], stdout=subprocess.PIPE)
b = subprocess.Popen(["tee", "copy"], stdin=a.stdout, stdout=subprocess.PIPE)
c = subprocess.Popen(["dd", "of=sorted", "status=none"], stdin=b.stdout)
a.stdout.close(); b.stdout.close()
assert [p.wait() for p in (c, b, a)] == [0, 0, 0]
script = "cat copy sorted | dd of=last bs=100 count=20 iflag=fullblock status=none; exit 0"
subprocess.run(script, shell=True, check=True)
subprocess.run(["dd", "if=copy", "of=part", "bs=1000", "count=7", "status=none"], check=True, close_fds=False)
"""


def test_pipelines_of_subprocesses(observe: Observe, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "pipelines.py").write_text(PIPELINES)
    seen = observe([sys.executable, "../pipelines.py"], cwd=place)
    assert seen.done.returncode == 0, seen.done.stderr
    assert written(seen, place) == on_disk(place)


def test_make_with_jobs(observe: Observe, tmp_path: Path) -> None:
    if not shutil.which("make"):
        pytest.skip("no make")
    rules = "all: $(patsubst %,o%,$(shell seq 30))\no%:\n\t@"
    rules += "dd if=/dev/zero of=$@ bs=$* count=3 status=none; cat $@ $@ >>$@.twice; dd if=$@ of=$@.d status=none\n"
    (tmp_path / "Makefile").write_text(rules)
    seen = observe(["make", "-s", "-j4"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    found = on_disk(tmp_path)
    del found["Makefile"]
    assert written(seen, tmp_path) == found


def test_a_daemon_that_outlives_the_command(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    program = compile_program(
        r"""
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int go[2];
	char byte;
	if (pipe(go))
		return 1;
	if (fork() == 0) {
		setsid();
		if (fork())
			_exit(0);
		int fd = open("daemon", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		for (int i = 0; i < 500; i++)
			if (write(fd, "0123456789", 10) != 10)
				return 1;
		close(0), close(1), close(2);
		if (write(go[1], "x", 1) != 1)
			return 1;
		close(go[1]);
		sleep(3);
		return 0;
	}
	wait(NULL);
	return read(go[0], &byte, 1) != 1;
}
"""
    )
    seen = observe([program], cwd=tmp_path, options=())
    assert seen.done.returncode == 0
    assert b"1 process still runs: the log has everything until now" in seen.done.stderr
    assert written(seen, tmp_path) == {"daemon": 5000}
    assert sorted(row["ended"] for row in seen.sections["process"]) == ["exit", "running"]


STATIC = r"""
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	int fd = open("static-out", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 1000; i++)
		if (write(fd, "0123456789", 10) != 10)
			return 1;
	return 0;
}
"""


def unobserved(seen: Observed) -> dict[str, tuple[str, int]]:
    rows = seen.sections.get("unobserved", [])
    return {Path(row["program"]).name: (row["reason"], int(row["count"])) for row in rows}


@pytest.fixture
def static(compile_program: Compile, tmp_path: Path) -> Path:
    program = compile_program(STATIC)
    made = subprocess.run(
        ["cc", "-static", "-o", tmp_path / "static-program", program.with_suffix(".c")],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("no static libc")
    return tmp_path / "static-program"


RUNNERS = {
    "shell": ["sh", "-c", "./static-program; ./static-program; true"],
    "spawn": [sys.executable, "-c", "import os; os.waitpid(os.posix_spawn('static-program', ['s'], {}), 0)"],
    "subprocess": [
        sys.executable,
        "-c",
        "import subprocess; subprocess.run(['./static-program'], check=True)",
    ],
    "system": [sys.executable, "-c", "import os; os.system('./static-program; true')"],
}


@pytest.mark.parametrize("how", RUNNERS)
def test_a_static_child_is_named_and_its_bytes_are_unseen(
    how: str, static: Path, observe: Observe, tmp_path: Path
) -> None:
    seen = observe(RUNNERS[how], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    runs = 2 if how == "shell" else 1
    assert unobserved(seen) == {static.name: ("static", runs)}
    assert sum(int(row["unseen_written"]) for row in seen.sections["process"]) == 10000 * runs


def by_unobserved(seen: Observed, direction: str) -> int:
    """Bytes that the log says programs out of reach moved."""
    rows = [row for row in seen.sections["operation"] if row["interface"] == "unobserved"]
    return sum(int(row["bytes"]) for row in rows if row["name"] == direction)


def test_a_go_program_is_named(observe: Observe, tmp_path: Path) -> None:
    go = shutil.which("go") or next(iter(map(str, Path("/usr/local/go/bin").glob("go"))), None)
    if not go:
        pytest.skip("no go")
    (tmp_path / "hello.go").write_text(
        'package main\nimport "os"\nfunc main() { os.WriteFile("by-go", make([]byte, 54321), 0600) }\n'
    )
    env = {"HOME": str(tmp_path), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GO111MODULE": "off"}
    built = subprocess.run(
        [go, "build", "-o", "hello", "hello.go"],
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        check=False,
    )
    if built.returncode:
        pytest.skip("go cannot build")
    seen = observe(["sh", "-c", "./hello; true"], cwd=tmp_path)
    assert unobserved(seen) == {"hello": ("static", 1)}
    assert sum(int(row["unseen_written"]) for row in seen.sections["process"]) == 54321
    assert by_unobserved(seen, "write") == 54321


def test_a_cleared_environment_is_named(observe: Observe, tmp_path: Path) -> None:
    script = "env -i /bin/dd if=/dev/zero of=out bs=1000 count=9 status=none; true"
    seen = observe(["bash", "-c", script], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    assert unobserved(seen) == {"dd": ("environment", 1)}
    assert sum(int(row["unseen_written"]) for row in seen.sections["process"]) == 9000


def test_a_setuid_program_is_named(observe: Observe, tmp_path: Path, iolens: Path, preload: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("runuser"):
        pytest.skip("needs root")
    place = Path("/tmp") / f"iolens-setuid-{os.getpid()}"
    place.mkdir(mode=0o755)
    try:
        shutil.copy("/bin/cat", place / "setuid-cat")
        (place / "setuid-cat").chmod(0o4755)
        (place / "data").write_bytes(bytes(70_000))
        shutil.chown(place, "nobody")
        for product in (iolens, preload):
            shutil.copy(product, place / product.name)
        run = "./iolens run -q -o log -- bash -c './setuid-cat data >out; true'"
        line = f"cd {place} && IOLENS_PRELOAD={place}/{preload.name} {run}"
        done = subprocess.run(
            ["runuser", "-u", "nobody", "--", "sh", "-c", line], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        seen = Observed(done, place / "log", iolens)
        assert unobserved(seen) == {"setuid-cat": ("setuid", 1)}
        assert by_unobserved(seen, "write") == 70_000
        assert 70_000 <= by_unobserved(seen, "read") < 70_000 + (16 << 10)  # its loader reads, too
    finally:
        shutil.rmtree(place)


def test_a_child_that_a_signal_ended(observe: Observe, tmp_path: Path) -> None:
    killed = "dd if=/dev/zero of=a bs=10 count=5 status=none; kill -9 $BASHPID"
    script = f"({killed}) 2>/dev/null; (echo x >b; kill -TERM $BASHPID); exit 0"
    seen = observe(["bash", "-c", script], cwd=tmp_path)
    assert seen.done.returncode == 0
    # The shell's own echo is a stream's, and goes to the file that the shell has redirected its descriptor to.
    streams = [
        (name, int(row["STDIO_BYTES_WRITTEN"]))
        for (of, name, _), row in seen.records.items()
        if of == "STDIO"
    ]
    assert [(name, size) for name, size in streams if size] == [(str(tmp_path / "b"), 2)]
    assert written(seen, tmp_path) == {"a": 50, "b": 2}
    ends = [(row["ended"], int(row["signal"])) for row in seen.sections["process"]]
    assert ends[0] == ("exit", 0) and ("signal", 15) in ends


FORKING_THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_long bytes;
static atomic_int stop;
static void *work(void *at)
{
	char name[32];
	for (int i = 0; !stop; i++) {
		snprintf(name, sizeof name, "t%ld-%d", (long)at, i % 20);
		int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
		for (int k = 0; k < 5; k++)
			bytes += write(fd, "0123456789", 10);
		close(fd);
		FILE *f = fopen(name, "a");
		bytes += fputs("abcde", f) >= 0 ? 5 : 0;
		fclose(f);
	}
	return NULL;
}
int main(void)
{
	pthread_t t[6];
	for (long n = 0; n < 6; n++)
		pthread_create(&t[n], NULL, work, (void *)n);
	for (int i = 0; i < 150; i++) {
		int pid = fork();
		if (pid == 0) {
			int fd = open("child", O_WRONLY | O_CREAT | O_APPEND, 0600);
			if (write(fd, "child", 5) != 5)
				_exit(1);
			if (i % 3 == 0)
				execl("/bin/true", "true", NULL);
			_exit(0);
		}
		int status;
		if (waitpid(pid, &status, 0) != pid || status)
			return 2;
	}
	stop = 1;
	for (int n = 0; n < 6; n++)
		pthread_join(t[n], NULL);
	FILE *f = fopen("account", "w");
	fprintf(f, "%ld", (long)bytes);
	return fclose(f);
}
"""


@pytest.mark.parametrize("again", range(int(os.environ.get("ROUNDS", "2"))))
def test_threads_that_write_while_others_fork(
    again: int, compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(FORKING_THREADS)], cwd=tmp_path, timeout=300)
    assert seen.done.returncode == 0, seen.done.stderr
    assert written(seen, tmp_path) == on_disk(tmp_path)


HANDLERS = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
static volatile long by_handler;
static int side;
static void on_alarm(int s)
{
	(void)s;
	int fd = open("opened-by-handler", O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0) {
		by_handler += write(fd, "1234567", 7);
		close(fd);
	}
	by_handler += write(side, "123", 3);
}
int main(void)
{
	side = open("side", O_WRONLY | O_CREAT, 0600);
	signal(SIGALRM, on_alarm);
	struct itimerval t = {{0, 150}, {0, 150}};
	setitimer(ITIMER_REAL, &t, NULL);
	long main_bytes = 0;
	char name[32];
	for (int i = 0; i < 6000; i++) {
		snprintf(name, sizeof name, "f%d", i % 50);
		int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (fd < 0)
			continue;
		long n = write(fd, "0123456789", 10);
		main_bytes += n > 0 ? n : 0;
		close(fd);
	}
	t = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &t, NULL);
	dprintf(1, "%ld %ld\n", main_bytes, by_handler);
	return 0;
}
"""


def test_handlers_that_interrupt_record_calls(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(HANDLERS)], cwd=tmp_path, timeout=300)
    assert seen.done.returncode == 0, seen.done.stderr
    main_bytes, by_handler = map(int, seen.done.stdout.split())
    found = written(seen, tmp_path)
    assert sum(n for name, n in found.items() if name.startswith("f")) == main_bytes
    recorded = found.get("side", 0) + found.get("opened-by-handler", 0)
    # What a handler does inside a record call is counted, not recorded: at most 10 bytes each.
    (row,) = seen.sections["process"]
    nested = int(row["nested_calls"])
    assert by_handler - 10 * nested <= recorded <= by_handler
    assert int(row["unseen_written"]) <= 10 * nested


def test_raw_system_calls_are_counted_by_name(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    program = compile_program(
        r"""
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	int fd = syscall(SYS_openat, AT_FDCWD, "raw", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 70; i++)
		syscall(SYS_write, fd, "0123456789", 10);
	char text[10];
	syscall(SYS_pread64, fd, text, 10, 0);
	syscall(SYS_exit_group, 3);
}
"""
    )
    seen = observe([program], cwd=tmp_path)
    assert seen.done.returncode == 3
    rows = {
        row["name"]: int(row["count"]) for row in seen.sections["operation"] if row["interface"] == "unseen"
    }
    assert rows == {"raw_open": 1, "raw_write": 70, "raw_read": 1}
    (process,) = seen.sections["process"]
    assert (process["ended"], process["exit_code"]) == ("exit", "3")
    assert (process["unseen_written"], process["unseen_read"]) == ("700", "10")


TIME_ZONE = """
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *ask(void *nothing)
{
	for (struct tm day;;)
		localtime_r(&(time_t){time(NULL)}, &day);
	return nothing;
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, ask, NULL);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (!child) {
			int fd = open("out", O_CREAT | O_WRONLY, 0600);
			_exit(write(fd, "x", 1) != 1);
		}
		int status;
		if (waitpid(child, &status, 0) != child || status)
			_exit(1);
	}
	_exit(0);
}
"""


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_a_child_forked_while_a_thread_asks_for_the_day_ends(
    compile_program: Compile, preload: Path, tmp_path: Path, zone: str
) -> None:
    """The library alone: a child names its log by the day, without a lock that nobody holds any more."""
    program = compile_program(TIME_ZONE)
    environment = dict(
        os.environ, LD_PRELOAD=str(preload), IOLENS_ENABLE_NONMPI="1", IOLENS_LOGPATH=str(tmp_path)
    )
    environment["IOLENS_ABANDONED"] = "keep"  # what other programs left is not counted here
    environment.pop("TZ", None)
    environment |= {"TZ": zone} if zone else {}
    started = subprocess.Popen([program], cwd=tmp_path, env=environment, start_new_session=True)
    try:
        assert started.wait(timeout=300) == 0
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
    assert len(list(tmp_path.glob("*.darshan"))) == 21
