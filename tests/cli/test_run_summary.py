"""The summary of `iolens run`, as text and as JSON: the numbers of the log, in few lines that fit a terminal."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from interfaces import LIBC
from observed import Observe, Observed

WIDTH, LINES = 100, 23
WRITER = "dd if=/dev/zero of=big bs=100000 count=30 status=none; for i in 1 2 3; do cat big >/dev/null; done"


class Summary:
    """The text on stderr as label -> rest of the line."""

    def __init__(self, seen: Observed) -> None:
        text = seen.done.stderr.decode()
        start = text.index("\niolens: ")
        self.lines = text[start + 1 :].splitlines()
        self.title = self.lines[0].removeprefix("iolens: ")
        self.by_label: dict[str, str] = {}
        for line in self.lines[1:]:
            if line.startswith("  ") and line[2] != " ":
                self.by_label[line[2:16].strip()] = line[16:]

    def __getitem__(self, label: str) -> str:
        return self.by_label[label]


@pytest.fixture
def summary(observe: Observe, tmp_path: Path) -> Any:
    def run(command: list[str], **settings: Any) -> Summary:
        return Summary(observe(command, options=(), cwd=tmp_path, **settings))

    return run


def test_a_typical_one(summary: Any, tmp_path: Path) -> None:
    s = summary(["sh", "-c", WRITER])
    command, shown = f"sh -c {WRITER}", WIDTH - 8 - 28
    assert s.title == f"{command[:shown]} [{len(command) - shown} characters more]"
    assert s["run time"].endswith(" s, 5 processes") or s["run time"].endswith(" ms, 5 processes")
    assert " of the run time: reading " in s["time in I/O"]
    assert s["posix"].startswith("read 8.6 MiB in ") and "; wrote 2.9 MiB in 30 calls at " in s["posix"]
    assert s["read again"].startswith("5.7 MiB of 8.6 MiB, most from ")
    assert s["read again"].endswith("/big, read 3.0 times over")
    assert s["log"].endswith(".darshan")
    assert any("  wrote    2.9 MiB  " in line and line.endswith("/big") for line in s.lines)


def test_one_of_everything_is_singular(summary: Any) -> None:
    s = summary(["dd", "if=/dev/zero", "of=one", "bs=10", "count=1", "status=none"])
    assert s["run time"].endswith(", 1 process")
    assert s["posix"].startswith("wrote 10 B in 1 call at ")
    assert "  the only file" in s.lines


def test_a_program_without_io(summary: Any) -> None:
    s = summary(["true"])
    assert s["time in I/O"] == "none"
    assert s["unexplained"] == "nothing"
    assert [line[:16].strip() for line in s.lines[1:]] == [
        "run time",
        "time in I/O",
        "unexplained",
        "log",
        "verdict",
        "next",
    ]
    assert s["verdict"] == "I/O is not the cause here: 0.0 % of the run time"
    assert "nan" not in "".join(s.lines) and "inf" not in "".join(s.lines)


def test_a_killed_program(summary: Any) -> None:
    """Who waited for it has read the kernel's counts first."""
    s = summary(["sh", "-c", "echo >file; kill -9 $$"])
    assert s["unexplained"].startswith("read ") and "unknown" not in s["unexplained"]


def test_some_killed_of_several(summary: Any) -> None:
    s = summary(["bash", "-c", "bash -c 'echo >file; kill -9 $$' 2>/dev/null; true"])
    assert s["unexplained"].startswith("read ") and len(s["unexplained"]) + 16 <= WIDTH
    assert "unknown of 1 process: killed, confined, or still running" in [line.strip() for line in s.lines]


def test_what_cannot_be_observed_is_told(summary: Any, tmp_path: Path) -> None:
    program = tmp_path / "static"
    source = "int main(void) { return 0; }"
    made = subprocess.run(
        ["cc", "-static", "-x", "c", "-", "-o", program], input=source, text=True, check=False
    )
    if made.returncode:
        pytest.skip("no static libc")
    s = summary(["sh", "-c", f"{program}; {program}; true"])
    assert s["unobserved"].startswith("2 programs: ") and s["unobserved"].endswith(
        "/static, statically linked, ..."
    )
    s = summary(["sh", "-c", f"exec {program}"])
    assert s["unobserved"].startswith("1 program: ") and s["unobserved"].endswith(
        "/static, statically linked"
    )
    s = summary(["env", "-i", "/bin/true"])
    assert s["unobserved"].startswith("1 program: ") and "without LD_PRELOAD" in s["unobserved"]
    assert "unobserved" not in summary(["env", "true"]).by_label


def test_the_start_up_of_python_is_told(summary: Any) -> None:
    s = summary(["/usr/bin/python3", "-c", "import json, logging, subprocess, unittest"])
    assert " of Python code and libraries in " in s["start-up"]
    assert "Python read " in s["system files"]
    assert "start-up" not in summary(["true"]).by_label


def test_the_time_before_the_first_data_is_told(summary: Any, tmp_path: Path) -> None:
    """Files of packages are not the program's data, nor is what it prints."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "version.json").write_text("{}")
    (tmp_path / "data").write_bytes(b"x")
    work = "import time; open('site-packages/version.json').read(); time.sleep(0.3); open('data').read(); print(1)"
    program = f"import json, logging, subprocess, unittest; {work}"
    s = summary(["/usr/bin/python3", "-c", program])
    said = r"start-up before its first data the program spent ([\d.]+) (\w+) of [\d.]+ \w+: (\d+) Python files \("
    found = re.search(said, " ".join(" ".join(s.lines).split()))
    assert found and 10 <= int(found[3]) <= 500
    spent = float(found[1]) / (1000 if found[2] == "ms" else 1)
    assert 0.3 <= spent < 30
    assert "before its first data" not in " ".join(summary(["/usr/bin/python3", "-c", "import json"]).lines)


def test_python_code_is_data_where_no_python_runs(summary: Any, tmp_path: Path) -> None:
    """An archiver's input: 500 modules of 10 KiB. Where a Python runs as well they may be its imports."""
    code = tmp_path / "code"
    code.mkdir()
    for n in range(500):
        (code / f"module_{n}.py").write_text("# " + "x" * 10_000)
    s = summary(["tar", "-cf", "code.tar", "code"])
    assert "start-up" not in s.by_label
    assert "before its first data" not in " ".join(s.lines)
    both = ["sh", "-c", "/usr/bin/python3 -c 1; tar -cf code.tar code"]
    assert "start-up" in summary(both).by_label


def test_what_is_no_file_is_told_by_kind(summary: Any) -> None:
    s = summary(["sh", "-c", "dd if=/dev/zero bs=1000 count=50 status=none | dd bs=1000 status=none | wc -c"])
    assert s["not files"] == "pipes read 97.7 KiB, wrote 97.7 KiB; devices read 48.8 KiB"


def test_small_accesses_are_told_when_there_are_many(summary: Any) -> None:
    s = summary(["dd", "if=/dev/zero", "of=small", "bs=10", "count=1500", "status=none"])
    assert s["small"] == "100 % of 1,500 reads and writes through posix move at most 10 KiB"
    assert "small" not in summary(["dd", "if=/dev/zero", "of=s", "bs=10", "count=5", "status=none"]).by_label


def test_long_and_wild_names_stay_on_their_line(summary: Any, tmp_path: Path) -> None:
    names = ["ö" * 120, "\033[31mred", "new\nline", "x" * 200]
    script = "import sys\nfor name in sys.argv[1:]:\n    open(name, 'wb', buffering=0).write(b'x')"
    s = summary(["/usr/bin/python3", "-S", "-c", script, *names])
    text = "\n".join(s.lines)
    assert "\033" not in text and "\\x1b[31mred" in text and "new\\nline" in text
    assert [line for line in s.lines if len(line) > WIDTH] == []
    assert text.encode().decode() == text


@pytest.mark.parametrize(
    "command",
    [
        ["sh", "-c", WRITER],
        ["bash", "-c", "for i in $(seq 200); do echo text >$i.txt; cat $i.txt >/dev/null; done"],
        ["/usr/bin/python3", "-c", "import json, logging, subprocess; subprocess.run(['ls', '/'])"],
    ],
)
def test_it_fits_a_terminal(summary: Any, command: list[str]) -> None:
    s = summary(command)
    assert len(s.lines) <= LINES
    assert [line for line in s.lines if len(line) > WIDTH] == []
    assert [line for line in s.lines if line.strip().startswith("%")] == []


def read_json(observe: Observe, tmp_path: Path, command: list[str]) -> tuple[Observed, dict[str, Any]]:
    seen = observe(command, options=("-q", "--json", str(tmp_path / "summary.json")), cwd=tmp_path)
    return seen, json.loads((tmp_path / "summary.json").read_text())


def test_json_holds_the_numbers_of_the_log(observe: Observe, tmp_path: Path) -> None:
    script = f"{WRITER}; printf 'a\\nb\\n' >text; read x <text; sort text | tee copy; kill -9 $$"
    seen, found = read_json(observe, tmp_path, ["bash", "-c", script])
    assert seen.done.returncode == -9
    assert found["log"] == str(seen.log)
    processes = seen.sections["process"]
    assert found["processes"] == len(processes)
    assert (found["unfinished"], found["unseen_unknown"]) == (1, 0)
    assert found["unseen_read"] == sum(max(0, int(p["unseen_read"])) for p in processes)
    assert found["reread_bytes"] == 6_000_004
    for interface in LIBC:
        sums = found["interfaces"][interface.lower()]
        for field in ("reads", "writes", "bytes_read", "bytes_written"):
            assert sums[field] == seen.total(interface, field.upper()), (interface, field)
        assert sums["records"] == sum(module == interface for module, _, _ in seen.records)
        for kind in ("read", "write", "meta"):
            wanted = sum(
                float(row[f"{interface}_F_{kind.upper()}_TIME"])
                for (module, _, _), row in seen.records.items()
                if module == interface
            )
            assert sums[f"{kind}_time"] == pytest.approx(wanted, abs=1e-4)
    for row in ("opens", "bytes_read", "bytes_written"):
        for name, values in found["excluded"].items():
            assert values[row] == seen.class_total(row, name)
    for name, values in found["operations"].items():
        rows = [row for row in seen.sections["operation"] if row["name"] == name]
        assert values["count"] == sum(int(row["count"]) for row in rows)


def test_json_names_every_file(observe: Observe, tmp_path: Path) -> None:
    seen, found = read_json(
        observe, tmp_path, ["bash", "-c", "for i in 1 2 3 4 5 6 7 8 9; do cat $0 >$i; done", "/etc/passwd"]
    )
    files = {file["name"]: file for file in found["files"]}
    assert files.keys() == seen.listed_files()
    size = Path("/etc/passwd").stat().st_size
    for i in range(1, 10):
        file = files[str(tmp_path / str(i))]
        assert (file["bytes_written"], file["size"], file["bytes_read"], file["reads"]) == (size, size, 0, 0)
    # Each time is printed with ten digits: sums that are alike may differ in the last one.
    times = [
        round(sum(file[f"{kind}_time"] for kind in ("read", "write", "meta")), 9) for file in found["files"]
    ]
    assert times == sorted(times, reverse=True)


def test_the_time_in_io_is_a_union(observe: Observe, tmp_path: Path) -> None:
    """Four processes that wait at the same time wait once."""
    os_read = "import os, time; r, w = os.pipe(); os.mkfifo(f'fifo{os.getpid()}')"
    script = f"{os_read}; fd = os.open('file' + str(os.getpid()), 66); [os.write(fd, b'x' * 10**6) for _ in range(50)]"
    line = f'for i in 1 2 3 4; do /usr/bin/python3 -S -c "{script}" & done; wait'
    _, found = read_json(observe, tmp_path, ["bash", "-c", line])
    apart = sum(v[f"{k}_time"] for v in found["interfaces"].values() for k in ("read", "write", "meta"))
    assert 0 < found["io_time"] <= found["run_time"]
    assert found["io_time"] <= apart * 1.01 + 0.01
    parts = [found[f"io_{kind}_time"] for kind in ("read", "write", "meta")]
    assert sum(parts) == pytest.approx(found["io_time"], rel=1e-6)


def test_json_without_io(observe: Observe, tmp_path: Path) -> None:
    _, found = read_json(observe, tmp_path, ["true"])
    assert (found["io_time"], found["accesses"], found["files"], found["interfaces"]) == (0, 0, [], {})


def test_a_summary_of_a_log_that_darshan_wrote(run_iolens: Any, corpus: Path) -> None:
    for log in sorted((corpus / "logs").glob("*.darshan"))[:10]:
        done = run_iolens(["files", "--json", log])
        assert done.returncode in (0, 3)
        if done.returncode == 0:
            assert isinstance(json.loads(done.stdout)["files"], list)


def test_the_summary_comes_in_one_piece(observe: Observe, tmp_path: Path) -> None:
    """What a process left behind says meanwhile stays before or after it."""
    script = "(while [ ! -e stop ]; do echo noise >&2; done) & sleep 0.2"
    seen = subprocess.Popen(
        [observe.iolens, "run", "-o", tmp_path / "a.darshan", "--", "bash", "-c", script],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    assert seen.stderr
    text = b""
    while b"a.darshan\n" not in text:
        text += seen.stderr.read1(65536)
    (tmp_path / "stop").touch()
    seen.communicate(timeout=300)
    own = text[text.index(b"\niolens: ") :].partition(b"a.darshan\n")[0]
    assert b"noise" not in own.splitlines()
