"""The house keeps its shape: arrows go one way, rooms hold what they say, nothing grows unnoticed.

Each check collects every violation and names file and line, so that one run shows all there is to mend.
The tables here are the rules; docs/architecture.md is their explanation.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

# Which rooms a C room may include besides itself.
MAY_INCLUDE = {
    "format": set(),
    "runtime": {"format"},
    "modules": {"runtime", "format"},
    "cli": {"format"},
    "api": {"format"},
    "python": {"format"},
}
ROOMS = [*MAY_INCLUDE, "tools", "tests", "bench"]
# A room's headers that are made by the build.
GENERATED = {"records.h": "format"}

# Lower layers know nothing of the ones above. What is not listed (commands) stands on top of all of them.
LAYERS = ["log", "metrics", "rules", "compare", "export", "report", "fleet", "portal"]

NO_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}

# Which modules a module may call: interfaces are stacked, never mutual.
MODULE_KNOWS = {
    "*": ["heatmap"],  # fed by the others
    "stdio": ["posix"],  # a stream has a descriptor
}

# What a module's folder holds, by the list of meson.build that it is in, and who does without.
MODULE_FILES = {
    "modules": ["{name}.toml", "README.md", "wrap.c", "record.c"],
    "read_modules": ["{name}.toml"],
    "recordless_modules": ["README.md", "wrap.c"],
}
MODULE_WITHOUT = {
    ("heatmap", "wrap.c"),  # fed by the other modules' record.c
}

FILE_LINES = 600
FUNCTION_LINES = 60
# Larger by decision, with the size they may have: lower it when they shrink, remove the row below the limit.
FILE_EXCEPTIONS: dict[str, int] = {}
FUNCTION_EXCEPTIONS: dict[str, int] = {}

LIBC_FAMILY = re.compile(r"(libc|libdl|libpthread|libm|librt|ld-linux[\w-]*)\.so\.\d+")
# What may be exported besides libc's names, for interfaces this machine need not have.
FOREIGN = re.compile(
    r"__asan_default_options|io_submit|io_uring_\w+|P?MPI_\w+|p?mpi_\w+|H5\w+|ncmpi_\w+|nfmpi_\w+"
)
# A job is never ended and its output never written to by the library.
NEVER_CALLED = {
    *("abort", "exit", "_exit", "quick_exit", "__assert_fail", "err", "errx", "error", "raise"),
    *("printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar", "perror"),
}

WRAPPED = re.compile(r"^WRAP\w*\(\s*[^,]+,\s*(\w+)\s*[,)]", re.MULTILINE)
ALIASED = re.compile(r"^ALIAS\w*\(\s*(\w+)\s*,", re.MULTILINE)


def sources(root: Path, *suffixes: str, rooms: Iterable[str]) -> Iterator[Path]:
    return (p for room in rooms for p in sorted((root / room).rglob("*")) if p.suffix in suffixes)


def show(violations: list[str]) -> str:
    return "\n" + "\n".join(violations)


def homes(root: Path, source: Path, header: str) -> set[str]:
    """The rooms an #include "..." can mean; own folder first, as for the compiler."""
    if header in GENERATED:
        return {GENERATED[header]}
    if (source.parent / header).is_file():
        return {(source.parent / header).resolve().relative_to(root).parts[0]}
    if (root / header).is_file():
        return {Path(header).parts[0]}
    return {room for room in MAY_INCLUDE if (root / room / header).is_file()}


def test_c_rooms_include_only_what_stands_below_them(root: Path) -> None:
    wrong = []
    for source in sources(root, ".c", ".h", rooms=MAY_INCLUDE):
        room = source.relative_to(root).parts[0]
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not found:
                continue
            rooms = homes(root, source, found[1])
            where = f"{source.relative_to(root)}:{number}: {found[1]}"
            if not rooms:
                wrong.append(f"{where}: no room has this header")
            elif not rooms <= MAY_INCLUDE[room] | {room}:
                wrong.append(f"{where}: {room}/ may not include {', '.join(sorted(rooms))}/")
            elif len(rooms) > 1 and room not in rooms:
                wrong.append(f"{where}: could be of {' or '.join(sorted(rooms))}/; write the folder")
    assert not wrong, show(wrong)


def test_modules_know_no_more_of_each_other_than_is_said(root: Path) -> None:
    wrong = []
    for source in sources(root, ".c", ".h", rooms=["modules"]):
        module = source.parent.name
        for other in re.findall(r'#\s*include\s+"(?:\.\./|modules/)(\w+)/', source.read_text()):
            if other not in {module, *MODULE_KNOWS.get(module, ()), *MODULE_KNOWS["*"]}:
                wrong.append(f"{source.relative_to(root)}: includes modules/{other}")
    assert not wrong, show(wrong)


def test_mpi_and_printf_stay_out_of_the_log_library(root: Path) -> None:
    foreign = re.compile(r"^\s*#\s*include\s+<mpi\.h>|\bf?printf\(|\bputs\(", re.MULTILINE)
    wrong = [
        f"{source.relative_to(root)}: {found}"
        for source in sources(root, ".c", ".h", rooms=["format"])
        for found in foreign.findall(source.read_text())
    ]
    assert not wrong, show(wrong)


def imported(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, first name below iolens) of everything a Python file imports from the package."""
    here = ("iolens", *path.relative_to(package).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names):
            if parts[0] == "iolens" and len(parts) > 1:
                yield node.lineno, parts[1]


def test_python_layers_import_downwards(root: Path) -> None:
    package = root / "python" / "iolens"
    wrong = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).parts
        own = inside[0].removesuffix(".py") if len(inside) > 1 or inside[0] != "__init__.py" else ""
        if own not in LAYERS:
            continue
        for line, name in imported(path, package):
            if name in LAYERS and LAYERS.index(name) > LAYERS.index(own):
                wrong.append(f"python/iolens/{'/'.join(inside)}:{line}: {own} may not import {name}")
    assert not wrong, show(wrong)


def test_no_file_is_a_drawer_for_everything(root: Path) -> None:
    files = (p for room in ROOMS for p in (root / room).rglob("*"))
    wrong = [str(p.relative_to(root)) for p in files if p.stem in NO_NAMES]
    assert not wrong, show(wrong)


def listed_modules(root: Path) -> dict[str, list[str]]:
    """Module -> the files it must have."""
    lists = re.findall(r"^(\w*modules) = \[(.*?)\]", (root / "meson.build").read_text(), re.M | re.S)
    return {module: MODULE_FILES[name] for name, words in lists for module in re.findall(r"'(\w+)'", words)}


def test_every_module_folder_is_built_and_complete(root: Path) -> None:
    folders = {p.name for p in (root / "modules").iterdir() if p.is_dir()} - {"template"}
    listed = listed_modules(root)
    wrong = [f"modules/{name}: in no list of meson.build" for name in sorted(folders - listed.keys())]
    for name, files in sorted(listed.items()):
        for file in (pattern.format(name=name) for pattern in files):
            there = (root / "modules" / name / file).is_file()
            if there and (name, file) in MODULE_WITHOUT:
                wrong.append(f"modules/{name}/{file}: is there after all, drop its row above")
            elif not there and (name, file) not in MODULE_WITHOUT:
                wrong.append(f"modules/{name}/{file}: missing")
    assert not wrong, show(wrong)


def c_functions(text: str) -> Iterator[tuple[str, int]]:
    """(name, lines) by the brace style: only a function's braces stand alone in column 0."""
    lines = text.splitlines()
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            head = " ".join(lines[max(0, begin - 3) : begin])
            names = re.findall(r"(\w+)\(", head)
            yield names[-1] if names else "?", number - begin + 1
            begin = None


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def ratchet(sizes: dict[str, int], limit: int, exceptions: dict[str, int]) -> list[str]:
    """What is over its limit, and exceptions that are wider than they need to be."""
    wrong = [
        f"{name}: {size} lines, at most {exceptions.get(name, limit)}"
        for name, size in sizes.items()
        if size > exceptions.get(name, limit)
    ]
    for name, allowed in exceptions.items():
        if sizes.get(name, 0) <= limit:
            wrong.append(f"{name}: needs no exception any more")
        elif sizes[name] < allowed:
            wrong.append(f"{name}: is down to {sizes[name]} lines: lower its exception from {allowed}")
    return wrong


def test_files_and_functions_stay_small(root: Path) -> None:
    files, functions = {}, {}
    for path in sources(root, ".c", ".h", ".py", rooms=ROOMS):
        name, text = str(path.relative_to(root)), path.read_text()
        files[name] = text.count("\n")
        for function, size in (python_functions if path.suffix == ".py" else c_functions)(text):
            functions[f"{name}:{function}"] = max(size, functions.get(f"{name}:{function}", 0))
    wrong = ratchet(files, FILE_LINES, FILE_EXCEPTIONS)
    wrong += ratchet(functions, FUNCTION_LINES, FUNCTION_EXCEPTIONS)
    assert not wrong, show(wrong)


def readelf(option: str, library: Path) -> str:
    command = ["readelf", "-W", option, str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def dynamic_symbols(library: Path) -> tuple[set[str], set[str]]:
    """(exported, imported) names, without versions; the loader finds names of default visibility only."""
    exported, wanted = set(), set()
    for line in readelf("--dyn-syms", library).splitlines():
        found = re.match(r"\s*\d+: \w+\s+\d+ \w+\s+(?:GLOBAL|WEAK)\s+DEFAULT\s+(\w+) ([\w.]+)", line)
        if found:
            (wanted if found[1] == "UND" else exported).add(found[2])
    return exported, wanted


def libc_names() -> set[str]:
    """What this machine's libc exports, whatever the version of the symbol."""
    with Path("/proc/self/maps").open() as maps:
        libc = next(line.split()[-1] for line in maps if re.search(r"/libc(\.so\.6|-[\d.]+\.so)$", line))
    return dynamic_symbols(Path(libc))[0]


def test_the_library_exports_only_names_it_stands_in_for(root: Path, preload: Path) -> None:
    text = "\n".join(p.read_text() for p in sources(root, ".c", rooms=["modules", "runtime"]))
    wrapped = {*WRAPPED.findall(text), *ALIASED.findall(text)}
    exported, _ = dynamic_symbols(preload)
    assert wrapped <= exported, f"wrapped in the sources, not exported: {sorted(wrapped - exported)}"
    own = {name for name in exported - wrapped - libc_names() if not FOREIGN.fullmatch(name)}
    assert not own, f"exported, and nobody else's name: {sorted(own)}"


def test_the_library_needs_libc_only(preload: Path) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", preload))
    assert needed, "no NEEDED entry: is this a shared library?"
    assert not [name for name in needed if not LIBC_FAMILY.fullmatch(name)], needed


def test_the_library_cannot_end_or_speak_for_the_job(preload: Path) -> None:
    exported, wanted = dynamic_symbols(preload)
    assert not wanted & NEVER_CALLED - exported, sorted(wanted & NEVER_CALLED - exported)
