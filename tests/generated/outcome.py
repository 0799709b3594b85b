"""What a program did, by the model and in truth, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from .generator import FILES
from .kernel import Undefined
from .model import Model
from .operations import Op
from .records import Image

PIPE_COUNTS = ("reads", "writes", "bytes_read", "bytes_written")
HOME = "/home"
PAGES = "mapped", "pages"
"""The key of the pages of all mapped files: their number is not compared, only whether there are any."""
Value = Union[int, str, None]
Counters = dict[tuple[str, str], dict[str, Value]]
"""Of each module and file."""


@dataclass
class Ran:
    """What a program printed and left, and what its log says of each rank."""

    lines: list[str]
    status: int
    files: dict[str, bytes | None]
    records: list[Counters] = field(default_factory=list)
    pipes: list[dict[str, int]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    marks: list[set[str]] = field(default_factory=list)
    """Of each rank: what happened after which a known fault may show."""


def in_order(lines: Sequence[str]) -> list[str]:
    """By the operation: some may run at the same time."""
    return sorted(lines, key=lambda line: int(line.split()[0]) if line[:1].isdigit() else -1)


def below(name: str, home: str) -> str:
    return name.replace(f"{home}/", "").replace(str(home), ".")


def expected(program: Sequence[Op], alignment: int) -> Ran:
    """The same, from the model."""
    model = Model(HOME, alignment, FILES).run(program)
    status = model.kernel.processes[0].ended
    if status is None:
        raise Undefined("the program does not end")
    ran = Ran(in_order(model.lines), status, model.files())
    for image in model.images:
        ran.records.append(_counters(image))
        ran.pipes.append({name: image.pipes[name] for name in PIPE_COUNTS})
        ran.ended.append(image.ended)
        ran.marks.append(image.marks)
    return ran


def _counters(image: Image) -> Counters:
    found: Counters = {}
    for module, table in (("POSIX", image.posix), ("STDIO", image.stdio)):
        for name, record in table.items():
            if record.used():
                found[module, below(name, HOME)] = record.expected()
    if image.mapped:
        found[PAGES] = {}
    for counters in found.values():
        if counters.get("RENAMED_FROM"):
            counters["RENAMED_FROM"] = below(str(counters["RENAMED_FROM"]), HOME)
    return found


def differences(want: Ran, got: Ran, *, observed: bool = True) -> list[str]:
    """One line for each thing that is not as expected."""
    found = [f"output: {w!r} is {g!r}" for w, g in zip(want.lines, got.lines) if w != g][:3]
    if len(want.lines) != len(got.lines):
        found.append(f"output: {len(want.lines)} lines are {len(got.lines)}")
    if want.status != got.status:
        found.append(f"status: {want.status} is {got.status}")
    for path in sorted(want.files.keys() | got.files.keys()):
        if want.files.get(path, b"missing") != got.files.get(path, b"missing"):
            found.append(f"file {path} differs")
    if observed and not found:
        found += _log_differences(want, got)
    return found


def paired(want: Ran, got: Ran) -> tuple[Ran, Ran]:
    """Logs of single processes, each beside the process that it fits best. One that did nothing has none."""
    did = [k for k, records in enumerate(want.records) if records or any(want.pipes[k].values())]
    left = list(range(len(got.records)))
    order: list[int] = []
    for k in did:
        apart = {i: _apart(want, k, got, i) for i in left}
        if apart:
            order.append(min(left, key=apart.__getitem__))
            left.remove(order[-1])
    order += left
    ended = [want.ended[k] for k in did]
    wanted = replace(
        want, records=[want.records[k] for k in did], pipes=[want.pipes[k] for k in did], ended=ended
    )
    wanted.marks = [want.marks[k] for k in did]
    has = replace(got, records=[got.records[i] for i in order], pipes=[got.pipes[i] for i in order])
    has.ended = (ended + ["more"] * len(order))[: len(order)]
    return wanted, has


def _apart(want: Ran, k: int, got: Ran, i: int) -> int:
    """How little a log fits a process: first by what it has printed."""
    lines = len(_record_differences(want.records[k], got.records[i]))
    return lines + 1000 * (want.pipes[k] != got.pipes[i])


def _log_differences(want: Ran, got: Ran) -> list[str]:
    if len(want.ended) != len(got.ended):
        return [f"processes: {want.ended} are {got.ended}"]
    found = []
    for rank, (wanted, has) in enumerate(zip(want.records, got.records)):
        if want.ended[rank] != got.ended[rank]:
            found.append(f"rank {rank}: ended: {want.ended[rank]} is {got.ended[rank]}")
        if want.pipes[rank] != got.pipes[rank]:
            found.append(f"rank {rank}: pipes: {want.pipes[rank]} are {got.pipes[rank]}")
        found += [f"rank {rank}: {line}" for line in _record_differences(wanted, has)]
    return found


def _record_differences(wanted: Counters, has: Counters) -> list[str]:
    found = []
    for key in sorted(wanted.keys() | has.keys()):
        name = " ".join(key)
        if key not in has or key not in wanted:
            found.append(f"{name}: {'no' if key not in has else 'a'} record")
            continue
        for counter, value in wanted[key].items():
            if has[key].get(counter) != value:
                found.append(f"{name}: {counter} {value} is {has[key].get(counter)}")
    return found
