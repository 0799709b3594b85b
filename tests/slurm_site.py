"""A site with Slurm and iolens on for every job: plugin or TaskProlog, prolog and epilog of deploy/slurm."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import places
import slurm

PLUGIN = places.BUILD / "deploy" / "slurm" / "iolens-spank.so"
NOBODY = 65534
SLURM_CONF = """\
PlugStackConfig={at}/plugstack.conf
Prolog={at}/etc/prolog
Epilog={at}/etc/epilog
"""
SITE_CONF = """\
IOLENS={at}/bin/iolens
IOLENS_LOGPATH={at}/logs
DAYS=yes
LIMIT=60
GRACE=5
"""
TASK_PROLOG = "TaskProlog={at}/etc/task-prolog\n"
# Logs are made where users may write, and the epilog moves them.
SPOOLED = """\
SPOOL={at}/spool
IOLENS_LIBRARY={at}/lib/iolens/libiolens.so
SERIAL=yes
"""
PLUGSTACK = "required {at}/iolens-spank.so library={at}/lib/iolens/libiolens.so logs={at}/logs serial=yes\n"


@dataclass
class Ended:
    """A job that is over."""

    number: int
    state: str
    code: str  # as Slurm says it: code:signal
    out: str
    err: str


@dataclass
class Site:
    at: Path
    slurm: slurm.Slurm
    jobs: list[int] = field(default_factory=list)

    @property
    def logs(self) -> Path:
        return self.at / "logs"

    def command(self, *words: str | Path, uid: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if uid else []
        return self.slurm.run(*as_user, *words, cwd=self.at / "work", **env)

    def submit(self, script: str, *options: str, uid: int = 0, **env: str) -> int:
        """Options are sbatch's; returns the number of the job."""
        file = Path(tempfile.mkdtemp(dir=self.at / "scripts")) / "script"
        file.write_text("#!/bin/sh\n" + script)
        file.parent.chmod(0o755)
        out = ["-o", str(self.at / "work" / "out-%j"), "-e", str(self.at / "work" / "err-%j")]
        out.append("--open-mode=append")
        told = self.command("sbatch", "--parsable", *out, *options, file, uid=uid, **env)
        if told.returncode:
            raise AssertionError(told.stderr)
        self.jobs.append(int(told.stdout))
        return self.jobs[-1]

    def wait(self, met: Callable[[], bool], seconds: float = 100) -> None:
        until = time.monotonic() + seconds
        while not met():
            if time.monotonic() > until:
                raise AssertionError(f"still waiting: {self.queue()}")
            time.sleep(0.2)

    def queue(self) -> str:
        return self.command("squeue", "-h", "-o", "%i %T %r").stdout

    def facts(self, number: int) -> dict[str, str]:
        told = self.command("scontrol", "-o", "show", "job", str(number)).stdout.split()
        return dict(word.split("=", 1) for word in told if "=" in word)

    def ended(self, number: int) -> Ended:
        facts = self.facts(number)
        streams = [self.at / "work" / f"{name}-{number}" for name in ("out", "err")]
        out, err = (path.read_text() if path.exists() else "" for path in streams)
        return Ended(number, facts["JobState"], facts["ExitCode"], out, err)

    def logs_of(self, number: int) -> list[Path]:
        return sorted(self.logs.glob(f"[0-9]*/*/*/*_id{number}-*.darshan"))

    def programs_of(self, number: int) -> list[str]:
        return [path.name.split("_", 1)[1].rsplit("_id", 1)[0] for path in self.logs_of(number)]

    def doctor(self, number: int) -> dict[str, list[str]]:
        """name -> what it says of the job."""
        command = [self.at / "bin" / "iolens", "doctor", "--json", "--job", str(number)]
        asked = self.command(*command, IOLENS_LOGPATH=str(self.logs))
        told: dict[str, Any] = json.loads(asked.stdout)
        found: dict[str, list[str]] = {}
        for check in told["checks"]:
            if check["about"] == "job":
                found.setdefault(check["name"], []).append(f"{check['result']}: {check['text']}")
        return found

    def left(self) -> list[str]:
        """Of iolens on the nodes and where these meet."""
        command = ["srun", "-Q", "--iolens=off", "-N2", "-n2", "sh", "-c", "ls -A /dev/shm"]
        found = self.command(*command).stdout.split()
        return [name for name in found if "iolens" in name] + [
            path.name for path in (self.logs / ".stores").iterdir()
        ]


def _install(at: Path) -> None:
    """As an administrator does: below one directory that everybody may read."""
    for folder in ("bin", "lib/iolens", "logs", "work", "scripts"):
        (at / folder).mkdir(parents=True)
    (at / "work").chmod(0o1777)
    shutil.copy(places.BIN, at / "bin" / "iolens")
    for library in places.PRELOAD.parent.rglob("libiolens*.so"):
        shutil.copy(library, at / "lib" / "iolens")
    for backend in places.BUILD.rglob("libiolens-mpi-*.so"):
        shutil.copy(backend, at / "lib" / "iolens")
    shutil.copy(PLUGIN, at)
    shutil.copytree(places.ROOT / "deploy" / "slurm", at / "etc")
    (at / "etc" / "site.conf").write_text(SITE_CONF.format(at=at))


def _install_without_plugin(at: Path) -> None:
    (at / "spool").mkdir()
    (at / "spool").chmod(0o1733)
    with (at / "etc" / "site.conf").open("a") as conf:
        conf.write(SPOOLED.format(at=at))


@contextmanager
def site(patience: int, plugin: bool = True) -> Iterator[Site]:
    """Without the plugin it has TaskProlog, and a spool."""
    if not PLUGIN.exists():
        raise slurm.CannotStart("no headers of Slurm: the plugin is not built")
    at = Path(tempfile.mkdtemp(prefix="iolens-site-"))
    at.chmod(0o755)
    try:
        _install(at)
        if plugin:
            # Slurm reads the one beside its slurm.conf, whether that names it or not.
            (at / "plugstack.conf").write_text(PLUGSTACK.format(at=at))
        else:
            _install_without_plugin(at)
        more = "" if plugin else TASK_PROLOG
        with slurm.cluster(at, (SLURM_CONF + more).format(at=at), patience) as running:
            yield Site(at, running)
    finally:
        shutil.rmtree(at, ignore_errors=True)
