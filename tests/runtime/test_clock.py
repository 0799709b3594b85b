"""Times are those of the job, whatever the clocks of a process do."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from observed import Observe


def test_time_in_another_time_namespace_is_that_of_the_job(
    observe: Observe, compile_program: Callable[[str], Path], tmp_path: Path
) -> None:
    namespace = ["unshare", "--time", "--monotonic", "3600", "--fork"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no time namespaces here")
    program = compile_program(
        r"""
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	int fd = open("out", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 20; i++) {
		nanosleep(&(struct timespec){0, 50000000}, NULL);
		if (write(fd, "0123456789", 10) != 10)
			return 1;
	}
	return close(fd);
}
"""
    )
    for before in (namespace, ["unshare", "--time", "--monotonic", "-900", "--fork"]):
        seen = observe([*before, program], cwd=tmp_path, options=())
        row = next(row for row in seen.sections["process"] if Path(row["exe"]).name == program.name)
        assert 0 <= float(row["start"]) < float(row["end"]) < 60
        assert float(row["end"]) - float(row["start"]) >= 1.0
        record = seen.records["POSIX", str(tmp_path / "out"), int(row["rank"])]
        first, last = (float(record[f"POSIX_F_{what}_TIMESTAMP"]) for what in ("WRITE_START", "WRITE_END"))
        assert float(row["start"]) <= first <= last <= float(row["end"])
        assert last - first >= 0.9
        assert float(record["POSIX_F_WRITE_TIME"]) < 1
        jumps = [r for r in seen.sections["operation"] if r["name"] == "clock_jump"]
        assert [int(r["count"]) for r in jumps if r["rank"] == row["rank"]] == [1]
        assert re.search(
            rb"^  clock +the processor's counter and the clock disagreed", seen.done.stderr, re.M
        )
