"""What a log says of the machine: facts of the node, its limits, the scheduler's allocation, mounts, the container."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import shown
from memory_group import memory_group
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def facts(sections: dict[str, list[shown.Row]]) -> dict[str, str]:
    """Name -> value; of numbers as they are printed."""
    rows = sections["platform"]
    assert {row["host"] for row in rows} == {""}, "one node: what holds for all"
    return {row["name"]: row["number"] if row["unit"] else row["value"] for row in rows}


def sections_of(run_iolens: Run, log: Path) -> dict[str, list[shown.Row]]:
    return shown.sections(run_iolens(["show", "--base", "--ext", log]).stdout)


def meminfo(key: str) -> int:
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def test_the_node(observe: Observe) -> None:
    cpu = min(os.sched_getaffinity(0))
    seen = observe(["taskset", "-c", str(cpu), "true"])
    told = facts(seen.sections)
    assert told["kernel"] == os.uname().release
    assert float(told["memory_total"]) == pytest.approx(meminfo("MemTotal"), rel=1e-8)
    assert int(told["cpus_online"]) == os.cpu_count()
    assert int(told["cpus_allowed"]) == len(os.sched_getaffinity(0)), "iolens run's own"
    assert int(told["numa_nodes"]) >= 1
    assert "scheduler" not in told
    assert all(float(told[name]) < 1e15 for name in ("memory_limit", "swap_limit") if name in told)
    assert {row["host"] for row in seen.sections["process"]} == {os.uname().nodename}


def test_allowed_processors(iolens: Path, run_iolens: Run, tmp_path: Path) -> None:
    cpu, log = str(min(os.sched_getaffinity(0))), tmp_path / "log.darshan"
    subprocess.run(["taskset", "-c", cpu, iolens, "run", "-q", "-o", log, "true"], check=True)
    told = facts(sections_of(run_iolens, log))
    assert (told["cpus_allowed"], told["cpu_list"]) == ("1", cpu)


def test_the_limit_of_a_control_group(iolens: Path, run_iolens: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.darshan"
    with memory_group(48 << 20) as members:
        command = f"echo $$ > {members}; exec {iolens} run -q -o {log} true"
        subprocess.run(["sh", "-c", command], check=True)
        group = members.parent.name
    told = facts(sections_of(run_iolens, log))
    assert int(told["memory_limit"]) == 48 << 20
    assert told["cgroup"].endswith(group)
    assert told["cgroup_version"] == ("2" if members.parent.parent.name == "cgroup" else "1")


ALLOCATIONS = {
    "PBS": (
        {
            "PBS_JOBID": "12.pbs",
            "PBS_QUEUE": "workq",
            "PBS_NUM_NODES": "3",
            "NCPUS": "8",
            "PBS_O_SECRET": "x",
        },
        {"job_id": "12.pbs", "queue": "workq", "job_nodes": "3", "cpus_per_node": "8"},
    ),
    "PBS, a job of an array": (
        {"PBS_JOBID": "12[3].pbs", "PBS_ARRAY_ID": "12[].pbs", "PBS_ARRAY_INDEX": "3"},
        {"job_id": "12[3].pbs", "array_job": "12[].pbs", "array_task": "3"},
    ),
    "PBS, Torque's": (
        {
            "PBS_JOBID": "1098[4].hostname",
            "PBS_ARRAYID": "4",
            "PBS_NUM_NODES": "2",
            "PBS_NUM_PPN": "8",
            "PBS_NP": "16",
        },
        {
            "job_id": "1098[4].hostname",
            "array_task": "4",
            "job_nodes": "2",
            "tasks_per_node": "8",
            "job_tasks": "16",
        },
    ),
    "LSF": (
        {
            "LSB_JOBID": "99",
            "LSB_JOBINDEX": "0",
            "LSB_QUEUE": "normal",
            "LSB_DJOB_NUMPROC": "8",
            "LSB_MCPU_HOSTS": "a 4 b 4",
        },
        {"job_id": "99", "queue": "normal", "job_tasks": "8", "tasks_per_node": "a 4 b 4", "job_nodes": "2"},
    ),
    "LSF, a job of an array": (
        {"LSB_JOBID": "99", "LSB_JOBINDEX": "7", "LSB_MCPU_HOSTS": "a 4 "},
        {"job_id": "99", "array_task": "7", "tasks_per_node": "a 4 ", "job_nodes": "1"},
    ),
    "Flux": (
        {"FLUX_JOB_ID": "ƒuzzy", "FLUX_JOB_NNODES": "2", "FLUX_JOB_SIZE": "64"},
        {"job_id": "ƒuzzy", "job_nodes": "2", "job_tasks": "64"},
    ),
    "Slurm": (
        {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "many", "SLURM_MEM_PER_NODE": "4096"},
        {"job_id": "7", "memory_per_node": "4096"},
    ),
}
"""As the manuals of OpenPBS, Torque, LSF and Flux tell what their jobs find in the environment."""
ALLOCATED = {name for _, told in ALLOCATIONS.values() for name in told} | {"job_nodes", "job_step", "cluster"}


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({"SLURM_JOB_ID": "4711"}, 4711),
        ({"PBS_JOBID": "12.server"}, 12),
        ({"PBS_JOBID": "12[3].server"}, 12),
        ({"LSB_JOBID": "99"}, 99),
        ({"FLUX_JOB_ID": "ƒ2oLkTLb"}, 68484595712),
        ({"FLUX_JOB_ID": "f2oLkTLb"}, 68484595712),
        ({"FLUX_JOB_ID": "41109680713"}, 41109680713),
        ({"FLUX_JOB_ID": "ƒ5", "SLURM_JOB_ID": "7"}, 7),
        ({"MY_JOB": "31", "SLURM_JOB_ID": "7", "IOLENS_JOBID": "MY_JOB"}, 31),
    ],
)
def test_the_number_of_the_job_is_in_the_log(
    preload: Path, tmp_path: Path, variables: dict[str, str], number: int
) -> None:
    """Base 58 as Flux documents it; its alphabet lacks 0, I, O and l."""
    env = {**os.environ, **variables, "LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(tmp_path)}
    subprocess.run(["/bin/pwd"], env={**env, "IOLENS_ENABLE_NONMPI": "1"}, check=True)
    (log,) = tmp_path.glob("*.darshan")
    assert f"_pwd_id{number}-" in log.name


@pytest.mark.parametrize(
    "variables",
    [{"SLURM_JOB_ID": "none"}, {"FLUX_JOB_ID": "ƒ0"}, {"LSB_JOBID": "9" * 30}, {"PBS_JOBID": "-3"}],
)
def test_what_is_no_number_of_a_job(preload: Path, tmp_path: Path, variables: dict[str, str]) -> None:
    env = {**os.environ, **variables, "LD_PRELOAD": str(preload), "IOLENS_LOGPATH": str(tmp_path)}
    subprocess.run(["/bin/pwd"], env={**env, "IOLENS_ENABLE_NONMPI": "1"}, check=True)
    (log,) = tmp_path.glob("*.darshan")
    job, process = log.name.split("_id")[1].split("_")[0].split("-")
    assert job == process


@pytest.mark.parametrize("scheduler", ALLOCATIONS)
def test_the_allocation_of_a_scheduler(observe: Observe, scheduler: str) -> None:
    env, expected = ALLOCATIONS[scheduler]
    told = facts(observe(["true"], env=env).sections)
    assert told["scheduler"] == scheduler.partition(",")[0]
    assert {name: value for name, value in told.items() if name in ALLOCATED} == expected


def test_no_other_variable_is_in_the_log(observe: Observe) -> None:
    seen = observe(["true"], env={"SLURM_JOB_ID": "7", "SLURM_JWT": "geheim", "TOKEN": "geheim"})
    assert "geheim" not in seen.text


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"APPTAINER_CONTAINER": "/images/a.sif"}, ("apptainer", "/images/a.sif")),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, ("kubernetes", None)),
    ],
)
def test_the_container(observe: Observe, env: dict[str, str], expected: tuple[str, str | None]) -> None:
    told = facts(observe(["true"], env=env).sections)
    assert (told["container"], told.get("container_image")) == expected


MOUNTED = "mount -t tmpfs -o size=1m,mode=700 my-scratch {at} && exec {iolens} run -q -o {log} {program}"


def with_mount(iolens: Path, tmp_path: Path, program: str = "true") -> Path:
    """The log of a program that sees a mount of its own."""
    at, log = tmp_path / "scratch", tmp_path / "log.darshan"
    at.mkdir()
    command = MOUNTED.format(at=at, iolens=iolens, log=log, program=program)
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no mounts here: {done.stderr}")
    return log


@pytest.fixture
def mounted(iolens: Path, tmp_path: Path) -> Path:
    return with_mount(iolens, tmp_path)


def test_of_a_node_s_own_file_systems_those_with_files_of_the_job(
    iolens: Path, run_iolens: Run, tmp_path: Path
) -> None:
    at = tmp_path / "scratch"
    program = f'sh -c "echo 1 > {at}/file; echo 1 > {at}ed"'
    rows = sections_of(run_iolens, with_mount(iolens, tmp_path, program))["mounted"]
    own = {row["point"] for row in rows if row["class"] in {"memory", "local", "image"}}
    assert str(at) in own
    assert {point for point in own if not str(tmp_path).startswith(point)} == {str(at)}


def test_mounts_with_their_options(run_iolens: Run, mounted: Path) -> None:
    rows = {row["point"]: row for row in sections_of(run_iolens, mounted)["mounted"]}
    row = rows[str(mounted.parent / "scratch")]
    assert (row["host"], row["type"], row["source"]) == ("", "tmpfs", "my-scratch")
    assert row["options"].split(",")[0] == "rw"
    assert {"size=1024k", "mode=700"} <= set(row["options"].split(","))
    assert not {"proc", "sysfs", "devpts", "cgroup2"} & {row["type"] for row in rows.values()}


def test_an_anonymized_log_keeps_the_numbers(run_iolens: Run, mounted: Path) -> None:
    new = mounted.with_name("new.darshan")
    assert run_iolens(["convert", "--anonymize", mounted, new]).returncode == 0
    old, told = facts(sections_of(run_iolens, mounted)), facts(sections_of(run_iolens, new))
    assert told["memory_total"] == old["memory_total"]
    assert told["kernel"] != old["kernel"]
    text = run_iolens(["show", "--ext", new]).stdout
    assert "my-scratch" not in text and str(mounted.parent) not in text
    assert not re.search(
        rf"\b{re.escape(os.uname().nodename)}\b", text
    )  # two letters may be within a pseudonym


def test_the_library_alone(preload: Path, run_iolens: Run, tmp_path: Path) -> None:
    """What it reads of /proc for that is not the program's."""
    log = tmp_path / "log.darshan"
    env = {"LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": str(log)}
    subprocess.run(["/bin/true"], env={**os.environ, **env, "PBS_JOBID": "12.pbs"}, check=True)
    told = sections_of(run_iolens, log)
    assert facts(told)["kernel"] == os.uname().release
    assert facts(told)["job_id"] == "12.pbs"
    assert [row["unexplained_read"] for row in told["process"]] == ["0"]


def test_a_killed_run_keeps_it(iolens: Path, run_iolens: Run, tmp_path: Path) -> None:
    log, stores = tmp_path / "log.darshan", tmp_path / "stores"
    stores.mkdir()
    env = {**os.environ, "IOLENS_TMPDIR": str(stores), "SLURM_JOB_ID": "7"}
    # `iolens run` looks at the node while the command runs.
    command = "echo 1 > data; until [ -s stores/*/platform ]; do sleep 0.01; done; kill -9 $PPID"
    subprocess.run([iolens, "run", "-q", "-o", log, "sh", "-c", command], env=env, cwd=tmp_path, check=False)
    (session,) = (path for path in stores.iterdir() if list(path.glob("*.store")))
    assert run_iolens(["recover", "-o", log, session]).returncode in (0, 4)
    assert facts(sections_of(run_iolens, log))["job_id"] == "7"


def test_info_says_it(observe: Observe, run_iolens: Run) -> None:
    seen = observe(["true"], env={"SLURM_JOB_ID": "7"})
    page = run_iolens(["info", seen.log]).stdout
    lines = dict(line.split(None, 1) for line in page.split("\nplatform\n")[1].splitlines())
    assert lines["nodes"] == "1"
    assert lines["scheduler"] == "Slurm"
    assert lines["kernel"] == os.uname().release
    told = json.loads(run_iolens(["info", "--json", seen.log]).stdout)
    assert (told["nodes"], told["processes_per_node"]) == (1, 1)
    kernel = {"host": "", "name": "kernel", "value": os.uname().release, "number": 0, "unit": ""}
    assert kernel in told["platform"]
    assert told["mounted"]


def test_sql_asks_for_it(observe: Observe, run_iolens: Run) -> None:
    seen = observe(["true"], env={"FLUX_JOB_ID": "f", "FLUX_JOB_NNODES": "2"})
    query = "select number, unit from platform where name = 'job_nodes'"
    done = run_iolens(["sql", "--format", "json", seen.log, query])
    assert json.loads(done.stdout) == [{"number": 2.0, "unit": "node"}], done.stderr
