"""What may happen to a lake: kills, several writers, compaction under queries, a full disk, an older version."""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.archive import archive, sources
from iolens.fleet.ingest import batch
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.ingest.log_directories import find_logs
from iolens.fleet.tables import schema
from iolens.fleet.upkeep.compact import compact
from iolens.fleet.upkeep.recompute import recompute
from iolens.fleet.upkeep.retention import retain
from iolens.fleet.upkeep.verify import verify
from made_area import LOGS, Here, fill, whole
from places import ROOT

IOLENS = Path(sys.executable).parent / "iolens"
KILLS = int(os.environ.get("FLEET_KILLS", "2"))


def start(area: Path, lake: Path, **environment: str) -> subprocess.Popen[str]:
    code = (
        "import sys; import iolens.fleet.ingest.ingest as i; i.BATCH_LOGS = 7;"
        "from iolens.fleet.ingest.batch import Options; from iolens.fleet import Lake;"
        "i.Ingest(Lake.create(sys.argv[2]), Options(sys.argv[2], rules=False), jobs=1, batch_logs=7).run([sys.argv[1]])"
    )
    command = [sys.executable, "-c", code, str(area), str(lake)]
    environment = {**os.environ, **environment}
    return subprocess.Popen(
        command, start_new_session=True, text=True, stderr=subprocess.PIPE, env=environment
    )


def test_kills_at_any_moment_lose_nothing_and_double_nothing(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "ann's lake"
    chance = random.Random(secrets.randbits(32))
    begin = time.monotonic()
    start(area, tmp_path / "other").wait()
    usual = time.monotonic() - begin
    for _ in range(KILLS):
        if chance.random() < 0.2:
            shutil.rmtree(lake, ignore_errors=True)
        process = start(area, lake)
        try:
            process.wait(chance.random() * usual)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if (lake / "lake.json").exists():
            assert list(verify(Lake(lake))) == []
    assert start(area, lake).wait() == 0
    whole(lake)
    compact(Lake(lake), keep_hours=0, courtesy=0)
    whole(lake)


def _session(leader: int) -> list[str]:
    """What runs in a session, by its commands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_no_worker_outlives_a_killed_ingest(seconds: float, area: Path, tmp_path: Path) -> None:
    process = start(area, tmp_path / "ann's lake")
    while not any("spawn_main" in command for command in _session(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while (left := _session(process.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []


def test_two_ingesters_bring_every_log_once(area: Path, tmp_path: Path) -> None:
    both = [start(area, tmp_path / "ann's lake") for _ in range(2)]
    told = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    whole(tmp_path / "ann's lake")


def test_clock_steps_lose_nothing_and_double_nothing(area: Path, tmp_path: Path) -> None:
    """Two ingesters and a compaction, each under a clock that jumps by days, then one that is killed, and the rest."""
    clock, source = tmp_path / "clock.so", Path(__file__).with_name("jumping_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", clock, source], check=True)
    asked = "import time; t = [time.time() for _ in range(1000)]; print(max(t) - min(t))"
    command, jumping = [sys.executable, "-c", asked], {"LD_PRELOAD": str(clock)}
    told = subprocess.run(command, env={**os.environ, **jumping}, capture_output=True, text=True, check=True)
    assert float(told.stdout) > 5 * 86400
    lake = tmp_path / "ann's lake"
    both = [start(area, lake, **jumping) for _ in range(2)]
    while not list(lake.glob("job/*/*.parquet")) and any(process.poll() is None for process in both):
        time.sleep(0.05)
    packed = [IOLENS, "fleet", "compact", "--lake", lake, "--keep", "0"]
    subprocess.run(packed, env={**os.environ, **jumping}, check=True, capture_output=True)
    both[0].kill()
    said = [process.communicate()[1] for process in both]
    assert both[1].returncode == 0, said
    assert start(area, lake, **jumping).wait() == 0
    whole(lake)


def test_a_batch_that_compaction_has_dropped_is_read_again(area: Path, tmp_path: Path) -> None:
    """Between the files of a batch and its commit somebody compacts, and takes it for one that had ended."""
    lake = Lake.create(tmp_path / "ann's lake")
    ingest = Ingest(lake, Options(str(lake.path), rules=False), jobs=1)
    commit = ingest._commit

    def later(written):  # type: ignore[no-untyped-def]
        ingest._commit = commit  # type: ignore[method-assign]
        assert compact(lake, courtesy=0).dropped > 0
        return commit(written)

    ingest._commit = later  # type: ignore[method-assign]
    ingest.run([area])
    whole(lake.path)


def test_a_batch_whose_files_compaction_removes_is_read_again(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is gone when it is to be synced; where no compaction has removed it, the ingest ends."""
    lake = Lake.create(tmp_path / "ann's lake")
    sync = batch._sync

    def gone(options: Options, written: batch.Written, syncing: Any) -> None:
        monkeypatch.setattr(batch, "_sync", sync)
        assert compact(lake, courtesy=0).dropped > 0
        (file, *_) = written.files["job"]
        Path(lake.path, "job", file.path).stat()

    monkeypatch.setattr(batch, "_sync", gone)
    Ingest(lake, Options(str(lake.path), rules=False), jobs=1, pool=Here()).run([area])
    whole(lake.path)

    other = Lake.create(tmp_path / "other")
    monkeypatch.setattr(batch, "_sync", lambda options, written, syncing: Path(options.lake, "gone").stat())
    with pytest.raises(IolensError, match="cannot write the lake; what is in it is whole: No such file"):
        Ingest(other, Options(str(other.path), rules=False), jobs=1, pool=Here()).run([area])


def test_queries_that_have_begun_go_on_under_compaction(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "ann's lake"
    fill(area, lake, logs=9)
    with Lake(lake).open() as before:
        done = compact(Lake(lake), keep_hours=24)
        assert done.made < done.merged
        assert before.rows("SELECT sum(writes)::BIGINT AS n FROM posix") == [{"n": 2 * LOGS}]
    whole(lake)
    days = {file.day for file in Lake(lake).snapshot().files["posix"]}
    assert len(Lake(lake).snapshot().files["posix"]) == len(days)
    assert compact(Lake(lake), keep_hours=0).removed > 0
    whole(lake)


def test_what_was_replaced_is_gone_after_compaction(area: Path, tmp_path: Path) -> None:
    lake = tmp_path / "ann's lake"
    fill(area, lake)
    log = next(area.iterdir())
    log.write_bytes(log.read_bytes() + b"\0")
    fill(area, lake)
    whole(lake)
    assert len(Lake(lake).snapshot().dead) == 1
    compact(Lake(lake), keep_hours=0)
    assert Lake(lake).snapshot().dead == []
    whole(lake)


def test_retention_forgets_detail_first_and_jobs_for_good(area: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "ann's lake")
    fill(area, lake.path)
    days = sorted({str(file.day) for file in lake.snapshot().files["job"]})
    retain(lake, detail=date.fromisoformat(days[2]))
    with lake.open() as data:
        assert data.rows("SELECT count(*) AS n FROM job") == [{"n": LOGS}]
        assert data.rows("SELECT min(day)::VARCHAR AS day FROM posix") == [{"day": days[2]}]
    retain(lake, jobs=date.fromisoformat(days[1]))
    with lake.open() as data:
        assert data.rows("SELECT min(day)::VARCHAR AS day FROM job") == [{"day": days[1]}]
    assert Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([area]).ingested == 0


@pytest.fixture
def two_days(area: Path) -> Path:
    """The first day has one log, the second the others: what is recomputed is so day by day, a second each."""
    for log in area.iterdir():
        if int(re.findall(r"_id(\d+)-", log.name)[0]) > 5:
            log.unlink()
    return area


def test_findings_come_by_recomputing_too(two_days: Path, tmp_path: Path) -> None:
    area = two_days
    fill(area, tmp_path / "with", rules=True)
    fill(area, tmp_path / "without")
    recompute(Lake(tmp_path / "without"))
    asked = (
        "SELECT job_id, rule, rule_version, severity, message FROM finding JOIN job USING (log) ORDER BY ALL"
    )
    kept = []
    for lake in ("with", "without"):
        with Lake(tmp_path / lake).open() as data:
            kept.append(data.rows(asked))
    assert kept[0] == kept[1] and kept[0]
    rule = kept[0][0]["rule"]
    recompute(Lake(tmp_path / "without"), rules=[rule])
    with Lake(tmp_path / "without").open() as data:
        assert data.rows(asked) == kept[0]


def test_findings_of_archived_logs_come_by_recomputing(two_days: Path, tmp_path: Path) -> None:
    area = two_days
    with_rules, lake = tmp_path / "with", Lake.create(tmp_path / "lake")
    fill(area, with_rules, rules=True)
    fill(area, lake.path)
    done = archive(lake, tmp_path / "kept", before=date(2100, 1, 1), program=str(IOLENS), courtesy=0)
    assert done.removed == 6 and not list(area.rglob("*.darshan"))
    recompute(lake)
    for asked in (
        "rule, rule_version, message FROM finding",
        "name, value FROM metric",
        "directory, bytes_written, small_writes FROM file_sum",
    ):
        kept = []
        for made in (Lake(with_rules), lake):
            with made.open() as data:
                kept.append(data.rows(f"SELECT job_id, {asked} JOIN job USING (log) ORDER BY ALL"))
        assert kept[0] == kept[1] != [], asked
    with lake.open() as data:
        assert all(source.archive for source in sources(data))


def test_recomputing_keeps_the_findings_of_days_without_detail(area: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    fill(area, lake.path, rules=True)
    asked = "SELECT log, rule, message FROM finding ORDER BY ALL"
    with lake.open() as data:
        before = data.rows(asked)
    retain(lake, detail=date(2100, 1, 1))
    recompute(lake)
    with lake.open() as data:
        assert data.rows(asked) == before != []


def test_a_lake_of_an_older_version_takes_new_columns(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = schema.tables()
    older = {**known, "posix": tuple(c for c in known["posix"] if c.name != "bytes_written")}
    half = tmp_path / "half"
    half.mkdir()
    for log in sorted(area.iterdir())[:20]:
        (half / log.name).write_bytes(log.read_bytes() + b"\0")  # another log: a copy would be no job
    with monkeypatch.context() as patch:
        for name in ("ingest.batch", "tables.lake", "tables.schema"):
            patch.setattr(f"iolens.fleet.{name}.tables", lambda: older)
        from iolens.fleet.ingest.batch import write_batch

        written = write_batch(
            Options(str(Lake.create(tmp_path / "ann's lake").path), rules=False),
            5,
            [(found, None) for folder in find_logs([half], lambda path, error: None) for found in folder],
        )
        for name, files in sorted(written.files.items(), key=lambda item: item[0] == "job"):
            Lake(tmp_path / "ann's lake").table(name).commit(add=files)
    shutil.rmtree(half)
    asked = "SELECT count(*) AS n, count(bytes_written) AS known FROM posix"
    with Lake(tmp_path / "ann's lake").open() as data:
        assert data.rows(asked) == [{"n": 40, "known": 0}]
    fill(area, tmp_path / "ann's lake")
    with Lake(tmp_path / "ann's lake").open() as data:
        assert data.rows(asked) == [{"n": 2 * (LOGS + 20), "known": 2 * LOGS}]
    compact(Lake(tmp_path / "ann's lake"), keep_hours=0)
    with Lake(tmp_path / "ann's lake").open() as data:
        assert data.rows(asked) == [{"n": 2 * (LOGS + 20), "known": 2 * LOGS}]


def test_a_full_disk_is_told_and_what_is_in_the_lake_stays_whole(area: Path, small_disk: Path) -> None:
    lake = small_disk / "lake"
    (small_disk / "other").write_bytes(bytes(96 << 10))
    command = [IOLENS, "fleet", "ingest", area, "--lake", lake, "--no-rules", "--jobs", "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr == (
        f"iolens: {lake}: cannot write the lake; what is in it is whole: No space left on device\n"
    )
    assert _strays(lake) == set()
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert list(verify(Lake(lake))) == []
    fill(area, lake)
    whole(lake)


def _strays(lake: Path) -> set[Path]:
    """Files that no table has."""
    tables = [Lake(lake).table(name) for name in Lake(lake).names()]
    known = {Path(table.path(file)) for table in tables for file in table.files()}
    return set(lake.rglob("*.parquet")) - known - set(lake.rglob("*.checkpoint.parquet"))


def own_threads(pid: int) -> int:
    """Without those of the Delta library, which end when they had nothing to do for ten seconds."""
    names = [(task / "comm").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(name != "tokio-rt-worker\n" for name in names)


def test_an_ingest_that_watches_goes_on_when_the_disk_has_room_again(area: Path, small_disk: Path) -> None:
    lake = small_disk / "lake"
    (small_disk / "other").write_bytes(bytes(96 << 10))
    command = [
        IOLENS,
        "fleet",
        "ingest",
        area,
        "--lake",
        lake,
        "--no-rules",
        "--jobs",
        "1",
        "--watch",
        "0.2s",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout and watching.stderr
        assert "No space left on device" in watching.stderr.readline()
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        told = watching.stdout.readline()
        before = own_threads(watching.pid)
        for number in range(3):
            shutil.copy(next(area.iterdir()), area / f"more{number}.darshan")
            (area / f"more{number}.darshan").open("ab").write(bytes(number + 1))
            while "1 ingested" not in watching.stdout.readline():
                pass
        threads = own_threads(watching.pid)
        watching.kill()
    assert f"{LOGS} logs found, {LOGS} ingested" in told
    assert threads <= before + 1


def test_a_full_disk_leaves_nothing_of_a_compaction(area: Path, small_disk: Path) -> None:
    lake = small_disk / "lake"
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    fill(area, lake, logs=9)
    size = sum(path.stat().st_size for path in small_disk.rglob("*"))
    subprocess.run(["mount", "-o", f"remount,size={size // 1024 + 512}k", small_disk], check=True)
    with contextlib.suppress(OSError), (small_disk / "other").open("wb", buffering=0) as other:
        while other.write(bytes(4096)):
            pass
    command = [IOLENS, "fleet", "compact", "--lake", lake]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr.endswith(": No space left on device\n"), done.stderr
    assert done.stderr.startswith(f"iolens: {lake}") and len(done.stderr.splitlines()) == 1
    (small_disk / "other").unlink()
    assert _strays(lake) == set()
    whole(lake)
    assert compact(Lake(lake), keep_hours=0).removed > 0
    whole(lake)


def test_files_of_a_compaction_that_was_ended_are_removed_after_a_day(area: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    fill(area, lake.path)
    folder = next((lake.path / "posix").glob("day=*"))
    strays = [folder / f"c{'0' * 32}.12345678-0.parquet", folder / f"c{'1' * 32}.12345678-0.parquet"]
    for path in strays:
        path.write_bytes(b"PAR1")
    for path in folder.glob("*.parquet"):
        os.utime(path, (0, 0))
    os.utime(strays[0])
    assert compact(lake).dropped == 1
    assert [path.exists() for path in strays] == [True, False]
    whole(lake.path)


def test_a_compacted_lake_does_not_grow(area: Path, tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    fill(area, lake.path, logs=9)
    assert compact(lake, keep_hours=0).removed > 0
    files = set(lake.path.rglob("*"))
    done = compact(lake, keep_hours=0)
    assert (done.merged, done.made, done.removed, set(lake.path.rglob("*"))) == (0, 0, 0, files)


def test_the_guides_back_up_is_whole_and_restores_the_lake(area: Path, tmp_path: Path) -> None:
    """Its lines, each of them: then an ingest, a compaction, an archive, a loss, and another one."""
    text = (ROOT / "docs/guide/fleet-backup.md").read_text()
    verified, copied, restored, rebuilt, upgraded = re.findall(r"```\n(.*?)```", text, re.S)

    def run(lines: str) -> None:
        for old, new in (("/data", tmp_path), ("/backup", tmp_path / "backup"), ("/darshan/logs", area)):
            lines = lines.replace(old, str(new))
        lines = re.sub("^iolens", str(IOLENS), lines, flags=re.M)
        subprocess.run(["bash", "-euc", lines], check=True, capture_output=True)

    lake, kept, later = tmp_path / "lake", tmp_path / "backup/lake", tmp_path / "later"
    kept.mkdir(parents=True)
    later.mkdir()
    for log in sorted(area.iterdir())[20:]:
        log.rename(later / log.name)
    fill(area, lake, rules=True)
    packed = partial(archive, Lake(lake), Lake(lake).archives, program=str(IOLENS), courtesy=0)
    assert packed(before=date(2023, 11, 16)).logs == 6
    run(verified)
    run(copied)
    for log in later.iterdir():
        log.rename(area / log.name)
    fill(area, lake, rules=True)
    compact(Lake(lake))
    whole(kept, 20)
    metrics = "SELECT count(DISTINCT log) AS n FROM metric"
    jobs = 'SELECT job_id, j.path, "user", j.digest, archive FROM job AS j LEFT JOIN archived USING (log) ORDER BY 1'
    with Lake(kept).open() as data:
        assert data.rows(metrics) == [{"n": 20}]
    assert packed(before=date(2023, 11, 17)).logs == 19
    with Lake(lake).open() as data:
        before = data.rows(jobs)
    for lines in (restored, rebuilt, upgraded):
        if lines is restored:
            shutil.rmtree(lake)
        run(lines)
        whole(lake)
        with Lake(lake).open() as data:
            assert data.rows(metrics) == [{"n": LOGS}] and data.rows(jobs) == before


def test_a_link_is_found_and_not_followed(area: Path) -> None:
    loop = area / "a" / "loop.darshan"
    loop.parent.mkdir()
    loop.symlink_to(loop)
    told: list[str] = []
    found = [f for folder in find_logs([area], lambda path, error: told.append(path)) for f in folder]
    assert told == [] and len(found) == LOGS + 1
    assert [(f.path, f.refusal) for f in found if f.refusal] == [(str(loop), "a link")]
