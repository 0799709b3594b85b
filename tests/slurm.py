"""A real Slurm on this machine: two nodes, each with a host name and a /dev/shm of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
NODES = ("node0", "node1")

CONFIGURATION = """\
ClusterName=iolens
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge/socket,cred_expire={patience}
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool-%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=pmi2
SlurmdParameters=config_overrides
NodeName=node0 NodeHostname=node0 NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=512
NodeName=node1 NodeHostname=node1 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=512
PartitionName=all Nodes=node0,node1 Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
KillWait=2
{more}"""

# A host of its own, as far as iolens can tell.
NODE = 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && exec slurmd -D -N "$0"'


class CannotStart(Exception):
    """Why there is no Slurm here."""


@dataclass
class Slurm:
    """A cluster that runs; `env` leads the client commands to it."""

    env: dict[str, str]

    def run(self, *command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def idle(self) -> bool:
        told = self.run("sinfo", "-h", "-o", "%T %D", cwd=Path("/"))
        return told.stdout.split() == ["idle", str(len(NODES))]


def _free_ports(n: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def _configure(at: Path, more: str, patience: int) -> dict[str, str]:
    for name in ("state", "munge", *(f"spool-{node}" for node in NODES)):
        (at / name).mkdir(mode=0o755)
    key = at / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    configuration = at / "slurm.conf"
    # Nothing here needs cgroups, but slurmd ends where it is to choose and none are mounted, as in containers.
    (at / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname(), at=at, ports=_free_ports(3), more=more, patience=patience
        )
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    return {**kept, "SLURM_CONF": str(configuration)}


def _daemons(at: Path) -> Iterator[list[str]]:
    munge = [f"--{name}={at}/munge/{name}" for name in ("socket", "pid-file", "log-file", "seed-file")]
    yield ["munged", "--foreground", "--force", f"--key-file={at}/munge.key", *munge]
    yield ["slurmctld", "-D"]
    for node in NODES:
        yield ["unshare", "--uts", "--ipc", "--mount", "sh", "-c", NODE, node]


def _last_words(at: Path) -> str:
    lines = [line for log in sorted(at.glob("*.log")) for line in log.read_text().splitlines()]
    return next((line for line in reversed(lines) if "error" in line or "fatal" in line), "no reason told")


@contextmanager
def cluster(at: Path, more: str = "", patience: int = 120) -> Iterator[Slurm]:
    """
    Starts it below the directory `at`, and ends it.

    `more`: lines for slurm.conf; `patience`: seconds that a step may take to start, and a requeued job waits.
    """
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        raise CannotStart(f"no {', '.join(missing)}" if missing else "Slurm's daemons need root")
    slurm = Slurm(_configure(at, more, patience))
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        with (at / "daemons.log").open("wb") as log:
            for command in _daemons(at):
                daemons.append(subprocess.Popen(command, env=slurm.env, stdout=log, stderr=log))
                time.sleep(0.2)
        until = time.monotonic() + 20
        while not slurm.idle():
            if time.monotonic() > until:
                raise CannotStart(f"Slurm does not come up: {_last_words(at)}")
            time.sleep(0.2)
        yield slurm
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(20)
