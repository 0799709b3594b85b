"""Real programs of truth.toml: does `iolens lines` begin with the line that a person would name?

`python tests/truth/real/lines.py [--page FILE] [WORD...]` runs all of them, or those whose id is among the WORDs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import run

BEGIN, END = "<!-- make truth-lines: begin -->", "<!-- make truth-lines: end -->"


@dataclass(frozen=True)
class Answer:
    """wanted: a pattern of the place. first: what `iolens lines` has most seconds for, and their part of all."""

    id: str
    wanted: str
    first: str = ""
    share: float = 0.0
    lacks: str = ""

    @property
    def result(self) -> str:
        if self.lacks:
            return f"not run: {self.lacks}"
        return "right" if re.search(self.wanted, self.first) else "wrong"


def wanted_of(row: run.Program) -> str:
    """What the place has in it: the number of the line that ends with HERE, whatever the source is called."""
    if "line" in row:
        return str(row["line"])
    lines = row["script"].lstrip("\n").splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if line.endswith("HERE"))
    return rf"[\w.-]+:{number}\b"


def first_line(log: Path) -> tuple[str, float]:
    command = [run.IOLENS, "lines", "--json", log]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    first: dict[str, Any] = json.loads(done.stdout)["lines"][0]
    return first["place"], first["share"]


def answer(row: run.Program, data: dict[str, run.Program], runs: Path) -> Answer:
    found = Answer(row["id"], wanted_of(row))
    if lacks := run.missing(row):
        return Answer(found.id, found.wanted, lacks=f"no {', '.join(lacks)}")
    folder = runs / row["id"]
    try:
        for name in row.get("data", []):
            run.make(name, data)
        place = run.prepare(row, folder)
        run.bash(run.observed(row["run"]), folder, place, run.LIMIT)
        first, share = first_line(Path(place["LOG"]))
    except run.FailedError as error:
        return Answer(found.id, found.wanted, lacks=" ".join(str(error).split()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Answer(found.id, found.wanted, first, share)


def put(page: Path, answers: Sequence[Answer]) -> None:
    """Between the marks in the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    rows = [
        f"| {one.id} | {one.first or '-'} | {one.share:.0%} | {one.result} |".replace("%", " %")
        for one in answers
    ]
    right = sum(one.result == "right" for one in answers)
    ran = sum(not one.lacks for one in answers)
    head = ["| program | first line | of the seconds | |", "|---|---|---|---|"]
    inside = "\n".join([f"{right} of {ran} right.", "", *head, *rows])
    page.write_text(f"{before}{BEGIN}\n{inside}\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="put the table into this page")
    parser.add_argument("words", nargs="*", help="only programs with one of these ids")
    asked = parser.parse_args()
    listed = run.table()
    runs = run.PLACE / f"runs.{os.getpid()}"
    answers = []
    for row in listed["line"]:
        if not asked.words or row["id"] in asked.words:
            answers.append(answer(row, listed["data"], runs))
            print(
                answers[-1].id, answers[-1].result, answers[-1].first, f"{answers[-1].share:.0%}", flush=True
            )
    shutil.rmtree(runs, ignore_errors=True)
    if asked.page:
        put(asked.page, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
