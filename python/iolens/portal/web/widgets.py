"""What pages are made of: tables with their CSV and SQL, and the report's charts."""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from iolens.fleet.saved_queries import Answer, ResultColumn, queries, statement
from iolens.portal.web.page_request import link
from iolens.report.document import Block
from iolens.report.html import block_html
from iolens.report.sections.answer import judge
from iolens.report.units import UNKNOWN, write
from iolens.rules import load
from iolens.values import plain

__all__ = [
    "Chart",
    "Grid",
    "cell",
    "grid_of",
    "head",
    "href",
    "in_digits",
    "job_name",
    "shown",
    "sql_of",
    "to_csv",
    "verdict_of",
]

ROWS = 200
"""Rows of a table in a page; its CSV has all."""


@dataclass(frozen=True)
class Grid:
    """A table. csv, sql: where it is to be had as such."""

    id: str
    title: str
    columns: Sequence[ResultColumn]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    csv: str = ""
    sql: str = ""
    sorts: Mapping[str, str] = field(default_factory=dict)
    """Column -> URL that sorts by it."""
    sorted_by: str = ""
    down: bool = True
    total: int = 0
    empty: str = "Nothing is found for these values."
    """Stands in place of the rows where there are none."""
    raw: bool = False
    """Are heads and values those of a user's SQL, as they are?"""


@dataclass(frozen=True)
class Chart:
    """A chart of the report's, with the table that it draws."""

    html: Markup

    @classmethod
    def of(cls, block: Block) -> Chart:
        return cls(Markup(block_html(block)))


_HEADS = {
    "account": "Project",
    "at": "Time",
    "balance": "Bytes / mean",
    "bytes_read": "Read",
    "bytes_written": "Written",
    "change": "Recent / earlier",
    "drift": "Verdict",
    "earlier": "Time in I/O, earlier runs",
    "end": "Ended (UTC)",
    "exe": "Command line",
    "first": "First seen",
    "io_time": "Time in I/O",
    "io_time_before": "Time in I/O before",
    "io_time_place": "Time in I/O: more than (of peers)",
    "job_id": "Job",
    "last": "Last seen",
    "logged": "Part with a log",
    "logged_jobs": "Jobs with a log",
    "matching": "Jobs found",
    "measured": "Measured (UTC)",
    "message": "What was found",
    "metadata_time": "Time in metadata",
    "metadata_time_place": "Time in metadata: more than (of peers)",
    "mount": "File system",
    "nprocs": "Processes",
    "ost": "OST",
    "peers": "Runs compared",
    "per_process": "Time in metadata per process",
    "rate": "I/O rate",
    "rate_place": "I/O rate: more than (of peers)",
    "recent": "Time in I/O, last runs",
    "rule": "Finding",
    "run_time_place": "Run time: more than (of peers)",
    "screen": "List",
    "small_writes": "Writes below 1 MiB",
    "spread": "Spread of earlier runs",
    "start": "Started (UTC)",
    "worst": "Time lost, worst job",
}
"""Columns whose names are no words of people; of others the name says it."""


def head(column: ResultColumn) -> str:
    """What stands above a column."""
    if column.name == "value":  # each list has another one
        return column.doc[:1].upper() + column.doc[1:]
    words = _HEADS.get(column.name) or column.name.replace("_", " ")
    return words[:1].upper() + words[1:]


def job_name(row: Mapping[str, Any], kind: str = "job ") -> str:
    """A job by its number; without a scheduler that is a process's."""
    return f"{'process ' if row.get('scheduled') is False else kind}{cell(row.get('job_id'), '')}"


def shown(column: ResultColumn, row: Mapping[str, Any]) -> str:
    """A cell in words: rules and lists have titles."""
    value = row.get(column.name)
    if column.name == "rule" and value in load().rules:
        return load().rules[str(value)].title
    if column.name == "screen" and value in queries():
        return queries()[str(value)].title
    return job_name(row, "") if column.name == "job_id" else cell(value, column.unit)


def verdict_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """A job's verdict by what counts as I/O: a class and a word with the part of the run time."""
    spent, run_time = row.get("verdict_time"), row.get("run_time")
    if spent is None or not run_time:
        return "unknown", UNKNOWN
    kind = judge(spent, run_time)[0]
    word = {"problem": "problem", "look": "worth a look", "good": "fine"}[kind]
    return kind, f"{word}, {write(min(1.0, spent / run_time), 'percent')}"


def _job(value: Any, row: Mapping[str, Any]) -> str:
    if row.get("log") is not None:
        return f"/job/{row['log']}"
    # Of a finding it is in the lake; a job that runs is not there yet.
    return link("/job", id=value) if "rule" in row else link("/jobs", text=value)


_LEADS: dict[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "log": _job,
    "job_id": _job,
    "application": lambda value, row: link("/application", name=value, user=row.get("user")),
    "user": lambda value, row: link("/jobs", user=value),
    "rule": lambda value, row: link("/q/findings", rule=value),
    "screen": lambda value, row: f"/q/{value}",
}
"""Where a cell of a column of this name leads."""


def href(column: str, row: Mapping[str, Any]) -> str:
    """Where a cell leads, "" for nowhere."""
    value = row.get(column)
    if value is None or value == "" or column not in _LEADS:
        return ""
    return _LEADS[column](value, row)


def cell(value: Any, unit: str) -> str:
    """A value in words."""
    if isinstance(value, datetime.datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, datetime.date):
        return str(value)
    if value is None:
        return UNKNOWN
    return write(value, unit)


def in_digits(value: float | str) -> str:
    """A parameter as it can be given again: all digits, and no power of ten where there is none."""
    return value if isinstance(value, str) else repr(int(value) if float(value).is_integer() else value)


def sql_of(name: str, values: Mapping[str, float | str]) -> str:
    """A named query as one statement with its values in it."""
    sql, known = statement(name)
    given = {**known, **values}

    def literal(found: re.Match[str]) -> str:
        value = given[found[1]]
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return in_digits(value)

    return re.sub(r"\$(\w+)", literal, sql)


def grid_of(answer: Answer, note: str = "", total: int = 0) -> Grid:
    """The table of a named query, with as many rows as a page has."""
    given = {key: value for key, value in answer.values.items() if value != ""}
    return Grid(
        answer.query.name,
        answer.query.title,
        [column for column in answer.query.columns if column.name != "verdict_time"],
        answer.dicts()[:ROWS] if not total else answer.dicts(),
        note or answer.query.in_words(answer.values),
        link(f"/csv/{answer.query.name}", **given),
        link("/sql", statement=sql_of(answer.query.name, answer.values)),
        total=total or len(answer.rows),
    )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _csv_value(value: Any) -> Any:
    """Text that a spreadsheet would compute stands behind an apostrophe."""
    found = plain(value)
    if isinstance(found, (list, dict)):
        return json.dumps(found)
    return f"'{found}" if isinstance(found, str) and found.startswith(_FORMULA) else found


def to_csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    return out.getvalue()
