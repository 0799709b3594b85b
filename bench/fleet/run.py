"""A machine's logs in a lake: how fast they come in, how much room they take, how long questions take.

bench/fleetgen makes the logs, the same on every machine. Each step is a process of its own: seconds are wall-clock
from its start to its end, memory is that of the largest of its processes. Caches are as they are: warm.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
IOLENS = Path(sys.executable).parent / "iolens"
sys.path.insert(0, str(ROOT / "bench" / "fleetgen"))

import generate  # noqa: E402

SCREENS = {
    "screen_redundant_reads": "redundant_reads",
    "screen_metadata": "metadata_ratio",
    "screen_small_writes": "small_shared_writes",
}
"""Query of `iolens fleet screen` -> metric."""

QUESTIONS: dict[str, dict[str, Any]] = {
    "top_users": {"by": "bytes"},
    "top_applications": {"by": "metadata"},
    "top_files": {"by": "bytes"},
    "top_directories": {"depth": 2},
    "findings": {},
    "drift": {},
}
"""Named query -> the values with which it is asked; bench/fleet/records.py asks all of them, of more records."""

JOBS_AND_FILES = ("job", "metric", "finding", "name_of", "file_sum")
"""Tables with rows of jobs, and of files as programs used them; the others have what logs have, record by record."""

# Asks a lake with no more than 3 GB for DuckDB, and says how long that took after the imports.
ASKED = """
import json, sys, time
from iolens.fleet import Lake
from iolens.fleet.saved_queries import ask
lake, name, given = sys.argv[1:]
start = time.perf_counter()
with Lake(lake).open(memory="3GB") as data:
    rows = len(ask(data, name, **json.loads(given)).rows)
print(json.dumps({"seconds": time.perf_counter() - start, "rows": rows}))
"""

SIZES = """
import json, sys
from iolens.fleet import Lake
files = Lake(sys.argv[1]).snapshot().files
print(json.dumps({name: sum(file.size for file in some) for name, some in files.items()}))
"""


def measured(*words: object, codes: tuple[int, ...] = (0,)) -> tuple[float, float, str]:
    """Seconds, memory in MB, and what a command printed."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.perf_counter()
        child = subprocess.Popen([str(word) for word in words], stdout=out)
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        if os.waitstatus_to_exitcode(status) not in codes:
            raise SystemExit(f"{' '.join(map(str, words))[:200]} failed")
        out.seek(0)
        return seconds, used.ru_maxrss / 1024, out.read()


def ask(lake: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Seconds after the imports, memory in MB, number of rows of a named query."""
    _, memory, text = measured(sys.executable, "-c", ASKED, lake, name, json.dumps(given))
    return {**json.loads(text), "memory": memory}


def ingest(logs: Path, lake: Path, *options: str) -> dict[str, Any]:
    seconds, memory, text = measured(
        IOLENS, "fleet", "ingest", logs, "--lake", lake, "--json", *options, codes=(0, 4)
    )
    told = json.loads(text)
    return {"seconds": seconds, "memory": memory, "logs": told["ingested"], "known": told["known"]}


def new_lake(logs: Path, lake: Path, *options: str) -> dict[str, Any]:
    """Ingests into a new lake; what other programs have written is on the disk before."""
    shutil.rmtree(lake, ignore_errors=True)
    os.sync()
    return ingest(logs, lake, *options)


def large_logs(folder: Path, files: list[int]) -> str:
    """Ingest of one log each of so many files: what a file takes."""
    sys.path.insert(0, str(ROOT / "bench" / "report"))
    import run as report

    program = report.build(folder)
    rows = [
        "| files of a log | s | memory, MB | more than of the one before, bytes a file |",
        "|---|---|---|---|",
    ]
    before: tuple[int, float] | None = None
    for number in files:
        logs = folder / f"log-{number}"
        logs.mkdir(exist_ok=True)
        subprocess.run([program, logs / "large.darshan", str(number), "1"], check=True)
        one = new_lake(logs, folder / "lake-large", "--jobs", "1")
        more = (one["memory"] - before[1]) * (1 << 20) / (number - before[0]) if before else None
        rows.append(
            f"| {number:,} | {one['seconds']:.1f} | {one['memory']:.0f} | {'' if more is None else f'{more:.0f}'} |"
        )
        before = number, one["memory"]
    return "\n".join(rows)


def screened(lake: Path) -> dict[str, Any]:
    """What `iolens fleet screen` finds, by the metric that it judges by."""
    seconds, memory, text = measured(IOLENS, "fleet", "screen", "--lake", lake, "--json")
    found = {}
    for row in json.loads(text)["answers"][0]["rows"]:
        one = {"jobs": row["matching"], "users": row["users"], "largest": row["largest"]}
        found[SCREENS[row["screen"]]] = one
    return {"seconds": seconds, "memory": memory, "found": found}


def bench(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured."""
    out, found = folder / "population", {}
    if not (out / "truth.json").exists():
        shutil.rmtree(out, ignore_errors=True)
        days, users = arguments.days, arguments.users
        start = time.perf_counter()
        generate.generate(
            out,
            logs=arguments.logs,
            files=arguments.files,
            days=days,
            users=users,
            screened=arguments.screened,
        )
        found["generating"] = {"seconds": time.perf_counter() - start}
    found["truth"] = json.loads((out / "truth.json").read_text())
    for name, options in (("plain", ("--no-rules",)), ("rules", ())):
        if name == "rules" and arguments.no_rules:
            continue
        lake = folder / f"lake-{name}"
        rounds = [new_lake(out / "logs", lake, *options) for _ in range(arguments.rounds)]
        found[f"ingest_{name}"] = sorted(rounds, key=lambda one: one["seconds"])[len(rounds) // 2]
        found[f"unchanged_{name}"] = ingest(out / "logs", lake, *options)
    found["sizes"] = json.loads(measured(sys.executable, "-c", SIZES, lake)[2])
    found["screens"] = screened(lake)
    found["questions"] = {
        " ".join([name, *(f"{key}={value}" for key, value in given.items())]): ask(lake, name, given)
        for name, given in QUESTIONS.items()
    }
    accounting = ("accounting", out / "accounting.txt", "--zone", "UTC")
    found["accounting"] = dict(
        zip(("seconds", "memory"), measured(IOLENS, "fleet", *accounting, "--lake", lake))
    )
    seconds, memory, text = measured(IOLENS, "fleet", "coverage", "--lake", lake, "--json")
    found["coverage"] = {"seconds": seconds, "memory": memory, "total": json.loads(text)["total"]}
    return found


def table(found: dict[str, Any]) -> str:
    """As docs/performance/fleet.md has it."""
    truth, sizes = found["truth"], found["sizes"]
    rows: list[tuple[str, str, str, dict[str, Any]]] = []
    for name, wanted in (("plain", "3,000"), ("rules", "1,000")):
        if f"ingest_{name}" in found:
            step = found[f"ingest_{name}"]
            what = "ingest without rules" if name == "plain" else "ingest with metrics and rules"
            rows.append((what, f"{step['logs'] / step['seconds']:,.0f} logs/s", f"{wanted} logs/s", step))
            again = found[f"unchanged_{name}"]
            rows.append(("ingest again, nothing new", f"{again['seconds']:.1f} s", "10 s", again))
    rows.append(("three screens over all", f"{found['screens']['seconds']:.2f} s", "2 s", found["screens"]))
    rows += [
        (f"query: {name}", f"{one['seconds']:.2f} s", "10 s", one) for name, one in found["questions"].items()
    ]
    rows.append(("accounting", f"{found['accounting']['seconds']:.1f} s", "", found["accounting"]))
    rows.append(("coverage", f"{found['coverage']['seconds']:.1f} s", "", found["coverage"]))
    lines = [
        f"{truth['logs']:,} logs, {truth['bytes'] / 1e6:,.1f} MB, {truth['records']:,} records, "
        f"{truth['accounted_jobs']:,} jobs accounted for; wanted is for 261,890 logs: of few logs most is start",
        "",
        "| what | measured | wanted | memory, MB |",
        "|---|---|---|---|",
        *(f"| {what} | {value} | {wanted} | {step['memory']:.0f} |" for what, value, wanted, step in rows),
    ]
    share = 100 * sum(sizes.values()) / truth["bytes"]
    small = 100 * sum(sizes.get(name, 0) for name in JOBS_AND_FILES) / truth["bytes"]
    lines.append(
        f"| tables of jobs and files ({', '.join(JOBS_AND_FILES)}) compared with the logs | {small:.0f} % | 40 % | |"
    )
    lines += [
        f"| all tables compared with the logs | {share:.0f} % | | |",
        "",
        "| table | MB | of the logs |",
        "|---|---|---|",
    ]
    lines += [
        f"| {name} | {size / 1e6:.1f} | {100 * size / truth['bytes']:.1f} % |"
        for name, size in sorted(sizes.items(), key=lambda p: -p[1])
    ]
    lines += ["", "| screen | jobs | users | largest | as generated |", "|---|---|---|---|---|"]
    for name, one in found["screens"]["found"].items():
        made = truth["screened"][name]
        lines.append(
            f"| {name} | {one['jobs']} | {one['users']} | {one['largest'] or 0:.6g} "
            f"| {made['jobs']}, {made['users']}, {made['largest']:.6g} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=20_000, help="261890: Hopper's ten weeks")
    parser.add_argument("--files", type=int, default=40, help="mean number of files of a log")
    parser.add_argument("--days", type=int, default=72)
    parser.add_argument("--users", type=int, default=1200)
    parser.add_argument(
        "--screened", type=int, default=1, help="so many times Hopper's share of jobs to be found"
    )
    parser.add_argument("--no-rules", action="store_true", help="without findings")
    parser.add_argument("--rounds", type=int, default=1, help="of each ingest: the median")
    parser.add_argument("--large", type=int, nargs="+", help="instead: one log each of so many files")
    parser.add_argument("--keep", type=Path, help="folder for logs and lakes, which stay")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not IOLENS.exists() or find_spec("deltalake") is None:
        raise SystemExit(
            f"bench/fleet/run.py: no iolens with deltalake for {sys.executable}: pip install 'iolens[fleet]', "
            "or ./bootstrap test and then .venv/bin/python bench/fleet/run.py"
        )
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        if arguments.large:
            print(large_logs(folder, arguments.large))
            return
        found = bench(folder, arguments)
    print(json.dumps(found) if arguments.json else table(found))


if __name__ == "__main__":
    main()
