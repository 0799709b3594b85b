"""Commands that run in place of the process of a Python command."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stop_reaches_the_command(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """The command sends it to its parent as soon as it runs: its start may not be over there."""
    mark = tmp_path / "pid"
    stop = f"echo $$ > {mark}; kill -{number.name[3:]} $PPID; exec sleep 60"
    text = "import sys; from iolens.program import run_in_place; sys.exit(run_in_place(['sh', '-c', sys.argv[1]]))"
    assert subprocess.run([sys.executable, "-c", text, stop], check=False, timeout=300).returncode == code
    assert not Path(f"/proc/{mark.read_text().strip()}").exists()


def test_its_exit_code_is_the_commands_and_an_interrupt_is_its_own() -> None:
    text = "import sys; from iolens.program import run_in_place; sys.exit(run_in_place(['sh', '-c', sys.argv[1]]))"
    for does, code in (("exit 3", 3), ("kill -9 $$", 137), ("kill -INT $PPID; exit 4", 4)):
        assert subprocess.run([sys.executable, "-c", text, does], check=False, timeout=300).returncode == code
