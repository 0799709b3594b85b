"""The trailer's tables are what their reference page says."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import places
import pytest
import trailer_page
from trailer_page import crc32c

Run = Callable[..., subprocess.CompletedProcess[str]]


def make(path: Path, *numbers: int) -> Path:
    tool = places.BUILD / "tests" / "format" / "format-make-log"
    subprocess.run([tool, path, *map(str, numbers)], check=True, stdout=subprocess.DEVNULL)
    return path


def plain(value: object) -> object:
    """As the package's tables have it: text, and of several texts the first."""
    first = value[0] if isinstance(value, list) and isinstance(value[0], bytes) else value
    return first.decode() if isinstance(first, bytes) else first


def same_as_the_page_says(log: Path) -> dict[str, list[trailer_page.Row]]:
    """The tables by the page alone, after they were found equal to what the library reads."""
    iolens, pa = pytest.importorskip("iolens.log"), pytest.importorskip("pyarrow")
    found = trailer_page.trailer(log.read_bytes())
    with iolens.Log(log) as opened:
        assert list(opened.trailer) == list(found)
        for name, rows in found.items():
            read = pa.table(opened.trailer[name]).to_pylist()
            assert read == [{key: plain(value) for key, value in row.items()} for row in rows]
    return found


@pytest.mark.parametrize("ranks", [1, 6, 300])
def test_the_trailer_is_what_its_reference_page_says(ranks: int, tmp_path: Path) -> None:
    rows = same_as_the_page_says(make(tmp_path / "made.darshan", 1, 1, ranks))["process"]
    assert [(row["pid"], row["start"], row["host"], row["tag"], row["args"]) for row in rows] == [
        (100 + i, 0.5 * i, b"node%03d" % i, b"exactly16letters", [b"", b"second"]) for i in range(ranks)
    ]
    assert rows[-1]["id"] == 2**64 - ranks
    assert rows[-1]["calls"] == [10 * (ranks - 1) + k for k in range(3)]


def test_so_is_a_table_in_parts(tmp_path: Path, run_iolens: Run) -> None:
    whole, parts = make(tmp_path / "whole.darshan", 1, 1, 300), make(tmp_path / "parts.darshan", 1, 1, 300, 7)
    assert (whole.read_bytes()[-1], parts.read_bytes()[-1]) == (6, 6)
    assert same_as_the_page_says(parts) == same_as_the_page_says(whole)
    for command in (["show", "--ext"], ["show", "--json"], ["check"]):
        shown = [run_iolens([*command, log]) for log in (whole, parts)]
        assert [done.returncode for done in shown] == [0, 0], shown
        assert shown[0].stdout.replace("whole", "parts") == shown[1].stdout
    new = tmp_path / "new.darshan"
    assert run_iolens(["convert", parts, new]).returncode == 0
    assert new.read_bytes()[-1] == 6 and trailer_page.trailer(new.read_bytes()) == same_as_the_page_says(
        whole
    )


def test_so_is_that_of_a_job(run_iolens: Run, tmp_path: Path) -> None:
    log = tmp_path / "job.darshan"
    script = "for i in 1 2 3 4 5 6 7 8; do cat /etc/passwd >$i; cp $i copy-$i; done; ls -l . | wc -l"
    done = run_iolens(["run", "-o", log, "--", "sh", "-c", script], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = same_as_the_page_says(log)
    assert len(found["process"]) >= 18 and {"total", "operation", "timeline", "environment"} <= set(found)


def test_the_page_has_the_words_that_the_library_knows() -> None:
    known = (places.ROOT / "format" / "encoding" / "dictionary.words").read_text().split("\n")
    assert known[:-1] == trailer_page.words() and len(known) == 578 + 1


OLD = Path(__file__).resolve().parents[1] / "upgrade" / "logs"


@pytest.mark.parametrize("old", sorted(OLD.glob("*/*.darshan")), ids=lambda path: path.stem)
def test_so_is_that_of_a_version_before(old: Path) -> None:
    assert old.read_bytes()[-1] == 3 and same_as_the_page_says(old)["process"]


def test_trailers_of_the_versions_before_are_read_and_one_of_the_next_is_refused(
    tmp_path: Path, run_iolens: Run
) -> None:
    made = tmp_path / "made.darshan"
    (old, *_) = sorted(OLD.glob("*/processes.darshan"))
    log = old.read_bytes()
    made.write_bytes(log)
    now = run_iolens(["show", "--ext", made])
    for older in (b"\2", b"\4"):
        made.write_bytes(log[:-1] + older)
        before = run_iolens(["show", "--ext", made])
        assert (before.returncode, before.stdout) == (0, now.stdout)
    for unknown in (b"\1", b"\7"):
        made.write_bytes(log[:-1] + unknown)
        shown = run_iolens(["show", "--ext", made])
        assert shown.returncode in {3, 4} and "trailer of an unknown version" in shown.stderr


def test_a_trailer_of_before_the_first_release_is_named_and_the_records_are_read(
    tmp_path: Path, run_iolens: Run
) -> None:
    made = make(tmp_path / "made.darshan", 1, 1, 6)
    log = made.read_bytes()
    assert log[-8:] == b"iolens\0\6"
    footer = struct.pack("<8sIIQQ28x", b"iolens", 1, 0, len(log), 0)
    made.write_bytes(log + footer + struct.pack("<I", crc32c(footer)))
    shown = run_iolens(["show", "--base", made])
    assert shown.returncode == 0 and "POSIX_OPENS" in shown.stdout
    done = run_iolens(["show", "--ext", made])
    assert done.returncode in {3, 4}
    assert done.stderr.count("\n") == 1 and "trailer of before the first release" in done.stderr
