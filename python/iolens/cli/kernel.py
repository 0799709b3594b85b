"""iolens kernel: a kernel for notebooks that is observed."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

from iolens.cli.command import Command
from iolens.error import USAGE, IolensError
from iolens.extras import lacks

COMMAND = Command(
    group="observe",
    place=70,
    about="install a notebook kernel that is observed",
)


def _logs() -> Path:
    """Where the logs of kernels go unless it is said."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "iolens" / "kernels"


def _specification(title: str, logs: Path) -> dict[str, object]:
    iolens = Path(sysconfig.get_path("scripts")) / "iolens"
    python = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return {
        "argv": [str(iolens), "run", "--quiet", "--", *python],
        "display_name": title,
        "language": "python",
        # The kernel is a child of what Jupyter started: it interrupts itself.
        "interrupt_mode": "message",
        "env": {"IOLENS_LOGPATH": str(logs)},
        "metadata": {"debugger": True},
    }


@click.group(no_args_is_help=False)
def kernel() -> None:
    """A notebook kernel that is observed, for %%iolens."""


@kernel.command()
@click.option("--name", default="iolens", show_default=True, help="Name of the kernel in Jupyter's files.")
@click.option("--title", default="Python (iolens)", show_default=True, help="Name that users see.")
@click.option(
    "--prefix", metavar="DIR", help="Install into DIR/share/jupyter/kernels instead of the user's folder."
)
@click.option("--sys-prefix", is_flag=True, help="Install into the environment of this Python.")
@click.option(
    "--logs", metavar="DIR", help="Where the log of each kernel goes [~/.local/state/iolens/kernels]."
)
def install(name: str, title: str, prefix: str | None, sys_prefix: bool, logs: str | None) -> None:
    """Registers the kernel with Jupyter: this Python, under iolens run."""
    if not find_spec("ipykernel"):
        raise lacks("a kernel", "ipykernel", "notebook")
    from jupyter_client.kernelspec import KernelSpecManager

    folder = Path(logs or _logs()).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        text = json.dumps(_specification(title, folder), indent=1) + "\n"
        (Path(made) / "kernel.json").write_text(text, encoding="utf-8")
        where = sys.prefix if sys_prefix else prefix
        try:
            print(KernelSpecManager().install_kernel_spec(made, name, user=where is None, prefix=where))
        except ValueError as error:
            raise IolensError(str(error), exit_code=USAGE) from error
