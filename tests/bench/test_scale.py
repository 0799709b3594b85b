"""The model of MPI_Finalize at large numbers of ranks: calibration, checks against other figures, the fit."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCALE = Path(__file__).resolve().parents[2] / "bench" / "scale"


@pytest.fixture(scope="module")
def rooms() -> Iterator[tuple[ModuleType, ModuleType]]:
    sys.path.insert(0, str(SCALE))
    try:
        yield importlib.import_module("model"), importlib.import_module("fit")
    finally:
        sys.path.remove(str(SCALE))
        for name in ("model", "fit"):
            sys.modules.pop(name, None)


@pytest.fixture
def model(rooms: tuple[ModuleType, ModuleType]) -> ModuleType:
    return rooms[0]


@pytest.fixture
def fit(rooms: tuple[ModuleType, ModuleType]) -> ModuleType:
    return rooms[1]


def test_darshans_published_times_and_shares(model: ModuleType) -> None:
    machine = model.hopper()
    for scene, told in model.HOPPER.items():
        phases = model.darshan(machine, scene, 98304)
        seconds = model.total(phases)
        assert seconds == pytest.approx(told.seconds, rel=0.02)
        for share, phase in zip(told.shares, phases.values()):
            assert phase / seconds == pytest.approx(share, abs=0.015)


def test_calibrated_costs_are_those_of_such_a_machine(model: ModuleType) -> None:
    machine = model.hopper()
    assert 1.5e-6 < machine.round < 100e-6  # above the network's latency
    assert 20e6 < machine.deflate < 200e6
    assert 0.1e9 < machine.write < 35e9  # below the file system's peak


# Published elsewhere, for other machines of the same kind, and not used to calibrate: the worst of their samples.
BOUNDS = [
    (12288, "1 shared", 2.2),  # Beagle, Cray XE6
    (12288, "1024 shared", 2.2),
    (12288, "1 own", 4.6),
    (12288, "1024 own", 4.6),
    (12000, "1 own", 2.0),  # Edison, Cray XC30
    (12000, "1024 own", 7.0),
]


@pytest.mark.parametrize(("ranks", "scene", "bound"), BOUNDS)
def test_what_was_published_of_other_machines(
    model: ModuleType, ranks: int, scene: str, bound: float
) -> None:
    assert model.total(model.darshan(model.hopper(), scene, ranks)) < bound


def test_own_files_cost_in_proportion_to_ranks_and_shared_ones_hardly(model: ModuleType) -> None:
    def seconds(scene: str, ranks: int) -> float:
        return float(model.total(model.darshan(model.hopper(), scene, ranks)))

    for scene in ("1 own", "1024 own"):
        assert seconds(scene, 98304) / seconds(scene, 12288) == pytest.approx(8, rel=0.1)
    for scene in ("1 shared", "1024 shared"):
        assert seconds(scene, 98304) / seconds(scene, 12288) < 1.1


def row(ranks: int, scene: str, seconds: float, **more: Any) -> dict[str, Any]:
    """As the summary of bench/shutdown has it."""
    number, kind = scene.split()
    files = int(number) * (ranks if kind == "own" else 1)
    regions = 1500 + 36 * files
    phases = {"wait": [9.0] * 5, "reduce": [seconds / 4] * 5, "records": [seconds * 3 / 4] * 5}
    return {
        "ranks": ranks,
        "scene": scene,
        "finalize": "",
        "phases": phases,
        "own": [seconds + 1e-3 + 2e-6 * files / ranks] * 5,
        "log": regions + 1700 + 180 * ranks,
        "regions": regions,
        "regions_per_file": regions / files,
        **more,
    }


def test_the_fit_finds_the_factors_that_made_the_times(model: ModuleType, fit: ModuleType) -> None:
    true = [2e-3, 1e-4, 4e-6, 6e-6]
    rows = []
    for ranks in (2, 4, 16, 64):
        for scene in model.SCENES:
            rows.append(row(ranks, scene, 0.0))
            terms = fit.terms_of(rows[-1])
            rows[-1] = row(ranks, scene, sum(a * b for a, b in zip(true, terms)))
    work = fit.work({"rows": rows})
    assert [work.once, work.store, work.shared_record, work.own_record] == pytest.approx(true, rel=1e-6)
    assert work.deflate == pytest.approx(2e-6)
    assert work.log_store == pytest.approx(180)
    assert work.log_file["1024 own"] == pytest.approx(36, rel=0.01)
    for some in rows:
        if "phases" in some:
            said = model.assembly(work, 1.0, some["scene"], some["ranks"])
            assert said == pytest.approx(fit.assembly_seconds(some), rel=1e-6)
            assert model.log_size(work, some["scene"], some["ranks"]) == pytest.approx(some["log"], rel=0.05)


def test_no_factor_becomes_negative(fit: ModuleType) -> None:
    """The best straight line through these would begin below zero."""
    found = fit.least_squares([[1, x] for x in (1, 2, 4, 8)], [1, 3, 7, 15])
    assert found[0] == 0
    assert 1 < found[1] < 2


JOIN = {
    "add": 1e-6,
    "encode": 2e-6,
    "part": 1e-8,
    "row_bytes": 1024,
    "part_bytes": 16,
    "merge": 1e-6,
    "record_bytes": 1360,
}


def test_leaders_do_the_work_of_their_nodes_and_rows_are_encoded_on_the_way(model: ModuleType) -> None:
    machine = model.hopper()
    work = model.Work(1e-3, 1e-4, 1e-6, 1e-6, 0, 3000, 180, dict.fromkeys(model.SCENES, 36.0))
    join = model.Join(**JOIN)
    for scene in model.SCENES:
        small, large = (model.leaders(machine, work, join, scene, ranks) for ranks in (24, 24000))
        assert small["assemble"] == large["assemble"]
        assert (small["reduce"], small["rows"], small["agree"]) == (0, 0, 0)
        levels = 10  # of a thousand nodes
        shared = model.SCENES[scene][0]
        assert large["reduce"] == pytest.approx(levels * shared * (1360 / 6e9 + machine.core * 1e-6))
        held = 2048  # ranks whose rows are two parts
        moved = held * 1024 + 23976 * 16
        assert large["rows"] == pytest.approx(
            machine.core * (held * 5e-6 + 23976 * 1e-8) + moved / machine.link
        )


def test_the_first_leader_hardly_notices_more_ranks(model: ModuleType, fit: ModuleType) -> None:
    machine = model.hopper()
    join = fit.join(json.loads((SCALE / "measured.json").read_text()))
    small, large = (model.rows(machine, join, ranks, 24) for ranks in (98304, 1000000))
    assert small < 0.1
    assert large < 2 * small


def test_the_size_of_a_part_is_that_of_the_library(model: ModuleType) -> None:
    assert "JOIN_PART = 1 << 20" in (SCALE.parents[1] / "format" / "join" / "join.h").read_text()
    assert model.PART == 1 << 20


def test_messages_are_as_many_as_were_counted(model: ModuleType, fit: ModuleType) -> None:
    summary = json.loads((SCALE / "measured.json").read_text())
    small = [row for row in fit.counted(summary) if row["scene"] == "1 own"]
    assert {(row["ranks"], row["nodes"]) for row in small} >= {(2, 2), (16, 16), (16, 4)}
    for row in small:
        said = model.messages(row["ranks"], row["nodes"])
        assert said == pytest.approx(row["messages"]["messages"], rel=0.25)


def test_the_command_says_what_stands_in_the_measured_file() -> None:
    command = [sys.executable, SCALE / "run.py", "--json", "--ranks", "1000", "1000000"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert [told["published"] for told in found["published"]] == [0.17, 0.24, 12.27, 24.76]
    assert {told["ranks"] for told in found["predicted"]} == {1000, 1000000}
    for told in found["predicted"]:
        for way, seconds in told["seconds"].items():
            assert seconds == pytest.approx(sum(told["phases"][way].values()))
    text = subprocess.run(command[:2], check=True, capture_output=True, text=True).stdout
    assert "  1000000 1024 own" in text
