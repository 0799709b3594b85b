"""Several logs as one: ranks, times, shared files, tables, and what stays of logs that do not fit together."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import collision
import places
import pytest
import shown
from interfaces import HDF5, RECORDED
from logmaker import POSIX, STDIO, LogMaker, dxt_posix, heatmap, posix
from synthetic import VERSIONS, Kind, Maker

Run = Callable[..., "subprocess.CompletedProcess[str]"]
HEATMAP, DXT_POSIX, LUSTRE = 15, 10, 8


@pytest.fixture
def merge(run_iolens: Run, tmp_path: Path) -> Callable[..., Path]:
    """Writes the logs and merges them."""

    def merged(logs: Sequence[LogMaker], *options: str, code: int = 0) -> Path:
        paths = [tmp_path / f"{n}.darshan" for n in range(len(logs))]
        for path, log in zip(paths, logs):
            path.write_bytes(bytes(log))
        new = tmp_path / "merged.darshan"
        new.unlink(missing_ok=True)
        done = run_iolens(["merge", *options, "--output", new, *paths])
        assert (done.returncode, done.stderr == "") == (code, code == 0), done.stderr
        return new

    return merged


def base(run_iolens: Run, log: Path) -> list[str]:
    text = run_iolens(["show", "--base", "--show-incomplete", log]).stdout
    return sorted(line for line in text.splitlines() if line and not line.startswith("#"))


def everything(run_iolens: Run, log: Path) -> list[str]:
    """What a log says, in any order, less the sizes of its regions and the tables about merging and selecting."""
    text = run_iolens(["show", "--base", "--ext", "--show-incomplete", log]).stdout
    text += run_iolens(["trace", "--csv", "--show-incomplete", log]).stdout
    made = re.compile(
        r"# \[(part|interval|selection)\]|.* \(compressed\)|# (metadata|mount entry|iolens ext)"
    )
    return sorted(line for line in text.splitlines() if line and not made.match(line))


def header(run_iolens: Run, log: Path) -> dict[str, str]:
    text = run_iolens(["show", log], env={"TZ": "UTC"}).stdout
    return dict(re.findall(r"^# ([\w ]+): (.*)$", text, re.M))


def sections(run_iolens: Run, log: Path) -> dict[str, list[dict[str, str]]]:
    return shown.sections(run_iolens(["show", "--ext", log]).stdout)


LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan*")) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))
]
SPLITS = {
    "ranks": [["--rank", "shared"], ["--rank", "0"], ["--rank", "1-3"], ["--rank", "4-999999999"]],
    "modules": [
        ["--module", "posix,mpiio,dxt_posix,lustre"],
        ["--module", "stdio,h5f,h5d,bgq,apmpi,heatmap"],
    ],
    "overlapping ranks": [["--rank", "0-5,shared"], ["--rank", "3-999999999,shared"]],
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_log_in_parts_becomes_the_log_again(
    name: str, split: str, run_iolens: Run, corpus: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    assert run_iolens(["convert", corpus / "logs" / name, whole]).returncode == 0
    modules = set(re.findall(r"^# (\S+) module: ", run_iolens(["show", whole]).stdout, re.M))
    parts = [tmp_path / f"part{n}" for n in range(len(SPLITS[split]))]
    for part, selection in zip(parts, SPLITS[split]):
        assert run_iolens(["convert", *selection, whole, part]).returncode == 0
    if split == "modules":
        left = modules - {*RECORDED, *HDF5, "DXT_POSIX", "LUSTRE", "BG/Q", "APMPI", "HEATMAP"}
        if left:
            parts.append(tmp_path / "rest")
            assert run_iolens(["convert", "--module", ",".join(left), whole, parts[-1]]).returncode == 0
    new = tmp_path / "merged"
    done = run_iolens(["merge", "-o", new, *reversed(parts)])
    assert (done.returncode, done.stderr) == (0, "")
    assert everything(run_iolens, new) == everything(run_iolens, whole)


@pytest.mark.parametrize("number", range(max(len(v) for v in VERSIONS.values())))
@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
def test_every_module_in_parts_becomes_the_module_again(
    number: int, order: str, run_iolens: Run, tmp_path: Path, oracle: ModuleType
) -> None:
    versions = {name: found[number % len(found)] for name, found in VERSIONS.items()}
    whole = tmp_path / "whole"
    (tmp_path / "made").write_bytes(Maker(Kind(41, order, 0), number, oracle.jenkins64).log(versions))
    assert run_iolens(["convert", tmp_path / "made", whole]).returncode == 0
    parts = [tmp_path / f"part{n}" for n in range(3)]
    for part, ranks in zip(parts, ("shared,5", "0-2,6-7", "3-4")):
        assert run_iolens(["convert", "--rank", ranks, whole, part]).returncode == 0
    done = run_iolens(["merge", "-o", tmp_path / "merged", *parts])
    assert (done.returncode, done.stderr) == (0, "")
    assert everything(run_iolens, tmp_path / "merged") == everything(run_iolens, whole)


def test_two_jobs_months_apart_are_two_intervals(merge: Callable[..., Path], run_iolens: Run) -> None:
    first = LogMaker(start=1_000_000_000, end=1_000_000_010, job_id=1, names={5: b"/a"})
    first.regions = {POSIX: (4, posix(5, opens=1, open_start_timestamp=2.0))}
    later = LogMaker(start=1_012_889_251, end=1_012_889_256, job_id=2, names={6: b"/b"}, exe=b"./other")
    later.regions = {POSIX: (4, posix(6, opens=1, open_start_timestamp=3.0))}
    log = merge([later, first])
    head = header(run_iolens, log)
    assert (head["run time"], head["nprocs"], head["start_time"]) == ("15.0000", "2", "1000000000")
    assert head["exe"] == "/bin/program --with arguments ; ./other"
    found = shown.records(run_iolens(["show", log]).stdout)
    assert found["POSIX", "/a", 0]["POSIX_F_OPEN_START_TIMESTAMP"] == "2.000000"
    assert found["POSIX", "/b", 1]["POSIX_F_OPEN_START_TIMESTAMP"] == "13.000000"
    tables = sections(run_iolens, log)
    assert [(row["begin"], row["offset"]) for row in tables["interval"]] == [
        ("1000000000000000000", "0"),
        ("1012889251000000000", "10"),
    ]
    assert [(row["job"], row["first_rank"], row["offset"]) for row in tables["part"]] == [
        ("1", "0", "0"),
        ("2", "1", "10"),
    ]


def jobs(tmp_path: Path) -> list[Path]:
    """Three jobs, months apart, of 2, 3 and 1 ranks; each with a file of its own and one name in all."""
    paths = []
    for n, (ranks, start, exe) in enumerate(
        ((2, 1_000_000_000, b"./a"), (3, 1_005_000_000, b"./b ; ./c"), (1, 1_012_000_000, b"./a"))
    ):
        log = LogMaker(start=start, end=start + 10 * (n + 1), nprocs=ranks, job_id=n, exe=exe)
        log.names = {5: b"/all", 6 + n: b"/own.%d" % n}
        own = posix(6 + n, rank=ranks - 1, opens=n + 1, open_start_timestamp=1.0 + n)
        log.regions = {POSIX: (4, posix(5, rank=0, reads=7, read_start_timestamp=2.0) + own)}
        paths.append(tmp_path / f"job{n}.darshan")
        paths[-1].write_bytes(bytes(log))
    return paths


@pytest.mark.parametrize("steps", ["01 2", "0 12", "0 1 2", "012", "01 2 ."])
def test_merged_logs_are_merged_as_their_parts_are(run_iolens: Run, tmp_path: Path, steps: str) -> None:
    def merged(name: str, logs: Sequence[Path]) -> Path:
        new = tmp_path / name
        done = run_iolens(["merge", "-o", new, *logs])
        assert (done.returncode, done.stderr) == (0, "")
        return new

    paths = jobs(tmp_path)
    at_once = merged("once", paths)
    groups = [
        merged(f"group{i}", [paths[int(n)] for n in g]) for i, g in enumerate(steps.split()) if g != "."
    ]
    again = merged("again", groups)
    again = merged("third", [again]) if steps.endswith(".") else again
    assert header(run_iolens, at_once)["exe"] == "./a ; ./b ; ./c"
    shown_of = [
        {k: v for k, v in header(run_iolens, log).items() if "(" not in v} for log in (again, at_once)
    ]
    assert shown_of[0] == shown_of[1]
    assert base(run_iolens, again) == base(run_iolens, at_once)
    for name in ("part", "interval"):
        assert sections(run_iolens, again)[name] == sections(run_iolens, at_once)[name]
    assert [row["first_rank"] for row in sections(run_iolens, again)["part"]] == ["0", "2", "5"]


def test_a_log_between_the_parts_of_a_merged_one_keeps_its_time(run_iolens: Run, tmp_path: Path) -> None:
    """The time of the merged log is used up, so the other one follows; which time that was is told."""
    paths = jobs(tmp_path)
    outer, new = tmp_path / "outer", tmp_path / "new"
    assert run_iolens(["merge", "-o", outer, paths[0], paths[2]]).returncode == 0
    assert run_iolens(["merge", "-o", new, outer, paths[1]]).returncode == 0
    tables = sections(run_iolens, new)
    begins = [f"{path}000000000" for path in (1_000_000_000, 1_012_000_000, 1_005_000_000)]
    assert [(row["begin"], row["offset"]) for row in tables["interval"]] == [*zip(begins, ("0", "10", "40"))]
    assert [(row["begin"], row["first_rank"], row["run"]) for row in tables["part"]] == [
        *zip(begins, "023", "012")
    ]
    found = shown.records(run_iolens(["show", new]).stdout)
    times = [
        found["POSIX", f"/own.{n}", r]["POSIX_F_OPEN_START_TIMESTAMP"] for n, r in ((0, 1), (2, 2), (1, 5))
    ]
    assert times == ["1.000000", "13.000000", "42.000000"]


def test_a_part_of_a_merged_log_knows_of_it(run_iolens: Run, tmp_path: Path) -> None:
    whole, new = tmp_path / "whole", tmp_path / "new"
    parts = [tmp_path / "low", tmp_path / "high"]
    assert run_iolens(["merge", "-o", whole, *jobs(tmp_path)]).returncode == 0
    for part, ranks in zip(parts, ("0-2", "3-5")):
        assert run_iolens(["convert", "--rank", ranks, whole, part]).returncode == 0
    assert run_iolens(["merge", "-o", new, *parts]).returncode == 0
    assert everything(run_iolens, new) == everything(run_iolens, whole)
    for name in ("part", "interval"):
        assert sections(run_iolens, new)[name] == sections(run_iolens, whole)[name]


def test_gaps_stay_on_request(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [LogMaker(start=start, end=start + 10, exe=b"./step") for start in (1000, 2000)]
    logs[1].regions = {POSIX: (4, posix(5, open_start_timestamp=1.0))}
    log = merge(logs, "--keep-gaps")
    assert header(run_iolens, log)["run time"] == "1010.0000"
    found = shown.records(run_iolens(["show", log]).stdout)
    assert found["POSIX", "(null)", 1]["POSIX_F_OPEN_START_TIMESTAMP"] == "1001.000000"


def test_steps_that_overlap_are_one_interval(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [LogMaker(start=1000 + n, end=1010 + n, nprocs=2, exe=b"./%d" % n) for n in range(3)]
    log = merge(logs)
    head = header(run_iolens, log)
    assert (head["run time"], head["nprocs"]) == ("12.0000", "6")
    assert len(sections(run_iolens, log)["interval"]) == 1


@pytest.mark.parametrize("more", [0, 2])
def test_a_log_with_a_damaged_job_record_keeps_its_records(
    more: int, run_iolens: Run, tmp_path: Path
) -> None:
    records = b"".join(
        posix(6, rank=rank, opens=rank + 5, close_end_timestamp=4.0 + rank) for rank in range(3)
    )
    whole = bytes(LogMaker(nprocs=3, job_id=1, start=5000, names={6: b"/b"}, regions={POSIX: (4, records)}))
    bad = whole[:1340] + bytes(12) + whole[1352:]
    good = LogMaker(start=1000, end=1020, names={5: b"/a"}, regions={POSIX: (4, posix(5, opens=3))})
    names = ["bad", *(f"bad{n}" for n in range(more))]
    for name in names:
        (tmp_path / name).write_bytes(bad)
    (tmp_path / "good").write_bytes(bytes(good))
    done = run_iolens(["merge", "-o", "new", *names, "good"], cwd=tmp_path)
    assert done.returncode == 4 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("iolens: merge: bad: compressed data are damaged: its records are kept")
    assert done.stderr.endswith("are lost; the same of 2 other logs\n" if more else "are lost\n")
    head = header(run_iolens, tmp_path / "new")
    assert [head[key] for key in ("nprocs", "uid", "jobid", "run time")] == [
        str(3 * len(names) + 1),
        "1000",
        "42",
        "20.0000",
    ]
    found = shown.records(run_iolens(["show", tmp_path / "new"]).stdout)
    assert [found["POSIX", "/b", rank]["POSIX_OPENS"] for rank in range(3)] == ["5", "6", "7"]
    assert found["POSIX", "/a", 3 * len(names)]["POSIX_OPENS"] == "3"
    assert float(found["POSIX", "/b", 2]["POSIX_F_CLOSE_END_TIMESTAMP"]) == 6.0
    parts = sections(run_iolens, tmp_path / "new")["part"]
    assert [part["job"] for part in parts] == ["-1"] * len(names) + ["42"]
    alone = run_iolens(["merge", "-o", "none", *names], cwd=tmp_path)
    assert alone.returncode == 3 and alone.stderr.startswith("iolens: bad: compressed data are damaged")
    assert not (tmp_path / "none").exists()


def test_processes_of_one_job_get_ranks_in_order_of_their_start(
    merge: Callable[..., Path], run_iolens: Run
) -> None:
    logs = [
        LogMaker(start=1000 + late, end=1020, names={5: b"/a"}, regions={POSIX: (4, posix(5, opens=late))})
        for late in (7, 3, 5)
    ]
    found = shown.records(run_iolens(["show", merge(logs)]).stdout)
    assert [found["POSIX", "/a", rank]["POSIX_OPENS"] for rank in range(3)] == ["3", "5", "7"]


def test_logs_of_the_ranks_of_an_mpi_job_keep_their_ranks(
    merge: Callable[..., Path], run_iolens: Run
) -> None:
    """As Darshan's runtime leaves them when it is killed: one per rank, without an end."""
    logs = [LogMaker(nprocs=3, end=0, start=1000, names={5: b"/a"}, compression=2) for _ in range(3)]
    for rank, log in enumerate(logs):
        record = posix(5, rank=rank, opens=rank + 1, read_end_timestamp=rank * 2.0)
        log.regions = {POSIX: (4, record)}
    log = merge(logs[::-1])
    head = header(run_iolens, log)
    assert (head["nprocs"], head["run time"]) == ("3", "4.0000")
    found = shown.records(run_iolens(["show", log]).stdout)
    assert [found["POSIX", "/a", rank]["POSIX_OPENS"] for rank in range(3)] == ["1", "2", "3"]


def test_the_end_of_a_killed_job_can_be_told(merge: Callable[..., Path], run_iolens: Run) -> None:
    log = merge([LogMaker(end=0, start=1000)], "--job-end-time", "1060")
    assert header(run_iolens, log)["run time"] == "60.0000"


def test_a_file_that_all_processes_used_is_one_record(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [LogMaker(nprocs=2, start=1000, end=1010, names={5: b"/all", 6: b"/one"}) for _ in range(2)]
    for rank, log in enumerate(logs):
        counters = {"bytes_written": 100 * (rank + 1), "write_time": 1.0 + 2 * rank, "max_byte_written": rank}
        records = posix(5, rank=rank, opens=1, open_start_timestamp=0.5 + rank, **counters)
        log.regions = {POSIX: (4, records + (posix(6, rank=1, opens=9) if rank else b""))}
    found = shown.records(run_iolens(["show", merge(logs, "--shared-redux")]).stdout)
    assert set(found) == {("POSIX", "/all", -1), ("POSIX", "/one", 1)}
    row = found["POSIX", "/all", -1]
    assert row["POSIX_OPENS"] == "2" and row["POSIX_BYTES_WRITTEN"] == "300"
    assert row["POSIX_MAX_BYTE_WRITTEN"] == "1" and row["POSIX_F_OPEN_START_TIMESTAMP"] == "0.500000"
    assert (row["POSIX_SLOWEST_RANK"], row["POSIX_F_SLOWEST_RANK_TIME"]) == ("1", "3.000000")
    assert (row["POSIX_FASTEST_RANK"], row["POSIX_FASTEST_RANK_BYTES"]) == ("0", "100")
    assert row["POSIX_F_VARIANCE_RANK_TIME"] == "1.000000"
    assert row["POSIX_F_VARIANCE_RANK_BYTES"] == "2500.000000"


def test_shared_records_of_two_jobs_are_one(merge: Callable[..., Path], run_iolens: Run) -> None:
    """Of 2 and 3 ranks: sums, extremes with the new ranks, and the variance over all five."""
    logs = []
    for n, (ranks, times) in enumerate(((2, [1.0, 3.0]), (3, [2.0, 2.0, 8.0]))):
        mean = sum(times) / ranks
        variance = sum((t - mean) ** 2 for t in times) / ranks
        record = posix(
            5, rank=-1, reads=ranks, read_time=sum(times), variance_rank_time=variance,
            slowest_rank=times.index(max(times)), slowest_rank_time=max(times),
            fastest_rank=times.index(min(times)), fastest_rank_time=min(times),
        )  # fmt: skip
        start = 1000 + 100 * n
        logs.append(LogMaker(nprocs=ranks, start=start, end=start + 9, job_id=n, names={5: b"/s"}))
        logs[-1].regions = {POSIX: (4, record)}
    found = shown.records(run_iolens(["show", merge(logs)]).stdout)
    assert set(found) == {("POSIX", "/s", -1)}
    row = found["POSIX", "/s", -1]
    all_times = [1.0, 3.0, 2.0, 2.0, 8.0]
    mean = sum(all_times) / 5
    assert row["POSIX_READS"] == "5"
    assert float(row["POSIX_F_VARIANCE_RANK_TIME"]) == pytest.approx(
        sum((t - mean) ** 2 for t in all_times) / 5, abs=1e-6
    )
    assert (row["POSIX_SLOWEST_RANK"], row["POSIX_FASTEST_RANK"]) == ("4", "0")


def test_the_variance_of_two_jobs_time_in_mpi_is_that_of_all_ranks(
    run_iolens: Run, corpus: Path, tmp_path: Path
) -> None:
    log, new = corpus / "logs" / "apmpi.darshan", tmp_path / "new"
    assert run_iolens(["merge", "--new-ranks", "-o", new, log, log]).returncode == 0
    times = [
        float(line.split("\t")[4]) for line in base(run_iolens, new) if "\tMPI_TOTAL_COMM_TIME\t" in line
    ]
    stated = [
        line.split("\t")[4] for line in base(run_iolens, new) if "\tMPI_TOTAL_COMM_TIME_VARIANCE\t" in line
    ]
    mean = sum(times) / len(times)
    assert len(times) == 256
    assert [float(value) for value in stated] == [
        pytest.approx(sum((t - mean) ** 2 for t in times) / 256, rel=1e-6)
    ]


def bins(run_iolens: Run, log: Path, rank: int, kind: str) -> list[int]:
    lines = [line.split("\t") for line in base(run_iolens, log)]
    cells = {row[3]: int(row[4]) for row in lines if row[1] == str(rank) and f"_{kind}_BIN_" in row[3]}
    return [cells[f"HEATMAP_{kind}_BIN_{n}"] for n in range(len(cells))]


def test_heat_maps_get_the_same_bins(merge: Callable[..., Path], run_iolens: Run) -> None:
    """Bins of 1 s for 3 s, and of 2 s for 4 s; the second begins half a second after the first."""
    names = {9: b"heatmap:POSIX"}
    short = LogMaker(start=1000, end=1003, names=names, exe=b"./a")
    short.regions = {HEATMAP: (1, heatmap(9, 0, 1.0, writes=[5, 7, 9], reads=[1, 0, 0]))}
    late = LogMaker(start=1000, start_ns=500_000_000, end=1004, names=names, exe=b"./b")
    late.regions = {HEATMAP: (1, heatmap(9, 0, 2.0, writes=[1001, 10], reads=[0, 0]))}
    log = merge([short, late])
    assert bins(run_iolens, log, 0, "WRITE") == [12, 9] and bins(run_iolens, log, 0, "READ") == [1, 0]
    assert bins(run_iolens, log, 1, "WRITE") == [751, 260], "three quarters of the first, the rest after it"
    widths = {line.split("\t")[4] for line in base(run_iolens, log) if "BIN_WIDTH" in line}
    assert widths == {"2.000000"}


def test_heat_maps_of_a_long_merge_stay_within_two_hundred_bins(
    merge: Callable[..., Path], run_iolens: Run
) -> None:
    logs = [LogMaker(start=1000 * n, end=1000 * n + 20, names={9: b"heatmap:POSIX"}) for n in (1, 2, 3)]
    for log in logs:
        log.regions = {HEATMAP: (1, heatmap(9, 0, 0.1, writes=[3] * 200, reads=[1] * 200))}
    log = merge(logs)
    for rank in range(3):
        written = bins(run_iolens, log, rank, "WRITE")
        assert (len(written), sum(written)) == (150, 600)
        first = next(n for n, b in enumerate(written) if b)
        assert first == 50 * rank


def test_traces_keep_their_order_and_get_their_times(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [LogMaker(start=1000 * n, end=1000 * n + 10, names={5: b"/t"}, exe=b"./%d" % n) for n in (1, 2)]
    for log in logs:
        log.regions = {DXT_POSIX: (1, dxt_posix(5, 0, writes=[(0, 10, 1.0, 1.5)], reads=[(10, 5, 2.0, 2.5)]))}
    log = merge(logs)
    rows = [line.split(",") for line in run_iolens(["trace", "--csv", log]).stdout.splitlines()[1:]]
    assert [(r[1], r[2], float(r[6]), float(r[7])) for r in rows] == [
        ("0", "write", 1.0, 1.5),
        ("0", "read", 2.0, 2.5),
        ("1", "write", 11.0, 11.5),
        ("1", "read", 12.0, 12.5),
    ]


def test_what_ran_on_two_nodes_keeps_its_processes_apart(run_iolens: Run, tmp_path: Path) -> None:
    """One and the same command with one and the same job id at one and the same time, each with two processes."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    script = "sleep 0.3; cat /etc/passwd > ./x"
    jobs = [
        subprocess.Popen(
            [str(places.BIN), "run", "-q", "-o", "log", "--", "sh", "-c", script],
            cwd=folder,
            env={**os.environ, "SLURM_JOB_ID": "77"},
        )
        for folder in folders
    ]
    assert [job.wait() for job in jobs] == [0, 0]
    processes = [len(sections(run_iolens, folder / "log")["process"]) for folder in folders]
    new = tmp_path / "new"
    assert run_iolens(["merge", "-o", new, *(folder / "log" for folder in folders)]).returncode == 0
    rows = sections(run_iolens, new)["process"]
    assert [row["rank"] for row in rows] == [str(n) for n in range(sum(processes))]
    assert len(sections(run_iolens, new)["interval"]) == 1


def test_what_one_log_lacks_the_merged_log_lacks(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [LogMaker(exe=b"./a"), LogMaker(exe=b"./b", partial=[STDIO])]
    text = run_iolens(["show", "--show-incomplete", merge(logs)]).stdout
    assert "The STDIO module contains incomplete data" in text


def test_names_that_contradict_each_other_are_told(merge: Callable[..., Path], run_iolens: Run) -> None:
    logs = [
        LogMaker(exe=b"./a", names={5: b"/x"}, regions={POSIX: (4, posix(5))}),
        LogMaker(exe=b"./b", names={5: b"/y"}, regions={POSIX: (4, posix(5))}),
    ]
    found = shown.records(run_iolens(["show", merge(logs, code=4)]).stdout)
    assert set(found) == {("POSIX", "/x", 0), ("POSIX", "/y", 1)}


def test_one_id_of_two_names_is_two_files(merge: Callable[..., Path], run_iolens: Run) -> None:
    """In every module, in references, and in each log that has the second name; one without a name is the first."""

    def log(name: bytes, opens: int, rank: int = -1) -> LogMaker:
        trace = dxt_posix(5, 0, [(0, 10 * opens, 1.0, 2.0)], [])
        records = posix(5, rank, opens=opens) + posix(6, rank, opens=1, renamed_from=5)
        return LogMaker(
            exe=name,
            nprocs=2,
            names={5: name, 6: b"/to"},
            regions={POSIX: (4, records), DXT_POSIX: (1, trace)},
        )

    logs = [log(b"/x", 1), log(b"", 20), log(b"/y", 300), log(b"/x", 4000), log(b"/y", 50000, rank=1)]
    new = merge(logs, code=4)
    found = shown.records(run_iolens(["show", new]).stdout)
    opens = {
        (name, rank): values["POSIX_OPENS"] for (_, name, rank), values in found.items() if name != "/to"
    }
    assert opens == {("/x", -1): "4021", ("/y", -1): "300", ("/y", 9): "50000"}
    text = run_iolens(["show", "--base", new]).stdout
    ids = {
        line.split("\t")[5]: int(line.split("\t")[2]) for line in text.splitlines() if line[:6] == "POSIX\t"
    }
    assert ids["/x"] == 5 and ids["/y"] != 5
    refers = {
        rank: values["POSIX_RENAMED_FROM"] for (_, name, rank), values in found.items() if name == "/to"
    }
    assert refers[9] == str(ids["/y"])
    rows = csv.DictReader(run_iolens(["trace", "--csv", new]).stdout.splitlines())
    assert sorted((row["name"], int(row["length"])) for row in rows) == [
        ("/x", 10),
        ("/x", 200),
        ("/x", 40000),
        ("/y", 3000),
        ("/y", 500000),
    ]


def test_an_id_that_was_given_away_is_not_met_by_chance(merge: Callable[..., Path], run_iolens: Run) -> None:
    def log(name: bytes, number: int, opens: int) -> LogMaker:
        return LogMaker(exe=name, names={number: name}, regions={POSIX: (4, posix(number, -1, opens=opens))})

    def taken(path: Path) -> int:
        lines = run_iolens(["show", "--base", path]).stdout.splitlines()
        return next(int(line.split("\t")[2]) for line in lines if "\t/y\t" in line)

    given = taken(merge([log(b"/x", 5, 1), log(b"/y", 5, 20)], code=4))
    new = merge([log(b"/x", 5, 1), log(b"/z", given, 300), log(b"/y", 5, 20)], code=4)
    found = shown.records(run_iolens(["show", new]).stdout)
    assert {name: int(v["POSIX_OPENS"]) for (_, name, _), v in found.items()} == {
        "/x": 1,
        "/y": 20,
        "/z": 300,
    }


def test_the_end_of_a_name_is_no_other_name(merge: Callable[..., Path], run_iolens: Run) -> None:
    """As logs of Darshan 2.x have them: the mount point, and the last 15 bytes."""

    def log(name: bytes) -> LogMaker:
        return LogMaker(exe=name, names={5: name}, regions={POSIX: (4, posix(5, -1, opens=1))})

    names = [b"/scratch/project/run-0042.dat", b"/scratch/...t/run-0042.dat"]
    for order in (names, names[::-1]):
        found = shown.records(run_iolens(["show", merge([log(name) for name in order])]).stdout)
        assert [v["POSIX_OPENS"] for v in found.values()] == ["2"]
    other = merge([log(names[0]), log(b"/scratch/...t/run-0043.dat")], code=4)
    assert len(shown.records(run_iolens(["show", other]).stdout)) == 2


def test_commands_of_one_hash_are_two(merge: Callable[..., Path], run_iolens: Run) -> None:
    """Ranks of one job only when the command is the same, whatever its hash; both commands are in the new log."""
    first = b"/scratch/project/bin/simulation --steps=0000000042"[:48]
    second = collision.of(first)
    logs = [
        LogMaker(nprocs=4, exe=exe, regions={POSIX: (4, posix(5, rank))})
        for rank, exe in enumerate([first, second])
    ]
    text = header(run_iolens, merge(logs))
    assert text["nprocs"] == "8"
    assert text["exe"].encode(errors="surrogateescape").startswith(first + b" ; other-")


def test_our_tables_are_united(run_iolens: Run, tmp_path: Path) -> None:
    for n in (1, 2):
        command = ["run", "-q", "-o", f"{n}", "--", "sh", "-c", f"cat /etc/passwd > {n}.txt"]
        assert run_iolens(command, cwd=tmp_path).returncode == 0
    single = [sections(run_iolens, tmp_path / str(n)) for n in (1, 2)]
    assert run_iolens(["merge", "-o", "both", "1", "2"], cwd=tmp_path).returncode == 0
    both = sections(run_iolens, tmp_path / "both")
    assert [row["rank"] for row in both["process"]] == [str(n) for n in range(len(both["process"]))]
    for table in ("process", "total", "operation"):
        assert len(both[table]) == sum(len(tables[table]) for tables in single)
    counts = [sum(int(row["count"]) for t in tables for row in t) for tables in
              ([both["operation"]], [tables["operation"] for tables in single])]  # fmt: skip
    assert counts[0] == counts[1]
    first = float(single[0]["process"][-1]["end"])
    assert float(both["process"][-1]["start"]) >= first


def test_pydarshan_reads_merged_logs(run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    new = tmp_path / "new.darshan"
    logs = [
        corpus / "logs" / f"{name}.darshan" for name in ("release-x86_64-3.4.4", "runtime-and-dxt-heatmaps")
    ]
    done = run_iolens(["merge", "-o", new, *logs])
    assert done.returncode == 0, done.stderr
    report = darshan.DarshanReport(str(new), read_all=True)
    report.read_all_heatmap_records()
    single = [darshan.DarshanReport(str(log), read_all=True) for log in logs]
    assert report.metadata["job"]["nprocs"] == sum(r.metadata["job"]["nprocs"] for r in single)
    for module in RECORDED:
        bytes_read = [
            sum(r.records[module].to_df()["counters"].filter(regex="_BYTES_READ$").to_numpy().sum() for r in group)
            for group in ([report], [r for r in single if module in r.records])
        ]  # fmt: skip
        assert bytes_read[0] == bytes_read[1]
    heats = [sum(int(r.heatmaps["POSIX"].to_df(["write"]).to_numpy().sum()) for r in group) for group in
             ([report], [r for r in single if "POSIX" in r.heatmaps])]  # fmt: skip
    assert heats[0] == heats[1]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["log"], 2, "--output NEWLOG is missing"),
        (["-o", "new"], 2, "give the logs"),
        (["-o", "new", "--frobnicate", "log"], 2, "--frobnicate"),
        (["-o", "new", "--job-end-time", "soon", "log"], 2, "seconds since 1970"),
        (["-o", "new", "log", "./log"], 2, "is there twice"),
        (["-o", "new", "missing"], 3, "missing"),
        (["-o", "log", "log"], 3, "log: is there already: take another name"),
        (["-o", "no/such/folder/new", "log"], 3, "no/such/folder"),
        (["-o", "new", "log", "damaged"], 3, "damaged: "),
    ],
)
def test_wrong_use(run_iolens: Run, tmp_path: Path, arguments: list[str], code: int, complaint: str) -> None:
    log = bytes(LogMaker(names={5: b"/a"}, regions={POSIX: (4, posix(5, opens=3))}))
    (tmp_path / "log").write_bytes(log)
    (tmp_path / "damaged").write_bytes(log[:-20])
    done = run_iolens(["merge", *arguments], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and complaint in done.stderr
    assert not (tmp_path / "new").exists() and not (tmp_path / "new.darshan_partial").exists()
