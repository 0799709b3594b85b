"""Tables of the words that every reader of a trailer knows: words.py dictionary.words HEADER.

A word is found by its kind, a number made of its ends and its length (kind_of in dictionary.c makes the same): the
first of that kind, then the next one, each as its number and 1, 0 = none.
"""

from __future__ import annotations

import sys
from pathlib import Path

KINDS = 256


def kind_of(word: bytes) -> int:
    first, last = (word[0], word[-1]) if word else (0, 0)
    return (first * 37 + last * 11 + len(word) * 101) % KINDS


def table(name: str, numbers: list[int]) -> str:
    rows = [", ".join(map(str, numbers[at : at + 16])) for at in range(0, len(numbers), 16)]
    return f"static const uint16_t {name}[] = {{\n\t" + ",\n\t".join(rows) + ",\n};\n"


def main() -> None:
    words = Path(sys.argv[1]).read_bytes().split(b"\n")[:-1]
    begins, first, following = [0], [0] * KINDS, [0] * len(words)
    for word in words:
        begins.append(begins[-1] + len(word) + 1)
    for number in reversed(range(len(words))):
        kind = kind_of(words[number])
        following[number], first[kind] = first[kind], number + 1
    lines = ['\t"' + word.decode().replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for word in words]
    Path(sys.argv[2]).write_text(
        "/* Made by tools/words.py. */\n#include <stdint.h>\n\n"
        + f"enum {{ KINDS = {KINDS} }};\n\nstatic const char words[] =\n"
        + "\n".join(lines)
        + ";\n\n"
        + table("begins", begins)
        + table("first_like", first)
        + table("next_like", following)
        + f'\n_Static_assert(DICTIONARY_WORDS == {len(words)}, "the number of words");\n'
    )


if __name__ == "__main__":
    main()
