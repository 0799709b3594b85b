"""The attribute names that PyDarshan's users have in their scripts, on top of iolens.

    from iolens.pydarshan import DarshanReport
    report = DarshanReport("job.darshan")
    report.records["POSIX"].to_df()["counters"]

Needs numpy, pandas and pyarrow. Values that Darshan marks with -1 are -1 again, as PyDarshan's users expect; the
tables of iolens have nulls there.
"""

from __future__ import annotations

from iolens.pydarshan.records import (
    DarshanRecordCollection,
    Heatmap,
    LayoutRecords,
    MpiRecords,
    RecordDicts,
    TraceRecords,
)
from iolens.pydarshan.report import DarshanReport

__all__ = [
    "DarshanRecordCollection",
    "DarshanReport",
    "Heatmap",
    "LayoutRecords",
    "MpiRecords",
    "RecordDicts",
    "TraceRecords",
]
