"""A mount that stands for Lustre, and the layouts it serves, made byte by byte."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

TYPE = "fuse.iolens-layouts"
MiB = 1 << 20
EOF = (1 << 64) - 1
INIT, MDT, OVERSTRIPED, RELEASED = 0x10, 0x100, 0x200, 0x80000000


def stripes(osts: Sequence[int], size: int = MiB, pool: str = "", pattern: int = 1, count: int = -1) -> bytes:
    """A plain layout: v1, or v3 in a pool."""
    count = len(osts) if count < 0 else count
    head = struct.pack("<IIQQIHH", 0x0BD30BD0 if pool else 0x0BD10BD0, pattern, 1, 2, size, count, 0)
    head += pool.encode().ljust(16, b"\0") if pool else b""
    return head + b"".join(struct.pack("<QQII", 7, 0, 0, ost) for ost in osts)


def foreign(value: bytes = b"elsewhere") -> bytes:
    return struct.pack("<IIII", 0x0BD70BD0, len(value), 0xDA05, 0) + value


def composite(*parts: tuple[int, int, int, int, bytes]) -> bytes:
    """(id, flags, first byte, end, layout) of each component."""
    at = 32 + 48 * len(parts)
    entries, bodies = b"", b""
    for number, flags, start, end, body in parts:
        entries += struct.pack("<IIQQIIIQI", number, flags, start, end, at + len(bodies), len(body), 0, 0, 0)
        bodies += body
    whole = at + len(bodies)
    return struct.pack("<IIIHHQQ", 0x0BD60BD0, whole, 1, 0, len(parts), 0, 0) + entries + bodies


@dataclass
class StandIn:
    mount: Path
    files: Path
    layouts: Path
    server: subprocess.Popen[bytes] | None = None

    @property
    def asked(self) -> list[str]:
        """The files of which the layout was asked for, in order."""
        list_of = self.layouts / ".asked"
        return list_of.read_text().split("\n")[:-1] if list_of.exists() else []

    def serve(self, **layouts: bytes) -> None:
        for name, layout in layouts.items():
            (self.layouts / name.replace("__", ".")).write_bytes(layout)


SOURCE = Path(__file__).parent / "programs" / "standin.c"


def build(place: Path) -> Path:
    if not shutil.which("cc") or not Path("/usr/include/fuse3/fuse.h").exists():
        pytest.skip("no libfuse3 (libfuse3-dev)")
    program = place / "standin"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "fuse3"], check=True, capture_output=True, text=True
    ).stdout.split()
    subprocess.run(
        ["cc", "-O1", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-o", program, SOURCE, *flags], check=True
    )
    return program


def mounted(mount: Path) -> bool:
    return any(line.split()[1] == str(mount) for line in Path("/proc/self/mounts").read_text().splitlines())


@contextmanager
def stand_in(program: Path, place: Path) -> Iterator[StandIn]:
    """Mounted while it lasts; skips where FUSE cannot be used."""
    found = StandIn(place / "lustre", place / "files", place / "layouts")
    for folder in (found.mount, found.files, found.layouts):
        folder.mkdir()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("FUSE cannot be used here: no access to /dev/fuse")
    options = f"subtype={TYPE.partition('.')[2]},fsname=mgs@tcp:/standin"
    command = [program, found.files, found.layouts, "-f", "-o", options, found.mount]
    served = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while not mounted(found.mount):
            if served.poll() is not None:
                assert served.stderr is not None
                pytest.skip(f"FUSE cannot be used here: {served.stderr.read().decode().strip()}")
            time.sleep(0.02)
        found.server = served
        yield found
    finally:
        served.send_signal(signal.SIGCONT)  # a test may have stopped it
        subprocess.run(["umount", "-l", found.mount], check=False, capture_output=True)
        served.terminate()
        served.wait(20)
