"""Real programs of truth.toml under `iolens run`: is the verdict, and the first cause, the expert's?

`python tests/truth/real/run.py [--page FILE] [--json FILE] [WORD...]` runs all of them, or those whose id, family or
verdict are among the WORDs. What FILE has of the others stays.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import judge
from iolens.rules.rule import read_toml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from triggers import ask_drishti, command  # noqa: E402

ROOT = HERE.parents[2]
IOLENS = ROOT / ".venv" / "bin" / "iolens"
# `make truth-real` makes it; what is missing there is skipped.
BIN = ROOT / ".venv" / "real" / "bin"
PLACE = Path(os.environ.get("REAL_PLACE") or Path(tempfile.gettempdir()) / "iolens-real")
LIMIT, MAKING = 90, 900
DROP = Path("/proc/sys/vm/drop_caches")
# The disk for which truth.toml judges: bytes and reads a second.
DISK = {"bps": 500_000_000, "iops": 9_000}

Program = dict[str, Any]


class FailedError(Exception):
    """A command of a row failed: what it printed last."""


def table() -> dict[str, Any]:
    return read_toml((HERE / "truth.toml").read_text(encoding="utf-8"))


def is_compound(command: str) -> bool:
    """More than one command with its redirections: a shell has to run it."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|\\.", "", command)
    return bool(re.search(r"[|;&(]|^(for|while|cd|until)\b|^[A-Z_]+=", bare))


def observed(command: str, options: str = "--quiet") -> str:
    """The command as a user of iolens would type it."""
    if is_compound(command):
        command = f"bash -c {shell_word(command)}"
    return f'"$IOLENS" run {options} -o "$LOG" -- {command}'


def shell_word(text: str) -> str:
    quoted = text.replace("'", "'\\''")
    return f"'{quoted}'"


@cache
def python_packages() -> frozenset[str]:
    python = BIN / "python"
    if not python.exists():
        return frozenset()
    ask = "import importlib.metadata as m; print(*(d.metadata['Name'] for d in m.distributions()))"
    done = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, text=True, check=True)
    return frozenset(done.stdout.lower().replace("_", "-").split())


@cache
def is_installed(package: str) -> bool:
    asked = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    if not shutil.which("dpkg-query"):
        return False
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout == "installed"


def missing(row: Program) -> list[str]:
    """What the row needs and the machine lacks."""
    lacks = [p for p in row.get("debian", []) if not is_installed(p)]
    lacks += [p for p in row.get("pypi", []) if p.lower() not in python_packages()]
    lacks += [t for t in row.get("tools", []) if not shutil.which(t)]
    return lacks


def bash(command: str, folder: Path, environment: dict[str, str], limit: int) -> float:
    """Seconds."""
    began = time.monotonic()
    # Not /dev/null: grep stops at its first match there.
    with (folder / ".printed").open("w+") as printed, (folder / ".output").open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=printed,
            start_new_session=True,
        )
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise FailedError(f"not over after {limit} s") from error
        if code:
            printed.seek(0)
            raise FailedError(f"exit {code}: {printed.read()[-300:].strip()}")
    return time.monotonic() - began


def environment() -> dict[str, str]:
    path = f"{BIN}:{os.environ['PATH']}" if BIN.exists() else os.environ["PATH"]
    more = {
        "D": str(PLACE / "data"),
        "ROOT": str(ROOT),
        "IOLENS": str(IOLENS),
        "PATH": path,
        "UCX_LOG_LEVEL": "error",
    }
    return {**os.environ, **more, "OMPI_MCA_mpi_yield_when_idle": "1", "PYTHONDONTWRITEBYTECODE": ""}


def make(name: str, data: dict[str, Program]) -> None:
    """The data, once."""
    folder, mark = PLACE / "data", PLACE / "made" / name
    if mark.exists():
        return
    for other in data[name].get("needs", []):
        make(other, data)
    lacks = missing(data[name])
    if lacks:
        raise FailedError(f"data {name}: no {', '.join(lacks)}")
    folder.mkdir(parents=True, exist_ok=True)
    bash(f"set -e\n{data[name]['make']}", folder, environment(), MAKING)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def prepare(program: Program, folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    script, place = folder.with_suffix(".script"), environment()
    script.write_text(program.get("script", "").lstrip("\n"), encoding="utf-8")
    log = folder.with_suffix(".darshan")
    log.unlink(missing_ok=True)
    place |= {"S": str(script), "LOG": str(log)}
    if "setup" in program:
        bash(program["setup"], folder, place, LIMIT)
    return place


def finish(program: Program, folder: Path, place: dict[str, str]) -> None:
    if "after" in program:
        bash(program["after"], folder, place, LIMIT)
    shutil.rmtree(folder, ignore_errors=True)


def disk_of(path: Path) -> str:
    """MAJOR:MINOR of the whole disk, as control groups name it; "" without one."""
    number = path.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if (device / "partition").exists():
        device = device.resolve().parent
    return (device / "dev").read_text().strip() if device.exists() else ""


@cache
def bounded() -> Path | None:
    """Processes whose numbers are written to this file have the disk of the truth, if this one is faster."""
    disk = disk_of(PLACE)
    first, second = Path("/sys/fs/cgroup/blkio/iolens-truth"), Path("/sys/fs/cgroup/iolens-truth")
    try:
        if first.parent.is_dir():
            first.mkdir(exist_ok=True)
            for unit, most in DISK.items():
                (first / f"blkio.throttle.read_{unit}_device").write_text(f"{disk} {most}")
            return first / "cgroup.procs"
        second.mkdir(exist_ok=True)
        (second / "io.max").write_text(f"{disk} rbps={DISK['bps']} riops={DISK['iops']}")
    except OSError:
        return None
    return second / "cgroup.procs"


def observe(program: Program, runs: Path, asked: argparse.Namespace) -> judge.Said:
    """Of a cold program the page cache is emptied before, and the disk is the one that the truth supposes."""
    folder = runs / program["id"]
    place = prepare(program, folder)
    command = observed(program["run"], program.get("options", "--quiet"))
    if program.get("cold"):
        os.sync()
        DROP.write_text("3")
        command = f"echo $$ > {bounded()}; {command}" if bounded() else command
    try:
        bash(command, folder, place, LIMIT)
    finally:
        finish(program, folder, place)
    log = Path(place["LOG"])
    if not log.exists():
        return judge.Said("no log: the program was not observed", "unknown", 0.0, 0.0, [])
    said = judge.ask(str(IOLENS), log)
    if asked.drishti:
        triggers = ask_drishti(asked.drishti, log)
        said.drishti = None if triggers.failed else list(triggers.critical)
    if asked.logs:
        asked.logs.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, asked.logs / f"{program['id']}.darshan")
    return said


def row_of(program: Program, data: dict[str, Program], runs: Path, asked: argparse.Namespace) -> judge.Row:
    row = judge.new_row(program)
    lacks = missing(program)
    if row.cold and not os.access(DROP, os.W_OK):
        lacks.append("right to empty the page cache")
    if lacks:
        row.reason = f"no {', '.join(lacks)}"
        return row
    try:
        for name in program.get("data", []):
            make(name, data)
        row = judge.judged(program, replace(row, said=observe(program, runs, asked)))
        if row.result in ("not known", "wrong", "cause wrong") and not row.cold:
            # The first run may have met a cold cache: the second one counts.
            row = judge.judged(program, replace(row, said=observe(program, runs, asked), again=True))
    except (FailedError, KeyError, ValueError) as error:
        row.result, row.reason = "failed", " ".join(str(error).split())
    row.load = round(os.getloadavg()[0], 1)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="put the table into this page")
    parser.add_argument("--json", type=Path, help="write what was said and expected; rows of others stay")
    parser.add_argument("--rest", action="store_true", help="only programs that have no result in the JSON")
    parser.add_argument("--logs", type=Path, help="keep the logs in this folder")
    parser.add_argument(
        "--drishti", type=command, help="the command of an installed Drishti: ask it about the same logs"
    )
    parser.add_argument("--again", action="store_true", help="run nothing: judge again what is in the JSON")
    parser.add_argument("--packages", choices=("debian", "pypi"), help="only print what the programs need")
    parser.add_argument("words", nargs="*", help="only programs whose id, family or verdict is one of these")
    asked = parser.parse_args()
    listed = table()
    if asked.packages:
        every = [*listed["program"], *listed["line"], *listed["data"].values()]
        print(*sorted({name for one in every for name in one.get(asked.packages, [])}))
        return 0
    known = judge.read(asked.json) if asked.json and asked.json.exists() else {}
    rows = {
        p["id"]: judge.judged(p, known.get(p["id"], judge.new_row(p, "not run"))) for p in listed["program"]
    }
    chosen = [p for p in listed["program"] if is_chosen(p, rows[p["id"]], asked)]
    if not chosen and asked.words:
        parser.error("no program has one of these words")
    runs = PLACE / f"runs.{os.getpid()}"
    for program in [] if asked.again else chosen:
        row = rows[program["id"]] = row_of(program, listed["data"], runs, asked)
        print(judge.cells(row), row.reason, flush=True)
        if asked.json:
            judge.write(asked.json, rows.values())
    shutil.rmtree(runs, ignore_errors=True)
    print(judge.totals([*rows.values()]))
    if asked.page:
        judge.put(asked.page, [*rows.values()])
    return 0


def is_chosen(program: Program, row: judge.Row, asked: argparse.Namespace) -> bool:
    words = set(asked.words)
    named = not words or bool(words & {program["id"], program["family"], program["verdict"]})
    return named and not (asked.rest and row.result in judge.RESULTS)


if __name__ == "__main__":
    sys.exit(main())
