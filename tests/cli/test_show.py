"""iolens show: what it prints for logs of every kind, and what it says when there is nothing to print."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interfaces import LIBC
from logmaker import LogMaker, plain_log, posix

Run = Callable[..., Any]
Write = Callable[..., Path]

POSIX, STDIO, HEATMAP = 1, 9, 15


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(log: LogMaker | bytes, name: str = "a.darshan") -> Path:
        path = tmp_path / name
        path.write_bytes(bytes(log))
        return path

    return to_file


def one_file(**counters: float) -> LogMaker:
    return plain_log(names={5: b"/data/five"}, regions={POSIX: (4, posix(5, **counters))})


def data(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def test_a_line_has_eight_columns(run_iolens: Run, write: Write) -> None:
    log = plain_log(mounts=[("ext4", "/"), ("lustre", "/data")], names={5: b"/data/five"})
    log.regions = {POSIX: (4, posix(5, rank=3, opens=17, renamed_from=-1, read_time=0.1234567))}
    done = run_iolens(["show", write(log)])
    assert (done.returncode, done.stderr) == (0, "")
    lines = data(done.stdout)
    assert len(lines) == 86
    assert lines[0] == ["POSIX", "3", "5", "POSIX_OPENS", "17", "/data/five", "/data", "lustre"]
    assert lines[12][4] == str(2**64 - 1)
    assert lines[69 + 8][3:5] == ["POSIX_F_READ_TIME", "0.123457"]
    assert (
        "#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t<fs type>\n"
        in done.stdout
    )


def test_the_header_has_darshan_parsers_keys(run_iolens: Run, write: Write) -> None:
    text = run_iolens(["show", write(one_file())], env={"TZ": "UTC"}).stdout
    head = text[: text.index("# log file regions")]
    assert head == (
        "# darshan log version: 3.41\n# compression method: NONE\n# exe: ./program\n# uid: 500\n# jobid: 77\n"
        "# start_time: 1000\n# start_time_asci: Thu Jan  1 00:16:40 1970\n"
        "# end_time: 1010\n# end_time_asci: Thu Jan  1 00:16:50 1970\n"
        "# nprocs: 4\n# run time: 10.5000\n# metadata: lib_ver = 3.5.0\n\n"
    )
    assert "# POSIX module: 704 bytes (compressed), ver=4\n" in text
    assert "# mount entry:\t/\text4\n" in text


@pytest.mark.parametrize(
    "value", [0.5e-6, 1.5e-6, 2.5e-6, 1e300, -1.0, 999999.9999995, float("inf"), float("nan")]
)
def test_numbers_are_printfs(run_iolens: Run, write: Write, value: float) -> None:
    line = data(run_iolens(["show", write(one_file(read_time=value))]).stdout)[77]
    assert line[4] == f"{value:f}"


def test_mounts_end_at_a_component(run_iolens: Run, write: Write) -> None:
    log = plain_log(mounts=[("ext4", "/"), ("lustre", "/lus")], names={5: b"/lustre2/x", 6: b"/lus/x"})
    log.regions = {POSIX: (4, posix(5) + posix(6))}
    lines = data(run_iolens(["show", write(log)]).stdout)
    assert lines[0][6:] == ["/", "ext4"]
    assert lines[86][6:] == ["/lus", "lustre"]


def test_control_characters_in_names_are_escaped(run_iolens: Run, write: Write) -> None:
    log = one_file()
    log.names = {5: b"/a\tb\nc\rd\x1b[31m\xff\\e"}
    done = run_iolens(["show", write(log)])
    assert data(done.stdout)[0][5] == "/a\\tb\\nc\\rd\\x1b[31m\\xff\\e"
    assert len(data(done.stdout)) == 86


def test_a_record_without_name_is_null(run_iolens: Run, write: Write) -> None:
    log = plain_log(regions={POSIX: (4, posix(5))})
    assert data(run_iolens(["show", write(log)]).stdout)[0][5:] == ["(null)", "UNKNOWN", "UNKNOWN"]


def test_the_command_line_is_there_without_mounts(run_iolens: Run, write: Write) -> None:
    assert "# exe: ./program\n" in run_iolens(["show", write(plain_log(mounts=[]))]).stdout


def test_a_log_without_modules_says_so(run_iolens: Run, write: Write) -> None:
    done = run_iolens(["show", "--all", write(plain_log())])
    assert done.returncode == 0
    assert done.stdout.endswith("# no module data available.\n")


def test_heat_maps_show_reads_before_writes(run_iolens: Run, write: Write) -> None:
    heat = struct.pack("<QqdqQQ4q", 9, 0, 0.1, 2, 1, 2, 10, 20, 30, 40)
    log = plain_log(names={9: b"heatmap:POSIX"}, regions={HEATMAP: (1, heat)})
    lines = data(run_iolens(["show", write(log)]).stdout)
    assert [line[3:6] for line in lines] == [
        ["HEATMAP_F_BIN_WIDTH_SECONDS", "0.100000", "heatmap:POSIX"],
        ["HEATMAP_READ_BIN_0", "30", "heatmap:POSIX"],
        ["HEATMAP_READ_BIN_1", "40", "heatmap:POSIX"],
        ["HEATMAP_WRITE_BIN_0", "10", "heatmap:POSIX"],
        ["HEATMAP_WRITE_BIN_1", "20", "heatmap:POSIX"],
    ]


def test_totals_files_and_performance(run_iolens: Run, write: Write) -> None:
    # bytes read 14, written 15; highest offset 16, 17; read, write, meta time 8, 9, 10; slowest rank's 14
    records = [
        posix(1, rank=0, opens=1, bytes_read=1048576, max_byte_read=1048575, read_time=1.0, meta_time=0.5),
        posix(
            2,
            rank=1,
            opens=2,
            bytes_written=2097152,
            max_byte_written=2097151,
            write_time=3.0,
            meta_time=0.25,
        ),
        posix(
            3,
            rank=-1,
            opens=4,
            bytes_read=10,
            bytes_written=20,
            max_byte_written=99,
            read_time=100.0,
            slowest_rank_time=2.0,
        ),
        posix(4, rank=2, opens=8),
        posix(5, rank=0, bytes_read=1, max_byte_read=5),
        posix(5, rank=1, bytes_read=1, max_byte_read=7),
    ]
    log = plain_log(regions={POSIX: (4, b"".join(records))})
    text = run_iolens(["show", "--total", "--file", "--perf", write(log)]).stdout
    for line in [
        "total_POSIX_OPENS: 15",
        "total_POSIX_BYTES_READ: 1048588",
        "total_POSIX_MAX_BYTE_WRITTEN: 2097151",
        "total_POSIX_F_READ_TIME: 101.000000",
        "total_POSIX_SLOWEST_RANK: -1",
        "# total: 5 3145760 2097151",
        "# read_only: 2 1048578 1048575",
        "# write_only: 1 2097152 2097151",
        "# read_write: 1 30 99",
        "# unique: 3 3145728 2097151",
        "# shared: 2 32 99",
        "# total_bytes: 3145760",
        "# unique files: slowest_rank_io_time: 3.250000",
        "# unique files: slowest_rank_meta_only_time: 0.250000",
        "# unique files: slowest_rank_rw_only_time: 3.000000",
        "# unique files: slowest_rank: 1",
        "# shared files: time_by_slowest: 2.000000",
        "# agg_time_by_slowest: 5.250000 # seconds",
        "# agg_perf_by_slowest: 0.571434 # MiB/s",
    ]:
        assert f"{line}\n" in text, line
    assert not [line for line in data(text) if len(line) > 1]


def test_a_ranks_record_after_the_shared_one_changes_nothing(run_iolens: Run, write: Write) -> None:
    log = plain_log(
        regions={
            POSIX: (
                4,
                posix(1, rank=-1, bytes_read=1, max_byte_read=9)
                + posix(1, rank=0, bytes_read=1, max_byte_read=8),
            )
        }
    )
    text = run_iolens(["show", "--file", "--file-list", write(log)]).stdout
    assert "# unique: 0 0 0\n# shared: 1 2 9\n" in text
    assert data(text)[-1][2] == "4"


def test_no_io_time_is_no_bandwidth(run_iolens: Run, write: Write) -> None:
    text = run_iolens(["show", "--perf", write(one_file(bytes_read=100))]).stdout
    assert "# agg_perf_by_slowest: 0.000000 # MiB/s\n" in text


def test_absurd_numbers_of_processes_need_no_memory(run_iolens: Run, write: Write) -> None:
    log = one_file(read_time=1.0)
    log.nprocs = 2**62
    log.regions = {POSIX: (4, posix(5, rank=2**61, read_time=1.0))}
    done = run_iolens(["show", "--perf", write(log)])
    assert done.returncode == 0
    assert f"slowest_rank: {2**61}\n" in done.stdout


def test_file_lists(run_iolens: Run, write: Write) -> None:
    records = (
        posix(1, rank=0, read_time=1.0, write_time=2.0)
        + posix(1, rank=1, read_time=5.0)
        + posix(2, rank=-1, read_time=8.0, slowest_rank_time=3.0, opens=6)
    )
    log = plain_log(names={1: b"/one", 2: b"/two"}, regions={POSIX: (4, records)})
    lines = data(run_iolens(["show", "--file-list", write(log)]).stdout)
    assert lines == [
        ["1", "/one", "2", "5.000000", "4.000000"],
        ["2", "/two", "4", "3.000000", "2.000000"],
    ]
    done = run_iolens(["show", "--file-list-detailed", write(log)])
    lines = data(done.stdout)
    assert len(lines[1]) == 5 + 8 + 1 + 20
    assert lines[1][13] == "6"
    heading = next(line for line in done.stdout.splitlines() if line.startswith("# <record_id>"))
    assert heading.split("\t")[5:7] == ["<open_start_timestamp>", "<read_start_timestamp>"]
    assert len(heading.split("\t")) == len(lines[1])


def test_options_can_be_shortened(run_iolens: Run, write: Write) -> None:
    assert "total_POSIX_OPENS: 3\n" in run_iolens(["show", "--tot", write(one_file(opens=3))]).stdout


def test_incomplete_modules_are_shown_on_request(run_iolens: Run, write: Write) -> None:
    log = one_file(opens=3)
    log.regions = {**log.regions, STDIO: (2, bytes(248))}
    log.partial = [POSIX]
    done = run_iolens(["show", write(log)])
    assert done.returncode == 4
    assert "# *WARNING*: The POSIX module contains incomplete data" in done.stdout
    assert {line[0] for line in data(done.stdout)} == {"STDIO"}
    assert done.stderr.count("\n") == 1
    assert "--show-incomplete" in done.stderr
    for option in ("--show-incomplete", "--all"):
        done = run_iolens(["show", option, write(log)])
        assert (done.returncode, done.stderr) == (0, "")
        assert "# *WARNING*: The POSIX module contains incomplete data" in done.stdout
        assert {line[0] for line in data(done.stdout) if len(line) == 8} == {*LIBC}


def test_modules_that_are_not_decoded_are_a_comment(run_iolens: Run, write: Write) -> None:
    log = plain_log(regions={10: (3, bytes(104)), 33: (7, bytes(8)), POSIX: (5, bytes(704))})
    done = run_iolens(["show", "--all", write(log)])
    assert (done.returncode, done.stderr) == (0, "")
    assert "# DXT_POSIX module, version 3: not decoded" in done.stdout
    assert "# <UNKNOWN> module (id 33): 8 bytes (compressed), ver=7\n" in done.stdout
    assert "# POSIX module, version 5: not decoded" in done.stdout


def test_extension_tables_are_comments(run_iolens: Run, build_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "made.darshan"
    os.spawnv(os.P_WAIT, build_dir / "tests/format/format-make-log", ["make", str(path), "1", "1", "2"])
    text = run_iolens(["show", "--ext", path]).stdout
    rows = [line.split("\t") for line in text.splitlines() if line.startswith("# [process]")]
    assert rows[0] == ["# [process]", "pid", "id", "start (s)", "host", "calls (calls)", "tag", "args"]
    assert rows[2] == [
        "# [process]",
        "101",
        str(2**64 - 2),
        "0.5",
        "node001",
        "10,11,12",
        "exactly16letters",
        ",second",
    ]
    assert "# [process]" not in run_iolens(["show", path]).stdout
    assert "# [process]" in run_iolens(["show", "--all", path]).stdout


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ([], "show: give one log"),
        (["a", "b"], "show: give one log"),
        (["--nonsense", "a"], "show: unknown option --nonsense"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(run_iolens: Run, args: list[str], complaint: str) -> None:
    done = run_iolens(["show", *args])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"iolens: {complaint}")
    assert done.stderr.count("\n") == 1


def test_help_names_every_option(run_iolens: Run) -> None:
    done = run_iolens(["show", "--help"])
    assert (done.returncode, done.stderr) == (0, "")
    for option in "base total file perf all show-incomplete file-list file-list-detailed ext help".split():
        assert f"--{option} " in done.stdout


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty file"),
        (b"just a text, longer than sixteen bytes", "not a Darshan log at byte 0"),
        (b"\x1f\x8b\x08" + bytes(40), "compressed"),
        (bytes(2000), "header was never written"),
        (
            b"3.99\0\0\0\0" + struct.pack("<q", 6567223) + bytes(2000),
            "log format 3.99 is not known at byte 0",
        ),
        (bytes(one_file())[:1000], "file ends in the header at byte 1000"),
    ],
    ids=["empty", "text", "gzip", "unfinished", "newer", "header"],
)
def test_what_is_no_log_is_one_line_and_code_3(
    run_iolens: Run, write: Write, content: bytes, complaint: str
) -> None:
    path = write(content)
    done = run_iolens(["show", path])
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"iolens: {path}: {complaint}")
    assert done.stderr.count("\n") == 1


def test_missing_files_and_directories_are_one_line_and_code_3(run_iolens: Run, tmp_path: Path) -> None:
    for path, complaint in (
        (tmp_path, "is a directory"),
        (tmp_path / "no", "cannot be opened: No such file"),
    ):
        done = run_iolens(["show", path])
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"iolens: {path}: {complaint}")


def test_a_log_cut_at_its_end_shows_what_is_left(run_iolens: Run, write: Write) -> None:
    log = one_file()
    log.regions = {POSIX: (4, b"".join(posix(i, opens=i) for i in range(1, 11)))}
    whole = bytes(log)
    done = run_iolens(["show", write(whole[: len(whole) - 5 * 704 - 100])])
    assert done.returncode == 4
    opens = [line[4] for line in data(done.stdout) if line[3] == "POSIX_OPENS"]
    assert opens == ["1", "2", "3", "4"]
    assert done.stderr.startswith("iolens: ")
    assert "POSIX: file ends too early at byte" in done.stderr
    assert done.stderr.count("\n") == 1


def test_damage_in_one_region_leaves_the_others(run_iolens: Run, write: Write) -> None:
    log = one_file(opens=1)
    log.regions = {POSIX: (4, posix(5, rank=99)), STDIO: (2, bytes(248))}
    done = run_iolens(["show", write(log)])
    assert done.returncode == 4
    assert {line[0] for line in data(done.stdout)} == {"STDIO"}
    assert "POSIX: record of a rank that the job does not have at byte" in done.stderr


def test_output_that_cannot_be_written_is_an_error(run_iolens: Run, write: Write) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = run_iolens(["show", write(one_file())], capture_output=False, stdout=full, stderr=-1)
    assert done.returncode == 3
    assert done.stderr == "iolens: standard output: No space left on device\n"


@pytest.mark.parametrize("when", [2**40, 2**62, -(2**62)])
def test_absurd_times_are_shown(run_iolens: Run, write: Write, when: int) -> None:
    done = run_iolens(["show", write(plain_log(start=when, end=when, end_ns=0))])
    assert done.returncode == 0
    assert f"# start_time: {when}\n" in done.stdout
