"""Memory is bounded: by the budget, whatever a program does, and no more of it is taken than is used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shown

Compile = Callable[[str], Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static long resident(const char *field)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		if (strncmp(line, field, strlen(field)) == 0)
			kib = atol(line + strlen(field));
	fclose(f);
	return kib;
}
int main(int argc, char **argv)
{
	int files = atoi(argv[1]), fd;
	char name[64];
	for (int i = 0; i < files; i++) {
		if (i == 1) /* the first one wakes iolens, and maps the text that records it */
			printf("%ld %ld %ld\n", resident("VmRSS:"), resident("RssShmem:"), resident("RssAnon:"));
		snprintf(name, sizeof name, "d%03d/file-%07d", i % 100, i);
		if ((fd = open(name, O_RDWR | O_CREAT, 0600)) < 0 || write(fd, "0123456789", 10) != 10)
			return 1;
		close(fd);
		if (argc > 2)
			unlink(name);
	}
	printf("%ld %ld %ld\n", resident("VmRSS:"), resident("RssShmem:"), resident("RssAnon:"));
	return 0;
}
"""

DEFAULT_BUDGET = 4 << 10  # KiB
FILES = int(os.environ.get("MILLION", "20000"))


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A million files want a file system in memory, when we may mount one."""
    place = tmp_path / "place"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=4g,nr_inodes=2m", "none", place]
    mounted = FILES > 100_000 and subprocess.run(options, check=False, capture_output=True).returncode == 0
    for n in range(100):
        (place / f"d{n:03d}").mkdir()
    yield place
    if mounted:
        subprocess.run(["umount", place], check=True)


def grown(out: str) -> tuple[int, int]:
    """KiB by which the process grew, and by how much of it in shared memory: its store."""
    (before, shared, _), (after, shared_after, _) = (map(int, line.split()) for line in out.splitlines())
    return after - before, shared_after - shared


def test_many_files_within_the_budget(
    compile_program: Compile, run_iolens: Run, tmpfs: Path, tmp_path: Path
) -> None:
    """MILLION=1000000 for the long form."""
    command = [compile_program(PROGRAM), str(FILES), "unlink"]
    bare = subprocess.run(command, cwd=tmpfs, capture_output=True, text=True, check=True).stdout
    done = run_iolens(["run", "-q", "-o", tmp_path / "log", "--", *command], cwd=tmpfs, timeout=600)
    assert done.returncode == 0, done.stderr
    total, store = grown(done.stdout)
    total -= grown(bare)[0]
    # The store's records and names, its shards and sections; beside it the names' table and descriptions.
    assert store < 1.25 * DEFAULT_BUDGET + 256, f"the store grew by {store} KiB"
    assert total < 1.6 * DEFAULT_BUDGET + 512, f"the process grew by {total} KiB more"
    text = run_iolens(["show", "--base", "--show-incomplete", "--ext", tmp_path / "log"]).stdout
    posix = [row for (module, _, _), row in shown.records(text).items() if module == "POSIX"]
    assert sum(int(row["POSIX_OPENS"]) for row in posix) == FILES
    assert sum(int(row["POSIX_BYTES_WRITTEN"]) for row in posix) == 10 * FILES
    (folded,) = shown.sections(text)["folded"]
    assert int(folded["opens"]) == FILES - (len(posix) - 1)
    assert abs(int(folded["files"]) / int(folded["opens"]) - 1) < 0.1
    print(
        f"{FILES} files: grown by {total} KiB more, {store} of them the store; {len(posix)} records; {folded}"
    )


def test_what_is_not_used_is_not_taken(
    compile_program: Compile, run_iolens: Run, tmpfs: Path, tmp_path: Path
) -> None:
    program = compile_program(PROGRAM)
    starts = []
    for turn in range(3):  # how many pages the kernel maps around those that are touched differs by 60 KiB
        bare = subprocess.run([program, "10"], cwd=tmpfs, capture_output=True, text=True, check=True).stdout
        done = run_iolens(["run", "-q", "-o", tmp_path / f"log{turn}", "--", program, "10"], cwd=tmpfs)
        more = [int(seen) - int(alone) for seen, alone in zip(done.stdout.split()[:3], bare.split()[:3])]
        starts.append(more[0])
        # Its own alone: the rest are pages of the library's file, which all processes of a node share.
        assert more[1] + more[2] < 288
        total, store = grown(done.stdout)
        assert total - grown(bare)[0] < 512 and store < 256
    assert min(starts) < 1280, f"{starts} KiB more at the start"


def test_a_module_can_have_a_limit_of_its_own(
    compile_program: Compile, run_iolens: Run, tmpfs: Path, tmp_path: Path
) -> None:
    (tmp_path / "conf").write_text("MAX_RECORDS 50 POSIX\n")
    program = compile_program(PROGRAM)
    env = {"IOLENS_CONFIG_PATH": str(tmp_path / "conf")}
    command = ["run", "-q", "-o", tmp_path / "log", "--", program, "300"]
    assert run_iolens(command, cwd=tmpfs, env=env).returncode == 0
    text = run_iolens(["show", "--base", "--show-incomplete", "--ext", tmp_path / "log"]).stdout
    names = [name for (module, name, _) in shown.records(text) if module == "POSIX"]
    assert len([name for name in names if "<other files>" not in name]) == 50
    rows = [row for (module, _, _), row in shown.records(text).items() if module == "POSIX"]
    assert sum(int(row["POSIX_BYTES_WRITTEN"]) for row in rows) == 3000
    assert int(shown.sections(text)["folded"][0]["opens"]) == 250


@pytest.mark.parametrize("value", ["0 POSIX", "x", "-1", "10 NOSUCH", "5 POSIX,STDIO", "7"])
def test_the_limit_is_checked(value: str, run_iolens: Run, tmp_path: Path) -> None:
    (tmp_path / "conf").write_text(f"MAX_RECORDS {value}\n")
    done = run_iolens(["config", tmp_path / "conf"])
    assert done.returncode == (0 if value[0] in "57" else 1), done.stdout


CROWD = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (int c = 0; c < 8; c++)
		if (!fork()) {
			for (int i = 0; i < 6000; i++) {
				char n[64];
				snprintf(n, sizeof n, "f%d-%d", c, i);
				int fd = open(n, O_RDWR | O_CREAT, 0600);
				if (write(fd, "0123456789", 10) != 10)
					return 1;
				close(fd);
				unlink(n);
			}
			return 0;
		}
	int status, bad = 0;
	while (wait(&status) > 0)
		bad += status != 0;
	return bad;
}
"""


def test_the_directory_of_the_stores_becomes_full(
    compile_program: Compile, run_iolens: Run, tmp_path: Path
) -> None:
    """No signal, no error; what has no room for a record shares one, or is counted by class."""
    stores, place = tmp_path / "stores", tmp_path / "place"
    stores.mkdir()
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=17m", "none", stores]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        command = ["run", "-q", "-o", tmp_path / "log", "--", compile_program(CROWD)]
        done = run_iolens(command, cwd=place, env={"IOLENS_TMPDIR": str(stores)})
    finally:
        subprocess.run(["umount", stores], check=True)
    assert (done.returncode, done.stderr) == (0, "")
    text = run_iolens(["show", "--base", "--show-incomplete", "--ext", tmp_path / "log"]).stdout
    posix = [row for (module, _, _), row in shown.records(text).items() if module == "POSIX"]
    excluded = shown.sections(text).get("excluded", [])
    assert {row["class"] for row in excluded} <= {"no_room"}
    assert excluded or any(name.endswith("<other files>") for _, name, _ in shown.records(text))
    opens = sum(int(row["POSIX_OPENS"]) for row in posix) + sum(int(row["opens"]) for row in excluded)
    written = sum(int(row["POSIX_BYTES_WRITTEN"]) for row in posix)
    assert (opens, written + sum(int(row["bytes_written"]) for row in excluded)) == (48000, 480000)


MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.stdout)
"""


def test_a_diff_takes_little_for_each_record(
    compile_program: Compile, run_iolens: Run, iolens: Path, tmpfs: Path, tmp_path: Path
) -> None:
    """Of two logs with a million files each: 344 MB."""
    taken, many = [], 20_000
    for files in (100, many):
        command = [
            "run",
            "-q",
            "-o",
            tmp_path / str(files),
            "--",
            compile_program(PROGRAM),
            str(files),
            "unlink",
        ]
        assert run_iolens(command, cwd=tmpfs, env={"IOLENS_BUDGET": "1100"}, timeout=600).returncode == 0
        compared = [iolens, "diff", tmp_path / str(files), tmp_path / str(files)]
        python = [sys.executable, "-c", MEASURED, *compared]
        done = subprocess.run(python, check=True, capture_output=True, text=True)
        code, memory, said = done.stdout.split(maxsplit=2)
        assert code == "0" and said.startswith("no difference in ")
        taken.append(int(memory))
    each = 1024 * (taken[1] - taken[0]) / (2 * (many - 100))
    assert each < 100
