"""Commands on logs that were cut, flipped and overwritten: an exit code, a line per complaint, no half-made log."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from logmaker import POSIX, LogMaker, posix
from synthetic import VERSIONS, Kind, Maker

Run = Callable[..., "subprocess.CompletedProcess[str]"]

COMMANDS = [
    ["show", "--json", "--all", "--file-list-detailed", "bad"],
    ["show", "--csv", "--show-incomplete", "bad"],
    ["diff", "--json", "bad", "good"],
    ["diff", "good", "bad"],
    ["merge", "-o", "new", "good", "bad"],
    ["merge", "--keep-ranks", "--shared-redux", "-o", "new", "bad", "same"],
    ["convert", "--bzip2", "--rank", "0-3", "bad", "new"],
    ["convert", "--anonymize", "bad", "new"],
]


def damaged(whole: bytes, noise: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(noise.choice([1, 1, 3, 10])):
        at = noise.randrange(len(data))
        kind = noise.randrange(4)
        if kind == 0:
            data[at] ^= 1 << noise.randrange(8)
        elif kind == 1:
            data[at : at + 8] = noise.choice([b"\xff" * 8, bytes(8), (1 << 62).to_bytes(8, "little")])
        elif kind == 2:
            data[noise.randrange(1400)] = noise.randrange(256)
        else:
            del data[max(at, 400) :]
    return bytes(data)


@pytest.mark.parametrize("seed", range(24))
def test_damage_is_told_and_nothing_else_happens(
    seed: int, run_iolens: Run, tmp_path: Path, oracle: ModuleType
) -> None:
    noise = random.Random(seed)
    versions = {name: found[seed % len(found)] for name, found in VERSIONS.items()}
    # Uncompressed, so that the damage is in the records.
    whole = Maker(Kind(41, noise.choice("<>"), 2), seed, oracle.jenkins64).log(versions)
    (tmp_path / "good").write_bytes(whole)
    (tmp_path / "bad").write_bytes(damaged(whole, noise))
    (tmp_path / "same").write_bytes((tmp_path / "bad").read_bytes())
    for command in COMMANDS:
        done = run_iolens(command, cwd=tmp_path)
        assert done.returncode in (0, 1, 3, 4), (command, done.stderr)
        assert all(line.startswith("iolens: ") for line in done.stderr.splitlines()), done.stderr
        assert done.returncode < 3 or done.stderr
        if "--json" in command and done.returncode != 3:
            json.loads(done.stdout)
        new = tmp_path / "new"
        assert new.exists() == (command[0] in ("merge", "convert") and done.returncode in (0, 4))
        assert not list(tmp_path.glob("*_partial"))
        if new.exists():
            assert run_iolens(["check", new]).returncode in (0, 1), command
            new.unlink()


class CutNames(LogMaker):
    """The last name has no end."""

    def name_region(self) -> bytes:
        return super().name_region()[:-1]


def test_names_before_the_damage_are_shown_and_the_damage_is_told(run_iolens: Run, tmp_path: Path) -> None:
    made = CutNames(names={5: b"/scratch/five", 9: b"/scratch/nine"})
    made.regions = {POSIX: (4, posix(5, opens=1) + posix(9, opens=1))}
    (tmp_path / "bad").write_bytes(bytes(made))
    for command in ("show", "files", "check"):
        done = run_iolens([command, "bad"], cwd=tmp_path)
        assert done.returncode == 4, command
        assert "name table is damaged" in done.stdout + done.stderr, command
        assert "/scratch/nine" not in done.stdout
    assert "/scratch/five" in run_iolens(["show", "bad"], cwd=tmp_path).stdout
