"""iolens recover: whatever is left of a job's stores becomes its log."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown
from interfaces import LIBC
from memory_group import memory_group
from power_cut import Disk

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int process)
{
	char name[32], data[100] = "";
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "work-%d-%d", process, i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		for (int k = 0; k < 5; k++)
			if (write(fd, data, sizeof data) != sizeof data)
				exit(9);
		close(fd);
	}
	FILE *f = fopen("lines", "a");
	fprintf(f, "process %d\n", process);
	fclose(f);
}

int main(int argc, char **argv)
{
	for (int child = 1; child <= 3; child++)
		if (fork() == 0) {
			work(child);
			_exit(0);
		}
	work(0);
	while (wait(NULL) > 0)
		;
	if (!strcmp(argv[1], "killed"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[1], "waits")) {
		close(open("ready", O_CREAT | O_WRONLY, 0600));
		pause();
	}
	return argc < 2;
}
"""


@pytest.fixture
def session(tmp_path: Path, preload: Path) -> Iterator[dict[str, str]]:
    """The environment of a session whose stores nobody assembles."""
    stores = tmp_path / "stores"
    stores.mkdir(mode=0o700)
    yield {"IOLENS_SESSION": str(stores), "LD_PRELOAD": str(preload)}


def run_in(session: dict[str, str], program: Path, how: str, folder: Path) -> Path:
    place = folder / "place"
    place.mkdir(exist_ok=True)
    subprocess.run([program, how], cwd=place, env={**os.environ, **session}, check=False)
    return Path(session["IOLENS_SESSION"])


def table(run_iolens: Run, log: Path) -> str:
    done = run_iolens(["show", "--base", "--ext", log])
    assert done.returncode in (0, 4), done.stderr
    return done.stdout


def counts(text: str) -> dict[tuple[str, str, int], shown.Row]:
    """All integer counters: times differ from run to run."""
    found = {}
    for (module, name, rank), row in shown.records(text).items():
        if module in LIBC:
            kept = {
                k: v for k, v in row.items() if "_F_" not in k and "FASTEST" not in k and "SLOWEST" not in k
            }
            found[module, name, rank] = {
                k: v for k, v in kept.items() if not re.search(r"MAX_(READ|WRITE)_TIME", k)
            }
    return found


def ends(text: str) -> list[str]:
    return [row["ended"] for row in shown.sections(text)["process"]]


@pytest.fixture(scope="module")
def program(compile_program: Compile) -> Path:
    return compile_program(PROGRAM)


def recover(
    run_iolens: Run, folder: Path, *stores: Path | str
) -> tuple[subprocess.CompletedProcess[str], str]:
    log = folder / "recovered.darshan"
    log.unlink(missing_ok=True)
    done = run_iolens(["recover", "-o", log, *stores])
    return done, table(run_iolens, log) if log.exists() else ""


def test_a_killed_job_is_as_complete_as_one_that_ended(
    program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    texts = {}
    for how in ("ends", "killed"):
        stores = run_in(session, program, how, tmp_path)
        done, texts[how] = recover(run_iolens, tmp_path, stores)
        assert (done.returncode, done.stderr) == (0, "")
        shutil.rmtree(stores)
        stores.mkdir(mode=0o700)
        shutil.rmtree(tmp_path / "place")
    assert ends(texts["ends"]) == ["exit"] * 4
    assert ends(texts["killed"]) == ["unknown", "exit", "exit", "exit"]
    assert len(counts(texts["ends"])) > 160
    # Where in their common output a process writes depends on which of them comes first.
    ended, killed = (
        sorted(
            repr({k: v for k, v in row.items() if k != "STDIO_MAX_BYTE_WRITTEN"})
            for row in counts(texts[how]).values()
        )
        for how in ("ends", "killed")
    )
    assert ended == killed


def test_a_power_cut_leaves_no_recovered_log_of_zero_bytes(
    program: Path, session: dict[str, str], iolens: Path, run_iolens: Run, tmp_path: Path
) -> None:
    """Recover removes the stores then."""
    stores = run_in(session, program, "ends", tmp_path)
    folder = tmp_path / "logs"
    folder.mkdir()
    disk = Disk(folder, tmp_path / "held")
    recovered = folder / "recovered.darshan"
    cuts = disk.run([iolens, "recover", "-o", recovered, stores])
    size = recovered.stat().st_size
    for state in disk.states(cuts, len(cuts)):
        assert not recovered.exists() or recovered.stat().st_size == size, state
    assert recovered.exists()


def test_stores_can_be_named_one_by_one_and_of_several_nodes(
    program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    stores = run_in(session, program, "ends", tmp_path)
    whole = recover(run_iolens, tmp_path, stores)[1]
    nodes = [tmp_path / "node1", tmp_path / "node2"]
    for node in nodes:
        node.mkdir()
    for n, store in enumerate(sorted(stores.glob("*.store"))):
        shutil.copy(store, nodes[n % 2])
    done, apart = recover(run_iolens, tmp_path, nodes[0], *nodes[1].glob("*.store"))
    assert done.returncode == 0, done.stderr
    assert counts(apart) == counts(whole)


CUTS = {"the end": 0.999, "the account of the process": 0.9, "the records": 0.4, "half": 0.5}


@pytest.mark.parametrize("cut", CUTS)
def test_a_truncated_store_gives_what_is_left_of_it(
    cut: str, program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    stores = run_in(session, program, "ends", tmp_path)
    before = counts(recover(run_iolens, tmp_path, stores)[1])
    victim = max(stores.glob("*.store"), key=lambda path: path.stat().st_mtime_ns)
    os.truncate(victim, int(victim.stat().st_size * CUTS[cut]))
    done, text = recover(run_iolens, tmp_path, stores)
    assert done.returncode == 4 and "1 of 4 stores is damaged" in done.stderr
    after = counts(text)
    everything = {repr(row) for row in before.values()}
    assert {repr(row) for row in after.values()} <= everything
    posix = [key for key in after if key[0] == "POSIX"]
    assert len(posix) == 160 if CUTS[cut] > 0.6 else len(posix) >= 120
    assert "torn" in ends(text) or CUTS[cut] > 0.99


@pytest.mark.parametrize("content", [b"", b"x", bytes(5000), os.urandom(9000)])
def test_what_is_no_store_is_named_and_left_out(
    content: bytes, program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    stores = run_in(session, program, "ends", tmp_path)
    (stores / "node.1.2.store").write_bytes(content)
    done, text = recover(run_iolens, tmp_path, stores)
    assert done.returncode == 4
    assert "1 of 5 stores could not be read: the log is without it" in done.stderr
    assert len([row for row in counts(text) if row[0] == "POSIX"]) == 160
    (missing,) = [row for row in shown.sections(text)["process"] if row["ended"] == "missing"]
    assert missing["exe"] == "node.1.2.store"


def test_random_damage_never_breaks_it(
    program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    stores = run_in(session, program, "ends", tmp_path)
    chance = random.Random(1)
    originals = {path: path.read_bytes() for path in stores.glob("*.store")}
    for _ in range(int(os.environ.get("DAMAGES", "25"))):
        for path, data in originals.items():
            torn = bytearray(data)
            for _ in range(chance.randrange(4)):
                if chance.random() < 0.5:
                    page = chance.randrange(len(torn) // 4096) * 4096
                    torn[page : page + 4096] = bytes(4096)
                else:
                    at = chance.choice([chance.randrange(6000), chance.randrange(len(torn))])
                    torn[at] ^= 1 << chance.randrange(8)
            path.write_bytes(torn[: len(torn) if chance.random() < 0.7 else chance.randrange(len(torn))])
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        done = run_iolens(["recover", "-o", log, stores])
        assert done.returncode in (0, 3, 4), done.stderr
        if log.exists():
            assert run_iolens(["show", "--all", "--ext", log]).returncode in (0, 4)


def test_a_running_job_is_marked_and_its_stores_are_kept(
    program: Path, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    job = subprocess.Popen([program, "waits"], cwd=place, env={**os.environ, **session})
    try:
        while not (place / "ready").exists():
            time.sleep(0.01)
        log = tmp_path / "log"
        done = run_iolens(["recover", "--remove", "-o", log, session["IOLENS_SESSION"]])
        assert done.returncode == 4
        assert (
            "1 process still runs: the log has everything until now, and the stores are kept" in done.stderr
        )
        assert ends(table(run_iolens, log)) == ["running", "exit", "exit", "exit"]
    finally:
        job.kill()
        job.wait()
    done, text = recover(run_iolens, tmp_path, session["IOLENS_SESSION"])
    assert done.returncode == 0 and ends(text)[0] == "unknown"


BUSY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char name[32];
	for (int i = 0;; i = (i + 1) % 500) {
		snprintf(name, sizeof name, "f%d", i);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (write(fd, "0123456789", 10) != 10)
			return 1;
		close(fd);
	}
}
"""


def test_a_store_that_changes_while_it_is_read_is_seen_at_one_moment(
    compile_program: Compile, session: dict[str, str], run_iolens: Run, tmp_path: Path
) -> None:
    """Totals that are formed in another pass than the records agree with them all the same."""
    place = tmp_path / "place"
    place.mkdir()
    job = subprocess.Popen([compile_program(BUSY)], cwd=place, env={**os.environ, **session})
    try:
        time.sleep(0.2)
        for _ in range(10):
            done, text = recover(run_iolens, tmp_path, session["IOLENS_SESSION"])
            assert done.returncode == 4 and ends(text) == ["running"]
            rows = [row for (module, _, _), row in shown.records(text).items() if module == "POSIX"]
            (total,) = shown.sections(text)["total"]
            assert sum(int(row["POSIX_WRITES"]) for row in rows) == int(total["writes"])
            assert sum(int(row["POSIX_BYTES_WRITTEN"]) for row in rows) == int(total["bytes_written"])
            assert all(int(row["POSIX_BYTES_WRITTEN"]) % 10 == 0 for row in rows)
    finally:
        job.kill()
        job.wait()


def test_iolens_run_says_how_the_command_ended(program: Path, run_iolens: Run, tmp_path: Path) -> None:
    done = run_iolens(["run", "-o", "log", "--", program, "killed"], cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert "was ended by signal 9 (Killed): the log has everything until then" in done.stderr
    rows = shown.sections(table(run_iolens, tmp_path / "log"))["process"]
    assert (rows[0]["ended"], rows[0]["signal"]) == ("signal", "9")
    assert len(rows) == 4


# Kills of whoever writes the log, at any moment of it: the log is whole, or the stores are.


def left_over(parent: Path) -> list[Path]:
    return sorted(parent.glob("iolens-*"))


@pytest.mark.parametrize("chance", range(int(os.environ.get("KILLS", "60")) // 6))
def test_killed_while_it_writes_the_log(
    chance: int, program: Path, iolens: Path, run_iolens: Run, tmp_path: Path
) -> None:
    place, sessions = tmp_path / "place", tmp_path / "sessions"
    place.mkdir()
    sessions.mkdir()
    env = {**os.environ, "IOLENS_TMPDIR": str(sessions)}
    command = [iolens, "run", "-q", "-o", tmp_path / "log", "--", program, "waits"]
    run = subprocess.Popen(command, cwd=place, env=env, stderr=subprocess.PIPE)
    while not (place / "ready").exists():
        time.sleep(0.002)
    for child in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if "program" in Path(f"/proc/{child}/cmdline").read_text():
                os.kill(int(child), signal.SIGKILL)
    time.sleep(random.Random(chance).uniform(0, 0.02))
    run.kill()
    run.communicate()
    for folder in left_over(sessions):
        if not (tmp_path / "log").exists():
            done = run_iolens(["recover", "-o", tmp_path / "log", folder])
            assert done.returncode == 0, done.stderr
    text = table(run_iolens, tmp_path / "log")
    assert len(ends(text)) == 4, "in stores of their own, or packed by iolens run: three of them pass 256 KiB"
    found = counts(text)
    assert (
        sum(
            int(row["POSIX_BYTES_WRITTEN"])
            for (m, name, _), row in found.items()
            if m == "POSIX" and "work-" in name
        )
        == 4 * 40 * 500
    )


OWN = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char name[32];
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "work-%d", i);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		if (write(fd, "0123456789", 10) != 10)
			return 1;
		close(fd);
	}
	return close(open("ready", O_CREAT | O_WRONLY, 0600));
}
"""


@pytest.mark.parametrize("chance", range(int(os.environ.get("KILLS", "60")) // 6))
def test_killed_inside_its_exit_handler(
    chance: int, compile_program: Compile, preload: Path, run_iolens: Run, tmp_path: Path
) -> None:
    """Outside a session a process writes its own log when it exits."""
    place, stores = tmp_path / "place", tmp_path / "stores"
    place.mkdir()
    stores.mkdir()
    settings = {
        "IOLENS_ENABLE_NONMPI": "1",
        "IOLENS_TMPDIR": str(stores),
        "IOLENS_LOGFILE": str(tmp_path / "log"),
    }
    job = subprocess.Popen(
        [compile_program(OWN)], cwd=place, env={**os.environ, **settings, "LD_PRELOAD": str(preload)}
    )
    while not (place / "ready").exists():
        time.sleep(0.0005)
    time.sleep(random.Random(chance).uniform(0, 0.012))
    job.kill()
    job.wait()
    kept = list(stores.rglob("*.store"))
    assert kept or (tmp_path / "log").exists()
    if kept:
        (tmp_path / "log").unlink(missing_ok=True)
        done = run_iolens(["recover", "-o", tmp_path / "log", *kept])
        assert done.returncode == 0, done.stderr
    found = counts(table(run_iolens, tmp_path / "log"))
    assert (
        sum(int(r["POSIX_BYTES_WRITTEN"]) for (m, n, _), r in found.items() if m == "POSIX" and "work-" in n)
        == 3000
    )


EATER = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	int fd = open("work", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 1000; i++)
		if (write(fd, "0123456789", 10) != 10)
			return 1;
	for (;;)
		memset(malloc(1 << 20), 1, 1 << 20);
}
"""


def test_killed_for_its_memory(compile_program: Compile, run_iolens: Run, tmp_path: Path) -> None:
    program = compile_program(EATER)
    with memory_group(48 << 20) as members:
        script = f"echo $$ >{members} && exec {program}"
        done = run_iolens(["run", "-q", "-o", "log", "--", "sh", "-c", script], cwd=tmp_path)
        assert done.returncode == -signal.SIGKILL, done.stderr
        rows = shown.sections(table(run_iolens, tmp_path / "log"))["process"]
        assert (rows[-1]["ended"], rows[-1]["signal"]) == ("signal", "9")
        found = counts(table(run_iolens, tmp_path / "log"))
        assert found["POSIX", f"{tmp_path}/work", 1]["POSIX_BYTES_WRITTEN"] == "10000"
