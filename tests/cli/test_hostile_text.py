"""No command prints a control character of a log, a job or a path: each is run, on a terminal, on hostile ones.

The commands are those of the sources: a new one needs a row here. What programs read has rules of its own and is not
looked at: CSV and JSON that do not go to a terminal, options for a linker.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import places
import pytest
from iolens.shown import clean

sys.path.insert(0, str(places.ROOT / "tools"))
import commands as table

# Commands to a terminal in the forms that it obeys, ends of lines, turned writing, bytes that are no UTF-8.
TEXT = (
    b"\x1b]0;T\a\x1bc\nINJECTED\r\x7f\b\x0b\x0c\xc2\x9b7m\x9b1m\xc2\x85\xe2\x80\xa8"
    b"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xff"
)
HOSTILE = os.fsdecode(TEXT)
ESCAPED = "\\x1b]0;T\\x07\\x1bc\\nINJECTED\\r\\x7f"
OURS = re.compile(r"\r?\x1b\[(?:\?[0-9;]+[hl]|[0-9;]*[mKJHA])")
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\udc80-\udcff]|\nINJECTED")


def on_terminal(command: list[Any], keys: bytes = b"", stop: bool = False, **more: Any) -> tuple[int, str]:
    """Its exit code, and what standard output and standard error got, both a terminal."""
    master, end = pty.openpty()
    tty.setraw(end)
    said = b""
    process = subprocess.Popen(
        [os.fsencode(str(word)) for word in command], stdin=end if keys else subprocess.DEVNULL,
        stdout=end, stderr=end, start_new_session=True, **more,
    )  # fmt: skip
    os.close(end)
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        if keys and said:
            os.write(master, keys)
            keys = b""
        if not select.select([master], [], [], 1)[0]:
            if stop and said:
                os.kill(process.pid, signal.SIGTERM)
            continue
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # the last holder has closed it
            break
        if not piece:
            break
        said += piece
    os.close(master)
    try:
        code = process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return code, said.decode("utf-8", "surrogateescape")


def what_a_terminal_obeys(said: str) -> list[str]:
    """With what is around it."""
    said = OURS.sub("", said).replace("\r\n", "\n")
    return [said[max(0, m.start() - 60) : m.end() + 40] for m in FORBIDDEN.finditer(said)]


class Scene(NamedTuple):
    """What is hostile: where it stands, programs, logs, a job that runs."""

    folder: Path
    program: Path
    log: Path
    """By iolens run, in this folder, of this program and files so named."""
    forged: Path
    """The same with TEXT before each text of it."""
    env: dict[str, str]
    job: str


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, iolens: Path) -> Iterator[Scene]:
    top = tmp_path_factory.mktemp("hostile")
    folder, stores, home = top / f"folder{HOSTILE}", top / "stores", top / f"home{HOSTILE}"
    for made in (folder, stores, home):
        made.mkdir()
    program = folder / f"program{HOSTILE}"
    shutil.copy("/bin/bash", program)
    env = {**os.environ, "IOLENS_TMPDIR": str(stores), "NO_COLOR": "1", "HOME": str(home), "LANG": "C.UTF-8"}
    env |= {"IOLENS_PYTHON": sys.executable, "LC_ALL": "C.UTF-8", "COLUMNS": "160", "LINES": "60"}
    log = folder / f"log{HOSTILE}.darshan"
    script = 'for n in 1 2 3; do echo hello > "$1$n"; read line < "$1$n"; done; mkdir "d$1"; : < /etc/passwd; "$2" "$3"'
    lines = folder / f"lines{HOSTILE}.py"
    lines.write_text("def read():\n    return open(__file__, 'rb', buffering=0).read(9)\n\n\nread()\n")
    command = [
        iolens,
        "run",
        "-q",
        "--trace",
        "-o",
        log,
        "--",
        program,
        "-c",
        script,
        HOSTILE,
        f"file{HOSTILE}",
        sys.executable,
        lines,
    ]
    subprocess.run(list(map(str, command)), cwd=folder, env=env, check=True)
    forged = folder / f"forged{HOSTILE}.darshan"
    forge = places.make("tests/format/format-hostile-log")
    subprocess.run([forge, log, forged, TEXT], check=True)
    fifo = folder / f"fifo{HOSTILE}"
    os.mkfifo(fifo)
    script = 'exec 3<> "$1"; echo x > "$1.out"; touch "$2"; read -u 3 line'
    command = [iolens, "run", "-q", "-o", folder / "of-job.darshan", "--", program, "-c", script]
    command += [HOSTILE, fifo, top / "ready"]
    job = subprocess.Popen(list(map(str, command)), cwd=folder, env=env, start_new_session=True)
    end = time.monotonic() + 60
    while not (top / "ready").exists():
        assert time.monotonic() < end and job.poll() is None
        time.sleep(0.05)
    (session,) = stores.glob("iolens-*")
    try:
        yield Scene(folder, program, log, forged, env, session.name)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


class Case(NamedTuple):
    words: list[Any]
    codes: tuple[int, ...] = (0,)
    keys: bytes = b""
    stop: bool = False
    """It serves until it is ended."""


def native(s: Scene, tmp: Path) -> dict[str, list[Case]]:
    """Of the commands in C: how they are run."""
    cut = s.folder / f"cut{HOSTILE}.darshan"
    if not cut.exists():
        cut.write_bytes(s.log.read_bytes()[:2000])
    spool, area, new = tmp / f"spool{HOSTILE}", tmp / "area", tmp / "new"
    for made in (spool, area):
        made.mkdir(exist_ok=True)
    (spool / f"x{HOSTILE}.darshan").write_text("no log")
    run = ["run", "-o", tmp / f"run{HOSTILE}.darshan", "--", s.program, "-c", "echo x > y"]
    forms = [Case(["show", *form, log]) for form in ([], ["--all", "--ext"], ["--csv"], ["--json", "--ext"],
             ["--file"], ["--perf"]) for log in (s.log, s.forged)]  # fmt: skip
    return {
        "check": [Case(["check", s.log, s.forged], (0, 1)), Case(["check", cut], (3, 4))],
        "collect": [Case(["collect", spool, area], (0, 3, 4))],
        "completion": [Case(["completion", "bash"])],
        "config": [Case(["config"], (0, 1)), Case(["config", f"--{HOSTILE}"], (2,))],
        "convert": [Case(["convert", s.log, s.forged], (3,)), Case(["convert", s.folder, new], (3,)),
                    Case(["convert", "--annotate", HOSTILE, s.log, new], (2,))],
        "diff": [Case(["diff", s.log, s.forged], (0, 1)), Case(["diff", "--json", s.log, s.forged], (0, 1))],
        "disable": [Case(["disable"])],
        "enable": [Case(["enable"])],
        "doctor": [Case(["doctor", "--", s.program], (0, 1, 3)), Case(["doctor", "--job", HOSTILE], (0, 1, 2, 3)),
                   Case(["doctor", s.forged], (0, 1, 2, 3))],
        "files": [Case(["files", *form, log]) for form in ([], ["--top", "all"], ["--json"], ["--sites"])
                  for log in (s.log, s.forged)],
        "info": [Case(["info", *form, log]) for form in ([], ["--json"]) for log in (s.log, s.forged)],
        "merge": [Case(["merge", "-o", s.log, s.forged], (3,)), Case(["merge", "-o", new, s.log, s.log], (2,))],
        "peak": [Case(["peak", "--seconds", "0.1", "--size", "4M", s.folder], (0, 2)),
                 Case(["peak", s.log], (2,))],
        "recover": [Case(["recover", "--list", HOSTILE], (0, 2, 3)),
                    Case(["recover", "--live", "-o", tmp / f"live{HOSTILE}", s.job], (0, 4)),
                    Case(["recover", s.log], (2, 3))],
        "run": [Case(run), Case(["run", "-o", s.log, "--", "true"], (2,)), Case(["run", "--", HOSTILE], (127,))],
        "show": [*forms, Case(["show", cut], (3, 4))],
        "top": [Case(["top"], keys=b"q"), Case(["top", s.job], keys=b"q"), Case(["top", "--json"]),
                Case(["top", HOSTILE], (2, 3))],
        "trace": [Case(["trace", *form, s.log]) for form in ([], ["--csv"], ["--json"])],
        "watch": [Case(["watch", "--once"], (0, 1)), Case(["watch", "--once", "--json"], (0, 1))],
    }  # fmt: skip


def interpreted(s: Scene, tmp: Path) -> dict[str, list[Case]]:
    """Of those in Python."""
    to = tmp / f"to{HOSTILE}"
    select = "select * from file"
    return {
        "compare": [Case(["compare", *form, s.log, s.forged])
                    for form in (["--all"], ["--all", "--format", "markdown"], ["--json"])],
        "explain": [Case(["explain"]), Case(["explain", HOSTILE], (2,))],
        "export": [Case(["export", "--to", to / form, "--format", form, s.log, s.forged], (0, 2))
                   for form in ("csv", "json", "openmetrics", "perfetto")],
        "findings": [Case(["findings", *form, s.log, s.forged])
                     for form in ([], ["-v"], ["--json"], ["--csv"])],
        "flame": [Case(["flame", *form, s.log, s.forged])
                  for form in (["-o", f"{to}.flame"], ["--collapsed"], ["--speedscope"],
                               ["--collapsed", "--by", "calls"])],
        "kernel": [Case(["kernel", "--prefix", tmp / f"prefix{HOSTILE}"], (0, 2))],
        "lines": [*(Case(["lines", *form, s.log, s.forged])
                    for form in ([], ["--by", "function"], ["--by", "source"], ["--json"])),
                  Case(["lines", s.log, "--annotate", HOSTILE], (2,))],
        "mcp": [Case(["mcp", tmp / HOSTILE], (0, 2, 3))],
        "overhead": [Case(["overhead", "-n", "2", "--warmup", "0", "--", s.program, "-c", ":"])],
        "report": [Case(["report", "--text", s.log]), Case(["report", "--text", s.forged]),
                   Case(["report", "--json", s.forged]), Case(["report", "-o", f"{to}.html", s.log])],
        "schema": [Case(["schema"]), Case(["schema", HOSTILE], (2,))],
        "serve": [Case(["serve", "--port", "8487", "--lake", tmp / HOSTILE], (0, 2, 3), stop=True),
                  Case(["serve", HOSTILE], (2,))],
        "sql": [*(Case(["sql", "--format", form, s.log, s.forged, select])
                  for form in ("table", "lines", "json", "csv")),
                Case(["sql", s.log, f"select '{HOSTILE[:9]}' as \"a{HOSTILE[:9]}\""]),
                Case(["sql", s.log, f"select {HOSTILE[:9]}"], (2,))],
    }  # fmt: skip


def of_fleet(s: Scene, lake: Path, tmp: Path) -> dict[str, list[Case]]:
    """Of `iolens fleet`."""
    at = ["--lake", lake]
    site = tmp / "site.toml"
    spool = f'[[recipient]]\nname = "s"\nchannel = "directory"\npath = "{tmp}/spool"\n'
    site.write_text(f"[notify]\nmax_age_days = 100000\n{spool}")
    jobs = tmp / f"jobs{HOSTILE}.csv"
    jobs.write_bytes(b"JobID|User|Start|End|State\n7|" + TEXT.replace(b"\n", b"") + b"|x|y|COMPLETED\n")
    forms: list[list[str]] = [[], ["--json"], ["--csv"]]
    return {
        "accounting": [Case(["accounting", *at, jobs], (0, 2, 3, 4))],
        "archive": [Case(["archive", *at, "--to", tmp / f"to{HOSTILE}"])],
        "compact": [Case(["compact", *at])],
        "coverage": [Case(["coverage", *at, "--by", by], (0, 2)) for by in ("user", "day")],
        "export": [Case(["export", *at, "--openmetrics", to]) for to in ("-", tmp / HOSTILE)],
        "findings": [Case(["findings", *at, *form]) for form in forms],
        "history": [Case(["history", *at, app], (0, 2, 3))
                    for app in (HOSTILE, clean(f"program{HOSTILE}"))],
        "import": [Case(["import", *at, jobs], (2, 3))],
        "ingest": [Case(["ingest", *at, "--jobs", "1", s.folder, lake.parent / "area"], (0, 4))],
        "job": [Case(["job", *at, *form, "42"], (0, 2, 3)) for form in forms],
        "mark": [Case(["mark", *at, "2026-01-01", HOSTILE])],
        "notify": [Case(["notify", *at, "--site", site, "--dry-run"])],
        "recompute": [Case(["recompute", *at])],
        "restore": [Case(["restore", *at, "--job", "42", "--to", tmp / HOSTILE], (0, 2, 4))],
        "retention": [Case(["retention", *at, "--jobs", "1d"])],
        "screen": [Case(["screen", *at, "--jobs", *form]) for form in forms],
        "sql": [*(Case(["sql", *at, "--format", form, "select * from job, quarantine"])
                  for form in ("table", "lines", "json", "csv")),
                *(Case(["sql", *at, "--format", form, "select exe, path from job"])
                  for form in ("table", "lines", "json", "csv"))],
        "top": [Case(["top", *at, *form, what]) for form in forms
                for what in ("users", "applications", "files", "directories")],
        "verify": [Case(["verify", *at], (0, 3))],
    }  # fmt: skip


KNOWN = table.groups(places.ROOT / "cli")
CLI = places.ROOT / "python" / "iolens" / "cli"
NATIVE = sorted(row.name for source in table.sources(places.ROOT / "cli") for row in table.native(source))
PYTHON = sorted(
    {row.name for source in [*CLI.glob("*.py"), *CLI.glob("*/__init__.py")]
     for row in table.interpreted(source, KNOWN)} - {"fleet"}
)  # fmt: skip
FLEET = sorted(file.stem.rstrip("_") for file in (CLI / "fleet").glob("*.py") if file.stem != "__init__")


# These print no text of a log, a job or a path. What a lake keeps of a name is looked at elsewhere.
SILENT = {"completion", "enable", "kernel"}


def prints_nothing_hostile(iolens: Path, words: list[str], cases: list[Case], s: Scene, cwd: Path) -> None:
    *before, name = words
    names = False
    for case in cases:
        code, said = on_terminal([iolens, *before, *case.words], case.keys, case.stop, cwd=cwd, env=s.env)
        assert not what_a_terminal_obeys(said), case.words
        assert code in case.codes, (case.words, code, said)
        names |= "INJECTED" in said
    assert before or names != (name in SILENT)


@pytest.mark.parametrize("name", NATIVE)
def test_native_command(iolens: Path, scene: Scene, tmp_path: Path, name: str) -> None:
    prints_nothing_hostile(iolens, [name], native(scene, tmp_path)[name], scene, tmp_path)


@pytest.mark.parametrize("name", PYTHON)
def test_python_command(iolens: Path, scene: Scene, tmp_path: Path, name: str) -> None:
    prints_nothing_hostile(iolens, [name], interpreted(scene, tmp_path)[name], scene, tmp_path)


@pytest.fixture(scope="module")
def lake(iolens: Path, scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("fleet")
    area = top / "area"
    area.mkdir()
    name = "_program_id42-1_11-27-70000-1_1.darshan"
    shutil.copy(scene.log, area / f"{HOSTILE}{name}")
    shutil.copy(scene.forged, area / f"forged{HOSTILE}{name}")
    (area / f"broken{HOSTILE}{name}").write_text("no log")
    command = [iolens, "fleet", "ingest", "--jobs", "1", "--lake", top / "lake", area]
    code, said = on_terminal(command, cwd=top, env=scene.env)
    assert code in {0, 4} and not what_a_terminal_obeys(said), said
    return top / "lake"


@pytest.mark.parametrize("name", FLEET)
def test_fleet_command(iolens: Path, scene: Scene, lake: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(lake.parent, tmp_path / "fleet")
    cases = of_fleet(scene, tmp_path / "fleet" / "lake", tmp_path)[name]
    prints_nothing_hostile(iolens, ["fleet", name], cases, scene, tmp_path)


def test_the_same_escapes_in_c_and_python(iolens: Path, tmp_path: Path) -> None:
    """Every character of the basic plane, and some bytes that are none, as the name of a missing file."""
    every = [chr(c) for c in range(1, 0x10000) if not 0xD800 <= c < 0xE000 and c != ord("/")]
    every += ["\udc80", "\udcff", "\udcc2", "\U0001f600", "\U000e0001"]
    for start in range(0, len(every), 1000):
        name = "".join(every[start : start + 1000])
        done = subprocess.run([iolens, "info", os.fsencode(name)], capture_output=True, check=False)
        assert os.fsdecode(done.stderr).startswith(f"iolens: {clean(name)}: ")


def test_python_escapes_what_c_does() -> None:
    assert clean(HOSTILE).startswith(ESCAPED)
    assert clean("plain \u00e4 \u4e2d \U0001f600\u00a0") == "plain \u00e4 \u4e2d \U0001f600\u00a0"
    assert clean("\u202e\x9b\udcff") == "\\xe2\\x80\\xae\\xc2\\x9b\\xff"
    assert not FORBIDDEN.search(clean(HOSTILE))
