"""Layouts and targets in a job of several hosts that see different things of Lustre: name spaces of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import shown
from mpis import MPIS
from standin import EOF, INIT, TYPE, MiB, StandIn, composite, stripes

MPI = MPIS["openmpi"]
RANKS, EACH = 4, 2
GROWING = composite((1, INIT, 0, MiB, stripes([3])), (2, 0, MiB, EOF, stripes([], count=4)))
GROWN = composite((1, INIT, 0, MiB, stripes([3])), (2, INIT, MiB, EOF, stripes([4, 5, 6, 7])))

# Stands for ssh: HOST COMMAND... Each host has what its Lustre client says, and what it has mounted beside.
REMOTE_SHELL = """#!/bin/sh
host=$1
shift
exec unshare --uts --ipc --mount sh -c '
unset LD_PRELOAD
hostname "$1"
mount -t tmpfs tmpfs /dev/shm
mount --bind "{clients}/$1" /sys/fs
if [ "$1" = node1 ]; then mount -t tmpfs mgs@tcp:/other "{other}"; fi
shift
exec sh -c "$*"' sh "$host" "$@"
"""


def say(client: Path, **files: str) -> None:
    for name, text in files.items():
        path = client / "lustre" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def describe(client: Path, volume: str, servers: dict[int, str], osts: int) -> None:
    say(client, **{f"lov/{volume}-clilov-ffff01/numobd": str(osts)})
    say(client, **{f"mdc/{volume}-MDT0000-mdc-ffff01/mds_conn_uuid": "10.0.0.9@tcp"})
    for number, server in servers.items():
        say(client, **{f"osc/{volume}-OST{number:04x}-osc-ffff01/ost_conn_uuid": server})


@pytest.fixture
def shell(
    lustre: StandIn, tmp_path: Path
) -> Path:  # the mount comes first: the name spaces have copies of it
    clients, other, shell = tmp_path / "clients", tmp_path / "other", tmp_path / "shell"
    other.mkdir()
    describe(clients / "node0", "standin", {0: "10.0.0.1@tcp", 1: "10.0.0.1@tcp"}, 2)
    # One target came to another server after node0 had connected, and two are out of node0's sight.
    describe(clients / "node1", "standin", {1: "10.0.0.2@tcp", 2: "10.0.0.2@tcp", 3: "10.0.0.2@tcp"}, osts=4)
    describe(clients / "node1", "other", {7: "10.9.9.9@tcp"}, 8)
    shell.write_text(REMOTE_SHELL.format(clients=clients, other=other))
    shell.chmod(0o755)
    tried = subprocess.run([shell, "node1", "hostname"], check=False, capture_output=True, text=True)
    if tried.stdout != "node1\n":
        pytest.skip(f"this user may not make name spaces: {tried.stderr.strip()}")
    return shell


def run(shell: Path, preload: Path, place: Path, program: Path, *arguments: str) -> Path:
    log = program.parent / "log.darshan"
    command = [
        "mpirun.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--mca",
        "plm_rsh_agent",
        str(shell),
    ]
    command += ["--host", f"node0:{EACH},node1:{EACH}", "--mca", "btl", "tcp,self", "--mca", "pml", "ob1"]
    settings = {"LD_PRELOAD": preload, "IOLENS_LOGFILE": log, "IOLENS_LUSTRE_TYPE": TYPE}
    words = [f"{name}={value}" for name, value in settings.items()]
    line = [*command, "-n", str(RANKS), "env", *words, str(program), *arguments]
    done = subprocess.run(line, check=False, cwd=place, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return log


def build(name: str, place: Path) -> Path:
    MPI.require()
    source = Path(__file__).parent / "programs" / f"{name}.c"
    subprocess.run([MPI.compiler(".c"), "-O1", "-o", place / name, source], check=True)
    return place / name


def show(iolens: Path, log: Path) -> str:
    return subprocess.run(
        [iolens, "show", "--base", "--ext", log], check=True, capture_output=True, text=True
    ).stdout


TARGETS = {
    ("standin", "mdt", 0): "10.0.0.9@tcp",
    ("standin", "ost", 0): "10.0.0.1@tcp",
    ("standin", "ost", 1): "10.0.0.1@tcp",  # as the first node has it
    ("standin", "ost", 2): "10.0.0.2@tcp",
    ("standin", "ost", 3): "10.0.0.2@tcp",
    ("other", "mdt", 0): "10.0.0.9@tcp",
    ("other", "ost", 7): "10.9.9.9@tcp",
}


def geometry(text: str) -> tuple[dict[str, tuple[str, str]], dict[tuple[str, str, int], str]]:
    tables = shown.sections(text)
    volumes = {row["name"]: (row["osts"], row["mdts"]) for row in tables.get("volume", [])}
    assert len(volumes) == len(tables.get("volume", []))
    targets = {(r["volume"], r["kind"], int(r["number"])): r["server"] for r in tables.get("target", [])}
    assert len(targets) == len(tables.get("target", []))
    return volumes, targets


def test_what_one_node_alone_sees_is_in_the_log(
    shell: Path, preload: Path, iolens: Path, lustre: StandIn, tmp_path: Path
) -> None:
    lustre.serve(shared=GROWING, shared__grown=GROWN)
    lustre.serve(**{f"own{rank}": stripes([10 * rank, 10 * rank + 1]) for rank in range(RANKS)})
    text = show(iolens, run(shell, preload, tmp_path, build("job", tmp_path), str(lustre.mount)))
    hosts = {int(row["rank"]): row["host"] for row in shown.sections(text)["process"]}
    assert hosts == {rank: f"node{rank // EACH}" for rank in range(RANKS)}
    found = {
        (Path(name).name, rank): row
        for (module, name, rank), row in shown.records(text).items()
        if module == "LUSTRE"
    }
    # The last rank, which is on the other node than the first, has seen most of what all share.
    assert set(found) == {("shared", -1), *((f"own{rank}", rank) for rank in range(RANKS))}
    assert [found["shared", -1][f"LUSTRE_COMP2_OST_ID_{n}"] for n in range(4)] == ["4", "5", "6", "7"]
    for rank in range(RANKS):
        own = found[f"own{rank}", rank]
        assert [own[f"LUSTRE_COMP1_OST_ID_{n}"] for n in range(2)] == [str(10 * rank), str(10 * rank + 1)]
    volumes, targets = geometry(text)
    assert volumes == {"standin": ("4", "1"), "other": ("8", "1")}
    assert targets == TARGETS


def test_files_of_one_node_alone(
    shell: Path, preload: Path, iolens: Path, lustre: StandIn, tmp_path: Path
) -> None:
    """The first node, which writes the log, has opened nothing on Lustre."""
    lustre.serve(own2=stripes([1]), own3=stripes([2, 3]))
    program = build("apart", tmp_path)
    text = show(iolens, run(shell, preload, lustre.mount, program, str(EACH)))
    found = {
        (Path(name).name, rank): row["LUSTRE_NUM_STRIPES"]
        for (module, name, rank), row in shown.records(text).items()
        if module == "LUSTRE" and "own" in name
    }
    assert found == {("own2", 2): "1", ("own3", 3): "2"}
    volumes, targets = geometry(text)
    assert volumes == {"standin": ("4", "1"), "other": ("8", "1")}
    assert targets["standin", "ost", 1] == "10.0.0.2@tcp"
    assert set(targets) == set(TARGETS) - {("standin", "ost", 0)}
