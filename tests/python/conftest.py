"""Fixtures of the Python package's tests: they are of no use where it is not installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest
from logmaker import LogMaker, record

pytest.importorskip("iolens.log._native", reason="iolens is not installed with its extension module")

Schema = dict[str, Any]


@pytest.fixture(scope="session")
def schema() -> dict[str, Schema]:
    """Module descriptions of the build, by key."""
    path = places.BUILD / "format" / "schema.json"
    if not path.exists():
        pytest.fail(f"{path} is not built: run ./bootstrap build", pytrace=False)
    return {m["key"]: m for m in json.loads(path.read_text())["schema"]}


@pytest.fixture(scope="session")
def posix_log(schema: dict[str, Schema]) -> Callable[..., bytes]:
    """Makes logs: posix_log(records=[{...}], names={...}, more LogMaker fields...)."""
    posix = schema["posix"]

    def make(records: list[dict[str, Any]], **more: Any) -> bytes:
        raw = b"".join(record(posix, more.get("order", "<"), **one) for one in records)
        regions = {posix["id"]: (posix["version"], raw), **more.pop("regions", {})}
        return bytes(LogMaker(regions=regions, **more))

    return make


@pytest.fixture(scope="session")
def small_log(posix_log: Callable[..., bytes]) -> bytes:
    """Five records of four files, one of them without a name."""
    records = [
        {"id": 10 + i % 4, "rank": i, "opens": i, "bytes_read": 1000 * i, "read_time": i / 8, "mmaps": -1}
        for i in range(5)
    ]
    names = {10: b"/scratch/a", 11: b"/home/b", 12: b"/scratch/\xff\xfe"}
    return posix_log(records, names=names, nprocs=8)


@pytest.fixture()
def logs_of_one_directory(tmp_path: Path, small_log: bytes) -> Path:
    """Twenty logs, the eighth damaged in the middle, the ninth no log at all."""
    for i in range(20):
        (tmp_path / f"{i:02}.darshan").write_bytes(small_log)
    (tmp_path / "07.darshan").write_bytes(small_log[:-20])
    (tmp_path / "08.darshan").write_bytes(b"nothing of the kind")
    return tmp_path
