"""Named queries as pages: top lists, findings, screens, storage, and every other one by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from starlette.responses import Response

from iolens.fleet.saved_queries import Answer, queries, statement
from iolens.portal.data.view import COMPARING
from iolens.portal.web.page_request import DAYS, NotFound, PageRequest, link, link_all
from iolens.portal.web.widgets import ROWS, Chart, Grid, grid_of, to_csv
from iolens.report.document import Bars, Series
from iolens.report.units import write

__all__ = ["all_queries", "as_csv", "chart_of", "known_query", "one", "screens", "storage"]

CSV_ROWS = 100_000

SCREENS = ("screen_redundant_reads", "screen_metadata", "screen_small_writes")

# What a query of this name has as a chart: the column of names, those of values, and their colours.
EMPTY = {
    "projects": "There is no accounting yet, which says what projects were charged.",
    "drift": "No application has become slower or faster. This takes at least ten runs of one.",
    "findings": "No finding of this severity or a worse one.",
    "peaks": "No measurement is in the lake: `iolens fleet mark --peak` adds those of `iolens peak`.",
    "storage_targets": "No log names the storage targets of its files, as those of Lustre do.",
}
"""Why a list is empty, where its values are not the reason."""

CHARTS = {
    "top_users": ("user", "time_lost", "Time lost, by user", "seconds"),
    "top_applications": ("application", "time_lost", "Time lost, by application", "seconds"),
    "projects": ("account", "core_hours", "Core hours, by project", "count"),
    "file_systems": ("mount", "io_time", "Time in I/O, by file system", "seconds"),
}
BARS = 15

# Queries that a page asks with an argument of its own, or that no user opens directly.
INNER = frozenset(
    {"series_at", "file_use", "file_places", "job_costs", "measured", "jobs", "job_search", "occurrences"}
)


def known_query(name: str) -> str:
    """The name, if people may ask this query by it. Raises NotFound."""
    if name not in queries() or name in INNER:
        raise NotFound(f'there is no list "{name}"')
    return name


def chart_of(name: str, rows: list[dict[str, object]]) -> list[Chart]:
    if name not in CHARTS or not rows:
        return []
    column, value, title, unit = CHARTS[name]
    shown = [row for row in rows if row[value]][:BARS]
    if not shown:
        return []
    series = Series("first", title, [float(str(row[value])) for row in shown])
    return [
        Chart.of(Bars(f"chart-{name}", title, [str(row[column]) or "–" for row in shown], [series], unit))
    ]


def _grid(answer: Answer, note: str = " ") -> Grid:
    """The table of a list, with a word on why it is empty."""
    found = grid_of(answer, note=note)
    return replace(found, empty=EMPTY.get(answer.query.name, found.empty))


def _periods(request: PageRequest, path: str, given: Mapping[str, float | str]) -> list[tuple[str, str]]:
    """Links to this list for the last seven days that have jobs, and for all days, without the one that it shows."""
    others = {name: value for name, value in given.items() if name not in DAYS}
    found = []
    if given.get("since") != request.data.week() or given.get("until"):
        found.append(("Last 7 days", link(path, **others, since=request.data.week())))
    if given.get("since") or given.get("until"):
        found.append(("All days", link_all(path, **others)))
    return found


def one(request: PageRequest) -> Response:
    """/q/NAME: parameters of the query are those of the address."""
    name = known_query(request.http.path_params["name"])
    known = statement(name)[1]
    given = request.values(name)
    if "since" in known and name not in COMPARING:
        given |= request.period()
    answer = request.data.ask(name, **given)
    query = queries()[name]
    return request.page(
        "query.html",
        title=query.title,
        intro=query.in_words(answer.values),
        name=name,
        query=query,
        known=known,
        given={**known, **given},
        periods=_periods(request, f"/q/{name}", given) if "since" in known else [],
        parts=[*chart_of(name, answer.dicts()), _grid(answer)],
    )


def as_csv(request: PageRequest) -> Response:
    """/csv/NAME: all rows."""
    name = known_query(request.http.path_params["name"])
    known = statement(name)[1]
    given = request.values(name)
    if "rows" in known:
        given["rows"], given["skip"] = CSV_ROWS, 0
        given = {key: value for key, value in given.items() if key in known}
    answer = request.data.ask(name, **given)
    return csv_response(to_csv(answer.names, answer.rows), name)


def csv_response(text: str, name: str) -> Response:
    head = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type="text/csv; charset=utf-8", headers=head)


def all_queries(request: PageRequest) -> Response:
    """/q: what there is."""
    listed = [
        (query, query.in_words(statement(name)[1]))
        for name, query in queries().items()
        if name not in INNER and name not in ("job", "job_findings", "job_list", "job_count")
    ]
    return request.page("queries.html", title="Lists", listed=listed)


def screens(request: PageRequest) -> Response:
    """/screens: tables 3 to 5 of the screening study."""
    days = request.period()
    parts = [grid_of(request.data.ask(name, **days)) for name in ("screen", *SCREENS)]
    # What is largest is bytes, a share or a number of writes: as the screen's own list writes it.
    units = {name: {c.name: c.unit for c in queries()[name].columns}["value"] for name in SCREENS}
    rows = [{**row, "largest": write(row["largest"], units[row["screen"]])} for row in parts[0].rows]
    parts[0] = replace(parts[0], rows=rows)
    return request.page(
        "parts.html",
        title="Screens",
        intro="Jobs that read data again and again, spend their time in metadata, or write small pieces to shared "
        "files, by thresholds that you can change in each list.",
        parts=parts,
        days=days,
        more=[
            *((queries()[name].title, link_all(f"/q/{name}", **days)) for name in SCREENS),
            *_periods(request, "/screens", days),
        ],
    )


def _peaks(request: PageRequest, days: Mapping[str, str]) -> list[Grid]:
    """What was measured by then; nothing on a lake without measurements."""
    if not request.snapshot.of_lake.files.get("peak"):
        return []
    return [_grid(request.data.ask("peaks", rows=30, until=days["until"]), "")]


def storage(request: PageRequest) -> Response:
    """/storage: file systems, and how even the load of their targets is."""
    days = request.period()
    systems = request.data.ask("file_systems", **days)
    targets = request.data.ask("storage_targets", **days)
    rows = targets.dicts()
    charts = chart_of("file_systems", systems.dicts())
    if rows:
        rows.sort(key=lambda row: -((row["bytes_read"] or 0) + (row["bytes_written"] or 0)))
        shown = rows[:40]
        several = len({row["mount"] for row in rows}) > 1
        names = [
            f"{row['mount'] or ''} OST {row['ost']}".strip() if several else f"OST {row['ost']}"
            for row in shown
        ]
        most = f" (the {len(shown)} of {len(rows):,} with most)" if len(shown) < len(rows) else ""
        series = [
            Series("read", "Read", [float(row["bytes_read"] or 0) for row in shown]),
            Series("write", "Written", [float(row["bytes_written"] or 0) for row in shown]),
        ]
        charts.append(
            Chart.of(
                Bars("chart-targets", f"Bytes by storage target{most}", names, series, "bytes", stacked=True)
            )
        )
    return request.page(
        "parts.html",
        title="File systems and storage targets",
        intro="I/O of all jobs, by file system and by storage target.",
        parts=[
            *charts,
            _grid(systems, ""),
            replace(_grid(targets, ""), rows=rows[:ROWS]),
            *_peaks(request, days),
        ],
        days=days,
        more=[
            ("Directories", link_all("/q/top_directories", **days)),
            ("Files", link_all("/q/top_files", **days)),
            *_periods(request, "/storage", days),
        ],
    )
