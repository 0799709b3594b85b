"""Every command of a shell block in README and guide runs as written, but for those that need what is not here."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import places
import pytest

# Beginnings of commands that are not run here, and why.
NOT_RUN = {
    "git clone THIS_REPOSITORY": "no address; tests/house/fresh_machine.sh does it on a bare machine",
    "./bootstrap": "builds; tests/house/fresh_machine.sh does it on a bare machine",
    ".venv/bin/meson setup": "installs for the machine; tests/api builds a program against the installed library",
    ".venv/bin/meson install": "belongs to meson setup",
    "export PKG_CONFIG_PATH": "belongs to meson setup",
    "cc -o files": "belongs to meson setup",
    "docker run": "needs docker",
    "apptainer run": "needs Apptainer; make container-tests runs it",
    "export LD_PRELOAD": "a path of a machine's installation",
    "srun": "needs a batch job; tests/mpi runs jobs under Slurm",
    "iolens run -o LOG srun": "needs a batch job; tests/mpi runs jobs under Slurm",
    "iolens run [": "a synopsis",
    "iolens run apptainer": "needs Apptainer; make container-tests runs it",
    "iolens doctor [": "a synopsis",
    "iolens doctor --job": "has exit code 1: there is no such job; tests/cli/test_doctor.py has some",
    "iolens collect": "needs directories of a site; tests/deploy/test_collect.py does it",
    "iolens disable": "belongs to the synopsis; tests/cli/test_doctor.py does it",
    "iolens enable": "belongs to iolens disable",
    "iolens recover [": "a synopsis",
    "iolens recover --job": "belongs to the synopsis; tests/cli/test_doctor.py does it",
    "iolens recover --live": "a synopsis; tests/live makes logs of running jobs",
    "iolens top --every 15": "runs until it is stopped; tests/live runs it",
    "iolens top --slurm": "needs a Slurm with that job; tests/live has one",
    "iolens top --nodes": "needs other nodes; tests/live/test_nodes.py makes two",
    "iolens serve": "runs until it is stopped; tests/portal asks a portal",
    "echo $?": "belongs to iolens diff",
    "iolens fleet ingest /darshan/logs --lake /data/lake && ": "sends mail; tests/fleet has servers for it",
    "iolens fleet top users --lake /data/lake --engine spark": "needs Spark; make spark-tests runs such commands",
    "iolens recover": "takes the stores of a killed job; tests/reliability kills some",
    "gcc -g": "needs sources; tests/metrics/test_source_lines.py compiles such programs",
    "iolens run -q -o scan.darshan ./scan": "needs that program",
    "iolens run -q -o scan.darshan -- hmmscan": "needs a library of profiles; tests/interop runs HMMER",
    "iolens run -q -o search.darshan -- hmmsearch": "needs a library of profiles; tests/interop runs HMMER",
}
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
PAGES = [
    "README.md",
    *sorted(f"docs/guide/{page.name}" for page in (places.ROOT / "docs" / "guide").glob("*.md")),
]
# Directories of the pages -> those of the workspace.
HERE = {
    "bench/": f"{places.ROOT}/bench/",
    "/darshan/logs": "darshan",
    "/data/": "data/",
    "/var/lib/node_exporter/": "exported-",
}
INGEST = """import os
for i in range(50):
    with open(f"part{i}", "wb", buffering=0) as f:
        for _ in range(20):
            f.write(bytes(100))
    os.remove(f"part{i}")
"""
TRAIN = """def load(file):
    return [file.read(100) for _ in range(1000)]


load(open("ingest.py", "rb", buffering=0))
"""


def commands(page: str) -> list[str]:
    """Lines after a prompt; of blocks without one that begin with a command, all lines."""
    found = []
    for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```", (places.ROOT / page).read_text(), re.S | re.M):
        lines = re.sub(r"\\\n\s*", "", block).splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        plain = re.match(r"(iolens (?!: )|git |.venv/bin/meson |docker |srun |export )", block)
        found += prompted or (lines if plain else [])
    return [line for line in found if line.strip()]


def reason(command: str) -> str | None:
    return next((why for beginning, why in NOT_RUN.items() if command.startswith(beginning)), None)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    """The logs and files that the pages speak of."""
    folder = tmp_path_factory.mktemp("guide")
    logs = corpus / "logs"
    copies = {"before": "release-x86_64-3.4.7", "after": "release-x86_64-3.4.4", "big": "imbalanced-io"}
    copies |= dict.fromkeys(("job", "a", "scan", "search"), "release-x86_64-3.4.7")
    copies |= dict.fromkeys(("b", "first"), "ior-hdf5")
    for name, log in copies.items():
        shutil.copy(logs / f"{log}.darshan", folder / f"{name}.darshan")
    (folder / "ingest.py").write_text(INGEST)
    (folder / "train.py").write_text(TRAIN)
    for name in ("docs", "format"):
        (folder / name).mkdir()
        (folder / name / "file").write_text("text\n" * 1000)
    (folder / "logs").mkdir()
    fleet_of(folder)
    return folder


def fleet_of(folder: Path) -> None:
    """A lake in which alice's program sim ran as job 4711, what the scheduler says of it, and a published data set."""
    (folder / "darshan").mkdir()
    shutil.copy("/bin/cat", folder / "sim")
    runs = [
        [
            "iolens",
            "run",
            "-q",
            "-o",
            "darshan/alice_sim_id4711-1_11-20-100-1_1.darshan",
            "--",
            "./sim",
            "ingest.py",
        ],
        ["iolens", "fleet", "ingest", "darshan", "--lake", "data/lake"],
        ["iolens", "fleet", "accounting", "jobs.txt", "--lake", "data/lake"],
    ]
    (folder / "jobs.txt").write_text(
        "JobID|User|State|Start|End|AllocCPUS|\n4711|alice|COMPLETED|2026-11-20T10:00:00|2026-11-20T11:00:00|4|\n"
    )
    published = "uid,jobid,start_time,end_time,exe,nprocs,total_POSIX_BYTES_READ\n7,1,1700000000,1700000060,ior,4,100\n"
    (folder / "jobs.csv").write_text(published)
    duckdb.sql(f"COPY (FROM '{folder}/jobs.csv') TO '{folder}/more.parquet'")
    for run in runs:
        environment = {**os.environ, "PATH": PATH, "SLURM_JOB_ID": "4711"}
        subprocess.run(run, cwd=folder, env=environment, check=True, capture_output=True)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_run(page: str, workspace: Path) -> None:
    environment = {**os.environ, "PATH": PATH, "COLUMNS": "120", "IOLENS_LAKE": "data/lake"}
    for written in commands(page):
        if reason(written):
            continue
        command = functools.reduce(lambda line, there: line.replace(there, HERE[there]), HERE, written)
        if "logs/*id4711*" in command:  # the logs of a job's processes
            for i in range(2):
                run = ["iolens", "run", "-q", "-o", f"logs/p{i}_id4711_{i}.darshan", "--", "cat", "ingest.py"]
                subprocess.run(run, cwd=workspace, env=environment, check=True, capture_output=True)
        for made in re.findall(r"-o (\S+\.darshan)", command):  # a log is not written over
            (workspace / made).unlink(missing_ok=True)
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=workspace,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        allowed = (0, 1) if re.match(r"iolens (findings|diff)|.*\| grep", command) else (0,)
        assert done.returncode in allowed, f"{command}: {done.returncode}\n{done.stderr}"
        assert "Traceback" not in done.stderr, f"{command}\n{done.stderr}"


def test_what_is_not_run_is_there() -> None:
    written = [command for page in PAGES for command in commands(page)]
    assert len(written) > 30
    assert [b for b in NOT_RUN if not any(command.startswith(b) for command in written)] == []
