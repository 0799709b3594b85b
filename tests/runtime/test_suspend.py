"""A machine that was suspended: the time stamp counter jumps, CLOCK_MONOTONIC does not. gdb makes it so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from observed import Observed

PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static char b[4 << 20];
__attribute__((noinline)) void mark(void) { __asm__ volatile(""); }
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double work(const char *name, double seconds)
{
	double in = 0, from = now();
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	int good = write(fd, b, sizeof b) == sizeof b;
	while (good && now() - from < seconds) {
		double t = now();
		good = pread(fd, b, sizeof b, 0) == sizeof b;
		in += now() - t;
	}
	close(fd);
	return in;
}
int main(void)
{
	double before = work("before", 0.5);
	mark();
	double after = work("after", 2.5);
	return printf("truth %.6f %.6f\\n", before, after) < 0;
}
"""

# What the runtime has kept of the counter is of `$hour` seconds ago, or later.
SCRIPT = """
set pagination off
set breakpoint pending on
set startup-with-shell off
break mark
run
set $ticks = (long)($hour / (double)(*clock_rate).per_tick)
set var epoch.counter = epoch.counter - $ticks
set var span.counter = span.counter - $ticks
set var latest.counter = latest.counter - $ticks
set var early[0].ticks = early[0].ticks - $ticks
set var early[1].ticks = early[1].ticks - $ticks
set $i = 0
while $i < 64
  set var later[$i].ticks = later[$i].ticks - $ticks
  set $i = $i + 1
end
continue
"""


@pytest.mark.parametrize("hour", [3600, -3600])
def test_times_after_a_suspend_are_those_of_the_clock(
    iolens: Path, preload: Path, tmp_path: Path, hour: int
) -> None:
    if not shutil.which("gdb"):
        pytest.skip("no gdb")
    if Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text() != "tsc\n":
        pytest.skip("no counter that the kernel trusts")
    (tmp_path / "work.c").write_text(PROGRAM)
    (tmp_path / "script").write_text(SCRIPT)
    subprocess.run(["cc", "-O1", "-o", "work", "work.c"], cwd=tmp_path, check=True)
    settings = {"LD_PRELOAD": preload, "IOLENS_ENABLE_NONMPI": "1", "IOLENS_LOGFILE": tmp_path / "log"}
    own = [word for name, value in settings.items() for word in ("-ex", f"set environment {name}={value}")]
    command = ["gdb", "-batch", "-nx", *own, "-ex", f"set $hour = {hour}", "-x", "script", "./work"]
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120
    )
    output = done.stdout.decode()
    if "ptrace" in output + done.stderr.decode() and "truth" not in output:
        pytest.skip("gdb may not trace here")
    truth = [float(word) for word in output.split("truth")[1].split()[:2]]
    seen = Observed(done, tmp_path / "log", iolens)
    before, after = (seen.records["POSIX", f"{tmp_path}/{name}", 0] for name in ("before", "after"))
    assert float(before["POSIX_F_READ_TIME"]) == pytest.approx(truth[0], rel=0.01, abs=0.01)
    assert float(after["POSIX_F_READ_TIME"]) == pytest.approx(truth[1], rel=0.02), (
        "but for a call that met the jump"
    )
    stamps = [
        float(record[f"POSIX_F_{stamp}_TIMESTAMP"])
        for record in (before, after)
        for stamp in ("OPEN_START", "READ_START", "READ_END", "CLOSE_END")
    ]
    assert stamps == sorted(stamps) and stamps[0] >= 0
    assert stamps[-1] - stamps[4] == pytest.approx(2.5, abs=0.3)
    (jump,) = [row for row in seen.sections["operation"] if row["name"] == "clock_jump"]
    assert int(jump["count"]) == 1
