"""Names of functions as their sources have them, from the linker's: C++ without templates and parameters, modules of
Fortran. What is not understood stays as the linker has it.

Files are untrusted: this reads a name once. libstdc++'s __cxa_demangle writes out what a name repeats: it makes 218 MB
of 267 bytes, in 17 s, and twice as much of 11 bytes more.
"""

from __future__ import annotations

import re

__all__ = ["is_of_module", "readable"]

_OF_MODULE = re.compile(r"__(\w+?)_MOD_(\w+)")
"""A function of a Fortran module, as GCC writes it."""
_START = re.compile(r"_ZL?(?:(N)[rVK]*[RO]?)?L?")
_LENGTH = re.compile(r"\d+")
_OPERATORS = {
    "cl": "operator()",
    "ix": "operator[]",
    "ls": "operator<<",
    "rs": "operator>>",
    "aS": "operator=",
}
_SKIPPED = re.compile(
    r"L[a-z]n?\d+E"  # a number
    r"|S(?:[0-9A-Z]*_|[a-z])|T[0-9A-Z]*_"  # what stood before
    r"|A\d*_|D[a-zA-Z]|[a-zKPRVO]"
)
_OPENING = "NIXJF"
_WRITTEN = re.compile(r"~?\w+|operator\W{1,2}")


def is_of_module(symbol: str) -> bool:
    return bool(_OF_MODULE.fullmatch(symbol))


def readable(symbol: str) -> str:
    """``sim::Grid::save`` for ``_ZNK3sim4GridIdE4saveEv``, ``store::save`` for ``__store_MOD_save``."""
    of_module = _OF_MODULE.fullmatch(symbol)
    if of_module:
        return f"{of_module[1]}::{of_module[2]}"
    start = _START.match(symbol)
    parts = _parts(symbol, start.end(), nested=bool(start[1])) if start else []
    return "::".join(parts) if parts and all(_WRITTEN.fullmatch(one) for one in parts) else symbol


def _parts(symbol: str, at: int, *, nested: bool) -> list[str]:
    """The names of a nested name, or the one name there is; [] if it has more than is understood."""
    parts: list[str] = []
    if symbol.startswith("St", at):
        parts, at = ["std"], at + 2
    while at < len(symbol):
        if symbol[at] == "E" and nested:
            return parts
        if symbol[at] == "I":
            at = _after(symbol, at)
            continue
        tag = symbol[at] == "B"
        name, at = _name(symbol, at + tag, parts)
        if not name:
            return []
        parts += [] if tag else [name]
        if not nested and not symbol.startswith("B", at):
            return parts
    return [] if nested else parts


def _name(symbol: str, at: int, parts: list[str]) -> tuple[str, int]:
    """A name and where it ends; "" if it is none that is understood."""
    length = _LENGTH.match(symbol, at)
    if length:
        end = length.end() + int(length[0][:6])
        return symbol[length.end() : end], end
    if re.match(r"[CD][0-5]", symbol[at:]) and parts:
        return ("~" if symbol[at] == "D" else "") + parts[-1], at + 2
    return _OPERATORS.get(symbol[at : at + 2], ""), at + 2


def _after(symbol: str, at: int) -> int:
    """Where template arguments end that begin there; the end of the symbol if they have more than is understood."""
    depth = 0
    while at < len(symbol):
        length, skipped = _LENGTH.match(symbol, at), _SKIPPED.match(symbol, at)
        if length:
            at = length.end() + int(length[0][:6])
        elif skipped:
            at = skipped.end()
        elif symbol[at] in _OPENING or symbol[at] == "E":
            depth += -1 if symbol[at] == "E" else 1
            at += 1
            if not depth:
                return at
        else:
            break
    return len(symbol)
