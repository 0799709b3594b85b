"""What the kernel hides: Yama, /proc with hidepid, and jobs of other users, each with the words for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from looked_at import Place, until

ROOT = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("gosu"), reason="needs root and gosu")
SLEEPER = """
import os, sys, time
open(sys.argv[1] + "/own", "wb").write(b"x" * 10)
open(sys.argv[1] + "/ready.0", "w").close()
file = os.open(sys.argv[1] + "/fifo", os.O_RDONLY)
"""


@pytest.fixture(scope="session")
def yama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's kernel has it, that of many containers not: a stand-in for what is read of it."""
    library = tmp_path_factory.mktemp("yama") / "yama.so"
    source = Path(__file__).resolve().parent / "programs" / "yama.c"
    subprocess.run(
        ["cc", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    return library


@pytest.fixture
def waiting(place: Place) -> Iterator[Place]:
    """A job that waits in an open of a named pipe."""
    os.mkfifo(place.work / "fifo")
    place.run(sys.executable, "-S", "-c", SLEEPER, place.work)
    place.ready()
    yield place
    with (place.work / "fifo").open("w"):
        pass


def _as_nobody(place: Place) -> None:
    """All of it is nobody's, and can be reached."""
    for folder in (place.work, *list(place.work.parents)[:-1]):
        if not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    place.stores.chmod(0o1777)
    place.work.chmod(0o777)


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        (1, "this root has no CAP_SYS_PTRACE: run as root outside of the container to see it"),
        (2, "this root has no CAP_SYS_PTRACE: run as root outside of the container to see it"),
        (
            3,
            "kernel.yama.ptrace_scope is 3: no user can see it until the node restarts with a lower value",
        ),
    ],
)
@ROOT
def test_a_kernel_that_does_not_tell_root(scope: int, words: str, waiting: Place, yama: Path) -> None:
    shown = waiting.call("watch", "--once", waiting.session(), LD_PRELOAD=str(yama), STANDIN_SCOPE=str(scope))
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.splitlines()[-1] == f"the kernel hides the call of 1 thread: {words}"
    told = waiting.call(
        "watch", "--once", "--json", waiting.session(), LD_PRELOAD=str(yama), STANDIN_SCOPE=str(scope)
    )
    (job,) = json.loads(told.stdout)["jobs"]
    assert (job["threads"], job["not_told"], job["waits"]) == (1, 1, [])


@pytest.mark.parametrize("scope", [1, 2])
@ROOT
def test_a_kernel_that_tells_root_alone(scope: int, place: Place, yama: Path) -> None:
    _as_nobody(place)
    os.mkfifo(place.work / "fifo")
    as_nobody = ["gosu", "nobody"]
    run = [place.iolens, "run", "-q", "-o", place.work / "log.darshan", "--"]
    place.start([*as_nobody, *run, "python3", "-S", "-c", SLEEPER, place.work])
    place.ready()
    yama.chmod(0o755)
    for folder in list(yama.parents)[:-1]:
        folder.chmod(folder.stat().st_mode | 0o11)
    command = [*as_nobody, place.iolens, "watch", "--once", place.session()]
    environment = {**place.env, "LD_PRELOAD": str(yama), "STANDIN_SCOPE": str(scope)}
    done = subprocess.run(
        [str(word) for word in command], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    words = "the kernel hides the call of 1 thread: kernel.yama.ptrace_scope is not 0: run as root to see it"
    assert done.stdout.splitlines()[-1] == words
    with (place.work / "fifo").open("w"):
        pass


@ROOT
def test_ones_own_jobs_where_proc_hides_others(place: Place) -> None:
    _as_nobody(place)
    os.mkfifo(place.work / "fifo")
    run = f"{place.iolens} run -q -o {place.work}/log.darshan -- python3 -S -c '{SLEEPER}' {place.work}"
    place.start(["gosu", "nobody", "sh", "-c", run])
    place.ready()
    hidden = 'mount -t proc -o hidepid=invisible proc /proc && exec gosu nobody "$@"'
    for words in (("top", "--once"), ("watch", "--once"), ("report", "--live", "-o", place.work / "r.html")):
        command = ["unshare", "-m", "sh", "-c", hidden, "sh", place.iolens, *words, place.session()]
        done = subprocess.run(
            [str(word) for word in command], env=place.env, capture_output=True, text=True, check=False
        )
        if "mount" in done.stderr:
            pytest.skip(f"no /proc of one's own here: {done.stderr.strip()}")
        assert (done.returncode, done.stderr) == (0, ""), words
        if words[0] == "top":
            assert "1 running" in done.stdout and f"{place.work}/own" in done.stdout
        if words[0] == "watch":
            assert "of 1 process" in done.stdout
    with (place.work / "fifo").open("w"):
        pass


@pytest.mark.parametrize("words", [("top", "--once"), ("watch", "--once"), ("report", "--live")])
@ROOT
def test_jobs_of_others_are_refused_plainly(words: tuple[str, ...], waiting: Place) -> None:
    """One line that says so, and code 3; nothing of the job. The report of a running job is that of its `recover`."""
    session = waiting.session()
    for folder in list(session.parents)[:-1]:
        if not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    command = ["gosu", "nobody", waiting.iolens, *words, session]
    done = subprocess.run(
        [str(word) for word in command], env=waiting.env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1 and "no observed program of yours on this node" in done.stderr, (
        done.stderr
    )
    assert done.stderr.endswith(": iolens top lists yours, as root all users' jobs\n")


@ROOT
def test_lists_leave_others_jobs_out(waiting: Place) -> None:
    until(lambda: waiting.look()["jobs"], "the job")
    waiting.stores.chmod(0o1777)
    command = ["gosu", "nobody", waiting.iolens, "top", "--json"]
    for folder in list(waiting.stores.parents)[:-1]:
        if not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o11)
    done = subprocess.run(
        [str(word) for word in command], env=waiting.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and json.loads(done.stdout)["jobs"] == []
