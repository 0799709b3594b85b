"""Every file has a record of its own, whatever was opened before and however the names look."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import collision
import pytest
import shown
from observed import Observe, Observed

# Makes and removes files of a byte each: first `excluded` ones, then those wanted, an excluded one after every tenth.
# What is wanted is `count` files in a directory, or the names in a list that end with a NUL each.
PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void visit(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) || unlink(name))
		exit(3);
}

static void numbered(const char *directory, long i)
{
	char name[4096];
	snprintf(name, sizeof name, "%s/file-%ld", directory, i);
	visit(name);
}

int main(int argc, char **argv)
{
	static char list[1 << 20];
	const char *excluded = argv[1], *directory = argv[3];
	long before = atol(argv[2]), count = argc > 4 ? atol(argv[4]) : 0, i = 0;
	for (; i < before; i++)
		numbered(excluded, i);
	for (i = 0; i < count; i++) {
		numbered(directory, i);
		if (i % 10 == 9)
			numbered(excluded, before + i);
	}
	if (count)
		return 0;
	int fd = open(directory, O_RDONLY);
	ssize_t n = read(fd, list, sizeof list);
	close(fd);
	for (const char *name = list; name < list + n; name += strlen(name) + 1)
		visit(name);
	return 0;
}
"""
Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def program(compile_program: Callable[[str], Path]) -> Path:
    return compile_program(PROGRAM)


def made_in(place: str) -> Iterator[Path]:
    if not os.access(place, os.W_OK):
        pytest.skip(f"cannot write to {place}")
    directory = Path(tempfile.mkdtemp(dir=place))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def excluded() -> Iterator[Path]:
    """A directory whose files have no records."""
    yield from made_in("/dev/shm")


@pytest.fixture
def beside_excluded() -> Iterator[Path]:
    """A directory whose path starts with a letter that an excluded prefix starts with, too."""
    yield from made_in("/srv")


def written(done: Observed, directory: Path) -> tuple[int, int]:
    """Files of a directory that have records, and the bytes that were written to them."""
    assert done.done.returncode == 0
    rows = [r for (_, name, _), r in done.records.items() if name.startswith(f"{directory}/")]
    return len(rows), sum(int(r["POSIX_BYTES_WRITTEN"]) for r in rows)


@pytest.mark.parametrize("before", [0, 200, 1000, 4000])
def test_files_after_excluded_ones_all_have_records(
    program: Path, observe: Observe, excluded: Path, beside_excluded: Path, before: int
) -> None:
    done = observe([program, excluded, str(before), beside_excluded, "500"])
    assert written(done, beside_excluded) == (500, 500)


@pytest.mark.parametrize("before", [0, 4000])
def test_files_after_excluded_ones_all_have_records_where_a_setting_excludes(
    program: Path, observe: Observe, tmp_path: Path, excluded: Path, before: int
) -> None:
    setting = {"IOLENS_NAME_EXCLUDE": "^/nowhere/"}
    done = observe([program, excluded, str(before), tmp_path, "500"], env=setting)
    assert written(done, tmp_path) == (500, 500)


def test_a_million_files_among_excluded_ones_are_all_counted(
    program: Path, observe: Observe, run_iolens: Run, excluded: Path
) -> None:
    """With a budget: most share a record, and none is taken for one of those that were excluded."""
    files, before = 1_000_000, 1000
    kept, rest = excluded / "kept", excluded / "rest"
    kept.mkdir()
    rest.mkdir()
    setting = {"IOLENS_NAME_INCLUDE": f"^{kept}/", "IOLENS_BUDGET": "1"}
    done = observe([program, rest, str(before), kept, str(files)], env=setting, timeout=500)
    text = run_iolens(["show", "--base", "--show-incomplete", "--ext", done.log]).stdout
    posix = [r for (module, _, _), r in shown.records(text).items() if module == "POSIX"]
    assert sum(int(r["POSIX_OPENS"]) for r in posix) == files
    assert sum(int(r["POSIX_BYTES_WRITTEN"]) for r in posix) == files
    assert done.class_total("opens", "device") == before + files // 10


def names_of_one_key(directory: Path, wanted: int) -> list[bytes]:
    """Names that had one key when keys were made of nothing but the name: two blocks of 8 bytes that cancel."""
    mask = (1 << 64) - 1

    def multiply(a: int, b: int) -> int:
        return (a * b & mask) ^ (a * b >> 64)

    def key_before_last(name: bytes) -> int:
        key = len(name) + 8
        for at in range(0, len(name), 8):
            key = multiply(key ^ int.from_bytes(name[at : at + 8], "little"), 0x9E3779B97F4A7C15)
        return key

    draw = random.Random(11)
    start = bytes(directory) + b"/"
    start += b"x" * (-len(start) % 8)
    aim = None
    names: list[bytes] = []
    while len(names) < wanted:
        name = start + draw.randbytes(8).replace(b"/", b"_").replace(b"\0", b"_").replace(b"\n", b"_")
        aim = aim or key_before_last(name) ^ int.from_bytes(b"last one", "little")
        last = (key_before_last(name) ^ aim).to_bytes(8, "little")
        if not set(last) & set(b"/\0\n\t"):
            names.append(name + last)
    return names


def test_names_cannot_be_chosen_so_that_files_share_a_record(
    program: Path, observe: Observe, tmp_path: Path
) -> None:
    files, names = tmp_path / "files", tmp_path / "names"
    files.mkdir()
    names.write_bytes(b"".join(name + b"\0" for name in names_of_one_key(files, 300)))
    assert written(observe([program, files, "0", names]), files) == (300, 300)


def test_names_of_one_hash_are_two_files(
    program: Path, observe: Observe, run_iolens: Run, tmp_path: Path
) -> None:
    """Darshan's hash is no secret: the second name gets an id of its own, also after the table has grown."""
    with tempfile.TemporaryDirectory(prefix="o", dir="/tmp") as place:
        start = f"{place}/"[:24].encode()
        first = start + b"one-of-the-two-names-with-the-same-hash----"
        second = collision.of(first, start)
        others = [start + b"%d" % i for i in range(1000)]
        names = tmp_path / "names"
        names.write_bytes(b"".join(name + b"\0" for name in [first, second, second, *others, second, first]))
        done = observe([program, place, "0", names])
        assert written(done, Path(place)) == (1002, 1005)
        opens = sorted(int(r["POSIX_OPENS"]) for (_, name, _), r in done.records.items() if place in name)
        assert opens[-3:] == [1, 2, 3]
        lines = run_iolens(["show", "--base", done.log]).stdout.splitlines()
        assert len({line.split("\t")[2] for line in lines if f"{place}/" in line}) == 1002
