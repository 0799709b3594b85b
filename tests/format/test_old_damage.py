"""A log of Darshan 1.x or 2.x that was cut: no command takes it for a sound one, none writes an empty log of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SHARES = (60, 90, 99)
COMMANDS = (
    ["check", "{cut}"],
    ["info", "{cut}"],
    ["files", "{cut}"],
    ["show", "{cut}"],
    ["diff", "{cut}", "{whole}"],
    ["convert", "{cut}", "new"],
    ["merge", "-o", "new", "{cut}", "{whole}"],
    ["findings", "{cut}"],
    ["report", "--text", "{cut}"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_cut_log_is_not_sound(run_iolens: Run, corpus: Path, tmp_path: Path, command: list[str]) -> None:
    logs = sorted((corpus / "logs").glob("v2-*.gz"))
    assert len(logs) >= 9
    # Python takes its time to start.
    chosen = logs[::4] if command[0] in ("findings", "report") else logs
    for log in chosen:
        for share in SHARES if chosen is logs else (90,):
            whole = log.read_bytes()
            cut = tmp_path / f"{log.name}.{share}"
            cut.write_bytes(whole[: len(whole) * share // 100])
            done = run_iolens([word.format(cut=cut, whole=log) for word in command], cwd=tmp_path)
            assert done.returncode in (3, 4), (cut.name, done.returncode, done.stdout)
            said = done.stderr + (done.stdout if command[0] == "check" else "")
            assert cut.name in said and "Traceback" not in said and ": sound:" not in done.stdout
            assert not (tmp_path / "new").exists()
