"""What Drishti says of a log, by its codes of triggers."""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# How severe drishti-io 0.8 takes its triggers to be; the others are "info" and "ok".
CRITICAL = frozenset("S01 P05 P06 P07 P08 P11 P13 P15 P16 P17 P18 P19 P21 P22 M02 M03 M09".split())
WARNING = frozenset("M01 P09 P10 M06 M07".split())


@dataclass(frozen=True)
class Triggers:
    """codes: critical ones and warnings, in order."""

    codes: tuple[str, ...]
    failed: bool = False

    @property
    def critical(self) -> tuple[str, ...]:
        return tuple(code for code in self.codes if code in CRITICAL)


def command(text: str) -> str:
    """Of an option: the program's path, wherever it is started from."""
    found = shutil.which(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text}: not found")
    return str(Path(found).absolute())


def ask_drishti(command: str, log: Path) -> Triggers:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [command, "--csv", "--export_dir", folder, log],
            check=False,
            capture_output=True,
            cwd=folder,
            timeout=300,
        )
        written = sorted(Path(folder).glob("*.csv"))
        if done.returncode or not written:
            return Triggers((), failed=True)
        names, values = list(csv.reader(written[0].open()))[:2]
    here = {name for name, value in zip(names, values) if value == "True"}
    return Triggers(tuple(sorted(here & (CRITICAL | WARNING))))
