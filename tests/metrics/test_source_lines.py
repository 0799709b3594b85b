"""Where files were opened, as functions and lines: with debug information, without, rebuilt, gone, no file at all."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from iolens.metrics import Dataset, source_lines
from iolens.metrics.source_lines import Place, find_places
from iolens.metrics.symbol_names import readable
from iolens.rules import find, opened_by
from mpis import FAMILIES, MPIS
from observed import Observe

PROGRAM = """\
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
extern int library(const char *name);
__attribute__((noinline)) int reader(const char *name)
{
	return close(open(name, O_CREAT | O_RDWR, 0600));
}
int main(void)
{
	char name[16];
	for (int n = 0; n < 3; n++) {
		sprintf(name, "file%d", n);
		reader(name);
	}
	fclose(fopen("stream", "w"));
	return library("other");
}
"""
LIBRARY = """\
#include <fcntl.h>
#include <unistd.h>
static inline int inlined(const char *name)
{
	return open(name, O_CREAT | O_RDWR, 0600);
}
int library(const char *name)
{
	return close(inlined(name));
}
"""
Made = Callable[..., dict[str, str]]


@pytest.fixture
def made(observe: Observe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Compile, run, do something to the files, and ask: file -> where it was opened."""
    monkeypatch.setattr(source_lines, "_DEBUG", tmp_path / "debug")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))

    def build(*options: str) -> None:
        for name, source in (("libother.so", LIBRARY), ("program", PROGRAM)):
            (tmp_path / "source.c").write_text(source)
            (tmp_path / "source.c").replace(tmp_path / f"{name}.c")
            last = ["-shared", "-fPIC"] if name.endswith(".so") else ["-L.", "-lother", "-Wl,-rpath,$ORIGIN"]
            command = ["cc", "-O1", *options, "-o", name, f"{name}.c", *last]
            subprocess.run(command, cwd=tmp_path, check=True)

    def asked(*options: str, afterwards: Callable[[], object] = lambda: None) -> dict[str, str]:
        build(*options)
        seen = observe([tmp_path / "program"], cwd=tmp_path)
        assert seen.done.returncode == 0
        afterwards()
        with Dataset(seen.log) as data:
            rows = data.rows("SELECT name, place FROM file_site JOIN name_of USING (log, id)")
        return {Path(row["name"]).name: row["place"] for row in rows}

    asked.build = build  # type: ignore[attr-defined]
    return asked


WITH_LINES = {
    **{f"file{n}": "reader (program.c:7) in program" for n in range(3)},
    "stream": "main (program.c:16) in program",
    "other": "inlined (libother.so.c:5) in libother.so",
}


@pytest.mark.parametrize("options", [("-g",), ("-g", "-gdwarf-4"), ("-g", "-gz=zlib"), ("-g", "-no-pie")])
def test_with_debug_information(made: Made, options: tuple[str, ...]) -> None:
    assert made(*options) == WITH_LINES


def test_without_a_table_of_units(made: Made, tmp_path: Path) -> None:
    """As clang makes them."""

    def remove() -> None:
        for name in ("program", "libother.so"):
            subprocess.run(["objcopy", "-R", ".debug_aranges", tmp_path / name], check=True)

    assert made("-g", afterwards=remove) == WITH_LINES


def test_without_there_are_functions(made: Made) -> None:
    found = made("-g0")
    assert found["file0"] == "reader in program"
    assert found["stream"] == "main in program"
    assert found["other"] == "library in libother.so"  # what was put into it


def id_of(path: Path) -> str:
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1]


def strip(folder: Path, *options: str) -> None:
    for name in ("program", "libother.so"):
        subprocess.run(["strip", *options, folder / name], check=True)


def test_stripped_files_have_offsets_and_what_they_export(made: Made, tmp_path: Path) -> None:
    found = made("-g", afterwards=lambda: strip(tmp_path))
    assert re.fullmatch(r"program\+0x[0-9a-f]+ \(stripped\)", found["file0"])
    assert found["other"] == "library in libother.so"


@pytest.mark.parametrize("place", ["debug", "cache"])
def test_debug_information_that_was_taken_out_of_them(made: Made, tmp_path: Path, place: str) -> None:
    def take_out() -> None:
        for name in ("program", "libother.so"):
            build_id = id_of(tmp_path / name)
            kept = tmp_path / "debug" / build_id[:2] / f"{build_id[2:]}.debug"
            kept = kept if place == "debug" else tmp_path / "cache" / build_id / "debuginfo"
            kept.parent.mkdir(parents=True)
            subprocess.run(["objcopy", "--only-keep-debug", tmp_path / name, kept], check=True)
        strip(tmp_path)

    assert made("-g", afterwards=take_out) == WITH_LINES


def test_a_program_that_was_built_again_is_not_taken_for_the_one_that_ran(made: Made) -> None:
    found = made("-g", afterwards=lambda: made.build("-g", "-DOTHER", "-O2"))  # type: ignore[attr-defined]
    assert {text.split("+")[0] for text in found.values()} == {"program", "libother.so"}
    assert all(text.endswith("(rebuilt since)") for text in found.values())


def test_a_program_that_is_gone(made: Made, tmp_path: Path) -> None:
    found = made("-g", afterwards=(tmp_path / "program").unlink)
    assert re.fullmatch(r"program\+0x[0-9a-f]+ \(not on this machine\)", found["file0"])
    assert found["other"] == WITH_LINES["other"]


def test_without_build_id_nothing_is_looked_up(made: Made) -> None:
    assert all(text.endswith("(no build id)") for text in made("-g", "-Wl,--build-id=none").values())


ID = "ab" * 20


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "kernel", "empty", "huge", "relative", "nul"])
def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        path.touch()
        os.truncate(path, 2 << 30)
    elif kind == "empty":
        path.touch()
    others = {"device": "/dev/zero", "kernel": "/sys/kernel/notes", "relative": "program", "nul": "/a\0b"}
    place = find_places(others.get(kind, str(path)), ID, [16])[16]
    assert (place.function, place.source, place.note) == ("", "", "not on this machine")


@pytest.mark.parametrize("build_id", ["../../../etc", "ab/../cd", "ABCD", "", "a", "ab" * 80])
def test_a_build_id_is_no_path(build_id: str) -> None:
    assert find_places("/bin/sh", build_id, [1])[1].note == "no build id"


def test_damaged_files_say_nothing(made: Made, tmp_path: Path) -> None:
    made("-g")
    build_id = id_of(tmp_path / "program")
    whole = (tmp_path / "program").read_bytes()
    for step in range(64, len(whole), 97):
        (tmp_path / "broken").write_bytes(whole[:step] + b"\xff" * 8 + whole[step + 8 :])
        place = find_places(str(tmp_path / "broken"), build_id, [4500])[4500]
        assert place.text.isprintable()


def test_names_of_cplusplus(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "program.cc").write_text(
        "#include <fcntl.h>\nnamespace data { struct Reader { int open_file(const char *name); }; }\n"
        "__attribute__((noinline)) int data::Reader::open_file(const char *name)\n"
        "{ int fd = open(name, O_CREAT | O_RDWR, 0600); return fd + 1; }\n"
        'int main() { return data::Reader().open_file("a") < 0; }\n'
    )
    subprocess.run(["c++", "-g", "-O1", "-o", "program", "program.cc"], cwd=tmp_path, check=True)
    with Dataset(observe([tmp_path / "program"], cwd=tmp_path).log) as data:
        (row,) = data.rows("SELECT place FROM file_site")
    assert row["place"] == "data::Reader::open_file (program.cc:4) in program"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z4savePKc", "save"),
        ("_ZL4savePKc.constprop.0", "save"),
        ("_ZNK3sim4GridIdE4saveEv", "sim::Grid::save"),
        ("_ZN3sim4GridIdLi5EEC1Ev", "sim::Grid::Grid"),
        ("_ZN1AD2Ev", "A::~A"),
        ("_ZN3FooclEv", "Foo::operator()"),
        ("_ZN3fooB5cxx11Ev", "foo"),
        ("_ZN2io6writerIFviEE3putEv", "io::writer::put"),
        (
            "_ZNSt13basic_filebufIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode",
            "std::basic_filebuf::open",
        ),
        ("__results_MOD_save", "results::save"),
        ("main", "main"),
        # not understood: as the linker has them
        ("_ZN1aIXadL_Z1bvEEE1cEv", "_ZN1aIXadL_Z1bvEEE1cEv"),
        ("_ZZ4mainENKUlvE_clEv", "_ZZ4mainENKUlvE_clEv"),
        ("_ZN9999999999999a", "_ZN9999999999999a"),
        ("_ZN3a\x1bbEv", "_ZN3a\x1bbEv"),
        ("_ZN", "_ZN"),
    ],
)
def test_names_of_functions_as_sources_have_them(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_each_address_has_the_function_that_a_reader_of_elf_names(preload: Path) -> None:
    """Of all functions of a library, by another way than the table's own entries."""
    with preload.open("rb") as opened:
        elf = ELFFile(opened)
        wanted: dict[int, set[str]] = {}
        for s in elf.get_section_by_name(".symtab").iter_symbols():
            if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]:
                wanted.setdefault(s["st_value"] + 1, set()).add(s.name)
        found = {address: Place(str(preload), address) for address in wanted}
        source_lines._add_functions(elf, found)
    assert len(wanted) > 500
    assert [a for a, names in wanted.items() if found[a].function not in names] == []


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("Python", "python3.14"),
        ("Python", "libpython3.14.so.1.0"),
        ("C++", "libstdc++.so.6"),
        ("Fortran", "libgfortran.so.5"),
    ],
)
def test_without_a_line_the_language_is_named(language: str, name: str) -> None:
    assert find_places(f"/usr/lib/{name}", ID, [16])[16].text == f"{language}'s own I/O ({name})"


@pytest.mark.parametrize(
    ("stack", "place"),
    [
        ("load (/home/u/train.py:84)\n<module> (/home/u/train.py:120)", ("load (train.py:84)", "load", 84)),
        ("<module> (/home/u/a (b):c.py:3)", ("a (b):c.py:3", "<module>", 3)),
        ("<lambda> (<string>:1)", ("<lambda> (<string>:1)", "<lambda>", 1)),
        ("f (a.py:0)", ("f (a.py)", "f", 0)),
        ("\x1b (a\x07.py:1)", ("\\x1b (a\\x07.py:1)", "\\x1b", 1)),
        ("no line", ("libpython.so+0x10 (no build id)", "", 0)),
    ],
)
def test_lines_of_python_are_in_the_log(stack: str, place: tuple[str, str, int]) -> None:
    found = find_places("/usr/lib/libpython.so", "", [16], stack)[16]
    assert (found.text, found.function, found.line) == place


STREAM = """\
#include <fstream>
__attribute__((noinline)) static void save(const char *name)
{
	std::ofstream(name) << 1;
}
int main()
{
	save("saved");
}
"""
TEMPLATE = """\
#include <fstream>
#include <string>
namespace sim {
template <class T> struct Grid {
	__attribute__((noinline)) void save(const std::string &name, T value) const
	{
		std::ofstream out;
		out.open(name);
		out << value;
	}
};
}
int main()
{
	sim::Grid<double>().save("saved", 1);
}
"""
UNIT = """\
program unit
  open(unit=10, file="saved")
end program
"""
MODULE = """\
module results
contains
  subroutine save(name)
    character(*), intent(in) :: name
    open(unit=10, file=name)
    write(10, *) 1
    close(10)
  end subroutine
end module
program unit
  use results
  call save("saved")
end program
"""
FORTRAN_MPI = """\
subroutine save(name)
  {use}
  {declared}
  character(*), intent(in) :: name
  {file} :: file
  integer :: code
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file, code)
  call MPI_File_close(file, code)
end subroutine
program ranks
  {use}
  {declared}
  integer :: code
  call MPI_Init(code)
  call save("saved")
  call MPI_Finalize(code)
end program
"""
FORTRAN_HDF5 = """\
subroutine save(name)
  use hdf5
  character(*), intent(in) :: name
  integer(hid_t) :: file
  integer :: code
  call h5fcreate_f(name, H5F_ACC_TRUNC_F, file, code)
  call h5fclose_f(file, code)
end subroutine
program sets
  use hdf5
  integer :: code
  call h5open_f(code)
  call save("saved")
  call h5close_f(code)
end program
"""
CPP_HDF5 = """\
#include <H5Cpp.h>
__attribute__((noinline)) static void save(const char *name)
{
	H5::H5File file(name, H5F_ACC_TRUNC);
}
int main()
{
	save("saved");
}
"""
unwinds = pytest.mark.skipif(platform.machine() != "x86_64", reason="callers are found on x86-64 only")


def places_of(observe: Observe, folder: Path, command: list[str | Path]) -> set[str]:
    seen = observe(command, cwd=folder)
    assert seen.done.returncode == 0
    with Dataset(seen.log) as data:
        named = "JOIN name_of USING (log, id) WHERE name LIKE '%/saved'"
        rows = data.rows(f"SELECT place FROM file_site {named}")
        below = data.rows(f"SELECT place FROM line {named}")
    assert {row["place"] for row in below} <= {row["place"] for row in rows}, "and no unknown place"
    return {row["place"] for row in rows}


@unwinds
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(
    "case",
    [
        ("stream.cc", "c++", STREAM, "save (stream.cc:4)"),
        ("grid.cc", "c++", TEMPLATE, "sim::Grid::save (grid.cc:8)"),
        ("unit.f90", "gfortran", UNIT, "unit (unit.f90:2)"),
        ("module.f90", "gfortran", MODULE, "results::save (module.f90:5)"),
        ("sets.f90", "h5fc -shlib", FORTRAN_HDF5, "save (sets.f90:"),  # gfortran 12 gives the call line 1
        ("sets.cc", "h5c++ -shlib", CPP_HDF5, "save (sets.cc:4)"),
    ],
    ids=lambda case: str(case[0]),
)
def test_what_a_language_or_a_binding_opens_is_its_callers(
    observe: Observe, tmp_path: Path, case: tuple[str, str, str, str], level: str
) -> None:
    name, compiler, source, place = case
    command = compiler.split()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    (tmp_path / name).write_text(source)
    inline = ["-fno-inline"] if name.endswith(".f90") else []
    subprocess.run([*command, "-g", level, *inline, "-o", "program", name], cwd=tmp_path, check=True)
    (found,) = places_of(observe, tmp_path, [tmp_path / "program"])
    assert found.startswith(place) and found.endswith(" in program")


@unwinds
@pytest.mark.parametrize("mpi", FAMILIES)
@pytest.mark.parametrize("way", ["mpif.h", "mpi", "mpi_f08"])
def test_a_fortran_mpi_program_is_named_not_its_binding(
    observe: Observe, tmp_path: Path, way: str, mpi: str
) -> None:
    use, declared = ("", "include 'mpif.h'") if way == "mpif.h" else (f"use {way}", "")
    source = FORTRAN_MPI.format(
        use=use, declared=declared, file="type(MPI_File)" if way == "mpi_f08" else "integer"
    )
    chosen = MPIS[mpi]
    compiler = chosen.compiler(".f90")
    (tmp_path / "ranks.f90").write_text(source)
    subprocess.run([compiler, "-g", "-fno-inline", "-o", "ranks", "ranks.f90"], cwd=tmp_path, check=True)
    found = places_of(observe, tmp_path, [*chosen.launcher(1), tmp_path / "ranks"])
    assert found == {"save (ranks.f90:7) in ranks"}


DATASETS = """\
#include <hdf5.h>
__attribute__((noinline)) static hid_t make(const char *name)
{
	return H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
}
int main(void)
{
	hsize_t n = 10;
	hid_t file = make("a.h5"), space = H5Screate_simple(1, &n, NULL);
	hid_t set = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	H5Dclose(set);
	H5Sclose(space);
	return H5Fclose(file) < 0;
}
"""


def test_of_a_librarys_file_the_program_is_named_and_not_the_library(
    observe: Observe, tmp_path: Path
) -> None:
    if not shutil.which("h5cc"):
        pytest.skip("no h5cc")
    (tmp_path / "datasets.c").write_text(DATASETS)
    subprocess.run(["h5cc", "-shlib", "-g", "-o", "datasets", "datasets.c"], cwd=tmp_path, check=True)
    with Dataset(observe([tmp_path / "datasets"], cwd=tmp_path).log) as data:
        rows = data.rows("SELECT interface, place FROM file_site")
        below = data.rows("SELECT place FROM call_site WHERE interface = 'posix'")
    assert {(row["interface"], row["place"]) for row in rows} == {
        ("h5f", "make (datasets.c:4) in datasets"),
        ("h5d", "main (datasets.c:10) in datasets"),
    }
    assert below
    assert all("libhdf5" in row["place"] for row in below)


WRITER = """\
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) static int make(const char *name)
{
	return open(name, O_CREAT | O_RDWR, 0600);
}
int main(void)
{
	int fd = make("small");
	for (int n = 0; n < 20000; n++)
		if (write(fd, "0123456789", 10) != 10)
			return 1;
	return close(fd);
}
"""


def test_findings_say_where_their_files_are_opened(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    (tmp_path / "writer.c").write_text(WRITER)
    subprocess.run(["cc", "-g", "-O1", "-o", "writer", "writer.c"], cwd=tmp_path, check=True)
    seen = observe([tmp_path / "writer"], cwd=tmp_path)
    with Dataset(seen.log) as data:
        found = {one.rule: one for one in find(data)}
        (site,) = data.metric("call_sites")
        shown = data.rows("SELECT place, bytes_read FROM metric.call_sites")
    assert shown == [{"place": "make (writer.c:5) in writer", "bytes_read": 0}]
    (row,) = found["tiny_writes"].evidence[-1].rows
    assert row == ("make (writer.c:5) in writer", 1, str(tmp_path / "small"))
    assert opened_by(found["tiny_writes"]) == "Opened by make (writer.c:5) in writer."
    assert (site["place"], site["files"], site["bytes_written"]) == ("make (writer.c:5) in writer", 1, 200000)
    text = subprocess.run([iolens, "findings", seen.log], capture_output=True, text=True, check=False).stdout
    assert "Opened by make (writer.c:5) in writer." in " ".join(text.split())
    page = tmp_path / "page.html"
    subprocess.run([iolens, "report", seen.log, "-o", page], check=True, capture_output=True)
    assert page.read_text().count("make (writer.c:5) in writer") >= 3  # a finding, the file, the call
