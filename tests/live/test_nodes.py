"""`iolens top` of several nodes: namespaces with a host name, a network and a place for stores of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from looked_at import WRITTEN, Place, file_of, until

NODE = 'hostname "$0" && mount -t tmpfs tmpfs "$1" && touch "$1/there" && exec sleep 1000'
THROUGH = "nsenter --net=/proc/%h/ns/net --uts=/proc/%h/ns/uts --mount=/proc/%h/ns/mnt"


@pytest.fixture
def nodes(place: Place) -> Iterator[list[str]]:
    """Numbers of processes that stand for two nodes."""
    if os.geteuid() != 0 or not shutil.which("nsenter"):
        pytest.skip("needs root and nsenter")
    made = [
        place.start(["unshare", "-n", "-m", "--uts", "sh", "-c", NODE, name, place.stores])
        for name in ("node0", "node1")
    ]
    for one in made:
        until(Path(f"/proc/{one.pid}/root{place.stores}/there").exists, "a node")
    yield [str(one.pid) for one in made]
    place.leave()
    for one in made:
        one.kill()


def begin(place: Place, nodes: list[str], steady: Path) -> None:
    """A step of job 4711 on each node, 10 blocks on the first and 20 on the second."""
    for number, node in enumerate(nodes):
        work = place.work / str(number)
        work.mkdir()
        way = THROUGH.replace("%h", node).split()
        log = work / "log.darshan"
        place.start(
            [*way, place.iolens, "run", "-q", "-o", log, "--", steady, work, 10 * (number + 1)],
            SLURM_JOB_ID="4711",
        )
        until((work / "ready.0").exists, "its blocks")


def top(place: Place, *words: object) -> subprocess.CompletedProcess[str]:
    return place.call("top", "--every", "0.1", *words)


def leave(place: Place) -> None:
    for number in "01":
        (place.work / number / "leave").touch()


def test_a_job_of_two_nodes_is_one(place: Place, nodes: list[str], steady: Path) -> None:
    begin(place, nodes, steady)
    assert top(place, "--once", 4711).returncode == 3, "from here its stores cannot be seen"
    done = top(place, "--json", "--nodes", ",".join(nodes), "--through", THROUGH, 4711)
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["nodes"] == [{"name": node, "problem": ""} for node in nodes]
    (job,) = told["jobs"]
    assert (job["job_id"], job["running"], job["hosts"]) == (4711, 2, 2)
    assert (job["writes"], job["bytes_written"]) == (30, 30 * WRITTEN)
    assert sorted(one["host"] for one in job["processes"]) == ["node0", "node1"]
    assert sorted(file["writes"] for file in job["files"] if file["name"].endswith("/own.0")) == [10, 20]
    text = top(place, "--once", "--nodes", ",".join(nodes), "--through", THROUGH).stdout
    assert text.startswith("2 jobs, 2 processes"), "without its number, each session stands for itself"
    leave(place)


def test_a_node_that_cannot_be_reached(place: Place, nodes: list[str], steady: Path) -> None:
    begin(place, nodes, steady)
    done = top(place, "--json", "--nodes", f"{nodes[0]},none", "--through", THROUGH, 4711)
    assert done.returncode == 4
    assert re.fullmatch(r"iolens: top: none: not reached: nsenter: .*/proc/none/.*\n", done.stderr)
    told = json.loads(done.stdout)
    assert file_of(told["jobs"][0], "own.0")["writes"] == 10
    assert "nsenter" in told["nodes"][1]["problem"] and told["nodes"][0]["problem"] == ""
    done = top(place, "--once", "--nodes", f"{nodes[0]},none", "--through", THROUGH, 4711)
    assert "1 of 2 nodes: none: not reached: nsenter" in done.stdout
    assert top(place, "--once", "--nodes", "none", "--through", THROUGH, 4711).returncode == 3
    leave(place)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ("cat /dev/zero", "answers, but is no iolens"),
        ("printf 'iolens look 1\\n\\n\\0%0200d' 7", "has iolens 000000000000000000000.*, and here is"),
        ("exit 7", "has ended with exit code 7"),
        ("echo no way >&2; exit 1", "not reached: no way"),
    ],
)
def test_what_answers_is_not_believed(place: Place, answers: str, problem: str) -> None:
    script = place.work / "way"
    script.write_text(f"#!/bin/sh\n{answers}\n")
    script.chmod(0o755)
    done = top(place, "--once", "--nodes", "n", "--through", script)
    assert done.returncode == 3
    assert re.fullmatch(f"iolens: top: n: {problem}.*\n", done.stderr), done.stderr


def test_an_answer_with_a_byte_changed_or_cut(place: Place, steady: Path) -> None:
    """An answer or a complaint, and no crash. What could be the beginning of more is waited for: left out."""
    place.run(steady, place.work, 3)
    place.ready()
    frame = subprocess.run(
        [place.iolens, "top", "--answer"], input=b"\n", env=place.env, capture_output=True, check=True
    ).stdout
    script, answer = place.work / "way", place.work / "answer"
    script.write_text(f'#!/bin/sh\nread line\ncat "{answer}"\nread line\ncat "{answer}"\nread line\n')
    script.chmod(0o755)
    codes = set()
    length, magic = range(48, 56), 16
    for at in (*range(magic, len(frame), len(frame) // 40), *range(magic, 80, 3)):
        if at in length:
            continue
        answer.write_bytes(frame[:at] + bytes([frame[at] ^ 0xFF]) + frame[at + 1 :])
        done = place.call("top", "--json", "--every", "0.1", "--nodes", "n", "--through", script)
        assert done.returncode in (0, 3, 4), (at, done.stderr)
        codes.add(done.returncode)
    assert codes >= {0, 3}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--nodes", "a;reboot"], 'top: "a;reboot" is no name of a node'),
        (["--nodes", "-oProxyCommand=x"], "is no name of a node"),
        (["--nodes", "a,,b"], '"" is no name of a node'),
        (["--nodes", "a", "--slurm", "1"], "--nodes and --slurm: give one of them"),
        (["--through", "ssh"], "--through goes with --nodes or --slurm"),
        (["--slurm"], "--slurm needs the number of a job"),
    ],
)
def test_wrong_uses(place: Place, words: list[str], complaint: str) -> None:
    done = place.call("top", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr and done.stderr.count("\n") == 1
