"""Logs of released Darshan versions, held against an exact decoder and against darshan-parser's output."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import places
import pytest
from interfaces import AUTOPERF

NAMES = sorted(path.stem for path in (places.CORPUS / "logs").glob("*.darshan")) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))
]

# Where darshan-parser 3.5.0 is wrong, or where we decided otherwise: file, lines that differ.
REFERENCE_DIFFERS: dict[str, str] = {
    # Sums the maximum of two kinds of files into one row.
    "imbalanced-io": r"POSIX\|# shared: |MPI-IO\|# shared: ",
    # Loses the variances of POSIX 3 records.
    "example": r"POSIX_F_VARIANCE_RANK",
    "release-x86_64-3.1.0": r"POSIX_F_VARIANCE_RANK",
    "release-x86_64-3.1.4": r"POSIX_F_VARIANCE_RANK",
    # The same, and does not swap three doubles of big-endian records.
    "release-ppc64-3.1.3": r"POSIX_F_(VARIANCE_RANK|META_TIME|MAX_)|POSIX_MAX_READ_TIME_SIZE",
    "release-ppc64-3.0.0": r"POSIX_F_(META_TIME|MAX_)",
    # Prints no job for a 3.20 log.
    "release-x86_64-3.2.0": r"^\|# ",
}
# Loses common values on the way: see docs/decisions/0006.
for _n in range(4, 9):
    REFERENCE_DIFFERS[f"dlio-{_n}"] = r"total_POSIX_(ACCESS|STRIDE)\d_"
for _name in ("dlio-2", "nonmpi-dxt-anonymized"):
    REFERENCE_DIFFERS[_name] = r"total_\w+_(ACCESS|STRIDE)\d_"

# The reference was built without a decoder for them.
NOT_IN_REFERENCE = {*AUTOPERF, "total_MPI", "total_APXC"}
# What was not measured: its sum is -1 here, any negative number there; its time stamp -1 here, 0 there.
NOT_MEASURED = re.compile(r"total_\w+?_(FDOPENS: -|F_(CLOSE_START|OPEN_END)_TIMESTAMP: (0|-1)\.0)")
# Of old logs the reference shows the size that a new header would have.
HEADER_SIZE = "|# header: "
# The other comments are prose.
KEYED = re.compile(r"# (?!description|<file|<max|<total)[\w<][\w /<>-]*( \(id \d+\))?: |# mount entry:")


@pytest.fixture(scope="module")
def decoded(build_dir: Path) -> set[str]:
    """Names and prefixes of the modules that this version decodes."""
    schema = json.loads((build_dir / "format" / "schema.json").read_text())["schema"]
    return {m["name"] for m in schema} | {"total_" + m["prefix"].rstrip("_") for m in schema}


@pytest.fixture
def show(run_iolens: Callable[..., object], corpus: Path) -> Callable[[str], list[str]]:
    def lines(name: str) -> list[str]:
        done = run_iolens(["show", "--all", corpus / "logs" / f"{name}.darshan"], env={"TZ": "UTC"})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return lines


def data(lines: Iterable[str], modules: set[str]) -> list[str]:
    return [line for line in lines if line.split("\t")[0] in modules]


@pytest.mark.parametrize("name", NAMES)
def test_records_are_what_an_exact_decoder_says(
    name: str, show: Callable[[str], list[str]], corpus: Path, oracle: ModuleType, decoded: set[str]
) -> None:
    log = oracle.Log(str(corpus / "logs" / f"{name}.darshan"))
    assert data(show(name), decoded) == data(oracle.parser_lines(log), decoded)


@pytest.mark.parametrize("name", NAMES)
def test_the_header_is_what_an_exact_decoder_says(
    name: str, show: Callable[[str], list[str]], corpus: Path, oracle: ModuleType
) -> None:
    log = oracle.Log(str(corpus / "logs" / f"{name}.darshan"))
    shown = set(show(name))
    log.has_nl = True  # the reference hides the command line when there are no mounts
    missing = [line for line in oracle.head_lines(log) if line.rstrip() not in {s.rstrip() for s in shown}]
    assert not missing


def keyed(lines: Iterable[str], modules: set[str]) -> list[str]:
    """Lines for machines: data, totals, and `# key: value` with the module they belong to."""
    found, module = [], ""
    for line in lines:
        banner = re.match(r"# (\S+) module data", line)
        if banner:
            module = banner[1]
        elif line.startswith("total_"):
            found += [line] if any(line.startswith(m) for m in modules) else []
        elif line and not line.startswith("#"):
            found += data([line], modules)
        elif KEYED.match(line) and (not module or module in modules):
            found.append(f"{module}|{line}")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_everything_else_is_what_darshan_parser_prints(
    name: str, show: Callable[[str], list[str]], corpus: Path, decoded: set[str]
) -> None:
    with gzip.open(corpus / "expected" / f"{name}.parser-all.txt.gz", "rt", errors="surrogateescape") as file:
        wanted = keyed(file.read().splitlines(), decoded - NOT_IN_REFERENCE)
    differs = re.compile(REFERENCE_DIFFERS.get(name, "(?!)"))

    def compared(lines: list[str]) -> list[str]:
        same = (line for line in lines if not differs.search(line) and not NOT_MEASURED.match(line))
        return [line for line in same if not line.startswith(HEADER_SIZE)]

    assert compared(keyed(show(name), decoded - NOT_IN_REFERENCE)) == compared(wanted)


OLD = sorted(
    path.name.removesuffix(".darshan.gz") for path in (places.CORPUS / "logs").glob("*.darshan.gz")
) or [pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))]
# The expected files of some have no header; of others it has the times of day, too.
OLD_HEADER = re.compile(r"# (darshan log|size of|exe|uid|jobid|start_time|end_time|nprocs|run time|metadata)")


@pytest.mark.parametrize("name", OLD)
def test_logs_of_darshan_1_and_2_are_shown_as_their_parser_did(
    name: str, run_iolens: Callable[..., object], corpus: Path, oracle: ModuleType
) -> None:
    path = corpus / "logs" / f"{name}.darshan.gz"
    done = run_iolens(["show", "--all", path], env={"TZ": "UTC"})
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout.splitlines()
    with gzip.open(corpus / "expected" / f"{name}.parser-all.txt.gz", "rt", errors="surrogateescape") as file:
        wanted = file.read().splitlines()
    assert [line for line in shown if "\tCP_" in line and line[0] != "#"] == list(
        oracle.Old(str(path)).lines()
    )

    def compared(lines: list[str]) -> list[str]:
        return [
            line
            for line in lines
            if re.match(r"[^#]|# [\w ]+: |# mount entry", line) and not OLD_HEADER.match(line)
        ]

    assert compared(shown) == compared(wanted)
    header = [line for line in wanted if OLD_HEADER.match(line)]
    assert not header or header == [line for line in shown if OLD_HEADER.match(line)]


TRACED = sorted(
    path.name.removesuffix(".dxt.txt.gz") for path in (places.CORPUS / "expected").glob("*.dxt.txt.gz")
) or [pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))]


@pytest.mark.parametrize("name", TRACED)
def test_a_trace_is_what_darshan_dxt_parser_prints(
    name: str, run_iolens: Callable[..., object], corpus: Path
) -> None:
    done = run_iolens(["trace", corpus / "logs" / f"{name}.darshan"], env={"TZ": "UTC"})
    assert (done.returncode, done.stderr) == (0, "")
    with gzip.open(corpus / "expected" / f"{name}.dxt.txt.gz", "rt", errors="surrogateescape") as file:
        wanted = file.read().splitlines()
    same = [line for line in zip(done.stdout.splitlines(), wanted) if not line[1].startswith("# header: ")]
    assert len(done.stdout.splitlines()) == len(wanted)
    assert [a for a, _ in same] == [b for _, b in same]


@pytest.mark.parametrize("name", NAMES)
def test_common_values_of_totals_are_those_of_all_records(
    name: str, show: Callable[[str], list[str]]
) -> None:
    lines = show(name)
    tables: dict[str, dict[str, dict[str, int]]] = {}
    totals = dict(line.removeprefix("total_").split(": ") for line in lines if line.startswith("total_"))
    for line in lines:
        cells = line.split("\t")
        found = re.fullmatch(
            r"((?:POSIX|MPIIO)_(?:ACCESS|STRIDE)\d_)(ACCESS|STRIDE|COUNT)", cells[3] if len(cells) > 4 else ""
        )
        if found:
            tables.setdefault(found[1], {}).setdefault(cells[1] + cells[2], {})[found[2]] = int(cells[4])
    merged: dict[str, Counter[int]] = {}
    for table, records in tables.items():
        kind = table.split("_")[1][:-1]
        for record in records.values():
            if record[kind]:
                merged.setdefault(table[:-2], Counter())[record[kind]] += record["COUNT"]
    for table, counts in merged.items():
        kind = table.split("_")[1]
        order = sorted(((n, value) for value, n in counts.items() if n), reverse=True)[:4]
        shown = [(int(totals[f"{table}{i}_COUNT"]), int(totals[f"{table}{i}_{kind}"])) for i in range(1, 5)]
        assert [(n, value) for n, value in shown if n] == order, table
