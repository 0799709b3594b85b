"""Metrics and findings are the same of logs alone and of a lake of them."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.metrics import Dataset, metrics
from iolens.rules import find
from made_area import Here
from observed import Observe


@pytest.fixture(scope="module")
def area(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for path in sorted((corpus / "logs").iterdir()):
        data = path.read_bytes()
        name = path.name.removesuffix(".gz")
        (folder / name).write_bytes(gzip.decompress(data) if path.suffix == ".gz" else data)
    return folder


def told(rows: list[dict[str, Any]], paths: dict[int, str]) -> list[str]:
    """Rows with the path of their log in place of its number, in an order of their own; floats to 12 digits."""
    return sorted(
        repr(
            [
                (
                    name,
                    paths.get(value, value)
                    if name == "log"
                    else float(f"{value:.12g}")
                    if isinstance(value, float)
                    else value,
                )
                for name, value in row.items()
                if name != "day"
            ]
        )
        for row in rows
    )


def test_metrics_have_the_same_rows(area: Path, observe: Observe, tmp_path: Path) -> None:
    for number in range(2):
        made = observe(["sh", "-c", f"cp /etc/hostname {tmp_path}/x{number}; cat {tmp_path}/x{number}"])
        (area / f"observed-{number}.darshan").write_bytes(made.log.read_bytes())
    lake = Lake.create(tmp_path / "lake")
    done = Ingest(lake, Options(str(lake.path), rules=False), jobs=1, batch_logs=20).run([area])
    assert done.quarantined == 0
    wrong = []
    with lake.open() as there, Dataset(sorted(area.iterdir()), every_column=True) as here:
        of_lake = {row["log"]: row["path"] for row in there.rows("SELECT log, path FROM job")}
        assert len(of_lake) == done.ingested == len(here.paths)
        for name in metrics():
            expected = told(here.metric(name), dict(enumerate(here.paths)))
            found = told(there.metric(name), of_lake)
            if found != expected:
                differing = [pair for pair in zip(found, expected) if pair[0] != pair[1]][:1]
                wrong.append(f"{name}: {len(found)} rows, expected {len(expected)}: {differing}")
    assert not wrong, "\n".join(wrong)


SYNCED = """
import os, sys
for number in range(40):
    with open(f"{sys.argv[1]}/part{number}", "wb", buffering=0) as file:
        for _ in range(1 + number % 3):
            file.write(bytes(1 << (12 + number % 8)))
            os.fsync(file.fileno())
"""


def test_findings_are_those_of_each_log_alone(released: list[Path], observe: Observe, tmp_path: Path) -> None:
    """A batch of logs is judged at once; its logs differ in what they have."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for path in released:
        data = path.read_bytes()
        (folder / path.name.removesuffix(".gz")).write_bytes(
            gzip.decompress(data) if path.suffix == ".gz" else data
        )
    made = observe([sys.executable, "-c", SYNCED, str(tmp_path)])
    (folder / "synced.darshan").write_bytes(made.log.read_bytes())
    lake = Lake.create(tmp_path / "lake")
    done = Ingest(lake, Options(str(lake.path)), jobs=1, pool=Here()).run([folder])
    assert done.quarantined == 0
    columns = "rule, severity, time_lost, share, gain_low, gain_high, confidence, message"
    with lake.open() as data:
        found = told(data.rows(f"SELECT path AS log, {columns} FROM finding JOIN job USING (log)"), {})
    alone: list[dict[str, Any]] = []
    for path in sorted(folder.iterdir()):
        with Dataset(path) as one:
            for f in find(one):
                low, high = f.gain or (None, None)
                values = (f.rule, f.severity, f.time_lost, f.share, low, high, f.confidence, f.message)
                alone.append({"log": str(path), **dict(zip(columns.split(", "), values))})
    assert found == told(alone, {})
    assert len(found) > 3 * len(released)
