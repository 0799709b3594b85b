"""`iolens top --slurm`: a job on two nodes of a real Slurm, from a node that has none of its stores."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import places
import pytest
import slurm
import slurm_site
from looked_at import WRITTEN, until


def test_all_nodes_of_a_job(steady: Path) -> None:
    try:
        with slurm_site.site(15) as site:
            look_at_a_job(site, steady)
    except slurm.CannotStart as why:
        pytest.skip(str(why))


def look_at_a_job(site: slurm_site.Site, steady: Path) -> None:
    work = site.at / "work"
    program = work / "steady"
    program.write_bytes(steady.read_bytes())
    program.chmod(0o755)
    script = "srun -Q -n2 -N2 sh -c 'mkdir $SLURM_PROCID && exec ./steady $PWD/$SLURM_PROCID 10'\n"
    number = site.submit(f"cd {work}\n{script}", "-n2", "-N2")
    for rank in "01":
        until((work / rank / "ready.0").exists, f"task {rank}")

    def top(*words: object) -> subprocess.CompletedProcess[str]:
        return site.command(places.BIN, "top", "--every", "0.5", *map(str, words))

    assert top("--once", number).returncode == 3, "its stores are in the memory of the nodes"
    done = top("--json", "--slurm", number)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert [node["name"] for node in told["nodes"]] == ["node0", "node1"]
    (job,) = told["jobs"]
    assert (job["job_id"], job["hosts"]) == (number, 2)
    own = [file for file in job["files"] if file["name"].endswith("/own.0")]
    assert [(file["writes"], file["bytes_written"]) for file in own] == [(10, 10 * WRITTEN)] * 2
    for rank in "01":
        (work / rank / "leave").touch()
    unknown = top("--once", "--slurm", number + 1000)
    assert (unknown.returncode, unknown.stdout) == (3, "")
    assert "no running job of Slurm" in unknown.stderr
