"""What logs say of a program."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import shown
from interfaces import LIBC

from .outcome import PAGES, PIPE_COUNTS, Counters, Ran, Value, below


def read_log(iolens: Path, log: Path, home: Path, ran: Ran) -> None:
    """Add what a log has of each rank."""
    command = [iolens, "show", "--base", "--ext", log]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    ids = {
        cells[2]: cells[5]
        for cells in (line.split("\t") for line in done.stdout.splitlines())
        if len(cells) > 6
    }
    records: dict[int, Counters] = defaultdict(dict)
    for (module, name, rank), row in shown.records(done.stdout).items():
        if module in LIBC:
            records[rank][module, below(name, str(home))] = _counters(module, row, ids, home)
    tables = shown.sections(done.stdout)
    rows = sorted(tables.get("process", []), key=lambda row: int(row["rank"]))
    for row in tables.get("operation", []):
        if row["interface"] == "mapped" and int(row["bytes"]):
            records[int(row["rank"])][PAGES] = {}
    ran.ended += [row["ended"] for row in rows]
    ran.records += [records.get(rank, {}) for rank in range(len(rows))]
    ran.pipes += _pipes(tables.get("excluded", []), len(rows))


def _counters(module: str, row: shown.Row, ids: dict[str, str], home: Path) -> dict[str, Value]:
    counters: dict[str, Value] = {}
    for key, value in row.items():
        counter = key.removeprefix(f"{module}_")
        if counter == "RENAMED_FROM":
            counters[counter] = below(ids.get(value, value), str(home)) if value != "0" else None
        elif not counter.startswith("F_"):
            counters[counter] = int(value)
    return counters


def _pipes(rows: Sequence[shown.Row], ranks: int) -> list[dict[str, int]]:
    found: list[dict[str, int]] = [dict.fromkeys(PIPE_COUNTS, 0) for _ in range(ranks)]
    for row in rows:
        if row["class"] == "pipe":
            found[int(row["rank"])] = {name: int(row[name]) for name in PIPE_COUNTS}
    return found
