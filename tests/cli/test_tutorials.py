"""The tutorials do what they say: their files are made, their commands run in order, their findings are found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import places
import pytest
import slurm
import torch_standin

FOLDER = places.ROOT / "docs" / "tutorials"
PAGES = sorted(page.name for page in FOLDER.glob("*.md") if page.name != "README.md")

NEEDS = {"mpi-hdf5.md": ("h5pcc.mpich", "mpiexec.mpich")}
"""Programs without which a page's commands are not run."""

# A file's name in the sentence before its block.
FILE = re.compile(r"`([\w.]+)`:?\n\n```\w+\n(.*?)^```", re.M | re.S)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def steps(page: str) -> list[tuple[str, str]]:
    """Commands after a prompt, each with the lines that the page shows below it."""
    found: list[tuple[str, str]] = []
    for language, block in BLOCK.findall((FOLDER / page).read_text()):
        if language:
            continue
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture
def folder(tmp_path: Path, corpus: Path) -> Path:
    shutil.copy(corpus / "logs" / "sample-badost.darshan", tmp_path / "big.darshan")
    (tmp_path / "big.darshan").chmod(0o600)
    return tmp_path


@pytest.fixture
def environment(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[str, str]]:
    """The commands' surroundings: iolens by name; a cluster and a package of PyTorch's names for their pages."""
    here = Path(sys.executable).parent
    bare = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "COLUMNS": "120"}
    page = request.node.callspec.params["page"]
    if missing := [program for program in NEEDS.get(page, ()) if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if page == "data-loader.md" and not find_spec("torch"):
        bare |= torch_standin.install(tmp_path_factory.mktemp("packages"))
    if page != "slurm-site.md":
        yield bare
        return
    at = tmp_path_factory.mktemp("slurm")
    at.chmod(0o755)
    try:
        with slurm.cluster(at) as running:
            yield {**bare, **running.env, "PATH": bare["PATH"]}
    except slurm.CannotStart as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("page", PAGES)
def test_it_does_what_it_says(page: str, folder: Path, environment: dict[str, str]) -> None:
    for name, text in FILE.findall((FOLDER / page).read_text()):
        (folder / name).write_text(text)
    listed = steps(page)
    assert listed, "a tutorial without a step"
    for command, output in listed:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        for rule in re.findall(r"\[(\w+)\]$", output, re.M):
            assert f"[{rule}]" in done.stdout, f"{command}: no {rule}\n{done.stdout}"
        if "metric.layers" in command:
            shown, made = (re.findall(r"^ +(\d+) +(\d+) ", text, re.M) for text in (output, done.stdout))
            assert shown == made, f"{command}\n{done.stdout}"
