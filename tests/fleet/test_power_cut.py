"""A loss of power at any moment: no job leaves the lake, no log leaves both the area and the archives."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from iolens.fleet import Lake
from iolens.fleet.archive import extracted, sources
from iolens.fleet.tables.durable import publish
from iolens.fleet.upkeep.verify import verify
from made_area import fill, make_area, whole
from power_cut import Disk

IOLENS = Path(sys.executable).parent / "iolens"
LOGS = 6
AT_MOST = 8
"""Contents of a real disk that are checked for each command: a check takes a second."""
CHANGES = "mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,fsync,fdatasync,syncfs"

# What runs one after the other, and how many jobs are in the lake then.
INGEST = ("ingest", "AREA", "--lake", "LAKE", "--jobs", "1", "--no-rules")
NIGHTS = {
    # a log of a day that has others: compact merges files of two ingests
    "first ingest": (("ingest", "AREA/dora_zephyr_id1-1_1-1-1-1_1.darshan", *INGEST[2:]), 1),
    "ingest": (INGEST, LOGS),
    "compact": (("compact", "--lake", "LAKE", "--keep", "0"), LOGS),
    "archive": (("archive", "--lake", "LAKE", "--to", "AREA/../kept"), LOGS),
    "restore": (("restore", "--lake", "LAKE", "--since", "2000-01-01"), LOGS),
}
RETENTION = ("retention", "--lake", "LAKE", "--jobs", "2023-11-15")
LATER = 5
"""Jobs that started on that day or later."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with an area of six logs of three days."""
    place = tmp_path / "disk"
    place.mkdir()
    fill_area(place)
    return place


def fill_area(place: Path) -> None:
    make_area(place / "logs")
    for log in (place / "logs").iterdir():
        job = int(log.name.partition("_id")[2].partition("-")[0])
        if job not in (0, 1, 2, 12, 13, 14):
            log.unlink()


def command(place: Path, words: tuple[str, ...]) -> list[str]:
    at = {"AREA": str(place / "logs"), "LAKE": str(place / "lake")}
    return [
        str(IOLENS),
        "fleet",
        *(word.replace("AREA", at["AREA"]).replace("LAKE", at["LAKE"]) for word in words),
    ]


def jobs(lake: Path) -> int:
    if not (lake / "lake.json").exists():
        return 0
    with Lake(lake).open() as data:
        return int(data.rows("SELECT count(*) AS n FROM job")[0]["n"])


def nothing_is_lost(place: Path, before: int, content: dict[str, bytes]) -> None:
    """What was in the lake is; after the next ingest all is, and every row has its log, byte by byte."""
    lake = place / "lake"
    if before or (lake / "lake.json").exists():
        assert list(verify(Lake(lake))) == []
    assert jobs(lake) >= before
    fill(place / "logs", lake)
    whole(lake, LOGS)
    made = Lake(lake)
    with made.open() as data:
        rows = sources(data)
    with extracted(made, rows) as paths:
        assert {Path(path).name: Path(path).read_bytes() for path in paths} == content


@pytest.mark.parametrize("cuts", [4, 10_000], ids=["some", "every"])
def test_no_job_and_no_log_is_lost_by_a_power_cut(cuts: int, place: Path) -> None:
    """At calls of every command, by the least that file systems promise."""
    content = {path.name: path.read_bytes() for path in (place / "logs").iterdir()}
    disk = Disk(place, place.with_name("held"))
    moments = {night: disk.run(command(place, words)) for night, (words, _) in NIGHTS.items()}
    before, checked = 0, 0
    for night, (_, after) in NIGHTS.items():
        for state in disk.states(moments[night], cuts):
            try:
                nothing_is_lost(place, before, content)
            except Exception as error:
                raise AssertionError(f"{night}, {state}") from error
            checked += 1
        before = after
    assert checked > 2 * len(NIGHTS)


@pytest.mark.parametrize("cuts", [4, 10_000], ids=["some", "every"])
def test_jobs_that_retention_removes_stay_or_do_not_come_back(cuts: int, place: Path) -> None:
    disk = Disk(place, place.with_name("held"))
    disk.run(command(place, INGEST))
    for state in disk.states(disk.run(command(place, RETENTION)), cuts):
        there = jobs(place / "lake")
        assert there in (LOGS, LATER), state
        assert list(verify(Lake(place / "lake"))) == [], state
        fill(place / "logs", place / "lake")
        assert jobs(place / "lake") == there, state


@pytest.fixture(params=["ext4", "xfs"])
def mounted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A disk, as a file, and where it is mounted."""
    image, place = tmp_path / "image", tmp_path / "disk"
    if os.geteuid() or not shutil.which(f"mkfs.{request.param}") or not shutil.which("strace"):
        pytest.skip(f"needs root, strace and mkfs.{request.param}")
    place.mkdir()
    image.touch()
    os.truncate(image, 400 << 20)
    subprocess.run([f"mkfs.{request.param}", "-q", image], check=True)
    if mount(image, place, request.param):
        pytest.skip("no loop device")
    yield image, place
    subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)


def mount(image: Path, place: Path, kind: str) -> int:
    options = "loop,commit=300" if kind == "ext4" else "loop,nouuid"
    done = subprocess.run(
        ["mount", "-t", kind, "-o", options, image, place], check=False, capture_output=True
    )
    return done.returncode


def stops(words: list[str]) -> Iterator[None]:
    """Runs a command, and stops all of its processes after each call that changes names or syncs."""
    each = ["-e", f"trace={CHANGES}", "-e", f"inject={CHANGES}:signal=SIGSTOP"]
    traced = ["strace", "-f", "-qq", "-o", os.devnull, *each, "--", *words]
    with subprocess.Popen(traced, start_new_session=True, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            if not any_is_stopped(running.pid):
                time.sleep(0.002)
                continue
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGSTOP)
            yield
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGCONT)
    assert running.returncode == 0


def any_is_stopped(session: int) -> bool:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state in "tT":
                return True
    return False


def digest(place: Path) -> str:
    """Of the names and bytes of a folder."""
    found = hashlib.sha256()
    for path in sorted(place.rglob("*")):
        found.update(f"{path.relative_to(place)}\0{path.is_dir() or path.stat().st_size}\0".encode())
        found.update(b"" if path.is_dir() else path.read_bytes())
    return found.hexdigest()


@contextlib.contextmanager
def mounted_again(cut: Path, place: Path, kind: str) -> Iterator[None]:
    assert mount(cut, place, kind) == 0
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def test_no_job_and_no_log_is_lost_when_a_real_disk_loses_power(
    mounted: tuple[Path, Path], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The disk is copied after each call that changes names or syncs; what its journal gives back is mounted later.

    At every other copy the journal is on disk: names are ahead of the data. Of the contents that differ,
    eight of each command are checked.
    """
    image, place = mounted
    kind = request.node.callspec.params["mounted"]
    fill_area(place)
    content = {path.name: path.read_bytes() for path in (place / "logs").iterdir()}
    os.sync()
    cuts: list[tuple[str, int, Path]] = []
    before = 0
    for night, (words, after) in NIGHTS.items():
        for _ in stops(command(place, words)):
            if len(cuts) % 2:
                publish(b"%d" % len(cuts), place / "other", replace=True)
            cuts.append((night, before, tmp_path / f"cut{len(cuts)}"))
            subprocess.run(["cp", "--sparse=always", image, cuts[-1][2]], check=True)
        before = after
    subprocess.run(["umount", place], check=True)
    seen: dict[tuple[int, str], tuple[str, Path]] = {}
    for night, known, cut in cuts:
        with mounted_again(cut, place, kind):
            (place / "other").unlink(missing_ok=True)
            content_there = known, digest(place)
        if seen.setdefault(content_there, (night, cut)) != (night, cut):
            cut.unlink()
    checked = 0
    for night in NIGHTS:
        there = [(known, cut) for (known, _), (of, cut) in seen.items() if of == night]
        chosen = sorted({n * (len(there) - 1) // (AT_MOST - 1) for n in range(AT_MOST)})
        for known, cut in (there[n] for n in chosen):
            with mounted_again(cut, place, kind):
                try:
                    nothing_is_lost(place, known, content)
                except Exception as error:
                    raise AssertionError(f"{night}: {cut}") from error
            checked += 1
    print(f"{kind}: {len(cuts)} power cuts, {len(seen)} contents of the disk, {checked} of them checked")
    assert len(cuts) > 100 * len(NIGHTS)
    assert checked > 5 * len(NIGHTS)
