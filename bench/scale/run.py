"""How long MPI_Finalize would take at more ranks than a machine here runs: a model (model.py), not a measurement.

First it is compared with what is published of Darshan, then it says what it says of iolens. What a machine costs can be
changed; the defaults are Hopper's, the one whose times are published. What iolens' own work costs is fitted to
measured.json, which is the summary of bench/shutdown (`bench/shutdown/run.py --results R --report --json`).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import fit
import model

HERE = Path(__file__).parent
RANKS = [12288, 98304, 1000000]
DEADLINE = 30  # seconds, of IOLENS_FINALIZE_TIMEOUT: past it nothing is written, and the stores are kept


def duration(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def beside_published(machine: model.Machine) -> list[dict[str, Any]]:
    """Darshan at 98,304 ranks of Hopper: total and shares, published and by the model."""
    rows = []
    for scene, told in model.HOPPER.items():
        phases = model.darshan(machine, scene, model.HOPPER_RANKS)
        seconds = model.total(phases)
        rows.append(
            {
                "scene": scene,
                "published": told.seconds,
                "model": seconds,
                "error": seconds / told.seconds - 1,
                "published_shares": list(told.shares),
                "model_shares": [phase / seconds for phase in phases.values()],
            }
        )
    return rows


def predicted(
    machine: model.Machine, node: model.Work, join: model.Join, ranks: list[int]
) -> list[dict[str, Any]]:
    rows = []
    for number in ranks:
        for scene in model.SCENES:
            ways = {
                "Darshan": model.darshan(machine, scene, number),
                "iolens": model.leaders(machine, node, join, scene, number),
            }
            rows.append(
                {
                    "ranks": number,
                    "scene": scene,
                    "log": model.log_size(node, scene, number),
                    "seconds": {way: model.total(phases) for way, phases in ways.items()},
                    "phases": ways,
                }
            )
    return rows


def held_out(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The assembly at the most ranks that were measured, from the factors of half of them and less."""
    rows = fit.timed(summary)
    most = max(row["ranks"] for row in rows)
    work = fit.work(summary, ranks_at_most=most // 2)
    found = []
    for row in rows:
        if row["ranks"] == most:
            said, was = model.assembly(work, 1.0, row["scene"], most), fit.assembly_seconds(row)
            found.append(
                {
                    "ranks": most,
                    "scene": row["scene"],
                    "model": said,
                    "measured": was,
                    "error": said / was - 1,
                }
            )
    return found


def sent(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Messages of small jobs, counted and by the model."""
    rows = [row for row in fit.counted(summary) if row["scene"] == "1 own"]
    return [
        {
            "ranks": row["ranks"],
            "nodes": row["nodes"],
            "counted": row["messages"]["messages"],
            "model": model.messages(row["ranks"], row["nodes"]),
        }
        for row in rows
    ]


def text(found: dict[str, Any]) -> str:
    lines = [
        "machine, s and bytes/s: "
        + ", ".join(f"{name} {value:.3g}" for name, value in found["machine"].items())
    ]
    for where, work in found["work"].items():
        costs = (f"{name} {value:.3g}" for name, value in work.items() if isinstance(value, float))
        lines.append(f"own work {where}, s each: " + ", ".join(costs))
    lines.append("\nDarshan at 98,304 ranks of Hopper: aggregate, compress, store")
    for row in found["published"]:
        shares = " ".join(f"{share:.1%}" for share in row["published_shares"])
        ours = " ".join(f"{share:.1%}" for share in row["model_shares"])
        lines.append(
            f"  {row['scene']:12} published {row['published']:6.2f} s ({shares}), "
            f"model {row['model']:6.2f} s ({ours}), {row['error']:+.1%}"
        )
    lines.append("\niolens' assembly where it was measured, from the factors of half the ranks and less")
    for row in found["held_out"]:
        lines.append(
            f"  {row['ranks']:4} {row['scene']:12} measured {duration(row['measured'])}, "
            f"model {duration(row['model'])}, {row['error']:+.0%}"
        )
    lines.append("\nMessages with one file of each rank: counted by Open MPI, and by the model")
    for row in found["messages"]:
        lines.append(
            f"  {row['ranks']:4} ranks on {row['nodes']:4} nodes: {row['counted']}, model {row['model']}"
        )
    lines.append("\nPrediction: MPI_Finalize compared with the bare one")
    for row in found["predicted"]:
        ways = ", ".join(
            f"{way} {duration(seconds)}"
            + (" (past the deadline)" if way != "Darshan" and seconds > DEADLINE else "")
            for way, seconds in row["seconds"].items()
        )
        lines.append(f"  {row['ranks']:8} {row['scene']:12} {ways}; log of iolens {row['log'] / 1e6:.3g} MB")
    return "\n".join(lines)


def markdown(found: dict[str, Any]) -> str:
    """The predictions of docs/performance/mpi.md."""
    ways = list(found["predicted"][0]["seconds"])
    lines = [f"| ranks | files | {' | '.join(ways)} | log of iolens |", "|---" * (len(ways) + 3) + "|"]
    for row in found["predicted"]:
        cells = [duration(row["seconds"][way]) for way in ways]
        lines.append(
            f"| {row['ranks']:,} | {row['scene']} | {' | '.join(cells)} | {row['log'] / 1e6:.3g} MB |"
        )
    return "\n".join(lines)


def options(machine: model.Machine) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--measured", type=Path, default=HERE / "measured.json", help="summary of bench/shutdown"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="the table of predictions")
    costs = parser.add_argument_group(
        "the machine", "seconds and bytes; defaults: Hopper, fitted or described"
    )
    for cost in dataclasses.fields(machine):
        if cost.name != "name":
            value = getattr(machine, cost.name)
            costs.add_argument(f"--{cost.name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()


def main() -> None:
    hopper = model.hopper()
    chosen = options(hopper)
    summary = json.loads(chosen.measured.read_text())
    costs = {c.name: getattr(chosen, c.name) for c in dataclasses.fields(hopper) if c.name != "name"}
    machine = dataclasses.replace(hopper, **costs)
    node, join = fit.work(summary), fit.join(summary)
    found = {
        "machine": costs,
        "work": {"on one node": dataclasses.asdict(node), "joining": dataclasses.asdict(join)},
        "published": beside_published(hopper),
        "held_out": held_out(summary),
        "messages": sent(summary),
        "predicted": predicted(machine, node, join, chosen.ranks),
    }
    written = markdown if chosen.markdown else text
    print(json.dumps(found, indent=1) if chosen.json else written(found))


if __name__ == "__main__":
    main()
