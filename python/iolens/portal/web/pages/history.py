"""The runs of an application: how much they vary, and whether they drift."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from iolens.portal.web.page_request import NotFound, PageRequest, link
from iolens.portal.web.run_chart import Band, Run, draw
from iolens.portal.web.widgets import Chart, grid_of, job_name
from iolens.report.units import counted

__all__ = ["one"]

MEASURES = (("run_time", "Run time", "seconds"), ("io_time", "Time in I/O", "seconds"), ("rate", "Rate", "rate"),
            ("metadata_time", "Metadata time", "seconds"))  # fmt: skip
SHOWN = 200
RECENT = 5


def _quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _band(rows: list[dict[str, Any]], measure: str) -> Band | None:
    """Quartiles of the runs before the last ones."""
    before = [float(row[measure]) for row in rows[:-RECENT] if row[measure] is not None]
    if len(before) < RECENT:
        return None
    return Band(_quantile(before, 0.25), _quantile(before, 0.5), _quantile(before, 0.75))


def _chart(rows: list[dict[str, Any]], measure: tuple[str, str, str], drifting: str) -> Chart:
    name, title, unit = measure
    shown = rows[-SHOWN:]
    runs = [
        Run(
            row[name],
            job_name(row) + (f", {row['start']:%Y-%m-%d %H:%M}" if row["start"] else ""),
            f"/job/{row['log']}",
            name == "io_time" and drifting != "" and number >= len(shown) - RECENT,
        )
        for number, row in enumerate(shown)
    ]
    return draw(f"history-{name}", title, unit, runs, _band(rows, name))


def one(request: PageRequest) -> Response:
    """/application?name=: peers are runs of the same user with as many processes."""
    name, user, cluster = request.text("name"), request.text("user"), request.text("cluster")
    whose = {"application": name, "user": user, "cluster": cluster}
    answer = request.data.ask("history", **whose)
    rows = answer.dicts()
    if not name or not rows:
        raise NotFound(f'no runs of "{name}"' if name else "an application needs a name")
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["user"], row["nprocs"]), []).append(row)
    most = max(groups, key=lambda key: len(groups[key]))
    chosen = (user or most[0], request.number("nprocs", 0)) if request.text("nprocs") else most
    peers = groups.get(chosen, groups[most])
    chosen = chosen if chosen in groups else most
    drift = request.data.ask("drift", **whose)
    here = next((d for d in drift.dicts() if (d["user"], d["nprocs"]) == chosen), None)
    drifting = here["drift"] if here else ""
    request.mark_processes(peers[-SHOWN:])
    charts = [
        _chart(peers, measure, drifting)
        for measure in MEASURES
        if any(r[measure[0]] is not None for r in peers)
    ]
    others = [
        (
            f"{key[0]}, {counted(key[1], 'process')}: {counted(len(found), 'run')}",
            link("/application", name=name, user=key[0], nprocs=key[1]),
            key == chosen,
        )
        for key, found in sorted(groups.items(), key=lambda item: -len(item[1]))[:30]
    ]
    return request.page(
        "history.html",
        name=name,
        user=chosen[0],
        nprocs=chosen[1],
        runs=len(peers),
        drift=here,
        charts=charts,
        others=others,
        parts=[grid_of(drift), grid_of(answer)],
    )
