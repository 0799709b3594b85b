"""Batches that are in a lake in part: a user copied it while they were committed.

In a lake a batch is there whole or not at all. In such a copy the table ``job`` may have it, and others not.
"""

from __future__ import annotations

from iolens.fleet.tables.data import LakeData
from iolens.fleet.tables.schema import BATCH_BITS
from iolens.metrics.views import INTERFACES

__all__ = ["incomplete", "without_metrics"]

_BATCH = f"log >> {BATCH_BITS}"

# Detail of a day that retention has removed is gone for all that was ingested before: not for a batch after one whose
# detail is there, of this day or an earlier one.
_WITH_DETAIL = f"""
    WITH detailed AS (
        SELECT "day", min(ingested) AS since FROM job SEMI JOIN module USING (log) GROUP BY "day"
    ), came AS (SELECT {_BATCH} AS batch, max("day") AS "day", min(ingested) AS ingested FROM job GROUP BY batch)
    SELECT batch FROM came
    WHERE EXISTS (FROM detailed AS d WHERE d."day" <= came."day" AND d.since <= came.ingested)
"""
_SAID = f"""
    SELECT DISTINCT {_BATCH}, module FROM module AS m JOIN job USING (log)
    WHERE stored > 0 AND m.partial = 0 AND problem IS NULL
"""
_USED = f"SELECT DISTINCT {_BATCH} FROM metric WHERE name = 'used_files' AND value > 0"


def incomplete(data: LakeData) -> dict[int, str]:
    """Number of a batch -> a table that lacks it."""
    there = {name: _batches(data, name) for name in (*INTERFACES, "module", "mount", "metadata")}
    found = {
        batch: module
        for batch, module in data.query(_SAID).fetchall()
        if module in there and batch not in there[module]
    }
    lacking = {batch for (batch,) in data.query(_WITH_DETAIL).fetchall()} - there["module"]
    if lacking:
        used = {batch for (batch,) in data.query(_USED).fetchall()}
        records = {batch for name in INTERFACES for batch in there[name]}
        # A log without any module has these all the same.
        nothing = lacking - there["mount"] - there["metadata"]
        found.update(dict.fromkeys(lacking & (used | records | nothing), "module"))
    return found


def _batches(data: LakeData, name: str) -> set[int]:
    if not data.snapshot.files.get(name):
        return set()
    return {batch for (batch,) in data.query(f"SELECT DISTINCT {_BATCH} FROM {name}").fetchall()}


def without_metrics(data: LakeData) -> int:
    """Jobs with detail and without metrics, in a lake where others have them."""
    if not data.snapshot.files.get("metric"):
        return 0
    asked = "SELECT count(*) FROM job SEMI JOIN module USING (log) ANTI JOIN metric USING (log)"
    return int(data.query(asked).fetchall()[0][0])
