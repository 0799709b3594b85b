"""What `iolens top` and `iolens watch` show in a real terminal, captured into the pages of the guide.

A page has `<!-- captured: NAME -->` before the block that is replaced. As root, with tmux and FUSE:
terminalpages.py TOP.md WATCH.md
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "live"), str(ROOT / "tests" / "lustre")]

from looked_at import Place  # noqa: E402
from standin import build, stand_in  # noqa: E402
from terminal import Terminal  # noqa: E402

IOLENS = ROOT / "build" / "cli" / "iolens"
STEADY = ROOT / "tests" / "live" / "programs" / "steady.c"
RANKS = 4
# Goes on writing over one file, as a checkpoint does; the server of its file system stops meanwhile.
WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
open(sys.argv[2] + "/ready.0", "w").close()
while not os.path.exists(sys.argv[2] + "/leave"):
    os.pwrite(file, b"x" * 4096, 0)
"""


@contextmanager
def place_and_terminal(scratch: Path) -> Iterator[tuple[Place, Terminal]]:
    place = Place(IOLENS, scratch / "run7", scratch / "stores")
    place.work.mkdir()
    place.stores.mkdir()
    terminal = Terminal(scratch / "tmux")
    try:
        yield place, terminal
    finally:
        terminal.tmux("kill-server")
        for process in place.started:
            process.send_signal(signal.SIGTERM)
        place.end()


def screen_of_top(scratch: Path) -> dict[str, list[str]]:
    """The list of jobs, and one job."""
    with place_and_terminal(scratch) as (place, terminal):
        program = scratch / "checkpoint"
        subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-DALONE", STEADY, "-o", program], check=True)
        for rank in range(RANKS):
            (place.work / f"{rank}").mkdir()
        started = "".join(f"{program} {place.work}/{rank} 10 endless &\n" for rank in range(RANKS))
        (scratch / "job.sh").write_text(f"{started}wait\n")
        place.run("sh", scratch / "job.sh")
        terminal.start(place, IOLENS, "top", width=118, height=22)
        jobs = terminal.shows(r"^\S+ +\S+ +[45] .* [3-9]\.\d+ s .*job\.sh")
        terminal.type("Enter")
        terminal.shows(r"own\.0")
        job = terminal.shows(r"▇")
        return {"top-jobs": jobs, "top-job": job}


def screen_of_watch(scratch: Path) -> dict[str, list[str]]:
    """A file system whose server has stopped."""
    server = scratch / "server"
    server.mkdir()
    with place_and_terminal(scratch) as (place, terminal), stand_in(build(scratch), server) as mounted:
        (scratch / "checkpoint.py").write_text(WRITER)
        place.run("python3", scratch / "checkpoint.py", mounted.mount / "state", place.work)
        place.ready()
        assert mounted.server is not None
        mounted.server.send_signal(signal.SIGSTOP)
        name = place.session().name.removeprefix("iolens-")
        terminal.start(place, IOLENS, "watch", "--stall", "5", name, width=140, height=12)
        shown = terminal.shows(r"waits, among 1 thread")
        mounted.server.send_signal(signal.SIGCONT)
        return {"watch": shown}


def put(page: Path, name: str, lines: list[str]) -> None:
    """Into the block behind the mark."""
    shown = "\n".join(line.rstrip().replace(f"{IOLENS}", "iolens") for line in lines).rstrip()
    mark = rf"(<!-- captured: {name} -->\n```\n).*?(\n```)"
    text, count = re.subn(mark, lambda found: found[1] + shown + found[2], page.read_text(), flags=re.DOTALL)
    assert count == 1, f"{page}: no place for {name}"
    page.write_text(text)


def main(top: Path, watch: Path) -> None:
    for page, capture in ((top, screen_of_top), (watch, screen_of_watch)):
        with tempfile.TemporaryDirectory(prefix="job-") as scratch:
            for name, lines in capture(Path(scratch)).items():
                put(page, name, lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
