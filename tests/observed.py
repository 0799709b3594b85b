"""A command under `iolens run`, and what its log says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import shown
from interfaces import LIBC


@dataclass
class Observed:
    """The finished command, with its output as bytes, and its log."""

    done: subprocess.CompletedProcess[bytes]
    log: Path
    iolens: Path

    @cached_property
    def text(self) -> str:
        command = [self.iolens, "show", "--base", "--ext", self.log]
        text = {"encoding": "utf-8", "errors": "surrogateescape"}
        done = subprocess.run(command, check=False, capture_output=True, **text)
        assert done.returncode in (0, 4), done.stderr
        return done.stdout

    @cached_property
    def records(self) -> dict[tuple[str, str, int], shown.Row]:
        return shown.records(self.text)

    @cached_property
    def sections(self) -> dict[str, list[shown.Row]]:
        return shown.sections(self.text)

    def files(self, *interfaces: str) -> set[str]:
        """Names of the records of these interfaces, by default all."""
        return {name for (module, name, _) in self.records if module in (interfaces or LIBC)}

    def listed_files(self) -> set[str]:
        """Without standard streams that were only flushed, which most programs do at their end."""
        moved = ("READS", "WRITES", "SEEKS")
        return {
            name
            for name in self.files()
            if not name.startswith("<") or any(self.total("STDIO", counter, name) for counter in moved)
        }

    def total(self, interface: str, counter: str, name: str | None = None) -> int:
        """A counter over all ranks, of one file or all."""
        return sum(
            int(record[f"{interface}_{counter}"])
            for (module, file, _), record in self.records.items()
            if module == interface and name in (None, file)
        )

    def class_total(self, field: str, *classes: str) -> int:
        """A column of the table of what is counted by class only, over all processes."""
        rows = self.sections.get("excluded", [])
        return sum(int(row[field]) for row in rows if not classes or row["class"] in classes)


@dataclass
class Observe:
    """Runs commands under observation, each with a log of its own."""

    iolens: Path
    directory: Path
    count: int = 0

    def __call__(
        self, command: Sequence[str | Path], *, options: Sequence[str] = ("--quiet",), **settings: Any
    ) -> Observed:
        self.count += 1
        log = self.directory / f"observed-{self.count}.darshan"
        line = [self.iolens, "run", *options, "-o", log, "--", *command]
        if "env" in settings:
            settings["env"] = {**os.environ, **settings["env"]}
        settings = {"stdin": subprocess.DEVNULL, "timeout": 120, **settings}
        if "input" in settings:
            del settings["stdin"]
        streams = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in settings}
        done = subprocess.run([str(word) for word in line], check=False, **streams, **settings)
        return Observed(done, log, self.iolens)
