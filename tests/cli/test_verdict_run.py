"""The verdict of programs that run and of released logs, and what `iolens run` does with it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from here import Run, in_this_process, level_of_report, verdict
from iolens.metrics import Dataset
from jobs import Job
from observed import Observe


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


BUSY = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass"


def test_of_programs_that_do_no_io(observe: Observe, run_iolens: Run, tmp_path: Path) -> None:
    """How busy the first one is depends on what else runs on the node, its processor time does not."""
    rows = []
    for program in (BUSY, "import time; time.sleep(1)"):
        seen = observe(["/usr/bin/python3", "-S", "-c", program], cwd=tmp_path)
        rows += seen.sections["process"]
    busy, asleep = (float(row["user_time"]) + float(row["system_time"]) for row in rows)
    assert 0.45 <= busy <= 0.7 and asleep < 0.3
    assert int(rows[1]["waits"]) >= 1 and int(rows[1]["major_faults"]) >= 0
    assert "it is waiting," in verdict(run_iolens, seen.log)["text"]


def test_of_a_process_that_is_killed(observe: Observe, run_iolens: Run, tmp_path: Path) -> None:
    """It could not say what it used of a processor: its parents' waits tell."""
    seen = observe(["sh", "-c", "timeout -s KILL 1 tail -f /dev/null; true"], cwd=tmp_path)
    assert any(float(row["user_time"]) < 0 for row in seen.sections["process"])
    (rest,) = (row for row in seen.sections["operation"] if row["name"] == "processor")
    assert 0 <= float(rest["time"]) < 0.3
    assert "it is waiting," in verdict(run_iolens, seen.log)["text"]


def test_of_a_program_whose_processor_others_use(observe: Observe, run_iolens: Run, tmp_path: Path) -> None:
    """It never sleeps: what it did not run it waited for its processor."""
    processor = str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(["taskset", "-c", processor, "sh", "-c", "while :; do :; done"]) as other:
        try:
            command = ["taskset", "-c", processor, "/usr/bin/python3", "-S", "-c", BUSY]
            start = time.monotonic()
            seen = observe(command, cwd=tmp_path)
            took = time.monotonic() - start  # it may wait before it has begun
        finally:
            other.kill()
    row = seen.sections["process"][-1]
    ran = float(row["user_time"]) + float(row["system_time"])
    waited = float(row["processor_wait"])
    assert 0.3 <= waited <= took - ran
    assert "the program waited while others used it" in verdict(run_iolens, seen.log)["text"]


WRITES = """
import os, threading
fd = os.open("file", os.O_CREAT | os.O_RDWR)
def write():
    for n in range(20_000):
        os.pwrite(fd, bytes(65536), 0)
"""


ALONE = "write()"
IDLE = "threading.Thread(target=threading.Event().wait, daemon=True).start(); write()"
OTHER = "t = threading.Thread(target=write); t.start(); t.join()"
BOTH = """
import hashlib
work = ("sha256", b"", b"", 5_000_000)
threading.Thread(target=hashlib.pbkdf2_hmac, args=work, daemon=True).start(); write()
"""


@pytest.mark.parametrize("run", [ALONE, IDLE, OTHER, BOTH], ids=["alone", "idle", "other", "both"])
def test_of_calls_whose_processor_others_use(observe: Observe, tmp_path: Path, run: str) -> None:
    """Half of the time of calls that never sleep is another program's. Of busy threads that is not said."""
    processor = str(min(os.sched_getaffinity(0)))
    with subprocess.Popen(["taskset", "-c", processor, "sh", "-c", "while :; do :; done"]) as other:
        try:
            command = ["taskset", "-c", processor, "/usr/bin/python3", "-S", "-c", WRITES + run]
            seen = observe(command, cwd=tmp_path)
        finally:
            other.kill()
    row = seen.sections["process"][-1]
    with Dataset(seen.log) as data:
        in_io = max(waits["in_io"] for waits in data.metric("processor_waits"))
    if run in {ALONE, IDLE}:
        assert int(row["processor_threads"]) == 1
        assert 0.1 * float(row["io_time"]) <= in_io <= float(row["processor_wait"])
    else:
        assert int(row["processor_threads"]) >= 2
        assert in_io == 0


THREADS = """
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static const char *way;
static void *compute(void *stay)
{
	struct timespec t = {0};
	if (!strcmp(way, "write"))
		close(open("made by a thread", O_CREAT | O_WRONLY, 0600));
	while (t.tv_nsec < 200000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (stay)
		pause();
	return NULL;
}
int main(int n, char **words)
{
	pthread_t thread[3];
	close(open("made", O_CREAT | O_WRONLY, 0600));
	struct timespec t = {0};
	way = n > 1 ? words[1] : "";
	int stay = !strcmp(way, "stay");
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, compute, stay ? words : NULL);
	for (int i = 0; i < 3 && !stay; i++)
		pthread_join(thread[i], NULL);
	while (t.tv_sec == 0 && t.tv_nsec < 600000000) {
		usleep(10000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	}
	return 0;
}
"""


@pytest.mark.parametrize("way", ["stay", "write", "end"])
def test_of_threads_that_share_a_processor(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path, way: str
) -> None:
    """Three of 0.2 s each wait 0.6 s together or more, and none of the four for longer than the run. What threads that
    have ended waited is known if they used a file, and otherwise lost."""
    processor = str(min(os.sched_getaffinity(0)))
    program = compile_program(THREADS)
    start = time.monotonic()
    seen = observe(["taskset", "-c", processor, program, way], cwd=tmp_path)
    took = time.monotonic() - start
    row = seen.sections["process"][-1]
    assert float(row["user_time"]) + float(row["system_time"]) >= 0.55
    waited = float(row["processor_wait"])
    assert 0.6 <= waited <= 4 * took if way != "end" else waited == -1


FORKS = """
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *compute(void *name)
{
	struct timespec t = {0};
	close(open(name, O_CREAT | O_WRONLY, 0600));
	while (t.tv_nsec < 200000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return NULL;
}
int main(void)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, compute, "parent");
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	if (fork())
		return wait(NULL) < 0;
	pthread_create(&thread[0], NULL, compute, "child");
	return pthread_join(thread[0], NULL);
}
"""


def test_a_forked_child_does_not_inherit_what_threads_waited(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    """Three threads of the parent share a processor; the child's only one waits for no thread of its own."""
    processor = str(min(os.sched_getaffinity(0)))
    seen = observe(["taskset", "-c", processor, compile_program(FORKS)], cwd=tmp_path)
    parent, child = seen.sections["process"][-2:]
    lives = float(child["end"]) - float(child["start"])
    used = float(child["user_time"]) + float(child["system_time"])
    assert float(parent["processor_wait"]) >= 0.4
    assert used >= 0.15 and 0 <= float(child["processor_wait"]) <= lives


def test_a_program_whose_calls_bypass_libc_may_wait_for_io(run_iolens: Run, tmp_path: Path) -> None:
    """A shell becomes restic, in Go: the library sees neither calls nor end. Waiting for it tells what it used."""
    times = {f"{kind}_time": 0.0 for kind in ("io", "read", "write", "meta")}
    row = {"pid": 100, "mpi": "", **times, "storage_read": 0, "seen_read": 0}
    shell = {"rank": 0, "start": 0.0, "end": 0.1, "exe": "/bin/bash", "ended": "exec"}
    restic = {"rank": 1, "start": 0.1, "end": 0.0, "exe": "/bin/restic", "ended": "exit"}
    known, unknown = (
        {"user_time": t, "system_time": t, "major_faults": n, "waits": n} for t, n in ((0.0, 0), (-1.0, -1))
    )
    job = Job(nprocs=2, run_time=10).posix("/d/a", 0, read={100: 1}, read_time=0.01)
    job.section("process", {**row, **shell, **known}, {**row, **restic, **unknown})
    rest = {"interface": "unobserved", "name": "processor", "count": 1, "bytes": 0}
    log = job.section("operation", {**rest, "time": 2.0}).save(tmp_path / "job.darshan")
    found = verdict(run_iolens, log)
    assert found["text"].endswith(
        "; a program that was not observed waited for 80 % of the run, perhaps for I/O"
    )
    assert found["level"] == level_of_report(run_iolens, log) == "unknown"


READER = """
import os
fd = os.open("data.bin", os.O_RDONLY)
for _ in range(100):
    for at in range(0, 1 << 20, 2048):
        os.pread(fd, 512, at)
"""


def test_of_a_program(observe: Observe, run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(bytes(1 << 20))
    seen = observe(["/usr/bin/python3", "-S", "-c", READER], cwd=tmp_path, options=())
    found = verdict(run_iolens, seen.log)
    said = seen.done.stderr.decode()
    assert found["text"] in " ".join(said.partition("  verdict ")[2].split())
    assert f"  next          iolens report --open {seen.log}\n" in said
    assert "51,200 reads of 512 B from data.bin" in found["text"]
    assert level_of_report(run_iolens, seen.log) == found["level"] == "look"


def test_a_name_stays_in_its_line(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    name = "new\nline \x1b[31m 'quoted'"
    done = observe(["sh", "-c", 'cat "$1"', "sh", name], cwd=tmp_path)
    assert done.done.returncode == 1
    (tmp_path / "it's").mkdir()
    log = tmp_path / "it's" / "a log.darshan"
    said = subprocess.run(
        [iolens, "run", "-o", log, "true"], capture_output=True, text=True, check=True
    ).stderr
    (command,) = [line for line in said.splitlines() if line.startswith("  next")]
    asked = subprocess.run(
        ["sh", "-c", f"printf '%s' {command.partition('--open ')[2]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout == str(log)


def test_report_beside_the_log(run_iolens: Run, tmp_path: Path) -> None:
    for log, page in (("a.darshan", "a.html"), ("b", "b.html")):
        done = run_iolens(["run", "-q", "--report", "-o", log, "--", "echo", "own"], cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "own\n", f"{page}\n")
        assert (tmp_path / page).read_text().startswith("<!DOCTYPE html>")


def test_the_page_is_opened_or_it_is_said_why_not(run_iolens: Run, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" >{opened}\n')
    browser.chmod(0o755)
    bare = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    done = run_iolens(["run", "-q", "--open", "-o", "a.darshan", "false"], cwd=tmp_path, env=bare)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith("iolens: a.html: not opened: there is no screen here")
    done = run_iolens(
        ["run", "-q", "--open", "-o", "b.darshan", "true"],
        cwd=tmp_path,
        env={**bare, "BROWSER": f"{browser} %s"},
    )
    assert (done.returncode, done.stderr) == (0, "b.html\n")
    assert opened.read_text() == f"{(tmp_path / 'b.html').as_uri()}\n"


def test_a_page_that_cannot_be_is_said_before_the_command_starts(run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "a.html").mkdir()
    done = run_iolens(["run", "--report", "-o", "a.darshan", "touch", "started"], cwd=tmp_path)
    assert done.returncode == 2 and "a.html: cannot be written" in done.stderr
    assert not (tmp_path / "started").exists()


def test_without_python_the_log_is_there(run_iolens: Run, tmp_path: Path) -> None:
    done = run_iolens(
        ["run", "-q", "--report", "-o", "a.darshan", "true"], cwd=tmp_path, env={"IOLENS_PYTHON": "/nowhere"}
    )
    assert done.returncode == 0 and (tmp_path / "a.darshan").exists()
    assert done.stderr.count("\n") == 1 and "report needs Python" in done.stderr


def test_the_estimate_is_the_metric(run_iolens: Run, corpus: Path) -> None:
    """Of every log of every version of Darshan; one has a negative time, which is left out here."""
    logs = sorted((corpus / "logs").glob("*.darshan"))
    seen = 0
    for log in logs:
        done = run_iolens(["info", "--json", log])
        found = json.loads(done.stdout).get("verdict", {}) if done.returncode == 0 else {}
        if not found:
            continue
        with Dataset(log) as data:
            share, basis = data.query("SELECT io_share, basis FROM metric.headline").fetchall()[0]
            others = "dfs" in data.logs[0] or "daos" in data.logs[0]
        if basis != "records" or others:
            continue
        seen += 1
        assert ("io_share" in found) == (share is not None), log.name
        assert found.get("io_share") == pytest.approx(share, rel=1e-5), log.name
    assert seen >= 35
