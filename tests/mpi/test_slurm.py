"""Jobs of a real Slurm. `iolens run` is on one node, or on none of them; the ranks are on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown
import slurm
from mpi_job import Job, all_written
from mpis import MPI, MPIS


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[slurm.Slurm]:
    at = tmp_path_factory.mktemp("slurm")
    at.chmod(0o755)
    try:
        with slurm.cluster(at) as running:
            yield running
    except slurm.CannotStart as why:
        pytest.skip(str(why))


@pytest.fixture
def steps(request: pytest.FixtureRequest, job_of: Callable[[MPI], Job]) -> Job:
    """The programs are MPICH's: they speak the PMI that Slurm has of its own."""
    return job_of(MPIS[getattr(request, "param", "mpich")])


def left_behind(cluster: slurm.Slurm, job: Job) -> list[str]:
    """Files of iolens on the nodes, and beside the log."""
    found = cluster.run(
        "srun", "-Q", "-N2", "-n2", "--ntasks-per-node=1", "sh", "-c", "ls -A /dev/shm", cwd=job.cwd
    )
    beside = [path.name for path in (*job.cwd.iterdir(), *job.log.parent.iterdir())]
    return [name for name in (*found.stdout.split(), *beside) if name.startswith((".iolens", "iolens-"))]


@pytest.mark.parametrize("nodes", [1, 2])
def test_one_log_of_all_nodes(cluster: slurm.Slurm, steps: Job, nodes: int) -> None:
    command = ["srun", "-Q", f"-N{nodes}", "-n4", "--distribution=block", str(steps.build("job"))]
    ended = cluster.run(steps.iolens, "run", "-q", "-o", steps.log, *command, cwd=steps.cwd)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
    assert [path.name for path in steps.log.parent.glob("*.darshan")] == [steps.log.name]
    assert steps.counters("BYTES_WRITTEN") == all_written(4)
    assert set(steps.hosts().values()) == set(slurm.NODES[:nodes])
    around = {Path(row["exe"]).name for row in steps.processes() if int(row["rank"]) < 0}
    assert around == {"srun"}
    assert {row["ended"] for row in steps.processes()} == {"exit"}
    assert left_behind(cluster, steps) == []


# Between nodes Debian's MPICH hangs in its own MPI_Finalize now and then, without iolens too.
@pytest.mark.parametrize(
    ("steps", "nodes", "ranks"),
    [("mpich", 1, 4), ("mpich5", 2, 4), ("mpich5", 2, 13), ("abi", 2, 4)],
    indirect=["steps"],
)
def test_the_library_alone(cluster: slurm.Slurm, steps: Job, nodes: int, ranks: int) -> None:
    program = str(steps.build("job"))
    settings = [f"{key}={value}" for key, value in steps.observed.items()]
    ended = cluster.run("srun", "-Q", f"-N{nodes}", f"-n{ranks}", "env", *settings, program, cwd=steps.cwd)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
    assert steps.counters("BYTES_WRITTEN") == all_written(ranks)
    assert set(steps.hosts().values()) == set(slurm.NODES[:nodes])
    assert left_behind(cluster, steps) == []


@pytest.mark.parametrize(
    ("steps", "observed"),
    [("mpich", "by iolens run"), ("mpich5", "by the library alone")],
    indirect=["steps"],
)
def test_the_platform_of_all_nodes(cluster: slurm.Slurm, steps: Job, observed: str) -> None:
    """What holds for both nodes is said once; the step is srun's, not that of the shell around it."""
    program = str(steps.build("job"))
    step = ["srun", "-Q", "-J", "my-job", "-N2", "-n4", "--ntasks-per-node=2"]
    if observed == "by iolens run":
        command = [str(steps.iolens), "run", "-q", "-o", str(steps.log), *step, program]
    else:
        command = [*step, "env", *(f"{key}={value}" for key, value in steps.observed.items()), program]
    assert cluster.run(*command, cwd=steps.cwd).returncode == 0
    rows = shown.sections(steps.show())["platform"]
    everywhere = {
        row["name"]: row["number"] if row["unit"] else row["value"] for row in rows if not row["host"]
    }
    expected = {"scheduler": "Slurm", "job_nodes": "2", "job_tasks": "4", "tasks_per_node": "2(x2)"}
    expected |= {"cluster": "iolens", "job_name": "my-job", "queue": "all", "node_list": "node[0-1]"}
    if observed == "by iolens run":  # whose own shell is no step: what it says differs
        expected = {}
    assert expected.items() <= everywhere.items()
    of_node = {row["value"] for row in rows if row["name"] == "job_name"}
    assert of_node == {"my-job"}


SCRIPT = """\
#!/bin/sh
{iolens} run -q -o {log} sh -c '
srun -Q -n4 {job}
srun -Q -n2 {job} fork
srun -Q -n2 --ntasks-per-node=1 sh -c "echo \\$(hostname) > task.\\$SLURM_PROCID"'
"""


def test_steps_of_a_batch_script(cluster: slurm.Slurm, steps: Job) -> None:
    script = steps.cwd / "script.sh"
    script.write_text(SCRIPT.format(iolens=steps.iolens, log=steps.log, job=steps.build("job")))
    ended = cluster.run("sbatch", "-W", "-N2", "-n4", "-o", "out", script, cwd=steps.cwd)
    assert ended.returncode == 0
    assert (steps.cwd / "out").read_text() == "done\ndone\n"
    first = steps.log
    second, rest = (steps.log.with_name(f"log-{name}.darshan") for name in ("mpi2", "serial"))
    assert steps.counters("BYTES_WRITTEN", first) == all_written(4)
    assert steps.counters("BYTES_WRITTEN", second)[("shared", -1)] == 300
    assert [Path(row["exe"]).name for row in steps.processes(first) if row["rank"] == "-1"] == ["srun"] * 2
    tasks = steps.counters("BYTES_WRITTEN", rest)
    assert {name: count for (name, _), count in tasks.items() if name.startswith("task.")} == {
        "task.0": 6,
        "task.1": 6,
    }
    on = {row["host"] for row in steps.processes(rest) if Path(row["exe"]).name in ("sh", "dash")}
    assert on == set(slurm.NODES)
    assert left_behind(cluster, steps) == []


def test_a_rank_of_another_node_is_killed(cluster: slurm.Slurm, steps: Job) -> None:
    """Who ends later on its node brings what it has left."""
    ended = cluster.run(
        *(steps.iolens, "run", "-q", "-o", steps.log, "srun", "-Q", "-N1", "-w", "node1", "-n4"),
        *("--kill-on-bad-exit=0", "sh", "-c"),
        "head -c 300 /dev/zero > own.$SLURM_PROCID; [ $SLURM_PROCID = 0 ] && kill -9 $$; sleep 1; true",
        cwd=steps.cwd,
    )
    assert ended.returncode == 137
    tasks = [name for name, _ in steps.counters("BYTES_WRITTEN")]
    assert sorted(tasks) == [f"own.{n}" for n in range(4)]
    assert "unknown" in {row["ended"] for row in steps.processes() if row["host"] == "node1"}
    assert left_behind(cluster, steps) == []


KILLED = """\
mount -t tmpfs tmpfs /dev/shm
{iolens} run -q -o {log} srun -Q -N2 -n4 sh -c 'sleep 1; exec {job}' &
sleep 0.5
kill -9 $!
while squeue -h | grep -q .; do sleep 0.1; done
{iolens} recover
"""


def test_what_a_killed_iolens_run_leaves_on_all_nodes(cluster: slurm.Slurm, steps: Job) -> None:
    script = KILLED.format(iolens=steps.iolens, log=steps.log, job=steps.build("job"))
    ended = cluster.run("unshare", "--mount", "sh", "-c", script, cwd=steps.cwd)
    assert (ended.returncode, ended.stdout) == (0, f"done\n{steps.log}\n"), ended.stderr
    assert steps.counters("BYTES_WRITTEN") == all_written(4)
    assert set(steps.hosts().values()) == set(slurm.NODES)
    assert left_behind(cluster, steps) == []
