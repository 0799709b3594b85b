"""Where the files of a finding were opened: what to look at in the program."""

from __future__ import annotations

from collections.abc import Iterable

from iolens.metrics import Dataset
from iolens.metrics.views import LISTS
from iolens.rules.finding import Evidence

__all__ = ["where_opened"]

_ROWS = 10


def where_opened(
    data: Dataset, log: int, needs: Iterable[str], evidence: Iterable[Evidence]
) -> tuple[Evidence, ...]:
    """Calls that opened the files that the evidence names, that of most files first; empty if no log tells.

    needs: the interfaces that the finding is about: a file that the program opened through stdio, too, is meant as
    it opened it through POSIX.
    """
    meant = [one for one in needs if one in LISTS["libc_interfaces"]] or LISTS["libc_interfaces"]
    names = {
        row[place]
        for one in evidence
        for place, column in enumerate(one.columns)
        if column == "name"
        for row in one.rows
        if isinstance(row[place], str)
    }
    if not names or not data.query("SELECT 1 FROM sites LIMIT 1").fetchall():
        return ()
    listed = sorted(names)
    marks, quoted = ", ".join("?" * len(listed)), ", ".join(f"'{one}'" for one in meant)
    rows = data.query(
        f"""
        SELECT place AS opened_by, count(DISTINCT id) AS files, min(name) AS example
        FROM file_site JOIN name_of USING (log, id)
        WHERE log = {log} AND name IN ({marks}) AND (interface NOT IN libc_interfaces() OR interface IN ({quoted}))
        GROUP BY place ORDER BY files DESC, place LIMIT {_ROWS}
        """,
        listed,
    ).fetchall()
    columns, units = ("opened_by", "files", "example"), ("", "count", "")
    return (Evidence("Where they are opened first", columns, units, tuple(rows)),) if rows else ()
