"""The screen of `iolens top`, in a terminal of tmux: keys are typed, and what is to be seen is read."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from looked_at import Place, until
from terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if not shutil.which("tmux"):
        pytest.skip("no tmux")
    made = Terminal(tmp_path / "tmux")
    yield made
    subprocess.run(["tmux", "-S", made.socket, "kill-server"], check=False, capture_output=True)


def test_from_jobs_to_a_file_and_back(place: Place, steady: Path, terminal: Terminal) -> None:
    place.run(steady, place.work, 1000, "endless")
    place.ready()
    name = place.session().name.removeprefix("iolens-")
    terminal.start(place, place.iolens, "top", "-n", "0.2")
    seen = terminal.shows(rf"^{name} .*MiB")
    assert re.match(r"\d+ jobs?, \d+ process(es)?: reads .*/s, writes .*/s, [\d,]+ operations?/s", seen[0])
    assert seen[1].split() == "JOB USER PROCS READ/s WRITE/s OPS/s I/O % RUN COMMAND".split()
    # Others may run on this machine: only this one.
    terminal.type("/", f"{name}", "Enter")
    terminal.shows(r"only: ")
    terminal.type("Enter")
    seen = terminal.shows(r"^ files +processes +interfaces +operations")
    assert seen[0].startswith(f"{name}  ") and "1 running; runs" in seen[1]
    assert seen[2].startswith("read ") and seen[3].startswith("written ") and "\u2588" in seen[3]
    assert re.search(r"MiB +[\d.]+ [GM]iB +[\d,]+ .*own\.0$", "\n".join(seen), re.M)
    terminal.type("Enter")
    seen = terminal.shows(r"of one file")
    assert any(re.search(r"^ +\d+ [RSD] .*[\d,]+", line) for line in seen)
    terminal.type("Escape")
    terminal.shows(r"FILE$")
    terminal.type("Tab")
    terminal.shows(r"RANK +PID S")
    terminal.type("Enter")
    terminal.shows(r"of one process(.|\n)*own\.0$")
    terminal.type("Escape")
    terminal.shows(r"RANK +PID S")
    terminal.type("Tab")
    terminal.shows(r"INTERFACE$(.|\n)*posix$")
    terminal.type("Tab")
    terminal.shows(r"OPERATION$(.|\n)*posix open$")
    terminal.type("Escape")
    terminal.shows(r"^JOB +USER")
    terminal.type("q")
    terminal.shows(r"^over\$ ")
    os.killpg(place.started[0].pid, signal.SIGKILL)


def test_sorting_filtering_and_pausing(place: Place, terminal: Terminal) -> None:
    code = "import sys,time,os\nfor n in range(3): open(f'{sys.argv[1]}/file{n}', 'wb').write(b'x' * 10 ** (3 + n))\n"
    stay = "open(sys.argv[1] + '/ready.0', 'w').close()\nwhile not os.path.exists(sys.argv[1] + '/leave'):"
    stay += " time.sleep(.1)"
    place.run("/usr/bin/python3", "-S", "-c", code + stay, place.work)
    place.ready()
    terminal.start(place, place.iolens, "top", "-n", "0.2", place.session())

    def files() -> list[str]:
        return [found[0] for line in terminal.lines() if (found := re.findall(r"file\d$", line))]

    terminal.shows(r"file0$")
    assert files() == ["file2", "file1", "file0"]  # what moved most
    terminal.type(*"sssss")
    terminal.shows(r"\*WRITTEN")
    assert files() == ["file2", "file1", "file0"]
    terminal.type("r")
    until(lambda: files() == ["file0", "file1", "file2"], "the other way round")
    terminal.type("/", "f", "i", "l", "e", "1", "Enter")
    seen = terminal.shows(r"only: file1")
    assert files() == ["file1"] and "1 row " in seen[-1] + "".join(seen)
    terminal.type("Escape")
    until(lambda: len(files()) == 3, "all files")
    terminal.type("p")
    terminal.shows(r"^PAUSED")
    terminal.type("?")
    terminal.shows(r"^up down +choose a row")
    terminal.type("+")
    terminal.shows(r"every 0.1 s")


def test_a_job_that_ends_while_it_is_watched(place: Place, steady: Path, terminal: Terminal) -> None:
    job = place.run(steady, place.work, 1)
    place.ready()
    name = place.session().name.removeprefix("iolens-")
    terminal.start(place, place.iolens, "top", "-n", "0.2", place.session())
    terminal.shows(r"own\.0$")
    place.leave()
    assert job.wait(60) == 0
    terminal.shows(rf"^{name} has ended")
    terminal.type("q")
    terminal.shows(r"^over\$ ")


def test_another_size_of_the_terminal(place: Place, steady: Path, terminal: Terminal) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    terminal.start(place, place.iolens, "top", "-n", "60", place.session())
    terminal.shows(r"PROCS FILE")
    terminal.tmux("resize-window", "-x", "50", "-y", "10")
    seen = terminal.shows(r"^ +READ/s +WRITE/s +OPS/s +READ FILE$")
    assert max(map(len, seen)) <= 50
    terminal.type("q")


def test_eighty_columns_have_every_figure(place: Place, steady: Path, terminal: Terminal) -> None:
    place.run(steady, place.work, 1000, "endless")
    place.ready()
    terminal.start(place, place.iolens, "top", "-n", "0.2", place.session(), width=80)
    seen = terminal.shows(r"^[ \d.]{6}[KM] +[\d.]+[MG] .*own\.0$")  # with rates
    heat = next(n for n, line in enumerate(seen) if line.startswith("read "))
    assert heat == 3 and re.fullmatch(
        r"1 running; runs [\d.]+ m?s; read [\d.]+ [KMG]iB \([\d.]+ [KMG]iB/s\), "
        r"wrote [\d.]+ [MG]iB \([\d.]+ [MG]iB/s\), [\d,]+ operations/s",
        " ".join(" ".join(seen[1:heat]).split()),
    )
    titles = [line.split() for line in seen if line.endswith("PROCS FILE")]
    assert titles == ["READ/s WRITE/s OPS/s READ WRITTEN TIME SIZE PROCS FILE".split()]
    own = next(line for line in seen if line.endswith("own.0")).split()
    assert len(own) == 10 and own[7:9] == ["64.0K", "1"] and max(map(len, seen)) < 80
    terminal.type("Tab")
    seen = terminal.shows(r"^ RANK +PID S +READ/s +WRITE/s +OPS/s I/O % +READ +WRITTEN PROGRAM$")
    assert max(map(len, seen)) < 80
    terminal.type("q")
    terminal.shows(r"^over\$ ")
    os.killpg(place.started[0].pid, signal.SIGKILL)


def test_the_terminal_is_given_back_by_a_signal(place: Place, steady: Path, terminal: Terminal) -> None:
    place.run(steady, place.work, 1)
    place.ready()
    terminal.start(place, place.iolens, "top", place.session())
    terminal.shows(r"own\.0$")
    terminal.type("C-c")
    terminal.shows(r"^over\$ ")
    terminal.type("stty -a | tr ' ' '\\n' | grep -x -e echo -e icanon | wc -l", "Enter")
    terminal.shows(r"^2$")


def test_a_line_while_a_command_runs(place: Place, steady: Path) -> None:
    """On a terminal; and it is gone at the end."""
    master, slave = pty.openpty()
    log = place.work / "a.darshan"
    command = [place.iolens, "run", "-q", "--live", "-o", log, "--", steady, place.work, "10"]
    run = subprocess.Popen(
        command, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave
    )
    os.close(slave)
    said = b""
    while b" operation" not in said:
        assert select.select([master], [], [], 60)[0]
        said += os.read(master, 4096)
    place.leave()
    out, _ = run.communicate(timeout=300)
    while select.select([master], [], [], 1)[0]:
        try:
            said += os.read(master, 4096)
        except OSError:
            break
    assert (run.returncode, out) == (0, b"") and log.exists()
    assert re.match(rb"\r\x1b\[K1 job, 1 process: reads [^\r\n]* operations?/s", said)
    assert said.endswith(b"\r\x1b[K") and b"\n" not in said


def test_no_line_where_there_is_no_terminal(place: Place, steady: Path) -> None:
    place.leave()
    done = place.call("run", "-q", "--live", "-o", place.work / "a.darshan", "--", steady, place.work, 10)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
