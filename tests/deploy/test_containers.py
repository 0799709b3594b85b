"""A site's settings in a container of namespaces, and the recipes of deploy/containers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

# A root of its own: the machine's programs, and nothing that the test does not bring in.
CONTAINER = """
mount -t tmpfs root root
for folder in /usr /bin /lib /lib64; do
	if [ -L $folder ]; then
		cp -d $folder root$folder
	elif [ -d $folder ]; then
		mkdir -p root$folder
		mount --rbind $folder root$folder
	fi
done
mkdir -p root/tmp root/proc root/dev/shm root{library} root{logs}
mount -t proc proc root/proc
touch root/dev/null
mount --bind /dev/null root/dev/null
mount --bind {library} root{library}
{more}
settings="LD_PRELOAD={library}/libiolens.so IOLENS_ENABLE_NONMPI=1 IOLENS_LOGPATH={logs}"
exec chroot root env $settings {shell} -c 'head -c 3000 /bin/ls >/tmp/made
	dd if=/tmp/made of=/tmp/copied bs=1000 2>/dev/null; wc -c </tmp/copied; exit 3'
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def contained(preload: Path, logs: Path, more: str = "", read_only: bool = False) -> tuple[int, bytes, bytes]:
    more += f"; mount -o remount,bind,ro {logs.parent}/root{logs}" if read_only else ""
    script = CONTAINER.format(library=preload.parent, logs=logs, more=more.lstrip("; "), shell="/bin/sh")
    command = ["unshare", "-U", "-r", "-m", "-p", "-f", "sh", "-ec", script]
    done = subprocess.run(command, cwd=logs.parent, capture_output=True, check=False, timeout=300)
    if b"unshare failed" in done.stderr:
        pytest.skip(f"no such namespaces: {done.stderr.decode()}")
    return done.returncode, done.stdout, done.stderr


def test_a_bound_directory_gets_the_log_of_each_program(preload: Path, logs: Path, run_iolens) -> None:
    assert contained(preload, logs, f"mount --bind {logs} root{logs}") == (3, b"3000\n", b"")
    (log,) = logs.glob("*_dd_*.darshan")
    shown = run_iolens(["show", log]).stdout
    assert re.search(r"\tPOSIX_BYTES_READ\t3000\t/tmp/made\t", shown)
    assert re.search(r"\tPOSIX_WRITES\t3\t/tmp/copied\t", shown)


@pytest.mark.parametrize("read_only", [False, True], ids=["not bound", "read-only"])
def test_without_it_programs_are_as_without_iolens(preload: Path, logs: Path, read_only: bool) -> None:
    more = f"mount --bind {logs} root{logs}" if read_only else f"rmdir root{logs}"
    assert contained(preload, logs, more, read_only) == (3, b"3000\n", b"")
    assert list(logs.iterdir()) == []


def commands_of_dockerfile(text: str) -> list[list[str]]:
    stages: list[list[str]] = []
    for word, rest in re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE):
        if word == "FROM":
            stages.append([])
        elif word == "RUN":
            stages[-1].append(rest)
        elif word == "WORKDIR":
            stages[-1].append(f"cd {rest}")
    return stages


def commands_of_apptainer(text: str) -> list[list[str]]:
    posts = re.findall(r"^%post\n((?: {4}.*\n)*)", text, re.MULTILINE)
    return [[line.strip() for line in post.splitlines()] for post in posts]


def test_both_recipes_run_the_same_commands(root: Path) -> None:
    docker = (root / "deploy/containers/Dockerfile").read_text()
    apptainer = (root / "deploy/containers/iolens.def").read_text()
    stages = commands_of_dockerfile(docker)
    assert [len(stage) for stage in stages] == [4, 1]
    assert commands_of_apptainer(apptainer) == stages
    images = re.findall(r"^FROM (\S+)", docker, re.MULTILINE)
    assert images == re.findall(r"^From: (\S+)", apptainer, re.MULTILINE) == ["debian:12", "debian:12-slim"]
    paths = [re.findall(r"PATH=(\S+)", text) for text in (docker, apptainer)]
    assert paths[0] == paths[1] and len(paths[0]) == 1


def test_the_recipes_do_what_the_guide_says(root: Path) -> None:
    guide = (root / "docs/guide/install.md").read_text()
    build = commands_of_dockerfile((root / "deploy/containers/Dockerfile").read_text())[0]
    assert "make wheel" in build and "`make wheel`" in guide
    assert build[-1].endswith("pip install --target /opt/iolens dist/iolens-*.whl")
    assert "`pip install --target /opt/iolens dist/iolens-*.whl`" in guide
