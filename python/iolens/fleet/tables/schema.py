"""The tables of a lake: their columns, and how these are stored.

Delta knows no unsigned numbers and no lists of fixed size: ids are stored as signed numbers of the same 64 bits, and
come back as what they are in a log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from iolens.error import USAGE, IolensError
from iolens.log import scan
from iolens.log.table import Field
from iolens.metrics import MODULES, SECTIONS
from iolens.metrics.log_tables import PLAIN

__all__ = ["BATCH_BITS", "OWN", "Column", "fingerprint", "of_stored", "tables"]

BATCH_BITS = 16
"""A log's number is that of its batch, a random one of 37 bits, and its place there: below 2^53, so exact in JSON."""


class Column(NamedTuple):
    """A column of a lake's table."""

    name: str
    kind: str
    """One of the keys of ``_STORED``."""
    elements: int = 1
    """In a row: 1, more for lists of fixed size, 0 for lists of any length."""

    @property
    def delta(self) -> str:
        """Delta's type of a value, or of an element."""
        return _STORED[self.kind][0]

    @property
    def type(self) -> str:
        """DuckDB's, as in a dataset of logs."""
        return _STORED[self.kind][1] + ("" if self.elements == 1 else f"[{self.elements or ''}]")

    @property
    def stored(self) -> str:
        """DuckDB's, as it is stored."""
        kind = {"unsigned": "BIGINT", "moment": "TIMESTAMPTZ"}.get(self.kind, _STORED[self.kind][1])
        return kind + ("" if self.elements == 1 else "[]")

    @property
    def to_stored(self) -> str:
        """SQL: the stored form of the column of a dataset's table."""
        form, name = _STORED[self.kind][2], f'"{self.name}"'
        if self.elements == 1:
            return form.format(name)
        return f"list_transform({name}::{self.type}, lambda x: {form.format('x')})" if form != "{}" else name

    @property
    def from_stored(self) -> str:
        """SQL: the reverse."""
        form, name = _STORED[self.kind][3], f'"{self.name}"'
        if form != "{}" and self.elements != 1:
            name = f"list_transform({name}, lambda x: {form.format('x')})"
        elif self.elements == 1:
            name = form.format(name)
        return f'{name}::{self.type} AS "{self.name}"'


# The same 64 bits with a sign, and without. Written so that no sum of constants is out of range.
_LOWEST = "(-9223372036854775808)::BIGINT"
_SIGNED = (
    f"CASE WHEN {{0}} > 9223372036854775807 THEN ({{0}} - 9223372036854775808)::BIGINT + {_LOWEST} "
    "ELSE {0}::BIGINT END"
)
_UNSIGNED = (
    f"CASE WHEN {{0}} >= 0 THEN {{0}}::UBIGINT ELSE ({{0}} - {_LOWEST})::UBIGINT + 9223372036854775808 END"
)

# Kind -> Delta's type, DuckDB's in a dataset, to the stored form, from it.
_STORED = {
    "long": ("long", "BIGINT", "{}", "{}"),
    "unsigned": ("long", "UBIGINT", _SIGNED, _UNSIGNED),
    "int": ("integer", "INTEGER", "{}", "{}"),
    "double": ("double", "DOUBLE", "{}", "{}"),
    "text": ("string", "VARCHAR", "{}", "{}"),
    "flag": ("boolean", "BOOLEAN", "{}", "{}"),
    "date": ("date", "DATE", "{}", "{}"),
    "moment": ("timestamp", "TIMESTAMP", "{} AT TIME ZONE 'UTC'", "({} AT TIME ZONE 'UTC')"),
}
_OF_ARROW = {
    "int64": "long",
    "uint64": "unsigned",
    "int32": "int",
    "double": "double",
    "string": "text",
}
_OF_SECTION = {"BIGINT": "long", "DOUBLE": "double", "VARCHAR": "text"}
_OF_FILE = {
    **_OF_SECTION,
    "INTEGER": "int",
    "BOOLEAN": "flag",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "moment",
}

_OWN = {
    # As in a dataset of logs, and what only a lake has to say.
    "job": """
        log long, path text, uid long, job_id long, nprocs long, start moment, end moment, run_time double, exe text,
        format text, partial unsigned, log_size long, log_mtime long, digest text, user text, application text,
        host text, cluster text, ingested moment, problem text, replaces long""",
    "metric": "log long, name text, value double, version text",
    "finding": """
        log long, rule text, rule_version text, title text, topic text, severity text, time_lost double, share double,
        gain_low double, gain_high double, confidence text, message text""",
    # What the program did with each file: computed of the records, like metrics, for sums over all jobs.
    "file_sum": """
        log long, id unsigned, directory text, mount text, file_system text, osts long[], single flag, bytes_read long,
        bytes_written long, io_time double, metadata_time double, small_writes long""",
    "quarantine": """
        path text, log_size long, log_mtime long, reason text, first_seen moment, cluster text""",
    # Logs whose rows retention has removed: they are not read again.
    # Or whose paths have become pseudonyms: ``was`` is the log that each is in the lake.
    # Or that are copies of logs which the lake has.
    "expired": "path text, log_size long, log_mtime long, was long, digest text",
    # Where the logs are that were taken out of the log area: size and time are those of the log as it is there.
    "archived": """
        log long, path text, log_size long, log_mtime long, archive text, place long, form text, digest text,
        mode long""",
    # Runs of jobs as the scheduler accounted for them, each as often as it was told otherwise; what changed on a day.
    "accounting": """
        cluster text, job_id long, array_job long, array_task long, user text, account text, partition text,
        name text, state text, submit moment, start moment, end moment, cores long, nodes long,
        core_seconds long, observed flag, told moment, source text""",
    "change": "on_day date, text text, told moment",
    # What iolens peak measured on file systems; rates of one process.
    "peak": """
        measured moment, cluster text, mount text, file_system text, class text, host text, read_rate double,
        write_rate double, past_page_cache flag""",
}


def _written(column: str) -> Column:
    name, kind = column.split()
    return Column(name, kind.removesuffix("[]"), 0 if kind.endswith("[]") else 1)


OWN = {
    table: tuple(_written(column) for column in " ".join(columns.split()).split(", "))
    for table, columns in _OWN.items()
}
"""Tables that only a lake has, and ``job``."""


def fingerprint(columns: Iterable[Column]) -> str:
    """Tells files with these columns from those that another version wrote; part of a file's name."""
    return hashlib.blake2b(repr([tuple(c) for c in columns]).encode(), digest_size=4).hexdigest()


def of_stored(name: str, type: str) -> Column:
    """A column that this version does not know, by DuckDB's type of it in a file. Raises IolensError for others."""
    kind = _OF_FILE.get(type.removesuffix("[]"))
    if kind is None:
        raise IolensError(
            f'the column "{name}" is of a newer version of iolens: use that version', exit_code=USAGE
        )
    return Column(name, kind, 0 if type.endswith("[]") else 1)


def _column(field: Field) -> Column:
    return Column(field.name, _OF_ARROW[field.type], field.count)


@cache
def tables() -> dict[str, tuple[Column, ...]]:
    """Every table and its columns, without the partition ``day``, which those with a ``log`` have besides."""
    source = scan([])
    found = dict(OWN)
    for table, name in PLAIN.items():
        if table != "job_of":
            found[table] = tuple(map(_column, source.table(name).schema))
    for module in MODULES:
        found[module] = tuple(map(_column, source.table(module).schema))
    for section, columns in SECTIONS.items():
        listed = (Column(name, _OF_SECTION[kind]) for name, kind in columns.items())
        found[section] = (Column("log", "long"), *listed)
    return found
