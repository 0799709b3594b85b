"""A log area where two unprivileged users write, and root ingests: no file there is believed."""

from __future__ import annotations

import grp
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from pathlib import Path
from typing import Any, Callable

import pytest
from here import run_here
from iolens.error import IolensError
from iolens.fleet import Lake, log_area
from iolens.fleet.archive import archive, extracted, restore, sources
from iolens.fleet.ingest import batch
from iolens.fleet.ingest.batch import Options, write_batch
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.ingest.log_directories import find_logs
from iolens.fleet.ingest.workers import Workers
from iolens.fleet.tables.access import keep_owner
from iolens.portal.data.snapshot import trusted_lake
from made_area import Here
from places import BIN
from two_users import ALICE, MALLORY, TWO, Site, as_user, number, two_users

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and to become other users")


@pytest.fixture
def site() -> Iterator[Site]:
    with two_users() as made:
        yield made


# ---- whose a log is ----


def test_links_are_not_followed(site: Site) -> None:
    secret = site.log(ALICE, site.private / "log.darshan")
    stolen = site.area / f"{MALLORY}_prog_id4711-1_11-27-70000-1_1.darshan"
    as_user(MALLORY, "ln", "-s", secret, stolen)
    as_user(MALLORY, "ln", "-s", site.private, site.area / "folder")
    own = site.log(MALLORY, site.area / f"{MALLORY}_prog_id1-1_1-1-1-1_1.darshan")
    done = site.ingest()
    assert (done.ingested, done.quarantined, done.unreadable) == (1, 1, [])
    assert site.users() == {own.name: MALLORY}
    assert site.reasons() == {stolen.name: "is a link, not a file"}
    assert site.ingest().known == 2


def test_a_log_belongs_to_the_owner_of_its_file(site: Site) -> None:
    sound = {
        f"{MALLORY}_prog_id1-1_1-1-1-1_1.darshan": MALLORY,
        "no-name.darshan": MALLORY,
        f"{number(MALLORY)}_prog_id2-1_1-1-1-1_1.darshan": MALLORY,
        "0_prog_id3-1_1-1-1-1_1.darshan": MALLORY,  # root of a container
    }
    for name in sound:
        site.log(MALLORY, site.area / name, uid=0 if name.startswith("0") else None)
    for user in ("root", ALICE, "not-here", f"{ALICE}_{MALLORY}"):
        site.log(MALLORY, site.area / f"{user}_prog_id9-1_1-1-1-1_1.darshan")
    site.log(MALLORY, site.area / "job-of-alice.darshan", uid=number(ALICE))
    sound[site.log(ALICE, site.area / f"{ALICE}_prog_id4-1_1-1-1-1_1.darshan").name] = ALICE
    done = site.ingest()
    assert (done.ingested, done.quarantined) == (5, 5)
    assert site.users() == sound
    reasons = site.reasons()
    assert reasons.pop("job-of-alice.darshan") == f"the file belongs to {MALLORY}, and its job to {ALICE}"
    assert set(reasons.values()) == {f"the file belongs to {MALLORY}, and its name says otherwise"}


def test_names_of_roots_files_count_where_only_root_writes(site: Site) -> None:
    """Logs that were copied from elsewhere; not those in folders where users can rename files."""
    name = f"{ALICE}_prog_id1-1_1-1-1-1_1.darshan"
    kept = site.area / "kept"
    kept.mkdir()
    for folder in (kept, site.area):
        site.jobs += 1
        shutil.copy(site.make(posix=TWO, job_id=site.jobs, uid=7, exe=b"/bin/prog"), folder / name)
    assert (site.ingest().ingested, site.users()) == (0, {})  # its folder is in one where users write
    found = next(find_logs([kept], lambda path, error: None))
    assert [one.trusted for one in found] == [True]
    done = Ingest(Lake(site.lake), Options(str(site.lake), rules=False), pool=Here(), jobs=1).run([site.area])
    assert done.known == 2
    trusting = site.ingest(trust_names=True)
    assert (trusting.ingested, trusting.known) == (2, 0)
    assert site.users() == {name: ALICE}


def test_other_names_of_a_file_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = site.log(ALICE, site.private / "log.darshan")
    os.link(secret, site.area / "linked.darshan")  # as a user can without fs.protected_hardlinks
    assert site.ingest().deferred == 1  # it may be one that is being written
    monkeypatch.setattr(batch, "_SETTLED", 0)
    assert site.ingest().quarantined == 1
    assert site.reasons() == {"linked.darshan": "has another name elsewhere: it may be another user's file"}
    assert site.users() == {}


@pytest.mark.parametrize("steps", [False, True])
def test_a_folder_that_becomes_a_link_after_the_scan(
    site: Site, monkeypatch: pytest.MonkeyPatch, steps: bool
) -> None:
    if steps:  # a kernel without openat2
        monkeypatch.setattr(log_area, "_openat2", log_area._step_by_step)
    folder = site.area / "mine"
    as_user(MALLORY, "mkdir", folder)
    site.log(MALLORY, folder / "log.darshan")
    site.log(ALICE, site.private / "log.darshan")
    found = [one for listed in find_logs([site.area], lambda path, error: None) for one in listed]
    as_user(MALLORY, "mv", folder, site.area / "moved")
    as_user(MALLORY, "ln", "-s", site.private, folder)
    Lake.create(site.lake)
    written = write_batch(Options(str(site.lake), rules=False), 1, [(one, None) for one in found])
    assert (written.logs, written.files) == ([], {})
    assert [one.found.path for one in written.unreadable] == [str(folder / "log.darshan")]


# ---- what would keep an ingest from its end ----


def test_nothing_in_the_area_keeps_the_others_out(site: Site) -> None:
    as_user(MALLORY, "mkfifo", site.area / "a.darshan")
    as_user(MALLORY, "ln", "-s", "/dev/zero", site.area / "b.darshan")
    as_user(MALLORY, "truncate", "-s", "5T", site.area / "c.darshan")
    subprocess.run(["mknod", site.area / "d.darshan", "c", "1", "5"], check=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(site.area / "e.darshan"))
    own = site.log(ALICE, site.area / "f.darshan")
    start = time.monotonic()
    done = site.ingest()
    assert time.monotonic() - start < 60
    assert (done.found, done.ingested, done.quarantined) == (6, 1, 5)
    assert site.users() == {own.name: ALICE}
    assert site.reasons() == {
        "a.darshan": "is a pipe, not a file",
        "b.darshan": "is a link, not a file",
        "c.darshan": "is larger than 1 GiB",
        "d.darshan": "is a device, not a file",
        "e.darshan": "is a socket, not a file",
    }


def test_a_pipe_in_place_of_a_log_that_was_found(site: Site) -> None:
    log = site.log(MALLORY, site.area / "log.darshan")
    (found,) = next(find_logs([site.area], lambda path, error: None))
    log.unlink()
    as_user(MALLORY, "mkfifo", log)
    Lake.create(site.lake)
    written = write_batch(Options(str(site.lake), rules=False), 1, [(found, None)])
    assert [one.reason for one in written.refused] == ["is a pipe, not a file"]


def test_a_larger_limit_takes_what_was_too_large(site: Site) -> None:
    log = site.log(ALICE, site.area / "log.darshan")
    assert site.ingest(largest=100).quarantined == 1
    assert site.reasons() == {log.name: "is larger than 100 B"}
    assert site.ingest(largest=200).known == 1
    assert site.ingest().ingested == 1


class Fails(Here):
    """Fails for every batch that has one log."""

    def __init__(self, name: str, error: Callable[[], Exception]) -> None:
        self.name, self.error = name, error
        self.tried: list[int] = []

    def submit(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        if not any(found.path.endswith(self.name) for found, _ in values[2]):
            return super().submit(function, *values, **named)
        self.tried.append(len(values[2]))
        failed: Future[Any] = Future()
        failed.set_exception(self.error())
        return failed


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (lambda: BrokenProcessPool("died"), "the process that read it died"),
        (lambda: OverflowError("too large a time"), "cannot be read: too large a time"),
        (MemoryError, "cannot be read: not enough memory"),
    ],
)
def test_a_log_that_fails_alone_twice_is_to_blame(
    site: Site, error: Callable[[], Exception], reason: str
) -> None:
    for n in range(40):
        shutil.copy(site.make(posix=TWO, job_id=n), site.area / f"log-{n}.darshan")
    shutil.chown(site.area, 0)
    site.area.chmod(0o755)
    pool = Fails("log-7.darshan", error)
    done = site.ingest(pool)
    assert (done.ingested, done.quarantined) == (39, 1)
    assert pool.tried == [40, 3, 1, 1]
    assert site.reasons() == {"log-7.darshan": reason}


def test_a_worker_has_limits_and_its_end_is_no_others(site: Site) -> None:
    pool = Workers(seconds=1, memory=1 << 30)
    try:
        other = pool.submit(time.sleep, 0.1)
        late = pool.submit(time.sleep, 600)
        with pytest.raises(BrokenProcessPool):
            late.result(timeout=120)
        other.result(timeout=120)
        large = pool.submit(bytearray, 2 << 30)
        with pytest.raises(MemoryError):
            large.result(timeout=120)
        assert pool.submit(len, b"abc").result(timeout=120) == 3
    finally:
        pool.shutdown()


# ---- archives ----


def archived(site: Site) -> Lake:
    lake = Lake(site.lake)
    archive(lake, site.at / "archives", before=date(2100, 1, 1), program="/bin/false")
    return lake


def test_an_archiver_removes_nothing_behind_a_link(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mallory's file has size and time of alice's; his folder becomes a link when the archive is written."""
    folder = site.area / "mine"
    as_user(MALLORY, "mkdir", folder)
    log = site.log(MALLORY, folder / "log.darshan", start=1_700_000_000)
    victim = site.private / "log.darshan"
    as_user(ALICE, "dd", "if=/dev/zero", f"of={victim}", f"bs={log.stat().st_size}", "count=1", "status=none")
    os.utime(victim, ns=(1, log.stat().st_mtime_ns))
    assert site.ingest().ingested == 1
    from iolens.fleet.archive import pack

    real = pack._read_back

    def swap(*given: Any) -> None:
        real(*given)
        as_user(MALLORY, "mv", folder, site.area / "moved")
        as_user(MALLORY, "ln", "-s", site.private, folder)

    monkeypatch.setattr(pack, "_read_back", swap)
    done = archive(Lake(site.lake), site.at / "archives", before=date(2100, 1, 1), program="/bin/false")
    assert victim.exists() and (site.area / "moved" / "log.darshan").exists()
    assert (done.logs, done.removed) == (1, 0) and len(done.problems) == 1


def test_a_log_that_was_exchanged_is_not_shown(site: Site) -> None:
    log = site.log(MALLORY, site.area / "log.darshan", compression=2)
    secret = site.log(ALICE, site.private / "log.darshan", compression=2)
    mtime = log.stat().st_mtime_ns
    os.utime(secret, ns=(1, mtime))
    assert site.ingest().ingested == 1 and log.stat().st_size == secret.stat().st_size
    content = log.read_bytes()
    lake = Lake(site.lake)
    with lake.open() as data:
        rows = sources(data)
    with extracted(lake, rows) as (path,):  # a copy: mallory can exchange the file while it is read
        assert path != str(log) and Path(path).read_bytes() == content
    log.unlink()
    as_user(MALLORY, "ln", "-s", secret, log)
    with pytest.raises(IolensError, match="the log was removed"), extracted(lake, rows):
        pass
    log.unlink()
    as_user(MALLORY, "sh", "-c", 'cat > "$0"', log, given=secret.read_bytes())
    os.utime(log, ns=(1, mtime))
    with pytest.raises(IolensError, match="not the log that was ingested"), extracted(lake, rows):
        pass


def test_a_restored_log_does_not_leave_the_area(site: Site) -> None:
    folder = site.area / "mine"
    as_user(MALLORY, "mkdir", folder)
    log = site.log(MALLORY, folder / "log.darshan", start=1_700_000_000)
    content = log.read_bytes()
    assert site.ingest().ingested == 1
    lake = archived(site)
    assert not log.exists()
    with lake.open() as data:
        rows = sources(data)
    as_user(MALLORY, "rmdir", folder)
    as_user(MALLORY, "ln", "-s", site.private, folder)
    assert len(restore(lake, rows).problems) == 1 and list(site.private.iterdir()) == []
    as_user(MALLORY, "rm", folder)
    done = restore(lake, rows)
    assert (done.logs, done.problems, log.read_bytes()) == (1, [], content)
    assert log.stat().st_uid == number(MALLORY)


# ---- whose the lake is ----


def modes(lake: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), path.stat().st_mode & 0o7777) for path in (lake, *lake.rglob("*"))}


def test_a_lake_is_private_unless_a_group_is_named(site: Site) -> None:
    site.log(ALICE, site.area / "log.darshan")
    words = ["fleet", "ingest", site.area, "--lake", site.lake, "--no-rules", "-j", "1"]
    assert run_here(*words).returncode == 0
    assert modes(site.lake) == {(True, 0o700), (False, 0o600)}
    with pytest.raises(subprocess.CalledProcessError):
        as_user(ALICE, "ls", site.lake)

    group = grp.getgrgid(number(ALICE)).gr_name
    site.log(ALICE, site.area / "other.darshan")
    assert run_here(*words, "--group", group).returncode == 0
    assert run_here("fleet", "compact", "--lake", site.lake).returncode == 0
    assert modes(site.lake) <= {(True, 0o2750), (False, 0o640)}
    assert {path.stat().st_gid for path in site.lake.rglob("*")} == {number(ALICE)}
    as_user(ALICE, "cat", site.lake / "lake.json")
    wrong = run_here(*words, "--group", "no-such-group")
    assert wrong.returncode == 2 and "there is no such group" in wrong.stderr


def test_the_portal_refuses_a_lake_that_others_can_write(site: Site) -> None:
    site.log(ALICE, site.area / "log.darshan")
    site.ingest()
    trusted_lake(site.lake)
    for path, mode in ((site.lake, 0o777), (site.lake / "job" / "_delta_log", 0o757)):
        before = path.stat().st_mode
        path.chmod(mode)
        with pytest.raises(IolensError, match=r"other users can write the lake: chmod -R go-w"):
            trusted_lake(site.lake)
        path.chmod(before)
    trusted_lake(site.lake)


# ---- a lake of a service ----


def test_root_by_hand_leaves_a_lake_to_its_owner(site: Site) -> None:
    """The lake is alice's: what root writes into it by hand is hers, and her service goes on."""
    site.lake.mkdir(mode=0o700)
    os.chown(site.lake, number(ALICE), number(ALICE))
    logs = [site.log(ALICE, site.area / f"{ALICE}_prog_id{n}-1_1-1-1-{n}_1.darshan") for n in (1, 2, 3)]
    kept = [log.rename(site.at / log.name) for log in logs[1:]]
    assert site.ingest().ingested == 1
    kept[0].rename(logs[1])
    assert site.ingest().ingested == 1
    lake = Lake(site.lake)
    lake.append("change", [(date(2026, 1, 1), "new disks", None)])
    assert run_here("fleet", "compact", "--lake", site.lake, "--keep", "0").returncode == 0
    done = archive(lake, lake.archives, before=date(2100, 1, 1), program=str(BIN), courtesy=0)
    assert (done.logs, done.problems) == (2, [])
    made = [site.lake, lake.archives, *site.lake.rglob("*"), *lake.archives.rglob("*")]
    assert len(made) > 30 and [path for path in made if path.stat().st_uid != number(ALICE)] == []
    kept[1].rename(logs[2])
    service = [BIN, "fleet"]
    as_user(ALICE, *service, "ingest", site.area, "--lake", site.lake, "--no-rules", "--jobs", "1")
    as_user(ALICE, *service, "compact", "--lake", site.lake)
    with Lake(site.lake).open() as data:
        assert data.rows("SELECT count(*) AS n FROM job") == [{"n": 3}]


def test_another_file_in_place_of_roots_stays_root_s(site: Site) -> None:
    """The owner of a lake can put a link to any file where root has just written."""
    folder = site.private
    secret = site.at / "secret"
    secret.write_bytes(b"of root")
    os.link(secret, folder / "hard")
    (folder / "soft").symlink_to(secret)
    (folder / "own").write_bytes(b"of root's ingest")
    with pytest.raises(OSError, match="symbolic"):
        keep_owner(folder / "soft")
    keep_owner(folder / "hard", folder / "own", folder / "gone")
    assert secret.stat().st_uid == 0 and (folder / "own").stat().st_uid == number(ALICE)
