"""Commands that are written in Python, on damaged logs: each in a child of a process that has imported everything."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import sys
import traceback
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import places
from iolens.cli import command as commands

MEMORY = 768 << 20
SECONDS = 120

# LOG is the damaged log, GOOD a sound one.
COMMANDS = (
    "report --text LOG",
    "report --json LOG",
    "report -o out.html LOG GOOD",
    "report --csv tables LOG",
    "findings -v LOG",
    "findings --json LOG GOOD",
    "compare GOOD LOG",
    "compare --json --all LOG GOOD",
    "export --to tables LOG",
    "export --to tables --format csv LOG",
    "export --to tables --format json LOG",
    "export --to tables --format perfetto LOG",
    "export --to tables --format openmetrics LOG",
    "sql LOG 'SELECT * FROM file'",
)
# PyDarshan's interface hands out numpy's arrays.
if find_spec("numpy"):
    COMMANDS += ("pydarshan LOG",)
USAGE = "no trace, timeline or heat map"


def pydarshan() -> None:
    """Reads all that a report of PyDarshan's interface has."""
    from iolens.error import IolensError
    from iolens.pydarshan import DarshanReport

    try:
        report = DarshanReport("LOG", read_all=True)
        for module in report.records:
            list(report.records[module])
    except IolensError as error:
        commands.fail(str(error), error.exit_code)


class AnalysisReader:
    """Runs one command per log and says what is wrong with how it went."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "analysis"
        self.codes: Counter[str] = Counter()
        self.largest = 0
        self.good = str(places.CORPUS / "logs" / "sample-dxt-simple.darshan")
        if not Path(self.good).exists():
            self.good = "LOG"
        for name in commands.command_names():
            import_module(f"iolens.cli.{name}")
        for name in ("metrics", "rules", "report.html", "report.text", "report.plain", "export", "pydarshan"):
            import_module(f"iolens.{name}")

    def child(self, arguments: list[str]) -> None:
        os.chdir(self.folder)
        for number, name in ((1, "output"), (2, "errors")):
            os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600), number)
        signal.alarm(SECONDS)
        code = 99
        try:
            sys.argv = ["iolens", *arguments]
            pydarshan() if arguments[0] == "pydarshan" else commands.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def wrong(self, n: int, log: bytes) -> str:
        command = COMMANDS[n % len(COMMANDS)]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "LOG").write_bytes(log)
        pid = os.fork()
        if not pid:
            self.child([self.good if word == "GOOD" else word for word in shlex.split(command)])
        _, status, used = os.wait4(pid, 0)
        code, memory = os.waitstatus_to_exitcode(status), used.ru_maxrss << 10
        self.largest = max(self.largest, memory)
        self.codes[f"{command.split()[0]} {code}"] += 1
        errors = (self.folder / "errors").read_text(errors="replace")
        found = (
            f"{memory >> 20} MiB" if memory > MEMORY else self.complaint(code, errors, "--json" in command)
        )
        return f"{command}: {found}: {errors[-600:]}" if found else ""

    def complaint(self, code: int, errors: str, is_json: bool) -> str:
        if code not in (0, 3, 4) and not (code == 2 and USAGE in errors):
            return f"exit code {code}"
        if any(not line.startswith("iolens: ") for line in errors.splitlines()):
            return "not a message"
        if (code != 0) != bool(errors) or (code == 3 and errors.count("\n") != 1):
            return f"exit code {code} with {errors.count(chr(10))} lines"
        if is_json and code != 3:
            json.loads((self.folder / "output").read_text(), parse_constant=float_of_no_number)
        return ""


def float_of_no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")
