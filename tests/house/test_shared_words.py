"""Words of memory that threads share say where they are declared who writes them, and in what order with what."""

from __future__ import annotations

import re
from pathlib import Path

ROOMS = ("runtime", "modules")

# What such a rule says, in the comment of a declaration or of the lines around it that no blank one parts.
RULE = re.compile(r"\block\b|\bat start\b|\bonce\b|\batomic\b|\bone thread\b|\bonly thread\b", re.IGNORECASE)

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
    if re.match(r"(static )?struct lock \w+$", declared):
        return False
    return "const" not in declared if "*" not in declared else not re.search(r"\*\s*const\b", declared)


def paragraph(lines: list[str], first: int, last: int) -> str:
    """The lines around it that no blank one parts."""
    while first > 1 and lines[first - 2].strip():
        first -= 1
    while last < len(lines) and lines[last].strip():
        last += 1
    return "\n".join(lines[first - 1 : last])


def without_rule(path: Path) -> list[str]:
    source = path.read_text()
    lines = source.split("\n")
    found = [(first, last, text) for first, last, text in statements(source) if is_shared(text)]
    return [
        f"{path.name}:{first}: {text[:60]!r}"
        for first, last, text in found
        if not any(RULE.search(comment) for comment in COMMENT.findall(paragraph(lines, first, last)))
    ]


def test_words_that_threads_share_say_who_writes_them(root: Path) -> None:
    missing = {
        str(path.relative_to(root)): without_rule(path)
        for room in ROOMS
        for path in sorted((root / room).rglob("*.c"))
    }
    assert len(missing) > 100
    assert not {path: found for path, found in missing.items() if found}


def test_the_test_sees_a_word_without_a_rule(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "static int bare;\n\n/* Under the lock. */\nstatic struct lock lock;\nstatic int *guarded;\n\n"
        "static const int fixed[] = {1, 2};\nstatic int used(void)\n{\n\tint inner = 1;\n\treturn inner;\n}\n"
    )
    assert without_rule(tmp_path / "a.c") == ["a.c:1: 'static int bare;'"]
