"""Every job of a cluster is observed, and none of them notices: deploy/slurm on a real Slurm of two nodes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import slurm
import slurm_site
from mpis import MPIS
from slurm_site import NOBODY, Ended, Site

JOBS = int(os.environ.get("SLURM_JOBS", "0"))
"""More than one of each kind: make slurm-tests."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    try:
        with slurm_site.site(90 if JOBS else 15) as running:
            build(running.at / "work")
            yield running
    except slurm.CannotStart as why:
        pytest.skip(str(why))


@dataclass
class Kind:
    """A kind of job: what it runs, how it ends without iolens, and what there must be of it afterwards."""

    script: str
    out: str = "done\n"
    state: str = "COMPLETED"
    code: str = "0:0"
    options: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    uid: int = 0
    logs: list[str] = field(default_factory=list)  # of these programs, at least
    exactly: int = 0  # logs of the last of them; 0: any number
    why: str = ""  # there is no log, or none of a part of it: what doctor says
    needs: str = ""  # a program
    then: tuple[str, ...] = ()  # done to it once it runs


WRITE = "f = open('{0}', 'w'); f.write('text'); f.flush()"
KILLED = WRITE + "; import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
SLEEPS = WRITE + "; import time; print('runs', flush=True); time.sleep(100)"

KINDS = {
    "serial": Kind("cat /etc/services > serial.out; echo done", logs=["cat"]),
    "of another user": Kind("cat /etc/services > user.out; echo done", uid=NOBODY, logs=["cat"]),
    "python": Kind(f"python3 -c \"{WRITE.format('python.out')}; print('done')\"", logs=["python3"]),
    "fails": Kind(
        "cat /no/such/file 2>/dev/null; echo done; exit 7", state="FAILED", code="7:0", logs=["cat"]
    ),
    "mpich": Kind("srun -Q -n4 -N1 ./job.mpich", options=["-n4"], logs=["job.mpich"], needs="job.mpich"),
    "mpich on two nodes": Kind(
        "srun -Q -n4 -N2 ./job.mpich5", options=["-n4", "-N2"], logs=["job.mpich5"], needs="job.mpich5"
    ),
    "open mpi": Kind(
        "mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 ./job.openmpi",
        logs=["job.openmpi"],
        needs="job.openmpi",
    ),
    "steps": Kind(
        "srun -Q -n2 -N2 cat /etc/hosts >/dev/null; srun -Q head -c 9 /etc/hosts >/dev/null; echo done",
        options=["-n2", "-N2"],
        logs=["cat", "cat", "head"],
    ),
    "killed": Kind(f'python3 -c "{KILLED.format("killed.out")}"; echo $?', out="137\n", logs=["python3"]),
    "killed on two nodes": Kind(
        "srun -Q -n4 -N2 -K1 ./job.mpich5 kill 1 2>/dev/null; echo $?",
        out="143\n",
        options=["-n4", "-N2"],
        logs=["job.mpich5"],
        exactly=1,
        needs="job.mpich5",
    ),
    "cancelled": Kind(
        f'exec python3 -c "{SLEEPS.format("cancelled.out")}"',
        out="runs\n",
        state="CANCELLED",
        code="0:15",
        logs=["python3"],
        then=("scancel", "{job}"),
    ),
    "requeued": Kind(
        "[ -e requeued.$SLURM_JOB_ID ] && { cat /etc/hosts >/dev/null; echo done; exit; }\n"
        "touch requeued.$SLURM_JOB_ID; echo runs; sleep 100",
        out="runs\ndone\n",
        options=["--requeue"],
        logs=["cat"],
        then=("scontrol", "requeue", "{job}"),
    ),
    "array": Kind("cat /etc/services > array.out; echo done", options=["--array=7"], logs=["cat"]),
    "static": Kind("srun -Q ./static; echo done", logs=[], why="a static program: it cannot", needs="static"),
    "musl": Kind(
        "srun -Q ./musl; srun -Q sh -c ./musl; echo done",
        out="runs\nruns\ndone\n",
        why="a program of another C library",
        needs="musl",
    ),
    "off": Kind("cat /etc/hosts >/dev/null; echo done", options=["--iolens=off"], why="off: --iolens=off"),
    "step off": Kind(
        "srun -Q --iolens=off head -c 9 /etc/hosts >/dev/null; echo done", why="off: --iolens=off"
    ),
    "on in off": Kind(
        "srun -Q --iolens=on head -c 9 /etc/hosts >/dev/null; echo done",
        options=["--iolens=off"],
        logs=["head"],
        why="off: --iolens=off",
    ),
    "disabled": Kind(
        "cat /etc/hosts >/dev/null; echo done",
        env={"XDG_CONFIG_HOME": "{work}/config"},
        why="disabled: by",
    ),
    "trace": Kind("cat /etc/hosts >/dev/null; echo done", options=["--iolens=trace"], logs=["cat"]),
}
LATE = {
    "timed out": Kind(
        f'exec python3 -c "{SLEEPS.format("late.out")}"',
        out="runs\n",
        state="TIMEOUT",
        code="0:15",
        options=["--time=0:01"],
        logs=["python3"],
    ),
}


def build(work: Path) -> None:
    (work / "config" / "iolens").mkdir(parents=True)
    (work / "config" / "iolens" / "disabled").write_text("")
    source = "int main(void) { return 0; }"
    subprocess.run(
        ["cc", "-static", "-x", "c", "-o", work / "static", "-"], input=source.encode(), check=False
    )
    if shutil.which("musl-gcc"):
        runs = 'int puts(const char *); int main(void) { puts("runs"); return 0; }'
        command = ["musl-gcc", "-w", "-x", "c", "-o", work / "musl", "-"]
        subprocess.run(command, input=runs.encode(), check=True)
    program = Path(__file__).resolve().parents[1] / "mpi" / "programs" / "job.c"
    for name in ("mpich", "mpich5", "openmpi"):
        compiler = MPIS[name].compilers[".c"]
        command = [compiler, "-O1", "-pthread", "-o", work / f"job.{name}", program]
        if shutil.which(compiler):
            subprocess.run(command, check=True)


def submit(site: Site, kind: Kind) -> int:
    env = {name: value.format(work=site.at / "work") for name, value in kind.env.items()}
    return site.submit(kind.script, *kind.options, uid=kind.uid, **env)


def runs(site: Site, job: int) -> bool:
    out = site.at / "work" / f"out-{job}"
    return out.exists() and "runs" in out.read_text()


def judge(site: Site, job: int, kind: Kind) -> list[str]:
    """What is not as it should be."""
    wrong = []
    number = int(site.facts(job)["JobId"])
    ended: Ended = site.ended(number)
    if (ended.state, ended.code, ended.out) != (kind.state, kind.code, kind.out):
        wrong.append(f"ended {ended}")
    if "iolens" in ended.err or "preload" in ended.err:
        wrong.append(f"said {ended.err}")
    logs, found = site.programs_of(number), site.doctor(number)
    for program in set(kind.logs):
        if sum(log.startswith(program) for log in logs) < kind.logs.count(program):
            wrong.append(f"no log of {program}, only of {logs}")
    if kind.exactly and sum(log.startswith(kind.logs[-1]) for log in logs) != kind.exactly:
        wrong.append(f"not {kind.exactly} log of {kind.logs[-1]}: {logs}")
    if kind.why and not any(kind.why in line for line in found.get("not observed", [])):
        wrong.append(f"doctor does not say {kind.why}: {found}")
    if bool(logs) != any(line.startswith("ok: ") for line in found["log"]):
        wrong.append(f"doctor does not see {logs}: {found}")
    return wrong


def test_jobs_of_all_kinds(site: Site) -> None:
    kinds = {
        name: kind
        for name, kind in KINDS.items()
        if not kind.needs or (site.at / "work" / kind.needs).exists()
    }
    chosen = {**kinds, **LATE} if JOBS else kinds
    names = [name for n, name in enumerate(list(chosen) * (JOBS // len(chosen) + 1)) if n < JOBS or not JOBS]
    jobs = [(submit(site, chosen[name]), name) for name in names]
    for job, name in jobs:
        if chosen[name].then:
            site.wait(lambda job=job: runs(site, job), 600)  # type: ignore[misc]
            site.command(*(word.format(job=job) for word in chosen[name].then))
    site.wait(lambda: not site.queue(), 60 + 10 * len(jobs))
    wrong = {f"{name} ({job})": found for job, name in jobs if (found := judge(site, job, chosen[name]))}
    assert not wrong, "\n" + "\n".join(f"{name}: {found}" for name, found in wrong.items())
    assert site.left() == []


def test_logs_belong_to_the_user_of_the_job(site: Site) -> None:
    job = site.submit("cat /etc/hosts >/dev/null", uid=NOBODY)
    site.wait(lambda: not site.queue())
    assert {(path.stat().st_uid, path.stat().st_mode & 0o777) for path in site.logs_of(job)} == {
        (NOBODY, 0o400)
    }
    day = site.logs_of(job)[0].parent
    assert (day.stat().st_uid, day.stat().st_mode & 0o7777) == (0, 0o1777)
    assert [
        (path.stat().st_uid, path.stat().st_mode & 0o7777) for path in (day.parent, day.parent.parent)
    ] == [(0, 0o755)] * 2


def test_doctor_finds_the_site_s_installation(site: Site) -> None:
    command = [site.at / "bin" / "iolens", "doctor", "--site", "--json"]
    told = json.loads(site.command(*command, IOLENS_LOGPATH=str(site.logs)).stdout)
    said = [check for check in told["checks"] if check["name"] == "slurm"]
    assert [check["text"].split(":")[0] for check in said if check["result"] == "ok"] == [
        f"{site.at}/plugstack.conf",
        f"Prolog={site.at}/etc/prolog",
        f"Epilog={site.at}/etc/epilog",
    ]
    assert [check["text"] for check in said if check["result"] == "problem"] == []
    through = ["--nodes", "node0,node1", "--through", "srun -Q --iolens=off -N1 -n1 -w %h", "--json"]
    told = json.loads(site.command(site.at / "bin" / "iolens", "doctor", *through).stdout)
    (same,) = [check["text"] for check in told["checks"] if check["about"] == "nodes"]
    assert same == "2 of 2 nodes have the same command and library as this one"


def test_a_wrong_word_is_said_before_the_job(site: Site) -> None:
    told = site.command("srun", "--iolens=maybe", "true")
    assert told.returncode != 0 and "expected on, off or trace" in told.stderr


@pytest.mark.parametrize("missing", ["library", "logs", "iolens", "site.conf"])
def test_what_is_missing_fails_no_job(site: Site, missing: str) -> None:
    path = {
        "library": site.at / "lib" / "iolens",
        "logs": site.logs,
        "iolens": site.at / "bin",
        "site.conf": site.at / "etc" / "site.conf",
    }[missing]
    away = path.with_name(path.name + ".away")
    path.rename(away)
    try:
        job = site.submit(KINDS["killed"].script + "; echo done; exit 3")
        site.wait(lambda: not site.queue())
    finally:
        if path.exists():
            subprocess.run(["rm", "-r", path], check=True)
        away.rename(path)
    ended = site.ended(job)
    assert (ended.state, ended.code, ended.out) == ("FAILED", "3:0", "137\ndone\n")
    assert site.command("sinfo", "-h", "-o", "%T").stdout.split() == ["idle"]
