"""Logs of real programs, read by PyDarshan and by a decoder that shares no code with iolens."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType

import pytest
from interfaces import LIBC
from observed import Observe, Observed

C_PROGRAM = "f = open('{}', 'wb', buffering=0); [f.write(b'x' * n) for n in range(0, 200000, 977)]"

# kind: (command, how it ends)
KINDS = {
    "one process": (["/usr/bin/python3", "-S", "-c", C_PROGRAM.format("made")], 0),
    "process tree": (
        ["bash", "-c", "seq 5000 >a; cat a a | sort | tee b | wc -l >c; for i in 1 2; do wc b; done"],
        0,
    ),
    "no I/O": (["true"], 0),
    "killed": (["bash", "-c", "seq 100 >a; read x <a; kill -KILL $$"], -9),
    "nobody left": (["bash", "-c", "exec sleep 0.3"], 0),
    "odd names": (["bash", "-c", "echo >'a  b'; echo >'ü ✓'; echo >\"'\"; sh -c $'true\ntrue'"], 0),
}


@pytest.fixture(scope="module", params=KINDS)
def seen(
    request: pytest.FixtureRequest, iolens: Path, preload: Path, tmp_path_factory: pytest.TempPathFactory
) -> Observed:
    place = tmp_path_factory.mktemp("place")
    command, code = KINDS[request.param]
    found = Observe(iolens, tmp_path_factory.mktemp("log"))(command, cwd=place)
    assert found.done.returncode == code
    assert found.done.stderr == b""
    return found


def moved(seen: Observed, interface: str) -> int:
    return seen.total(interface, "BYTES_READ") + seen.total(interface, "BYTES_WRITTEN")


@pytest.fixture(scope="module")
def darshan() -> ModuleType:
    return pytest.importorskip("darshan", reason="PyDarshan is not installed")


def test_pydarshan_reads_every_counter(seen: Observed, darshan: ModuleType) -> None:
    report = darshan.DarshanReport(str(seen.log), read_all=True)
    ids = {(module, rank, name): row for (module, name, rank), row in seen.records.items()}
    compared = 0
    for module in LIBC:
        if module not in report.records:
            continue
        frames = report.records[module].to_df()
        for frame in (frames["counters"], frames["fcounters"]):
            for row in frame.to_dict("records"):
                name, rank = report.name_records[row.pop("id")], int(row.pop("rank"))
                shown = ids[module, rank, name]
                for counter, value in row.items():
                    wanted = shown[counter]
                    if "_F_" in counter:
                        assert f"{value:.6f}" == wanted, counter
                    else:
                        assert int(value) % 2**64 == int(wanted) % 2**64, counter
                    compared += 1
    assert compared == sum(len(row) for (module, _, _), row in seen.records.items() if module in LIBC)


def test_pydarshan_sees_the_same_job(seen: Observed, darshan: ModuleType) -> None:
    report = darshan.DarshanReport(str(seen.log), read_all=False)
    processes = seen.sections["process"]
    job = report.metadata["job"]
    assert job["nprocs"] == len(processes)
    assert job["metadata"]["lib_ver"].startswith("iolens-")
    assert f"# exe: {report.metadata['exe']}\n" in seen.text
    assert 0 <= job["run_time"] < 60
    assert job["run_time"] >= max(float(row["end"]) for row in processes) - 1e-6
    assert report.mounts


def test_pydarshan_reads_the_heat_maps(seen: Observed, darshan: ModuleType) -> None:
    report = darshan.DarshanReport(str(seen.log), read_all=True)
    assert set(report.heatmaps) == {m for m in LIBC if moved(seen, m)}
    for module, heatmap in report.heatmaps.items():
        assert int(heatmap.to_df(["read", "write"]).to_numpy().sum()) == moved(seen, module)


def test_pydarshan_makes_its_report(seen: Observed, darshan: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    summary = importlib.import_module("darshan.cli.summary")
    parser = argparse.ArgumentParser()
    summary.setup_parser(parser)
    summary.main(parser.parse_args([str(seen.log), "--output", str(page)]))  # to start it takes seconds each
    text = page.read_text()
    assert "Darshan Summary Report" in text
    assert ("Heat Map: HEATMAP POSIX" in text) == bool(moved(seen, "POSIX"))


def test_an_independent_decoder_reads_every_counter(seen: Observed, oracle: ModuleType) -> None:
    log = oracle.Log(str(seen.log))
    wanted = {line for line in seen.text.splitlines() if line and not line.startswith("#")}
    found = {line for line in oracle.parser_lines(log) if line and not line.startswith("#")}
    assert {line.split("\t")[0] for line in wanted} <= {*LIBC, "HEATMAP"}
    assert found == wanted
