"""Every module version in every container and both byte orders, held against an independent decoder."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from synthetic import IDS, VERSIONS, Kind, Maker

Show = Callable[..., list[str]]

ORDERS = {"<": "little", ">": "big"}
COMPRESSIONS = ["zlib", "bzip2", "none"]
ROUNDS = max(len(v) for v in VERSIONS.values())
KINDS = [Kind(m, o, c) for m in (0, 10, 20, 21, 41) for o in ORDERS for c in range(3)]
CASES = [(kind, seed % ROUNDS) for seed, kind in enumerate(KINDS)]
CASES += [(Kind(41, order, 0), r) for order in ORDERS for r in range(ROUNDS)]

# The decoder names what the first record of an APXC region says in its own way.
APXC_HEADER = ["nblades", "nchassis", "ngroups", "memory_mode", "cluster_mode", "appid"]


def describe(case: object) -> str:
    if isinstance(case, Kind):
        return f"3.{case.minor:02}-{ORDERS[case.order]}-{COMPRESSIONS[case.compression]}"
    return str(case)


def versions_of(number: int) -> dict[str, int]:
    return {name: versions[number % len(versions)] for name, versions in VERSIONS.items()}


@pytest.fixture(params=CASES, ids=lambda c: f"{describe(c[0])}-{c[1]}")
def made(request: pytest.FixtureRequest, tmp_path: Path, oracle: ModuleType) -> Path:
    kind, number = request.param
    path = tmp_path / "made.darshan"
    maker = Maker(kind, hash_of(request.param), oracle.jenkins64)
    path.write_bytes(maker.log(versions_of(number)))
    return path


def hash_of(case: tuple[Kind, int]) -> int:
    kind, number = case
    return kind.minor * 1000 + ord(kind.order) * 10 + kind.compression + 100000 * number


@pytest.fixture
def output(run_iolens: Callable[..., object]) -> Show:
    def lines(*args: str | Path) -> list[str]:
        done = run_iolens(args)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return lines


def test_the_rounds_cover_every_version() -> None:
    covered = {(name, v) for r in range(ROUNDS) for name, v in versions_of(r).items()}
    assert covered == {(name, v) for name, versions in VERSIONS.items() for v in versions}


def test_counters_are_what_an_independent_decoder_says(made: Path, output: Show, oracle: ModuleType) -> None:
    wanted = []
    for line in oracle.parser_lines(oracle.Log(str(made))):
        cells = line.split("\t")
        if cells[0] == "APXC" and cells[3] in APXC_HEADER:
            cells[3] = "APXC_" + cells[3].upper()
        if cells[3] != "magic":
            wanted.append("\t".join(cells))
    assert [line for line in output("show", made) if line and line[0] != "#"] == wanted


def test_segments_are_what_an_independent_decoder_says(made: Path, output: Show, oracle: ModuleType) -> None:
    wanted = [line for line in oracle.dxt_lines(oracle.Log(str(made))) if line[0] != "#"]
    shown = [line for line in output("trace", made) if line and line[0] != "#"]
    assert len(shown) == len(wanted)
    assert not [pair for pair in zip(shown, wanted) if not pair[0].startswith(pair[1])]


def test_segments_as_a_table_lose_nothing(made: Path, output: Show, oracle: ModuleType) -> None:
    log = oracle.Log(str(made))
    wanted = []
    for module, interface in ((10, "posix"), (11, "mpiio")):
        for record, rank, (host, writes, _, segments) in log.records(module):
            for i, (offset, length, start, end, thread) in enumerate(segments):
                operation = "write" if i < writes else "read"
                number = i if i < writes else i - writes
                place = [interface, rank, operation, number, offset, length]
                wanted.append(
                    (*map(str, place), start, end, "" if thread is None else str(thread), str(record), host)
                )
    rows = list(csv.reader(io.StringIO("\n".join(output("trace", "--csv", made)))))[1:]
    shown = [(*row[:6], float(row[6]), float(row[7]), *row[8:10], row[11]) for row in rows]
    assert [row[6] for row in shown] == sorted(row[6] for row in shown)
    assert sorted(shown) == sorted(wanted)


def test_totals_and_the_page_can_be_made_of_any_version(made: Path, output: Show) -> None:
    assert output("show", "--total", "--perf", "--file", "--file-list-detailed", made)
    assert output("info", "--json", made)


def test_all_modules_are_in_the_newest_container(output: Show, tmp_path: Path, oracle: ModuleType) -> None:
    path = tmp_path / "made.darshan"
    path.write_bytes(Maker(Kind(41, "<", 0), 1, oracle.jenkins64).log(versions_of(0)))
    modules = {line.split("\t")[0] for line in output("show", path) if line and line[0] != "#"}
    assert modules == {name for name in IDS if not name.startswith("DXT")}
