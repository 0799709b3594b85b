"""A log area where two unprivileged users write, and root ingests."""

from __future__ import annotations

import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from made_area import Here
from made_log import Make

ALICE, MALLORY = "daemon", "games"
TWO = [{"id": 1, "writes": 1}]


def number(user: str) -> int:
    return pwd.getpwnam(user).pw_uid


def as_user(user: str, *command: object, given: bytes = b"") -> None:
    setpriv = ["setpriv", f"--reuid={number(user)}", f"--regid={number(user)}", "--clear-groups", "--"]
    subprocess.run([*setpriv, *map(str, command)], input=given, check=True, timeout=300)


class Site:
    """An area of mode 1777, and a folder that only alice can enter."""

    def __init__(self, at: Path) -> None:
        self.at, self.area, self.private, self.lake = at, at / "area", at / "private", at / "lake"
        for folder, mode in ((at, 0o755), (self.area, 0o1777), (self.private, 0o700)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        shutil.chown(self.private, number(ALICE))
        made = at / "made"
        made.mkdir()
        self.make = Make(made)
        self.jobs = 0

    def log(self, user: str, path: Path, *, uid: int | None = None, **more: Any) -> Path:
        """The user writes a log."""
        self.jobs += 1
        uid = number(user) if uid is None else uid
        facts = {"posix": TWO, "job_id": self.jobs, "uid": uid, "exe": b"/bin/prog", **more}
        made = self.make(**facts)
        as_user(user, "sh", "-c", 'cat > "$0"', path, given=made.read_bytes())
        return path

    def ingest(self, pool: Any = None, **options: Any) -> Summary:
        made = Lake.create(self.lake)
        given = Options(str(self.lake), rules=False, **options)
        return Ingest(made, given, jobs=1, pool=pool or Here()).run([self.area])

    def users(self) -> dict[str, str]:
        """Names of the logs in the lake, and whose they are."""
        with Lake(self.lake).open() as data:
            return {
                Path(path).name: user for path, user in data.query('SELECT path, "user" FROM job').fetchall()
            }

    def reasons(self) -> dict[str, str]:
        with Lake(self.lake).open() as data:
            rows = data.query("SELECT path, reason FROM quarantine").fetchall()
        return {Path(path).name: reason for path, reason in rows}


@contextmanager
def two_users() -> Iterator[Site]:
    """Where every user can enter it."""
    if any(name not in {user.pw_name for user in pwd.getpwall()} for name in (ALICE, MALLORY)):
        pytest.skip("has other users")
    at = Path(tempfile.mkdtemp(prefix="iolens-hostile-", dir="/var/tmp"))
    yield Site(at)
    shutil.rmtree(at)
