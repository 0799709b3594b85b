"""A viewer's own SQL: in a database made for it, which holds what the viewer may see and can reach nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from iolens.error import USAGE, IolensError
from iolens.metrics import metrics
from iolens.portal.access import Scope
from iolens.portal.bounded import View
from iolens.portal.shelf import Edition
from iolens.portal.statement import check

__all__ = ["Limits", "Result", "known_tables", "run"]


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


def _seal(view: View, edition: Edition) -> None:
    """No files, but the lake's where the whole lake may be read; no settings."""
    view.data.connection.execute("SET max_temp_directory_size = '2GB'")
    view.data.seal([str(edition.lake.path.resolve())] if view.scope.everything else [])


def run(edition: Edition, scope: Scope, statement: str, limits: Limits) -> Result:
    """Rows of a statement. Raises IolensError for what is refused, wrong, or takes more than the limits."""
    view = edition.fresh(scope, limits.memory)
    start = time.monotonic()
    try:
        named = check(statement, known_tables(view))
        timer = threading.Timer(limits.seconds, view.data.interrupt)
        timer.daemon = True
        timer.start()
        try:
            for name in named:
                view.data.prepare(f"FROM {name}")
            _seal(view, edition)
            bounded = f"SELECT * FROM ({statement.strip().rstrip(';')}\n) LIMIT {limits.rows + 1}"
            answer = view.data.connection.execute(bounded)
            rows = answer.fetchmany(limits.rows + 1)
        finally:
            timer.cancel()
        described = answer.description or []
        return Result(
            [str(column[0]) for column in described],
            [str(column[1]) for column in described],
            rows[: limits.rows],
            len(rows) > limits.rows,
            time.monotonic() - start,
        )
    except duckdb.InterruptException:
        text = f"ended after {limits.seconds:g} s: ask for fewer days, or for less"
        raise IolensError(text, exit_code=USAGE) from None
    except duckdb.OutOfMemoryException:
        text = f"needs more than {limits.memory} of memory: ask for less at a time"
        raise IolensError(text, exit_code=USAGE) from None
    except duckdb.Error as error:
        raise IolensError(str(error).splitlines()[0][:500], exit_code=USAGE) from None
    finally:
        view.close()
