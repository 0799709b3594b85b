"""Notebooks in real kernels: the one that iolens installs, and one that is not observed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jobs import Job, KiB, MiB
from jupyter_client import KernelManager
from nbclient import NotebookClient


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the kernel, for Jupyter to look into."""
    folder = tmp_path_factory.mktemp("jupyter")
    done = install("--prefix", folder, "--logs", folder / "logs")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder}/share/jupyter/kernels/iolens\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder / "share" / "jupyter"))
        yield folder


def install(*options: object) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).parent / "iolens", "kernel", "install", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(folder: Path, *cells: str, kernel: str = "iolens") -> list[list[Any]]:
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    options = {"resources": {"metadata": {"path": str(folder)}}, "allow_errors": True, "timeout": 120}
    NotebookClient(notebook, kernel_name=kernel, **options).execute()
    return [cell.outputs for cell in notebook.cells]


def page(outputs: list[Any]) -> str:
    (html,) = [o["data"]["text/html"] for o in outputs if "text/html" in o.get("data", {})]
    assert isinstance(html, str)
    return html


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)


def test_a_cell_shows_what_it_did_and_nothing_of_others(jupyter: Path, tmp_path: Path) -> None:
    outputs = run(
        tmp_path,
        "%load_ext iolens\nopen('data', 'wb').write(bytes(50_000))\ndata = open('a<b>data', 'wb', buffering=0)",
        "%%iolens\nimport os\nfor _ in range(400):\n    data.write(bytes(5)); os.fsync(data)\n"
        "here = len(open('data', 'rb').read())\nhere",
        "here + 1",
        "%%iolens\nn = 1",
    )
    told = next(o for o in outputs[1] if o.output_type == "display_data")
    assert re.fullmatch(
        r"\S+ m?s, of it \S+ m?s in I/O: read 48.8 KiB in 2 calls, wrote 2 KiB in 400 calls, 1 open, 2 files",
        told["data"]["text/plain"],
    )
    html = page(outputs[1])
    assert f"<td>{tmp_path}/a&lt;b&gt;data</td>" in html
    assert re.search(r"<td>0 B in 0</td><td>2 KiB in 400</td><td>0</td>", html)
    assert "<code>sync_storm</code>" in html and "Data is forced to storage 400 times" in html
    assert not Tags(html).tags & {"script", "style", "link", "img", "iframe"}
    assert [
        o["data"]["text/plain"] for o in outputs[1] + outputs[2] if o.output_type == "execute_result"
    ] == [
        "50000",
        "50001",
    ]
    assert "read 0 B in 0 calls, wrote 0 B in 0 calls, 0 opens, 0 files" in page(outputs[3])
    assert "sync_storm" not in page(outputs[3])


def test_an_error_of_a_cell_is_shown_once(jupyter: Path, tmp_path: Path) -> None:
    outputs = run(tmp_path, "%load_ext iolens", "%%iolens\nopen('a', 'w').write('x'); 1 / 0", "%%iolens\n1 +")
    for cell, name in ((outputs[1], "ZeroDivisionError"), (outputs[2], "SyntaxError")):
        assert [o.get("ename") for o in cell if o.output_type == "error"] == [name]
    assert f"<td>{tmp_path}/a</td>" in page(outputs[1])


def test_a_kernel_that_is_not_observed_says_what_to_do(tmp_path: Path) -> None:
    outputs = run(tmp_path, "%load_ext iolens", "%%iolens\nran = 1", "'ran' in dir()", kernel="python3")
    assert "this kernel is not observed: choose the kernel" in str(
        outputs[1]
    ) and "iolens kernel install" in str(outputs[1])
    assert outputs[2][0]["data"]["text/plain"] == "False"


def test_a_kernel_can_be_interrupted_and_leaves_a_log(jupyter: Path, tmp_path: Path) -> None:
    before = set((jupyter / "logs").iterdir())
    manager = KernelManager(kernel_name="iolens")
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        client.execute("print('begun', flush=True)\nwhile True: pass")
        while client.get_iopub_msg(timeout=300)["msg_type"] != "stream":
            pass
        manager.interrupt_kernel()
        assert (
            client.get_shell_msg(timeout=300)["content"].get("ename", "KeyboardInterrupt")
            == "KeyboardInterrupt"
        )
        for _ in range(100):
            reply = client.execute_interactive("open('later', 'w').write('x')", timeout=300)
            if reply["content"]["status"] != "aborted":  # the answer to what comes while the kernel clears up
                break
        assert reply["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    (log,) = set((jupyter / "logs").iterdir()) - before
    done = subprocess.run(
        [Path(sys.executable).parent / "iolens", "files", log], capture_output=True, text=True, check=True
    )
    assert f"{tmp_path}/later" in done.stdout


def test_logs_and_findings_are_pages(tmp_path: Path) -> None:
    import iolens
    from iolens.metrics import Dataset
    from iolens.rules import find

    job = Job(exe="/bin/<script>alert(1)</script>").posix(
        "/scratch/<img src=x>", 0, read={64 * KiB: 4000}, read_time=30.0
    )
    path = job.posix("/scratch/b", 1, write={MiB: 3}).save(tmp_path / "<i>.darshan")
    log = iolens.open(path)._repr_html_()
    assert "<th>processes</th><td>8</td>" in log and "<th>run time</th><td>100 s</td>" in log
    assert "&lt;script&gt;alert(1)" in log and f"{tmp_path}/&lt;i&gt;.darshan" in log
    found = find(Dataset(path))
    html = found._repr_html_()
    assert html.startswith(found[0]._repr_html_())
    assert [html.count(f"<code>{one.rule}</code>") for one in found] == [1] * len(found)
    assert "/scratch/&lt;img src=x&gt;" in html
    assert not Tags(log + html).tags & {"script", "img", "i"}
    assert find(Dataset(Job().save(tmp_path / "empty"))).__class__([])._repr_html_() == "<p>No findings.</p>"


def test_installing_into_a_place_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = install("--prefix", tmp_path / "file", "--logs", tmp_path / "logs")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("iolens: ") and done.stderr.count("\n") == 1
    done = install("--prefix", tmp_path, "--name", "no name", "--logs", tmp_path / "logs")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
