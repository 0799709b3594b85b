"""iolens lines: which line of the program does the I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from iolens.cli.command import Command, to_json, warn
from iolens.error import OK, PARTIAL, USAGE, IolensError
from iolens.shown import clean, say

if TYPE_CHECKING:
    from iolens.metrics import Dataset

COMMAND = Command(
    group="explain",
    place=25,
    about="which line of the program does the I/O: seconds, calls and bytes by line or function",
    reads_logs=True,
    shows_progress=True,
    leaves_at_once=True,
)

_BY = {
    "line": "place AS place, source, any_value(nullif(line, 0)) AS line",
    "function": """CASE WHEN function <> '' AND source <> '' THEN function || ' (' || source || ')' ELSE place END
        AS place, source""",
    "source": "coalesce(nullif(source, ''), nullif(module, ''), place) AS place, source",
}
"""What a row stands for -> its text, its source, and its line if it has one."""
_ROWS = """
    SELECT {by}, any_value(nullif(function, '')) AS function, sum(time) AS time,
        sum(time) / nullif(sum(sum(time)) OVER (), 0) AS share,
        sum(calls)::BIGINT AS calls, coalesce(sum(bytes) FILTER (kind = 'read'), 0)::BIGINT AS bytes_read,
        coalesce(sum(bytes) FILTER (kind = 'write'), 0)::BIGINT AS bytes_written,
        count(DISTINCT (log, id)) AS files,
        CASE WHEN min(basis) = max(basis) THEN min(basis) ELSE 'estimated' END AS basis
    FROM line {where} GROUP BY ALL ORDER BY time DESC, place, source
"""
_NOTES = {
    "estimated": "~ estimated from the calls that took the clock; calls and bytes of all lines add up to the counters.",
    "opened": "* the line that opened the file: the log does not say which lines used it.",
}
_MARKS = {"estimated": "~", "opened": "*"}


def _cells(row: dict[str, Any]) -> list[str]:
    from iolens.rules.text import write

    share = "-" if row["share"] is None else write(row["share"], "percent")
    return [
        write(row["time"], "seconds"),
        share,
        _MARKS.get(row["basis"], "") + write(row["calls"], "count"),
        write(row["bytes_read"], "bytes"),
        write(row["bytes_written"], "bytes"),
        write(row["files"], "count"),
    ]


_HEADS = ("time", "share", "calls", "read", "written", "files")


def _table(rows: Sequence[dict[str, Any]], by: str, top: int) -> Iterator[str]:
    cells = [[*_HEADS, by], *([*_cells(row), clean(str(row["place"]))] for row in rows[:top])]
    widths = [max(len(line[n]) for line in cells) for n in range(len(_HEADS))]
    for line in cells:
        yield "  ".join([*(text.rjust(width) for text, width in zip(line, widths)), line[-1]])
    if len(rows) > top:
        yield f"{len(rows) - top} more: --top {len(rows)}"
    for basis, note in _NOTES.items():
        if any(row["basis"] == basis for row in rows[:top]):
            yield note


def _annotated(data: Dataset, path: str) -> Iterator[str]:
    """The source with what its lines cost in front. Raises IolensError if it is no text, or has no line in the logs."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise IolensError(error.strerror or str(error), path, exit_code=USAGE) from error
    whole, name = str(Path(path).resolve()), Path(path).name
    rows = data.rows(_ROWS.format(by=_BY["line"], where="WHERE source <> '' AND line > 0"))
    known = sorted({row["source"] for row in rows})
    meant = [one for one in known if one == whole] or [one for one in known if Path(one).name == name]
    if len(meant) != 1:
        said = " and ".join(map(clean, meant)) if meant else "no line of it is in the logs"
        raise IolensError(f"{said}: `iolens lines` lists the sources", path, exit_code=USAGE)
    costs: dict[int, list[str]] = {}
    for row in rows:
        if row["source"] == meant[0]:
            costs.setdefault(row["line"], _cells(row))
    lines = text.splitlines()
    cells = [list(_HEADS), *costs.values()]
    widths = [max(len(line[n]) for line in cells) for n in range(len(_HEADS))]
    yield "  ".join(text.rjust(width) for text, width in zip(_HEADS, widths)) + f"  {clean(meant[0])}"
    for number, line in enumerate(lines, 1):
        parts = costs.get(number, [""] * len(_HEADS))
        front = "  ".join(text.rjust(width) for text, width in zip(parts, widths))
        yield f"{front}  {number:>{len(str(len(lines)))}}  {clean(line.expandtabs())}".rstrip()


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--by", type=click.Choice(tuple(_BY)), default="line", help="What a row stands for.")
@click.option("--top", type=click.IntRange(min=1), default=20, metavar="N", help="Rows to print (20).")
@click.option("--annotate", metavar="FILE", help="Print this source with the costs of its lines in front.")
@click.option("--json", "form", flag_value="json", help="Every row as JSON.")
def lines(logs: tuple[str, ...], by: str, top: int, annotate: str | None, form: str | None) -> int:
    """Which line of the program does the I/O in LOG, most time first.

    Python code: the line of the user's code that made the call. Other programs: the line that opened the file, if
    the program is on this machine.
    """
    from iolens.metrics import Dataset

    if annotate and form:
        raise click.UsageError(
            "--annotate prints a source, not JSON: --json alone has the costs of every line"
        )
    with Dataset(logs) as data:
        rows = [] if annotate else data.rows(_ROWS.format(by=_BY[by], where=""))
        if form:
            from iolens.schemas import stamped

            print(to_json(stamped("lines", {"logs": data.paths, "by": by, "lines": rows})))
        for line in [] if form else _annotated(data, annotate) if annotate else _table(rows, by, top):
            say(line)
        for problem in data.problems:
            warn(str(problem))
        return PARTIAL if data.problems else OK
