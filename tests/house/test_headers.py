"""Where to look for a function: the header that declares it has the name of its source, or is a front."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rooms import FRONT, MAY_INCLUDE, show, sources

# What the sources of a room share among themselves, one header a room. Those of a module: what its wrappers call, and
# what it keeps in memory.
SHARED = {
    "api/handle.h",
    "format/container/reader.h",
    "format/join/joining.h",
    "format/merge/merging.h",
    "format/records/decode.h",
    "python/ext/python.h",
    "ranges/phase.h",  # the source is a module's, which the runtime calls
}
OF_A_MODULE = {"record.h", "request.h", "state.h"}

ATTRIBUTE = re.compile(
    r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|/\*.*?\*/", re.M | re.S
)
# Type and name, then what is between the brackets, of what begins behind the end of something else.
FUNCTION = (
    r"(?:^|(?<=[;}}]))(?!\s*typedef\b)(?!\s*(?:\w+\s+)*static\b)[\w\s*]*[\s*](\w+)\s*\([^;{{}}]*\)\s*{end}"
)
DECLARED = re.compile(FUNCTION.format(end=";"))
DEFINED = re.compile(FUNCTION.format(end="{}"))


def outside_of_braces(text: str) -> str:
    """The text of a file without comments, attributes and what is between braces."""
    out, depth = [], 0
    for part in re.split(r"([{}])", ATTRIBUTE.sub(" ", text)):
        if part == "}":
            depth -= 1
        if depth == 0:
            out.append(part)
        if part == "{":
            depth += 1
    return "".join(out)


def functions(root: Path, suffix: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, Path]]:
    for path in sources(root, suffix, rooms=MAY_INCLUDE):
        for name in set(pattern.findall(outside_of_braces(path.read_text()))) - {"SEC"}:  # a macro of eBPF
            yield name, path.relative_to(root)


def belongs(header: Path, source: Path) -> bool:
    if source.is_relative_to("runtime/linked") and header.parts[0] == "runtime":
        return True  # in place of what the preload library does
    if header.stem == header.parent.name:
        return source.is_relative_to(header.parent)
    if header.name in OF_A_MODULE and header.parts[0] == source.parts[0] == "modules":
        return header.parent == source.parent
    if str(header) in SHARED:
        return header.parts[0] == "ranges" or header.parent == source.parent
    if str(header) in FRONT:
        return source.is_relative_to(header.parts[0])
    return header.parent == source.parent and (source.stem + "_").startswith(header.stem + "_")


def test_a_header_is_named_as_its_source_or_is_a_front(root: Path) -> None:
    """columns.h is the header of columns.c, and of columns_read.c and columns_write.c."""
    defined: dict[str, list[Path]] = {}
    for name, source in functions(root, ".c", DEFINED):
        defined.setdefault(name, []).append(source)
    declared = [(name, header) for name, header in functions(root, ".h", DECLARED) if name in defined]
    assert len(declared) > 1000
    wrong = [
        f"{header}: {name} is in {defined[name][0]}"
        for name, header in declared
        if not any(belongs(header, source) for source in defined[name])
    ]
    assert not wrong, show(wrong)


def test_the_test_of_headers_can_fail() -> None:
    text = "int a(void);\nstatic int b(void);\n__attribute__((cold)) struct s *c(int (*d)(int));\n"
    text += "int e(void)\n{\n\tf();\n}\n"
    assert DECLARED.findall(outside_of_braces(text)) == ["a", "c"]
    assert DEFINED.findall(outside_of_braces(text)) == ["e"]
    assert belongs(Path("format/a/x.h"), Path("format/a/x_read.c"))
    assert not belongs(Path("format/a/x.h"), Path("format/a/xy.c"))
