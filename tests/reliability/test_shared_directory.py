"""Nodes that keep their stores in one directory: none takes a process of another one for ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from observed import Observe

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make namespaces")

# The first node's process writes before and after the second node's, which cannot see it, has lived and ended.
JOB = """
export IOLENS_TMPDIR=$PWD/common
mkdir common
node() {
	host=$1 more=$2
	shift 2
	unshare --uts --mount $more sh -c 'hostname "$0"; env -u LD_PRELOAD mount -t tmpfs tmpfs /dev/shm; exec "$@"' \\
		"$host" "$@"
}
first='
import os, time
f = os.open("first", os.O_WRONLY | os.O_CREAT)
os.write(f, b"x" * 10)
os.mkdir("begun")
while not os.path.exists("done"):
    time.sleep(0.05)
os.write(f, b"x" * 10)
'
node node1 "" /usr/bin/python3 -IS -c "$first" &
while [ ! -e begun ]; do sleep 0.05; done
node SECOND "--pid --fork --mount-proc" dd if=/dev/zero of=second bs=5 count=1 status=none
: >done
wait
"""


@pytest.mark.parametrize("second", ["node2", "node1"])
def test_a_process_that_another_node_cannot_see_is_no_ended_one(
    observe: Observe, tmp_path: Path, second: str
) -> None:
    """Of a node of the same name, too: a container on it."""
    script = JOB.replace("SECOND", second)
    seen = observe(["bash", "-ec", script], cwd=tmp_path, env={"SLURM_NNODES": "2"})
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/first") == 20
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/second") == 5
    assert not list((tmp_path / "common").iterdir())
