"""What iolens says of a real program, and whether it is what the expert says."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# From this part of the run on, I/O is said to be its cause, below the other it is said not to be.
CAUSE, PART = 0.25, 0.05

# What the truth says it is instead -> words of the verdict, any of which will do.
INSTEAD = {
    "processor": ["the processor", "the processors"],
    "start of processes": ["the start of"],
    "waiting": ["waiting"],
    "page faults": ["page faults"],
    "too short": [""],
}
BEGIN, END = "<!-- make truth-real: begin -->", "<!-- make truth-real: end -->"
RESULTS = ("right", "cause wrong", "not known", "wrong")


@dataclass
class Said:
    """
    By iolens, of one run: seconds, part of the run, findings as (rule, severity, seconds).

    drishti: its critical triggers, None where it was not asked or cannot read the log.
    """

    verdict: str
    level: str
    share: float
    run_time: float
    findings: list[tuple[str, str, float]]
    drishti: list[str] | None = None

    @property
    def problems(self) -> list[str]:
        return [rule for rule, severity, _ in self.findings if severity in ("high", "medium")]

    @property
    def causes(self) -> list[str]:
        return [rule for rule, severity, _ in self.findings if severity in ("high", "medium", "low")]

    @property
    def faults(self) -> float:
        """The part of the run that goes into page faults from storage, as the verdict estimates it."""
        said = re.search(r"page faults, about ([0-9.]+) %", self.verdict)
        return float(said[1]) / 100 if said else 0.0

    @property
    def library(self) -> float:
        """The part of the run that HDF5 itself takes, as the verdict says it."""
        said = re.search(r"HDF5 itself \([^)]*\),?(?: takes)? ([0-9.]+) %", self.verdict)
        return float(said[1]) / 100 if said else 0.0

    @property
    def first(self) -> str:
        """The cause as a reader sees it first: of I/O the first finding, or what the verdict says instead."""
        instead = re.search(r"; (?:(?:it|the largest(?: known)? part) is|more goes into) (.*)", self.verdict)
        # `iolens findings` begins with what takes more, and lists findings of low severity in a line each below.
        if self.share >= PART and self.causes and not (instead and not self.problems):
            return self.causes[0]
        return instead[1] if instead else self.causes[0] if self.causes else "nothing"


@dataclass
class Row:
    """One program: what was expected, what was said. result: of RESULTS, or "skipped" and "failed" with the reason."""

    id: str
    family: str
    cold: bool
    expected: str
    result: str
    reason: str = ""
    said: Said | None = None
    false: list[str] = field(default_factory=list)
    again: bool = False
    load: float = 0.0
    cause: str = ""


def ask(iolens: str, log: Path) -> Said:
    def printed(command: str) -> Any:
        done = subprocess.run([iolens, command, "--json", str(log)], stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout)

    about = printed("info")
    verdict = about["verdict"]
    found = [(f["rule"], f["severity"], f["time_lost"] or 0.0) for f in printed("findings")["findings"]]
    return Said(
        verdict["text"], verdict["level"], verdict.get("io_share", 0.0), about["job"]["run_time"], found
    )


def names_cause(program: dict[str, Any], said: Said) -> bool:
    """Is what a reader sees first the cause? A row of accept that begins with = stands for words of the verdict."""
    accepted = program.get("accept", [])
    words = [word[1:] for word in accepted if word.startswith("=")]
    return said.first in accepted or any(word in said.verdict for word in words)


def names_instead(program: dict[str, Any], said: Said) -> bool:
    wanted = program.get("instead", "")
    return any(word in said.verdict for key, words in INSTEAD.items() if key in wanted for word in words)


def false_problems(program: dict[str, Any], said: Said) -> list[str]:
    """Findings of weight that are not among the causes."""
    return sorted({rule for rule in said.problems if rule not in program.get("accept", [])})


def compare(program: dict[str, Any], said: Said) -> tuple[str, str]:
    """The result and its reason. Page faults from storage, and HDF5 itself, are I/O besides that of calls."""
    share = min(1.0, said.share + said.faults + said.library)
    if said.level == "unknown":
        return "not known", said.verdict
    if program["verdict"] == "io" and share < CAUSE:
        return "wrong", f"I/O is the cause: {program['cause']}"
    if program["verdict"] == "not" and said.level == "problem":
        return "wrong", f"I/O is not the cause: {program['cause']}"
    if program["verdict"] == "mixed" and share < PART and not names_instead(program, said):
        return ("right", "") if "the processor" in said.verdict else ("wrong", program["cause"])
    if program["verdict"] == "not":
        named = names_instead(program, said) or names_cause(program, said)
    else:
        named = names_cause(program, said)
    return ("right", "") if named else ("cause wrong", f"{said.first}; expected: {program['cause']}")


def new_row(program: dict[str, Any], reason: str = "") -> Row:
    cold = program.get("cold", False)
    return Row(
        program["id"], program["family"], cold, program["verdict"], "skipped", reason, cause=program["cause"]
    )


def judged(program: dict[str, Any], known: Row) -> Row:
    """The row again, from what was said: the truth's list of rules may have changed."""
    known.cause = program["cause"]
    if known.said:
        known.result, known.reason = compare(program, known.said)
        known.false = false_problems(program, known.said)
    return known


def in_short(said: str) -> str:
    """What a reader sees first, without its numbers."""
    said = re.sub(r"^the start of .*", "the start of processes", re.split(r"[,;:]", said)[0])
    return said.replace("the processors", "the processor").replace("|", "/")


def cells(row: Row) -> str:
    """Of a row that is not right: what was said first, and the expert's cause."""
    share, said = (f"{100 * row.said.share:.0f} %", row.said.first) if row.said else ("-", row.reason)
    texts = [row.id, row.expected, row.result, share, in_short(said), row.cause]
    return f"| {' | '.join(text.replace('|', '/') for text in texts)} |"


def right_ones(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each verdict and what a reader sees first: programs with their share of I/O."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.said:
            key = (row.expected, in_short(row.said.first))
            groups.setdefault(key, []).append(f"{row.id} ({100 * row.said.share:.0f})")
    # "io", "mixed", "not" are in the order of the alphabet.
    for (expected, said), programs in sorted(groups.items(), key=lambda one: (one[0][0], -len(one[1]))):
        yield f"| {expected} | {said} | {', '.join(programs)} |"


def unnamed(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each rule with findings of weight that the expert does not name."""
    of: dict[str, list[str]] = {}
    for row in rows:
        for rule in row.false:
            of.setdefault(rule, []).append(row.id)
    for rule, ids in sorted(of.items(), key=lambda one: -len(one[1])):
        yield f"* {rule}: {', '.join(ids)}"


def totals(rows: Sequence[Row]) -> str:
    count = Counter(row.result for row in rows)
    asked = sum(count[result] for result in RESULTS)
    parts = [f"{count[result]} {result}" for result in RESULTS]
    left = [f"{count[result]} {result}" for result in ("failed", "skipped") if count[result]]
    weight = sum(len(row.false) for row in rows)
    verdicts = sum(row.result in ("right", "cause wrong") for row in rows)
    return (
        f"{asked} programs: {', '.join(parts)}; {', '.join(left) or 'none skipped'}. The verdict (cause or not) "
        f"is right for {verdicts} of {asked}. {weight} findings of high or medium severity name what the expert "
        "does not name."
    )


def drishti(rows: Sequence[Row]) -> Iterator[str]:
    """How often a critical trigger of Drishti blames I/O, by the expert's verdict; nothing where it was not asked."""
    asked = [row for row in rows if row.said and row.said.drishti is not None]

    def blamed(expected: str) -> str:
        of = [row for row in asked if row.expected == expected and row.said]
        return f"{sum(bool(row.said and row.said.drishti) for row in of)} of {len(of)}"

    if asked:
        said = (
            f"Drishti read {len(asked)} of these logs. It has a critical trigger for {blamed('io')} programs that are "
            f"slow because of I/O, {blamed('mixed')} mixed ones, and {blamed('not')} that are slow for other reasons."
        )
        yield from ("", textwrap.fill(said, 119))


def left_out(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Why -> which."""
    listed: dict[str, list[str]] = {}
    for row in rows:
        if row.result not in RESULTS:
            why = textwrap.shorten(f"{row.result}, {row.reason}", 60, placeholder=" ...")
            listed.setdefault(why, []).append(row.id)
    return listed


def listed(text: str) -> str:
    return textwrap.fill(text, 119, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def put(page: Path, rows: Sequence[Row]) -> None:
    """Between the marks in the page."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    run = sorted((r for r in rows if r.said and r.result in RESULTS), key=lambda r: RESULTS.index(r.result))
    lines = [
        textwrap.fill(f"{totals(rows)} One run of each.", 119),
        *drishti(rows),
        "",
        "Not right:",
        "",
        "| program | expected | result | in I/O | said first | the expert's cause |",
        "|---|---|---|---|---|---|",
        *(cells(row) for row in run if row.result != "right"),
        "",
        "Right, with the percentage of the run in I/O:",
        "",
        "| expected | said first | programs |",
        "|---|---|---|",
        *right_ones(row for row in run if row.result == "right"),
        "",
        "Findings of high or medium severity that the expert does not name:",
        "",
        *(list(unnamed(run)) or ["* none"]),
        "",
        "Without a result:",
        "",
        *([listed(f"* {why}: {', '.join(ids)}") for why, ids in left_out(rows).items()] or ["* none"]),
    ]
    inside = "\n".join(lines)
    page.write_text(f"{before}{BEGIN}\n{inside}\n{END}{after}", encoding="utf-8")


def write(path: Path, rows: Iterable[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Row]:
    rows = {}
    for one in json.loads(path.read_text(encoding="utf-8")):
        said = one.pop("said")
        if said:
            said["findings"] = [tuple(found) for found in said["findings"]]
        rows[one["id"]] = Row(**one, said=Said(**said) if said else None)
    return rows
