"""What moves without read and write: every byte is counted, by the way it went."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from observed import Observe, Observed

SIZE = 16 << 20
PAGE = 4096
# fio's engine -> the interface that its bytes are counted for.
ENGINES = {
    "psync": "posix",
    "pvsync2": "posix",
    "posixaio": "posix",
    "splice": "posix",
    "libaio": "libaio",
    "io_uring": "io_uring",
    "mmap": "mapped",
}


def moved(seen: Observed, interface: str) -> tuple[int, int]:
    """Bytes read and written by such a way."""
    rows = [row for row in seen.sections["operation"] if row["interface"] == interface]
    read = sum(int(row["bytes"]) for row in rows if row["name"] in ("read", "receive"))
    return read, sum(int(row["bytes"]) for row in rows if row["name"] in ("write", "send"))


def unexplained(seen: Observed) -> int:
    return sum(
        int(row[field])
        for row in seen.sections["process"]
        for field in ("unexplained_read", "unexplained_written")
    )


@pytest.mark.parametrize("direct", [0, 1])
@pytest.mark.parametrize("rw", ["write", "read"])
@pytest.mark.parametrize("engine", ENGINES)
def test_fio_and_the_log_agree(engine: str, rw: str, direct: int, observe: Observe, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(SIZE))
    job = [f"--filename={data}", f"--ioengine={engine}", f"--rw={rw}", f"--direct={direct}"]
    line = ["fio", "--name=job", "--bs=64k", f"--size={SIZE}", "--iodepth=4", *job, "--output-format=json"]
    seen = observe(line, cwd=tmp_path)
    if seen.done.returncode and direct:
        pytest.skip(f"{engine} cannot do O_DIRECT here")
    said = json.loads(seen.done.stdout[seen.done.stdout.index(b"{") :])["jobs"][0]
    assert said["read"]["io_bytes"] + said["write"]["io_bytes"] == SIZE
    got = (seen.total("POSIX", "BYTES_READ", str(data)), seen.total("POSIX", "BYTES_WRITTEN", str(data)))
    if ENGINES[engine] != "posix":
        assert got == ((0, 0) if engine == "mmap" else moved(seen, engine))
        got = moved(seen, ENGINES[engine])
    for direction, bytes_moved in zip(("read", "write"), got):
        assert abs(bytes_moved - said[direction]["io_bytes"]) <= PAGE
    assert unexplained(seen) < 64 << 10


def test_fio_that_reads_and_writes_by_a_ring_of_its_own(observe: Observe, tmp_path: Path) -> None:
    """No call can be wrapped: the sum is exact, its parts are those of the last requests."""
    (tmp_path / "data").write_bytes(bytes(SIZE))
    job = ["--filename=data", "--ioengine=io_uring", "--rw=randrw", "--iodepth=8"]
    seen = observe(["fio", "--name=job", "--bs=64k", f"--size={SIZE}", *job], cwd=tmp_path)
    assert sum(moved(seen, "io_uring")) == SIZE


LARGE = """
__asm__(".section .rodata\\n large: .fill 100 << 20, 1, 7\\n .text");
extern const char large[] __asm__("large");

int main(void)
{
	long sum = 0;
	for (long at = 0; at < 100 << 20; at += 4096)
		sum += large[at];
	return sum != 7 * (100 << 8);
}
"""


def test_what_page_faults_bring_is_explained(observe: Observe, tmp_path: Path) -> None:
    """A program that is in no memory yet, as on a node that has not run it."""
    (tmp_path / "large.c").write_text(LARGE)
    subprocess.run(["cc", "-o", "large", "large.c"], cwd=tmp_path, check=True)
    with (tmp_path / "large").open("rb") as program:
        os.fsync(program.fileno())
        os.posix_fadvise(program.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    seen = observe([tmp_path / "large"], cwd=tmp_path, options=())
    (row,) = seen.sections["process"]
    if int(row["storage_read"]) < 90 << 20:
        pytest.skip("the file system here is memory")
    read, _ = moved(seen, "loaded")
    assert 90 << 20 <= read <= 130 << 20
    assert unexplained(seen) < 1 << 20
    said = " ".join(seen.done.stderr.decode().split())
    assert "of programs, libraries and mapped files from storage, about" in said
    assert "not known" not in said and "of all bytes" not in said


RING = """
#include <fcntl.h>
#include <liburing.h>
#include <string.h>
enum { N = 100, BLOCK = 5000 };
static char text[BLOCK];
int main(void)
{
	struct io_uring ring;
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || io_uring_queue_init(4, &ring, 0))
		return 1;
	for (int i = 0; i < 2 * N; i++) {
		struct io_uring_cqe *done;
		struct iovec v[2] = {{text, 1000}, {text + 1000, BLOCK - 1000}};
		struct io_uring_sqe *next = io_uring_get_sqe(&ring);
		if (i < N)
			io_uring_prep_write(next, fd, text, BLOCK, (long)i * BLOCK);
		else
			io_uring_prep_readv(next, fd, v, 2, (long)(i - N) * BLOCK + 100); /* the last one is short */
		if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done))
			return 2;
		io_uring_cqe_seen(&ring, done);
	}
	io_uring_queue_exit(&ring);
	return 0;
}
"""


def compiled(folder: Path, source: str, *flags: str) -> Path:
    (folder / "program.c").write_text(source)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-o", "program", "program.c", *flags], cwd=folder, check=True)
    return folder / "program"


def test_every_result_of_liburing_is_counted(observe: Observe, tmp_path: Path) -> None:
    seen = observe([compiled(tmp_path, RING, "-luring")], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert moved(seen, "io_uring") == (500_000 - 100, 500_000)


MAPPED = """
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096, MIB = 1 << 20 };
int main(void)
{
	int fd = open("data", O_RDWR);
	volatile char *in = mmap(NULL, 8 * MIB, PROT_READ, MAP_SHARED, fd, 0), sum = 0;
	for (int at = 0; at < 4 * MIB; at += PAGE)
		sum += in[at];
	munmap((char *)in, MIB); /* a part */
	char *out = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 8 * MIB);
	memset(out, 1, 4 * MIB); /* whole folios of 2 MiB: of a large one the kernel says only that it is dirty */
	msync(out, 8 * MIB, MS_SYNC);
	memset(out + 4 * MIB, 1, 2 * MIB);
	if (fork() == 0) { /* an inherited mapping, its own pages */
		memset(out + 6 * MIB, 1, 2 * MIB);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""


def test_mapped_files_are_counted_by_their_pages(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Read by touching every page; by part unmapped, synchronized, left to the end, and inherited by a child."""
    (tmp_path / "data").write_bytes(bytes(16 << 20))
    subprocess.run(["sync", "data"], cwd=tmp_path, check=True)
    seen = observe([compile_program(MAPPED)], cwd=tmp_path)
    read, written = moved(seen, "mapped")
    assert (
        4 << 20 <= read <= (4 << 20) + (64 << 10)
    )  # a fault brings in neighbours that are in memory already
    assert written == 8 << 20


SYNCHRONIZED = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { FILES = 800, SIZE = 8192 };
int main(void)
{
	for (int i = 0; i < FILES; i++) {
		char name[16];
		snprintf(name, sizeof name, "m%d", i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (ftruncate(fd, SIZE) != 0)
			return 1;
		char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		memset(at, 1, SIZE);
		msync(at, SIZE, MS_SYNC);
	}
	return 0;
}
"""


def test_what_was_synchronized_counts_once(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Of so many mappings that the kernel is no longer asked for each, for that would take long."""
    assert moved(observe([compile_program(SYNCHRONIZED)], cwd=tmp_path), "mapped") == (0, 800 * 8192)


@pytest.mark.parametrize(("call", "kind"), [("msync", "write_time"), ("mmap", "meta_time")])
def test_forcing_mapped_pages_to_storage_is_writing(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path, call: str, kind: str
) -> None:
    """As fsync is. Mapping a file is metadata."""
    seen = observe([compile_program(SYNCHRONIZED)], cwd=tmp_path)
    (row,) = seen.sections["process"]
    (calls,) = (one for one in seen.sections["operation"] if one["name"] == call)
    assert int(calls["count"]) == 800
    assert float(row[kind]) >= 0.99 * float(calls["time"]) > 0
    times = [float(row[name]) for name in ("read_time", "write_time", "meta_time")]
    assert sum(times) <= 1.01 * float(row["io_time"])
    assert call != "msync" or max(times) == float(row["write_time"])


THREADS_MAP = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
enum { THREADS = 4, TURNS = 3000, SIZE = 16384 };
static void *work(void *number)
{
	char name[16];
	snprintf(name, sizeof name, "m%ld", (long)number);
	int fd = open(name, O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, SIZE) != 0)
		return number;
	for (int turn = 0; turn < TURNS; turn++) {
		volatile const char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
		for (int i = 0; i < SIZE; i += 4096)
			(void)at[i];
		if (munmap((void *)(at + 1), SIZE) == 0 || munmap((void *)at, SIZE) != 0)
			return number;
	}
	return NULL;
}
int main(void)
{
	pthread_t thread[THREADS];
	void *failed;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(thread[i], &failed) != 0 || failed)
			return 1;
	volatile const char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, open("m0", O_RDONLY), 0);
	if (munmap((void *)at, ~0UL / 2 & ~4095UL) == 0)
		return 2;
	(void)at[0];
	return munmap((void *)at, SIZE);
}
"""


def test_threads_that_map_at_once_do_not_count_each_others_pages(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """An address goes from one to the other all the time; an unmapping that fails leaves all as it was."""
    seen = observe([compile_program(THREADS_MAP)], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert moved(seen, "mapped") == (4 * 3000 * 16384 + 16384, 0)


MOVED = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { PAGE = 4096, MIB = 1 << 20 };
static char touch(volatile char *in, int n)
{
	char sum = 0;
	for (int at = 0; at < n; at += PAGE)
		sum += in[at];
	return sum;
}
int main(void)
{
	int fd = open("data", O_RDONLY);
	char *in = mmap(NULL, 4 * MIB, PROT_READ, MAP_SHARED, fd, 0), sum = touch(in, MIB);
	in = mremap(in, 4 * MIB, 8 * MIB, MREMAP_MAYMOVE);
	sum += touch(in, 8 * MIB);
	in = mremap(in, 8 * MIB, LESS, 0);
	in = (char *)syscall(SYS_mremap, in, LESS, 4 * MIB, MREMAP_MAYMOVE, 0);
	sum += touch(in, 4 * MIB);
	munmap(in, 4 * MIB);
	return sum != 0;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="syscall() is seen on x86-64")
@pytest.mark.parametrize("less", ["2 * MIB", "2 * MIB - 1000"])
def test_a_mapping_that_is_moved_grows_and_shrinks_is_counted_once(
    less: str, compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """8 MiB, of which 6 are given back and 2 read again. The kernel takes whole pages, whatever the size."""
    (tmp_path / "data").write_bytes(bytes(16 << 20))
    subprocess.run(["sync", "data"], cwd=tmp_path, check=True)
    seen = observe([compile_program(MOVED.replace("LESS", f"({less})"))], cwd=tmp_path)
    assert seen.done.returncode == 0
    read, written = moved(seen, "mapped")
    assert 10 << 20 <= read <= (10 << 20) + (128 << 10)
    assert written == 0


WINDOW = """
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
enum { PAGE = 4096, MIB = 1 << 20 };
int main(void)
{
	char *in = mmap(NULL, 8 * MIB, PROT_READ, MAP_SHARED, open("data", O_RDONLY), 0), sum = 0;
	for (int at = 0; at < 8 * MIB; at += PAGE)
		sum += ((volatile char *)in)[at];
	for (int n = 0; n < 8; n++)
		munmap(in + n * MIB, MIB);
	return sum != 0;
}
"""


def test_a_mapping_that_is_given_back_piece_by_piece_is_counted_once(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    (tmp_path / "data").write_bytes(bytes(8 << 20))
    subprocess.run(["sync", "data"], cwd=tmp_path, check=True)
    seen = observe([compile_program(WINDOW)], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert moved(seen, "mapped") == (8 << 20, 0)


DATAGRAMS = """
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
	socklen_t n = sizeof at;
	int to = socket(AF_INET, SOCK_DGRAM, 0), by = socket(AF_INET, SOCK_DGRAM, 0);
	close(dup(to)); /* what iolens maps at a first call is mapped before there is a hole for it */
	char data[100] = "", *end = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(end + 4096, 4096); /* an address that is put at the end of the page has room for two bytes */
	end += 4096;
	bind(to, (struct sockaddr *)&at, n);
	getsockname(to, (struct sockaddr *)&at, &n);
	for (int i = 0; i < 4; i++)
		if (sendto(by, data, 100, 0, (struct sockaddr *)&at, sizeof at) != 100)
			return 1;
	struct iovec piece = {data, sizeof data};
	struct msghdr whole = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &piece, .msg_iovlen = 1};
	struct msghdr cut = {.msg_name = end - 2, .msg_namelen = 2, .msg_iov = &piece, .msg_iovlen = 1};
	n = sizeof from;
	if (recvfrom(to, data, 100, 0, (struct sockaddr *)&from, &n) != 100 || recvmsg(to, &whole, 0) != 100)
		return 2;
	n = 2;
	if (recvfrom(to, data, 100, 0, (struct sockaddr *)(end - 2), &n) != 100 || n != sizeof from)
		return 3;
	return recvmsg(to, &cut, 0) == 100 ? 0 : 4;
}
"""


def test_datagrams_are_counted_by_their_sender(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    """Where the program had room for its address; where it had not, the rest of its memory is not looked at."""
    seen = observe([compile_program(DATAGRAMS)], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.class_total("bytes_written", "socket_loopback") == 400
    assert seen.class_total("bytes_read", "socket_loopback") == 200
    assert seen.class_total("bytes_read", "socket_loopback", "socket") == 400


RAW = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0600};
	long fd = syscall(SYS_openat2, AT_FDCWD, "made", &how, sizeof how);
	return write((int)fd, "123", 3) != 3 || syscall(SYS_rename, "made", "named");
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="syscall() is seen on x86-64")
def test_openat2_without_libc_is_counted_and_its_file_has_a_record(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(RAW)], cwd=tmp_path)
    assert seen.done.returncode == 0
    rows = {
        row["name"]: int(row["count"]) for row in seen.sections["operation"] if row["interface"] == "unseen"
    }
    assert rows == {"raw_open": 1}
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/made") == 3


SERVER = """
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(12_000_000))
        self.end_headers()
        self.wfile.write(bytes(12_000_000))
    def log_message(self, *nothing):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert len(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()) == 12_000_000
"""


def test_an_object_store_on_loopback_shows_its_bytes(observe: Observe, tmp_path: Path) -> None:
    seen = observe(["python3", "-c", SERVER], options=(), cwd=tmp_path)
    for field in ("bytes_read", "bytes_written"):
        assert 12_000_000 <= seen.class_total(field, "socket_loopback") < 12_001_000
    assert b"sockets       loopback read 11.4 MiB, wrote 11.4 MiB" in seen.done.stderr
    assert unexplained(seen) < 1_000_000


READER = """
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	static char text[1 << 20];
	int fd = open("data", O_RDONLY);
	while (read(fd, text, sizeof text) > 0)
		;
	return 0;
}
"""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (["sh", "-c", "./static; true"], "static"),
        (["env", "-i", "./dynamic"], "environment"),
        (["sh", "-c", "env -i ./dynamic; ./static; true"], "static"),
    ],
)
def test_what_unobserved_programs_moved_is_known(
    line: list[str], reason: str, observe: Observe, tmp_path: Path
) -> None:
    (tmp_path / "data").write_bytes(bytes(SIZE))
    (tmp_path / "reader.c").write_text(READER)
    for name, *flags in (["static", "-static"], ["dynamic"]):
        subprocess.run(["cc", *flags, "-o", name, "reader.c"], cwd=tmp_path, check=True)
    seen = observe(line, options=(), cwd=tmp_path)
    programs = line[-1].count("./static") + line[-1].count("./dynamic")
    read, _ = moved(seen, "unobserved")
    assert programs * SIZE <= read < programs * SIZE + (64 << 10)
    assert reason in [row["reason"] for row in seen.sections["unobserved"]]
    assert unexplained(seen) < 1_000_000
    assert f"not observed  read {programs * SIZE >> 20}.0 MiB".encode() in seen.done.stderr


PRINTS_LAST = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static char text[8 << 20];
int main(void)
{
	for (int k = 0; k < 3; k++) {
		if (fork() == 0)
			_exit(write(open("data", O_WRONLY | O_CREAT, 0600), text, sizeof text) < 0);
		wait(NULL);
	}
	puts("end"); /* written by exit, after the process has looked at its own count */
	return 0;
}
"""

WAITS_LATE = """
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
static char text[8 << 20];
int main(void)
{
	if (fork() == 0) {
		if (fork() == 0)
			_exit(write(open("data", O_WRONLY | O_CREAT, 0600), text, sizeof text) < 0);
		usleep(200000); /* its first recorded call is the wait for a child that has ended */
		wait(NULL);
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""


@pytest.mark.parametrize(("source", "written"), [(PRINTS_LAST, 24 << 20), (WAITS_LATE, 8 << 20)])
def test_what_children_moved_is_counted_once(
    source: str, written: int, compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    seen = observe([compile_program(source)], cwd=tmp_path)
    assert seen.done.returncode == 0
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/data") == written
    assert unexplained(seen) < 4096
    assert moved(seen, "unobserved")[1] == 0


def test_what_the_children_of_a_killed_process_moved_is_counted_once(
    observe: Observe, tmp_path: Path
) -> None:
    script = "dd if=/dev/zero of=data bs=1M count=8 2>/dev/null; kill -9 $$"
    seen = observe(["sh", "-c", f"sh -c '{script}'; :"], cwd=tmp_path)
    assert seen.total("POSIX", "BYTES_WRITTEN", f"{tmp_path}/data") == 8 << 20
    assert unexplained(seen) < 64 << 10
    assert moved(seen, "unobserved")[1] == 0


def test_a_command_that_cannot_be_observed_tells_what_it_moved(run_iolens: Any, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(SIZE))
    (tmp_path / "reader.c").write_text(READER)
    subprocess.run(["cc", "-static", "-o", "static", "reader.c"], cwd=tmp_path, check=True)
    done = run_iolens(["run", "-o", "log", "./static"], cwd=tmp_path)
    said = done.stderr.partition("; next: iolens run --kernel")
    assert said[0].endswith("it is statically linked; it read 16.0 MiB and wrote 0 B") and said[1]


def test_what_nobody_can_explain_is_said_first(
    compile_program: Callable[[str], Path], observe: Observe, tmp_path: Path
) -> None:
    source = READER.replace("read(fd, text, sizeof text)", "syscall(0, fd, text, sizeof text)").replace(
        "#include <unistd.h>", "#include <unistd.h>\n#include <sys/syscall.h>"
    )
    (tmp_path / "data").write_bytes(bytes(SIZE))
    seen = observe([compile_program(source)], options=(), cwd=tmp_path)
    assert unexplained(seen) >= SIZE
    said = " ".join(seen.done.stderr.decode().split())
    assert " unexplained read 16." in said and "; 100 % of all bytes: the numbers here are incomplete" in said
