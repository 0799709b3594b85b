"""A log that is converted or merged says the same, and what was not counted stays so."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import iolens
import places
import pytest
from interfaces import HDF5, RECORDED
from synthetic import IDS, VERSIONS, Kind, Maker

pa = pytest.importorskip("pyarrow")

Run = Callable[..., "subprocess.CompletedProcess[str]"]

LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan*")) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))
]


def same_tables(a: Any, b: Any) -> list[str]:
    """Modules of which the tables differ; handles of threads are not written."""
    different = []
    assert set(a.modules) == set(b.modules)
    for key, module in a.modules.items():
        if not module.decoded:
            continue
        tables = [pa.table(log.table(key, names=True, mounts=True)) for log in (a, b)]
        tables = [t.drop_columns(["thread"]) if "thread" in t.column_names else t for t in tables]
        if not tables[0].equals(tables[1]) and not equal_but_for_nan(*tables):
            different.append(key)
    return different


def equal_but_for_nan(a: Any, b: Any) -> bool:
    return repr(a.to_pylist()) == repr(b.to_pylist())


@pytest.mark.parametrize("options", [[], ["--bzip2"]], ids=["zlib", "bzip2"])
@pytest.mark.parametrize("name", LOGS)
def test_converted_logs_of_every_version_say_the_same(
    name: str, options: list[str], run_iolens: Run, corpus: Path, tmp_path: Path
) -> None:
    """Both byte orders, 1.x and 2.x among them."""
    log, new = corpus / "logs" / name, tmp_path / "new"
    done = run_iolens(["convert", *options, log, new])
    assert (done.returncode, done.stderr) == (0, "")
    a, b = iolens.log.open(log), iolens.log.open(new)
    assert same_tables(a, b) == []
    assert dict(a.names) == dict(b.names)
    assert (a.job.id, a.job.uid, a.job.nprocs, a.job.exe) == (b.job.id, b.job.uid, b.job.nprocs, b.job.exe)
    assert a.job.start == b.job.start and a.job.metadata.items() <= b.job.metadata.items()
    assert b.job.run_time == pytest.approx(a.job.run_time, abs=1e-6)
    assert [m.partial for m in a.modules.values()] == [m.partial for m in b.modules.values()]


ROUNDS = range(max(len(v) for v in VERSIONS.values()))
KINDS = [(minor, order, number) for minor in (0, 20, 41) for order in "<>" for number in ROUNDS]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: f"3.{k[0]:02}{k[1]}{k[2]}")
def test_every_module_version_survives_conversion(
    kind: tuple[int, str, int], run_iolens: Run, tmp_path: Path, oracle: ModuleType
) -> None:
    minor, order, number = kind
    versions = {name: found[number % len(found)] for name, found in VERSIONS.items()}
    maker = Maker(Kind(minor, order, 0), 17 * minor + number, oracle.jenkins64)
    log, new, again = tmp_path / "log", tmp_path / "new", tmp_path / "again"
    log.write_bytes(maker.log(versions))
    for source, target in ((log, new), (new, again)):
        done = run_iolens(["convert", source, target])
        assert (done.returncode, done.stderr) == (0, "")
    a, b, c = iolens.log.open(log), iolens.log.open(new), iolens.log.open(again)
    assert len(a.modules) > 5 or minor == 0
    assert same_tables(a, b) == [] and same_tables(b, c) == []
    assert {m.darshan for m in b.modules.values()} <= set(IDS)


def test_what_was_not_counted_is_not_counted_after_a_merge(
    run_iolens: Run, corpus: Path, tmp_path: Path
) -> None:
    """POSIX 3 does not say what a file was renamed from; beside a log that does, 0 has to stand for that."""
    old, new = (
        corpus / "logs" / "release-x86_64-3.1.4.darshan",
        corpus / "logs" / "release-x86_64-3.4.7.darshan",
    )
    for name, logs, unknown in (("one", [old], True), ("both", [old, new], False)):
        assert run_iolens(["merge", "-o", tmp_path / name, *logs]).returncode == 0
        origin = pa.table(iolens.log.open(tmp_path / name)["posix"])["renamed_from"]
        assert origin.null_count == (len(origin) if unknown else 0)


def test_pydarshan_reads_what_is_converted(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    compared = 0
    for log in sorted((corpus / "logs").glob("*.darshan*")):
        new = tmp_path / f"{log.name}.darshan"
        assert run_iolens(["convert", log, new]).returncode == 0
        report = darshan.DarshanReport(str(new), read_all=False)
        ours = iolens.log.open(new)
        assert report.metadata["job"]["nprocs"] == ours.job.nprocs
        for key, module in ours.modules.items():
            if module.darshan not in {*RECORDED, *HDF5}:
                continue
            report.mod_read_all_records(module.darshan)
            if module.darshan not in report.records:
                continue
            frame = report.records[module.darshan].to_df()["counters"]
            table = pa.table(ours[key])
            assert len(frame) == len(table), log.name
            column = f"{module.darshan.replace('-', '')}_BYTES_READ"
            if column in frame:
                pairs = zip(frame[column].tolist(), table["bytes_read"].to_pylist())
                assert not [pair for pair in pairs if pair[1] not in (None, pair[0])], log.name
                compared += len(frame)
    assert compared > 1000
