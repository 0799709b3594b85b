"""iolens info: one page about a log."""

from __future__ import annotations

import json
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs import Job
from logmaker import LogMaker, plain_log, posix

Run = Callable[..., Any]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.darshan"
    records = posix(5, bytes_read=1000, bytes_written=24) + posix(6, bytes_read=24)
    made = plain_log(exe=b"./program \x1b[31m", names={5: b"/five", 6: b"/six"}, partial=[9])
    made.regions = {1: (4, records), 9: (2, bytes(248)), 10: (3, bytes(104))}
    path.write_bytes(bytes(made))
    return path


def test_the_page(run_iolens: Run, log: Path) -> None:
    done = run_iolens(["info", log], env={"TZ": "UTC"})
    assert (done.returncode, done.stderr) == (0, "")
    page = dict(line.split(None, 1) for line in done.stdout.splitlines() if line)
    assert page["format"].startswith("3.41, little-endian, uncompressed, ")
    assert page["job"] == "77, user 500, 4 processes"
    assert page["command"] == "./program \\x1b[31m"
    assert page["start"] == "1970-01-01 00:16:40 +0000"
    assert page["run"] == "time    10.500 s"
    assert page["written"] == "by  runtime 3.5.0"
    assert page["file"] == "names  2"
    assert page["POSIX"].split() == ["4", "2", "1.4", "KiB", "1.4", "KiB", "1.0", "KiB", "24", "B"]
    assert page["STDIO"].endswith("incomplete")
    assert page["DXT_POSIX"].endswith("not decoded")


def test_the_user_has_a_name_where_this_machine_knows_it(run_iolens: Run, tmp_path: Path) -> None:
    for uid, shown in ((0, f"{pwd.getpwuid(0).pw_name} (0)"), (54321, "54321")):
        log = tmp_path / f"{uid}.darshan"
        log.write_bytes(bytes(plain_log(uid=uid)))
        assert f"job         77, user {shown}, 4 processes\n" in run_iolens(["info", log]).stdout


def test_a_process_id_is_no_number_of_a_job(run_iolens: Run, tmp_path: Path) -> None:
    """What runs without a scheduler has the number of its first process."""
    number = LogMaker().job_id
    for pid, shown in ((number, "no scheduler"), (number + 1, str(number))):
        log = (
            Job()
            .section("process", {"rank": 0, "pid": pid, "ended": "exit"})
            .save(tmp_path / f"{pid}.darshan")
        )
        assert f"\njob         {shown}, user " in run_iolens(["info", log]).stdout


def test_the_page_as_json(run_iolens: Run, log: Path) -> None:
    page = json.loads(run_iolens(["info", "--json", log]).stdout)
    assert page["format"] == "3.41"
    assert page["job"]["nprocs"] == 4
    assert page["job"]["run_time"] == 10.5
    assert page["modules"][0] == {
        "name": "POSIX",
        "version": 4,
        "stored": 1408,
        "partial": 0,
        "damaged": 0,
        "decoded": 1,
        "records": 2,
        "unpacked": 1408,
        "bytes_read": 1024,
        "bytes_written": 24,
    }
    assert [m["name"] for m in page["modules"]] == ["POSIX", "STDIO", "DXT_POSIX"]


def test_damage_is_said_and_the_rest_shown(run_iolens: Run, log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-300])
    done = run_iolens(["info", log])
    assert done.returncode == 4
    assert "STDIO: file ends too early at byte" in done.stderr
    assert "damaged" in done.stdout


@pytest.mark.parametrize("args", [[], ["a", "b"], ["--nonsense", "a"]])
def test_wrong_use_is_one_line_and_code_2(run_iolens: Run, args: list[str]) -> None:
    done = run_iolens(["info", *args])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("iolens: info: ")
    assert done.stderr.count("\n") == 1


def test_what_is_no_log_is_code_3(run_iolens: Run, tmp_path: Path) -> None:
    done = run_iolens(["info", tmp_path])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"iolens: {tmp_path}: is a directory: give the path of a .darshan log\n"


def test_all_released_logs_have_a_page(run_iolens: Run, corpus: Path) -> None:
    for path in sorted((corpus / "logs").glob("*.darshan")):
        done = run_iolens(["info", path])
        assert (done.returncode, done.stderr) == (0, ""), path
