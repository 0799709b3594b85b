"""PyTorch's DataLoader without a change of the program: a package of its names, and PyTorch where there is one."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch_standin
from iolens.metrics import Dataset
from observed import Observe, Observed

TRAINING = """\
import os, sys, torch
class Files:
    def __len__(self):
        return 5
    def __getitem__(self, n):
        if n == len(self):
            raise ValueError(n)
        fd = os.open("sample", os.O_RDONLY)
        data = os.read(fd, 1000)
        os.close(fd)
        return len(data)
if __name__ == "__main__":
    with open("sample", "wb") as f:
        f.write(bytes(1000))
    workers, method = int(sys.argv[1]), sys.argv[2]
    loader = torch.DataLoader(Files(), num_workers=workers, method=method)
    for epoch in range(2):
        assert [batch for batch in loader] == [1000] * 5
"""

FAILING = """\
import sys, torch
class Broken:
    def __len__(self):
        return 3
    def __getitem__(self, n):
        raise ValueError(n)
print([type(finder).__module__ for finder in sys.meta_path])
for batch in torch.DataLoader(Broken()):
    pass
"""


@pytest.fixture
def standin(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "train.py").write_text(TRAINING)
    return torch_standin.install(tmp_path / "packages")


def phases(seen: Observed) -> dict[tuple[str, str], tuple[int, int]]:
    """(kind of process, phase) -> how often, bytes read; all workers together."""
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for row in seen.sections.get("phases", []):
        key = ("loop" if row["rank"] == "0" else "worker", row["phase"])
        count, read = found.get(key, (0, 0))
        found[key] = (count + int(row["count"]), read + int(row["bytes_read"]))
    return found


def test_without_workers(observe: Observe, standin: dict[str, str], tmp_path: Path) -> None:
    seen = observe([sys.executable, "train.py", "0", ""], env=standin, cwd=tmp_path)
    assert phases(seen) == {
        ("loop", "loader: start"): (2, 0),
        ("loop", "loader: first batch"): (2, 2000),
        ("loop", "loader: next batch"): (8, 8000),
        ("loop", "loader: end"): (2, 0),
    }
    assert (seen.done.stdout, seen.done.stderr) == (b"", b"")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(observe: Observe, standin: dict[str, str], tmp_path: Path, method: str) -> None:
    seen = observe([sys.executable, "train.py", "1", method], env=standin, cwd=tmp_path)
    found = phases(seen)
    assert found["loop", "loader: first batch"][0] == 2 and found["loop", "loader: next batch"][0] == 8
    assert found["worker", "loader: fetch"] == (10, 10000)
    assert set(found) == {
        *(("loop", f"loader: {kind}") for kind in ("start", "first batch", "next batch", "end")),
        ("worker", "loader: fetch"),
    }
    with Dataset([seen.log]) as data:
        (row,) = data.metric("loader_waits")
    assert (row["batches"], row["workers"]) == (10, 1)


def test_programs_behave_as_without_iolens(observe: Observe, standin: dict[str, str], tmp_path: Path) -> None:
    """A traceback has no line of ours; the finder is gone; methods have their names."""
    (tmp_path / "failing.py").write_text(FAILING)
    command = [sys.executable, "failing.py"]
    environment = {**standin, "PYTHONDONTWRITEBYTECODE": "1"}
    bare = subprocess.run(
        command, env={**os.environ, **environment}, cwd=tmp_path, capture_output=True, check=False
    )
    done = observe(command, env=environment, cwd=tmp_path).done
    assert bare.returncode == 1 and b"ValueError: 0" in bare.stderr
    assert (done.returncode, done.stdout, done.stderr) == (bare.returncode, bare.stdout, bare.stderr)
    script = "import torch\nprint(torch.DataLoader.__iter__.__name__, callable(torch.DataLoader.__iter__))"
    done = observe([sys.executable, "-c", script], env=standin, cwd=tmp_path).done
    assert (done.returncode, done.stdout) == (0, b"__iter__ True\n")


def test_it_can_be_turned_off(observe: Observe, standin: dict[str, str], tmp_path: Path) -> None:
    environment = {**standin, "IOLENS_RANGES": "off"}
    assert phases(observe([sys.executable, "train.py", "0", ""], env=environment, cwd=tmp_path)) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("utils/data/dataloader.py", "DataLoader = None\n"),
        ("utils/data/dataloader.py", "raise ImportError('no such device')\n"),
        ("__init__.py", "def DataLoader(*args): return []\n"),
    ],
)
def test_another_package_of_that_name_is_left_alone(
    observe: Observe, standin: dict[str, str], tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "packages" / "torch" / name).write_text(text)
    script = "try:\n import torch\n print(torch.DataLoader)\nexcept ImportError as e:\n print(e)"
    seen = observe([sys.executable, "-c", script], env=standin, cwd=tmp_path)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert phases(seen) == {}


def test_a_program_without_it_has_nothing_of_it(observe: Observe, tmp_path: Path) -> None:
    script = (
        "import sys; print(len(sys.meta_path), [f for f in sys.meta_path if type(f).__name__ == 'Finder'])"
    )
    done = observe([sys.executable, "-I", "-c", script], cwd=tmp_path).done
    bare = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (bare.stdout, b"")


REAL = """\
import sys, time, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
class Files(Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, n):
        with open("sample", "rb", buffering=0) as f:
            f.read(1000)
        time.sleep(0.005)
        return torch.tensor(n)
class Stream(IterableDataset):
    def __iter__(self):
        return (Files()[n] for n in range(24))
if __name__ == "__main__":
    with open("sample", "wb") as f:
        f.write(bytes(1000))
    options = eval(sys.argv[1])
    data = Stream() if options.pop("stream", False) else Files()
    loader = DataLoader(data, batch_size=4, **options)
    waited = 0
    for epoch in range(2):
        before = time.monotonic()
        for batch in loader:
            waited += time.monotonic() - before
            assert len(batch) == 4
            time.sleep(0.01)
            before = time.monotonic()
        waited += time.monotonic() - before
    print(waited)
"""


@pytest.mark.parametrize(
    "options",
    [
        {"num_workers": 2, "persistent_workers": True},
        {},
        {"num_workers": 1},
        {"num_workers": 2, "multiprocessing_context": "spawn"},
        {"num_workers": 2, "multiprocessing_context": "forkserver"},
        {"num_workers": 2, "pin_memory": True},
        {"num_workers": 1, "stream": True},
    ],
)
def test_pytorch(observe: Observe, tmp_path: Path, options: dict[str, object]) -> None:
    python = sys.executable if find_spec("torch") else "/usr/bin/python3"
    if python != sys.executable and not Path("/usr/lib/python3/dist-packages/torch").exists():
        pytest.skip("PyTorch is not installed: what a package of its names shows is tested above")
    (tmp_path / "train.py").write_text(REAL)
    seen = observe([python, "train.py", repr(options)], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr.decode()
    with Dataset([seen.log]) as data:
        (row,) = data.metric("loader_waits")
    assert row["batches"] == 12
    assert row["wait"] == pytest.approx(float(seen.done.stdout), rel=0.1, abs=0.05)
    assert row["workers"] == options.get("num_workers", 0)
