"""Files of different runs that play the same part: ``out.0007`` in one is ``out.0008`` in the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from iolens.error import USAGE, IolensError
from iolens.metrics.engine import connect, duckdb
from iolens.metrics.literal import quoted

__all__ = ["Substitution", "match", "parse_substitution", "role", "role_sql"]

Substitution = tuple[str, str]

# A UUID, a long hexadecimal word with a digit in it, or a number, wherever it stands, is what differs between runs.
_VARYING = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    r"[0-9]+",
)

_EXTENSION = r"\.[A-Za-z][A-Za-z0-9]{0,7}$"


def _replace(expression: str, substitutions: Iterable[Substitution]) -> str:
    for pattern, replacement in substitutions:
        expression = f"regexp_replace({expression}, {quoted(pattern)}, {quoted(replacement)}, 'g')"
    return expression


def role_sql(column: str, substitutions: Sequence[Substitution] = ()) -> str:
    """SQL for the role of a name: substitutions first, then whatever varies becomes #, but for the extension (.h5)."""
    name = _replace(column, substitutions)
    stem = f"regexp_replace({name}, '{_EXTENSION}', '')"
    return f"{_replace(stem, [(p, '#') for p in _VARYING])} || regexp_extract({name}, '{_EXTENSION}')"


def role(name: str, substitutions: Sequence[Substitution] = ()) -> str:
    """The role of one name."""
    with connect() as own:  # the default connection is the user's
        query = f"SELECT {role_sql('name', substitutions)} FROM (SELECT ? AS name)"
        ((found,),) = own.execute(query, [name]).fetchall()
    return str(found)


def parse_substitution(text: str) -> Substitution:
    """``PATTERN=REPLACEMENT`` of the command line. Raises IolensError if it is none."""
    pattern, equals, replacement = text.partition("=")
    if not pattern or not equals:
        raise IolensError(f'"{text}" is not PATTERN=REPLACEMENT', exit_code=USAGE)
    try:
        with connect() as own:
            own.execute("SELECT regexp_replace('', ?, ?)", [pattern, replacement])
    except duckdb.Error as error:
        raise IolensError(f'"{pattern}" is no regular expression: {error}', exit_code=USAGE) from error
    return pattern, replacement


def _tail(role: str) -> str:
    return PurePosixPath(role).name or role


def _by_tail(roles: Iterable[str]) -> Mapping[str, str | None]:
    """Last component of a role -> the role, None if several share it."""
    found: dict[str, str | None] = {}
    for one in roles:
        tail = _tail(one)
        found[tail] = None if tail in found else one
    return found


def match(groups: Sequence[Iterable[str]]) -> list[tuple[str | None, ...]]:
    """Rows of roles that belong together, one place per group, None where a group has none.

    Equal roles belong together, then those whose last component is unique among what is left of each group.
    """
    listed = [list(dict.fromkeys(group)) for group in groups]
    known = [set(group) for group in listed]
    everywhere = set.intersection(*known)
    table: list[tuple[str | None, ...]] = [(one,) * len(listed) for one in listed[0] if one in everywhere]
    tails = [_by_tail(one for one in group if one not in everywhere) for group in listed]
    used: set[tuple[int, str]] = set()
    for number, group in enumerate(listed):
        for one in group:
            if one in everywhere or (number, one) in used:
                continue
            tail = _tail(one)
            unique = tails[number].get(tail) == one
            row: list[str | None] = []
            for other, names in enumerate(known):
                found = one if one in names else (tails[other].get(tail) if unique else None)
                row.append(None if found is None or (other, found) in used else found)
            used.update((other, found) for other, found in enumerate(row) if found is not None)
            table.append(tuple(row))
    return table
