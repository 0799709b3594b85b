"""The tables of one job: what the page shows of them, as CSV, and the statement that the SQL page answers with."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import duckdb
from starlette.responses import Response

from iolens.metrics.literal import quoted
from iolens.portal.data.view import MEASURED, View
from iolens.portal.web.page_request import NotFound, PageRequest, link
from iolens.portal.web.pages.lists import csv_response
from iolens.portal.web.widgets import sql_of, to_csv
from iolens.report.document import Bars, Block, Boxes, Section, Spans, Table, Treemap
from iolens.report.sections.files import files
from iolens.report.sections.glance import glance
from iolens.report.sections.interfaces import SIZE_CLASSES
from iolens.report.sections.peaks import beside_peaks
from iolens.report.sections.storage import storage
from iolens.report.sections.time import time
from iolens.report.sections.wording import in_words
from iolens.report.source import Source

__all__ = ["FINDINGS", "detail_sections", "job_csv", "sizes_sql", "summary_sql"]

FINDINGS = """
SELECT rule, topic, severity, title, message, time_lost, share, gain_low, gain_high, confidence FROM finding
WHERE log = {log}
ORDER BY list_position(['high', 'medium', 'low', 'info', 'good'], severity), time_lost DESC NULLS LAST, rule
"""

_SUMMARY = """
SELECT bytes_read, bytes_written, (bytes_read + bytes_written) / nullif(io_time, 0) AS rate,
    least(1, io_time / nullif(run_time, 0)) AS io_share, run_time, io_time, metadata_time, nprocs, "start", cluster
FROM (
{measured}
) WHERE log = {log}
"""


def summary_sql(log: int, measured: str = "") -> str:
    """Figure 9's table. measured: what gives the jobs with their measures, unless it is the lake's own tables."""
    return _SUMMARY.format(measured=measured or sql_of("measured", {}), log=log).strip()


def sizes_sql(log: int) -> str:
    """Reads and writes by their size, a row for each range of sizes."""
    sums = {
        kind: ", ".join(f"sum(size_{kind}[{n + 1}])" for n in range(len(SIZE_CLASSES)))
        for kind in ("read", "write")
    }
    return (
        f"SELECT unnest([{', '.join(map(quoted, SIZE_CLASSES))}]) AS size,\n"
        "    unnest(reads)::BIGINT AS reads, unnest(writes)::BIGINT AS writes\n"
        f"FROM (SELECT [{sums['read']}] AS reads,\n        [{sums['write']}] AS writes\n"
        f"    FROM own_record WHERE log = {log})"
    )


def _placed(block: Block, log: int) -> Block:
    """As it stands in the portal: a table with its CSV and SQL; the definitions of the report are not here."""
    if isinstance(block, Table):
        sql = (("SQL", link("/sql", statement=block.sql)),) if block.sql else ()
        links = (("CSV", link(f"/job/{log}/tables.csv", table=block.id)), *sql)
        return dataclasses.replace(block, links=links, metric="")
    if isinstance(block, (Bars, Spans, Boxes, Treemap)):
        return dataclasses.replace(block, metric="")
    return block


_MEASURED = """
SELECT p.mount, p.file_system AS type, p.host, strftime(p.measured, '%Y-%m-%d') AS time, p.read_rate, p.write_rate
FROM peak AS p CROSS JOIN (
    SELECT cluster, coalesce("end", "start") AS ended FROM job WHERE log = {log}
) AS j
WHERE coalesce(p.cluster = j.cluster, TRUE)
ORDER BY p.measured > j.ended, abs(epoch(p.measured) - epoch(j.ended))
"""
"""The last measurement before the job ended comes first."""


def _peaks(source: Source) -> list[Block]:
    """The job's rates, compared with what the site measured on its file systems by that day."""
    rows = source.data.rows(_MEASURED.format(log=source.log))
    return beside_peaks(source, lambda mount: [row for row in rows if row["mount"] == mount]) if rows else []


def detail_sections(view: View, log: int) -> list[Section]:
    """The report's sections that a job's page has, of the one log of a view."""
    source = Source(view.data, log)
    words = in_words(source)
    made: list[Section] = [words(make(source)) for make in (glance, time, files, storage)]
    made[-1] = dataclasses.replace(made[-1], blocks=[*made[-1].blocks, *_peaks(source)])
    return [
        dataclasses.replace(section, blocks=[_placed(block, log) for block in section.blocks])
        for section in made
        if section.blocks
    ]


def _of_details(view: View, log: int, name: str) -> tuple[Sequence[str], list[Sequence[object]]]:
    """Names and rows of a table of the details, all of them."""
    for section in detail_sections(view, log):
        for block in section.blocks:
            if isinstance(block, Table) and block.id == name:
                rows: list[Sequence[object]] = list(block.rows)
                if block.sql and block.total > len(block.rows):
                    with view.session() as data:
                        rows = list(data.query(block.sql).fetchall())
                return [column.name for column in block.columns], rows
    raise NotFound(f'this job has no table "{name[:40]}"')


def _csv(answer: duckdb.DuckDBPyConnection) -> str:
    return to_csv([column[0] for column in answer.description or ()], answer.fetchall())


def job_csv(request: PageRequest, log: int) -> Response:
    """A table of a job that the viewer may see, by its name in the page."""
    name, scope = request.text("table"), request.viewer.scope
    file = f"job-{log}-{name}"
    of_lake = {"summary": summary_sql(log, MEASURED), "findings": FINDINGS.format(log=log)}
    if name in of_lake:
        return csv_response(_csv(request.data.query(of_lake[name])), file)
    with request.snapshot.of_log(scope, log) as view:
        if name == "size-table":
            with view.session() as data:
                return csv_response(_csv(data.query(sizes_sql(log))), file)
        return csv_response(to_csv(*_of_details(view, log, name)), file)
