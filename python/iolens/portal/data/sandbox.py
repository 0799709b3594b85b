"""A viewer's own SQL: in a database made for it, which holds what the viewer may see and can reach nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb

from iolens.error import USAGE, IolensError
from iolens.metrics import metrics
from iolens.portal.data.scope import Scope
from iolens.portal.data.snapshot import PortalSnapshot
from iolens.portal.data.statement import check
from iolens.portal.data.view import View, unreadable

__all__ = ["Limits", "Result", "fetched", "known_tables", "run"]

Taken = TypeVar("Taken")


@dataclass(frozen=True)
class Limits:
    """Of one statement."""

    seconds: float = 20.0
    memory: str = "1GB"
    rows: int = 10_000


@dataclass(frozen=True)
class Result:
    names: Sequence[str]
    types: Sequence[str]
    rows: list[tuple[Any, ...]]
    cut: bool
    """There were more rows."""
    seconds: float


def known_tables(view: View) -> frozenset[str]:
    return frozenset({*view.data.tables(), *(f"metric.{name}" for name in metrics())})


def _seal(view: View, snapshot: PortalSnapshot) -> None:
    """No files, but the lake's where the whole lake may be read; no settings."""
    view.data.connection.execute("SET max_temp_directory_size = '2GB'")
    view.data.seal([str(snapshot.lake.path.resolve())] if view.scope.everything else [])


def fetched(limits: Limits) -> Callable[[Any], Result]:
    """Takes all rows of a relation, at most one more than the limit."""

    def take(relation: Any) -> Result:
        start = time.monotonic()
        rows = relation.fetchall()
        return Result(
            [str(name) for name in relation.columns],
            [str(kind) for kind in relation.types],
            rows[: limits.rows],
            len(rows) > limits.rows,
            time.monotonic() - start,
        )

    return take


def run(
    snapshot: PortalSnapshot, scope: Scope, statement: str, limits: Limits, take: Callable[[Any], Taken]
) -> Taken:
    """What ``take`` makes of a statement's relation. Raises IolensError for what is refused, wrong, or too much."""
    view = snapshot.fresh(scope, limits.memory)
    ended = threading.Event()

    def end() -> None:
        ended.set()
        view.data.interrupt()

    try:
        named = check(statement, known_tables(view))
        timer = threading.Timer(limits.seconds, end)
        timer.daemon = True
        timer.start()
        try:
            for name in named:
                view.data.prepare(f"FROM {name}")
            _seal(view, snapshot)
            bounded = f"SELECT * FROM ({statement.strip().rstrip(';')}\n) LIMIT {limits.rows + 1}"
            return take(view.data.connection.sql(bounded))
        finally:
            timer.cancel()
    except duckdb.InterruptException:
        if not ended.is_set():  # the portal is being stopped
            raise
        text = f"ended after {limits.seconds:g} s: ask for fewer days, or for less"
        raise IolensError(text, exit_code=USAGE) from None
    except duckdb.OutOfMemoryException:
        text = f"needs more than {limits.memory} of memory: ask for less at a time"
        raise IolensError(text, exit_code=USAGE) from None
    except duckdb.Error as error:
        if (gone := unreadable(error)) is not None:
            raise gone from None
        raise IolensError(str(error).splitlines()[0][:500], exit_code=USAGE) from None
    finally:
        view.close()
