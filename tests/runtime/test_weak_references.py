"""A weak reference to an MPI or a library that is not there is NULL, as without the preload library."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from observed import Observe

# The references of a program, and of a library that it is linked with.
NAMES = (
    *("MPI_Init", "MPI_Initialized", "PMPI_File_open", "mpi_init_", "ncmpi_close", "H5Fopen"),
    *("io_submit", "io_uring_submit", "read"),
)
DECLARED = "".join(f"extern long {name}() __attribute__((weak));\n" for name in NAMES)
ASKING = """
#include <stdio.h>
DECLARED
static long (*const table[])() = {LIST};
void ask_NUMBER(void)
{
	int n = sizeof table / sizeof *table;
	for (long (*const volatile *each)() = table; each < table + n; each++)
		printf("%d ", *each != NULL);
	printf("%d %d %d\\n", MPI_Init != NULL, H5Fopen != NULL, read != NULL);
	if (MPI_Init)
		MPI_Init(0, 0);
}
"""
MAIN = "\nvoid ask_1(void);\nint main(void) { ask_0(); ask_1(); return 0; }\n"


def asking(number: int) -> str:
    source = ASKING.replace("DECLARED", DECLARED).replace("LIST", ", ".join(NAMES))
    return source.replace("NUMBER", str(number))


def build(folder: Path, name: str, source: str, *options: str) -> Path:
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-O1", "-w", "-o", name, f"{name}.c", *options], cwd=folder, check=True)
    return folder / name


WAYS = {
    "lazy": [],
    "now": ["-Wl,-z,now"],
    "no-plt": ["-fno-plt", "-Wl,-z,now"],
    "no-relro": ["-Wl,-z,norelro"],
    "fixed": ["-no-pie", "-Wl,-z,dynamic-undefined-weak"],
    "exporting": ["-rdynamic", "-Wl,--hash-style=sysv"],
}


@pytest.mark.parametrize("way", list(WAYS))
def test_what_is_not_there_is_null(observe: Observe, tmp_path: Path, way: str) -> None:
    shared = ["-shared", "-fPIC", *(option for option in WAYS[way] if option != "-no-pie")]
    library = build(tmp_path, "libasking.so", asking(1), *shared)
    link = [*WAYS[way], f"-Wl,-rpath,{tmp_path}", str(library)]
    program = build(tmp_path, "program", asking(0) + MAIN, *link)
    none = " ".join("0" * (len(NAMES) - 1)) + " 1 0 0 1\n"
    bare = subprocess.run([program], capture_output=True, text=True, check=True)
    seen = observe([program], cwd=tmp_path)
    assert bare.stdout == none * 2
    assert (seen.done.returncode, seen.done.stdout.decode()) == (0, none * 2)


def test_the_library_alone_and_a_switched_off_one(preload: Path, tmp_path: Path) -> None:
    program = build(tmp_path, "program", asking(0) + "\nint main(void) { ask_0(); return 0; }\n")
    bare = subprocess.run([program], capture_output=True, check=True).stdout
    for setting in ("IOLENS_ENABLE_NONMPI", "IOLENS_DISABLE"):
        env = {**os.environ, "LD_PRELOAD": str(preload), setting: "1", "IOLENS_LOGPATH": str(tmp_path)}
        assert subprocess.run([program], env=env, capture_output=True, check=True).stdout == bare


def test_what_another_library_defines_is_there(observe: Observe, tmp_path: Path) -> None:
    """Its function is called, behind the wrapper."""
    library = build(tmp_path, "libmade.so", "int io_submit() { return -71; }", "-shared", "-fPIC")
    source = """
#include <stdio.h>
extern int io_submit() __attribute__((weak));
int main(void) { printf("%d\\n", io_submit ? io_submit(0, 0L, 0) : 0); return 0; }
"""
    link = ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}"]
    assert observe([build(tmp_path, "program", source, *link)]).done.stdout == b"-71\n"


def test_hdf5_by_weak_references_is_recorded(observe: Observe, tmp_path: Path) -> None:
    if not shutil.which("h5cc"):
        pytest.skip("no h5cc")
    source = """
#include <hdf5.h>
#pragma weak H5Fcreate
#pragma weak H5Fclose
#pragma weak H5open
int main(void)
{
	if (!H5Fcreate || !H5Fclose || !H5open)
		return 2;
	return H5Fclose(H5Fcreate("made.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) < 0;
}
"""
    (tmp_path / "program.c").write_text(source)
    link = ["-Wl,--no-as-needed", "-o", "program", "program.c"]
    subprocess.run(["h5cc", "-shlib", *link], cwd=tmp_path, check=True)
    seen = observe([tmp_path / "program"], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.total("H5F", "OPENS", str(tmp_path / "made.h5")) == 1


PLUGIN = """
extern int MPI_Init() __attribute__((weak));
extern int ncmpi_close() __attribute__((weak));
int run(void) { return MPI_Init ? MPI_Init(0, 0) != 0 && ncmpi_close(0) != 0 : 1; }
"""
LOADER = """
#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **plugin)
{
	int (*run)(void) = dlsym(dlopen(plugin[1], RTLD_NOW), "run");
	int (*by_name)() = dlsym(RTLD_DEFAULT, "MPI_Init");
	printf("%d %d\\n", run(), by_name ? by_name(0, 0) != 0 : 1);
	return 0;
}
"""


def test_what_comes_later_is_refused_and_goes_on(observe: Observe, tmp_path: Path) -> None:
    """A library that comes by dlopen, and dlsym, find the wrappers: a call returns an error, the program goes on."""
    plugin = build(tmp_path, "plugin.so", PLUGIN, "-shared", "-fPIC")
    loader = build(tmp_path, "loader", LOADER)
    bare = subprocess.run([loader, plugin], capture_output=True, check=True).stdout
    seen = observe([loader, plugin])
    assert (seen.done.returncode, seen.done.stdout) == (0, bare) == (0, b"1 1\n")
