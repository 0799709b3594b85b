"""A library that is linked into the program's own file is named, for its calls pass by."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CALLS = Path(__file__).parent / "programs" / "calls.c"
SAYS = "HDF5 is linked into {}: its calls are not recorded; relink with the shared library (h5cc -shlib)"

# As an archive brings them: the program calls what it defines itself.
INSIDE = """
#include <fcntl.h>
#include <unistd.h>
int H5open(void) { return 0; }
int ncmpi_close(int n) { return n; }
int PMPI_Init_thread(void) { return 0; }
int main(void) { int fd = open("f", O_CREAT | O_WRONLY, 0666); return write(fd, "12345", 5) - 5 + H5open(); }
"""
# Names that end alike, are variables, or are another library's.
OUTSIDE = """
#include <fcntl.h>
#include <unistd.h>
int my_H5open(void) { return 0; }
int H5openx(void) { return 0; }
int PMPI_Init;
extern int ncmpi_close(int) __attribute__((weak));
int main(void)
{
	int fd = open("f", O_CREAT | O_WRONLY, 0666);
	int (*volatile other)(int) = ncmpi_close;
	(void)other;
	return write(fd, "12345", 5) - 5 + my_H5open() + H5openx();
}
"""


def words(text: str) -> str:
    return " ".join(text.split())


def check(
    run_iolens: Run, program: Path, linked: bool, place: Path, arguments: tuple[str, ...] = ()
) -> dict[str, object]:
    """Summary, info, findings and doctor say the same; the summary as JSON."""
    log, summary = place / "log", place / "summary.json"
    done = run_iolens(["run", "-o", log, "--json", summary, "--", program, *arguments], cwd=place)
    assert done.returncode == 0, done.stderr
    says = SAYS.format(program)
    for text in (
        done.stderr,
        run_iolens(["info", log]).stdout,
        run_iolens(["findings", log]).stdout,
        run_iolens(["doctor", program]).stdout,
    ):
        assert (says in words(text)) == linked, text
    found = json.loads(summary.read_text())
    assert found.get("unrecorded") == json.loads(run_iolens(["info", "--json", log]).stdout).get("unrecorded")
    return found  # type: ignore[no-any-return]


def test_functions_that_the_program_defines(
    run_iolens: Run, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    program = compile_program(INSIDE)
    found = check(run_iolens, program, True, tmp_path)
    assert found["unrecorded"] == [
        {"interface": name, "program": str(program), "reason": "linked_in"}
        for name in ("HDF5", "PnetCDF", "MPI")
    ]


def test_others_are_not_taken_for_them(
    run_iolens: Run, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    assert "unrecorded" not in check(run_iolens, compile_program(OUTSIDE), False, tmp_path)


@pytest.mark.parametrize("options", [[], ["-shlib"]], ids=["static", "shared"])
def test_programs_as_h5cc_links_them(options: list[str], run_iolens: Run, tmp_path: Path) -> None:
    """Debian's default is static."""
    if not shutil.which("h5cc"):
        pytest.skip("no h5cc")
    program = tmp_path / "calls"
    subprocess.run(["h5cc", *options, "-o", program, CALLS], check=True, cwd=tmp_path, capture_output=True)
    linked = b"libhdf5" not in subprocess.run(["ldd", program], check=True, capture_output=True).stdout
    assert linked or options
    found = check(run_iolens, program, linked, tmp_path, ("shapes",))
    assert ("h5d" in found["interfaces"]) != linked  # type: ignore[operator]


def sections_of(program: bytes) -> list[tuple[int, int]]:
    """Offset and length of where the header says it, the table of sections, the symbols and their names."""
    start, size, number = *struct.unpack_from("<Q", program, 40), *struct.unpack_from("<HH", program, 58)
    found = [(40, 8), (58, 6), (start, size * number)]
    for n in range(number):
        kind, flags = struct.unpack_from("<IQ", program, start + n * size + 4)
        if kind in (2, 3) and not flags & 2:  # not mapped
            found.append(struct.unpack_from("<QQ", program, start + n * size + 24))
    return found


def test_damaged_tables_are_harmless(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    """The kernel and the loader look at none of them."""
    whole = compile_program(INSIDE).read_bytes()
    choose = random.Random(7)
    for n in range(24):
        damaged = bytearray(whole)
        for start, length in sections_of(whole):
            for _ in range(4):
                at = start + choose.randrange(length)
                damaged[at] = choose.choice((0, 0x7F, 0xFF, damaged[at] ^ 1 << choose.randrange(8)))
        program = tmp_path / f"p{n}"
        program.write_bytes(damaged[: -choose.randrange(2000)] if n % 3 == 0 else damaged)
        program.chmod(0o755)
        seen = observe([program], cwd=tmp_path)
        assert seen.done.returncode == 0, seen.done.stderr
        assert seen.total("POSIX", "BYTES_WRITTEN") == 5
