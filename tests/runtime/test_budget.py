"""Bounded memory: files beyond the budget share a record, and nothing else about them is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import shown

PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int files = atoi(argv[1]), rounds = atoi(argv[2]);
	char name[64];
	for (int i = 0; i < files * rounds; i++) {
		snprintf(name, sizeof name, "%s/file-%07d", i % files % 4 ? "many" : "few", i % files);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || write(fd, "0123456789", 10) != 10)
			return 1;
		close(fd);
		if (i / files == rounds - 1)
			unlink(name);
	}
	return argc < 3;
}
"""

FILES, ROUNDS = 3000, 2
Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def folded(compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path) -> str:
    """All that `show` says of a run whose files need more than 2 MiB, with a budget of 1."""
    for folder in ("many", "few"):
        (tmp_path / folder).mkdir()
    program = compile_program(PROGRAM)
    command = ["run", "-q", "-o", "log", "--", program, str(FILES), str(ROUNDS)]
    done = run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": "1"})
    assert done.returncode == 0, done.stderr
    return run_iolens(["show", "--base", "--show-incomplete", "--ext", "log"], cwd=tmp_path).stdout


def test_totals_are_exact_beyond_the_budget(folded: str) -> None:
    posix = [r for (module, _, _), r in shown.records(folded).items() if module == "POSIX"]
    total = {c: sum(int(r[f"POSIX_{c}"]) for r in posix) for c in ("OPENS", "WRITES", "BYTES_WRITTEN")}
    assert total == {
        "OPENS": FILES * ROUNDS,
        "WRITES": FILES * ROUNDS,
        "BYTES_WRITTEN": 10 * FILES * ROUNDS,
    }
    assert 1000 < len(posix) < FILES, "about a thousand records fit a MiB"


def test_a_heat_map_holds_the_folded_bytes_too(folded: str) -> None:
    heat = shown.records(folded)["HEATMAP", "heatmap:POSIX", 0]
    assert sum(int(v) for k, v in heat.items() if "WRITE_BIN" in k) == 10 * FILES * ROUNDS


def test_one_record_per_file_system_stands_for_the_rest(folded: str) -> None:
    names = [name for (module, name, _) in shown.records(folded) if name.endswith("<other files>")]
    assert len(names) == 1


def test_the_module_is_marked_incomplete(folded: str) -> None:
    assert "*WARNING*: The POSIX module contains incomplete data" in folded


def test_the_log_says_how_much_was_folded_where_and_what_would_have_held_it(folded: str) -> None:
    table = shown.sections(folded)
    (row,) = table["folded"]
    kept = sum(1 for (m, name, _) in shown.records(folded) if m == "POSIX" and "<other" not in name)
    missing = FILES - kept
    assert int(row["opens"]) == missing * ROUNDS
    assert abs(int(row["files"]) - missing) < 0.1 * missing
    assert int(row["budget"]) == 1 << 20
    needed = (1 << 20) + missing * 750
    assert 0.8 * needed < int(row["sufficient_budget"]) < 1.4 * needed
    opens = {Path(r["directory"]).name: int(r["opens"]) for r in table["folded_directory"]}
    assert set(opens) == {"many", "few"} and opens["many"] > 2 * opens["few"]
    assert sum(opens.values()) == missing * ROUNDS


def test_the_sufficient_budget_suffices(
    compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path, folded: str
) -> None:
    mebibytes = int(shown.sections(folded)["folded"][0]["sufficient_budget"]) / (1 << 20)
    program = compile_program(PROGRAM)
    command = ["run", "-q", "-o", "log2", "--", program, str(FILES), str(ROUNDS)]
    run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": str(1.1 * mebibytes)})
    text = run_iolens(["show", "--base", "--ext", "log2"], cwd=tmp_path).stdout
    assert "folded" not in shown.sections(text)
    assert sum(1 for (module, _, _) in shown.records(text) if module == "POSIX") == FILES


MANY = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *name, int times)
{
	int fd = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
	for (int i = 0; i < times; i++)
		if (write(fd, "0123456789", 10) != 10)
			exit(1);
	close(fd);
}

/* Modules, then files in directories, then what is heavy. */
int main(int argc, char **argv)
{
	int modules = atoi(argv[1]), directories = atoi(argv[2]), each = atoi(argv[3]);
	char name[128];
	mkdir("site-packages", 0700);
	for (int i = 0; i < modules; i++) {
		snprintf(name, sizeof name, "site-packages/p%d", i % 3);
		mkdir(name, 0700);
		snprintf(name, sizeof name, "site-packages/p%d/m%d.py", i % 3, i);
		close(open(name, O_RDONLY | O_CREAT, 0600));
		unlink(name);
	}
	put("data.bin", 1);
	for (int d = 0; d < directories; d++) {
		snprintf(name, sizeof name, "d%04d", d);
		mkdir(name, 0700);
		for (int i = 0; i < each; i++) {
			snprintf(name, sizeof name, "d%04d/f%d", d, i);
			put(name, 1);
			unlink(name);
		}
	}
	put("heavy.bin", 20000);
	for (int i = 0; i < 3000; i++)
		put("often.log", 1);
	static char large[64 << 20];
	int fd = open("large.bin", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 2; i++)
		if (write(fd, large, sizeof large) != sizeof large)
			return 1;
	close(fd);
	FILE *f = fopen("stream.txt", "w");
	for (int i = 0; i < 20000; i++)
		fputs("0123456789", f);
	return argc < 4 || fclose(f);
}
"""

MODULES, DIRECTORIES, EACH = 4000, 1000, 4


@pytest.fixture
def crowded(compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path) -> str:
    """`show` of a process with 4,000 modules, 4,000 light files and three heavy ones, in a budget of 1 MiB."""
    command = [
        "run",
        "-q",
        "-o",
        "log",
        "--",
        compile_program(MANY),
        str(MODULES),
        str(DIRECTORIES),
        str(EACH),
    ]
    done = run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": "1"})
    assert done.returncode == 0, done.stderr
    return run_iolens(["show", "--base", "--show-incomplete", "--ext", "log"], cwd=tmp_path).stdout


def _records(text: str, module: str) -> dict[str, dict[str, str]]:
    return {name: row for (m, name, _), row in shown.records(text).items() if m == module}


def test_imports_leave_room_to_data(crowded: str, tmp_path: Path) -> None:
    posix = _records(crowded, "POSIX")
    own = [name for name in posix if name.endswith(".py")]
    shared = {name: int(row["POSIX_OPENS"]) for name, row in posix.items() if "program files" in name}
    assert posix[f"{tmp_path}/data.bin"]["POSIX_BYTES_WRITTEN"] == "10"
    assert 300 < len(own) < 900, "half of a MiB"
    assert set(shared) == {f"{tmp_path}/site-packages/p{n}/<other program files>" for n in range(3)}
    assert sum(shared.values()) == MODULES - len(own)
    (row,) = shown.sections(crowded)["folded"]
    assert int(row["program_opens"]) == MODULES - len(own)
    assert abs(int(row["program_files"]) - (MODULES - len(own))) < 0.1 * MODULES


def test_a_heavy_file_that_comes_last_has_a_record(crowded: str, tmp_path: Path) -> None:
    posix, stdio = _records(crowded, "POSIX"), _records(crowded, "STDIO")
    heavy, often = posix[f"{tmp_path}/heavy.bin"], posix[f"{tmp_path}/often.log"]
    assert (heavy["POSIX_OPENS"], heavy["POSIX_WRITES"]) == ("1", str(20000 - 64))
    assert heavy["POSIX_BYTES_WRITTEN"] == str(10 * (20000 - 64))
    assert 2900 < int(often["POSIX_OPENS"]) == int(often["POSIX_WRITES"]) < 3000
    large = posix[f"{tmp_path}/large.bin"]  # without the first write, which made it heavy
    assert (large["POSIX_WRITES"], large["POSIX_BYTES_WRITTEN"]) == ("1", str(64 << 20))
    stream = stdio[f"{tmp_path}/stream.txt"]
    assert stream["STDIO_OPENS"] == "1" and int(stream["STDIO_WRITES"]) > 19000


def test_totals_stay_exact_when_a_file_gets_its_record_late(crowded: str) -> None:
    light = DIRECTORIES * EACH
    posix, stdio = _records(crowded, "POSIX").values(), _records(crowded, "STDIO").values()
    assert sum(int(r["POSIX_OPENS"]) for r in posix) == MODULES + 1 + light + 1 + 3000 + 1
    assert sum(int(r["POSIX_WRITES"]) for r in posix) == 1 + light + 20000 + 3000 + 2
    assert sum(int(r["POSIX_BYTES_WRITTEN"]) for r in posix) == 10 * (1 + light + 23000) + (2 << 26)
    assert sum(int(r["STDIO_OPENS"]) for r in stdio) == 1
    assert sum(int(r["STDIO_WRITES"]) for r in stdio) == 20000


def test_directories_of_files_without_a_record_are_exact(crowded: str) -> None:
    rows = {Path(r["directory"]).name: r for r in shown.sections(crowded)["folded_directory"]}
    opens = [int(row["opens"]) for name, row in rows.items() if name.startswith("d0")]
    assert all(row["surplus"] == "0" for row in rows.values())
    assert len(opens) > 800 and opens.count(EACH) >= len(opens) - 1
    (folded,) = shown.sections(crowded)["folded"]
    assert sum(int(row["opens"]) for row in rows.values()) == int(folded["opens"])


def test_a_million_files_in_a_thousand_directories_are_exact(
    compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path
) -> None:
    """994,000 files, opened once each: what has no record is in the row of its directory."""
    command = ["run", "-q", "-o", "log", "--", compile_program(MANY), "0", "1000", "994"]
    done = run_iolens(command, cwd=tmp_path, timeout=1200)
    assert done.returncode == 0, done.stderr
    text = run_iolens(["show", "--base", "--show-incomplete", "--ext", "log"], cwd=tmp_path).stdout
    rows = {Path(r["directory"]).name: r for r in shown.sections(text)["folded_directory"]}
    own = Counter(Path(name).parent.name for name in _records(text, "POSIX"))
    assert all(row["surplus"] == "0" for row in rows.values())
    names = [f"d{d:04d}" for d in range(1000)]
    assert {own[name] + int(rows[name]["opens"] if name in rows else 0) for name in names} == {994}


def test_files_says_how_many_have_no_record(crowded: str, run_iolens: Run, tmp_path: Path) -> None:
    text = run_iolens(["files", "--top", "3", "log"], cwd=tmp_path).stdout
    (row,) = shown.sections(crowded)["folded"]
    (line,) = [line for line in text.splitlines() if line.startswith("<other files>:")]
    assert (
        f"{int(row['opens']):,} uses (open, stat) of about {int(row['files']):,} files without a record of their own"
        in line
    )


def test_what_stands_for_many_files_is_not_read_many_times_over(
    crowded: str, run_iolens: Run, tmp_path: Path
) -> None:
    assert crowded
    findings = run_iolens(["findings", "--all", "log"], cwd=tmp_path).stdout
    assert "times over" not in findings and "lower bounds" not in findings


def test_more_directories_than_rows_say_how_unsure_they_are(
    compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path
) -> None:
    """2,700 directories of one file each: the rows' sum is exact, and no row is off by more than it says."""
    command = ["run", "-q", "-o", "log", "--", compile_program(MANY), "0", "2700", "1"]
    assert run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": "1"}).returncode == 0
    text = run_iolens(["show", "--ext", "log"], cwd=tmp_path).stdout
    rows = shown.sections(text)["folded_directory"]
    (folded,) = shown.sections(text)["folded"]
    assert len(rows) == 1024
    assert sum(int(row["opens"]) for row in rows) == int(folded["opens"])
    light = [row for row in rows if Path(row["directory"]).name.startswith("d")]
    assert all(int(row["opens"]) - int(row["surplus"]) == 1 for row in light)
    assert {int(row["surplus"]) for row in light} == {0, 1}


TOGETHER = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 4, EACH = 40 };

static int fd;
static FILE *stream;
static int rounds;
static pthread_barrier_t barrier;

static void *work(void *nothing)
{
	for (int r = 0; r < rounds; r++) {
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < EACH; i++)
			if (pwrite(fd, "0123456789", 10, 0) != 10 || lseek(fd, 0, SEEK_SET) ||
					fwrite("0123456789", 1, 10, stream) != 10)
				exit(1);
		pthread_barrier_wait(&barrier);
	}
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	char name[64];
	rounds = atoi(argv[2]);
	for (int i = 0; i < atoi(argv[1]); i++) {
		snprintf(name, sizeof name, "light-%d", i);
		close(open(name, O_RDWR | O_CREAT, 0600));
	}
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int r = 0; r < rounds; r++) {
		snprintf(name, sizeof name, "heavy-%d", r);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		snprintf(name, sizeof name, "stream-%d", r);
		stream = fopen(name, "w");
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		close(fd);
		fclose(stream);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return argc < 3;
}
"""


def test_totals_stay_exact_when_threads_share_what_gets_its_record_late(
    compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path
) -> None:
    """Four threads use a descriptor and a stream at the moment at which these move to records of their own."""
    light, rounds, accesses = 4000, 150, 4 * 40
    program = compile_program(TOGETHER)
    command = ["run", "-q", "-o", "log", "--", program, str(light), str(rounds)]
    done = run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": "2", "IOLENS_TIMES": "exact"})
    assert done.returncode == 0, done.stderr
    text = run_iolens(["show", "--base", "--show-incomplete", "log"], cwd=tmp_path).stdout
    posix, stdio = _records(text, "POSIX"), _records(text, "STDIO")
    assert f"{tmp_path}/heavy-0" in posix and f"{tmp_path}/stream-0" in stdio
    assert sum(int(r["POSIX_OPENS"]) for r in posix.values()) == light + rounds
    for counter in ("WRITES", "SEEKS"):
        assert sum(int(r[f"POSIX_{counter}"]) for r in posix.values()) == rounds * accesses
    assert sum(int(r["STDIO_OPENS"]) for r in stdio.values()) == rounds
    assert sum(int(r["STDIO_WRITES"]) for r in stdio.values()) == rounds * accesses
    assert sum(int(r["STDIO_BYTES_WRITTEN"]) for r in stdio.values()) == 10 * rounds * accesses
