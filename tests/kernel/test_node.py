"""`iolens-kernel --node`: static programs of all users of a node, a log for each job."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import places
import pytest
import shown

USERS = (64001, 64002)
WRITER = """#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char block[512] = {0};
	int f = open("out-c", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (int i = 0; i < 50; i++) write(f, block, sizeof block);
	if (argc > 1) { puts("half"); fflush(stdout); getchar(); }
	for (int i = 0; i < 50; i++) write(f, block, sizeof block);
	return close(f);
}
"""
GO = """package main
import "os"
func main() {
	f, err := os.Create("out-go")
	if err != nil { panic(err) }
	for i := 0; i < 100; i++ { f.Write(make([]byte, 512)) }
	f.Close()
}
"""
RUST = """use std::io::Write;
fn main() {
    let mut f = std::fs::File::create("out-rust").unwrap();
    for _ in 0..100 { f.write_all(&[0u8; 512]).unwrap(); }
}
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: other users' programs are observed")


class Node:
    """The service, with its state and its logs."""

    def __init__(self, place: Path) -> None:
        self.place, self.logs, self.state = place, place / "logs", place / "state"
        self.logs.mkdir()
        self.logs.chmod(0o1777)
        self.process: subprocess.Popen[str] | None = None

    def start(self, **more: str) -> None:
        program = places.BUILD / "kernel/iolens-kernel"
        if not program.exists():
            pytest.skip("built without iolens-kernel")
        command = [program, "--node", "--state", self.state, "--users-from", str(USERS[0])]
        env = {**os.environ, "IOLENS_LOGPATH": str(self.logs), **more}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=env, text=True, **streams)
        assert self.process.stdout and self.process.stderr
        if self.process.stdout.readline() != "ready\n":
            pytest.skip(self.process.stderr.read().strip())

    def end(self, with_signal: int = signal.SIGTERM) -> str:
        assert self.process
        self.process.send_signal(with_signal)
        return self.process.communicate(timeout=300)[1]

    def await_logs(self, n: int) -> list[Path]:
        until = time.monotonic() + 120
        while len(found := sorted(self.logs.rglob("*.darshan"))) < n or list(self.state.iterdir()):
            assert self.process and self.process.poll() is None
            assert time.monotonic() < until, (found, list(self.state.rglob("*")), self.end())
            time.sleep(0.05)
        return found


@pytest.fixture
def node() -> Iterator[Node]:
    place = Path(tempfile.mkdtemp(prefix="iolens-node-", dir="/tmp"))
    place.chmod(0o755)
    found = Node(place)
    yield found
    if found.process and found.process.poll() is None:
        found.end()
    shutil.rmtree(place)


def built(node: Node, language: str) -> Path:
    sources = {"c": ("c.c", WRITER), "go": ("go.go", GO), "rust": ("rust.rs", RUST)}
    name, text = sources[language]
    source, program = node.place / name, node.place / language
    source.write_text(text)
    settings = {"CGO_ENABLED": "0", "GO111MODULE": "off"}
    command = {
        "c": ["gcc", "-static", "-w", "-o", program, source],
        "go": ["go", "build", "-o", program, source],
        "rust": ["rustc", "-C", "target-feature=+crt-static", "-o", program, source],
    }[language]
    if not shutil.which(str(command[0])):
        pytest.skip(f"no {command[0]}")
    subprocess.run(command, check=True, env={**os.environ, **settings}, capture_output=True)
    program.chmod(0o755)
    return program


def home(node: Node, user: int) -> Path:
    there = node.place / f"home-{user}"
    if not there.exists():
        there.mkdir(mode=0o700)
        os.chown(there, user, user)
    return there


def begin(node: Node, user: int, command: list[str | Path], **more: str) -> subprocess.Popen[bytes]:
    """As a shell with job control does it, so that each command is a group of its own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    line = [str(word) for word in command]
    who = {"user": user, "group": user, "extra_groups": []}
    return subprocess.Popen(
        line, cwd=home(node, user), env={**os.environ, **more}, start_new_session=True, **pipes, **who
    )


def written(iolens: Path, log: Path) -> dict[str, tuple[int, int]]:
    text = subprocess.run(
        [iolens, "show", "--base", log], check=True, capture_output=True, encoding="utf-8"
    ).stdout
    sums: dict[str, tuple[int, int]] = {}
    for (module, name, _), row in shown.records(text).items():
        if module == "POSIX":
            calls, n = sums.get(Path(name).name, (0, 0))
            sums[Path(name).name] = calls + int(row["POSIX_WRITES"]), n + int(row["POSIX_BYTES_WRITTEN"])
    return sums


def of_user(logs: list[Path], user: int) -> list[Path]:
    return [log for log in logs if log.stat().st_uid == user]


@pytest.mark.parametrize("language", ["c", "go", "rust"])
def test_programs_of_two_users_at_once_have_a_log_each(node: Node, iolens: Path, language: str) -> None:
    program = built(node, language)
    node.start()
    jobs = [begin(node, user, [program]) for user in USERS for _ in range(2)]
    assert [job.wait(60) for job in jobs] == [0] * 4
    logs = node.await_logs(4)
    for user in USERS:
        for log in of_user(logs, user):
            assert written(iolens, log) == {f"out-{language}": (100, 51200)}
            assert log.stat().st_mode & 0o777 == 0o400
        assert len(of_user(logs, user)) == 2
    assert node.end() == ""


def test_steps_of_a_job_of_slurm_are_one_log(node: Node, iolens: Path) -> None:
    program = built(node, "c")
    node.start()
    job = begin(node, USERS[0], ["sh", "-c", f"setsid {program}; {program}; exit 0"], SLURM_JOB_ID="4711")
    assert job.wait(60) == 0
    (log,) = node.await_logs(1)
    assert "_id4711-" in log.name
    assert written(iolens, log)["out-c"] == (200, 102400)
    text = subprocess.run([iolens, "show", "--ext", log], check=True, capture_output=True, text=True).stdout
    sections = shown.sections(text)
    assert [row["observer"] for row in sections["observers"]] == ["kernel"] * 2
    assert ("job_id", "4711") in [(row["name"], row["value"]) for row in sections["platform"]]


def test_a_killed_service_disturbs_nobody_and_the_next_one_goes_on(node: Node, iolens: Path) -> None:
    program = built(node, "c")
    node.start()
    jobs = [begin(node, user, [program, "stop"]) for user in USERS]
    for job in jobs:
        assert job.stdout and job.stdout.readline() == b"half\n"
    while len(list(node.state.rglob("*.store"))) < 2:
        time.sleep(0.01)
    time_of_stores = {store: store.stat().st_mtime for store in node.state.rglob("*.store")}
    node.end(signal.SIGKILL)
    assert time_of_stores.keys() == set(node.state.rglob("*.store"))
    node.start()
    for job in jobs:
        job.communicate(b"\n", timeout=300)
        assert job.returncode == 0
    logs = node.await_logs(2)
    for user in USERS:
        (log,) = of_user(logs, user)
        # What the first has seen of it, and what the second has: two rows of the one process.
        assert written(iolens, log)["out-c"] == (100, 51200)


def test_jobs_that_ended_while_no_service_ran_get_their_logs(node: Node, iolens: Path) -> None:
    program = built(node, "c")
    node.start()
    job = begin(node, USERS[0], [program, "stop"])
    assert job.stdout and job.stdout.readline() == b"half\n"
    while not list(node.state.rglob("*.store")):
        time.sleep(0.01)
    node.end(signal.SIGKILL)
    job.communicate(b"\n", timeout=300)
    assert job.returncode == 0
    node.start()
    (log,) = node.await_logs(1)
    assert written(iolens, log)["out-c"] == (50, 25600)


def test_what_others_observe_is_not_counted_twice(node: Node, iolens: Path) -> None:
    """Programs that iolens is linked into, those of `iolens run --kernel`, dynamic ones, and whoever wants none."""
    program, linked = built(node, "c"), node.place / "linked"
    flags = subprocess.run(
        [iolens, "config", "--static-ldflags"], check=True, capture_output=True, text=True
    ).stdout.split()
    subprocess.run(["gcc", "-static", "-w", "-o", linked, node.place / "c.c", *flags], check=True)
    own = node.place / "own"
    own.mkdir()
    own.chmod(0o1777)
    node.start()
    dynamic = ["dd", "if=/dev/zero", "of=made", "bs=100", "count=3", "status=none"]
    for command, more in (
        (dynamic, {}),
        ([program], {"IOLENS_DISABLE": "1"}),
        ([program], {"IOLENS_KERNEL": "1"}),
        ([linked], {"IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGPATH": str(own)}),
    ):
        assert begin(node, USERS[0], command, **more).wait(60) == 0
    assert begin(node, USERS[1], [program]).wait(60) == 0
    (log,) = node.await_logs(1)
    assert log.stat().st_uid == USERS[1]
    (log,) = own.iterdir()  # of itself, once
    assert written(iolens, log)["out-c"] == (100, 51200)


def test_site_settings_hold(node: Node, iolens: Path) -> None:
    program = built(node, "c")
    node.start(IOLENS_APP_EXCLUDE="unwanted", IOLENS_NAME_EXCLUDE="out-c$")
    unwanted = node.place / "unwanted"
    shutil.copy(program, unwanted)
    assert begin(node, USERS[0], [unwanted]).wait(60) == 0
    assert begin(node, USERS[1], [program]).wait(60) == 0
    (log,) = node.await_logs(1)
    assert log.stat().st_uid == USERS[1]
    text = subprocess.run(
        [iolens, "show", "--base", "--ext", log], check=True, capture_output=True, text=True
    )
    assert not [name for (module, name, _) in shown.records(text.stdout) if module == "POSIX"]
    (row,) = shown.sections(text.stdout)["excluded"]
    assert (row["class"], row["writes"], row["bytes_written"]) == ("filtered", "100", "51200")


def test_it_keeps_no_privilege_that_it_does_not_need(node: Node) -> None:
    node.start()
    assert node.process
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    capabilities = {
        line.split()[0]: int(line.split()[1], 16) for line in status.splitlines() if "Cap" in line
    }
    # CHOWN 0, DAC_READ_SEARCH 2, SETGID 6, SETUID 7, SYS_PTRACE 19, BPF 39
    kept = sum(1 << number for number in (0, 2, 6, 7, 19, 39))
    assert capabilities["CapPrm:"] == capabilities["CapEff:"] == capabilities["CapBnd:"] == kept
    assert "NoNewPrivs:\t1" in status


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        ([], {}, "usage: iolens-kernel --node"),
        (["--node", "--users-from", "all"], {}, "usage: iolens-kernel --node"),
        (["--node"], {}, "iolens-kernel: IOLENS_LOGPATH: must be the directory of the logs"),
        (
            ["--node", "--state", "/tmp"],
            {"IOLENS_LOGPATH": "/tmp"},
            "iolens-kernel: /tmp: others can write there",
        ),
    ],
)
def test_wrong_use_is_a_line(words: list[str], env: dict[str, str], said: str) -> None:
    program = places.BUILD / "kernel/iolens-kernel"
    if not program.exists():
        pytest.skip("built without iolens-kernel")
    done = subprocess.run([program, *words], env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(said)


@pytest.fixture
def second(node: Node) -> Callable[[], subprocess.CompletedProcess[str]]:
    program = places.BUILD / "kernel/iolens-kernel"
    env = {**os.environ, "IOLENS_LOGPATH": str(node.logs)}
    command = [program, "--node", "--state", node.state]
    return lambda: subprocess.run(command, env=env, check=False, capture_output=True, text=True, timeout=300)


def test_a_node_has_one_service(node: Node, second: Callable[[], subprocess.CompletedProcess[str]]) -> None:
    node.start()
    done = second()
    assert (done.returncode, done.stderr) == (
        2,
        f"iolens-kernel: {node.state}: another iolens-kernel --node uses it\n",
    )
