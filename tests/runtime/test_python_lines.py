"""Lines of Python code that open files: as the interpreter's own traceback has them, in every CPython here."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.rules import find, opened_by
from observed import Observe
from python_constructs import CONSTRUCTS, KNOWN, interpreters, names

every = pytest.mark.parametrize("version", KNOWN, ids=names)


def is_users(path: str) -> bool:
    return path == "<string>" or not re.search(r"^<|/(site|dist)-packages/|/lib(64)?/python3\.\d+/", path)


Stack = tuple[str, ...]


def expected(folder: Path) -> dict[str, set[Stack]]:
    """Of each file, the frames from the user's innermost on, as the interpreters wrote them down."""
    found: dict[str, set[Stack]] = {}
    for part in folder.glob("expected.*.json"):
        for name, frames in json.loads(part.read_text()).items():
            shown = [frame for frame in frames if frame[0] == "<string>" or frame[0][0] != "<"]
            first = next((n for n, frame in enumerate(shown) if is_users(frame[0])), None)
            kept = shown[:1] if first is None else shown[first : first + 8]
            lines = [
                f"{function} ({path if path[0] == '<' else folder / path}:{line})"
                for path, line, function in kept
            ]
            found.setdefault(name, set()).add(tuple(lines))
    return found


def stacks(log: Path) -> dict[str, set[Stack]]:
    """Of each file, all stacks: processes may have opened it in several places."""
    query = "SELECT name, stack FROM call_site JOIN name_of USING (log, id) WHERE interface = 'posix'"
    found: dict[str, set[Stack]] = {}
    with Dataset(log) as data:
        for name, stack in data.query(query).fetchall():
            found.setdefault(Path(name).name, set()).add(tuple(stack.splitlines()))
    return found


@every
def test_lines_are_those_of_the_interpreters_own_traceback(
    observe: Observe, tmp_path: Path, version: tuple[int, ...]
) -> None:
    (tmp_path / "constructs.py").write_text(CONSTRUCTS)
    seen = observe([interpreters()[version], "constructs.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    want, found = expected(tmp_path), stacks(seen.log)
    assert len(want) >= 75
    assert {name: found.get(name) for name in want} == want
    assert "unrecorded" not in seen.sections


LOADS = """\
import os, sys

def load(name):
    with open(name, "w") as file:
        for _ in range(20000):
            file.write("0123456789")
            file.flush()

def main():
    load("first")
    load("second")

main()
"""


def test_findings_files_and_summary_name_the_line(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    (tmp_path / "train.py").write_text(LOADS)
    seen = observe([interpreters()[KNOWN[-1]], "train.py"], cwd=tmp_path, options=("-q", "--trace"))
    with Dataset(seen.log) as data:
        found = {one.rule: one for one in find(data)}
        rows = data.rows("SELECT place, files, bytes_written FROM metric.call_sites WHERE bytes_written > 0")
    assert opened_by(found["tiny_writes"]) == "Called from load (train.py:7)."
    assert rows == [{"place": "load (train.py:4)", "files": 2, "bytes_written": 400000}]

    def says(*command: object) -> str:
        return subprocess.run([iolens, *command], capture_output=True, text=True, check=True).stdout

    assert re.search(r" train\.py:4 +\S*/first$", says("files", "--sites", seen.log), re.M)
    listed = {
        Path(one["name"]).name: one
        for one in json.loads(says("files", "--sites", "--json", seen.log))["files"]
    }
    (site,) = listed["second"]["opened_by"]
    script = tmp_path / "train.py"
    assert site["stack"] == [f"load ({script}:4)", f"main ({script}:11)", f"<module> ({script}:13)"]
    assert f"# DXT, opened by: load ({script}:4)\n" in says("trace", seen.log)


def test_anonymized_the_lines_stay_and_names_go(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    (tmp_path / "train.py").write_text(LOADS)
    log = observe([interpreters()[KNOWN[-1]], "train.py"], cwd=tmp_path).log
    new = tmp_path / "new.darshan"
    subprocess.run([iolens, "convert", "--anonymize", log, new], check=True)
    with Dataset(new) as data:
        found = {row["stack"] for row in data.rows("SELECT stack FROM sites WHERE stack LIKE '%:13)'")}
    pattern = re.compile(r"\w{8} \((\S+):4\)\n\w{8} \(\1:1[01]\)\n<module> \(\1:13\)")
    assert len([stack for stack in found if pattern.fullmatch(stack)]) == 2
    assert not [stack for stack in found if re.search(r"train|load|main|pytest", stack)]


def test_merged_logs_keep_the_lines(observe: Observe, tmp_path: Path, iolens: Path) -> None:
    (tmp_path / "train.py").write_text(LOADS)
    logs = [
        observe([interpreters()[KNOWN[-1]], "train.py"], cwd=tmp_path).log,
        observe(["true"], cwd=tmp_path).log,
    ]
    merged = tmp_path / "merged.darshan"
    subprocess.run([iolens, "merge", "-o", merged, *logs], check=True)
    (stack,) = stacks(merged)["first"]
    assert {stack} == stacks(logs[0])["first"]
    assert len(stack) == 3


def test_a_killed_process_has_its_lines(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text("import os\nopen('before', 'w')\nos.kill(os.getpid(), 9)\n")
    seen = observe([interpreters()[KNOWN[-1]], "killed.py"], cwd=tmp_path)
    assert stacks(seen.log)["before"] == {(f"<module> ({tmp_path}/killed.py:2)",)}


@every
def test_in_subinterpreters_there_are_no_lines(
    observe: Observe, tmp_path: Path, version: tuple[int, ...]
) -> None:
    (tmp_path / "two.py").write_text(
        "try:\n    import _xxsubinterpreters as other\nexcept ImportError:\n    import _interpreters as other\n"
        "open('first', 'w')\n"
        "one = other.create()\n"
        "(getattr(other, 'exec', None) or other.run_string)(one, \"\\n\\nopen('inside', 'w')\")\n"
        "other.destroy(one)\n"
        "open('last', 'w')\n"
    )
    seen = observe([interpreters()[version], "two.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    found = stacks(seen.log)
    script = tmp_path / "two.py"
    assert found["inside"] == {()}
    assert found["first"] == {(f"<module> ({script}:5)",)}
    assert found["last"] == {(f"<module> ({script}:9)",)}


HANDLER = """\
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int number;

static void open_one(int signal)
{
	int saved = errno;
	char name[16];
	sprintf(name, "s%d", number++);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	errno = saved;
}

void begin(void)
{
	struct sigaction action = {.sa_handler = open_one, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	struct itimerspec each = {{0, 300000}, {0, 300000}};
	timer_t timer;
	sigaction(SIGRTMIN + 3, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_settime(timer, 0, &each, NULL);
}

int opened(void)
{
	return number;
}
"""

INTERRUPTED = """\
import ctypes, gc, sys

library = ctypes.CDLL("./handler.so")

def recurse(n):
    return n and recurse(n - 1)

def count(n):
    yield from range(n)

class Dying:
    def __del__(self):
        recurse(3)

def made(k):
    space = {}
    text = "def f(x):\\n%s    return g(x)\\ndef g(x): return [y for y in range(x)]\\nf(3)"
    exec(text % ("    x += 1\\n" * (k % 7)), space)

def work():
    k = 0
    while library.opened() < 2000:
        k += 1
        made(k)
        recurse(50)
        sum(count(20))
        [Dying() for _ in range(3)]
        try:
            int("x")
        except ValueError:
            pass
        if k % 100 == 0:
            gc.collect()

library.begin()
work()
"""


@every
def test_a_handler_may_interrupt_the_interpreter_anywhere(
    observe: Observe, tmp_path: Path, version: tuple[int, ...]
) -> None:
    (tmp_path / "handler.c").write_text(HANDLER)
    (tmp_path / "work.py").write_text(INTERRUPTED)
    command = ["cc", "-shared", "-fPIC", "-o", "handler.so", "handler.c", "-lrt"]
    subprocess.run(command, cwd=tmp_path, check=True)
    seen = observe([interpreters()[version], "work.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    opened = {name: found for name, found in stacks(seen.log).items() if re.fullmatch(r"s\d+", name)}
    found = {name: stack for name, (stack,) in opened.items()}
    assert len(found) >= 1900
    outermost = (f"<module> ({tmp_path}/work.py:{INTERRUPTED.splitlines().index('work()') + 1})",)
    known = re.compile(
        r"(work|made|recurse|count|__del__|f|g|<module>|<listcomp>) \((.*/work\.py|<string>):\d+\)"
    )
    lines = {line for stack in found.values() for line in stack}
    assert [line for line in lines if not known.fullmatch(line)] == []
    short = [stack for stack in found.values() if 0 < len(stack) < 8 and stack[-1:] != outermost]
    assert len(short) <= 40 and sum(map(bool, found.values())) >= 1800


THREADS = """\
import gc, threading

def opener(k):
    space = {"k": k}
    for n in range(200):
        exec(compile("\\n" * n + "open('t%%d_%d' %% k, 'w').close()" % n, "made_%d.py" % n, "exec"), space)
        if n % 50 == 0:
            gc.collect()

threads = [threading.Thread(target=opener, args=(k,)) for k in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@every
def test_threads_that_make_code_and_free_it_have_the_lines_of_each(
    observe: Observe, tmp_path: Path, version: tuple[int, ...]
) -> None:
    """Code objects get the addresses of others that are gone."""
    (tmp_path / "threads.py").write_text(THREADS)
    seen = observe([interpreters()[version], "threads.py"], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    found = stacks(seen.log)
    for k in range(8):
        for n in range(200):
            ((first, *_),) = found[f"t{k}_{n}"]
            assert first == f"<module> ({tmp_path}/made_{n}.py:{n + 1})"


def test_of_an_unknown_version_there_are_no_lines_and_the_summary_says_so(
    observe: Observe, tmp_path: Path, run_iolens: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    others = [version for version in interpreters() if version not in KNOWN]
    if not others:
        pytest.skip("no other CPython")
    program = interpreters()[others[0]]
    seen = observe([program, "-c", "open('a', 'w')"], cwd=tmp_path)
    assert stacks(seen.log)["a"] == {()}
    text = " ".join(run_iolens(["info", seen.log]).stdout.split())
    assert re.search(rf"Lines of Python {names(others[0])}\.\d+ in \S+ are not recorded", text)
    (row,) = {row["interface"]: row for row in seen.sections["unrecorded"]}.values()
    assert (row["reason"], row["interface"].startswith(f"Python {names(others[0])}.")) == ("no_lines", True)


def test_programs_without_python_have_no_column(observe: Observe, tmp_path: Path) -> None:
    seen = observe(["cp", "/proc/version", "copied"], cwd=tmp_path)
    assert list(seen.sections["sites"][0]) == ["interface", "module", "build_id", "offset", "file", "ranks"]
