"""Libraries that come by dlopen, out of the global scope, several at once, or not at all; what runs before iolens."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

LIBAIO = """
#include <fcntl.h>
#include <libaio.h>
#include <stdlib.h>
int run(void)
{
	io_context_t context = 0;
	struct iocb block, *list[] = {&block};
	struct io_event event;
	static char text[5000];
	int fd = open("moved", O_RDWR | O_CREAT, 0600);
	if (io_setup(4, &context) != 0)
		return -1;
	io_prep_pwrite(&block, fd, text, sizeof text, 0);
	int submitted = io_submit(context, 1, list);
	int done = submitted == 1 ? io_getevents(context, 1, 1, &event, NULL) : submitted;
	io_destroy(context);
	return done == 1 ? (int)event.res : done;
}
"""

LIBURING = """
#include <fcntl.h>
#include <liburing.h>
int run(void)
{
	struct io_uring ring;
	static char text[5000];
	int fd = open("moved", O_RDWR | O_CREAT, 0600), code = io_uring_queue_init(4, &ring, 0);
	if (code < 0)
		return code;
	io_uring_prep_write(io_uring_get_sqe(&ring), fd, text, sizeof text, 0);
	struct io_uring_cqe *done = NULL;
	if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done) < 0)
		return -1;
	code = done->res;
	io_uring_cqe_seen(&ring, done);
	io_uring_queue_exit(&ring);
	return code;
}
"""

# Loads each argument, out of everybody else's sight, calls its run() and, after a "-", forgets it before.
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **plugins)
{
	void *last = NULL;
	for (char **at = plugins + 1; *at; at++) {
		if (**at == '-') {
			dlclose(last);
			continue;
		}
		last = dlopen(*at, RTLD_NOW | RTLD_LOCAL);
		int (*run)(void) = last ? (int (*)(void))dlsym(last, "run") : NULL;
		printf("%d\\n", run ? run() : -4711);
	}
}
"""

MISSING = """
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **library)
{
	int (*submit)(void *, long, void *) = dlsym(RTLD_DEFAULT, "io_submit");
	printf("%d\\n", submit ? submit(NULL, 1, NULL) : -38);
	dlopen(library[1], RTLD_NOW | RTLD_GLOBAL);
	submit = dlsym(RTLD_DEFAULT, "io_submit");
	printf("%d\\n", submit ? submit(NULL, 1, NULL) : -38);
}
"""


def plugin(folder: Path, name: str, source: str, *flags: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    command = ["cc", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", *flags]
    subprocess.run(command, cwd=folder, check=True)
    return folder / f"{name}.so"


@pytest.mark.parametrize(("source", "library"), [(LIBAIO, "aio"), (LIBURING, "uring")])
def test_a_plugin_finds_its_library(
    source: str, library: str, compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    loader, one = compile_program(LOADER), plugin(tmp_path, "one", source, f"-l{library}")
    seen = observe([loader, one, "-", one], cwd=tmp_path)
    assert seen.done.stdout == b"5000\n5000\n"


def test_who_brings_the_function_along_calls_that(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Two plugins with a copy each, and one that exports the function itself: each gets its own."""
    plugins = []
    for number in (31, 32):
        copy = plugin(tmp_path, f"libaio-{number}", f"int io_submit() {{ return -{number}; }}")
        source = "int io_submit(); int run(void) { int got = io_submit(0, 0L, 0); return got; }"
        link = [f"-Wl,-rpath,{tmp_path}", str(copy), "-fno-optimize-sibling-calls"]
        plugins.append(plugin(tmp_path, f"uses-{number}", source, *link))
    source = "int io_submit() { return -33; } int run(void) { int got = io_submit(0, 0L, 0); return got; }"
    plugins.append(plugin(tmp_path, "itself", source, "-fno-optimize-sibling-calls"))
    seen = observe([compile_program(LOADER), *plugins, *reversed(plugins)], cwd=tmp_path)
    assert seen.done.stdout.split() == [b"-31", b"-32", b"-33", b"-33", b"-32", b"-31"]


def test_a_miss_is_not_kept(compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path) -> None:
    library = plugin(tmp_path, "libaio-late", "int io_submit() { return -34; }")
    bare = subprocess.run([compile_program(MISSING), library], capture_output=True, check=True)
    seen = observe([compile_program(MISSING), library], cwd=tmp_path)
    assert bare.stdout == seen.done.stdout == b"-38\n-34\n"


# What is not there is found in the preloaded library alone, as by a constructor of a library that comes later.
MISSES = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int n, char **library)
{
	void *ours = dlopen(strtok(getenv("LD_PRELOAD"), ":"), RTLD_LAZY | RTLD_NOLOAD);
	int (*submit)(void *, long, void *) = dlsym(ours, "io_submit"), last = 0;
	for (int i = 0; i < 1000; i++)
		last = submit(NULL, 1, NULL);
	printf("%d\\n", last);
	dlopen(library[1], RTLD_NOW | RTLD_GLOBAL);
	for (int i = 0; i < 1000; i++)
		last = submit(NULL, 1, NULL);
	printf("%d\\n", last);
}
"""


def test_what_is_missing_is_looked_for_once(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Until more is loaded: 2,000 calls ask the linker no more often than ten do."""
    library = plugin(tmp_path, "libaio-late", "int io_submit() { return -34; }")
    debug = {"LD_DEBUG": "symbols", "LD_DEBUG_OUTPUT": str(tmp_path / "linker")}
    seen = observe([compile_program(MISSES), library], cwd=tmp_path, env=debug)
    assert seen.done.stdout == b"-38\n-34\n"
    lines = [line for path in tmp_path.glob("linker.*") for line in path.read_text().splitlines()]
    assert len([line for line in lines if "symbol=io_submit;" in line]) < 100


# A library whose constructor waits for a thread that makes the first call of another library's wrapped function.
CONSTRUCTOR = """
#include <pthread.h>
int io_submit();
static int got;
static void *call(void *nothing)
{
	got = io_submit(0, 0L, 0);
	return nothing;
}
__attribute__((constructor)) static void start(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, call, 0);
	pthread_join(thread, 0);
}
int run(void) { return got; }
"""


def test_a_constructor_may_wait_for_a_thread_that_calls(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """The loader's lock is held meanwhile."""
    library = plugin(tmp_path, "libaio-late", "int io_submit() { return -34; }")
    one = plugin(tmp_path, "one", CONSTRUCTOR, "-pthread", f"-Wl,-rpath,{tmp_path}", str(library))
    seen = observe(["timeout", "20", compile_program(LOADER), one], cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stdout) == (0, b"-34\n")


# Forks while a thread is in the dynamic linker; children call what no parent has called, and who waits is ended.
FORKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int pass(struct dl_phdr_info *object, size_t size, void *nothing)
{
	for (volatile int k = 0; k < 200; k++)
		;
	return 0;
}
static void *linker(void *nothing)
{
	for (;;) {
		void *library = dlopen("libanl.so.1", RTLD_NOW);
		dl_iterate_phdr(pass, NULL);
		if (library)
			dlclose(library);
	}
	return nothing;
}
int main(int n, char **plugin)
{
	pthread_t thread;
	int (*run)(void) = (int (*)(void))dlsym(dlopen(plugin[1], RTLD_NOW | RTLD_LOCAL), "run");
	pthread_create(&thread, NULL, linker, NULL);
	for (int i = 0, status; i < 60; i++) {
		pid_t child = fork();
		if (!child) {
			alarm(3);
			_exit(run() == -34 ? 0 : 9);
		}
		waitpid(child, &status, 0);
		if (status)
			printf("%d: %x\\n", i, status);
		usleep(rand() % 300);
	}
	fflush(stdout);
	_exit(0);
}
"""


@pytest.mark.parametrize("where", ["beside", "itself"])
def test_a_fork_of_a_thread_in_the_linker_waits_for_nothing(
    where: str, compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Without iolens such a call waits for nothing, and a dlopen or dl_iterate_phdr would wait for ever."""
    library = plugin(tmp_path, "libaio-late", "int io_submit() { return -34; }")
    source = "int io_submit(); int run(void) { int got = io_submit(0, 0L, 0); return got; }"
    link = [f"-Wl,-rpath,{tmp_path}", str(library), "-fno-optimize-sibling-calls"]
    if where == "itself":
        source, link = "int io_submit() { return -34; } " + source, link[-1:]
    one = plugin(tmp_path, "one", source, *link)
    assert observe([compile_program(FORKS), one], cwd=tmp_path, timeout=300).done.stdout == b""


@pytest.mark.parametrize("style", ["gnu", "sysv"])
def test_what_is_preloaded_behind_iolens_is_called_by_it(
    style: str, compile_program: Callable[[str], Path], preload: Path, tmp_path: Path
) -> None:
    """Whatever tables of names it has: one kind is read at start, the other is left to the linker."""
    behind = plugin(
        tmp_path, "behind", "int rmdir(const char *p) { return 35; }", f"-Wl,--hash-style={style}"
    )
    program = compile_program(
        'int main() { return rmdir("/nowhere") == 35 && unlink("/nowhere") == -1 ? 0 : 9; }'
    )
    log = {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(tmp_path / "log")}
    subprocess.run([program], env={"LD_PRELOAD": f"{preload}:{behind}", **log}, check=True)
    assert (tmp_path / "log").exists()


PLUGIN = """
#include <stdio.h>
long H5Fopen(const char *name, unsigned flags, long access);
long run(void) { return H5Fopen("none", 0, 0); }
"""
IN_TURN = """
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	for (int turn = 0; turn < 6; turn++) {
		char name[64];
		snprintf(name, sizeof name, "./plugin%d.so", turn % 2 + 1);
		void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!plugin)
			return 1;
		printf("%ld ", ((long (*)(void))dlsym(plugin, "run"))());
		dlclose(plugin);
	}
	return 0;
}
"""


def test_a_plugin_at_the_place_of_another_calls_its_own_library(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    """What is kept for callers in a segment is out of date when the program has unloaded something."""
    (tmp_path / "plugin.c").write_text(PLUGIN)
    for n in ("1", "2"):
        (tmp_path / "q.c").write_text(
            f"long H5Fopen(void) {{ return {n}; }}\nint H5open(void) {{ return 0; }}\n"
        )
        shared = ["cc", "-shared", "-fPIC", "-o"]
        subprocess.run([*shared, f"libq{n}.so", f"-Wl,-soname,libq{n}.so", "q.c"], cwd=tmp_path, check=True)
        linked = [f"plugin{n}.so", "plugin.c", "-L.", f"-lq{n}", f"-Wl,-rpath,{tmp_path}"]
        subprocess.run([*shared, *linked], cwd=tmp_path, check=True)
    done = observe([compile_program(IN_TURN)], cwd=tmp_path).done
    assert (done.returncode, done.stdout.split()) == (0, [b"1", b"2"] * 3)


SIZE = 16 << 20

EARLY = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static char block[1 << 20];
static void up(void)
{
	int fd = open("early", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; i < 16; i++)
		if (write(fd, block, sizeof block) != sizeof block)
			abort();
	close(fd);
}
__attribute__((section(".preinit_array"), used)) static void (*before)(void) = up;
int main(void) { return 0; }
"""


def test_what_a_program_writes_before_iolens_runs_in_it_is_unseen(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    program = compile_program(EARLY)
    seen = observe([program], options=(), cwd=tmp_path)
    (row,) = seen.sections["process"]
    assert (tmp_path / "early").stat().st_size == SIZE
    assert int(row["unseen_written"]) == SIZE
    assert int(row["unseen_read"]) < 64 << 10
    assert re.search(rb"^  unexplained .*wrote 16\.0 MiB", seen.done.stderr, re.MULTILINE)
    later = observe(["sh", "-c", f"echo long enough to write; exec {program}"], cwd=tmp_path)
    assert sum(int(row["unseen_written"]) for row in later.sections["process"]) == SIZE


@pytest.mark.parametrize("option", ["-Wl,-z,initfirst", "-Wl,-z,now"])
def test_what_a_library_writes_in_its_constructor_is_counted_or_unseen(
    observe: Observe, option: str, tmp_path: Path
) -> None:
    """One that the loader initialises before all others, and one that it may."""
    early, use = EARLY.split("__attribute__", maxsplit=1)[0], "int main(void) { return 0; }\n"
    (tmp_path / "early.c").write_text(
        early + "__attribute__((constructor)) static void begin(void) { up(); }\n"
    )
    (tmp_path / "use.c").write_text(use)
    library = ["cc", "-shared", "-fPIC", option, "-o", "libearly.so", "early.c"]
    subprocess.run(library, cwd=tmp_path, check=True)
    command = ["cc", "-o", "use", "use.c", "-Wl,--no-as-needed", "./libearly.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    seen = observe(["./use"], cwd=tmp_path)
    assert (tmp_path / "early").stat().st_size == SIZE
    (row,) = seen.sections["process"]
    assert seen.total("POSIX", "BYTES_WRITTEN") + int(row["unseen_written"]) == SIZE
