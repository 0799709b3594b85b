"""The house keeps its shape: arrows go one way, rooms hold what they say, nothing grows unnoticed.

Each check collects every violation and names file and line, so that one run shows all there is to mend.
The tables here and in tests/rooms.py are the rules; docs/architecture.md is their explanation.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rooms import FRONT, MAY_INCLUDE, ROOMS, show, sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# A room's headers that are made by the build.
GENERATED = {
    "records.h": "format/base",
    "written.h": "format/base",
    "dictionary_words.h": "format/encoding",
    "hdf5_time_thresholds.h": "cli/summary",
    "instead_thresholds.h": "cli/summary",
    "late_ranks_thresholds.h": "cli/summary",
    "lock_waits_thresholds.h": "cli/summary",
    "pipe_waits_thresholds.h": "cli/summary",
    "processor_waits_thresholds.h": "cli/summary",
}

# The rooms within a room, lowest first: each includes itself and those before it. The folder itself stands on top, but
# for the headers that are its front, which belong to the room that implements them.
INNER_ROOMS = {
    "format": [
        "base",
        "codec",
        "encoding",
        "container",
        "trailer",
        "records",
        "write",
        "store",
        "reading",
        "assemble",
        "join",
        "merge",
    ],
    "runtime": ["base", "store", "capture", "trace", "process", "mpi/finalize", "mpi", "linked"],
    "cli": [
        "text",
        "options",
        "completion",
        "peak",
        "summary",
        "session",
        "collect",
        "convert",
        "doctor",
        "live",
        "nodes",
        "show",
        "trace",
        "diff",
    ],
    "python/ext": ["arrow", "log", "tables", "stream"],
}
# Files in one folder, at most.
FOLDER_FILES = 25

NO_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}

# Which modules a module may call: interfaces are stacked, never mutual.
MODULE_KNOWS = {
    "*": ["heatmap", "lustre"],  # fed by the others
    "h5d": ["h5f"],  # the library, and whose dataset it is
    "pnetcdf_file": ["mpiio"],  # which opens them, under what name
    "pnetcdf_var": ["pnetcdf_file"],  # the library, and whose variable it is
    "stdio": ["posix"],  # a stream has a descriptor
    "apmpi": ["mpiio"],  # a Wait completes requests of both
    "async": ["posix"],  # a request reads and writes files
    "socket": ["posix"],  # a message carries descriptors
    "posix": ["phases"],  # a path shows that PyTorch is imported, whose loops are phases
    "process": ["async", "posix"],  # syscall() moves data, too
}

# What a module's folder holds, by the list of meson.build that it is in, and who does without.
MODULE_FILES = {
    "modules": ["{name}.toml", "README.md", "wrap.c", "record.c"],
    "read_modules": ["{name}.toml"],
    "communication_modules": ["{name}.toml", "README.md", "wrap.c", "record.c"],
    "recordless_modules": ["{name}.toml", "README.md", "wrap.c"],
}
MODULE_WITHOUT = {
    ("heatmap", "wrap.c"),  # fed by the other modules' record.c
    ("lustre", "wrap.c"),  # likewise
}

FILE_LINES = 600
FUNCTION_LINES = 60
# Larger by decision, with the size they may have: lower it when they shrink, remove the row below the limit.
FILE_EXCEPTIONS: dict[str, int] = {}
FUNCTION_EXCEPTIONS: dict[str, int] = {}

LIBC_FAMILY = re.compile(r"(libc|libdl|libpthread|libm|librt|ld-linux[\w-]*)\.so\.\d+")
# What may be exported besides the names of this machine's libc and those of WRAP_LATE: MPI's have macros of their own,
# resolved as late; libc has the __isoc23 ones since 2.38, openat2 since 2.43.
FOREIGN = re.compile(
    r"__asan_default_options|iolens_runtime_(phase|range)_\w+|__isoc23_\w+|openat2|P?MPI_\w+|p?mpi_\w+"
)
# A job is never ended and its output never written to by the library.
NEVER_CALLED = {
    *("abort", "exit", "_exit", "quick_exit", "__assert_fail", "err", "errx", "error", "raise"),
    *("printf", "__printf_chk", "vprintf", "__vprintf_chk", "puts", "putchar", "perror"),
}
# What may wait for a lock of libc's malloc, which a handler has interrupted or a forked child inherited: not in what
# records, wakes up, forks and writes a log. Who may: MPI_Finalize, the log library's default memory, which the runtime
# replaces, and the merge of logs, which is not in the preload library.
WAITS_FOR_MALLOC = {
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "strdup",
    "strndup",
    "asprintf",
    "vasprintf",
}
WAITS_FOR_MALLOC |= {
    "qsort",
    "qsort_r",
    "tzset",
    "localtime",
    "getpwuid",
}
MAY_WAIT_FOR_MALLOC = ("runtime/mpi/", "format/base/alloc.c", "format/merge/")

WRAPPED = re.compile(r"^WRAP\(\s*[^,]+,\s*(\w+)\s*[,)]", re.MULTILINE)
# The macros that make them, by the object that each leaves in the library's own table of symbols.
WRAPPED_LATE = re.compile(r" late_([A-Za-z_]\w*)$", re.MULTILINE)
ALIASED = re.compile(r"^ALIAS\w*\(\s*(\w+)\s*,", re.MULTILINE)


def headers(root: Path) -> dict[str, list[Path]]:
    """File name of a header -> where it is, below the rooms that others may include."""
    found: dict[str, list[Path]] = {}
    for path in sources(root, ".h", rooms=MAY_INCLUDE):
        found.setdefault(path.name, []).append(path.relative_to(root))
    return found


def included(root: Path, source: Path, header: str, known: dict[str, list[Path]]) -> list[Path]:
    """The files that an #include "..." can mean, relative to the root; own folder first, as for the compiler."""
    if header in GENERATED:
        return [Path(GENERATED[header]) / header]
    if (source.parent / header).is_file():
        return [(source.parent / header).resolve().relative_to(root)]
    if (root / header).is_file():
        return [Path(header)]
    room = source.relative_to(root).parts[0]
    files = [path for path in known.get(Path(header).name, []) if str(path).endswith("/" + header)]
    for rooms in ({room}, MAY_INCLUDE[room]):
        near = [path for path in files if path.parts[0] in rooms]
        if near:
            return near
    return files


def inclusions(root: Path) -> Iterator[tuple[Path, str, list[Path]]]:
    """(source, "file:line: header", what it can mean) of every #include "..." in the C rooms."""
    known = headers(root)
    for source in sources(root, ".c", ".h", rooms=MAY_INCLUDE):
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if found:
                own = source.relative_to(root)
                yield own, f"{own}:{number}: {found[1]}", included(root, source, found[1], known)


def test_c_rooms_include_only_what_stands_below_them(root: Path) -> None:
    wrong = []
    for source, where, files in inclusions(root):
        room, rooms = source.parts[0], {file.parts[0] for file in files}
        if not rooms:
            wrong.append(f"{where}: no room has this header")
        elif not rooms <= MAY_INCLUDE[room] | {room}:
            wrong.append(f"{where}: {room}/ may not include {', '.join(sorted(rooms))}/")
        elif len(files) > 1:
            wrong.append(f"{where}: could be {' or '.join(map(str, sorted(files)))}; write the folder")
    assert not wrong, show(wrong)


def outer(file: Path) -> str:
    """The folder of INNER_ROOMS that a file is in, "" for none."""
    return next((room for room in INNER_ROOMS if file.is_relative_to(room)), "")


def floor(file: Path) -> int:
    """The place of a file's room among the inner rooms, the folder itself above all of them."""
    inner = INNER_ROOMS[outer(file)]
    room = FRONT.get(str(file), str(file.parent.relative_to(outer(file))))
    return inner.index(room) if room != "." else len(inner)


def test_inner_rooms_include_only_what_stands_below_them(root: Path) -> None:
    wrong = [
        f"{where}: is in {file.parent}/, above {source.parent}/"
        for source, where, files in inclusions(root)
        for file in files
        if outer(source)
        and outer(file) == outer(source)
        and str(source) not in FRONT
        and floor(file) > floor(source)
    ]
    assert not wrong, show(wrong)


def test_every_inner_room_has_its_floor_and_no_folder_overflows(root: Path) -> None:
    wrong = []
    for room, inner in INNER_ROOMS.items():
        folders = {str(p.parent.relative_to(root / room)) for p in sources(root, ".c", rooms=[room])} - {"."}
        wrong += [f"{room}/{name}: in no floor of INNER_ROOMS" for name in sorted(folders ^ set(inner))]
        listed = re.findall(r"^  '(\w+)': \[", (root / room / "meson.build").read_text(), re.M)
        if listed != [name for name in inner if not name.startswith(("mpi", "linked"))]:
            wrong.append(f"{room}/meson.build lists its rooms as {listed}, not as {inner}")
    for folder in {p.parent for p in sources(root, ".c", ".h", rooms=MAY_INCLUDE)}:
        files = sum(p.suffix in (".c", ".h") for p in folder.iterdir())
        name = str(folder.relative_to(root))
        if files > FOLDER_FILES:
            wrong.append(f"{name}: {files} files, at most {FOLDER_FILES}")
    assert not wrong, show(sorted(wrong))


def units(root: Path) -> dict[str, set[str]]:
    """
    A source with its header -> those that it includes.

    A header that no source implements counts for whoever includes it.
    """
    direct: dict[str, set[str]] = {}
    for source, _, files in inclusions(root):
        direct.setdefault(str(source.with_suffix("")), set()).update(str(f.with_suffix("")) for f in files)

    def implemented(names: Iterable[str], seen: set[str]) -> Iterator[str]:
        for name in set(names) - seen:
            seen.add(name)
            if (root / f"{name}.c").is_file():
                yield name
            else:
                yield from implemented(direct.get(name, ()), seen)

    return {unit: set(implemented(direct[unit], set())) - {unit} for unit in direct}


def in_a_circle(graph: dict[str, set[str]]) -> set[str]:
    """What remains of a graph when whatever leads nowhere, and whatever nothing leads to, is taken away."""
    left = set(graph)
    while True:
        reached = {to for unit in left for to in graph[unit]}
        stays = {unit for unit in left if unit in reached and graph[unit] & left}
        if stays == left:
            return left
        left = stays


def test_no_two_files_include_each_other(root: Path) -> None:
    graph = units(root)
    assert len(graph) > 200
    circle = in_a_circle(graph)
    wrong = [f"{unit}: includes {', '.join(sorted(graph[unit] & circle))}" for unit in sorted(circle)]
    assert not wrong, "these include each other in a circle:" + show(wrong)


def object_symbols(path: Path) -> tuple[set[str], set[str]]:
    """(defined, wanted) global names of an object file."""
    command = ["readelf", "-W", "--syms", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r": \w+ +\d+ \w+ +(?:GLOBAL|WEAK) +\w+ +(\w+) (\S+)", text)
    return {name for place, name in found if place != "UND"}, {
        name for place, name in found if place == "UND"
    }


def calls(objects: list[Path]) -> dict[str, dict[str, str]]:
    """Object -> the others of one product that it calls or reads variables of, with a name of each."""
    symbols = {path.name.removesuffix(".c.o"): object_symbols(path) for path in objects}
    owner = {name: unit for unit, (defined, _) in symbols.items() for name in defined}
    return {
        unit: {owner[name]: name for name in sorted(wanted) if owner.get(name, unit) != unit}
        for unit, (_, wanted) in symbols.items()
    }


def test_no_two_files_call_each_other(build_dir: Path) -> None:
    """What lies below is told whom to call (LIFE_MODULE, a table, a parameter); it does not name who is above."""
    wrong = []
    products: dict[Path, list[Path]] = {}
    for path in build_dir.rglob("*.c.o"):
        if "tests" in path.relative_to(build_dir).parts:
            continue  # the preload library linked with all that it wraps: libc's names are its own there
        products.setdefault(path.parent, []).append(path)
    assert sum(map(len, products.values())) > 200
    for folder, objects in sorted(products.items()):
        graph = calls(objects)
        circle = in_a_circle({unit: set(others) for unit, others in graph.items()})
        wrong += [
            f"{folder.name}: {unit} calls {other}: {name}"
            for unit in sorted(circle)
            for other, name in graph[unit].items()
            if other in circle
        ]
    assert not wrong, "these call each other in a circle:" + show(wrong)


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


# Lines that may name several modules: what a query or a rule needs, comments, what a test expects.
NAMES_MODULES = re.compile(r"-- |needs = |\s*(#|\*|//|assert )")


def module_lists(root: Path) -> dict[str, re.Pattern[str]]:
    """Suffix -> what a list of modules looks like; tables of C tests may say what each module is like."""
    tomls = {path.stem: tomllib.loads(path.read_text()) for path in sorted(root.glob("modules/[!t]*/*.toml"))}
    keys = [key for key, table in tomls.items() if "interface" in table]
    words = "|".join(re.escape(word) for key in keys for word in (key, tomls[key]["name"]))
    ids = "|".join(key.upper() for key in keys)
    listed = re.compile(rf"""[(\[{{]\s*(['"])({words})\1\s*,\s*(['"])(?!\2\3)({words})\3""")
    prefixed = rf"(?:LOG_MOD|WRITTEN)_({ids})\b"
    return {
        ".c": re.compile(rf"\{{[^{{}};]*\b{prefixed}[^;]*?\b(?!\w+_\1\b){prefixed}"),
        "tests/.c": re.compile(rf"\{{\s*{prefixed},\s*{prefixed}"),
        **dict.fromkeys((".py", ".sql", ".toml"), listed),
    }


def test_the_modules_are_listed_by_the_generator_alone(root: Path) -> None:
    """No list names two modules: C loops over written_modules, SQL asks for LISTS of iolens.metrics.views."""
    found = module_lists(root)
    for suffix, example in ((".sql", "IN (@posix@, @stdio@)"), (".py", "x = {@H5F@,@H5D@}")):
        assert found[suffix].search(example.replace("@", "'"))
    assert found[".c"].search("{LOG_MOD_POSIX, 1}, {LOG_MOD_STDIO") and not found[".py"].search(
        '("posix", "x")'
    )
    wrong = []
    rooms = ["format", "runtime", "cli", "api", "python", "tests", "bench", "tools"]
    for path in sources(root, ".c", ".py", ".sql", ".toml", rooms=rooms):
        own = path.relative_to(root)
        pattern = found.get(f"{own.parts[0]}/{path.suffix}", found[path.suffix])
        lines = ("" if NAMES_MODULES.match(line) else line for line in path.read_text().splitlines())
        wrong += [f"{own}: {' '.join(list[0].split())[:80]}" for list in pattern.finditer("\n".join(lines))]
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
    wrapped, late = (
        {*WRAPPED.findall(text), *ALIASED.findall(text)},
        {*WRAPPED_LATE.findall(readelf("--syms", preload))},
    )
    exported, _ = dynamic_symbols(preload)
    every = wrapped | late
    assert every <= exported, f"wrapped in the sources, not exported: {sorted(every - exported)}"
    own = {name for name in exported - libc_names() - late if not FOREIGN.fullmatch(name)}
    assert not own, f"exported, neither libc's nor resolved late (WRAP_LATE): {sorted(own)}"
    assert not late & libc_names(), f"libc's, found at start (WRAP): {sorted(late & libc_names())}"


def test_the_library_needs_libc_only(preload: Path) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", preload))
    assert needed, "no NEEDED entry: is this a shared library?"
    assert not [name for name in needed if not LIBC_FAMILY.fullmatch(name)], needed


def test_the_library_does_not_wait_for_malloc(root: Path) -> None:
    called = re.compile(rf"(?<![\w.>(])({'|'.join(sorted(WAITS_FOR_MALLOC))})\(")
    wrong = []
    for source in sources(root, ".c", ".h", rooms=["modules", "runtime", "format"]):
        own = str(source.relative_to(root))
        if own.startswith(MAY_WAIT_FOR_MALLOC):
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            found = called.search(line)
            if found and not re.match(r"\s*(/?\*|WRAP)", line):
                wrong.append(f"{own}:{number}: {found[1]}")
    assert not wrong, show(wrong)


def test_the_library_cannot_end_or_speak_for_the_job(preload: Path) -> None:
    exported, wanted = dynamic_symbols(preload)
    assert not wanted & NEVER_CALLED - exported, sorted(wanted & NEVER_CALLED - exported)


def test_prose_is_narrow(root: Path) -> None:
    """Lines of pages stay under 120 columns, but for tables and code."""
    wrap = runpy.run_path(str(root / "tools" / "wrap.py"))
    wrong = []
    for page in wrap["pages"](root):
        text = page.read_text()
        lines = text.splitlines()
        blocks = [range(*block) for block in wrap["prose"](text) if wrap["wide"](lines[slice(*block)])]
        wide = [
            f"{page.relative_to(root)}:{n + 1}"
            for block in blocks
            for n in block
            if len(lines[n]) > wrap["WIDTH"]
        ]
        wrong += wide
    assert not wrong, "`python tools/wrap.py` wraps them:" + show(wrong)


def test_wrapping_keeps_words_tables_and_code(root: Path) -> None:
    """No word is lost, a span of code is not broken, no line begins like a list by accident."""
    wrapped = runpy.run_path(str(root / "tools" / "wrap.py"))["wrapped"]
    wide = "word " * 22
    page = f"* {wide}lasting 1. `one span of code` end\n  and on\n\n| {wide * 2}|\n```\n{wide * 2}\n```\n"
    lines = wrapped(page).splitlines()
    assert lines[:2] == [f"* {wide}".rstrip(), "  lasting 1. `one span of code` end and on"]
    assert lines[2:] == ["", f"| {wide * 2}|", "```", f"{wide * 2}", "```"]
    assert wrapped("\n".join(lines) + "\n").splitlines() == lines
