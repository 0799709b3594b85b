"""Copying inside the kernel is reading and writing: each takes half of the time. Sharing blocks is neither."""

from __future__ import annotations

import subprocess
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


# The file systems here may not share blocks: a library behind iolens says that they do, as Linux would.
SHARES = """
#define _GNU_SOURCE
#include <linux/fs.h>
#include <stdarg.h>

int ioctl(int fd, unsigned long request, ...)
{
	va_list rest;
	va_start(rest, request);
	struct file_dedupe_range *range = va_arg(rest, void *);
	va_end(rest);
	if (request == FIDEDUPERANGE)
		for (int i = 0; i < range->dest_count; i++) {
			range->info[i].bytes_deduped = 1000 * (i + 1);
			range->info[i].status = i; /* the second one differs */
		}
	return request == FICLONE || request == FICLONERANGE || request == FIDEDUPERANGE || request == 77 ? 0 : -1;
}
"""

CLONES = """
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

static union {
	struct file_dedupe_range range;
	char room[sizeof(struct file_dedupe_range) + 2 * sizeof(struct file_dedupe_range_info)];
} same = {.range = {.src_length = 2000, .dest_count = 2}};

int main(void)
{
	int in = open("in", O_RDONLY), out = open("out", O_RDWR | O_CREAT, 0600);
	struct file_clone_range part = {.src_fd = in, .src_offset = 100, .src_length = 50};
	struct file_clone_range rest = {.src_fd = in, .src_offset = 100};
	int failed = ioctl(out, FICLONE, in) || ioctl(out, FICLONERANGE, &part);
	return failed || ioctl(out, FICLONERANGE, &rest) || ioctl(in, FIDEDUPERANGE, &same) || ioctl(out, 77, 1);
}
"""


def test_shared_blocks_are_counted_and_no_bytes_move(observe: Observe, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(3000))
    (tmp_path / "shares.c").write_text(SHARES)
    (tmp_path / "clones.c").write_text(CLONES)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libshares.so", "shares.c"], cwd=tmp_path, check=True)
    command = ["cc", "-o", "clones", "clones.c", "./libshares.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    seen = observe(["./clones"], cwd=tmp_path)
    assert seen.done.returncode == 0
    (clone,) = [row for row in seen.sections["operation"] if row["name"] == "clone"]
    assert (int(clone["count"]), int(clone["errors"])) == (4, 0)
    assert int(clone["bytes"]) == 3000 + 50 + 2900 + 1000
    moved = ("READS", "WRITES", "BYTES_READ", "BYTES_WRITTEN")
    assert [seen.total("POSIX", counter) for counter in moved] == [0, 0, 0, 0]
