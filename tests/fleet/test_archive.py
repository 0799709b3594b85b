"""Logs leave the log area for archives: none is lost whatever happens, and every row still opens its log."""

from __future__ import annotations

import csv
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from datetime import date
from pathlib import Path
from typing import Any, Callable

import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.archive import Archived, archive, extracted, pack, restore, sources
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.tables.pseudonyms import Pseudonyms
from iolens.fleet.upkeep.compact import compact
from iolens.log import Log
from made_area import LOGS, Here, fill, make_large, whole
from made_log import Make

Run = Callable[..., "subprocess.CompletedProcess[str]"]

IOLENS = str(Path(sys.executable).parent / "iolens")
KILLS = int(os.environ.get("FLEET_KILLS", "2"))
BEFORE = date(2100, 1, 1)


def packed(lake: Path, **more: Any) -> Archived:
    options = {"before": BEFORE, "program": IOLENS, "courtesy": 0, **more}
    return archive(Lake(lake), options.pop("to", lake / "logs"), **options)


def logs_of(area: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in area.rglob("*.darshan")}


def every_row_opens(lake: Path, content: dict[str, bytes]) -> None:
    """To the log that it is of, byte by byte."""
    made = Lake(lake)
    with made.open() as data:
        rows = sources(data)
    with extracted(made, rows) as paths:
        assert {Path(path).name: Path(path).read_bytes() for path in paths} == content


@pytest.fixture
def lake(area: Path, tmp_path: Path) -> Path:
    fill(area, tmp_path / "ann's lake")
    return tmp_path / "ann's lake"


def test_every_row_opens_its_log_out_of_the_archive_of_its_day(area: Path, lake: Path) -> None:
    content = logs_of(area)
    done = packed(lake)
    assert (done.logs, done.removed, done.problems, done.missing) == (LOGS, LOGS, [], 0)
    assert done.bytes == sum(map(len, content.values())) > done.packed - 100_000
    assert logs_of(area) == {}
    archives = sorted((lake / "logs").rglob("*.*"))
    days = {str(file.day) for file in Lake(lake).snapshot().files["job"]}
    assert {path.name[:10] for path in archives if path.is_file()} == days and done.archives == len(days)
    every_row_opens(lake, content)
    whole(lake)
    compact(Lake(lake), keep_hours=0)
    every_row_opens(lake, content)
    again = packed(lake)
    assert (again.logs, again.archives, again.missing, again.problems) == (0, 0, 0, [])
    shutil.move(lake, lake.with_name("moved"))  # archives below the lake go with it
    every_row_opens(lake.with_name("moved"), content)


def test_archives_open_with_the_tools_that_everybody_has(area: Path, lake: Path, tmp_path: Path) -> None:
    content = logs_of(area)
    modes = {path.name: path.stat().st_mode for path in area.iterdir()}
    packed(lake, to=tmp_path / "kept")
    found = {}
    for container in (tmp_path / "kept").rglob("*.zip"):
        assert container.stat().st_mode & 0o7 == 0
        with zipfile.ZipFile(container) as opened:
            assert opened.testzip() is None
            opened.extractall(tmp_path / "unpacked")
            for row in csv.DictReader(opened.read("index.csv").decode().splitlines()):
                name = Path(row["member"]).name
                found[name] = opened.read(row["member"])
                assert len(found[name]) == int(row["bytes"]) == int(row["log_bytes"])
                assert opened.getinfo(row["member"]).external_attr >> 16 == modes[name]
        checked = ["b2sum", "-l", "128", "--quiet", "-c", "B2SUMS"]
        subprocess.run(checked, cwd=tmp_path / "unpacked", check=True)
    assert found == content


def test_only_past_days_are_packed_and_late_logs_follow(area: Path, lake: Path) -> None:
    days = sorted({str(file.day) for file in Lake(lake).snapshot().files["job"]})
    first = packed(lake, before=date.fromisoformat(days[2]))
    assert first.archives == 2 and len(logs_of(area)) == LOGS - first.logs
    assert packed(lake, since=date.fromisoformat(days[3])).archives == len(days) - 3
    assert packed(lake).archives == 1
    make = Make(area)
    late = make(posix=[{"id": 1, "writes": 1}], start=1_700_000_000, end=1_700_000_001, job_id=777)
    fill(area, lake)
    done = packed(lake)
    assert (done.logs, done.archives) == (1, 1) and not late.exists()
    assert len(list((lake / "logs").rglob(f"{days[0]}.*.zip"))) == 2


def test_ingest_neither_misses_archived_logs_nor_brings_restored_ones_again(area: Path, lake: Path) -> None:
    content = logs_of(area)
    packed(lake)
    fill(area, lake)
    whole(lake)
    made = Lake(lake)
    with made.open() as data:
        rows = sources(data)
    assert restore(made, rows).logs == LOGS
    assert restore(made, rows).there == LOGS
    assert logs_of(area) == content
    done = Ingest(made, Options(str(lake)), jobs=1, pool=Here()).run([area])
    assert (done.known, done.ingested) == (LOGS, 0)
    assert packed(lake).logs == 0 and len(logs_of(area)) == LOGS


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A lake of one log with many records, which is smaller with bzip2."""
    log = make_large(tmp_path / "large")
    log.chmod(0o400)
    fill(tmp_path / "large", tmp_path / "lake")
    return log


def test_a_large_log_is_rewritten_with_the_same_records(large: Path, tmp_path: Path) -> None:
    lake, before = Lake(tmp_path / "lake"), large.read_bytes()
    done = packed(lake.path)
    assert (done.logs, done.rewritten, done.removed) == (1, 1, 1)
    with lake.open() as data:
        (row,) = sources(data)
    assert row.packed_size < 0.95 * len(before) and done.packed < 0.95 * len(before)
    with extracted(lake, [row]) as (path,), Log(path) as after:
        assert after.compression == "bzip2"
        assert Path(path).stat().st_mode & 0o777 == 0o400
    assert restore(lake, [row]).logs == 1
    status = large.stat()
    assert (status.st_size, status.st_mtime_ns, status.st_mode & 0o777) == (
        row.packed_size,
        row.log_mtime,
        0o400,
    )
    again = Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([large.parent])
    assert (again.known, again.ingested) == (1, 0)


def test_a_log_that_changes_while_it_is_packed_is_not_removed(
    area: Path, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = sorted(area.iterdir())
    commit = pack._Run._commit

    def later(self: Any, day: str, *rest: Any) -> bool:
        if logs[0].exists():
            logs[0].write_bytes(logs[0].read_bytes() + b"\0")
        return commit(self, day, *rest)

    monkeypatch.setattr(pack._Run, "_commit", later)
    assert packed(lake).removed == LOGS - 1
    assert list(logs_of(area)) == [logs[0].name]
    monkeypatch.undo()
    content = logs_of(area)
    assert packed(lake).logs == 0 and logs_of(area) == content
    fill(area, lake)
    assert packed(lake).logs == 1 and logs_of(area) == {}
    whole(lake)


def test_what_is_not_as_it_was_ingested_stays(area: Path, lake: Path, run_iolens: Run) -> None:
    changed, other, gone, loop = sorted(area.iterdir())[:4]
    changed.write_bytes(changed.read_bytes() + b"\0")
    status = other.stat()
    other.write_bytes(bytes(status.st_size))
    os.utime(other, ns=(status.st_mtime_ns, status.st_mtime_ns))
    gone.unlink()
    loop.unlink()
    loop.symlink_to(loop)
    done = run_iolens(["fleet", "archive", "--lake", lake])
    assert done.returncode == 4 and f"{LOGS - 4} logs in" in done.stdout
    assert "1 has changed" in done.stdout and "1 is not there" in done.stdout
    assert (
        f"{other}: not the log that was ingested: ingest it again" in done.stderr
        and f"{loop}: " in done.stderr
    )
    assert sorted(path.name for path in area.iterdir()) == [changed.name, other.name, loop.name]


# ---- kills, two at once, disks ----


def start(lake: Path) -> subprocess.Popen[str]:
    code = (
        "import sys, datetime; from pathlib import Path; from iolens.fleet import Lake;"
        "from iolens.fleet.archive import archive;"
        "archive(Lake(sys.argv[1]), Path(sys.argv[1]) / 'logs', before=datetime.date(2100, 1, 1), "
        "program=sys.argv[2], courtesy=0)"
    )
    command = [sys.executable, "-c", code, str(lake), IOLENS]
    return subprocess.Popen(command, start_new_session=True, text=True, stderr=subprocess.PIPE)


def test_kills_at_any_moment_lose_no_log(area: Path, lake: Path, tmp_path: Path) -> None:
    content = logs_of(area)
    kept = [tmp_path / "kept" / name for name in ("area", "lake")]
    shutil.copytree(area, kept[0])
    shutil.copytree(lake, kept[1])
    begin = time.monotonic()
    start(lake).wait()
    usual = time.monotonic() - begin
    chance = random.Random(secrets.randbits(32))
    for _ in range(KILLS):
        if not logs_of(area):
            for folder, copy in zip((area, lake), kept):
                shutil.rmtree(folder)
                shutil.copytree(copy, folder)
        process = start(lake)
        try:
            process.wait(chance.random() * usual)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        every_row_opens(lake, content)
    assert start(lake).wait() == 0
    assert logs_of(area) == {} and not list((lake / "logs").rglob("*.part"))
    every_row_opens(lake, content)
    whole(lake)


def test_two_archivers_pack_every_log_once(area: Path, lake: Path) -> None:
    content = logs_of(area)
    both = [start(lake) for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    members = [
        name
        for path in (lake / "logs").rglob("*.zip")
        for name in zipfile.ZipFile(path).namelist()
        if name.endswith(".darshan")
    ]
    assert len(members) == len(set(members)) == LOGS and logs_of(area) == {}
    assert not list((lake / "logs").rglob("*.part"))
    every_row_opens(lake, content)
    whole(lake)


def test_on_a_full_disk_nothing_is_removed(area: Path, lake: Path, small_disk: Path, run_iolens: Run) -> None:
    content = logs_of(area)
    (small_disk / "filler").write_bytes(bytes(240 << 10))
    command = ["fleet", "archive", "--lake", lake, "--to", small_disk / "logs"]
    done = run_iolens(command)
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "no log of it was removed: No space left" in done.stderr
    every_row_opens(lake, content)
    assert not list(small_disk.rglob("*.part"))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert run_iolens(command).returncode == 0 and logs_of(area) == {}
    every_row_opens(lake, content)


def test_of_a_damaged_archive_the_damaged_log_is_named_and_the_others_open(area: Path, lake: Path) -> None:
    content = logs_of(area)
    packed(lake)
    made = Lake(lake)
    with made.open() as data:
        rows = sources(data)
    archive_path = lake / str(rows[0].archive)
    whole_file = archive_path.read_bytes()
    damaged = bytearray(whole_file[: -len(whole_file) // 4])  # its directory is gone
    damaged[rows[0].place + 200] ^= 1
    archive_path.write_bytes(damaged)
    with pytest.raises(IolensError, match=f"damaged.*{Path(rows[0].path).name}"), extracted(made, rows[:1]):
        pass
    with extracted(made, rows[1:5]) as paths:
        assert [Path(path).read_bytes() for path in paths] == [content[Path(path).name] for path in paths]
    done = restore(made, rows)
    assert done.logs >= LOGS - 3 and f": {rows[0].path}" in done.problems[0]
    archive_path.unlink()
    with pytest.raises(IolensError, match="the archive is not there"), extracted(made, rows[:1]):
        pass


# ---- commands ----


def test_commands_take_a_row_for_a_log(area: Path, lake: Path, run_iolens: Run) -> None:
    one, two = sorted(area.iterdir())[:2]
    job, other = Log(one).job.id, Log(two).job.id
    plain = {words: run_iolens([*words, one]) for words in (("show",), ("files",), ("findings", "--json"))}
    query = "SELECT job_id, exe FROM job"
    asked = run_iolens(["sql", "--csv", one, query]).stdout
    packed(lake)
    for words, before in plain.items():
        after = run_iolens([*words, f"lake:{lake}:{job}"])
        assert after.returncode == before.returncode == 0
        if words != ("findings", "--json"):
            assert after.stdout == before.stdout
    assert run_iolens(["sql", "--csv", f"lake:{lake}:{job}", query]).stdout == asked
    differ = run_iolens(["diff", f"lake:{lake}:{job}", f"lake:{lake}:{other}"])
    assert differ.returncode == 1 and "secret1.h5" in differ.stdout and differ.stderr == ""


def test_a_job_of_several_logs_says_how_one_is_named(make_log: Make, tmp_path: Path, run_iolens: Run) -> None:
    for name in "ab":
        log = make_log(posix=[{"id": 1, "writes": 1}], job_id=47, exe=f"/bin/{name}".encode())
        (tmp_path / "two").mkdir(exist_ok=True)
        log.rename(tmp_path / "two" / f"{name}.darshan")
    fill(tmp_path / "two", tmp_path / "lake")
    packed(tmp_path / "lake")
    done = run_iolens(["info", f"lake:{tmp_path}/lake:47"])
    assert done.returncode == 2 and "has 2 logs; name one" in done.stderr
    (named,) = [line.split()[0] for line in done.stderr.splitlines() if line.endswith(" b")]
    assert "/bin/b" in run_iolens(["info", named]).stdout
    for wrong, said in (("48", "no job 48"), ("log=1", "no log 1"), ("x", "expected lake:JOBID")):
        done = run_iolens(["info", f"lake:{tmp_path}/lake:{wrong}"])
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    done = run_iolens(["info", "lake:47"])
    assert done.returncode == 2 and "Set IOLENS_LAKE" in done.stderr


def test_restore_puts_a_job_into_a_folder(area: Path, lake: Path, tmp_path: Path, run_iolens: Run) -> None:
    content = logs_of(area)
    packed(lake)
    command = ["fleet", "restore", "--lake", lake, "--to", tmp_path / "out"]
    assert run_iolens(command).returncode == 2
    assert run_iolens([*command, "--job", "7"]).stdout.startswith("1 log restored")
    (log,) = (tmp_path / "out").iterdir()
    assert log.read_bytes() == content[log.name] and Log(log).job.id == 7
    log.chmod(0o600)
    log.write_bytes(b"of somebody else")
    done = run_iolens([*command, "--job", "7"])
    assert done.returncode == 4 and "another file is here" in done.stderr
    assert log.read_bytes() == b"of somebody else" and len(list((tmp_path / "out").iterdir())) == 1


def test_a_lake_with_pseudonyms_does_not_know_its_logs(area: Path, tmp_path: Path, run_iolens: Run) -> None:
    Lake.create(tmp_path / "lake", pseudonyms=Pseudonyms(b"0123456789abcdef").mark)
    done = run_iolens(["fleet", "archive", "--lake", tmp_path / "lake"])
    assert done.returncode == 2 and "does not know where its logs are" in done.stderr
    assert len(logs_of(area)) == LOGS
