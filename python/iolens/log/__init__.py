"""Reading Darshan logs: one (``open``) or many (``scan``), as Arrow tables.

The public counter names, units and roles are those of docs/reference/counters.md.
"""

from __future__ import annotations

from iolens.log.log import Job, Log, Module, Mount, Names, open
from iolens.log.scan import Scan, memory_allowed, scan
from iolens.log.table import BATCH_ROWS, Batch, Field, Schema, Table

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "Field",
    "Job",
    "Log",
    "Module",
    "Mount",
    "Names",
    "Scan",
    "Schema",
    "Table",
    "memory_allowed",
    "open",
    "scan",
]
