"""Addresses of programs and libraries as functions and lines of their sources, where their files are on this machine.

Lines of Python code are in the log itself.

A log says which file it was, and nothing makes it true: only regular files are read, of bounded size, and only if they
have the build id that the log tells.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from iolens.metrics.symbol_names import is_of_module, readable
from iolens.shown import clean

__all__ = ["SITES", "Place", "find_places", "source_lines"]

SITES = """SELECT module, build_id, coalesce(stack, '') AS stack, list(DISTINCT "offset") FROM (
        SELECT module, build_id, stack, "offset" FROM sites UNION ALL SELECT '', '', stack, 0 FROM lines
    ) GROUP BY module, build_id, coalesce(stack, '')"""
"""Asks for what ``source_lines`` takes."""

_LARGEST = 1 << 30
_SYMBOLS = 2_000_000
_UNITS = 20_000
_LARGEST_UNIT = 2 << 20
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
_DEBUG = Path("/usr/lib/debug/.build-id")
_BUILD_ID = re.compile(r"(?:[0-9a-f]{2}){4,64}")
_LANGUAGES = (
    ("Python", re.compile(r"(?:lib)?python[23][\d.]*|_io\.")),
    ("C++", re.compile(r"libstdc\+\+|libc\+\+")),
    ("Fortran", re.compile(r"libgfortran|libifcore|libflang|libFortranRuntime|libnvf|libcraymath|libfi\.")),
    ("Java", re.compile(r"libjvm|libjava|libnio")),
)
"""Whose libraries open files for programs: all in one place."""
_FRAME = re.compile(r"(.*?) \((.*):(\d{1,9})\)")
_FUNCTIONS = (2, 10)
"""STT_FUNC and STT_GNU_IFUNC."""
_HEADER = re.compile(r"/include/c\+\+/|^/usr/(local/)?include/|/lib(64)?/gcc/")
"""A source of a compiler, or of a library's that compilers find by themselves."""
_FORTRAN = (0x07, 0x08, 0x0E, 0x22, 0x23, 0x2D)
"""DWARF's numbers of its versions."""


@dataclass(frozen=True)
class Place:
    """Where an address is. Of what could not be found the texts are empty and the line is 0; ``note`` says why."""

    module: str
    address: int
    """As the file counts addresses; of a call, where it returns to."""
    function: str = ""
    source: str = ""
    """Path of the source as the compiler has noted it."""
    line: int = 0
    note: str = ""
    python: bool = False
    """Function, source and line are Python code's."""

    @property
    def text(self) -> str:
        """``reader (reader.c:8) in libreader.so``, or as much of it as is known; of Python ``load (train.py:84)``."""
        if self.python:
            line = f"{Path(self.source).name}:{self.line}" if self.line else Path(self.source).name
            return line if self.function == "<module>" else f"{self.function} ({line})"
        if not self.module:
            return "unknown"
        name = clean(Path(self.module).name)
        language = _language(self.module)
        if language:
            return f"{language}'s own I/O ({name})"
        if self.function and self.source:
            return f"{self.function} ({Path(self.source).name}:{self.line}) in {name}"
        if self.function:
            return f"{self.function} in {name}"
        return f"{name}+{self.address:#x}" + (f" ({self.note})" if self.note else "")


def _language(module: str) -> str:
    """The language whose library this is, if it is one."""
    name = Path(module).name
    return next((language for language, pattern in _LANGUAGES if pattern.match(name)), "")


def source_lines(sites: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Rows of the table ``source_line``: what the files on this machine say about the addresses in ``sites``."""
    for module, build_id, stack, offsets in sites:
        for offset, p in find_places(module, build_id, offsets, stack).items():
            yield module, build_id, stack, offset, p.text, p.function, p.source, p.line, p.note


def find_places(module: str, build_id: str, addresses: Iterable[int], stack: str = "") -> dict[int, Place]:
    """Return addresses -> what calls there; never fails.

    module: path of the program or library. build_id: hexadecimal; "" = it has none, and nothing is looked up. stack:
    lines of Python code that the call came from; the innermost is what calls.
    """
    found = {address: Place(module, address) for address in addresses}
    python = _FRAME.fullmatch(stack.partition("\n")[0])
    if python:
        found = {
            address: replace(place, function=python[1], source=python[2], line=int(python[3]), python=True)
            for address, place in found.items()
        }
        return {address: _printable(place) for address, place in found.items()}
    if not module:
        return found
    if not _BUILD_ID.fullmatch(build_id):
        return {a: replace(p, note="no build id") for a, p in found.items()}
    note, language = "not on this machine", _language(module)
    for number, path in enumerate((Path(module), *_debug_files(build_id))):
        with _opened(path) as file:
            if not file:
                continue
            note = _read(file, build_id, found, "rebuilt since" if number == 0 else note, language)
        if all(place.function if language else place.source for place in found.values()):
            break
    return {a: _printable(p if p.function else replace(p, note=note)) for a, p in found.items()}


def _printable(place: Place) -> Place:
    """Names in a file may hold anything, terminal's commands included."""
    return replace(place, function=clean(place.function), source=clean(place.source))


def _debug_files(build_id: str) -> Iterator[Path]:
    """Where distributions and debuginfod's clients keep what was taken out of a file."""
    yield _DEBUG / build_id[:2] / f"{build_id[2:]}.debug"
    home = Path(os.environ.get("HOME") or "/nonexistent")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "debuginfod_client"
    yield Path(os.environ.get("DEBUGINFOD_CACHE_PATH") or cache) / build_id / "debuginfo"


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | None]:
    """None for what is not there, not readable, no regular file, empty or too large."""
    text = os.fspath(path)
    try:
        real = os.path.realpath(text)
        if (
            not path.is_absolute()
            or real.startswith(_NOT_FILES)
            or not stat.S_ISREG(Path(real).stat().st_mode)
        ):
            yield None
            return
        fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, ValueError):
        yield None
        return
    with os.fdopen(fd, "rb") as file:
        about = os.fstat(fd)
        yield file if stat.S_ISREG(about.st_mode) and 0 < about.st_size <= _LARGEST else None


def _read(file: BinaryIO, build_id: str, found: dict[int, Place], other: str, language: str) -> str:
    """Fills in what the file tells, if it is the one that was meant. Returns what to say of the rest."""
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(file)
        if build_id not in _build_ids(elf):
            return other
        _add_functions(elf, found)
        if not language:  # the place is the language, whatever the line in its library
            _add_lines(elf, found)
    except Exception:
        return "damaged file"
    return "stripped"


def _build_ids(elf: Any) -> set[str]:
    from elftools.elf.sections import NoteSection

    notes = (note for s in elf.iter_sections() if isinstance(s, NoteSection) for note in s.iter_notes())
    return {note["n_desc"] for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"}


def _add_functions(elf: Any, found: dict[int, Place]) -> None:
    for table in (".symtab", ".dynsym"):
        section = elf.get_section_by_name(table)
        if not section or section["sh_type"] == "SHT_NOBITS" or section.num_symbols() > _SYMBOLS:
            continue
        missing = [a for a, place in found.items() if not place.function]
        for name, low, high in _functions(elf, section.data()) if missing else ():
            for address in missing:
                if low <= address - 1 < high:
                    symbol = section.stringtable.get_string(name)
                    found[address] = replace(found[address], function=readable(symbol))


def _functions(elf: Any, symbols: bytes) -> Iterator[tuple[int, int, int]]:
    """Place of the name, first address and end of each function: of 20,000 in 15 ms, where pyelftools takes 0.6 s."""
    order, wide = "<" if elf.little_endian else ">", elf.elfclass == 64
    entry = struct.Struct(order + ("IBBHQQ" if wide else "IIIBBH"))
    for values in entry.iter_unpack(symbols[: len(symbols) - len(symbols) % entry.size]):
        name, info, low, size = (values[i] for i in ((0, 1, 4, 5) if wide else (0, 3, 1, 2)))
        if size and info & 15 in _FUNCTIONS:
            yield name, low, low + size


# ---- lines ----


def _add_lines(elf: Any, found: dict[int, Place]) -> None:
    if not elf.has_dwarf_info():
        return
    info = elf.get_dwarf_info()
    for address, place in found.items():
        unit = None if place.source else _unit_of(info, address - 1)
        if unit is not None:
            found[address] = _inlined(info, unit, _in_unit(info, unit, place))


def _unit_of(info: Any, address: int) -> Any:
    """The compilation unit whose code the address is in; None if there is none."""
    ranges = info.get_aranges()
    offset = ranges.cu_offset_at_addr(address) if ranges else None
    if offset is not None:
        return info.get_CU_at(offset)
    for number, unit in enumerate(info.iter_CUs()):
        if number == _UNITS:
            break
        if any(low <= address < high for low, high in _ranges_of(info, unit.get_top_DIE())):
            return unit
    return None


def _ranges_of(info: Any, entry: Any) -> Iterator[tuple[int, int]]:
    """The addresses of a unit or of a function."""
    from elftools.dwarf.descriptions import describe_form_class
    from elftools.dwarf.ranges import BaseAddressEntry

    here, top = entry.attributes, entry.cu.get_top_DIE().attributes
    if "DW_AT_low_pc" in here and "DW_AT_high_pc" in here:
        low, high = here["DW_AT_low_pc"].value, here["DW_AT_high_pc"]
        yield low, high.value + (0 if describe_form_class(high.form) == "address" else low)
    lists = info.range_lists() if "DW_AT_ranges" in here else None
    base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
    for one in lists.get_range_list_at_offset(here["DW_AT_ranges"].value, entry.cu) if lists else ():
        if isinstance(one, BaseAddressEntry):
            base = one.base_address
        else:
            start = 0 if one.is_absolute else base
            yield start + one.begin_offset, start + one.end_offset


def _inlined(info: Any, unit: Any, place: Place) -> Place:
    """What was put into another function has its own name; Fortran's have none of the linker's underscores.

    What a header of a library has put there is its caller's, whose line the debug information has, too.
    """
    if unit["unit_length"] > _LARGEST_UNIT:
        return place
    language = unit.get_top_DIE().attributes.get("DW_AT_language")
    fortran = bool(language and language.value in _FORTRAN)
    tags = ("DW_TAG_inlined_subroutine", *(["DW_TAG_subprogram"] if fortran else []))
    callers = []
    for entry in unit.iter_DIEs():
        if entry.tag in tags and any(
            low <= place.address - 1 < high for low, high in _ranges_of(info, entry)
        ):
            callers.append((entry, place.function))
            place = replace(place, function=_name_of(entry, fortran=fortran) or place.function)
    outer = place
    for entry, function in reversed(callers):
        if not _HEADER.search(outer.source) or "DW_AT_call_line" not in entry.attributes:
            break
        source = _source_of(info.line_program_for_CU(unit), unit, entry.attributes["DW_AT_call_file"].value)
        outer = replace(
            outer, function=function, source=source, line=entry.attributes["DW_AT_call_line"].value
        )
    return place if _HEADER.search(outer.source) else outer


def _name_of(entry: Any, *, fortran: bool = False) -> str:
    """Of a Fortran function outside of modules, the linker's name has an underscore that the source does not have."""
    for _ in range(4):
        for name in ("DW_AT_linkage_name", "DW_AT_name"):
            text = os.fsdecode(entry.attributes[name].value) if name in entry.attributes else ""
            if text and not (fortran and name == "DW_AT_linkage_name" and not is_of_module(text)):
                return readable(text)
        further = [a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in entry.attributes]
        if not further:
            break
        entry = entry.get_DIE_from_attribute(further[0])
    return ""


def _in_unit(info: Any, unit: Any, place: Place) -> Place:
    program = info.line_program_for_CU(unit)
    before = None
    for entry in program.get_entries() if program else ():
        state = entry.state
        if state is None:
            continue
        if before is not None and before.address <= place.address - 1 < state.address:
            return replace(place, source=_source_of(program, unit, before.file), line=before.line)
        before = None if state.end_sequence else state
    return place


def _source_of(program: Any, unit: Any, number: int) -> str:
    first = 0 if program["version"] >= 5 else 1
    entry = program["file_entry"][number - first]
    directories = program["include_directory"]
    index = entry.dir_index if first == 0 else entry.dir_index - 1
    top = unit.get_top_DIE().attributes
    parts = [top["DW_AT_comp_dir"].value] if "DW_AT_comp_dir" in top else []
    parts += [directories[index]] if 0 <= index < len(directories) else []
    return os.path.normpath(Path(*(os.fsdecode(part) for part in (*parts, entry.name))))
