"""A process that reads and writes nothing maps no store; its first operation wakes it, wherever that comes from."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import shown
from observed import Observe

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

HEAD = r"""
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int use(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	return fd < 0 || write(fd, "12345", 5) != 5 || close(fd);
}
"""


def test_one_that_does_nothing_is_told_of(compile_program: Compile, observe: Observe, tmp_path: Path) -> None:
    """And what iolens writes to tell it is not the process's."""
    seen = observe([compile_program(HEAD + "int main(void) { return 7; }")], cwd=tmp_path)
    (row,) = seen.sections["process"]
    assert (row["ended"], row["exit_code"]) == ("exit", "7")
    assert row["unseen_written"] == "0"
    assert float(row["end"]) > float(row["start"]) > 0
    assert not seen.records


def test_what_tells_of_children_is_not_their_parents(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    """The kernel counts what a child has written for who waits for it."""
    program = compile_program(HEAD + "int main(void) { return 0; }")
    seen = observe(["sh", "-c", f"for i in 1 2 3 4 5; do {program}; done; {program} & wait; :"], cwd=tmp_path)
    assert len([row for row in seen.sections["process"] if row["exe"] == str(program)]) == 6
    assert {row["unseen_written"] for row in seen.sections["process"]} == {"0"}
    assert not [
        row
        for row in seen.sections["operation"]
        if row["interface"] == "unobserved" and row["name"] == "write"
    ]


FULL = r"""
int main(void)
{
	int last = -1, one;
	while ((one = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0)
		last = one;
	use("early");
	for (int k = 3; k <= last; k++)
		close(k);
	return use("late");
}
"""


def test_one_that_cannot_be_woken_is_woken_later(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    """Descriptors that a program has used up are free again some time."""
    program = compile_program("#include <sys/socket.h>\n" + HEAD + FULL)
    seen = observe(["sh", "-c", f"ulimit -n 64; exec {program}"], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.total("POSIX", "BYTES_WRITTEN") == 5
    assert seen.sections["process"][-1]["ended"] == "exit"


def test_the_end_is_told_where_no_memory_is_left(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    program = r"""
int main(void)
{
	for (size_t n = 1 << 26; n >= 4096; n /= 2)
		while (mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
			;
	return use("file");
}
"""
    command = f"ulimit -v 300000; {compile_program(HEAD + program)}; exit $?"
    seen = observe(["sh", "-c", command], cwd=tmp_path)
    assert seen.done.returncode == 0
    rows = {row["exe"].rsplit("/", 1)[-1]: row for row in seen.sections["process"]}
    (row,) = [row for name, row in rows.items() if name not in ("sh", "dash", "bash")]
    assert (row["ended"], row["unseen_written"]) == ("exit", "5")


def test_it_maps_nothing(compile_program: Compile, observe: Observe, tmp_path: Path) -> None:
    """Its store is a file of few blocks, of which nothing is in the process's memory."""
    looks = r"""
int main(void)
{
	static char text[1 << 16];
	long n, fd;
	__asm__ volatile("syscall" : "=a"(fd) : "a"(SYS_open), "D"("/proc/self/maps"), "S"(O_RDONLY), "d"(0)
		: "rcx", "r11", "memory");
	__asm__ volatile("syscall" : "=a"(n) : "a"(SYS_read), "D"(fd), "S"(text), "d"(sizeof text - 1)
		: "rcx", "r11", "memory");
	return n <= 0 || strstr(text, ".store");
}
"""
    assert observe([compile_program(HEAD + looks)], cwd=tmp_path).done.returncode == 0
    awake = looks.replace("long n, fd;", 'long n, fd = use("file");')
    assert observe([compile_program(HEAD + awake)], cwd=tmp_path).done.returncode == 1


@pytest.mark.parametrize(
    "first",
    [
        'kill(getpid(), SIGUSR1); return use("other");',
        'pid_t pid = fork(); return pid ? wait(NULL) < 0 || use("file") : use("file");',
        'pid_t pid = syscall(SYS_fork); return pid ? wait(NULL) < 0 || use("file") : use("file");',
        "pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);"
        ' return pid ? wait(NULL) < 0 || use("file") : use("file");',
        'pid_t pid = vfork(); if (!pid) { use("file"); _exit(0); } return wait(NULL) < 0 || use("file");',
    ],
    ids=["handler", "fork", "bare fork", "bare clone", "vfork"],
)
def test_the_first_operation_comes_from_anywhere(
    compile_program: Compile, observe: Observe, tmp_path: Path, first: str
) -> None:
    program = """
static void handler(int signal) { use("file"); use("file"); }
int main(void) { struct sigaction a = {.sa_handler = handler}; sigaction(SIGUSR1, &a, NULL); %s }
"""
    seen = observe([compile_program(HEAD + program % first)], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.total("POSIX", "OPENS", f"{tmp_path}/file") == 2
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/file") == 10


def test_threads_wake_it_at_once(compile_program: Compile, observe: Observe, tmp_path: Path) -> None:
    program = """
static pthread_barrier_t all;
static void *one(void *path)
{
	pthread_barrier_wait(&all);
	return (void *)(long)use(path);
}
int main(void)
{
	pthread_t thread[32];
	char name[32][16];
	pthread_barrier_init(&all, NULL, 32);
	for (int n = 0; n < 32; n++) {
		snprintf(name[n], sizeof name[n], "file%d", n);
		pthread_create(&thread[n], NULL, one, name[n]);
	}
	for (int n = 0; n < 32; n++)
		pthread_join(thread[n], NULL);
	return 0;
}
"""
    seen = observe([compile_program(HEAD + program)], cwd=tmp_path)
    assert (seen.total("POSIX", "OPENS"), seen.total("POSIX", "BYTES_WRITTEN")) == (32, 160)
    assert len(seen.sections["process"]) == 1


@pytest.mark.parametrize(
    "narrowed",
    [
        "struct rlimit none = {3, 3}; setrlimit(RLIMIT_NOFILE, &none); close(0); close(1);",
        "struct rlimit few = {64, 64}; setrlimit(RLIMIT_FSIZE, &few);",
        "struct rlimit few = {64, 64}; prlimit(0, RLIMIT_FSIZE, &few, NULL);",
        "struct rlimit few = {64, 64}; syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, &few, NULL);",
        'if (chroot(".")) return 0;',
        'if (syscall(SYS_chroot, ".")) return 0;',
        "if (!getuid()) { setfsuid(65534); setfsuid(0); }",
    ],
)
def test_what_narrows_it_wakes_it_first(
    compile_program: Compile, observe: Observe, tmp_path: Path, narrowed: str
) -> None:
    """Else its store might be out of reach when it is wanted."""
    program = f'int main(void) {{ {narrowed} return use("file"); }}'
    seen = observe([compile_program(HEAD + program)], cwd=tmp_path)
    if "chroot" in narrowed and os.geteuid():
        pytest.skip("this user may not change its root")
    assert seen.done.returncode == 0
    assert seen.total("POSIX", "BYTES_WRITTEN") == 5


def test_one_that_gives_up_system_calls_is_woken(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    """Strict mode allows read and write alone, on what is open."""
    program = r"""
int main(int argc, char **argv)
{
	prctl(PR_SET_SECCOMP, 1, 0, 0, 0);
	write(1, "12345", 5);
	syscall(SYS_exit, 0);
}
"""
    seen = observe([compile_program(HEAD + program)], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"12345")


def test_one_killed_asleep_is_told_of(compile_program: Compile, observe: Observe, tmp_path: Path) -> None:
    program = "int main(void) { kill(getpid(), SIGKILL); return 0; }"
    seen = observe([compile_program(HEAD + program)], cwd=tmp_path)
    (row,) = seen.sections["process"]
    assert (row["ended"], row["signal"], row["unseen_written"]) == ("signal", "9", "0")


def test_a_limit_that_another_process_sets_ends_nothing(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    """Of the size of files, which the end of the store lies beyond: to write there would be answered by a signal."""
    ends = compile_program(HEAD + "int main(void) { usleep(300000); return 7; }")
    command = f"{ends} & sleep 0.1; prlimit --fsize=100 --pid $!; wait $!"
    seen = observe(["bash", "-c", command], cwd=tmp_path)
    assert seen.done.returncode == 7


BUSY = r"""
int main(void) /* without any function of libc */
{
	static char text[4096];
	long fd, n;
	__asm__ volatile("syscall" : "=a"(fd) : "a"(SYS_open), "D"("/dev/zero"), "S"(O_RDONLY), "d"(0)
		: "rcx", "r11", "memory");
	for (int i = 0; i < 100; i++)
		__asm__ volatile("syscall" : "=a"(n) : "a"(SYS_read), "D"(fd), "S"(text), "d"(sizeof text)
		: "rcx", "r11", "memory");
	return n != sizeof text;
}
"""


def test_what_is_not_seen_does_not_wake_it_and_is_told(
    compile_program: Compile, observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(HEAD + BUSY)], cwd=tmp_path)
    (row,) = seen.sections["process"]
    assert int(row["unexplained_read"]) == 100 * 4096


BUSY_AND_EXECS = BUSY.replace("return n != sizeof text;", 'return execl("/bin/true", "true", NULL);')
EXECS = 'int main(void) { return execl("/bin/true", "true", NULL); }'


@pytest.mark.parametrize(
    "case",
    [
        ("int main(void) { return 0; }", {}, 0),
        ('int main(void) { return puts("1") < 0; }', {}, 1),
        (BUSY, {}, 1),
        ("int main(void) { return 0; }", {"IOLENS_LOGFILE": "asked.darshan"}, 1),
        (EXECS, {}, 0),
        (EXECS, {"IOLENS_LOGFILE": "asked.darshan"}, 1),
        (BUSY_AND_EXECS, {}, 1),
        ("int main(void) { return setuid(getuid()) || wait(NULL) >= 0; }", {}, 0),
        ('int main(void) { return setuid(getuid()) || use("file"); }', {}, 1),
        ('int main(void) { execl("/none", "none", NULL); return use("file"); }', {}, 1),
    ],
    ids=[
        "nothing",
        "a line",
        "unseen",
        "asked for",
        "exec",
        "exec asked for",
        "unseen and exec",
        "roused",
        "roused and used",
        "no exec",
    ],
)
def test_the_library_alone_writes_a_log_of_what_did_anything(
    preload: Path, compile_program: Compile, tmp_path: Path, case: tuple[str, dict[str, str], int]
) -> None:
    program, settings, logs = case
    alone = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    command = [compile_program(HEAD + program)]
    env = {**os.environ, **alone, **settings}
    done = subprocess.run(command, env=env, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, stderr=-1)
    assert not done.stderr
    assert len(list(tmp_path.rglob("*.darshan"))) == logs


def test_alone_it_asks_for_the_clock_source_when_it_wakes(
    compile_program: Compile, preload: Path, run_iolens: Run, tmp_path: Path
) -> None:
    """Its times are from its start all the same."""
    program = compile_program(
        HEAD
        + "int main(int n, char **v) { usleep(300000); return n > 1 && (use(v[1]) || usleep(300000) || use(v[1])); }"
    )
    log, trace = tmp_path / "log.darshan", tmp_path / "trace"
    alone = ["-E", f"LD_PRELOAD={preload}", "-E", "IOLENS_ENABLE_NONMPI=1"]
    asked = []
    for arguments in ([], [str(tmp_path / "file")]):
        own_log = ["-E", f"IOLENS_LOGFILE={log}"] if arguments else []
        traced = ["strace", "-f", "-e", "trace=openat", "-o", trace, *alone, *own_log, program, *arguments]
        subprocess.run(traced, check=True)
        asked.append(trace.read_text().count("current_clocksource"))
    assert asked == [0, 1]
    row = shown.records(run_iolens(["show", log]).stdout)["POSIX", f"{tmp_path}/file", 0]
    first, last = (float(row[f"POSIX_F_WRITE_{end}_TIMESTAMP"]) for end in ("START", "END"))
    assert 0.3 <= first < last
    assert 0.3 <= last - first <= last - 0.3


UNTOLD = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, RESULT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {4, filter};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_seccomp), "D"(1), "S"(0), "d"(&program)
		: "rcx", "r11", "memory");
	errno = 55;
	int fd = open("file", O_CREAT | O_WRONLY, 0600);
	return result || fd < 0 || errno != 55 || write(fd, "12345", 5) != 5;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program's own instruction is that of x86-64")
@pytest.mark.parametrize("result", ["SECCOMP_RET_KILL_PROCESS", "(SECCOMP_RET_ERRNO | 1)"])
def test_alone_it_wakes_where_the_kernel_is_not_asked_any_more(
    compile_program: Compile, preload: Path, tmp_path: Path, result: str
) -> None:
    """A filter of the program's own instruction, of which nobody was told."""
    program = compile_program(HEAD + UNTOLD.replace("RESULT", result))
    alone = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(tmp_path)}
    subprocess.run([program], env={**os.environ, **alone}, cwd=tmp_path, check=True)
    assert len(list(tmp_path.rglob("*.darshan"))) == 1


def alone(preload: Path, logs: Path) -> dict[str, str]:
    """The environment of the library without `iolens run`, in the node's time zone."""
    own = {"LD_PRELOAD": f"{preload}", "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": f"{logs}"}
    return {**{name: value for name, value in os.environ.items() if name != "TZ"}, **own}


def test_one_that_does_nothing_reads_no_time_zone(
    compile_program: Compile, preload: Path, tmp_path: Path
) -> None:
    program = compile_program(HEAD + "int main(void) { return 0; }")
    words = [w for name, value in alone(preload, tmp_path).items() for w in ("-E", f"{name}={value}")]
    trace = tmp_path / "trace"
    subprocess.run(["strace", "-o", trace, *words, program], env={"PATH": os.environ["PATH"]}, check=True)
    assert "libiolens" in trace.read_text()
    assert "localtime" not in trace.read_text()


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/New_York", "Pacific/Pago_Pago"])
def test_a_log_has_the_day_and_the_second_of_the_node(
    compile_program: Compile, preload: Path, tmp_path: Path, zone: str
) -> None:
    """/etc/localtime is another one in a name space of the test's own."""
    program = compile_program(HEAD + 'int main(void) { return use("out"); }')
    script = f"mount --bind /usr/share/zoneinfo/{zone} /etc/localtime && exec env $OWN {program}"
    (tmp_path / "logs").mkdir()
    env = alone(preload, tmp_path / "logs")
    own = " ".join(
        f"{name}={env.pop(name)}" for name in ("LD_PRELOAD", "IOLENS_ENABLE_NONMPI", "IOLENS_LOGPATH")
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=tmp_path,
        env={**env, "OWN": own},
        capture_output=True,
        check=False,
    )
    logs = list((tmp_path / "logs").iterdir())
    if not logs and b"mount" in done.stderr + done.stdout:
        pytest.skip("no mount of one's own here, or no such zone")
    (log,) = logs
    month, day, second = (int(word) for word in log.name.split("_")[3].split("-")[:3])
    now = datetime.now(ZoneInfo(zone))
    begun = now.replace(month=month, day=day, hour=0, minute=0, second=0) + timedelta(seconds=second)
    assert 0 <= (now - begun).total_seconds() < 60
