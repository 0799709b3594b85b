"""Commands that are written in Python, in this process: to start one takes half a second of processor time.

For tests of what a command prints. That `iolens` starts them is in tests/fleet/test_lake.py, tests/upgrade,
tests/schemas and tests/cli/test_guide_commands.py.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from iolens.cli import command

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def run_here(*words: object, given: str = "") -> subprocess.CompletedProcess[str]:
    """What `iolens WORDS` prints, and its exit code."""
    arguments = [str(word) for word in words]
    out, err = io.BytesIO(), io.BytesIO()
    streams = {
        "stdin": io.TextIOWrapper(io.BufferedReader(io.BytesIO(given.encode())), "utf-8"),  # type: ignore[arg-type]
        "stdout": io.TextIOWrapper(out, "utf-8", "surrogateescape", write_through=True),
        "stderr": io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True),
    }
    mask = os.umask(0o022)
    os.umask(mask)
    try:
        # Some commands end their process at once.
        with patch.multiple(sys, argv=["-c", *arguments], **streams), patch.object(os, "_exit", sys.exit):
            command.main()
    except SystemExit as end:
        code = end.code
        if code == 130:  # the test was interrupted, not the command
            raise KeyboardInterrupt from None
    finally:
        os.umask(mask)
    assert isinstance(code, int), code
    said = [stream.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *said)


def in_this_process(run_iolens: Run) -> Run:
    """The same, for commands that are not native, where no environment, folder or stream is asked for."""

    def run(args: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
        native = args[0] not in command.command_names() or any(str(word).startswith("lake:") for word in args)
        return run_iolens(args, **options) if native or options else run_here(*args)

    return run


def verdict(run_iolens: Run, log: Path) -> dict[str, Any]:
    """What `iolens info` says of a log, by its two forms."""
    found: dict[str, Any] = json.loads(run_iolens(["info", "--json", log]).stdout)["verdict"]
    text = run_iolens(["info", log]).stdout
    assert f"verdict     {found['text']}\n" in text
    return found


def level_of_report(run_iolens: Run, log: Path) -> str:
    """The level of the verdict in the report."""
    done = run_iolens(["report", "--json", log])
    (job,) = json.loads(done.stdout)["jobs"]
    return str(job["verdict"])


def sampled(name: str, every: int) -> bool:
    """One name of so many, the same ones whatever names there are besides."""
    return zlib.crc32(name.encode()) % every == 0
