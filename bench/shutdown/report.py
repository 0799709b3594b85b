"""Samples of run.py to box statistics, and what they mean compared with Darshan's figures."""

from __future__ import annotations

import statistics
from typing import Any

import darshan

Summary = dict[str, Any]


def box(values: list[float]) -> list[float]:
    """Minimum, quartiles and maximum; quartiles interpolate between the samples."""
    if len(values) == 1:
        return values * 5
    return [min(values), *statistics.quantiles(values, n=4, method="inclusive"), max(values)]


def files(scene: str, ranks: int) -> int:
    number, kind = scene.split()
    return int(number) * (ranks if kind == "own" else 1)


def one(series: dict[str, Any]) -> Summary:
    good = [sample for sample in series["samples"] if "failed" not in sample]
    failed = [sample["failed"] for sample in series["samples"] if "failed" in sample]
    found: Summary = {name: series[name] for name in ("mpi", "finalize", "ranks", "scene")}
    found |= {"samples": len(good), "failed": failed}
    if "messages" in series:
        found["messages"] = series["messages"]
    if not good:
        return found
    for name in ("bare", "own", "whole"):
        found[name] = box([sample[name] for sample in good])
    phases: dict[str, list[float]] = {}
    for sample in good:
        for name, seconds in sample["phases"].items():
            phases.setdefault(name, []).append(seconds)
    found["phases"] = {name: box(values) for name, values in phases.items()}
    count = files(series["scene"], series["ranks"])
    for name in ("log", "regions"):
        found[name] = statistics.median(sample[name] for sample in good)
        found[f"{name}_per_file"] = found[name] / count
    found["load"] = box([sample["load"] for sample in good])
    found["ratio"] = found["own"][2] / found["bare"][2]
    found["darshan_ratio"] = darshan.ratio(series["scene"], series["ranks"])
    if found["darshan_ratio"]:
        found["of_darshan"] = found["ratio"] / found["darshan_ratio"]
    return found


def summary(known: dict[str, Any]) -> Summary:
    order = list(darshan.SHUTDOWN)
    rows = [one(series) for series in known["series"]]
    rows.sort(key=lambda row: (row["mpi"], row["finalize"], row["ranks"], order.index(row["scene"])))
    return {"machine": known["machine"], "rows": rows}


def ms(values: list[float]) -> str:
    return " ".join(f"{value * 1e3:.4g}" for value in values)


def lines(row: Summary) -> list[str]:
    head = f"{row['mpi']} {row['finalize']}".strip()
    found = [f"{head}, {row['ranks']} ranks, {row['scene']}: {row['samples']} samples"]
    found += [f"  failed: {' '.join(told)}" for told in row["failed"]]
    if "messages" in row:
        sent = row["messages"]
        found.append(
            f"  messages           {sent['messages']} of {sent['bytes']} B; the first rank gets "
            f"{sent['root_messages']} of {sent['root_bytes']} B, no rank sends more than {sent['sent_by_one']}"
        )
    if "own" not in row:
        return found
    of = row.get("of_darshan")
    beside = f"; Darshan's {row['darshan_ratio']:.2f} of bare: {of:.2f} of that" if of else ""
    found += [
        f"  bare MPI_Finalize  {ms(row['bare'])} ms",
        f"  with iolens        {ms(row['whole'])} ms",
        f"  of that iolens     {ms(row['own'])} ms, {row['ratio']:.2f} of bare{beside}",
        "  phases             "
        + ", ".join(f"{name} {box[2] * 1e3:.4g}" for name, box in row["phases"].items()),
        f"  log                {row['log']:.0f} B, {row['log_per_file']:.1f} per file; "
        f"without trailer {row['regions']:.0f} B, {row['regions_per_file']:.1f} per file",
    ]
    return found


def text(summary: Summary) -> str:
    about = summary["machine"]
    head = f"{about['processors']} x {about['processor']}, Linux {about['kernel']}"
    head += "; boxes are minimum, quartiles, maximum; phases are medians in ms; of bare: iolens' part by the bare whole"
    return "\n".join([head, *(line for row in summary["rows"] for line in lines(row))])


def short(values: list[float]) -> str:
    return ms(values) if values[0] < values[-1] else ms(values[:1])


def cells(*found: object) -> str:
    return f"| {' | '.join(map(str, found))} |"


def markdown(summary: Summary) -> str:
    """The tables of docs/performance/mpi.md: times, then phases and sizes."""
    rows = [row for row in summary["rows"] if "own" in row]
    heads = (
        "way",
        "ranks",
        "files",
        "bare, ms",
        "iolens' part, ms",
        "of bare",
        "Darshan's",
        "quotient",
        "samples",
    )
    found = [cells(*heads), "|---" * len(heads) + "|"]
    for row in rows:
        beside = [
            f"{row[name]:.2f}" if row.get(name) else "" for name in ("ratio", "darshan_ratio", "of_darshan")
        ]
        names = row["finalize"] or "one node", row["ranks"], row["scene"]
        found.append(cells(*names, short(row["bare"]), short(row["own"]), *beside, row["samples"]))
    heads = ("way", "ranks", "files", "phases, ms", "log, B", "per file", "without trailer, B", "per file")
    found += ["", cells(*heads), "|---" * len(heads) + "|"]
    for row in rows:
        phases = ", ".join(f"{name} {box[2] * 1e3:.3g}" for name, box in row["phases"].items())
        sizes = [f"{row['log']:.0f}", f"{row['log_per_file']:.1f}"]
        sizes += [f"{row['regions']:.0f}", f"{row['regions_per_file']:.1f}"]
        found.append(cells(row["finalize"] or "one node", row["ranks"], row["scene"], phases, *sizes))
    return "\n".join(found)
