"""OpenMetrics text, read by Prometheus' own parser."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from logmaker import LogMaker

Export = Callable[..., "subprocess.CompletedProcess[str]"]


def families(path: Path) -> dict[str, Any]:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(path.read_text())}


def test_numbers_of_a_log(export: Export, corpus: Path, tmp_path: Path) -> None:
    assert export("openmetrics", corpus / "logs" / "skew-app.darshan").returncode == 0
    found = families(tmp_path / "out" / "metrics.txt")
    assert all(family.type == "gauge" and family.documentation for family in found.values())
    assert found["iolens_job_written_bytes"].unit == "bytes"
    (sample,) = found["iolens_job_written_bytes"].samples
    assert sample.value == 43637372528
    assert sample.labels == {
        "log": "skew-app.darshan",
        "number": "0",
        "job_id": sample.labels["job_id"],
        "uid": sample.labels["uid"],
    }
    times = {s.labels["interface"]: s.value for s in found["iolens_interface_time_seconds"].samples}
    assert times["posix"] == pytest.approx(264.241477, abs=5e-7)
    assert not found["iolens_job_unseen_read_bytes"].samples  # nobody counted: no zero


def test_all_logs_of_the_corpus_at_once(export: Export, corpus: Path, tmp_path: Path) -> None:
    logs = sorted((corpus / "logs").glob("*.darshan"))
    assert export("openmetrics", *logs).returncode == 0
    samples = families(tmp_path / "out" / "metrics.txt")["iolens_job_processes"].samples
    assert sorted(int(s.labels["number"]) for s in samples) == list(range(len(logs)))


def test_labels_are_escaped(export: Export, tmp_path: Path) -> None:
    log = tmp_path / 'a "log"\\of\nmine.darshan'
    log.write_bytes(bytes(LogMaker()))
    assert export("openmetrics", log).returncode == 0
    (sample,) = families(tmp_path / "out" / "metrics.txt")["iolens_job_processes"].samples
    assert sample.labels["log"] == log.name
