"""What is asked of one log or of a lake by DuckDB alone, and why."""

from __future__ import annotations

__all__ = ["UNCARRIED"]

UNCARRIED = {
    "metric.tree": "a recursive query over an ASOF JOIN: Spark 4.0 has neither",
}
"""Query -> the reason. A test holds this list against what is translated, and against one query in ten."""
