"""What iolens.open says about logs: against the independent decoder on real ones, in detail on made ones."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import iolens
import pytest
from interfaces import AUTOPERF
from iolens.log import Log, Table

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

Make = Callable[..., bytes]


def test_job(small_log: bytes) -> None:
    with iolens.open(small_log) as log:
        job = log.job
    assert (job.uid, job.id, job.nprocs, job.exe) == (1000, 42, 8, "/bin/program --with arguments")
    assert job.start == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    assert job.end_ns == 1_700_000_100 * 10**9 and job.run_time == 100
    assert job.metadata == {"lib_ver": "3.4.7"}


def test_a_job_without_end(posix_log: Make) -> None:
    job = iolens.open(posix_log([], end=0)).job
    assert job.end is None and job.end_ns is None and job.run_time == 0


def test_mounts_longest_first(small_log: bytes) -> None:
    assert [(m.point, m.file_system) for m in iolens.open(small_log).mounts] == [
        ("/scratch", "lustre"),
        ("/", "ext4"),
    ]


def test_modules(posix_log: Make) -> None:
    log = iolens.open(posix_log([{"id": 1}], partial=[1], regions={63: (1, b"of another time")}))
    assert {m.key: (m.darshan, m.id, m.version, m.partial, m.decoded) for m in log.modules.values()} == {
        "posix": ("POSIX", 1, 4, True, True),
        "<unknown>": ("<UNKNOWN>", 63, 1, False, False),
    }
    assert "posix" in log and "POSIX" in log and "stdio" not in log


def test_names(small_log: bytes) -> None:
    names = iolens.open(small_log).names
    assert dict(names) == {10: "/scratch/a", 11: "/home/b", 12: "/scratch/\udcff\udcfe"}
    assert len(names) == 3 and 13 not in names and -1 not in names and names.error is None
    with pytest.raises(KeyError):
        names[13]
    assert pa.table(names).to_pydict()["name"] == ["/scratch/a", "/home/b", "/scratch/\\xff\\xfe"]


def test_columns_of_names_and_mounts(small_log: bytes) -> None:
    table = iolens.open(small_log).table(
        "posix", names=True, mounts=True, columns=["name", "mount", "file_system"]
    )
    rows = pa.table(table).to_pydict()
    assert rows["name"] == ["/scratch/a", "/home/b", "/scratch/\\xff\\xfe", None, "/scratch/a"]
    assert rows["mount"] == ["/scratch", "/", "/scratch", None, "/scratch"]
    assert rows["file_system"] == ["lustre", "ext4", "lustre", None, "lustre"]


def test_a_schema_has_units_roles_and_darshans_names(small_log: bytes) -> None:
    schema = iolens.open(small_log)["posix"].schema
    assert schema["bytes_read"].unit == "bytes" and schema["bytes_read"].role == "bytes_read"
    assert schema["size_read"].count == 10 and schema["size_read"].darshan[0] == "POSIX_SIZE_READ_0_100"
    assert schema["stride"].elements == (
        "stride1_stride",
        "stride2_stride",
        "stride3_stride",
        "stride4_stride",
    )
    assert schema.metadata["module"] == "posix"
    arrow = pa.schema(schema)
    assert arrow.field("size_read").type == pa.list_(pa.field("item", pa.int64(), nullable=False), 10)
    assert arrow.field("read_time").metadata[b"unit"] == b"seconds"
    assert not arrow.field("id").nullable and arrow.field("id").type == pa.uint64()


def test_values_and_nulls(small_log: bytes) -> None:
    rows = pa.table(iolens.open(small_log)["posix"])
    assert rows["rank"].to_pylist() == [0, 1, 2, 3, 4]
    assert rows["read_time"].to_pylist() == [0, 0.125, 0.25, 0.375, 0.5]
    assert rows["bytes_read"].to_pylist() == [0, 1000, 2000, 3000, 4000]
    assert rows["mmaps"].null_count == 5 and rows["mmaps"].to_pylist() == [None] * 5
    assert rows["opens"].null_count == 0


def test_only_some_values_are_null(posix_log: Make) -> None:
    wanted = [i % 3 - 1 for i in range(1000)]
    log = iolens.open(posix_log([{"id": i, "mmaps": v, "mode": v} for i, v in enumerate(wanted)]))
    rows = pa.table(log["posix"])
    rows.validate(full=True)
    assert rows["mmaps"].to_pylist() == [None if v == -1 else v for v in wanted]
    assert rows["mode"].to_pylist() == wanted  # -1 is a value where the schema does not say otherwise


@pytest.mark.parametrize("batch_rows", [1, 63, 64, 65, 1000, 65536])
def test_batches_of_any_size(posix_log: Make, batch_rows: int) -> None:
    log = iolens.open(posix_log([{"id": i, "opens": i, "access": [i, 2, 3, 4]} for i in range(300)]))
    table = log.table("posix", batch_rows=batch_rows, names=True)
    batches = [pa.record_batch(b) for b in table.batches()]
    assert [len(b) for b in batches[:-1]] == [batch_rows] * (len(batches) - 1)
    rows = pa.Table.from_batches(batches)
    rows.validate(full=True)
    assert rows["opens"].to_pylist() == list(range(300))
    assert rows["access"].to_pylist() == [[i, 2, 3, 4] for i in range(300)]
    assert table.num_records == len(table) == 300


def test_a_selection_of_columns(small_log: bytes) -> None:
    log = iolens.open(small_log)
    table = log["posix"].select(["opens", "rank"])
    assert table.schema.names == ("rank", "opens")
    assert pa.table(table).to_pydict() == {"rank": [0, 1, 2, 3, 4], "opens": [0, 1, 2, 3, 4]}
    with pytest.raises(iolens.IolensError, match="no column nonsense") as caught:
        pa.table(log["posix"].select(["nonsense"]))
    assert caught.value.exit_code == 2
    for table in (
        log.table("posix", columns=["bytes_reed"]),
        iolens.scan([]).table("posix", columns=["bytes_reed"]),
    ):
        with pytest.raises(
            iolens.IolensError, match=r"no column bytes_reed: did you mean bytes_read\b"
        ) as caught:
            list(table.batches())
        assert caught.value.exit_code == 2


def test_tables_of_what_is_not_there(small_log: bytes) -> None:
    log = iolens.open(small_log)
    assert pa.table(log["stdio"]).num_rows == 0 and len(log["stdio"].schema) > 20
    with pytest.raises(KeyError):
        log["nonsense"]
    assert dict(log.trailer) == {}
    with pytest.raises(KeyError):
        log.trailer["process"]


def test_tables_outlive_their_log(small_log: bytes) -> None:
    log = iolens.open(small_log)
    table, batches = log["posix"], log["posix"].batches()
    first = next(batches)
    log.close()
    del log
    assert pa.record_batch(first).num_rows == 5
    with pytest.raises(ValueError, match="closed"):
        pa.table(table)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compression", [0, 1, 2])
def test_both_byte_orders_and_all_compressions(posix_log: Make, order: str, compression: int) -> None:
    records = [{"id": i, "opens": 3 * i, "read_time": i / 2, "rank": -1} for i in range(100)]
    data = posix_log(records, order=order, compression=compression, names={5: b"/x"})
    log = iolens.open(data)
    rows = pa.table(log.table("posix", names=True))
    assert rows["opens"].to_pylist() == [3 * i for i in range(100)]
    assert rows["read_time"].to_pylist() == [i / 2 for i in range(100)]
    assert rows["name"].to_pylist()[4:6] == [None, "/x"]
    assert (log.big_endian, log.compression) == (order == ">", ("zlib", "bzip2", "none")[compression])


@pytest.mark.parametrize("streams", [1, 2, 7, 100])
def test_a_region_of_several_streams(posix_log: Make, streams: int) -> None:
    """As the ranks of an MPI job write it, each compressed on its own, cut anywhere."""
    plain = posix_log([{"id": i, "opens": i, "mmaps": -(i % 2)} for i in range(300)], compression=2)
    at = int.from_bytes(plain[64:72], "little")
    raw = plain[at:]
    cuts = [len(raw) * i // streams + 13 * (0 < i < streams) for i in range(streams + 1)]
    region = b"".join(zlib.compress(raw[a:b]) for a, b in zip(cuts, cuts[1:]))
    data = bytearray(posix_log([{"id": 1}]))
    at = int.from_bytes(data[64:72], "little")
    data[72:80] = len(region).to_bytes(8, "little")
    rows = pa.table(iolens.open(bytes(data[:at]) + region)["posix"])
    assert rows["opens"].to_pylist() == list(range(300))
    assert rows["mmaps"].null_count == 150


@pytest.mark.parametrize("batch_rows", [7000, 65536, 100_000])
def test_many_records_with_names(posix_log: Make, batch_rows: int) -> None:
    """Enough for what is done by two threads; in pieces, and all at once."""
    count = 30000
    records = [{"id": i, "opens": i, "mmaps": -(i % 3 == 0), "size_write": [i] * 10} for i in range(count)]
    names = {i: b"/n%d" % i for i in range(0, count, 7)}
    log = iolens.open(posix_log(records, names=names))
    rows = pa.table(log.table("posix", names=True, batch_rows=batch_rows))
    rows.validate(full=True)
    assert rows["opens"].to_pylist() == list(range(count))
    assert rows["mmaps"].null_count == count // 3
    assert rows["size_write"].to_pylist()[-1] == [count - 1] * 10
    assert rows["name"].to_pylist()[:15:7] == ["/n0", "/n7", "/n14"]
    assert rows["name"].null_count == count - len(names)


def test_absent_counters_are_null(corpus: Path) -> None:
    table = iolens.open(corpus / "logs" / "example.darshan")["posix"]  # POSIX 3
    rows = pa.table(table)
    assert rows["filenos"].to_pylist() == [None] and rows["renamed_from"].to_pylist() == [None]
    assert table.schema["filenos"].missing == -1 and table.schema["renamed_from"].missing == 0


def corpus_logs() -> list[str]:
    import places

    return sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan")) or ["none"]


def shown(table: Table) -> list[tuple[int, int, dict[str, Any]]]:
    """Records as Darshan's tools have them: nulls as what they show instead, lists as single counters."""
    rows = pa.table(table)
    fields = [f for f in table.schema if f.type != "string" and f.count]
    columns = {f.name: rows[f.name].to_pylist() for f in fields}
    out = []
    for i in range(rows.num_rows):
        values: dict[str, Any] = {}
        for f in fields:
            value = columns[f.name][i]
            instead = float(f.missing) if f.type == "double" else f.missing
            items = value if isinstance(value, list) else [instead if value is None else value] * f.count
            values.update(zip(f.darshan, items))
        out.append((columns["id"][i], columns["rank"][i], values))
    return out


@pytest.mark.parametrize("name", corpus_logs())
def test_records_equal_the_independent_decoders(corpus: Path, oracle: ModuleType, name: str) -> None:
    path = corpus / "logs" / name
    log, wanted = iolens.open(path), oracle.Log(str(path))
    for module in log.modules.values():
        if not module.decoded or not module.stored or module.key == "heatmap":
            continue
        records = list(wanted.records(module.id))
        if (
            not all(len(f.darshan) in (0, f.count) for f in log[module.key].schema)
            or "id" not in log[module.key].schema.names
        ):
            continue
        if module.darshan in AUTOPERF:
            del records[0]  # the region's header
        if module.key.startswith("dxt"):
            continue  # below
        found = shown(log[module.key])
        assert [r[:2] for r in found] == [r[:2] for r in records]
        for (_, _, values), (_, _, pairs) in zip(found, records):
            differing = {k: (v, values[k]) for k, v in pairs if k in values and repr(v) != repr(values[k])}
            assert not differing
            more = set(values) - set(dict(pairs))  # what the region's header says was not measured
            assert {values[k] for k in more} <= {-1}
    assert dict(log.names) == wanted.names


@pytest.mark.parametrize("name", corpus_logs())
def test_heat_maps_equal_the_independent_decoders(corpus: Path, oracle: ModuleType, name: str) -> None:
    path = corpus / "logs" / name
    log, wanted = iolens.open(path), oracle.Log(str(path))
    if "heatmap" not in log:
        pytest.skip("the log has no heat maps")
    rows = pa.table(log["heatmap"]).to_pylist()
    for number, rank, pairs in wanted.records(log.modules["heatmap"].id):
        values = dict(pairs)
        mine = [r for r in rows if (r["id"], r["rank"]) == (number, rank)]
        assert [r["bin"] for r in mine] == list(range(len(mine)))
        assert [r["bytes_read"] for r in mine] == [values[f"HEATMAP_READ_BIN_{i}"] for i in range(len(mine))]
        assert [r["bytes_written"] for r in mine] == [
            values[f"HEATMAP_WRITE_BIN_{i}"] for i in range(len(mine))
        ]
        assert len(mine) == sum(k.startswith("HEATMAP_READ_BIN") for k in values)
        width = values["HEATMAP_F_BIN_WIDTH_SECONDS"]
        assert [(r["start"], r["end"]) for r in mine] == [
            (i * width, (i + 1) * width) for i in range(len(mine))
        ]
        assert {r["interface"] for r in mine} == {wanted.names[number].partition(":")[2].lower()}


def test_job_and_mounts_as_tables(small_log: bytes) -> None:
    log = iolens.open(small_log)
    job = pa.table(log.table("job")).to_pylist()[0]
    assert job["start"] == log.job.start and job["end"] == log.job.end
    assert (job["uid"], job["nprocs"], job["exe"], job["format"]) == (1000, 8, log.job.exe, "3.41")
    assert pa.table(log.table("mounts")).to_pydict() == {
        "mount": ["/scratch", "/"],
        "file_system": ["lustre", "ext4"],
        "class": ["lustre", "local"],
    }
    assert pa.table(log.table("metadata")).to_pylist() == [{"key": "lib_ver", "value": "3.4.7"}]
    assert pa.table(log.table("modules"))["module"].to_pylist() == ["posix"]


def test_a_log_that_iolens_wrote(tmp_path: Path, run_iolens: Callable[..., Any]) -> None:
    written = tmp_path / "cat.darshan"
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    done = run_iolens(["run", "-o", written, "--", "cat", tmp_path / "file"])
    if done.returncode or not written.exists():
        pytest.skip(f"iolens run: {done.stderr.strip()[-200:]}")
    log = iolens.open(written)
    process = pa.table(log.trailer["process"]).to_pylist()
    assert len(process) == log.job.nprocs and process[0]["exe"].endswith("cat")
    assert pa.schema(log.trailer["process"]).field("start").metadata == {b"unit": b"s"}
    totals = pa.table(log.trailer["total"]).to_pylist()
    assert sum(t["bytes_read"] for t in totals if t["interface"] == "posix") >= 100_000
    shown_rows = sum(len(pa.table(Log(written).trailer[s])) for s in log.trailer)
    assert shown_rows == sum(len(log.trailer[s]) for s in log.trailer)


def test_import_iolens_is_enough() -> None:
    code = "import iolens; print(iolens.log.open is iolens.open, {'open', 'scan', 'log'} <= set(dir(iolens)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def message_of(get: Callable[[], object]) -> str:
    with pytest.raises(KeyError) as caught:
        get()
    return str(caught.value)


def test_names_that_are_not_there_come_with_the_nearest(small_log: bytes) -> None:
    log = iolens.open(small_log)
    assert message_of(lambda: log["posx"]) == 'unknown table "posx": did you mean posix?'
    assert message_of(lambda: log["POSIX_DXT"]).startswith('unknown table "POSIX_DXT": ')
    assert "did you mean bytes_read" in message_of(lambda: log["posix"].schema["byte_read"])
    assert message_of(lambda: log.trailer["process"]) == 'unknown section "process": there is none'


def test_tables_as_frames(small_log: bytes) -> None:
    table = iolens.open(small_log).table("posix", names=True)
    opens = table.to_arrow()["opens"].to_pylist()
    assert table.to_pandas()["opens"].tolist() == opens == table.to_polars()["opens"].to_list() != []


def test_a_notebook_shows_the_columns(small_log: bytes) -> None:
    page = iolens.open(small_log)["posix"]._repr_html_()
    assert "<td>bytes_read</td><td>int64</td><td>bytes</td><td>Bytes read.</td>" in page
