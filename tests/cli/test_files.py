"""`iolens files`: one line per file, and the sum."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest
from interfaces import LIBC
from jobs import Job, MiB
from observed import Observe, Observed

HEAD = "      size      moved        time     operations       seeks   re-read    class  file"


@pytest.fixture
def seen(observe: Observe, tmp_path: Path) -> Observed:
    """Known files: written once; read three times by two programs; looked at only."""
    (tmp_path / "input").write_bytes(b"x" * 10_000)
    (tmp_path / "looked at").touch()
    script = (
        "dd if=/dev/zero of=output bs=1000 count=2000 status=none; cat input input >/dev/null;"
        "python3 -S -c \"import os; f = os.open('input', 0); [os.pread(f, 5000, 5000) for _ in range(2)];"
        "[os.lseek(f, n, 0) for n in range(1500)]; os.stat('looked at')\""
    )
    return observe(["sh", "-c", script.replace("python3", "/usr/bin/python3")], cwd=tmp_path)


def columns(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def table(output: str) -> list[str]:
    """Without what moved by its way, which follows it."""
    return output.split("\n\n", maxsplit=1)[0].splitlines()


def as_json(run_iolens: Any, log: Path, *options: str) -> list[dict[str, Any]]:
    """The files of `iolens files --json`."""
    told = json.loads(run_iolens(["files", "--json", *options, log]).stdout)
    assert told["log"] == str(log)
    files: list[dict[str, Any]] = told["files"]
    return files


def test_the_table(run_iolens: Any, seen: Observed, tmp_path: Path) -> None:
    done = run_iolens(["files", seen.log])
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, total = table(done.stdout)
    assert head == HEAD
    by_name = {columns(row)[-1].removeprefix(f"{tmp_path}/"): columns(row) for row in rows}
    assert set(by_name) == {"input", "output", "looked at"}
    size, moved, _, operations, seeks, factor, _, _ = by_name["output"]
    assert (size, moved, operations, seeks, factor) == ("1.9 MiB", "1.9 MiB", "2,000", "0", "-")
    size, moved, _, operations, seeks, factor, _, _ = by_name["input"]
    assert (size, moved, operations, seeks, factor) == ("9.8 KiB", "29.3 KiB", "6", "1,500", "3.00")
    assert by_name["looked at"][:2] == ["0 B", "0 B"]
    size, moved, _, operations, seeks, factor, _, name = columns(total)
    assert (size, moved, operations, seeks, factor) == ("1.9 MiB", "1.9 MiB", "2,006", "1,500", "3.00")
    assert name == "all files"


def test_the_longest_in_io_is_first(run_iolens: Any, seen: Observed) -> None:
    found = as_json(run_iolens, seen.log)
    times = [file["read_time"] + file["write_time"] + file["meta_time"] for file in found]
    assert times == sorted(times, reverse=True)


def test_top_cuts_the_lines_and_not_the_sum(run_iolens: Any, seen: Observed) -> None:
    whole = table(run_iolens(["files", seen.log]).stdout)
    assert table(run_iolens(["files", "--top", "1", seen.log]).stdout) == [*whole[:2], whole[-1]]
    assert table(run_iolens(["files", seen.log, "--top", "100"]).stdout) == whole
    assert len(as_json(run_iolens, seen.log, "--top", "2")) == 2


def test_json_has_the_numbers_of_the_log(run_iolens: Any, seen: Observed, tmp_path: Path) -> None:
    found = {file["name"]: file for file in as_json(run_iolens, seen.log)}
    assert found.keys() == seen.listed_files()
    for name, file in found.items():
        for counter in ("reads", "writes", "opens", "seeks", "bytes_read", "bytes_written"):
            wanted = sum(seen.total(interface, counter.upper(), name) for interface in LIBC)
            if counter == "opens":  # a descriptor's copy is none
                wanted -= seen.total("POSIX", "DUPS", name) + seen.total("POSIX", "FILENOS", name)
            assert file[counter] == wanted, (name, counter)
    assert found[str(tmp_path / "input")]["size"] == found[str(tmp_path / "input")]["read_size"] == 10_000


def job_of_layers() -> Job:
    """A file that four ranks write by MPI-IO and data sieving, one that POSIX has no record of, one without MPI-IO."""
    job = Job(nprocs=4)
    job.mpiio("/scratch/out", -1, write={MiB: 64}, read={MiB: 16}, kind="coll", write_time=4.0, read_time=1.0)
    job.posix(
        "/scratch/out", -1, write={4 * MiB: 20}, read={MiB: 32}, write_time=1.5, read_time=0.5, meta_time=0.1
    )
    job.mpiio("/scratch/elsewhere", -1, write={MiB: 8}, write_time=2.5)
    return job.posix("/scratch/plain", 1, write={MiB: 3}, write_time=0.25)


def test_a_file_has_the_numbers_of_its_lowest_layer(run_iolens: Any, tmp_path: Path) -> None:
    log = job_of_layers().save(tmp_path / "job.darshan")
    found = {file["name"]: file for file in as_json(run_iolens, log)}
    out, elsewhere, plain = (found[f"/scratch/{name}"] for name in ("out", "elsewhere", "plain"))
    names = ("bytes_read", "bytes_written", "reads", "writes", "read_time", "write_time", "meta_time")
    assert [out[name] for name in names] == [32 * MiB, 80 * MiB, 32, 20, 0.5, 1.5, 0.1]
    assert [out["mpiio"][name] for name in names] == [16 * MiB, 64 * MiB, 16, 64, 1.0, 4.0, 0.0]
    assert (out["size"], out["read_size"]) == (80 * MiB, 32 * MiB)
    assert [elsewhere[name] for name in names] == [0, 8 * MiB, 0, 8, 0.0, 2.5, 0.0]
    assert (elsewhere["size"], elsewhere["read_size"]) == (0, 0)  # MPI-IO has no offsets
    assert "mpiio" not in elsewhere and "mpiio" not in plain
    assert list(found) == [f"/scratch/{name}" for name in ("elsewhere", "out", "plain")]


def test_what_mpi_io_was_asked_for_stands_beside(run_iolens: Any, tmp_path: Path) -> None:
    done = run_iolens(["files", job_of_layers().save(tmp_path / "job.darshan")])
    head, *rows, total = done.stdout.splitlines()
    assert head == HEAD.replace("    class", "   by MPI-IO        time    class")
    by_name = {columns(row)[-1]: columns(row) for row in [*rows, total]}
    assert by_name["/scratch/out"] == [
        *("80.0 MiB", "112.0 MiB", "2.100 s", "52", "0", "1.00"),
        *("80.0 MiB", "5.000 s", "lustre", "/scratch/out"),
    ]
    assert by_name["/scratch/plain"][5:8] == ["-", "-", "-"]
    assert by_name["all files"][:4] == ["83.0 MiB", "123.0 MiB", "4.850 s", "63"]


def test_posix_records_that_were_lost_are_no_layer(run_iolens: Any, tmp_path: Path) -> None:
    job = Job(nprocs=4, partial=["posix"]).mpiio("/scratch/out", -1, write={MiB: 64}, write_time=4.0)
    job.posix("/scratch/out", 0, write={MiB: 2}, write_time=0.1)
    (file,) = as_json(run_iolens, job.save(tmp_path / "job.darshan"))
    assert (file["bytes_written"], file["write_time"]) == (64 * MiB, 4.0)
    job.partial = []
    (file,) = as_json(run_iolens, job.save(tmp_path / "job.darshan"))
    assert (file["bytes_written"], file["mpiio"]["bytes_written"]) == (2 * MiB, 64 * MiB)


def test_what_was_not_counted_is_not_subtracted(run_iolens: Any, tmp_path: Path) -> None:
    job = Job(nprocs=4).posix("/scratch/a", -1, write={MiB: 2}, seeks=-4, reads=-4)
    (file,) = as_json(run_iolens, job.save(tmp_path / "job.darshan"))
    assert (file["reads"], file["writes"], file["seeks"]) == (0, 2, 0)


WAYS = {
    "posix": ("posix", MiB, 0),
    "mpiio": ("mpiio, through posix", MiB, 0),
    "io_uring": ("io_uring", 0, 6 * MiB),
    "mapped": ("mapped files", 7 * MiB, 0),
    "socket_public": ("sockets: public network", 2 * MiB, 0),
    "not_files": ("not files", 3 * MiB, 0),
    "system_files": ("system files", 9 * MiB, 0),
    "unobserved": ("not observed", 0, 8 * MiB),
    "unexplained": ("unexplained", 4 * MiB, 0),
}


def job_of_ways(**unexplained: int) -> Job:
    job = Job(run_time=1).mpiio("/scratch/a", 0, read={MiB: 1}).posix("/scratch/a", 0, read={MiB: 1})
    job.section(
        "process",
        {"rank": 0, "pid": 1, "ended": "exit", "unseen_read": 12 * MiB, "unseen_written": 0, **unexplained},
    )
    for way, name, size in (("io_uring", "write", 6), ("mapped", "read", 7), ("unobserved", "write", 8)):
        job.section(
            "operation",
            {"rank": 0, "interface": way, "name": name, "count": 1, "bytes": size * MiB, "time": 0.0},
        )
    for size, name in ((2, "socket_public"), (3, "pipe"), (4, "python"), (5, "kernel")):
        both = {"bytes_read": size * MiB, "bytes_written": 0}
        job.section(
            "excluded",
            {"rank": 0, "class": name, "description": "", "opens": 1, "reads": 1, "writes": 0, **both},
        )
    return job


def test_what_moved_by_its_way_follows_and_is_on_the_page_of_the_log(run_iolens: Any, tmp_path: Path) -> None:
    log = job_of_ways(unexplained_read=4 * MiB, unexplained_written=0).save(tmp_path / "job.darshan")
    texts = [run_iolens([command, log]).stdout for command in ("files", "info")]
    said = texts[0].split("\n\n")[1]
    assert texts[1].endswith(f"\n\n{said}")
    head, *lines, warning = said.splitlines()
    assert head.split() == ["moved", "read", "written"]
    shown = {columns(line)[0]: columns(line)[1:] for line in lines}
    cell = {0: "0 B"}
    assert shown == {
        text: [cell.get(n, f"{n // MiB}.0 MiB") for n in (read, written)]
        for text, read, written in WAYS.values()
    }
    assert warning.startswith("10 % of all bytes are unexplained")
    found = json.loads(run_iolens(["info", "--json", log]).stdout)["moved"]
    assert {way: (n["bytes_read"], n["bytes_written"]) for way, n in found.items()} == {
        way: (read, written) for way, (_, read, written) in WAYS.items()
    }


def test_what_is_explained_is_no_warning_and_old_logs_take_all_that_was_unseen(
    run_iolens: Any, tmp_path: Path
) -> None:
    log = job_of_ways(unexplained_read=0, unexplained_written=0).save(tmp_path / "job.darshan")
    assert "unexplained" not in run_iolens(["files", log]).stdout
    assert (
        "25 % of all bytes are unexplained"
        in run_iolens(["info", job_of_ways().save(tmp_path / "old")]).stdout
    )


def test_logs_of_other_tools_say_nothing_of_ways(run_iolens: Any, tmp_path: Path) -> None:
    log = job_of_layers().save(tmp_path / "job.darshan")
    for command in (["files"], ["info"], ["info", "--json"]):
        assert 'moved":' not in run_iolens([*command, log]).stdout
        assert "system files" not in run_iolens([*command, log]).stdout


def test_a_log_without_files(run_iolens: Any, observe: Observe) -> None:
    seen = observe(["true"])
    done = run_iolens(["files", seen.log])
    assert done.stdout.splitlines()[0] == HEAD
    assert columns(done.stdout.splitlines()[1]) == ["0 B", "0 B", "0 s", "0", "0", "-", "-", "all files"]
    assert as_json(run_iolens, seen.log) == []


def test_a_name_stays_on_its_line(run_iolens: Any, observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "new\nline\tand \033[1m").write_text("text")
    seen = observe(["sh", "-c", "cat new*"], cwd=tmp_path)
    done = run_iolens(["files", seen.log])
    assert done.stdout.splitlines()[1].endswith("/new\\nline\\tand \\x1b[1m")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give one log"),
        (["--top"], "option --top needs a value"),
        (["--top", "0", "a"], "expected a number above 0, or all"),
        (["--top", "-1", "a"], "expected a number above 0, or all"),
        (["--top", "x", "a"], "expected a number above 0, or all"),
        (["a", "b"], "give one log"),
        (["--nonsense", "a"], "unknown option --nonsense"),
    ],
)
def test_wrong_use(run_iolens: Any, arguments: list[str], complaint: str) -> None:
    done = run_iolens(["files", *arguments])
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr and done.stderr.count("\n") == 1


def test_what_is_no_log(run_iolens: Any, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    for name in ("text", "nowhere", "."):
        done = run_iolens(["files", name], cwd=tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"iolens: {name}: ") and done.stderr.count("\n") == 1


def test_an_output_that_is_full(run_iolens: Any, seen: Observed) -> None:
    with Path("/dev/full").open("w") as full:
        for options in ([], ["--json"]):
            done = run_iolens(["files", *options, seen.log], capture_output=False, stdout=full, stderr=-1)
            assert done.returncode == 3
            assert done.stderr == "iolens: files: cannot write the table\n"


def test_logs_of_every_darshan_version(run_iolens: Any, corpus: Path) -> None:
    for log in sorted((corpus / "logs").glob("*.darshan")):
        done = run_iolens(["files", log])
        assert done.returncode in (0, 3), log
        assert done.stderr.count("\n") <= 1


def at_terminal(iolens: Path, width: int, lines: int, *arguments: Any) -> list[str]:
    """What is printed on a terminal of this size, without what moved by its way."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, width, 0, 0))
    process = subprocess.Popen([iolens, "files", *arguments], stdout=theirs)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody has the other end
        while part := os.read(ours, 65536):
            said += part
    os.close(ours)
    assert process.wait() == 0
    return table(said.decode().replace("\r\n", "\n"))


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Two hundred files with long paths, of which two lie elsewhere."""
    job = Job(
        nprocs=1, mounts=[("ext4", "/"), ("lustre", "/scratch"), ("nfs4", "/home"), ("fuse.sshfs", "/far")]
    )
    for n in range(200):
        place = {0: "/home", 1: "/far", 2: "/tmp"}.get(n, "/scratch")
        name = f"{place}/project/a-long-name-of-a-folder/another-one/ärger-{'x' * 40}/part-{n:04}.h5"
        job.posix(name, 0, read={MiB: 1}, read_time=10 - n / 100)
    return job.save(tmp_path / "many.darshan")


@pytest.mark.parametrize("width", [200, 130, 100, 80, 60, 40])
def test_a_terminal_gets_lines_that_fit_it(iolens: Path, many: Path, width: int) -> None:
    lines = at_terminal(iolens, width, 50, many)
    assert max(map(len, lines)) <= width
    head, *rows, total, more = lines
    assert len(rows) == 50 - 14
    assert more == "200 files in all; --top all shows them"
    assert total.endswith("  all files")
    kept = {"size", "moved", "time", "operations", "seeks", "re-read", "class", "file"}
    dropped = {200: set(), 130: set(), 100: {"seeks"}, 80: {"seeks", "class", "re-read"}}
    assert kept - set(head.split()) == dropped.get(width, kept - {"moved", "time", "file", *head.split()})
    assert all(row.rpartition("  ")[2].startswith("/") and row.endswith(".h5") for row in rows)
    assert all("..." in row for row in rows) == (width < 200)


def test_top_on_a_terminal(iolens: Path, many: Path) -> None:
    assert len(at_terminal(iolens, 100, 50, "--top", "3", many)) == 1 + 3 + 2
    assert len(at_terminal(iolens, 100, 50, "--top", "all", many)) == 1 + 200 + 1
    assert len(at_terminal(iolens, 100, 5, many)) == 1 + 10 + 2


def test_elsewhere_lines_are_whole(run_iolens: Any, many: Path) -> None:
    lines = table(run_iolens(["files", many]).stdout)
    assert len(lines) == 1 + 200 + 1
    assert all("ärger-" + "x" * 40 in line for line in lines[1:-1])


def test_the_class_of_the_file_system(run_iolens: Any, many: Path, tmp_path: Path) -> None:
    """By type; by type and source where the log has both."""
    by_name = {file["name"].rpartition("-")[2]: file["class"] for file in as_json(run_iolens, many)}
    assert [by_name[f"{n:04}.h5"] for n in range(4)] == ["nfs", "sshfs", "local", "lustre"]
    job = Job(nprocs=1, mounts=[("fuse", "/"), ("odd", "/odd")]).posix("/a/b", 0).posix("/odd/c", 0)
    job.posix("/data/x", 0).posix("/database", 0)
    rows = [("/", "fuse"), ("/data", "s3fs")]
    job.section(
        "mounted", *({"host": "", "point": p, "type": "fuse", "source": "", "class": c} for p, c in rows)
    )
    found = as_json(run_iolens, job.save(tmp_path / "job.darshan"))
    assert {file["name"]: file["class"] for file in found} == {
        "/a/b": "fuse", "/odd/c": "fuse", "/data/x": "s3fs", "/database": "fuse",
    }  # fmt: skip


FORCING = """
import os
os.makedirs("results-1/deep")
with open("results-1/deep/file", "w") as file:
    file.write("x" * 100)
for name in ("results-1", "results-1/deep", "results-1/deep/file", "alone"):
    fd = os.open(name, os.O_RDWR | os.O_CREAT if name == "alone" else os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
"""


def test_directories_that_were_forced_to_storage_are_no_files(
    observe: Observe, run_iolens: Any, tmp_path: Path
) -> None:
    seen = observe(["/usr/bin/python3", "-S", "-c", FORCING], cwd=tmp_path)
    listed = {columns(line)[-1] for line in table(run_iolens(["files", seen.log]).stdout)}
    wanted = {"results-1/deep/", "results-1/deep/file", "alone"}
    assert {f"{tmp_path}/{name}" for name in wanted} <= listed
    asked = as_json(run_iolens, seen.log)
    assert [f["name"] for f in asked if f["directory"]].count(f"{tmp_path}/results-1/deep") == 1
    assert not any(f["directory"] for f in asked if f["name"].endswith(("file", "alone")))


def test_redirected_output_is_a_file_of_the_program(
    observe: Observe, run_iolens: Any, tmp_path: Path
) -> None:
    """By its name, whether descriptors are written to or stdio's stream, and whichever program opened it."""
    for command in ("dd if=/dev/zero bs=3893 count=1 status=none", "seq 1000", "exec seq 1000"):
        seen = observe(["sh", "-c", f"{command} > out"], cwd=tmp_path)
        out = [f for f in as_json(run_iolens, seen.log) if f["writes"]]
        assert [(f["name"], f["bytes_written"]) for f in out] == [(f"{tmp_path}/out", 3893)]
