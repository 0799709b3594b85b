"""Many logs as one table: order, damage, threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import iolens
import pytest
from iolens.log import Log, Scan
from jobs import Job

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

Make = Callable[..., bytes]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("batch_rows", [3, 65536])
def test_rows_in_order_of_the_logs(tmp_path: Path, posix_log: Make, threads: int, batch_rows: int) -> None:
    counts = [i % 5 for i in range(100)]
    for i, count in enumerate(counts):
        data = posix_log([{"id": k, "opens": i} for k in range(count)], job_id=i)
        (tmp_path / f"{i:03}.darshan").write_bytes(data)
    scan = iolens.scan(str(tmp_path / "*.darshan"), threads=threads)
    rows = pa.table(scan.table("posix", batch_rows=batch_rows))
    rows.validate(full=True)
    wanted = [i for i, count in enumerate(counts) for _ in range(count)]
    assert rows["log"].to_pylist() == wanted and rows["opens"].to_pylist() == wanted
    jobs = pa.table(scan.job)
    assert jobs["log"].to_pylist() == jobs["job_id"].to_pylist() == list(range(100))
    assert scan.errors == [] and len(scan) == 100


def test_names_of_many_logs(logs_of_one_directory: Path) -> None:
    scan = iolens.scan(str(logs_of_one_directory / "0[0-3].darshan"))
    rows = pa.table(scan.table("posix", names=True, mounts=True, columns=["name", "mount", "log"]))
    assert (
        rows["name"].to_pylist() == ["/scratch/a", "/home/b", "/scratch/\\xff\\xfe", None, "/scratch/a"] * 4
    )
    assert rows["mount"].to_pylist() == ["/scratch", "/", "/scratch", None, "/scratch"] * 4


def test_damaged_logs_are_reported(logs_of_one_directory: Path) -> None:
    scan = iolens.scan(sorted(logs_of_one_directory.iterdir()), threads=3)
    rows = pa.table(scan["posix"])
    assert set(rows["log"].to_pylist()) >= set(range(20)) - {7, 8}
    assert 8 not in rows["log"].to_pylist()
    assert [(Path(e.path or "").name, e.exit_code) for e in scan.errors] == [
        ("07.darshan", 3),
        ("08.darshan", 3),
    ]
    assert "not a Darshan log" in str(scan.errors[1])


def test_or_raised(logs_of_one_directory: Path) -> None:
    scan = iolens.scan(sorted(logs_of_one_directory.iterdir()), on_error="raise")
    with pytest.raises(iolens.IolensError, match=r"07\.darshan"):
        list(scan["posix"].batches())
    with pytest.raises((OSError, ValueError), match=r"07\.darshan"):
        pa.table(scan["posix"])


def test_missing_logs(tmp_path: Path, small_log: bytes) -> None:
    (tmp_path / "there").write_bytes(small_log)
    scan = iolens.scan([tmp_path / "there", tmp_path / "not there"])
    assert len(pa.table(scan["posix"])) == 5
    assert "cannot be opened: No such file" in str(scan.errors[0])
    with pytest.raises(iolens.IolensError, match="no such log"):
        iolens.scan(str(tmp_path / "*.nothing"))
    with pytest.raises(iolens.IolensError, match="on_error") as caught:
        iolens.scan([], on_error="perhaps")
    assert caught.value.exit_code == 2


def test_no_logs() -> None:
    assert pa.table(iolens.scan([])["posix"]).num_rows == 0


def test_a_scan_that_is_left_early(tmp_path: Path, posix_log: Make) -> None:
    for i in range(50):
        (tmp_path / str(i)).write_bytes(posix_log([{"id": k} for k in range(50)]))
    before = threading.active_count(), len(list(Path("/proc/self/task").iterdir()))
    for _ in range(20):
        batches = iolens.scan(str(tmp_path / "*"), threads=4).table("posix", batch_rows=7).batches()
        next(batches)
        del batches
    assert (threading.active_count(), len(list(Path("/proc/self/task").iterdir()))) == before


def test_one_log_read_by_many_threads(small_log: bytes, posix_log: Make) -> None:
    log = iolens.open(posix_log([{"id": i, "opens": i} for i in range(5000)], names={1: b"x"}))
    wrong: list[object] = []

    def read() -> None:
        for _ in range(5):
            rows = pa.table(log.table("posix", names=True, mounts=True, batch_rows=500))
            if rows["opens"].to_pylist() != list(range(5000)) or log.names[1] != "x" or log.job.nprocs != 1:
                wrong.append(rows)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_batches_by_two_threads_at_once_is_refused_or_right(posix_log: Make) -> None:
    log = iolens.open(posix_log([{"id": i} for i in range(20000)]))
    stream = log.open_stream(log.table("posix", batch_rows=64).spec)
    total, refused = [0, 0], [0, 0]

    def read(me: int) -> None:
        while True:
            try:
                rows = stream.next_count()
            except ValueError:
                refused[me] += 1
                continue
            if not rows:
                return
            total[me] += rows

    threads = [threading.Thread(target=read, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(total) == 20000


def test_logs_that_are_open_are_not_opened_again(tmp_path: Path, posix_log: Make) -> None:
    logs = [iolens.open(posix_log([{"id": k, "opens": i} for k in range(i)], job_id=i)) for i in range(20)]
    paths = [tmp_path / f"{i:02}.darshan" for i in range(20)]  # there are no such files
    scan = Scan(paths, 2, logs=logs)
    rows = pa.table(scan.table("posix", batch_rows=7))
    assert rows["opens"].to_pylist() == [i for i in range(20) for _ in range(i)]
    assert rows["log"].to_pylist() == rows["opens"].to_pylist() and scan.errors == []
    logs[3].close()
    with pytest.raises(ValueError, match="closed"):
        Scan(paths, 2, logs=logs)


def test_sections_have_the_columns_of_the_newest_log(tmp_path: Path) -> None:
    """Whatever the order of the logs: an older one lacks columns, and has nulls there."""
    old = Job().section("process", {"rank": 0, "pid": 1}).save(tmp_path / "old.darshan")
    new = (
        Job().section("process", {"rank": 0, "pid": 2, "unexplained_read": 7}).save(tmp_path / "new.darshan")
    )
    for logs in ([old, new], [new, old]):
        table = pa.table(Scan(logs).section("process")).to_pydict()
        assert table["unexplained_read"] == [7 if log is new else None for log in logs]
        assert table["pid"] == [2 if log is new else 1 for log in logs]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_sections_have_the_columns_of_all_logs(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Each log has a column that the others lack: no value is lost, and a selection has the columns that it names."""
    rows = (
        {"rank": 0, "pid": 1, "exe": "/bin/a"},
        {"rank": 1, "pid": 2, "waits": 7, "start": 1.5},
        {"pid": 3, "rank": 2, "host": "node"},
    )
    logs = [Job().section("process", rows[n]).save(tmp_path / f"{n}.darshan") for n in order]
    table = pa.table(Scan(logs).section("process")).to_pydict()
    assert sorted(table) == sorted(("rank", "pid", "exe", "waits", "start", "host", "log"))
    assert table.pop("log") == [0, 1, 2]
    for name, values in table.items():
        assert values == [rows[n].get(name) for n in order], name
    chosen = pa.table(Scan(logs).section("process").select(["waits", "host", "log"])).to_pydict()
    assert chosen == {"waits": table["waits"], "host": table["host"], "log": [0, 1, 2]}
    known = pa.table(Scan(logs).section("process", among={"exe", "waits", "unknown"})).to_pydict()
    assert known == {"exe": table["exe"], "waits": table["waits"], "log": [0, 1, 2]}


def test_few_logs_of_a_newer_version_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open logs say their version: one in forty is enough for its columns."""
    monkeypatch.setattr(sys.modules["iolens.log.scan"], "_LOOKED_AT", 4)
    paths = []
    for n in range(40):
        more = {"waits": 7} if n == 29 else {}
        job = Job(metadata=b"lib_ver=iolens-2\n" if more else b"lib_ver=iolens-1\n")
        paths.append(job.section("process", {"rank": 0, "pid": n, **more}).save(tmp_path / f"{n}.darshan"))
    table = pa.table(Scan(paths, logs=[Log(path) for path in paths]).section("process")).to_pydict()
    assert table["waits"] == [7 if n == 29 else None for n in range(40)]
    assert table["pid"] == list(range(40))


def test_a_log_with_many_or_other_columns_takes_none_from_others(tmp_path: Path) -> None:
    """A user writes logs as he likes: wider than all others, with texts for numbers."""
    plain = [{"rank": 0, "pid": n} for n in (1, 2)]
    strange = [{"rank": "none", **{f"x{who}_{n}": n for n in range(400)}} for who in (1, 2)]
    logs = [
        Job().section("process", row).save(tmp_path / f"{n}.darshan")
        for n, row in enumerate([strange[0], *plain, strange[1]])
    ]
    known = pa.table(Scan(logs).section("process", among={"rank", "pid"})).to_pydict()
    assert known == {"rank": [None, 0, 0, None], "pid": [None, 1, 2, None], "log": [0, 1, 2, 3]}
    with pytest.raises(iolens.IolensError, match="too many columns") as caught:
        pa.table(Scan(logs).section("process"))
    assert caught.value.path == str(logs[3])


def test_sections_that_no_log_has_cost_two_looks(
    tmp_path: Path, posix_log: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Darshan's logs have no sections: whatever is read of them, each is opened for columns at most twice."""
    paths = [tmp_path / f"{i:02}.darshan" for i in range(12)]
    for path in paths:
        path.write_bytes(posix_log([{"id": 1, "opens": 1}]))
    opened: list[str] = []

    def counted(path: str) -> Log:
        opened.append(path)
        return Log(path)

    module = sys.modules["iolens.log.scan"]
    monkeypatch.setattr(module, "_LOOKED_AT", 4)
    monkeypatch.setattr(module, "Log", counted)
    monkeypatch.setattr(module, "isinstance", lambda *_: False, raising=False)
    scan = Scan(paths)
    for section in ("process", "operation", "site"):
        with pytest.raises(KeyError):
            pa.table(scan.section(section))
    assert sorted(set(opened)) == sorted(map(str, paths)) and len(opened) == 3 + 12
