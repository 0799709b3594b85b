"""A site's own thresholds: what ingest and recompute find by them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Callable

from iolens.fleet import Lake
from made_log import Make

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def large(lake: Path) -> list[int]:
    """Jobs whose I/O is found to be large."""
    with Lake(lake).open() as data:
        rows = data.rows(
            "SELECT job_id FROM finding JOIN job USING (log) WHERE rule = 'io_is_large' ORDER BY 1"
        )
    return [row["job_id"] for row in rows]


def test_a_looser_threshold_finds_more_and_a_stricter_one_less(tmp_path: Path, run_iolens: Run) -> None:
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    make, start = Make(logs), 1_700_000_000
    for job, seconds in ((1, 1.0), (2, 4.0)):  # of ten
        records = [{"id": 1, "writes": 1, "bytes_written": 4096, "write_time": seconds}]
        make(posix=records, names={1: b"/a"}, job_id=job, start=start, end=start + 9)
    settings = tmp_path / "thresholds.toml"
    ingest = ["fleet", "ingest", logs, "--thresholds", settings, "--lake"]

    settings.write_text("[io_is_large]\nshare = 0.05\n")
    assert run_iolens([*ingest, lake]).returncode == 0
    assert large(lake) == [1, 2]
    recompute = ["fleet", "recompute", "--lake", lake, "--rule", "io_is_large"]
    assert run_iolens(recompute).returncode == 0  # by the rule's own, 0.25
    assert large(lake) == [2]
    settings.write_text("[io_is_large]\nshare = 0.5\n")
    assert run_iolens([*recompute, "--thresholds", settings]).returncode == 0
    assert large(lake) == []

    settings.write_text("[io_is_large]\nshares = 0.5\n")
    refused = run_iolens([*ingest, tmp_path / "none"])
    assert refused.returncode == 2 and "io_is_large.shares" in refused.stderr
    assert not (tmp_path / "none").exists()
