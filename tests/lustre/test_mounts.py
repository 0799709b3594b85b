"""What kind of file system each file is on, and of Lustre how many targets there are and whose they are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from observed import Observe, Observed
from standin import TYPE, StandIn, stripes

PYTHON = ["/usr/bin/python3", "-S", "-c"]
SETTING = {"IOLENS_LUSTRE_TYPE": TYPE}
SERVERS = {0: "10.0.0.1@tcp", 1: "10.0.0.1@tcp", 2: "10.0.0.2@tcp", 31: "10.0.0.3@tcp"}


def mounted(seen: Observed, lustre: StandIn) -> dict[str, str]:
    point = str(lustre.mount).replace(" ", "\\040")
    (row,) = [row for row in seen.sections["mounted"] if row["point"] in {str(lustre.mount), point}]
    return row


def test_a_mount_has_a_class(lustre: StandIn, observe: Observe) -> None:
    seen = observe([*PYTHON, "open('file', 'wb').write(b'x')"], cwd=lustre.mount)
    row = mounted(seen, lustre)
    assert (row["type"], row["source"], row["class"]) == (TYPE, "mgs@tcp:/standin", "fuse")
    assert "volume" not in seen.sections
    assert "target" not in seen.sections


def test_files_carry_the_class(lustre: StandIn, observe: Observe, tmp_path: Path) -> None:
    code = f"open('file', 'wb').write(b'x'); open({str(tmp_path / 'here')!r}, 'wb').write(b'x')"
    seen = observe([*PYTHON, code], cwd=lustre.mount)
    with Dataset(seen.log) as data:
        rows = data.rows("SELECT name, class, file_system FROM file WHERE interface = 'posix'")
        found = {Path(row["name"]).name: (row["class"], row["file_system"]) for row in rows}
        assert found["file"] == ("fuse", TYPE)
        assert found["here"][0] in {"local", "memory", "overlay"}
        (row,) = [row for row in data.metric("file_systems") if row["mount"] == str(lustre.mount)]
        assert row["class"] == "fuse"


def say(parameters: Path, **files: str) -> None:
    for name, text in files.items():
        path = parameters / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def describe_client(root: Path, servers: dict[int, str]) -> list[str]:
    """A command that sees what a Lustre client says of two file systems, in a name space of its own."""
    parameters = root / "lustre"
    for number, server in servers.items():
        say(parameters, **{f"osc/standin-OST{number:04x}-osc-ffff01/ost_conn_uuid": server})
    say(parameters, **{"mdc/standin-MDT0000-mdc-ffff01/mds_conn_uuid": "10.0.0.9@tcp"})
    say(parameters, **{"osc/other-OST0007-osc-ffff02/ost_conn_uuid": "10.9.9.9@tcp"})
    say(parameters, **{"lov/standin-clilov-ffff01/numobd": "32", "lov/other-clilov-ffff02/numobd": "8"})
    say(parameters, **{"osc/num_refs": "5", "osc/standin-OSTxyz-osc-ffff01/ost_conn_uuid": "nobody"})
    script = 'mount --bind "$0" /sys/fs && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, str(root)]
    if subprocess.run([*command, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no name space of mounts of its own")
    return command


@pytest.fixture
def client(
    lustre: StandIn, tmp_path: Path
) -> list[str]:  # the mount comes first: the name space has a copy of it
    return describe_client(tmp_path / "fs", SERVERS)


def test_targets_and_their_servers(
    lustre: StandIn, client: list[str], iolens: Path, preload: Path, tmp_path: Path
) -> None:
    lustre.serve(a=stripes([0, 31]), b=stripes([2]))
    log = tmp_path / "log.darshan"
    code = "open('a', 'wb').write(b'x' * 1000); open('b', 'wb').write(b'x' * 100)"
    line = [*client, iolens, "run", "--quiet", "-o", log, "--", *PYTHON, code]
    done = subprocess.run(
        line, check=False, cwd=lustre.mount, env={**os.environ, **SETTING}, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    seen = Observed(done, log, iolens)
    (volume,) = seen.sections["volume"]
    assert (volume["name"], volume["source"]) == ("standin", "mgs@tcp:/standin")
    assert (volume["osts"], volume["mdts"]) == ("32", "1")
    found = {(row["kind"], int(row["number"])): row["server"] for row in seen.sections["target"]}
    assert found == {("mdt", 0): "10.0.0.9@tcp", **{("ost", n): server for n, server in SERVERS.items()}}
    with Dataset(log) as data:
        rows = data.metric("ost_occupancy")
        assert [(row["ost"], row["oss"], row["files"], row["bytes"]) for row in rows] == [
            (0, "10.0.0.1@tcp", 1, 500),
            (2, "10.0.0.2@tcp", 1, 100),
            (31, "10.0.0.3@tcp", 1, 500),
        ]
    with Dataset(log) as data:
        data.servers([(0, "oss-a")])  # what the user says comes first
        assert data.metric("ost_occupancy")[0]["oss"] == "oss-a"
    with Dataset(log) as data:
        rows = data.metric("server_occupancy")
        assert [(row["oss"], row["osts"], row["used"], row["files"], row["bytes"]) for row in rows] == [
            ("10.0.0.1@tcp", 2, 1, 1, 500),
            ("10.0.0.2@tcp", 1, 1, 1, 100),
            ("10.0.0.3@tcp", 1, 1, 1, 500),
        ]


# The first file of a process is one of eight that as many threads open at the same moment; argument: in a forked child.
AT_ONCE = """
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t all;
static void *work(void *number)
{
	char name[8];
	snprintf(name, sizeof name, "t%d", (int)(intptr_t)number);
	pthread_barrier_wait(&all);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	return (void *)(intptr_t)(write(fd, name, 2) != 2 || close(fd));
}
int main(int argc, char **argv)
{
	pthread_t thread[8];
	void *wrong = argv;
	int status = 0, child = argc > 1 ? fork() : 0;
	if (child)
		return waitpid(child, &status, 0) != child || status;
	pthread_barrier_init(&all, NULL, 8);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
	for (int i = 0; i < 8; i++)
		if (pthread_join(thread[i], &wrong) || wrong)
			return 9;
	return 0;
}
"""


@pytest.mark.parametrize("how", [[], ["forked"]], ids=["program", "child"])
def test_files_that_are_opened_while_the_first_asks_a_slow_file_system_have_records(
    lustre: StandIn, observe: Observe, compile_program: Callable[[str], Path], how: list[str]
) -> None:
    """Threads wait longer for a lock than its 200 ms while the holder is at the first file of the process."""
    program = compile_program(AT_ONCE)
    (lustre.layouts / ".slow").touch()
    seen = observe([program, *how], cwd=lustre.mount)
    assert seen.done.returncode == 0, seen.done.stderr
    assert [seen.total("POSIX", "OPENS", f"{lustre.mount}/t{i}") for i in range(8)] == [1] * 8
    assert not [row for row in seen.sections.get("excluded", []) if row["class"] == "table_busy"]
    assert not [row for row in seen.sections["operation"] if row["name"] == "lost"]
