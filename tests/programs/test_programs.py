"""Each program here makes a known sequence of calls; the TOML of its name says what the log must then hold.

    [build]  variants    which builds to run (default: all three)
    [run]    stdin, stdin_offset, stdout    files of its directory; stdout is opened for appending, or "<terminal>"
             ranks       "sum" over the ranks, or "each": names are then "name@rank" (default: one rank)
             signal      the signal that ends it (default: it exits with 0)
             threads     a record is used by several threads
    [files]  name = size of a sparse file, or its text
    [links]  name = target
    [POSIX.name] [STDIO.name]    integer counters without prefix; what is not listed is 0. Names and counters
             may be patterns. A value may be "ignore", a list of offsets (FILE_NOT_ALIGNED), "id of NAME"
             closed      whether the record has close stamps (default: if it was opened), or "ignore"
             repeat      how many records the pattern fits (default: 1), or "ignore"
    [operation.x] [excluded.x] [total.x]   fields of the trailer's rows, added up; operations that have no
                         counter and classes must be listed
    [mapped.x]           bytes read or written by mapped pages; checked where there is such a table
    [process]            field = its values by rank, in the trailer's table of processes

A record that is not named must not be there.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import shown
from interfaces import LIBC

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.c"))
VARIANTS = {"plain": "", "fortified": ".fortified", "lfs": ".lfs"}
# Upper edges of the size classes, inclusive.
BINS = {
    "0_100": 100,
    "100_1K": 1024,
    "1K_10K": 10240,
    "10K_100K": 102400,
    "100K_1M": 1048576,
    "1M_4M": 4194304,
    "4M_10M": 10485760,
    "10M_100M": 104857600,
    "100M_1G": 1073741824,
    "1G_PLUS": 1 << 63,
}
# Operations that a counter tells as well: checked where listed.
COUNTED = {"open", "close", "stat", "seek", "dup", "fsync", "mmap", "aio_submit"}
UNLISTED = {
    "MEM_ALIGNMENT": 8,
    "FILE_ALIGNMENT": "known",
    "MAX_READ_TIME_SIZE": "ignore",
    "MAX_WRITE_TIME_SIZE": "ignore",
}
STANDARD = {"<STDIN>", "<STDOUT>", "<STDERR>"}
TRAFFIC = ["reads", "writes", "bytes_read", "bytes_written"]
LARGEST = re.compile(r"MAX_|.*_END_TIMESTAMP|MODE|.*ALIGNMENT")
SMALLEST = re.compile(r".*_START_TIMESTAMP")

Counters = dict[str, float]


@dataclass
class Expectation:
    """One TOML file."""

    name: str
    build: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    files: dict[str, int | str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    POSIX: dict[str, dict[str, Any]] = field(default_factory=dict)
    STDIO: dict[str, dict[str, Any]] = field(default_factory=dict)
    operation: dict[str, dict[str, int]] = field(default_factory=dict)
    excluded: dict[str, dict[str, int]] = field(default_factory=dict)
    total: dict[str, dict[str, int]] = field(default_factory=dict)
    mapped: dict[str, dict[str, int]] | None = None
    process: dict[str, list[int | str]] = field(default_factory=dict)

    @property
    def variants(self) -> list[str]:
        return list(self.build.get("variants", VARIANTS))

    def prepare(self, cwd: Path) -> None:
        for name, content in self.files.items():
            path = cwd / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("" if isinstance(content, int) else content)
            if isinstance(content, int):
                os.truncate(path, content)
        for name, target in self.links.items():
            (cwd / name).symlink_to(target)

    def execute(self, command: list[str | Path], cwd: Path) -> subprocess.CompletedProcess[bytes]:
        stdin, stdout = (cwd / self.run.get(which, os.devnull) for which in ("stdin", "stdout"))
        terminal, end = os.openpty() if stdout.name == "<terminal>" else (-1, -1)
        with (
            stdin.open("rb", buffering=0) as source,
            os.fdopen(end, "wb", buffering=0) if end >= 0 else stdout.open("ab") as sink,
        ):
            source.seek(self.run.get("stdin_offset", 0))
            done = subprocess.run(
                command, cwd=cwd, stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=120, check=False
            )
        if terminal >= 0:
            os.close(terminal)
        return done


def load(name: str) -> Expectation:
    return Expectation(name, **tomllib.loads((HERE / f"{name}.toml").read_text()))


EXPECTATIONS = {name: load(name) for name in PROGRAMS}
RUNS = [(name, variant) for name in PROGRAMS for variant in EXPECTATIONS[name].variants]


# ---------------------------------------------------------------- the log


@dataclass
class Log:
    """What `iolens show` says: records by (module, name, rank) and the trailer's sections."""

    records: dict[tuple[str, str, int], Counters]
    ids: dict[str, int]
    sections: dict[str, list[dict[str, str]]]

    def named(self, module: str, ranks: str | None) -> dict[str, Counters]:
        """The module's records by the keys that an expectation uses."""
        records: dict[str, Counters] = {}
        for (of, name, rank), counters in self.records.items():
            if of == module:
                key = f"{name}@{rank}" if ranks == "each" else name
                records[key] = merge(records[key], counters) if key in records else counters
        return records

    def values(self, module: str, pattern: str, record: str | None = None) -> list[float]:
        return [
            value
            for (of, name, _), counters in self.records.items()
            if of == module and record in (None, name)
            for counter, value in counters.items()
            if re.fullmatch(pattern, counter)
        ]


def parse_records(text: str, cwd: Path) -> tuple[dict[tuple[str, str, int], Counters], dict[str, int]]:
    records: dict[tuple[str, str, int], Counters] = defaultdict(dict)
    ids = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        module, rank, record, counter, value, name = line.split("\t")[:6]
        name = "." if name == str(cwd) else name.removeprefix(f"{cwd}/")
        ids[name] = int(record)
        prefix = f"{module}_"
        number = float(value) if "." in value else int(value)
        records[module, name, int(rank)][counter.removeprefix(prefix)] = number
    return dict(records), ids


def add_up(rows: list[dict[str, str]], key: str) -> dict[str, Counters]:
    sums: dict[str, Counters] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        for name, value in row.items():
            if re.fullmatch(r"-?[0-9.]+(e[-+][0-9]+)?", value):
                sums[row[key]][name] += float(value)
    return sums


def top(counters: Counters, kind: str) -> dict[int, int]:
    return {int(counters[f"{kind}{i}_{kind[:6]}"]): int(counters[f"{kind}{i}_COUNT"]) for i in range(1, 5)}


def merge(a: Counters, b: Counters) -> Counters:
    """Two ranks' values of one file as one, as far as sums tell."""
    both: Counters = {}
    for name, value in a.items():
        other = b[name]
        if name == "RENAMED_FROM":
            both[name] = value or other
        elif SMALLEST.fullmatch(name):
            both[name] = min(value or other, other or value)
        elif LARGEST.match(name):
            both[name] = max(value, other)
        else:
            both[name] = value + other
    for kind in ("ACCESS", "STRIDE"):
        if f"{kind}1_{kind}" in a:
            counts: dict[int, int] = defaultdict(int)
            for side in (a, b):
                for value, count in top(side, kind).items():
                    counts[value] += count
            counts.pop(0, None)
            order = sorted(counts, key=lambda v: (counts[v], v), reverse=True) + [0] * 4
            for i in range(4):
                both[f"{kind}{i + 1}_{kind}"] = order[i]
                both[f"{kind}{i + 1}_COUNT"] = counts.get(order[i], 0)
    return both


# ---------------------------------------------------------------- checks: each yields what is wrong


def check_value(name: str, wanted: Any, found: float, counters: Counters, ids: dict[str, int]) -> str | None:
    if wanted == "ignore" or (wanted == "known" and found > 0):
        return None
    if isinstance(wanted, list):
        alignment = counters["FILE_ALIGNMENT"]
        wanted = sum(1 for offset in wanted if alignment > 0 and offset % alignment)
    elif isinstance(wanted, str) and wanted.startswith("id of "):
        wanted = ids.get(wanted[len("id of ") :])
        if wanted is not None and wanted != found:
            wanted -= 1 << 64 if found < 0 else 0
    return None if found == wanted else f"{name} is {found:g}, not {wanted}"


def wanted_of(name: str, wanted: dict[str, Any]) -> Any:
    if name in wanted:
        return wanted[name]
    patterns = (pattern for pattern in wanted if "*" in pattern and fnmatch.fnmatchcase(name, pattern))
    default = "ignore" if name.startswith("F_") else UNLISTED.get(name, 0)
    return wanted.get(next(patterns, ""), default)


def check_counters(wanted: dict[str, Any], counters: Counters, ids: dict[str, int]) -> Iterator[str]:
    for name in wanted.keys() - counters.keys() - {"closed", "repeat"}:
        if not fnmatch.filter(counters, name):
            yield f"{name} is no counter"
    for name, found in counters.items():
        wrong = check_value(name, wanted_of(name, wanted), found, counters, ids)
        if wrong:
            yield wrong


def check_sizes(c: Counters) -> Iterator[str]:
    """The size of the slowest access is the size of one of the accesses."""
    for kind in ("READ", "WRITE"):
        size = c.get(f"MAX_{kind}_TIME_SIZE")
        if size is not None and c[f"{kind}S"] > 0:
            of = next(name for name, edge in BINS.items() if size <= edge)
            if c[f"SIZE_{kind}_{of}"] == 0:
                yield f"MAX_{kind}_TIME_SIZE is {size:g}: no {kind.lower()} was in that class"
        elif size:
            yield f"MAX_{kind}_TIME_SIZE is {size:g} without a {kind.lower()}"


def check_times(c: Counters, closed: bool | str, standard: bool, threads: bool) -> Iterator[str]:
    """What holds for the times of any record; they have six decimals here, so a short time may print as 0."""
    opened = c["OPENS"] - c.get("DUPS", 0) - c.get("FILENOS", 0)
    happened: dict[str, bool | str] = {
        "OPEN": "ignore" if opened == 0 and c["OPENS"] else opened > 0 and not standard,
        "READ": c["READS"] > 0,
        "WRITE": c["WRITES"] + c.get("FLUSHES", 0) > 0,
        "CLOSE": closed,
    }
    for kind, wanted in happened.items():
        start, end = c[f"F_{kind}_START_TIMESTAMP"], c[f"F_{kind}_END_TIMESTAMP"]
        if start > end:
            yield f"F_{kind}: starts at {start}, ends at {end}"
        if wanted not in ("ignore", start > 0):
            yield f"F_{kind}_START_TIMESTAMP is {start}"
    writing = c["WRITES"] + c.get("FSYNCS", 0) + c.get("FDSYNCS", 0) + c.get("FLUSHES", 0)
    meta = c["OPENS"] + c["SEEKS"] + c.get("STATS", 0) + c.get("RENAME_SOURCES", 0) + (closed is not False)
    for kind, calls in {"READ": c["READS"], "WRITE": writing, "META": meta}.items():
        time, longest = c[f"F_{kind}_TIME"], c.get(f"F_MAX_{kind}_TIME", 0)
        if time < 0 or (time > 0 and not calls):
            yield f"F_{kind}_TIME is {time} after {calls:g} calls"
        if longest < 0 or (longest > time + 2e-6 and not threads):
            yield f"F_MAX_{kind}_TIME is {longest}, F_{kind}_TIME {time}"


def check_records(expected: Expectation, module: str, log: Log) -> Iterator[str]:
    found = log.named(module, expected.run.get("ranks"))
    claimed: set[str] = set()
    for pattern, wanted in getattr(expected, module).items():
        names = [pattern] if pattern in found else fnmatch.filter(found, pattern)
        claimed.update(names)
        if wanted.get("repeat", 1) not in ("ignore", len(names)):
            yield f"{module} {pattern}: {len(names)} records"
        for name in names:
            counters = found[name]
            standard = name.split("@")[0] in STANDARD
            closed = wanted.get("closed", counters["OPENS"] > 0 and not standard)
            for wrong in (
                *check_counters(wanted, counters, log.ids),
                *check_sizes(counters),
                *check_times(counters, closed, standard, expected.run.get("threads", False)),
            ):
                yield f"{module} {name}: {wrong}"
    for name in found.keys() - claimed:
        used = {key: value for key, value in found[name].items() if value and not key.startswith("F_")}
        yield f"{module} {name}: there should be no record: {used}"


def check_heat(module: str, log: Log) -> Iterator[str]:
    """A heat map holds the bytes of the records; an access over several bins is rounded in each of them."""
    for kind, of in {"READ": "BYTES_READ", "WRITE": "BYTES_WRITTEN"}.items():
        bins = log.values("HEATMAP", rf"{kind}_BIN_\d+", f"heatmap:{module}")
        total = sum(log.values(module, of))
        shares = sum(log.values(module, f"{kind}S")) + sum(1 for value in bins if value)
        if abs(sum(bins) - total) > shares / 2:
            yield f"heatmap:{module}: {kind} {sum(bins):.0f} bytes, {total:.0f} in the records"


def check_totals(log: Log) -> Iterator[str]:
    """The trailer's totals are the sums of the records, by interface; copies of descriptors are no opens there."""
    totals = add_up(log.sections.get("total", []), "interface")
    for module in LIBC:
        for counter in ("OPENS", *map(str.upper, TRAFFIC)):
            total, records = totals[module.lower()][counter.lower()], sum(log.values(module, counter))
            if (module, counter) == ("POSIX", "OPENS"):
                records -= sum(log.values(module, "DUPS|FILENOS"))
            if total != records:
                yield f"total: {module} {counter} is {total:g}, {records:g} in the records"


def check_stamps(log: Log) -> Iterator[str]:
    """Nothing happens before a process starts or after its end; the tables differ in the last digit."""
    lives = {
        int(row["rank"]): (float(row["start"]), float(row["end"])) for row in log.sections.get("process", [])
    }
    for (module, name, rank), counters in log.records.items():
        for counter, stamp in counters.items():
            if counter.endswith("_TIMESTAMP") and stamp:
                start, end = lives[rank]
                if not start - 1e-6 < stamp < end + 1e-6:
                    yield f"{module} {name}: {counter} is {stamp}, rank {rank} lived from {start} to {end}"


def check_section(
    wanted: dict[str, dict[str, int]], found: dict[str, Counters], fields: list[str], free: set[str]
) -> Iterator[str]:
    """Rows of the trailer: these fields are checked always, others as listed."""
    for name, listed in wanted.items():
        row = found.get(name, {})
        for what, value in {**dict.fromkeys(fields, 0), **listed}.items():
            if row.get(what, 0) != value:
                yield f"{name}: {what} is {row.get(what, 0):g}, not {value}"
    for name in found.keys() - wanted.keys() - free:
        yield f"{name}: there should be no row: {dict(found[name])}"


# ---------------------------------------------------------------- tests


@pytest.mark.parametrize("name", PROGRAMS)
def test_expectation_agrees_with_itself(name: str) -> None:
    for wanted in EXPECTATIONS[name].POSIX.values():
        numbers = defaultdict(int, {key: value for key, value in wanted.items() if isinstance(value, int)})
        accesses = [(numbers[f"ACCESS{i}_COUNT"], numbers[f"ACCESS{i}_ACCESS"]) for i in range(1, 5)]
        calls = numbers["READS"] + numbers["WRITES"]
        for kind in ("READ", "WRITE"):
            assert sum(numbers[f"SIZE_{kind}_{of}"] for of in BINS) == numbers[f"{kind}S"]
            assert numbers[f"SEQ_{kind}S"] <= numbers[f"{kind}S"]
            assert numbers[f"CONSEC_{kind}S"] <= numbers[f"SEQ_{kind}S"]
        assert accesses == sorted(accesses, reverse=True)
        assert sum(count for count, _ in accesses) <= calls
        if accesses[-1] == (0, 0) and wanted.get("*") != "ignore":
            total = sum(count * size for count, size in accesses)
            assert total == numbers["BYTES_READ"] + numbers["BYTES_WRITTEN"]
        assert numbers["OPENS"] >= numbers["DUPS"] + numbers["FILENOS"]


def test_every_program_is_built_and_expected() -> None:
    built = re.findall(r"^  '(\w+)',$", (HERE / "meson.build").read_text(), re.MULTILINE)
    assert built == PROGRAMS
    assert sorted(path.stem for path in HERE.glob("*.toml")) == PROGRAMS


@pytest.mark.parametrize(("name", "variant"), RUNS)
def test_program(name: str, variant: str, programs: Path, iolens: Path, tmp_path: Path) -> None:
    expected = EXPECTATIONS[name]
    cwd = tmp_path.resolve() / "cwd"
    cwd.mkdir()
    expected.prepare(cwd)
    path = tmp_path / "program.darshan"
    program = programs / (name + VARIANTS[variant])
    ended = expected.execute([iolens, "run", "--quiet", "-o", path, "--", program], cwd)
    signal = expected.run.get("signal", 0)
    assert ended.returncode in ({128 + signal, -signal} if signal else {0}), ended.stderr.decode()
    wrong = list(check(expected, read_log(iolens, path, cwd)))
    assert not wrong, "\n" + "\n".join(wrong)


def check(expected: Expectation, log: Log) -> Iterator[str]:
    processes = log.sections.get("process", [])
    if len(processes) > 1 and "ranks" not in expected.run:
        yield f"{len(processes)} processes"
    for name, wanted in expected.process.items():
        found = [row[name] for row in processes]
        if found != [str(value) for value in wanted]:
            yield f"process: {name} is {found}, not {wanted}"
    for module in LIBC:
        yield from check_records(expected, module, log)
        yield from check_heat(module, log)
    yield from check_totals(log)
    yield from check_section(
        expected.total,
        add_up(log.sections.get("total", []), "interface"),
        [],
        {name.lower() for name in LIBC},
    )
    yield from check_stamps(log)
    rows = log.sections.get("operation", [])
    if expected.mapped is not None:
        mapped = add_up([row for row in rows if row["interface"] == "mapped"], "name")
        yield from check_section(expected.mapped, mapped, ["bytes"], set())
    operations = [row for row in rows if row["interface"] == "posix"]
    yield from check_section(expected.operation, add_up(operations, "name"), ["count", "errors"], COUNTED)
    classes = add_up(log.sections.get("excluded", []), "class")
    yield from check_section(expected.excluded, classes, ["opens", *TRAFFIC], set())


def read_log(iolens: Path, path: Path, cwd: Path) -> Log:
    command: list[str | Path] = [iolens, "show", "--base", "--ext", "--show-incomplete", path]
    text = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    records, ids = parse_records(text, cwd)
    return Log(records, ids, shown.sections(text))
