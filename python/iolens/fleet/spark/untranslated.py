"""Queries that DuckDB alone can answer, and why Spark cannot."""

from __future__ import annotations

__all__ = ["UNTRANSLATED"]

UNTRANSLATED = {
    "metric.tree": "a recursive query over an ASOF JOIN: Spark 4.0 has neither",
}
"""Query -> the reason. A test holds this list against what is translated, and against one query in ten."""
