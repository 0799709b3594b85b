"""Records of no fixed size: traces are a table of accesses, layouts of files have lists."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import iolens
import places
import pytest
from interfaces import TRACES

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan")) or ["none"]


@pytest.fixture(scope="module", params=LOGS)
def pair(request: pytest.FixtureRequest, corpus: Path, oracle: ModuleType) -> tuple[iolens.Log, Any]:
    path = corpus / "logs" / request.param
    return iolens.open(path), oracle.Log(str(path))


@pytest.mark.parametrize("module", [name.lower() for name in TRACES])
def test_accesses_equal_the_independent_decoders(pair: tuple[iolens.Log, Any], module: str) -> None:
    log, wanted = pair
    if module not in log:
        pytest.skip("the log has no such trace")
    expected = [
        (
            number,
            rank,
            host,
            "write" if i < writes else "read",
            None if s[0] == -1 else s[0],
            *s[1:4],
            s[4] or None,
        )
        for number, rank, (host, writes, _, segments) in wanted.records(log.modules[module].id)
        for i, s in enumerate(segments)
    ]
    columns = [c.to_pylist() for c in pa.table(log.table(module, batch_rows=1000)).columns]
    assert list(zip(*columns)) == expected
    assert log[module].num_records == len(expected)


def test_file_layouts_equal_the_independent_decoders(pair: tuple[iolens.Log, Any]) -> None:
    log, wanted = pair
    if "lustre" not in log:
        pytest.skip("the log has no Lustre records")
    rows = pa.table(log.table("lustre", names=True)).to_pylist()
    records = list(wanted.records(log.modules["lustre"].id))
    assert [r["id"] for r in rows] == [r[0] for r in records]
    for row, (_, _, pairs) in zip(rows, records):
        values = dict(pairs)
        parts = range(1, values["LUSTRE_NUM_COMPONENTS"] + 1)
        for name in ("stripe_size", "stripe_count", "ext_start", "ext_end", "mirror_id"):
            mine = row[f"component_{name}"]
            assert mine is None or mine == [values[f"LUSTRE_COMP{k}_{name.upper()}"] for k in parts]
        assert row["component_stripe_size"] is not None
        pools = [values[f"LUSTRE_COMP{k}_POOL_NAME"] for k in parts]
        assert (row["component_pool_name"] or "").split(",") == [p.replace("N/A", "") for p in pools]
        assert row["ost_id"] == [v for k, v in pairs if "_OST_ID_" in k]
        assert row["name"] == wanted.names.get(row["id"])


def test_every_table_can_be_had_by_every_consumer(pair: tuple[iolens.Log, Any]) -> None:
    log, _ = pair
    for key, module in log.modules.items():
        if module.decoded and module.stored:
            table = pa.table(log[key])
            table.validate(full=True)
            assert len(table) == log[key].num_records
            assert list(table.column_names) == list(log[key].schema.names)
