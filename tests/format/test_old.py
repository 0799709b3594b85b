"""Logs of Darshan 1.x and 2.x: every version, held against an independent decoder, and what is made of them."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from synthetic import OLD, old_log

Run = Callable[..., object]
CASES = [(version, order) for version, (orders, *_) in OLD.items() for order in orders]
PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress]


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0]}-{'little' if c[1] == '<' else 'big'}")
def plain(request: pytest.FixtureRequest, oracle: ModuleType) -> bytes:
    version, order = request.param
    return old_log(version, order, int(version.replace(".", "")), oracle.jenkins64)


def show(run_iolens: Run, path: Path, *options: str) -> list[str]:
    done = run_iolens(["show", *options, path])
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("pack", PACKERS, ids=["gzip", "bzip2"])
def test_counters_are_what_an_independent_decoder_says(
    plain: bytes, pack: Callable[[bytes], bytes], tmp_path: Path, run_iolens: Run, oracle: ModuleType
) -> None:
    path = tmp_path / "old.darshan.gz"
    path.write_bytes(pack(plain))
    assert show(run_iolens, path) == list(oracle.Old(str(path)).lines())


LIMITS = {"not counted from MPI_Init": 2.03, "POSIX calls alone": 2.04, "the end of the first open": 2.05}


@pytest.mark.parametrize("version", list(OLD))
def test_what_its_version_did_not_do_is_said(version: str, tmp_path: Path, run_iolens: Run) -> None:
    path = tmp_path / "old.darshan.gz"
    path.write_bytes(gzip.compress(old_log(version, OLD[version][0][0], 1, len)))
    text = run_iolens(["show", path]).stdout  # type: ignore[attr-defined]
    said = [line for line in text.splitlines() if line.startswith("# *WARNING*")]
    wanted = [words for words, since in LIMITS.items() if float(version) < since]
    wanted += ["mount points of 1.23"] if version == "1.23" else []
    assert len(said) == len(wanted) and all(words in line for words, line in zip(wanted, said))


def test_members_and_missing_compression_make_no_difference(
    plain: bytes, tmp_path: Path, run_iolens: Run
) -> None:
    whole, members, raw = tmp_path / "whole", tmp_path / "members", tmp_path / "raw"
    whole.write_bytes(gzip.compress(plain))
    members.write_bytes(gzip.compress(plain[:2000]) + gzip.compress(plain[2000:]))
    raw.write_bytes(plain)
    wanted = show(run_iolens, whole, "--all")
    assert show(run_iolens, members, "--all") == wanted
    assert show(run_iolens, raw, "--all") == wanted


def test_other_commands_see_the_modules_of_today(plain: bytes, tmp_path: Path, run_iolens: Run) -> None:
    path = tmp_path / "old.darshan.gz"
    path.write_bytes(gzip.compress(plain))
    page = json.loads(run_iolens(["info", "--json", path]).stdout)
    assert page["job"]["nprocs"] == 8
    assert page["job"]["run_time"] == 101
    assert {m["name"] for m in page["modules"]} >= {"POSIX", "MPI-IO"}
    assert all(m["records"] > 0 and not m["damaged"] for m in page["modules"])
    for command in ("files", "trace"):
        assert run_iolens([command, path]).returncode == 0


@pytest.mark.parametrize("cut", [1, 100, 1500, -40])
def test_a_log_that_is_cut_shows_what_is_left(
    cut: int, tmp_path: Path, run_iolens: Run, oracle: ModuleType
) -> None:
    path = tmp_path / "old.darshan.gz"
    path.write_bytes(gzip.compress(old_log("2.06", "<", 3, oracle.jenkins64))[:cut])
    done = run_iolens(["show", path])
    assert done.returncode in (3, 4)
    assert done.stderr.count("\n") == 1


def test_a_prototype_is_refused_by_name(tmp_path: Path, run_iolens: Run) -> None:
    path = tmp_path / "old.darshan.gz"
    path.write_bytes(gzip.compress(b"1.4".ljust(4096, b"\0")))
    done = run_iolens(["show", path])
    assert done.returncode == 3
    assert "prototype" in done.stderr


def test_other_compressed_files_are_refused(tmp_path: Path, run_iolens: Run) -> None:
    for number, pack in enumerate(PACKERS):
        path = tmp_path / f"other-{number}.gz"
        path.write_bytes(pack(b"no log at all " * 500))
        done = run_iolens(["info", path])
        assert done.returncode == 3
        assert "holds no log" in done.stderr
