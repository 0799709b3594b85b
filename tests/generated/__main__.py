"""python -m generated: COUNT programs from SEED on, each that differs with its seed and its smallest form."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import places

from .generator import generate
from .kernel import Undefined
from .known import unknown
from .operations import Op, parse
from .outcome import Ran, differences, expected, paired
from .runner import Runner, build, namespaces_allowed
from .shrink import shrink


class Campaign:
    """Programs, one after the other, and what differs."""

    def __init__(self, runner: Runner, *, alone: bool = False) -> None:
        self.runner = runner
        self.alone = alone
        self.alignment = os.statvfs(runner.folder).f_bsize

    def all_differences(self, program: Sequence[Op]) -> tuple[Ran, list[str]]:
        """What the model expects, and what differs."""
        want = expected(program, self.alignment)
        if not self.alone:
            return want, differences(want, self.runner.observed(program))
        want, got = paired(want, self.runner.alone(program))
        return want, differences(want, got)

    def differs(self, program: Sequence[Op]) -> list[str]:
        """The differences of a program that are not known; what is not defined has none."""
        try:
            want, lines = self.all_differences(program)
        except Undefined:
            return []
        return unknown(want, lines)

    def smallest(self, program: Sequence[Op]) -> tuple[list[Op], list[str]]:
        kinds = {_kind(line) for line in self.differs(program)}
        small = shrink(program, lambda p: any(_kind(line) in kinds for line in self.differs(p)))
        return small, self.differs(small)

    def bare(self, program: Sequence[Op]) -> list[str]:
        """What differs without iolens: then it is the model that is wrong."""
        return differences(expected(program, self.alignment), self.runner.bare(program), observed=False)


def _kind(line: str) -> str:
    """A difference without its numbers and names."""
    first, *words = line.split()
    return " ".join([first, *(word for word in words if word.isupper())])


def _report(
    campaign: Campaign, title: str, program: Sequence[Op], lines: Sequence[str], smaller: bool
) -> None:
    print(f"{title}: {len(program)} operations differ")
    if smaller:
        program, lines = campaign.smallest(program)
    for op in program:
        print(f"    {op}")
    for line in [*lines[:12], *(f"without iolens: {line}" for line in campaign.bare(program))]:
        print(f"  {line}", flush=True)


def main() -> int:
    """0: no difference that is not known; 1: some."""
    parser = argparse.ArgumentParser(prog="generated", description=__doc__)
    parser.add_argument("--iolens", type=Path, default=places.BIN)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--alone", action="store_true", help="with the library alone, not under iolens run")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--program", type=Path, help="a file with one operation a line, in place of a seed")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(words.iolens, places.PRELOAD, build(Path(folder)), Path(folder))
        campaign = Campaign(runner, alone=words.alone)
        if words.program:
            programs = [
                ("program", [parse(line) for line in words.program.read_text().splitlines() if line.strip()])
            ]
        else:
            allowed = namespaces_allowed()
            print(f"seeds {words.seed} to {words.seed + words.count - 1}, namespaces: {allowed}", flush=True)
            seeds = range(words.seed, words.seed + words.count)
            programs = ((f"seed {seed}", generate(seed, allowed)) for seed in seeds)
        bad = done = 0
        for title, program in programs:
            lines = campaign.differs(program)
            done += 1
            if lines:
                bad += 1
                _report(campaign, title, program, lines, not words.no_shrink)
        print(f"{done} programs, {bad} differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
