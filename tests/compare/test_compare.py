"""iolens compare: real runs compared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from iolens.compare import Comparison, Group, compare, match, parse_substitution, role
from iolens.compare.text import sentence, to_text
from iolens.error import IolensError
from jobs import Job, MiB
from observed import Observe


def copy_with(observe: Observe, target: Path, block: int, blocks: int) -> Path:
    return observe(["dd", "if=/dev/zero", f"of={target}", f"bs={block}", f"count={blocks}"]).log


def run(iolens: Path, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([iolens, "compare", *map(str, args)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def command() -> Path:
    """The installed command: its Python package stands beside it."""
    import sys

    return Path(sys.executable).parent / "iolens"


def test_a_role_is_a_name_without_what_varies() -> None:
    assert role("/run/42/out.0007.h5") == "/run/#/out.#.h5"
    assert role("/x/0f8fad5b-d9cb-469f-a165-70867728950e/a") == "/x/#/a"
    assert role("/old/a", [parse_substitution("^/old=/new")]) == "/new/a"
    with pytest.raises(IolensError, match="not PATTERN=REPLACEMENT"):
        parse_substitution("word")


def test_roles_are_paired_by_name_then_by_their_last_component() -> None:
    assert match([["/a/x", "/a/y", "/a/z"], ["/a/x", "/b/y", "/c/w"]]) == [
        ("/a/x", "/a/x"),
        ("/a/y", "/b/y"),
        ("/a/z", None),
        (None, "/c/w"),
    ]
    ambiguous = match([["/a/y", "/b/y"], ["/c/y"]])
    assert ambiguous == [("/a/y", None), ("/b/y", None), (None, "/c/y")]


def test_numbered_outputs_of_two_runs_are_one_row(observe: Observe, tmp_path: Path) -> None:
    logs = [copy_with(observe, tmp_path / f"out.000{n}", 4096 * n, 64) for n in (1, 2)]
    result = compare([Group("a", (str(logs[0]),)), Group("b", (str(logs[1]),))])
    row = next(r for r in result.roles if r.name.endswith("/out.#"))
    assert all(row.parts)
    assert [(p.files, p.size, p.bytes) for p in row.parts if p] == [(1, 262144, 262144), (1, 524288, 524288)]
    written = result.row("bytes_written")
    assert written.verdicts == ("same", "different")
    assert written.ratios[1] == pytest.approx(2, rel=0.01)


def test_smaller_blocks_are_more_calls(observe: Observe, tmp_path: Path, command: Path) -> None:
    big = copy_with(observe, tmp_path / "out", 1 << 20, 4)
    small = copy_with(observe, tmp_path / "out", 1 << 12, 1024)
    done = run(command, big, small, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    writes = next(m for m in result["measures"] if m["name"] == "writes")
    assert writes["verdicts"][1] == "worse"
    assert writes["samples"][1]["mean"] - writes["samples"][0]["mean"] == 1020
    assert any("one run each" in note for note in result["notes"])
    assert run(command, big, small, "--fail-on", "difference").returncode == 1
    assert "write calls" in run(command, big, small).stdout


def test_groups_are_tested_against_chance(observe: Observe, tmp_path: Path, command: Path) -> None:
    for n in range(3):
        for name, seconds in (("fast", 0.02), ("slow", 0.3)):
            observe(["sh", "-c", f"sleep {seconds}; echo > {tmp_path}/x"]).log.rename(
                tmp_path / f"{name}{n}.darshan"
            )
    groups = ["--group", f"fast={tmp_path}/fast*.darshan", "--group", f"slow={tmp_path}/slow*.darshan"]
    done = run(command, *groups, "--fail-on", "slower")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "slow is slower than fast: run time" in done.stdout
    assert "Welch t" in done.stdout
    assert "not interleaved" not in done.stdout


def test_a_page_shows_the_same(observe: Observe, tmp_path: Path, command: Path) -> None:
    logs = [copy_with(observe, tmp_path / "<b>out", 4096, 8 * n) for n in (1, 2)]
    page = tmp_path / "page.html"
    done = run(command, *logs, "--html", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert done.stdout.splitlines()[0] in text
    assert "bytes written" in text
    assert "<b>out" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_markdown_holds_names_as_text(observe: Observe, command: Path, tmp_path: Path) -> None:
    from markdown_it import MarkdownIt

    name = "a|b`c`<img src=x> *d* [e](f) @team www.x.org _g_\n# h"
    logs = [copy_with(observe, tmp_path / name, 4096, 2**n) for n in (1, 9)]
    done = run(command, *logs, "--format", "markdown", "--map", f"{tmp_path}/=")
    assert done.returncode == 0, done.stderr
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(done.stdout)
    told = page.partition("<details>")[2]
    written = name.replace("\n", "\\n").replace("<", "&lt;").replace(">", "&gt;")
    assert f'<td style="text-align:left"><code>{written}</code></td>' in told
    rows = [row.count("<td") for row in told.split("<tr>")]
    assert len(set(rows[2:])) == 1, "no name makes a column"
    assert not re.search(r"<(img|a|em|h1)\b", told)
    counted = re.search(r">write calls</td>\s*<td [^>]*>(\d+)</td>\s*<td [^>]*>(\d+)</td>", page)
    assert counted and int(counted[2]) - int(counted[1]) == 510
    assert "one run each" in page


def test_the_formats_of_a_comparison(observe: Observe, command: Path) -> None:
    log = observe(["true"]).log
    assert run(command, log, log, "--format", "text").stdout == run(command, log, log).stdout
    assert run(command, log, log, "--format", "json").stdout == run(command, log, log, "--json").stdout
    assert run(command, log, log, "--format", "markdown").stdout.startswith("### ⚪ ")


def test_wrong_input_is_one_line(observe: Observe, command: Path, tmp_path: Path) -> None:
    log = observe(["true"]).log
    for args, code, words in (
        ([log], 2, "needs two logs"),
        ([log, tmp_path / "none"], 3, "none"),
        (["--group", "x", log], 2, "NAME=PATTERN"),
        (["--group", f"x={tmp_path}/*.none", log], 3, "no such log"),
        (["--format", "html", log, log], 2, "markdown"),
        (["--map", "(=y", log, log], 2, "no regular expression"),
    ):
        done = run(command, *args)
        assert (done.returncode, done.stdout) == (code, ""), done
        assert done.stderr.startswith("iolens: ")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_log_is_as_itself(released: list[Path]) -> None:
    for log in released:
        result = compare([Group("a", (str(log),)), Group("b", (str(log),))])
        assert result.verdicts == ("same", "same"), log
        assert {v for row in result.rows for v in row.verdicts} <= {"same", "unknown"}, log
        assert all(row.parts[0] == row.parts[1] for row in result.roles), log


def of_run_times(folder: Path, *groups: list[int]) -> Comparison:
    """Groups of jobs that took so many seconds, and did the same I/O."""
    made = []
    for number, seconds in enumerate(groups):
        logs = [Job(nprocs=1, run_time=s).posix("/a", 0, write={MiB: 10}, write_time=0.1) for s in seconds]
        paths = tuple(str(j.save(folder / f"{number}-{n}.darshan")) for n, j in enumerate(logs))
        made.append(Group("AB"[number], paths))
    return compare(made)


def test_of_few_runs_the_order_excludes_chance(tmp_path: Path) -> None:
    """p = 0.06 of Welch's test, yet all three take longer than all of the others."""
    result = of_run_times(tmp_path, [1, 1, 1], [20, 50, 100])
    test = result.row("run_time").tests[1]
    assert test and 0.05 < test.p < 0.2
    assert result.verdicts == ("same", "slower")
    assert sentence(result, 1).startswith("B is slower than A: run time 56.7 s against 1 s (x 56.7)")


def test_what_is_not_proven_is_not_equal(tmp_path: Path, command: Path) -> None:
    result = of_run_times(tmp_path, [10, 11], [30, 90])
    assert result.row("run_time").verdicts == ("same", "unproven")
    assert result.verdicts == ("same", "unproven")
    said = sentence(result, 1)
    assert said.startswith(
        "B may be slower than A: run time 60 s against 10.5 s (x 5.71), but 2 and 2 runs do not"
    )
    assert "about as long" not in to_text(result) and " ~" in to_text(result)
    page = tmp_path / "page.html"
    groups = [w for name, n in (("A", 0), ("B", 1)) for w in ("--group", f"{name}={tmp_path}/{n}-*.darshan")]
    done = run(command, *groups, "--html", page, "--fail-on", "slower")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, said)
    assert "Not proven" in page.read_text(encoding="utf-8")


def test_runs_that_overlap_are_not_told_apart_by_their_order(tmp_path: Path) -> None:
    result = of_run_times(tmp_path, [10, 30, 20], [25, 40, 90])
    assert result.row("run_time").verdicts[1] == "unproven"


def test_the_bandwidth_of_seconds_below_the_limit_is_no_difference(tmp_path: Path) -> None:
    logs = [Job(nprocs=1).posix("/a", 0, write={MiB: 10}, write_time=t) for t in (0.010, 0.050, 0.200)]
    paths = [str(job.save(tmp_path / f"{n}.darshan")) for n, job in enumerate(logs)]
    result = compare([Group(name, (path,)) for name, path in zip("abc", paths)])
    assert result.row("io_time").verdicts == ("same", "same", "worse")
    assert result.row("bandwidth").verdicts == ("same", "same", "worse")
    assert result.verdicts == ("same", "same", "slower")


WORK = """
import os, sys
data = bytes(1 << 20)
if len(sys.argv) > 2:
    sys.stdout.flush()
    exec(sys.argv[2])
with open(sys.argv[1], "wb", buffering=0) as f:
    for _ in range(16):
        f.write(data)
"""


def ended(observe: Observe, folder: Path, early: str = "") -> str:
    """The log of a program that writes 16 MiB, or ends before."""
    command = [sys.executable, "-c", WORK, str(folder / "out"), *([early] if early else [])]
    return str(observe(command).log)


def test_a_run_that_failed_is_not_faster(observe: Observe, tmp_path: Path, command: Path) -> None:
    good = ended(observe, tmp_path)
    for early, why in (
        ("sys.exit(3)", "b failed (exit code 3), a did not; b used "),
        ("os.kill(os.getpid(), 9)", "b failed (signal 9), a did not; b used "),
        ("sys.exit(0)", "b may lack work; b used "),
    ):
        bad = ended(observe, tmp_path, early)
        result = compare([Group("a", (good,)), Group("b", (bad,))])
        assert result.verdicts == ("same", "failed")
        assert sentence(result, 1).startswith(why)
        assert sentence(result, 1).endswith("of data, a 16 MiB; which is faster is not known")
        assert not {"better", "worse"} & {row.verdicts[1] for row in result.rows}
    done = run(command, good, bad, "--fail-on", "slower")
    assert done.returncode == 1 and "faster than" not in done.stdout
    turned = compare([Group("a", (ended(observe, tmp_path, "sys.exit(3)"),)), Group("b", (good,))])
    assert sentence(turned, 1) == "a failed (exit code 3), b did not; which is faster is not known"


def test_runs_that_all_fail_and_helpers_that_fail_are_compared(observe: Observe, tmp_path: Path) -> None:
    logs = [str(observe(["sh", "-c", "exit 3"]).log) for _ in range(2)]
    result = compare([Group(name, (log,)) for name, log in zip("ab", logs)])
    assert result.verdicts[1] != "failed" and "all runs failed (exit code 3)" in result.notes
    logs = [
        str(observe(["sh", "-c", f"grep -q {word} /etc/passwd; true"]).log) for word in ("root", "no:one")
    ]
    assert compare([Group(name, (log,)) for name, log in zip("ab", logs)]).failures == ("", "")


def test_the_bandwidth_of_fewer_bytes_is_not_worse(tmp_path: Path) -> None:
    """It reads a sixteenth in a tenth of the time."""
    logs = [Job(nprocs=1).posix("/a", 0, read={MiB: n}, read_time=t) for n, t in ((160, 1.0), (10, 0.1))]
    paths = [str(job.save(tmp_path / f"{n}.darshan")) for n, job in enumerate(logs)]
    result = compare([Group(name, (path,)) for name, path in zip("ab", paths)])
    assert result.row("io_time").verdicts == ("same", "better")
    assert result.row("bandwidth").ratios[1] == pytest.approx(0.625)
    assert result.row("bandwidth").verdicts == ("same", "different")


def test_files_of_iolens_are_no_part_of_a_run(tmp_path: Path) -> None:
    job = Job(nprocs=1)
    for name in (
        "/v/python/__pycache__/sitecustomize.cpython-311.pyc",
        "/v/python/_iolens_torch.py",
        "/own/sitecustomize.py",
    ):
        job.posix(name, 0, read={1000: 2}, read_time=0.5)
    log = str(job.save(tmp_path / "log.darshan"))
    result = compare([Group("a", (log,)), Group("b", (log,))])
    assert [row.name for row in result.roles] == ["/own/sitecustomize.py"]


def training(wait: float, checkpoint: float | None) -> Job:
    """A loop that waits so long for data and, perhaps, stands still for a checkpoint; a second one waits 1 s."""
    job = Job(nprocs=2)
    common = {"read_time": 0.0, "write_time": 0.0, "meta_time": 0.0, "bytes_written": 0, "longest": 0.0}
    rows = [(0, "next batch", 10, wait), (1, "next batch", 10, 1.0)]
    rows += [(0, "checkpoint", 1, checkpoint)] if checkpoint is not None else []
    for rank, kind, count, time in rows:
        row = {"rank": rank, "phase": f"loader: {kind}", "count": count, "time": time}
        job.section("phases", {**row, **common, "first": 1.0, "last": 90.0, "processor_time": 0.0})
    for rank in range(2):
        about = {"rank": rank, "pid": 10 + rank, "parent": 1, "host": "n1", "exe": "/bin/p", "io_time": 1.0}
        life = {"start": 0.0, "end": 99.0, "ended": "exit", "signal": 0, "mpi": ""}
        seen = {"seen_read": 0, "seen_written": 0, "unseen_read": 0, "unseen_written": 0}
        job.section("process", {**about, **life, **seen})
    return job.posix("/a", 0, read={MiB: 1}, read_time=0.1)


def test_training_loops_are_compared_by_their_waits(tmp_path: Path) -> None:
    made = [training(40.0, 8.0), training(10.0, None), training(0.5, 2.0)]
    groups = [Group(name, (str(job.save(tmp_path / f"{name}.darshan")),)) for name, job in zip("abc", made)]
    result = compare(groups)
    wait, checkpoint = result.row("loader_wait"), result.row("checkpoint_time")
    assert [s.mean for s in wait.samples if s] == [40.0, 10.0, 1.0]
    assert wait.verdicts == ("same", "better", "better")
    assert [s.mean for s in checkpoint.samples if s] == [8.0, 0.0, 2.0]
    assert "training loop waits for data" in to_text(result)
    log = Job(nprocs=1).posix("/a", 0).save(tmp_path / "none.darshan")
    without = compare([groups[0], Group("none", (str(log),))])
    assert without.row("loader_wait").samples[1] is None
    assert without.row("loader_wait").verdicts == ("same", "unknown")
