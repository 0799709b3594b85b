"""Whatever takes Arrow's PyCapsules takes our tables, and sees the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import iolens
import pytest

Make = Callable[..., bytes]
COUNT = 1000


@pytest.fixture(scope="module")
def log(posix_log: Make) -> iolens.Log:
    records = [
        {
            "id": i,
            "rank": -1,
            "opens": i,
            "mmaps": -1 if i % 2 else 7,
            "stride": [i, 1, 2, 3],
            "read_time": i / 4,
        }
        for i in range(COUNT)
    ]
    # Two ids with one name: a category must be there once.
    names = {i: b"/scratch/%d" % (i // 2) for i in range(COUNT - 1)}
    return iolens.open(
        posix_log(records, names=names, mounts=[("lustre", "/scratch"), ("ext4", "/"), ("ext4", "/home")])
    )


def test_pyarrow(log: iolens.Log) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table(log.table("posix", names=True, mounts=True, batch_rows=100))
    table.validate(full=True)
    assert table["opens"].to_pylist() == list(range(COUNT))
    assert table["name"].to_pylist() == [f"/scratch/{i // 2}" for i in range(COUNT - 1)] + [None]
    assert table["file_system"].to_pylist()[:2] == ["lustre", "lustre"]
    reader = pa.RecordBatchReader.from_stream(log["posix"])
    assert sum(len(b) for b in reader) == COUNT


def test_a_column_that_is_kept_alone(log: iolens.Log) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    stride = pa.table(log["posix"])["stride"]
    assert stride.to_pylist() == [[i, 1, 2, 3] for i in range(COUNT)]


def test_polars(log: iolens.Log) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pl.DataFrame(log.table("posix", names=True, mounts=True, batch_rows=300))
    assert frame.shape == (COUNT, len(log["posix"].schema) + 3)
    assert frame["opens"].sum() == sum(range(COUNT))
    assert frame["mmaps"].null_count() == COUNT // 2
    assert frame["stride"].to_list() == [[i, 1, 2, 3] for i in range(COUNT)]
    assert frame["name"].cast(pl.String).to_list() == [f"/scratch/{i // 2}" for i in range(COUNT - 1)] + [
        None
    ]
    assert frame["file_system"].cast(pl.String).unique().drop_nulls().to_list() == ["lustre"]


def test_duckdb(log: iolens.Log) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    posix = log.table("posix", names=True, batch_rows=300)
    connection = duckdb.connect()
    connection.register("registered", posix)
    query = "select count(*), sum(opens), count(mmaps), max(stride[1]), max(read_time), min(name) from"
    wanted = (COUNT, sum(range(COUNT)), COUNT // 2, COUNT - 1, (COUNT - 1) / 4, "/scratch/0")
    assert connection.execute(f"{query} registered").fetchone() == wanted
    if tuple(map(int, duckdb.__version__.split(".")[:2])) >= (
        1,
        5,
    ):  # before, DuckDB kept the stream, not the table
        assert connection.execute(f"{query} registered").fetchone() == wanted  # and once more: it begins anew
    assert duckdb.sql(f"{query} posix").fetchall() == [wanted]  # by the variable's name


def test_pandas(log: iolens.Log) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame = pa.table(log.table("posix", names=True)).to_pandas()
    assert frame["opens"].sum() == sum(range(COUNT)) and frame["mmaps"].isna().sum() == COUNT // 2
    assert frame["name"].iloc[3] == "/scratch/1"
    if hasattr(pd.DataFrame, "from_arrow"):
        assert pd.DataFrame.from_arrow(log["posix"])["opens"].sum() == sum(range(COUNT))


def test_heat_maps_and_names(posix_log: Make, schema: dict[str, dict]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    import struct

    heat = schema["heatmap"]
    raw = b"".join(
        struct.pack("<Qqdqqq", 77, rank, 0.5, 3, 0, 0) + struct.pack("<6q", 1, 2, 3, 10 * rank, 20, 30)
        for rank in range(2)
    )
    data = posix_log([], regions={heat["id"]: (1, raw)}, names={77: b"heatmap:MPIIO"}, nprocs=2)
    frame = pl.DataFrame(iolens.open(data)["heatmap"])
    assert frame.columns == ["id", "rank", "interface", "bin", "start", "end", "bytes_read", "bytes_written"]
    assert frame["interface"].unique().to_list() == ["mpiio"]
    assert frame.filter(pl.col("rank") == 1)["bytes_read"].to_list() == [10, 20, 30]
    assert frame["bytes_written"].to_list() == [1, 2, 3] * 2
    assert frame["end"].to_list() == [0.5, 1.0, 1.5] * 2
