"""What iolens' own work costs, from what bench/shutdown has measured: times of phases, messages, sizes of logs.

The time of an assembly is taken as a sum of what is done once, per store, per store and shared file, and per own file.
The factors are those that leave the smallest relative squares, none of them negative.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from model import SCENES, Join, Work

# Phases that are spent on other ranks, not on what they have brought.
WAITING = {"wait"}


def solve(rows: list[list[float]], right: list[float]) -> list[float] | None:
    """Gaussian elimination; None: singular."""
    n = len(right)
    work = [[*row, value] for row, value in zip(rows, right)]
    for column in range(n):
        pivot = max(range(column, n), key=lambda row: abs(work[row][column]))
        if abs(work[pivot][column]) < 1e-12:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        for row in range(n):
            if row != column:
                factor = work[row][column] / work[column][column]
                work[row] = [a - factor * b for a, b in zip(work[row], work[column])]
    return [work[row][n] / work[row][row] for row in range(n)]


def least_squares(terms: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Factors of the terms, none negative, that leave the smallest sum of squared relative errors."""
    scaled = [[term / value for term in row] for row, value in zip(terms, values)]
    width = len(terms[0])
    size = [max(abs(row[column]) for row in scaled) or 1.0 for column in range(width)]
    best, best_error = [0.0] * width, float("inf")
    for count in range(1, width + 1):
        for chosen in itertools.combinations(range(width), count):
            part = [[row[column] / size[column] for column in chosen] for row in scaled]
            squares = [[sum(row[a] * row[b] for row in part) for b in range(count)] for a in range(count)]
            found = solve(squares, [sum(row[a] for row in part) for a in range(count)])
            if found is None or min(found) < 0:
                continue
            error = sum((sum(f * x for f, x in zip(found, row)) - 1) ** 2 for row in part)
            if error < best_error:
                best_error, best = error, [0.0] * width
                for column, factor in zip(chosen, found):
                    best[column] = factor / size[column]
    return best


def assembly_seconds(row: dict[str, Any]) -> float:
    return sum(box[2] for name, box in row["phases"].items() if name not in WAITING)


def terms_of(row: dict[str, Any]) -> list[float]:
    """Once, per store, per store and shared file, per own file."""
    shared, own = SCENES[row["scene"]]
    stores = row["ranks"]
    return [1, stores, stores * shared, stores * own]


ON_NODE = ""  # the way of bench/shutdown: ranks of one node


def timed(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one node that have phases: those of one assembly."""
    rows = [row for row in summary["rows"] if "phases" in row and row["ranks"] > 1]
    return [row for row in rows if row["finalize"] == ON_NODE]


def counted(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows with messages, and how many nodes there were: messages-apart=N has N ranks on each."""
    rows = [row for row in summary["rows"] if "messages" in row and row["ranks"] > 1]
    each = [int(row["finalize"].partition("=")[2] or 1) for row in rows]
    return [{**row, "nodes": -(-row["ranks"] // n)} for row, n in zip(rows, each)]


def deflating(rows: list[dict[str, Any]]) -> float:
    """Seconds per file that a rank spends on its own ones before it comes: what no phase of the assembly has.

    From two ranks, each with a processor; compared with the same with one file.
    """
    beside = {row["scene"]: row["own"][2] - assembly_seconds(row) for row in rows if row["ranks"] == 2}
    if not {"1 own", "1024 own"} <= set(beside):
        return 0.0
    return max(beside["1024 own"] - beside["1 own"], 0.0) / 1023


def work(summary: dict[str, Any], ranks_at_most: int | None = None) -> Work:
    """The factors of iolens' own work; of no more than so many ranks, to see how far they hold."""
    rows = [row for row in timed(summary) if not ranks_at_most or row["ranks"] <= ranks_at_most]
    seconds = [assembly_seconds(row) for row in rows]
    once, store, shared_record, own_record = least_squares([terms_of(row) for row in rows], seconds)
    trailers = [row["log"] - row["regions"] for row in rows]
    log_once, log_store = least_squares([[1, row["ranks"]] for row in rows], trailers)
    small = [row for row in rows if row["scene"] == "1 shared"]
    regions_once = min(row["regions"] for row in small) if small else 0.0
    files = {}
    for row in sorted(rows, key=lambda row: int(row["ranks"])):
        of_files = (row["regions"] - regions_once) / row["regions"]
        files[row["scene"]] = max(row["regions_per_file"] * of_files, 0.0)
    return Work(
        once=once,
        store=store,
        shared_record=shared_record,
        own_record=own_record,
        deflate=deflating(rows),
        log_once=log_once + regions_once,
        log_store=log_store,
        log_file=files,
    )


def join(summary: dict[str, Any]) -> Join:
    found = summary["join"]
    one, small, large = found["1 own"], found["1 shared"], found["1024 shared"]
    return Join(
        add=one["add"],
        encode=one["encode"],
        part=one["part"],
        row_bytes=one["rows"],
        part_bytes=one["encoded"],
        merge=(large["add"] - small["add"]) / 1023,
        record_bytes=(large["share"] - small["share"]) / 1023,
    )
