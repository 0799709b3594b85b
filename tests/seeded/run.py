#!/usr/bin/env python3
"""Small faults are put into the tree, one at a time: does a run of the tests notice?

usage: tests/seeded/run.py [--list] [--command COMMAND] [--tests PATH]... [--limit SECONDS] [--no-baseline] [ID...]

faults.toml has the faults. Each is put into a copy of the work tree (build-seeded/), which is built. The tests of the
quick tier that the table names run first; where they pass, COMMAND is run: the whole quick tier. A fault is caught when
a test fails, or when the command is not done after SECONDS. Without any fault COMMAND has to pass. After each fault
build/seeded/ has results.json, and what was printed as ID.txt.

Exit codes: 0 at least nine of ten are caught, 1 fewer are, 2 the campaign itself failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import places  # noqa: E402
from faults import Fault, read  # noqa: E402
from scratch import CampaignError, Scratch  # noqa: E402

COMMAND = ".venv/bin/python tests/run.py quick -x"
FIRST = ".venv/bin/python -m pytest -q -x -n 3 --tier quick"
LIMIT = 900
LEAST = 0.9
RESULTS = places.ROOT / "build" / "seeded"

_FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+\.py.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Of one run of the command. verdict: passed, caught, or hung, which is caught, too."""

    verdict: str
    by: str
    """The test that failed first."""
    seconds: float


@dataclass(frozen=True)
class Result:
    """Of one fault. problem: why the campaign could not tell."""

    id: str
    room: str
    seen: str
    verdict: str
    by: str = ""
    seconds: float = 0.0
    problem: str = ""

    @property
    def caught(self) -> bool:
        return self.verdict in ("caught", "hung")


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and all of its process group."""
    for how, patience in ((signal.SIGINT, 10), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, how)
            process.wait(patience)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _output(fault: str) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / f"{fault}.txt"


def run_command(scratch: Scratch, command: str, fault: str, limit: float) -> Outcome:
    """Builds, and runs it. Raises CampaignError where that fails and names no test."""
    output = _output(fault)
    scratch.build(output)
    began = time.monotonic()
    with output.open("wb") as out:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=scratch.tree,
            env={**scratch.environment, "SEEDED_FAULT": fault},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            _end(process)
            return Outcome("hung", f"not done after {limit:.0f} s", time.monotonic() - began)
        except BaseException:
            _end(process)
            raise
    seconds = time.monotonic() - began
    if code == 0:
        return Outcome("passed", "", seconds)
    failed = _FAILED.search(output.read_text(errors="replace"))
    if not failed:
        raise CampaignError(f"the command ended with {code} and named no test that failed: see {output}")
    return Outcome("caught", failed[1], seconds)


def try_fault(scratch: Scratch, fault: Fault, commands: Sequence[str], limit: float) -> Result:
    """By one command after the other, until one has caught it."""
    seconds = 0.0
    try:
        with scratch.holding(fault):
            for command in commands:
                outcome = run_command(scratch, command, fault.id, limit)
                seconds += outcome.seconds
                if outcome.verdict != "passed":
                    break
    except CampaignError as error:
        return Result(fault.id, fault.room, fault.seen, "error", problem=str(error))
    verdict = "missed" if outcome.verdict == "passed" else outcome.verdict
    return Result(fault.id, fault.room, fault.seen, verdict, outcome.by, round(seconds, 1))


def check_baseline(scratch: Scratch, command: str, limit: float) -> None:
    """Raises CampaignError: where the tests fail without a fault, they tell nothing of one."""
    outcome = run_command(scratch, command, "none", limit)
    if outcome.verdict != "passed":
        raise CampaignError(f"without any fault the command fails ({outcome.by}): see {_output('none')}")
    print(f"without any fault: passed in {outcome.seconds:.0f} s", flush=True)


def _write(results: Sequence[Result], command: str) -> None:
    page = {"command": command, "faults": [asdict(result) for result in results]}
    (RESULTS / "results.json").write_text(json.dumps(page, indent=2) + "\n")


def _print_line(result: Result) -> None:
    told = result.problem or result.by or result.seen
    print(f"{result.verdict:6} {result.seconds:6.1f} s  {result.id:32} {told}", flush=True)


def campaign(scratch: Scratch, faults: Sequence[Fault], given: argparse.Namespace, command: str) -> int:
    scratch.make()
    if not given.no_baseline:
        check_baseline(scratch, command, given.limit)
    results: list[Result] = []
    for fault in faults:
        commands = [command] if given.tests else [f"{FIRST} {fault.tests}", command]
        results.append(try_fault(scratch, fault, commands, given.limit))
        _print_line(results[-1])
        _write(results, command)
    caught = sum(result.caught for result in results)
    failed = sum(result.verdict == "error" for result in results)
    print(f"{caught} of {len(results)} caught" + (f", {failed} could not be tried" if failed else ""))
    if failed:
        return 2
    return 0 if caught >= LEAST * len(results) else 1


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Small faults are put into the tree: do the tests notice?")
    parser.add_argument("ids", nargs="*", metavar="ID", help="faults to try (default: all)")
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    parser.add_argument("--command", default=COMMAND, help="what is run in the copy (%(default)s)")
    parser.add_argument(
        "--tests", action="append", metavar="PATH", help="run only these tests, by pytest (repeat)"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of one run (%(default)s)")
    parser.add_argument("--no-baseline", action="store_true", help="no run without a fault before")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    given = _options(arguments)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # what was started is ended, the fault taken back
    known = {fault.id: fault for fault in read()}
    unknown = [id for id in given.ids if id not in known]
    if unknown:
        print(f"no fault {', '.join(unknown)}: --list prints all", file=sys.stderr)
        return 2
    faults = [known[id] for id in given.ids] or list(known.values())
    if given.list:
        for fault in faults:
            print(f"{fault.id:32} {fault.room:24} {fault.seen}")
        return 0
    command = f".venv/bin/python -m pytest -q -x {' '.join(given.tests)}" if given.tests else given.command
    try:
        return campaign(Scratch(places.ROOT, places.ROOT / "build-seeded"), faults, given, command)
    except CampaignError as error:
        print(f"seeded faults: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
