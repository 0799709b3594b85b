"""The dump of Slurm's database by mysqldump: its tables of jobs and associations, one INSERT per so many rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from iolens.fleet.accounting.job import AccountedJob, Reading
from iolens.rules.text import counted

__all__ = ["jobs", "recognizes"]

_CREATE = re.compile(r"CREATE TABLE `(\w+)_(job|assoc)_table`")
_COLUMN = re.compile(r"\s+`(\w+)` ")
_INSERT = re.compile(r"INSERT (?:IGNORE )?INTO `(\w+)_(job|assoc)_table` (?:\(([^)]*)\) )?VALUES\s*", re.S)
_VALUE = re.compile(r"'((?:[^'\\]|\\.|'')*)'|([^,()']+)|([(),])", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

# Slurm's numbers of states, in their order; the bits above are flags.
_STATES = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL"),
    *("PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"),
)
_NO_TASK = 0xFFFFFFFE
_CPU, _NODE = "1", "4"  # numbers of trackable resources


def recognizes(head: str) -> bool:
    """Is this the first line of such a file?"""
    return bool(re.match(r"(/\*M!.*|-- )(MySQL|MariaDB|mysqldump|.*sandbox mode)", head))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)|''", lambda c: _ESCAPED.get(c[1], c[1]) if c[1] else "'", text, flags=re.S)


def _rows(values: str) -> Iterator[list[str]]:
    """The rows of an INSERT; NULL is empty."""
    row: list[str] = []
    for found in _VALUE.finditer(values):
        quoted, bare, mark = found.groups()
        if quoted is not None:
            row.append(_unescaped(quoted))
        elif bare is not None and bare.strip() not in ("", ";"):
            row.append("" if bare.strip() == "NULL" else bare.strip())
        elif mark == ")":
            yield row
            row = []


def _statements(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(number of the first line, text) of the statements about jobs and associations."""
    held: list[str] = []
    first = 0
    for number, line in enumerate(lines, 1):
        if held:
            held.append(line)
        elif _CREATE.match(line) or _INSERT.match(line):
            held, first = [line], number
        if held and line.rstrip().endswith(";"):
            yield first, "".join(held)
            held = []
    if held:
        yield first, "".join(held)


def _resources(text: str) -> dict[str, int]:
    pairs = (pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    return {name: int(value) for name, value in pairs if value.isdigit()}


def _job(
    cluster: str, get: Callable[[str], str], users: dict[tuple[str, str], tuple[str, str]]
) -> AccountedJob | str:
    start, end = int(get("time_start") or 0), int(get("time_end") or 0)
    if start == 0:
        return "never started"
    if get("deleted") == "1":
        return "deleted"
    if end and end < start:
        raise ValueError("it ends before it starts")
    state = int(get("state") or 0) & 0xFF
    held = _resources(get("tres_alloc"))
    user, account = users.get((cluster, get("id_assoc")), ("", get("account")))
    array, task = int(get("id_array_job") or 0), int(get("id_array_task") or _NO_TASK)
    told = get("admin_comment") + get("comment") + get("extra")
    return AccountedJob(
        cluster=cluster,
        job_id=int(get("id_job")),
        array_job=array or None,
        array_task=None if task >= _NO_TASK else task,
        user=user or get("id_user") or None,
        account=account or None,
        partition=get("partition") or None,
        name=get("job_name") or None,
        state=_STATES[state] if state < len(_STATES) else "UNKNOWN",
        submit=float(get("time_submit") or 0) or None,
        start=float(start),
        end=float(end) or None,
        cores=held.get(_CPU),
        nodes=held.get(_NODE) or int(get("nodes_alloc") or 0) or None,
        core_seconds=held[_CPU] * (end - start) if end and _CPU in held else None,
        observed="iolens" in told.lower() or None,
    )


def jobs(lines: Iterable[str], reading: Reading) -> Iterator[AccountedJob]:
    """The jobs of a dump. mysqldump writes tables in order of their names: associations before jobs."""
    columns: dict[tuple[str, str], list[str]] = {}
    users: dict[tuple[str, str], tuple[str, str]] = {}
    for number, statement in _statements(lines):
        made = _CREATE.match(statement)
        if made:
            found = (_COLUMN.match(line) for line in statement.splitlines())
            columns[made[1], made[2]] = [column[1] for column in found if column]
            continue
        head = _INSERT.match(statement)
        assert head
        cluster, kind = head[1], head[2]
        names = (
            [name.strip(" `") for name in head[3].split(",")] if head[3] else columns.get((cluster, kind), [])
        )
        for row in _rows(statement[head.end() :]):
            if len(row) != len(names):
                given, wanted = counted(len(row), "value"), counted(len(names), "column")
                reading.problem(number, f"{given} for {wanted} of {cluster}_{kind}_table")
                continue
            values = dict(zip(names, row))
            if kind == "assoc":
                users[cluster, values.get("id_assoc", "")] = (values.get("user", ""), values.get("acct", ""))
                continue
            try:
                job = _job(cluster, lambda name, values=values: values.get(name, ""), users)  # type: ignore[misc]
            except ValueError as error:
                reading.problem(number, str(error))
                continue
            if isinstance(job, str):
                reading.left_out[job] += 1
            else:
                yield job
