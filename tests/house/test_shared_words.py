"""Words of memory that threads share say where they are declared who writes them, and in what order with what."""

from __future__ import annotations

import re
from pathlib import Path

ROOMS = ("runtime", "modules")

# What such a rule says, in a comment of the declaration, right above it, or above its block of lines.
RULE = re.compile(
    r"\block\b|\bat start\b|\bonce\b|\batomic\b|\bone thread\b|\bonly thread\b|\bguards\b", re.IGNORECASE
)
LOCK = re.compile(r"\b(static )?struct lock \w+;")

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)\)?|AT_START|_Alignas\(.*?\)", re.DOTALL)
NO_VARIABLE = re.compile(r"\s*(typedef|extern|enum\b[^=]*$|_Static_assert|(struct|union) \w+( \{\})?$)")


def blank(match: re.Match[str]) -> str:
    """The same number of lines, and nothing else."""
    return re.sub(r"[^\n]", " ", match[0])


def statements(source: str) -> list[tuple[int, int, str]]:
    """First and last line, and text without bodies, of what stands outside of functions."""
    code = re.sub(r"(?m)^#(?:.*\\\n)*.*$", blank, TEXT.sub(blank, COMMENT.sub(blank, source)))
    out, depth, first, line, text = [], 0, 0, 1, ""
    for c in code:
        depth += (c == "{") - (c == "}")
        if not text.strip() and not c.isspace():
            first = line
        if depth == 0 or (depth == 1 and c == "{"):
            text += c
        if depth == 0 and (c == ";" or (c == "}" and re.search(r"\)\s*\{\}$", text))):
            out.append((first, line, text.strip()))
            text = ""
        line += c == "\n"
    return out


def is_shared(text: str) -> bool:
    declared = ATTRIBUTE.sub("", text.rstrip(";")).split("=")[0].strip()
    if "(" in declared or NO_VARIABLE.match(declared) or "__thread" in declared:
        return False
    return "const" not in declared if "*" not in declared else not re.search(r"\*\s*const\b", declared)


def comments_of(source: str) -> list[tuple[int, int, str]]:
    """First and last line, and text."""
    return [
        (source.count("\n", 0, match.start()) + 1, source.count("\n", 0, match.end()) + 1, match[0])
        for match in COMMENT.finditer(source)
    ]


def has_rule(source: str, first: int, last: int) -> bool:
    lines, head = source.split("\n"), first
    while head > 1 and lines[head - 2].strip():
        head -= 1
    return any(
        RULE.search(text)
        for begin, end, text in comments_of(source)
        if first <= begin <= last
        or (lines[begin - 1].lstrip().startswith("/*") and (end == first - 1 or begin == head))
    )


def without_rule(path: Path) -> list[str]:
    source = path.read_text()
    found = [(first, last, text) for first, last, text in statements(source) if is_shared(text)]
    return [
        f"{path.name}:{first}: {text[:60]!r}"
        for first, last, text in found
        if not has_rule(source, first, last)
    ]


def locks_without_rule(path: Path) -> list[str]:
    """Also those that are members: each says what it guards."""
    source = path.read_text()
    lines = source.split("\n")
    return [
        f"{path.name}:{n}: {line.strip()!r}"
        for n, line in enumerate(lines, 1)
        if LOCK.search(line) and "extern" not in line and not has_rule(source, n, n)
    ]


def declared(path: Path, extern: bool) -> set[str]:
    """Names of variables, which `extern` announces or not."""
    texts = [
        ATTRIBUTE.sub("", text.rstrip(";")).split("=")[0].strip()
        for _, _, text in statements(path.read_text())
    ]
    names = [text for text in texts if "(" not in text and text.startswith("extern ") == extern]
    return {name for text in names for name in re.findall(r"(\w+)(?:\[[^\]]*\])*\s*(?:,|$)", text)}


def test_words_that_threads_share_say_who_writes_them(root: Path) -> None:
    missing = {
        str(path.relative_to(root)): without_rule(path)
        for room in ROOMS
        for path in sorted((root / room).rglob("*.c"))
    }
    assert len(missing) > 100
    assert not {path: found for path, found in missing.items() if found}


def test_words_that_headers_show_stand_where_that_is_checked(root: Path) -> None:
    """Their rule is at their definition, not at each `extern`."""
    made = {
        name for room in ROOMS for path in (root / room).rglob("*.c") for name in declared(path, extern=False)
    }
    shown = {
        name for room in ROOMS for path in (root / room).rglob("*.h") for name in declared(path, extern=True)
    }
    assert len(shown) > 20
    assert shown - made == {"environ"}, "libc's"


def test_locks_say_what_they_guard(root: Path) -> None:
    paths = [path for room in ROOMS for path in sorted((root / room).rglob("*.[ch]"))]
    assert sum(len(LOCK.findall(path.read_text())) for path in paths) > 25
    assert [found for path in paths for found in locks_without_rule(path)] == []


def test_the_test_sees_a_word_without_a_rule(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "static int bare;\n\n/* Under the lock. */\nstatic struct lock lock;\nstatic int *guarded;\n\n"
        "static const int fixed[] = {1, 2};\nstatic int used(void)\n{\n\tint inner = 1;\n\treturn inner;\n}\n"
    )
    assert without_rule(tmp_path / "a.c") == ["a.c:1: 'static int bare;'"]
    (tmp_path / "b.c").write_text(
        "/* Atomic. */\nstatic int first;\nstatic int second;\n\nstatic struct lock lock;\n"
        "static int guarded; /* under the lock */\nstatic int bare;\n\nstruct list {\n\tstruct lock lock;\n};\n"
    )
    assert without_rule(tmp_path / "b.c") == [
        "b.c:5: 'static struct lock lock;'",
        "b.c:7: 'static int bare;'",
    ]
    assert locks_without_rule(tmp_path / "b.c") == [
        "b.c:5: 'static struct lock lock;'",
        "b.c:10: 'struct lock lock;'",
    ]
