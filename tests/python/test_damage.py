"""Damaged logs: an exception of ours or of the consumer, the rows before the damage, never a crash."""

from __future__ import annotations

import contextlib
import random
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import iolens
import pytest

Make = Callable[..., bytes]


def read_everything(data: bytes) -> int:
    """Rows of all tables; raises IolensError."""
    rows = 0
    with iolens.open(data) as log:
        _ = log.job, log.mounts, dict(log.names), dict(log.trailer)
        for key, module in log.modules.items():
            if module.decoded:
                for batch in log.table(key, names=True, mounts=True).batches():
                    assert batch
                rows += log[key].num_records
    return rows


def outcome(data: bytes) -> int | str:
    try:
        return read_everything(data)
    except iolens.IolensError as error:
        assert error.exit_code == 3 and error.problem
        return str(error)


def test_every_truncation(small_log: bytes) -> None:
    outcomes = [outcome(small_log[:n]) for n in range(len(small_log))]
    assert all(isinstance(o, str) for o in outcomes[1:1328])
    assert outcome(small_log) == 5
    assert "empty file" in str(outcomes[0]) and "ends too early" in str(outcomes[-1])


def test_flipped_bits(small_log: bytes, corpus: Path) -> None:
    pick = random.Random(1)
    names = "ior-hdf5 example sample-dxt-simple release-x86_64-3.4.7 release-ppc64-3.1.3".split()
    logs = [small_log, *((corpus / "logs" / f"{name}.darshan").read_bytes() for name in names)]
    for data in logs:
        for _ in range(300):
            broken = bytearray(data)
            for _ in range(pick.choice([1, 1, 8])):
                broken[pick.randrange(len(broken))] ^= 1 << pick.randrange(8)
            outcome(bytes(broken))


def test_every_bit_of_the_header(small_log: bytes) -> None:
    for byte in [*range(64), *range(1072, 1084)]:
        for bit in range(8):
            broken = bytearray(small_log)
            broken[byte] ^= 1 << bit
            outcome(bytes(broken))


def test_rows_before_the_damage_come_first(posix_log: Make) -> None:
    pick = random.Random(7)
    records = [{"id": pick.getrandbits(60), "opens": i, "read_time": pick.random()} for i in range(20000)]
    data = posix_log(records)
    batches = iolens.open(data[:-5000]).table("posix", batch_rows=1000).batches()
    count = 0
    with pytest.raises(iolens.IolensError, match="too early") as caught:
        for _ in batches:
            count += 1
    assert 10 <= count <= 20 and caught.value.offset == len(data) - 5000


def test_the_consumers_error_has_path_and_offset(tmp_path: Path, small_log: bytes) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "cut.darshan"
    path.write_bytes(small_log[:-10])
    with pytest.raises((OSError, ValueError), match=rf"{path}: .*at byte {len(small_log) - 10}"):
        pa.table(iolens.open(path)["posix"])


def test_names_before_the_damage(posix_log: Make) -> None:
    data = posix_log([], names={i: b"/name/%d" % i for i in range(9)}, compression=2)
    names = iolens.open(data[:-3]).names
    assert len(names) == 8 and isinstance(names.error, iolens.IolensError)


@pytest.mark.parametrize("path", ["/", "/nonexistent", "/dev/null", "/proc/self/mem"])
def test_what_is_no_log(path: str) -> None:
    with pytest.raises(iolens.IolensError, match=f"^{path}: ") as caught:
        iolens.open(path)
    assert caught.value.path == path and caught.value.exit_code == 3


def test_a_bomb_is_read_in_pieces(posix_log: Make, tmp_path: Path) -> None:
    """A region of 0.2 MB that unpacks to 211 MB of records: memory stays that of a few batches."""
    raw = zlib.compress(bytes(704 * 300_000))
    log = bytearray(posix_log([{"id": 1}]))
    at = int.from_bytes(log[64:72], "little")
    log[72:80] = len(raw).to_bytes(8, "little")
    path = tmp_path / "bomb.darshan"
    path.write_bytes(bytes(log[:at]) + raw)
    program = (
        "import iolens, re, sys\n"
        "table = iolens.open(sys.argv[1]).table('posix', batch_rows=8192)\n"
        "rows = sum(1 for _ in table.batches())\n"
        "peak = re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]\n"
        "print(rows, table.num_records, peak)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    ).stdout
    batches, rows, kilobytes = map(int, out.split())
    assert rows == 300_000 and batches == -(-rows // 8192)
    assert kilobytes < 100_000


def test_nothing_leaks(tmp_path: Path, small_log: bytes) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    path = tmp_path / "log"
    path.write_bytes(small_log)
    cut = tmp_path / "cut"
    cut.write_bytes(small_log[:-10])

    def once() -> None:
        with iolens.open(path) as log:
            _ = log.job, log.modules, log.names[10], log["posix"].schema
            pa.table(log.table("posix", names=True, mounts=True))
            next(log["posix"].batches())
            log["posix"].__arrow_c_stream__(), log["posix"].__arrow_c_schema__()
        with contextlib.suppress(iolens.IolensError):
            list(iolens.open(cut)["posix"].batches())

    for _ in range(100):
        once()
    before = resident(), len(list(Path("/proc/self/fd").iterdir())), sys.getrefcount(None)
    for _ in range(1000):
        once()
    after = resident(), len(list(Path("/proc/self/fd").iterdir())), sys.getrefcount(None)
    assert after[0] - before[0] < 2_000_000, "1,000 opens: bytes"
    # One reference lost or kept per open would be a thousand; the test's own surroundings keep some.
    assert after[1] == before[1] and abs(after[2] - before[2]) < 500


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_tables_of_damaged_logs_end_with_our_error(tmp_path: Path, small_log: bytes) -> None:
    """Also where pyarrow makes them, and in PyDarshan's interface, which is made of such tables."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    from iolens.pydarshan import DarshanReport

    path = tmp_path / "cut.darshan"
    path.write_bytes(small_log[:-10])
    with pytest.raises(iolens.IolensError) as caught:
        iolens.open(path)["posix"].to_arrow()
    assert caught.value.offset == len(small_log) - 10
    with pytest.raises(iolens.IolensError):
        report = DarshanReport(str(path), read_all=True)
        list(report.records["POSIX"])


def test_a_table_without_rows_has_its_columns(posix_log: Make) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = iolens.open(posix_log([]))["posix"].to_arrow()
    assert (len(table), table.column_names[:2]) == (0, ["id", "rank"])
