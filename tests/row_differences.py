"""The rows that DuckDB and Spark have for one query, compared."""

from __future__ import annotations

import math
from typing import Any

from iolens.fleet import LakeData


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(plain, value))
    return int(value) if isinstance(value, bool) else value


def place(row: tuple[Any, ...]) -> list[str]:
    """Rows in an order that a difference in a float's last digits does not change."""
    return [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def differences(
    data: LakeData, spark: Any, query: str, parameters: Any = None, *, ordered: bool = False
) -> list[Any]:
    """Rows of DuckDB and those of Spark where they differ. ordered: their order counts, too."""
    asked = data.query(query, parameters)
    names = [column[0] for column in asked.description or ()]
    want = [tuple(map(plain, row)) for row in asked.fetchall()]
    answer = spark.query(query, parameters)
    order = [[name for name, _ in answer.description].index(name) for name in names]
    got = [tuple(plain(row[i]) for i in order) for row in answer.fetchall()]
    if len(want) != len(got):
        return [f"{len(want)} rows, on Spark {len(got)}"]
    if not ordered:
        want, got = sorted(want, key=place), sorted(got, key=place)
    return [(w, g) for w, g in zip(want, got) if not all(map(same, w, g))]
