"""Phases that a program names: whose I/O is whose, by thread and nesting, and what a killed process keeps."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Callable

import places
import pytest
import shown
from observed import Observe, Observed

HEADER = places.ROOT / "api" / "iolens_phase.h"
Build = Callable[..., Path]

HEAD = """\
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "iolens_phase.h"

static char buffer[10000];
static int out(const char *name) { return open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600); }
"""


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile the body of main(), or of what stands before it, too."""

    def made(body: str, *options: str, before: str = "", compiler: str = "cc") -> Path:
        source = tmp_path / ("program.c" if compiler == "cc" else "program.cc")
        source.write_text(f"{HEAD}{before}\nint main(void)\n{{\n{body}\n\treturn 0;\n}}\n")
        program = tmp_path / "program"
        flags = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-Wno-unused-function"]
        flags += ["-Wno-unused-variable", "-pthread"]
        include = f"-I{HEADER.parent}"
        subprocess.run([compiler, *flags, *options, include, "-o", program, source], check=True)
        return program

    return made


def phases(seen: Observed, *columns: str) -> dict[tuple[str, str], tuple[int, ...]]:
    """(rank, path) -> these columns."""
    return {
        (row["rank"], row["phase"]): tuple(int(row[column]) for column in columns)
        for row in seen.sections.get("phases", [])
    }


NESTED = """\
	int fd = out("out");
	for (int i = 0; i < 5; i++) {
		iolens_phase_begin("step");
		write(fd, buffer, 100);
		iolens_phase_begin("checkpoint");
		for (int k = 0; k < 4; k++)
			write(fd, buffer, 1000);
		FILE *f = fopen("stream", "w");
		fwrite(buffer, 1, 500, f);
		fclose(f);
		iolens_phase_end("checkpoint");
		iolens_phase_end("step");
	}
	write(fd, buffer, 7);
"""
COUNTED = ("count", "open", "reads", "writes", "bytes_written")


@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pic"), ("-O2", "-fno-plt"), ("-std=c99",)])
def test_each_phase_has_what_is_not_in_one_within_it(
    build: Build, observe: Observe, tmp_path: Path, options: tuple[str, ...]
) -> None:
    seen = observe([build(NESTED, *options)], cwd=tmp_path)
    assert phases(seen, *COUNTED) == {
        ("0", "step"): (5, 0, 0, 5, 500),
        ("0", "step/checkpoint"): (5, 0, 0, 25, 22500),
    }
    by_interface = {
        (row["phase"], row["interface"]): (int(row["writes"]), int(row["bytes_written"]))
        for row in seen.sections["phase_interfaces"]
    }
    assert by_interface == {
        ("step", "posix"): (5, 500),
        ("step/checkpoint", "posix"): (20, 20000),
        ("step/checkpoint", "stdio"): (5, 2500),
    }
    steps = [(row["phase"], row["count"], row["bytes_written"]) for row in seen.sections["steps"]]
    assert steps == [("step/checkpoint", "1", "4500"), ("step", "1", "4600")] * 5


def test_times_are_those_of_the_calls(build: Build, observe: Observe, tmp_path: Path) -> None:
    seen = observe([build(NESTED)], cwd=tmp_path)
    kinds = ("read_time", "write_time", "meta_time")
    inside = sum(float(row[kind]) for row in seen.sections["phases"] for kind in kinds)
    everything = sum(
        float(row[kind]) for row in seen.sections["timeline"] for kind in ("read", "write", "meta")
    )
    assert 0 < inside <= everything * 1.01
    for row in seen.sections["phases"]:
        assert 0 < float(row["shortest"]) <= float(row["longest"]) <= float(row["time"]) * 1.001
        assert 0 < float(row["first"]) < float(row["last"])


@pytest.mark.parametrize("options", [(), ("-static",)])
def test_without_iolens_they_do_nothing(build: Build, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = subprocess.run([build(NESTED, *options)], cwd=tmp_path, check=False)
    assert (done.returncode, (tmp_path / "out").stat().st_size) == (0, 5 * 4100 + 7)


def test_a_log_without_phases_has_no_table_of_them(observe: Observe) -> None:
    assert not {"phases", "phase_interfaces", "steps"} & set(observe(["true"]).sections)


def test_a_scope_of_cplusplus(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = '\tint fd = out("out");\n\t{ iolens_phase here("scope"); write(fd, buffer, 10); }\n\twrite(fd, buffer, 5);'
    seen = observe([build(body, compiler="c++")], cwd=tmp_path)
    assert phases(seen, "count", "bytes_written") == {("0", "scope"): (1, 10)}


def test_a_killed_process_keeps_what_it_did_in_open_phases(
    build: Build, observe: Observe, tmp_path: Path
) -> None:
    body = """\
	int fd = out("out");
	iolens_phase_begin("run");
	write(fd, buffer, 100);
	iolens_phase_begin("dump");
	write(fd, buffer, 1000);
	raise(SIGKILL);"""
    seen = observe([build(body)], cwd=tmp_path)
    assert seen.done.returncode == -signal.SIGKILL
    assert phases(seen, *COUNTED) == {("0", "run"): (0, 1, 0, 1, 100), ("0", "run/dump"): (0, 1, 0, 1, 1000)}


def test_an_end_closes_what_was_begun_within(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = """\
	int fd = out("out");
	iolens_phase_end("never begun");
	iolens_phase_end(0);
	iolens_phase_begin("a");
	iolens_phase_begin("left");
	write(fd, buffer, 10);
	iolens_phase_end("a");
	write(fd, buffer, 100);
	iolens_phase_begin("b");
	write(fd, buffer, 1000);
	iolens_phase_end(0);
	write(fd, buffer, 100);"""
    seen = observe([build(body)], cwd=tmp_path)
    assert phases(seen, *COUNTED) == {
        ("0", "a"): (1, 0, 0, 0, 0),
        ("0", "a/left"): (1, 0, 0, 1, 10),
        ("0", "b"): (1, 0, 0, 1, 1000),
    }


def test_what_finds_no_room_is_folded(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = """\
	int fd = out("out");
	char name[100];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "phase %d", i);
		iolens_phase_begin(name);
		write(fd, buffer, 10);
		iolens_phase_end(name);
	}"""
    told = phases(observe([build(body)], cwd=tmp_path), "count", "bytes_written")
    assert len(told) == 64
    assert told["0", "<other phases>"] == (37, 370)
    assert told["0", "phase 62"] == (1, 10)


def test_deep_recursion(build: Build, observe: Observe, tmp_path: Path) -> None:
    """Beyond the 16th level all is the 16th's."""
    before = """\
static void down(int fd, int left)
{
	iolens_phase_begin("f");
	write(fd, buffer, 1);
	if (left)
		down(fd, left - 1);
	iolens_phase_end("f");
}"""
    body = '\tint fd = out("out");\n\tdown(fd, 29);\n\tdown(fd, 0);'
    told = phases(observe([build(body, before=before)], cwd=tmp_path), "count", "writes")
    assert told["0", "f"] == (2, 2)
    assert told["0", "/".join("f" * 16)] == (1, 15)
    assert len(told) == 16


def test_many_steps_are_joined_and_none_is_lost(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = """\
	int fd = out("out");
	for (int i = 0; i < 1000; i++) {
		iolens_phase_begin("step");
		write(fd, buffer, i);
		iolens_phase_end("step");
	}"""
    seen = observe([build(body)], cwd=tmp_path)
    steps = seen.sections["steps"]
    assert 64 < len(steps) <= 256
    assert sum(int(row["count"]) for row in steps) == 1000
    assert sum(int(row["bytes_written"]) for row in steps) == 999 * 500
    starts = [float(row["start"]) for row in steps]
    assert starts == sorted(starts)


THREADS = """\
static void *plain(void *fd)
{
	write(*(int *)fd, buffer, 1000);
	return 0;
}
static void *own(void *fd)
{
	write(*(int *)fd, buffer, 100);
	iolens_phase_begin("mine");
	write(*(int *)fd, buffer, 10);
	iolens_phase_begin("never ended");
	write(*(int *)fd, buffer, 1);
	return 0;
}
static void run(void *work(void *), int *fd)
{
	pthread_t t;
	pthread_create(&t, 0, work, fd);
	pthread_join(t, 0);
}"""


def test_threads(build: Build, observe: Observe, tmp_path: Path) -> None:
    """Who has no phase counts for the one that began first; after it, for none."""
    body = """\
	int fd = out("out");
	run(plain, &fd);
	iolens_phase_begin("main");
	run(plain, &fd);
	run(own, &fd);
	iolens_phase_end("main");
	run(plain, &fd);"""
    told = phases(observe([build(body, before=THREADS)], cwd=tmp_path), "count", "open", "bytes_written")
    assert told == {
        ("0", "main"): (1, 0, 1100),
        ("0", "mine"): (1, 0, 10),
        ("0", "mine/never ended"): (1, 0, 1),
    }


def test_a_forked_child_is_in_no_phase_of_its_parent(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = """\
	int fd = out("out");
	iolens_phase_begin("parent");
	write(fd, buffer, 10);
	if (fork() == 0) {
		write(fd, buffer, 100);
		iolens_phase_begin("child");
		write(fd, buffer, 1000);
		iolens_phase_end("child");
		_exit(0);
	}
	wait(0);
	iolens_phase_end("parent");"""
    seen = observe([build(body)], cwd=tmp_path)
    assert phases(seen, "count", "bytes_written") == {("0", "parent"): (1, 10), ("1", "child"): (1, 1000)}


def test_errno_is_kept(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = (
        '\terrno = 77;\n\tiolens_phase_begin("a");\n\tiolens_phase_end("a");\n\treturn errno == 77 ? 0 : 1;'
    )
    assert observe([build(body)], cwd=tmp_path).done.returncode == 0


def test_names_are_pseudonyms_in_an_anonymized_log(
    build: Build,
    observe: Observe,
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    seen = observe([build(NESTED)], cwd=tmp_path)
    new = tmp_path / "new.darshan"
    assert run_iolens(["convert", "--anonymize", seen.log, new]).returncode == 0
    text = run_iolens(["show", "--ext", new]).stdout
    assert "checkpoint" not in text
    assert [row["count"] for row in shown.sections(text)["phases"]] == ["5", "5"]
