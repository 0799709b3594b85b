"""What one object of a program did, by callgrind's own file: exact, and the same on every machine."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(r"(\w+)=(?:\((\d+)\))?\s*(.*)")


@dataclass
class Work:
    """Of one object: its instructions and system calls, and its calls of other objects, each by function."""

    instructions: Counter[str] = field(default_factory=Counter)
    system_calls: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def __sub__(self, other: Work) -> Work:
        def less(mine: Counter[str], others: Counter[str]) -> Counter[str]:
            return Counter({key: mine[key] - others[key] for key in mine if mine[key] != others[key]})

        return Work(
            less(self.instructions, other.instructions),
            less(self.system_calls, other.system_calls),
            less(self.calls, other.calls),
        )


class _Reader:
    """Names come once with their number, afterwards the number alone; files, functions and objects count apart."""

    def __init__(self, of: str) -> None:
        self.of = of
        self.names: dict[tuple[str, str], str] = {}
        self.now = {"ob": "", "fn": ""}
        self.called: dict[str, str] = {}
        self.ours: dict[str, bool] = {}
        self.work = Work()

    def name(self, key: str, number: str, text: str) -> str:
        kind = key[-2:]
        if text:
            self.names[kind, number] = text
        return self.names[kind, number]

    def is_ours(self, path: str) -> bool:
        return Path(path).name.startswith(self.of)

    def place(self, key: str, number: str, text: str) -> None:
        if key in ("ob", "fn"):
            self.now[key] = self.name(key, number, text)
        elif key in ("cob", "cfn"):
            self.called[key] = self.name(key, number, text)

    def call(self, count: int) -> None:
        """The line behind this one has what the callee did."""
        if self.is_ours(self.now["ob"]) and not self.is_ours(self.called.get("cob", self.now["ob"])):
            self.work.calls[f"{self.now['fn']} -> {self.called['cfn']}"] += count
        self.called = {}

    def cost(self, numbers: list[int]) -> None:
        if self.is_ours(self.now["ob"]):
            self.work.instructions[self.now["fn"]] += numbers[0]
            self.work.system_calls[self.now["fn"]] += numbers[1] if len(numbers) > 1 else 0


def work_of(out: Path, of: str) -> Work:
    """Of all objects whose file name begins with `of`."""
    reader, skip = _Reader(of), False
    for line in out.read_text().splitlines():
        if line[:1] in "0123456789+-*" and line:
            if not skip:
                reader.cost([int(number) for number in line.split()[1:]])
            skip = False
        elif line.startswith("calls="):
            reader.call(int(line[6:].split()[0]))
            skip = True
        elif found := LINE.match(line):
            reader.place(found[1], found[2] or "", found[3])
    return reader.work
