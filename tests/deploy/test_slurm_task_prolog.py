"""A real Slurm with TaskProlog in place of the plugin, and a spool that the epilog empties: deploy/slurm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import slurm
import slurm_site
from slurm_site import NOBODY, Site

KILLED = "import os; f = open('killed.{uid}', 'w'); f.write('text'); f.flush(); os.kill(os.getpid(), 9)"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    try:
        with slurm_site.site(15, plugin=False) as running:
            yield running
    except slurm.CannotStart as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_jobs_are_as_without_and_nobody_can_write_to_their_logs(site: Site, uid: int) -> None:
    """A batch script with a step and a program that is killed."""
    killed = KILLED.format(uid=uid)
    job = site.submit(
        f'srun -Q cat /etc/services >step.{uid}; python3 -c "{killed}"; echo $?; exit 3', uid=uid
    )
    site.wait(lambda: not site.queue())
    ended = site.ended(job)
    assert (ended.state, ended.code, ended.out) == ("FAILED", "3:0", "137\n")
    assert "iolens" not in ended.err and "preload" not in ended.err
    logs, programs = site.logs_of(job), site.programs_of(job)
    assert "cat" in programs and [name for name in programs if name.startswith("python3")], programs
    assert {(log.stat().st_uid, log.stat().st_mode & 0o7777) for log in logs} == {(uid, 0o400)}
    day = logs[0].parent.stat()
    assert (day.st_uid, day.st_mode & 0o7777) == (0, 0o755)
    assert list((site.at / "spool").iterdir()) == []
    look = ["srun", "-Q", "-N2", "-n2", "sh", "-c", "find /dev/shm -name '*.store'"]
    assert site.command(*look, IOLENS_DISABLE="1").stdout == ""
    site.wait(site.slurm.idle)


@pytest.mark.parametrize("missing", ["library", "spool"])
def test_what_is_missing_fails_no_job(site: Site, missing: str) -> None:
    path = {"library": site.at / "lib" / "iolens", "spool": site.at / "spool"}[missing]
    away = path.with_name(path.name + ".away")
    path.rename(away)
    try:
        job = site.submit("srun -Q cat /etc/hosts >/dev/null; echo done; exit 3")
        site.wait(lambda: not site.queue())
    finally:
        away.rename(path)
    ended = site.ended(job)
    assert (ended.state, ended.code, ended.out, ended.err) == ("FAILED", "3:0", "done\n", "")
    assert site.logs_of(job) == []
