"""Who may see what: a role, and the jobs that come with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from iolens.fleet.tables.write import quoted

__all__ = ["EVERYTHING", "Role", "Scope", "Viewer"]


class Role(IntEnum):
    """Each may do what those before it may."""

    USER = 0
    LEAD = 1
    STAFF = 2
    ADMINISTRATOR = 3

    @property
    def title(self) -> str:
        return ("user", "project lead", "staff", "administrator")[self]


def _among(column: str, names: Iterable[str]) -> str:
    listed = ", ".join(map(quoted, sorted(names)))
    return f"{column} IN ({listed})" if listed else "FALSE"


@dataclass(frozen=True)
class Scope:
    """Jobs: all of them, or those of some users and those that the scheduler charged to some accounts."""

    everything: bool = False
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()

    def condition(self) -> str:
        """SQL over columns ``user`` and ``account``: is a row in this scope? Null is in none but everything."""
        if self.everything:
            return "TRUE"
        mine, charged = _among('"user"', self.users), _among("account", self.accounts)
        if not self.accounts:
            return mine  # as it stands, so that Parquet's statistics are asked and other users' rows are not read
        return f"coalesce({mine} OR {charged}, FALSE)"


EVERYTHING = Scope(everything=True)


@dataclass(frozen=True)
class Viewer:
    """Who asks. led: accounts and users of the projects that this one leads."""

    name: str
    role: Role
    led_users: frozenset[str] = frozenset()
    led_accounts: frozenset[str] = frozenset()

    @property
    def scope(self) -> Scope:
        if self.role >= Role.STAFF:
            return EVERYTHING
        if self.role == Role.LEAD:
            return Scope(users=self.led_users | {self.name}, accounts=self.led_accounts)
        return Scope(users=frozenset({self.name}))
