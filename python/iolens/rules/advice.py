"""Advice for one finding: what the job's facts allow, with names of its own files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from iolens.metrics import Dataset
from iolens.rules.finding import Advice, Evidence
from iolens.rules.rule import ConditionalAdvice

__all__ = ["Facts", "advise", "read_facts"]

# A name that means the same in a string of C or Python and in a shell.
_PLAIN = re.compile(r"/[\w./+,:@%=-]*")
_HINT = re.compile(r'MPI_Info_set\(\w+, "(\w+)", "(\w+)"\)')


# Files whose bytes are their library's, and what opens a file as bytes.
_FORMATTED = re.compile(r"\.(h5|hdf5?|he5|nc4?|npz|npy|parquet|arrow|sqlite3?|db)$", re.IGNORECASE)
_HDF5 = re.compile(r"\.(h5|hdf5|he5|nc4?)$", re.IGNORECASE)
_OPENS_BYTES = re.compile(r"\bf?open\(\"FILENAME\"")


@dataclass
class Facts:
    """What a log says about its job.

    hints: those of MPI-IO at work, as ``key=value``. nodes: None if the log does not tell.
    """

    facts: set[str] = field(default_factory=set)
    hints: set[str] = field(default_factory=set)
    nodes: int | None = None

    def hold(self, conditions: Iterable[str]) -> bool:
        """Do all of them hold? "not X" does where X does not."""
        return all((c.removeprefix("not ") in self.facts) != c.startswith("not ") for c in conditions)


def read_facts(data: Dataset) -> dict[int, Facts]:
    """By log."""
    found = {log: Facts() for (log,) in data.query("SELECT log FROM job").fetchall()}
    for row in data.metric("facts"):
        one = found[row["log"]]
        if row["fact"] == "hint":
            one.hints.add(row["value"])
        elif row["fact"] == "nodes":
            one.nodes = int(row["value"])
        else:
            one.facts.add(row["fact"])
    return found


def advise(
    given: Iterable[ConditionalAdvice], facts: Facts, values: Mapping[str, Any], evidence: Iterable[Evidence]
) -> tuple[Advice, ...]:
    """Those pieces of advice whose conditions hold; where none does, the first as text."""
    listed = list(given)
    names = _names(values, evidence, facts)
    made = [one for a in listed if facts.hold(a.when) and (one := _piece(a, facts, names))]
    return tuple(made or [Advice(a.text) for a in listed[:1]])


def _names(values: Mapping[str, Any], evidence: Iterable[Evidence], facts: Facts) -> dict[str, str]:
    """Place holder -> what stands there."""
    found = [values["name"]] if "name" in values else []
    found += [row[e.columns.index("name")] for e in evidence if "name" in e.columns for row in e.rows]
    names = {"NODES": str(facts.nodes)} if facts.nodes else {}
    # A file that a plain name leads to; the first is the one that costs most.
    file = next((str(name) for name in found if name and _PLAIN.fullmatch(str(name))), None)
    if file:
        names |= {"FILENAME": file, "DIRECTORY": file.rpartition("/")[0] or "/"}
    return names


def _piece(advice: ConditionalAdvice, facts: Facts, names: Mapping[str, str]) -> Advice | None:
    """None for hints that are at work already."""
    snippet, language = advice.snippet, advice.language
    if "python" in facts.facts and (language in ("c", "python") or advice.python):
        snippet, language = advice.python or (snippet if language == "python" else ""), "python"
    elif language == "python":
        snippet = ""
    if _FORMATTED.search(names.get("FILENAME", "")) and _OPENS_BYTES.search(snippet):
        python = "python" in facts.facts and _HDF5.search(names["FILENAME"])
        snippet = advice.hdf5 if python else ""
    lines = snippet.splitlines()
    kept = [
        line
        for line in lines
        if not ((hint := _HINT.search(line)) and "=".join(hint.groups()) in facts.hints)
    ]
    if len(kept) < len(lines) and not any(_HINT.search(line) for line in kept):
        return None
    text = "\n".join(kept)
    for holder, name in names.items():
        text = re.sub(rf"\b{holder}\b", lambda _, name=name: name, text)  # type: ignore[misc]
    return Advice(advice.text, text, language if text else "")
