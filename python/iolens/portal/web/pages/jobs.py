"""Jobs: searched, filtered, sorted, a page at a time."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from iolens.portal.data.scope import Role
from iolens.portal.web.page_request import PageRequest, is_count, link_all
from iolens.portal.web.widgets import grid_of

__all__ = ["listed"]

PAGE = 50
_FILTERS = ("text", "user", "application", "cluster", "since", "until", "found", "by", "down")
SORTABLE = (
    *("job_id", "user", "application", "cluster", "nprocs", "start", "run_time", "io_time"),
    *("bytes_read", "bytes_written", "time_lost", "findings"),
)


def listed(request: PageRequest) -> Response:
    """/jobs: the filters are in its address, so that it can be kept, sent and gone back to."""
    given = {**{name: request.text(name) for name in _FILTERS}, **request.period()}
    usual = "time_lost" if request.viewer.role >= Role.LEAD else "start"
    by = given["by"] if given["by"] in SORTABLE else usual
    down = 0 if given["down"] == "0" else 1
    found = 1 if given["found"] == "1" else 0
    page = request.number("page", 1, least=1, most=10**6)
    words = {name: given[name] for name in ("text", "user", "application", "cluster", "since", "until")}
    answer = request.data.ask(
        "job_list", by=by, down=down, rows=PAGE, skip=(page - 1) * PAGE, found=found, **words
    )
    total = request.data.ask("job_count", found=found, **words).dicts()[0]
    chosen = {**given, "by": given["by"] and by, "down": given["down"] and down, "found": found or ""}
    grid = grid_of(answer, note=" ", total=total["jobs"])
    # Logs of one job are told apart by their commands.
    columns = [c for c in grid.columns if c.name != "exe" or is_count(given["text"])]
    sorts = {
        name: link_all("/jobs", **{**chosen, "by": name, "down": 0 if name == by and down else 1})
        for name in SORTABLE
    }
    grid = replace(grid, columns=columns, sorts=sorts, sorted_by=by, down=bool(down), note="")
    last = max(1, -(-total["jobs"] // PAGE))
    return request.page(
        "jobs.html",
        grid=grid,
        total=total,
        given=given,
        found=found,
        page=page,
        last=last,
        all_days=link_all("/jobs", **{**chosen, "since": "", "until": ""}),
        earlier=link_all("/jobs", **chosen, page=page - 1) if page > 1 else "",
        later=link_all("/jobs", **chosen, page=page + 1) if page < last else "",
    )
