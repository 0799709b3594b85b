#!/usr/bin/env python3
"""Damaged logs by the thousand: each is read by one command, and must be shown or refused in one line that says where.

usage: tests/fuzz/mutate.py [--seed N] [--first N] [--count N] [--python | --analysis] [--keep DIRECTORY]

The n-th log of a seed is always the same: a sound one (made here, or of the corpus), damaged once to four times by
flipped bits, cuts, pieces of other logs, absurd numbers, the same inside compressed regions, or regions that unpack to
half a gigabyte. A command may not crash, hang, or take more than MEMORY; what it cannot read it says in one line with
the place. With --python the logs are read by the Python package instead, with --analysis by the commands that are
written in Python (analysis.py). Logs that break something are kept.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import places
import synthetic

MEMORY = 256 << 20
SECONDS = 60
LARGEST = 100_000  # bytes of a log that is damaged: larger ones take the time of many small ones

# Command and the exit codes that it may give. LOG is the damaged log, GOOD a sound one, NEW what the command makes.
COMMANDS: list[tuple[str, tuple[int, ...]]] = [
    ("show --all LOG", (0, 3, 4)),
    ("show --file-list-detailed LOG", (0, 3, 4)),
    ("show --json --all LOG", (0, 3, 4)),
    ("show --csv LOG", (0, 3, 4)),
    ("info --json LOG", (0, 3, 4)),
    ("trace LOG", (0, 3, 4)),
    ("files LOG", (0, 3, 4)),
    ("files --json LOG", (0, 3, 4)),
    ("check LOG", (0, 1, 3, 4)),
    ("diff LOG GOOD", (0, 1, 3, 4)),
    ("diff --json GOOD LOG", (0, 1, 3, 4)),
    ("merge -o NEW LOG GOOD", (0, 3, 4)),
    ("merge --keep-ranks -o NEW LOG", (0, 3, 4)),
    ("convert LOG NEW", (0, 3, 4)),
    ("convert --anonymize LOG NEW", (0, 3, 4)),
    ("convert --bzip2 LOG NEW", (0, 3, 4)),
]
ABSURD = [0, 1, -1, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63), 1 << 40, 0x7FF8000000000000]

Damage = Callable[[random.Random, bytearray, list[bytes]], None]


# ---- sound logs ----


def made() -> list[bytes]:
    """Every container, byte order and compression, with every module in every version."""
    logs = []
    for seed in range(60):
        pick = random.Random(seed)
        kind = synthetic.Kind(pick.choice([0, 10, 20, 21, 41]), pick.choice("<>"), pick.choice([0, 0, 1, 2]))
        versions = {name: pick.choice(known) for name, known in synthetic.VERSIONS.items()}
        some = dict(pick.sample(sorted(versions.items()), pick.randrange(1, 5)))
        logs.append(synthetic.Maker(kind, seed, zlib.crc32).log(some))
    logs += [synthetic.old_log(v, order[0], 1, zlib.crc32) for v, (order, *_) in synthetic.OLD.items()]
    return logs


def recorded(folder: Path) -> list[bytes]:
    """Logs of our own, with the tables that stand behind the format."""
    logs = []
    for script in ("echo >a", "cat /etc/hostname >b; cp b c; seq 1000 | sort >d", "(exit 3) & wait; kill $$"):
        log = folder / "own.darshan"
        log.unlink(missing_ok=True)
        command = [str(places.BIN), "run", "-q", "-o", str(log), "--", "sh", "-c", script]
        env = {**os.environ, "IOLENS_PRELOAD": str(places.PRELOAD)}
        subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, check=False)
        logs.append(log.read_bytes())
    return logs


def released() -> list[bytes]:
    return [p.read_bytes() for p in sorted(places.CORPUS.glob("logs/*")) if p.stat().st_size < LARGEST]


# ---- damage ----


def flip(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    for _ in range(pick.choice([1, 1, 2, 16])):
        at = pick.randrange(min(len(log), pick.choice([64, 1400, len(log)])))
        log[at] ^= 1 << pick.randrange(8)


def cut(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    del log[pick.randrange(len(log)) :]


def remove(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    at = pick.randrange(len(log))
    del log[at : at + pick.choice([1, 8, 100])]


def splice(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    other = pick.choice(others)
    at, start, n = pick.randrange(len(log)), pick.randrange(len(other)), pick.choice([8, 64, 1000, 20000])
    piece = other[start : start + n]
    log[at : at + (len(piece) if pick.random() < 0.7 else 0)] = piece


def number(pick: random.Random, log: bytearray) -> None:
    at = pick.randrange(min(len(log), pick.choice([1400, len(log)]))) & ~7
    value = pick.choice([*ABSURD, len(log), len(log) + 1, pick.getrandbits(20)])
    form = pick.choice(["<q", ">q", "<i", ">i"])
    value &= (1 << 8 * struct.calcsize(form)) - 1
    log[at : at + struct.calcsize(form)] = struct.pack(form.upper(), value)


def absurd(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    for _ in range(pick.choice([1, 1, 3])):
        number(pick, log)


@cache
def bomb(megabytes: int, fill: bytes) -> bytes:
    compressor = zlib.compressobj(9)
    return b"".join([*(compressor.compress(fill * (1 << 20)) for _ in range(megabytes)), compressor.flush()])


def streams(log: bytes) -> list[int]:
    """Where something compressed seems to begin."""
    found, at = [], log.find(b"\x78")
    while at >= 0:
        if log[at + 1 : at + 2] in (b"\x01", b"\x5e", b"\x9c", b"\xda"):
            found.append(at)
        at = log.find(b"\x78", at + 1)
    return found


def unpacked(log: bytearray, at: int) -> tuple[bytearray, int]:
    """What begins there, and the bytes that it takes; nothing where nothing does."""
    unpack = zlib.decompressobj()
    try:
        raw = bytearray(unpack.decompress(bytes(log[at:]), 1 << 20))
    except zlib.error:
        return bytearray(), 0
    return (raw, len(log) - at - len(unpack.unused_data)) if unpack.eof else (bytearray(), 0)


def inside(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    """Damages what is compressed, where no checksum tells."""
    at = pick.choice(streams(log) or [0])
    raw, n = unpacked(log, at)
    pick.choice([flip, absurd, splice, cut])(pick, raw or log, others)
    if raw:
        replace(pick, log, at, n, zlib.compress(raw))


def explode(pick: random.Random, log: bytearray, others: list[bytes]) -> None:
    where = streams(log)
    at = pick.choice(where) if where else pick.randrange(len(log))
    replace(
        pick,
        log,
        at,
        pick.choice([0, len(log) - at]),
        bomb(pick.choice([8, 64, 512]), pick.choice([b"\0", b"a", b"\1"])),
    )


def replace(pick: random.Random, log: bytearray, at: int, n: int, by: bytes) -> None:
    """A region's content; the header's table follows, as if the damage had been there when it was written."""
    log[at : at + n] = by
    for place in range(0, min(len(log), 1328) - 16, 8):
        for order in "<>":
            start, length = struct.unpack_from(f"{order}2Q", log, place)
            if start == at and length == n and n:
                struct.pack_into(f"{order}2Q", log, place, at, len(by))
            elif start > at and start < 1 << 40 and length < 1 << 40 and place >= 24:
                struct.pack_into(f"{order}Q", log, place, max(0, start + len(by) - n))


KINDS: list[tuple[Damage, int]] = [
    (flip, 8),
    (cut, 4),
    (remove, 3),
    (splice, 6),
    (absurd, 8),
    (inside, 12),
    (explode, 1),
]


def damaged(seed: int, n: int, logs: list[bytes]) -> bytes:
    pick = random.Random(f"{seed}:{n}")
    log = bytearray(pick.choice(logs))
    for _ in range(pick.choice([1, 1, 1, 2, 4])):
        if log:
            pick.choices(*zip(*KINDS, strict=True))[0](pick, log, logs)
    return bytes(log)


# ---- reading ----


class Reader:
    """Runs one command per log and says what is wrong with how it went."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.child = folder, 0
        (folder / "good").write_bytes(made()[0])
        self.codes: Counter[str] = Counter()
        self.memory = self.largest = 0
        signal.signal(signal.SIGALRM, lambda *_: os.kill(self.child, signal.SIGKILL))

    def spawn(self, command: list[str]) -> tuple[int, str]:
        errors = self.folder / "errors"
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(errors), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ]
        self.child = os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions)
        signal.alarm(SECONDS)
        _, status, used = os.wait4(self.child, 0)
        signal.alarm(0)
        self.memory = used.ru_maxrss << 10
        self.largest = max(self.largest, self.memory)
        return os.waitstatus_to_exitcode(status), errors.read_text(errors="replace")

    def wrong(self, n: int, log: bytes) -> str:
        text, allowed = COMMANDS[n % len(COMMANDS)]
        names = {"LOG": self.folder / "log", "GOOD": self.folder / "good", "NEW": self.folder / "new"}
        names["LOG"].write_bytes(log)
        names["NEW"].unlink(missing_ok=True)
        code, errors = self.spawn([str(places.BIN), *(str(names.get(word, word)) for word in text.split())])
        self.codes[f"{text.split()[0]} {code}"] += 1
        if code not in allowed:
            return f"{text}: exit code {code}: {errors[-300:]}"
        if self.memory > MEMORY:
            return f"{text}: {self.memory >> 20} MiB"
        if any(not line.startswith("iolens: ") for line in errors.splitlines()):
            return f"{text}: {errors}"
        if names["NEW"].exists():
            checked, said = self.spawn([str(places.BIN), "check", str(names["NEW"])])
            if checked not in (0, 1):
                return f"{text}: check of what it made: {checked}: {said}"
        return f"{text}: {errors}" if code == 3 and not refused_well(errors, len(log)) else ""


def refused_well(text: str, size: int) -> bool:
    """One line, with the byte; an empty file has none."""
    return text.count("\n") == 1 and text.startswith("iolens: ") and (" at byte " in text or size == 0)


PYTHON = """
import sys, iolens
for line in sys.stdin:
    try:
        with iolens.open(line.rstrip()) as log:
            log.job, log.mounts, dict(log.names), dict(log.trailer)
            for key, module in log.modules.items():
                if module.decoded:
                    for batch in log.table(key, names=True, mounts=True).batches():
                        pass
        print("0", flush=True)
    except iolens.IolensError as error:
        print("3" if error.exit_code == 3 and error.problem else repr(error), flush=True)
"""


class PythonReader:
    """The same for the Python package, in one process until it dies."""

    def __init__(self, folder: Path) -> None:
        self.path, self.process = folder / "log", None
        self.codes: Counter[str] = Counter()
        self.largest = 0

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-X", "faulthandler", "-c", PYTHON]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wrong(self, n: int, log: bytes) -> str:
        self.process = self.process or self.start()
        assert self.process.stdin and self.process.stdout
        self.path.write_bytes(log)
        print(self.path, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().strip()
        self.codes[f"python {answer or 'died'}"] += 1
        if answer in ("0", "3"):
            return ""
        self.process = None
        return answer or "the interpreter died"


def reader_of(given: argparse.Namespace, folder: Path) -> Any:
    if given.analysis:
        from analysis import AnalysisReader

        return AnalysisReader(folder)
    return PythonReader(folder) if given.python else Reader(folder)


def main() -> int:
    arguments = argparse.ArgumentParser(description="damaged logs by the thousand")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--count", type=int, default=2000)
    arguments.add_argument("--python", action="store_true", help="read by the Python package")
    arguments.add_argument(
        "--analysis", action="store_true", help="read by report, compare, findings, export"
    )
    arguments.add_argument(
        "--keep", type=Path, default=Path("broken-logs"), help="where logs that break it go"
    )
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mutate-"))
    bad = 0
    try:
        logs = [*made(), *released(), *recorded(folder)]
        reader = reader_of(given, folder)
        for n in range(given.first, given.first + given.count):
            log = damaged(given.seed, n, logs)
            wrong = reader.wrong(n, log)
            if wrong:
                bad += 1
                given.keep.mkdir(exist_ok=True)
                (given.keep / f"{given.seed}-{n}").write_bytes(log)
                print(f"{given.seed}-{n}: {wrong}", flush=True)
    finally:
        shutil.rmtree(folder)
    print(f"{given.count} logs from {len(logs)}: {bad} broke something; {reader.largest >> 20} MiB at most")
    print(", ".join(f"{code}: {n}" for code, n in sorted(reader.codes.items())))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
