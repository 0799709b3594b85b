"""PyTorch's ranges as phases: with PyTorch where it is installed, and always with a package of its names and shape."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from observed import Observe, Observed

ON = ("--quiet", "--ranges")

# As PyTorch has it: a class that is context manager and decorator, and a loader that waits within a range of its own.
STANDIN = {
    "__init__.py": "import torch.autograd.profiler as profiler\n",
    "autograd/__init__.py": "",
    "autograd/profiler.py": """\
from contextlib import ContextDecorator
log = []
class record_function(ContextDecorator):
    def __init__(self, name, args=None):
        self.name = name
    def __enter__(self):
        log.append(("enter", self.name))
        return self
    def __exit__(self, kind, error, traceback):
        log.append(("exit", self.name))
""",
}
SCRIPT = """\
import os, torch
from torch.autograd.profiler import record_function
fd = os.open("out", os.O_RDWR | os.O_CREAT)
for i in range(3):
    with record_function(f"epoch {i}") as entered:
        assert entered.name == f"epoch {i}"
        os.write(fd, bytes(10))
        with record_function("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            os.write(fd, bytes(100))
@record_function("saves")
def save():
    os.write(fd, bytes(1000))
save()
try:
    with record_function("fails"):
        raise KeyError(7)
except KeyError:
    os.write(fd, bytes(5))
"""


def counts(seen: Observed) -> dict[str, tuple[int, int]]:
    assert seen.done.returncode == 0, seen.done.stderr
    rows = seen.sections.get("phases", [])
    return {row["phase"]: (int(row["count"]), int(row["bytes_written"])) for row in rows}


@pytest.fixture
def standin(tmp_path: Path) -> dict[str, str]:
    for name, text in STANDIN.items():
        file = tmp_path / "packages" / "torch" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_ranges_are_phases(observe: Observe, standin: dict[str, str], tmp_path: Path) -> None:
    check = "\nfrom torch.autograd.profiler import log\nassert len(log) == 16, log\n"
    seen = observe([sys.executable, "-c", SCRIPT + check], options=ON, env=standin, cwd=tmp_path)
    assert counts(seen) == {
        "epoch #": (3, 30),
        "epoch #/DataLoader": (3, 300),
        "saves": (1, 1000),
        "fails": (1, 0),
    }
    assert seen.done.stderr == b""
    assert counts(observe([sys.executable, "-c", SCRIPT], env=standin, cwd=tmp_path)) == {}


def test_methods_read_as_the_originals(observe: Observe, standin: dict[str, str], tmp_path: Path) -> None:
    """What TorchScript looks at: the source of a method, and its globals."""
    script = """\
import inspect
from torch.autograd.profiler import record_function as r, log
for method in (r.__enter__, r.__exit__):
    assert "log.append" in inspect.getsource(method)
    assert method.__globals__["log"] is log and method.__module__ == "torch.autograd.profiler"
assert list(inspect.signature(r.__exit__).parameters) == ["self", "kind", "error", "traceback"]
"""
    done = observe([sys.executable, "-c", script], options=ON, env=standin, cwd=tmp_path).done
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "script",
    [
        "import torch",  # there is none
        "import sys; print([p for p in sys.path], 'ctypes' in sys.modules, 'importlib.util' in sys.modules)",
        "import sitecustomize; print(sitecustomize.__file__, sitecustomize.own)",
        "import usercustomize",
    ],
)
def test_a_python_without_it_notices_nothing(
    observe: Observe, iolens: Path, tmp_path: Path, script: str
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("own = 7\n")
    environment = {"PYTHONPATH": str(tmp_path / "own"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", f"import sys; sys.modules.pop('torch', None); {script}"]
    bare = subprocess.run(
        command, env={**os.environ, **environment}, cwd=tmp_path, capture_output=True, check=False
    )
    seen = observe(command, options=ON, env=environment, cwd=tmp_path).done
    assert (seen.returncode, seen.stdout, seen.stderr) == (bare.returncode, bare.stdout, bare.stderr)


def test_the_site_s_own_failure_is_told_as_ever(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module\n")
    done = observe(
        [sys.executable, "-c", "print(7)"], options=ON, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path
    ).done
    assert (done.returncode, done.stdout) == (0, b"7\n")
    assert b"No module named 'no_such_module'" in done.stderr


def test_an_import_that_fails_fails_as_ever(
    observe: Observe, standin: dict[str, str], tmp_path: Path
) -> None:
    profiler = tmp_path / "packages" / "torch" / "autograd" / "profiler.py"
    profiler.write_text("raise RuntimeError('no such device')\n")
    script = "try:\n import torch\nexcept RuntimeError as e:\n print(e)"
    done = observe([sys.executable, "-c", script], options=ON, env=standin, cwd=tmp_path).done
    assert (done.returncode, done.stdout, done.stderr) == (0, b"no such device\n", b"")
    profiler.write_text("record_function = None\n")
    done = observe(
        [sys.executable, "-c", "import torch; print(7)"], options=ON, env=standin, cwd=tmp_path
    ).done
    assert (done.returncode, done.stdout, done.stderr) == (0, b"7\n", b"")


TRAINING = """\
import os, torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset

class Files(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, n):
        with open("sample", "rb", buffering=0) as f:
            return torch.tensor(len(f.read(1000)))

with open("sample", "wb") as f:
    f.write(bytes(1000))
model = torch.nn.Linear(1, 1)
step = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    with record_function(f"epoch {epoch}"):
        for batch in DataLoader(Files(), batch_size=4, num_workers=WORKERS):
            assert batch.tolist() == [1000] * 4
            step.zero_grad()
            model(batch.float().reshape(4, 1)).sum().backward()
            step.step()
        with record_function("checkpoint"), open("state", "wb", buffering=0) as f:
            f.write(bytes(500))

@torch.jit.script
def scripted(x):
    with torch.autograd.profiler.record_function("in TorchScript"):
        return x + 1
assert scripted(torch.ones(1)).item() == 2
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_pytorch(observe: Observe, tmp_path: Path, workers: int) -> None:
    """An iterator is asked once more than it has batches; with workers the files are read in their processes."""
    if not find_spec("torch"):
        pytest.skip("PyTorch is not installed: what a package of its names shows is tested above")
    script = TRAINING.replace("WORKERS", str(workers))
    (tmp_path / "train.py").write_text(script)
    seen = observe([sys.executable, "train.py"], options=ON, cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    rows = {row["phase"]: row for row in seen.sections["phases"] if row["rank"] == "0"}
    assert (rows["epoch #"]["count"], rows["epoch #"]["bytes_written"]) == ("2", "0")
    assert (rows["epoch #/checkpoint"]["count"], rows["epoch #/checkpoint"]["bytes_written"]) == ("2", "1000")
    waits = [row for phase, row in rows.items() if phase.endswith("/DataLoader")]
    assert sum(int(row["count"]) for row in waits) == 6
    if not workers:
        assert sum(int(row["bytes_read"]) for row in waits) == 16000
    assert rows["epoch #/Optimizer.step#SGD.step"]["count"] == "4"
