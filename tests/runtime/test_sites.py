"""Where files were opened: the call that did it first, of every process and rank, whatever becomes of its library."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from observed import Observe
from sites import KNOWS_THREADS, build, files, opened

Compile = Callable[..., Path]
ASKED = b"_dl_find_object\0"


@pytest.fixture(autouse=True, params=["asks the linker", "walks its list"])
def walks(
    request: pytest.FixtureRequest, preload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """With the library as it is; and without _dl_find_object, which glibc has not before 2.35."""
    walks = bool(request.param == "walks its list")
    if walks:
        built = preload.read_bytes()
        assert built.count(ASKED) == 1
        older = tmp_path / "older" / preload.name
        older.parent.mkdir()
        older.write_bytes(built.replace(ASKED, ASKED.replace(b"find", b"miss")))
        monkeypatch.setenv("IOLENS_PRELOAD", str(older))
    return walks


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    return partial(build, tmp_path)


CALLS = """
NAMED(reader) {
	int fd = open(path, O_CREAT | O_RDWR, 0600); /* LINE: reader */
	return close(fd);
}
NAMED(streams) {
	FILE *f = fopen(path, "w"); /* LINE: streams */
	fputs("x", f);
	return fclose(f);
}
int main(void)
{
	char name[16];
	struct stat s;
	for (int n = 0; n < 4; n++) {
		sprintf(name, "many%d", n);
		reader(name);
	}
	streams("stream");
	stat("statted", &s);
	creat("created", 0600); /* LINE: creat */
	openat(AT_FDCWD, "opened", O_CREAT | O_RDONLY, 0600); /* LINE: openat */
	open("many0", O_RDONLY); /* not the first */
	stat("opened", &s);
	return 0;
}
"""
WHERE = {
    "many0": {"reader:reader"},
    "many3": {"reader:reader"},
    "created": {"main:creat"},
    "opened": {"main:openat"},
}


@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie"), ("-O2", "-fno-plt")])
def test_each_file_has_the_call_that_opened_it_first(
    compiled: Compile, observe: Observe, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "statted").touch()
    seen = observe([compiled("program", CALLS, *options)], cwd=tmp_path)
    assert files(seen.text, "posix", WHERE) == WHERE
    assert files(seen.text, "stdio", ["stream"]) == {"stream": {"streams:streams"}}
    rows = seen.sections["sites"]
    assert {row["module"] for row in rows} == {str(tmp_path / "program")}
    notes = subprocess.run(
        ["readelf", "-n", tmp_path / "program"], capture_output=True, text=True, check=True
    )
    assert {row["build_id"] for row in rows} == {re.search(r"Build ID: (\w+)", notes.stdout)[1]}
    # Those that most files have in common stand there once: two files have a row of their own.
    assert [int(row["file"]) > 0 for row in rows if row["interface"] == "posix"] == [False, True, True]


def test_a_program_without_build_id(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled("program", CALLS, "-Wl,--build-id=none")], cwd=tmp_path)
    assert files(seen.text, "posix", WHERE) == WHERE
    assert {row["build_id"] for row in seen.sections["sites"]} == {""}


def test_off_there_is_no_table(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled("program", CALLS)], cwd=tmp_path, env={"IOLENS_SITES": "off"})
    assert "sites" not in seen.sections
    assert seen.total("POSIX", "OPENS") == 7


def test_what_was_inherited_is_from_nowhere(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    body = 'int main(void) { puts("x"); return close(open("own", O_CREAT | O_RDWR, 0600)) || close(dup(0)); }'
    program = compiled("program", body)
    (tmp_path / "inherited").touch()
    with (tmp_path / "inherited").open() as file, (tmp_path / "printed").open("w") as printed:
        seen = observe([program], cwd=tmp_path, stdin=file, stdout=printed)
    found = opened(seen.text)
    assert found["posix", "own"] == {"main"}
    assert found["posix", "inherited"] == {""}
    assert found["stdio", "printed"] == {""}


KILLED = """
NAMED(reader) { return open(path, O_CREAT | O_RDWR, 0600); /* LINE: reader */ }
int main(void)
{
	reader("one");
	kill(getpid(), SIGKILL);
}
"""


def test_a_killed_process(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled("program", KILLED)], cwd=tmp_path)
    assert seen.sections["process"][-1]["signal"] == "9"
    assert files(seen.text, "posix", ["one"]) == {"one": {"reader:reader"}}


LIBRARY = """
int touch(const char *path);
int touch(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR, 0600); /* LINE: LIBRARY */
	return close(fd);
}
"""
LOADS = """
int main(int argc, char **argv)
{
	for (int n = 1; n + 1 < argc; n += 2) {
		void *library = dlopen(argv[n], RTLD_NOW);
		int (*touch)(const char *) = (int (*)(const char *))dlsym(library, "touch");
		touch(argv[n + 1]); /* LINE: loads */
		dlclose(library);
	}
	return close(open("own", O_CREAT | O_RDWR, 0600)); /* LINE: own */
}
"""


def test_libraries_that_are_gone_one_where_the_other_was(
    compiled: Compile, observe: Observe, tmp_path: Path
) -> None:
    first = compiled("first.so", LIBRARY.replace("LIBRARY", "first"))
    compiled("other.so", LIBRARY.replace("LIBRARY", "other"))
    command = [compiled("program", LOADS), first, "a", "./other.so", "b", first, "c"]
    seen = observe(command, cwd=tmp_path)
    want = {"a": {"touch:first"}, "b": {"touch:other"}, "c": {"touch:first"}, "own": {"main:own"}}
    assert files(seen.text, "posix", want) == want


THREADS = """
static void *one(void *path) { return (void *)(long)close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: one */ }
static void *two(void *path) { return (void *)(long)close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: two */ }
int main(void)
{
	char name[400][16];
	pthread_t thread[400];
	for (int n = 0; n < 400; n++) {
		sprintf(name[n], "file%d", n);
		pthread_create(&thread[n], NULL, n % 2 ? one : two, name[n]);
	}
	for (int n = 0; n < 400; n++)
		pthread_join(thread[n], NULL);
	return 0;
}
"""


def test_threads_that_open_at_once(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled("program", THREADS)], cwd=tmp_path)
    want = {f"file{n}": {"one:one" if n % 2 else "two:two"} for n in range(400)}
    assert files(seen.text, "posix", want) == want


FORKS = """
NAMED(reader) { return close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: reader */ }
int main(void)
{
	reader("parent");
	if (fork() == 0)
		return close(open("child", O_CREAT | O_RDWR, 0600)) || reader("shared"); /* LINE: child */
	return reader("shared") || wait(NULL) < 0;
}
"""


def test_forked_children(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled("program", FORKS)], cwd=tmp_path)
    shared, child = {"reader:reader"}, {"main:child"}
    if not KNOWS_THREADS:
        shared, child = {"reader:reader", ""}, {""}
    want = {"parent": {"reader:reader"}, "shared": shared, "child": child}
    assert files(seen.text, "posix", want) == want


THREADED = """
static void *wait_for_ever(void *unused) { return pause(), unused; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	close(open("parent", O_CREAT | O_RDWR, 0600)); /* LINE: parent */
	if (fork() == 0)
		_exit(close(open("child", O_CREAT | O_RDWR, 0600))); /* LINE: child */
	return wait(NULL) < 0;
}
"""


def test_a_forked_child_of_a_program_with_threads(
    compiled: Compile, observe: Observe, tmp_path: Path, walks: bool
) -> None:
    """The linker's list may be locked for ever there, so nobody walks it."""
    seen = observe([compiled("program", THREADED)], cwd=tmp_path)
    assert seen.done.returncode == 0
    want = {"parent": {"main:parent"}, "child": {""} if walks or not KNOWS_THREADS else {"main:child"}}
    assert files(seen.text, "posix", want) == want


# ---- what libraries open for their callers ----

unwinds = pytest.mark.skipif(platform.machine() != "x86_64", reason="callers are found on x86-64 only")
BINDINGS = (
    *("libstdc++.so.6", "libc++.so.1", "libgfortran.so.5", "libgfortran-040039e1.so.5.0.0"),
    *("libifcoremt.so.5", "libflang_rt.runtime.so", "libFortranRuntime.so", "libnvf.so"),
    *("libmpifort.so.12", "libmpichfort.so.12", "libmpifort_gnu_91.so.12", "libmpi_cxx.so.40"),
    *("libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40"),
    *("libhdf5_fortran.so.310", "libhdf5_serialhl_fortran.so.100", "libhdf5_cpp.so.103", "libhdf5_hl.so.200"),
    *("libnetcdf.so.19", "libnetcdff.so.7", "libnetcdf_c++4.so.1", "libnetcdf-cxx4.so.1", "libpnetcdf.so.4"),
)
NO_BINDINGS = ("libhdf5.so.103", "libmpi.so.40", "libmpich.so.12", "libreader.so")


@unwinds
def test_a_binding_opens_files_for_its_caller(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    library = compiled("first.so", LIBRARY.replace("LIBRARY", "binding"))
    names = [*BINDINGS, *NO_BINDINGS]
    for name in names:
        shutil.copy(library, tmp_path / name)
    command = [str(part) for name in names for part in (tmp_path / name, f"by {name}")]
    seen = observe([compiled("program", LOADS), *command], cwd=tmp_path)
    want = {f"by {name}": {"main:loads"} for name in BINDINGS}
    want |= {f"by {name}": {"touch:binding"} for name in NO_BINDINGS}
    assert files(seen.text, "posix", want) == want


BINDING = """
int touch(const char *path);
int touch(const char *path)
{
	volatile char room[ROOM];
	room[0] = 0;
	return close(open(path, O_CREAT | O_RDWR, 0600)) + room[0]; /* LINE: binding */
}
"""
OUTER = """
int touch(const char *path);
int outer(const char *path);
int outer(const char *path) { return touch(path) + 1; }
"""
USER = """
int outer(const char *path);
NAMED(user) { return outer(path) + 1; /* LINE: user */ }
int main(void) { return user("a") < 0; }
"""


def opened_through(
    compiled: Compile, observe: Observe, folder: Path, binding: str, *options: str
) -> set[str]:
    """Where a file was opened that a user's function opens by two libraries; the options are the inner one's."""
    inner = compiled("libnetcdf.so", binding, *options)
    outer = compiled("libnetcdff.so", OUTER, "-Wl,--no-as-needed", str(inner))
    program = compiled("program", USER, "-Wl,--no-as-needed", str(outer), str(inner))
    seen = observe([program], cwd=folder)
    assert seen.done.returncode == 0
    return opened(seen.text)["posix", "a"]


@unwinds
@pytest.mark.parametrize(
    "options",
    [
        ("-DROOM=path[0]", "-fno-omit-frame-pointer"),  # an array of a size that is not known
        ("-DROOM=1", "-O2"),
        ("-DROOM=1", "-O0"),
        ("-DROOM=100000", "-O2", "-fomit-frame-pointer"),
        ("-DROOM=path[0]", "-O2", "-fstack-protector-all", "-fstack-clash-protection"),
        ("-DROOM=1", "-fexceptions", "-Wl,-s"),
    ],
)
def test_a_binding_in_a_binding_however_it_is_compiled(
    compiled: Compile, observe: Observe, tmp_path: Path, options: tuple[str, ...]
) -> None:
    assert opened_through(compiled, observe, tmp_path, BINDING, *options) == {"user:user"}


ASSEMBLY = """
__asm__(".globl touch\\n.type touch,@function\\n"
	"touch:\\n.cfi_startproc\\nsubq $24,%rsp\\n"
	"DIRECTIVE\\n"
	"movl $0x42,%esi\\nmovl $0600,%edx\\nxorl %eax,%eax\\ncall open@plt\\n"
	"addq $24,%rsp\\nret\\n.cfi_endproc\\n.size touch,.-touch\\n");
"""
ALIGNED = """
int touch(const char *path);
__attribute__((force_align_arg_pointer)) int touch(const char *path)
{
	_Alignas(64) volatile char room[64];
	room[path[0] & 63] = 0;
	return close(open(path, O_CREAT | O_RDWR, 0600)) + room[path[0] & 63]; /* LINE: binding */
}
"""


@unwinds
@pytest.mark.parametrize(
    "directive",
    [
        ".cfi_def_cfa_offset 0x7ffff8",  # behind the stack
        ".cfi_def_cfa_offset 33",
        ".cfi_def_cfa_offset 0x7ffffff8",
        ".cfi_def_cfa_offset 0",  # not further out
        ".cfi_def_cfa_register rax",  # which no caller has
        ".cfi_def_cfa_register xmm0",
        ".cfi_undefined rip",  # outermost
        ".cfi_register rip,rax",
        ".cfi_escape 0x0f,2,0x77,32",  # an expression
        ".cfi_escape 0x3f",  # no instruction
        ".cfi_escape 0x0b",  # back to a state that was not kept
        ".cfi_escape 0x0a,0x0a,0x0a,0x0a,0x0a",
        ".cfi_escape 0x0e,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80",
        ".cfi_signal_frame",
    ],
)
def test_tables_that_cannot_be_followed_name_the_binding(
    compiled: Compile, observe: Observe, tmp_path: Path, directive: str
) -> None:
    source = ASSEMBLY.replace("DIRECTIVE", directive)
    found = opened_through(compiled, observe, tmp_path, source)
    assert {place.partition(":")[2] or place for place in found} == {"touch"}


@unwinds
def test_a_binding_without_tables_or_with_an_aligned_stack(
    compiled: Compile, observe: Observe, tmp_path: Path
) -> None:
    none = ("-DROOM=1", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    assert opened_through(compiled, observe, tmp_path, BINDING, *none) == {"touch:binding"}
    assert opened_through(compiled, observe, tmp_path, ALIGNED) <= {"user:user", "touch:binding"}


ITS_OWN = """
static const char *name;
static void *work(void *path) { return (void *)(long)close(open(path, O_CREAT | O_RDWR, 0600)); /* LINE: work */ }
static void handler(int unused) { close(open(name, O_CREAT | O_RDWR, 0600 + 0 * unused)); /* LINE: handler */ }
int touch(const char *path);
int touch(const char *path)
{
	pthread_t thread;
	name = "handled";
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	pthread_create(&thread, NULL, work, (void *)path);
	return pthread_join(thread, NULL);
}
"""


@unwinds
def test_a_bindings_own_thread_and_handler(compiled: Compile, observe: Observe, tmp_path: Path) -> None:
    compiled("libnetcdf.so", ITS_OWN)
    seen = observe([compiled("program", LOADS), "./libnetcdf.so", "a"], cwd=tmp_path)
    want = {"a": {"work:work"}, "handled": {"handler:handler"}}
    assert files(seen.text, "posix", want) == want
