"""How many messages, and of how many bytes, iolens sends in MPI_Finalize: counted by Open MPI itself.

Its `monitoring` component counts what each rank sends to each other one, the messages of collective operations
included. What the bare run sends is taken off.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from run import Bench

FIELDS = 5  # kind, from, to, "<n> bytes", "<n> msgs sent"


def read(directory: Path) -> tuple[Counter[int], Counter[int], int]:
    """Messages by receiver, bytes by receiver, and the messages of the rank that sends most."""
    messages: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    sent: Counter[int] = Counter()
    for path in directory.glob("*.prof"):
        for line in path.read_text().splitlines():
            words = line.split("\t")
            if words[0] not in ("I", "E") or len(words) < FIELDS:
                continue
            to, count = int(words[2]), int(words[4].split()[0])
            messages[to] += count
            sizes[to] += int(words[3].split()[0])
            sent[int(words[1])] += count
    return messages, sizes, max(sent.values(), default=0)


def count(bench: Bench, ranks: int, scene: str, timeout: float) -> dict[str, Any]:
    """What a job of so many ranks sends more than the bare one; the root is rank 0."""
    found = []
    directory = bench.directory / "messages"
    options = ["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3"]
    options += ["--mca", "pml_monitoring_filename", str(directory / "m")]
    for observed in (False, True):
        directory.mkdir()
        bench.job(ranks, scene, observed, timeout, *options)
        found.append(read(directory))
        shutil.rmtree(directory)
    (less, less_bytes, less_sent), (more, more_bytes, more_sent) = found
    return {
        "messages": more.total() - less.total(),
        "bytes": more_bytes.total() - less_bytes.total(),
        "root_messages": more[0] - less[0],
        "root_bytes": more_bytes[0] - less_bytes[0],
        "sent_by_one": more_sent - less_sent,
    }
