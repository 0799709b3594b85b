"""Jobs of several nodes, on one: IOLENS_FINALIZE=messages-apart=N lets every N ranks be a node of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import shown
from mpi_job import Ended, Job, all_written, own

# What two runs of the same program have in common: not when, how long, and who was the quickest.
OF_ITS_RUN = re.compile(r"_F_|(FASTEST|SLOWEST)_RANK|_TIME_SIZE|HEATMAP_")
ROWS = {
    "process": ("rank", "host", "exe", "command", "ended", "exit_code", "forked", "folded_opens", "mpi"),
    "total": ("rank", "interface", "records", "opens", "reads", "writes", "bytes_read", "bytes_written"),
    "operation": ("rank", "interface", "name", "count", "errors", "bytes"),
    "mpiio_sizes": ("rank", "kind", "direction", "size", "count", "bytes"),
}


def content(
    job: Job,
) -> tuple[dict[tuple[str, str, int], dict[str, str]], dict[str, Counter[tuple[str, ...]]]]:
    """Records of the program's files, and rows of the trailer, without what differs from run to run."""
    text = job.show()
    records = {
        key: {name: value for name, value in row.items() if not OF_ITS_RUN.search(name)}
        for key, row in shown.records(text).items()
        if Path(key[1]).parent == job.cwd
    }
    tables = shown.sections(text)
    rows = {
        name: Counter(
            tuple(row[field] for field in fields)
            for row in tables.get(name, [])
            if row.get("name", "open") in {"open", "close"}
        )
        for name, fields in ROWS.items()
    }
    assert rows["process"]
    assert rows["total"]
    return records, rows


def run(job: Job, ranks: int, meeting: str, *habit: str, **env: str) -> Ended:
    ended = job.alone(job.command(ranks, "job", *habit), IOLENS_FINALIZE=meeting, **env)
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    return ended


APART = ["messages-apart", "messages-apart=2", "messages-apart=3", "mpiio-apart=2"]


@pytest.mark.parametrize("ranks", [2, 4, 7, 16])
def test_the_log_is_that_of_one_node(job: Job, ranks: int) -> None:
    assert not run(job, ranks, "", "many").notes
    wanted = content(job)
    some = 20 * ranks if ranks > 2 else 20  # of two ranks, which may be all there are
    assert len(wanted[0]) == ranks * (300 + 1) + some + 50 + 1
    for meeting in APART:
        job.log.unlink()
        assert not run(job, ranks, meeting, "many").notes
        records, rows = content(job)
        assert records == wanted[0], meeting
        assert rows == wanted[1], meeting
        assert job.log.stat().st_mode & 0o777 == 0o400
        assert not list(job.stores.iterdir())
        assert list(job.cwd.parent.glob("log*")) == [job.log]


@pytest.mark.parametrize("meeting", ["messages-apart", "messages-apart=16"])
def test_sixty_four_ranks(job: Job, meeting: str) -> None:
    idle = {"UCX_TLS": "self,sysv", "OMPI_MCA_mpi_yield_when_idle": "1", "IOLENS_FINALIZE_TIMEOUT": "60"}
    assert not run(job, 64, meeting, **idle).notes
    assert job.counters("BYTES_WRITTEN") == all_written(64)


@pytest.mark.parametrize(
    "hints", ["cb_nodes=1", "romio_no_indep_rw=true;cb_nodes=3", "cb_nodes=99", "cb_nodes=-1"]
)
def test_as_many_write_as_the_hint_says(job: Job, hints: str) -> None:
    assert not run(job, 5, "messages-apart", "many", IOLENS_LOGHINTS=hints).notes
    found = job.counters("BYTES_WRITTEN")
    assert {(name, rank): found[name, rank] for name, rank in found if name.startswith("own")} == own(
        *range(5)
    )
    assert len(found) == 5 * 321 + 51


def test_a_log_that_will_not_be_written_in_time_is_told_of_early(job: Job, tmp_path: Path) -> None:
    """Each piece takes a third of a second, and the first node writes those of all."""
    slow = ["strace", "-f", "-o", str(tmp_path / "trace"), "-P", f"{job.log}_partial"]
    slow += ["-e", "trace=pwrite64", "-e", "inject=pwrite64:delay_enter=300ms"]
    ended = job.alone(
        [*slow, *job.command(8, "job")],
        IOLENS_FINALIZE="messages-apart",
        IOLENS_LOGHINTS="cb_nodes=1",
        IOLENS_FINALIZE_TIMEOUT="4",
    )
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    early, late = ended.notes
    assert re.search(r"writing the log takes [1-9]\d* s more \([0-9.]+ MB in all, [0-9.e-]+ MB/s\)", early)
    assert "longer than IOLENS_FINALIZE_TIMEOUT (4 s) allows" in early and "the stores are kept in" in late
    recovered(job, 8)


def test_other_readers_agree(job: Job, oracle: ModuleType) -> None:
    run(job, 7, "messages-apart=2", "many")
    shown_lines = [line for line in job.show().splitlines() if re.match(r"POSIX\t", line)]
    decoded = [line for line in oracle.parser_lines(oracle.Log(str(job.log))) if line.startswith("POSIX\t")]
    assert sorted(shown_lines) == sorted(decoded)
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(job.log), read_all=True)
    assert report.metadata["job"]["nprocs"] == 7
    frame = report.records["POSIX"].to_df()["counters"]
    assert (frame["rank"] == -1).sum() == 51
    assert sorted(set(frame["rank"])) == [-1, *range(7)]


def test_variance_and_extremes_of_a_shared_file(job: Job) -> None:
    ranks = 7
    run(job, ranks, "messages-apart=2")
    record = shown.records(job.show())["POSIX", str(job.cwd / "shared"), -1]
    sizes = [100 * (rank + 1) for rank in range(ranks)]
    mean = sum(sizes) / ranks
    assert float(record["POSIX_F_VARIANCE_RANK_BYTES"]) == pytest.approx(
        sum((size - mean) ** 2 for size in sizes) / ranks
    )
    times = {which: float(record[f"POSIX_F_{which}_RANK_TIME"]) for which in ("FASTEST", "SLOWEST")}
    assert 0 <= times["FASTEST"] <= times["SLOWEST"]
    for which in times:
        rank = int(record[f"POSIX_{which}_RANK"])
        assert int(record[f"POSIX_{which}_RANK_BYTES"]) == sizes[rank]


def test_every_phase_is_timed(job: Job) -> None:
    run(job, 4, "messages-apart=2", "many")
    phases = [row["name"] for row in shown.sections(job.show())["phase"]]
    ours = ["open", "places", "wait", "agree", "gather", "shared", "write"]
    assert phases == [*ours, "survey", "reduce", "names", "records", "trailer", "traces"]


def test_ranks_that_are_left_out(job: Job) -> None:
    env = {"IOLENS_RANK_EXCLUDE": "0:1"}
    assert not run(job, 4, "messages-apart=2", **env).notes
    found = job.counters("BYTES_WRITTEN")
    assert {key: size for key, size in found.items() if key[0] != "shared"} == own(2, 3)
    assert "# nprocs: 4\n" in job.show()
    assert {row["rank"]: row["ended"] for row in job.processes()} == {
        "0": "missing",
        "1": "missing",
        "2": "finalize",
        "3": "finalize",
    }


@pytest.mark.parametrize("meeting", ["messages-apart", "messages-apart=2"])
def test_no_rank_is_observed(job: Job, meeting: str) -> None:
    assert not run(job, 3, meeting, IOLENS_RANK_EXCLUDE="0:9").notes
    assert not job.log.exists()
    assert not list(job.stores.iterdir())


# ---- what does not work ----


def recovered(job: Job, ranks: int) -> None:
    job.recover()
    assert job.counters("BYTES_WRITTEN") == all_written(ranks)


@pytest.mark.parametrize("meeting", ["messages-apart=2", "mpiio-apart=2"])
@pytest.mark.parametrize("where", ["/nowhere/log.darshan", "/proc/log.darshan"])
def test_a_log_that_cannot_be_written(job: Job, where: str, meeting: str) -> None:
    ended = run(job, 5, meeting, IOLENS_LOGFILE=where)
    assert len(ended.notes) == 1
    assert "log not written" in ended.notes[0]
    assert ended.seconds < 3
    recovered(job, 5)


MOUNT = 'd=$1 o=$2; shift 2; mount -t tmpfs -o "$o" none "$d" && exec "$@"'


@pytest.mark.parametrize("meeting", ["messages-apart=2", "messages-apart"])
@pytest.mark.parametrize("options", ["size=4k", "size=64k", "ro"])
def test_no_room_for_the_log(job: Job, tmp_path: Path, options: str, meeting: str) -> None:
    tried = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip("this user may not mount")
    logs = tmp_path / "logs"
    logs.mkdir()
    shell = ["unshare", "--mount", "sh", "-c", MOUNT, "sh", str(logs), options]
    log = {"IOLENS_LOGFILE": str(logs / "log.darshan"), "IOLENS_FINALIZE": meeting}
    ended = job.alone([*shell, *job.command(5, "job", "many")], **log)
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    assert "log not written" in ended.notes[0]
    job.recover()
    assert job.counters("BYTES_WRITTEN").items() >= all_written(5).items()


@pytest.mark.parametrize("meeting", ["messages-apart", "messages-apart=2"])
def test_a_log_of_that_name(job: Job, meeting: str) -> None:
    job.log.write_bytes(b"mine")
    ended = run(job, 4, meeting)
    assert len(ended.notes) == 1
    assert job.log.read_bytes() == b"mine"
    job.log.unlink()
    recovered(job, 4)


def test_one_store_is_damaged(job: Job) -> None:
    """Before the last rank goes on another file takes the place of rank 1's store: the log has the others."""
    settings = {"IOLENS_FINALIZE": "messages-apart=2", "IOLENS_FINALIZE_TIMEOUT": "60"}
    process = job.start(job.command(4, "job", "stop"), **{**job.observed, **settings})
    until = time.monotonic() + 60
    while set(found := {rank_of(store): store for store in job.kept()}) != {0, 1, 2, 3} or not stopped(
        found[3]
    ):
        assert time.monotonic() < until
        time.sleep(0.05)
    other = job.cwd.parent / "other"
    other.write_bytes(b"no store")
    other.rename(found[1])
    os.kill(process_of(found[3]), signal.SIGCONT)
    ended = job.end(process)
    assert (ended.code, ended.out) == (0, "done\n"), ended.err
    assert len(ended.notes) == 1
    assert "log incomplete" in ended.notes[0]
    counters = job.counters("BYTES_WRITTEN")
    assert {key: size for key, size in counters.items() if key[0] != "shared"} == own(0, 2, 3)
    assert len(job.kept()) == 4
    missing = [row for row in job.processes() if row["ended"] == "missing"]
    assert sorted(row["rank"] for row in missing) == ["-1", "1"]


def rank_of(store: Path) -> int:
    """By the file that is this rank's alone; -1 = it is not there yet."""
    found = re.search(rb"/own\.(\d+)\0", store.read_bytes()[:65536])
    return int(found[1]) if found else -1


def process_of(store: Path) -> int:
    return int(store.name.split(".")[-3])


def stopped(store: Path) -> bool:
    return "\nState:\tT" in Path(f"/proc/{process_of(store)}/status").read_text()
