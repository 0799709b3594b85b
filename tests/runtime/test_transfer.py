"""Copying inside the kernel is reading and writing: each takes half of the time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe

COPY = """
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(void)
{
	int in = open("in", O_RDONLY), out = open("out", O_WRONLY | O_CREAT, 0600);
	return CALL != 3000000;
}
"""

CALLS = ["copy_file_range(in, NULL, out, NULL, 3000000, 0)", "sendfile(out, in, NULL, 3000000)"]


@pytest.mark.parametrize("call", CALLS)
def test_half_is_reading_half_is_writing(
    call: str, compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    (tmp_path / "in").write_bytes(bytes(3_000_000))
    seen = observe([compile_program(COPY.replace("CALL", call))], cwd=tmp_path)
    assert seen.done.returncode == 0
    source = seen.records["POSIX", f"{tmp_path}/in", 0]
    target = seen.records["POSIX", f"{tmp_path}/out", 0]
    (operation,) = [r for r in seen.sections["operation"] if r["name"] == call.split("(", maxsplit=1)[0]]
    read, written = float(source["POSIX_F_READ_TIME"]), float(target["POSIX_F_WRITE_TIME"])
    assert read > 0 and written == pytest.approx(read, abs=2e-6)
    # The rate of the processor's counter is known the better the longer the program has run.
    assert read + written == pytest.approx(float(operation["time"]), abs=2e-6, rel=1e-3)
    busy = seen.sections["timeline"]
    assert sum(float(row["read"]) for row in busy) == pytest.approx(read, abs=2e-6)
    assert sum(float(row["write"]) for row in busy) == pytest.approx(written, abs=2e-6)
