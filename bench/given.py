"""What a benchmark is asked for, checked before it begins."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence


def at_least(least: int) -> Callable[[str], int]:
    """A type for argparse: a whole number from `least` on."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text}: at least {least} is needed")
        return value

    number.__name__ = "whole number"  # what argparse calls it
    return number


def known(bench: str, asked: Sequence[str], names: Collection[str]) -> None:
    """Ends the program where something is asked for that there is not."""
    for name in asked:
        if name not in names:
            raise SystemExit(f"bench/{bench}: no {name}: there are {', '.join(dict.fromkeys(names))}")
