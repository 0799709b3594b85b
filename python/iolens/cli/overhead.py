"""iolens overhead: what observing costs a program."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from iolens.cli.command import Command, to_json
from iolens.cli.usage import FiniteRange
from iolens.error import FINDINGS, OK, USAGE, IolensError

COMMAND = Command(
    group="observe",
    place=100,
    about="what observing costs a program: runs it with and without iolens",
    shows_progress=True,
)


def _split(options: str) -> list[str]:
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise IolensError(f'--options "{options}": {error}', exit_code=USAGE) from error
    if any(word.startswith(("-o", "--output")) for word in words):
        raise IolensError(
            f'--options "{options}": each run has a log of its own, which is removed', exit_code=USAGE
        )
    return words


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _end_orderly() -> None:
    """What is sent to us ends the program that runs, too, and removes its log. Under nohup SIGHUP stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _own_command() -> str:
    """The iolens of this installation, which need not be the first one in PATH."""
    import sysconfig

    own = Path(sysconfig.get_path("scripts")) / "iolens"
    return str(own) if own.exists() else "iolens"


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument(
    "command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND [ARGUMENT...]"
)
@click.option(
    "-n",
    "--runs",
    default=20,
    show_default=True,
    type=click.IntRange(min=2),
    metavar="RUNS",
    help="Runs of each kind.",
)
@click.option(
    "--warmup",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    metavar="RUNS",
    help="Runs of each kind before, not counted.",
)
@click.option(
    "--setup", metavar="SHELL", help="A shell command before each run, not measured: 'rm -rf out; sync'."
)
@click.option("--options", default="", metavar="OPTIONS", help="Options of iolens run: '--trace'.")
@click.option("--show", "shown", is_flag=True, help="Show what the program prints.")
@click.option(
    "--fail-above",
    type=FiniteRange(0),
    metavar="PERCENT",
    help="Exit with 1 if observing provably costs more than this share of the run time.",
)
@click.option("--json", "as_json", is_flag=True, help="Every number, as JSON (iolens schema overhead).")
def overhead(  # noqa: PLR0913, PLR0917 -- one per option
    command: tuple[str, ...],
    runs: int,
    warmup: int,
    setup: str | None,
    options: str,
    shown: bool,
    fail_above: float | None,
    as_json: bool,
) -> int:
    """What iolens costs COMMAND: runs it with and without iolens, in turn, and compares.

    Prints means, deviations, Welch's t-test, the 95 % confidence interval of the difference, and a verdict. The logs of
    the observed runs are removed. Standard input is empty.
    """
    from iolens.overhead import Trial, measure
    from iolens.overhead.text import to_plain, to_text
    from iolens.progress import step
    from iolens.schemas import stamped

    _end_orderly()
    trial = Trial(command, runs, warmup, _split(options), setup, shown, _own_command())
    cost = measure(trial, lambda done, of: step(f"run {min(done + 1, of)} of {of}"))
    print(to_json(stamped("overhead", to_plain(cost))) if as_json else to_text(cost).rstrip("\n"))
    low = cost.run_time.of_mean(cost.run_time.low)
    return FINDINGS if fail_above is not None and low is not None and 100 * low > fail_above else OK
