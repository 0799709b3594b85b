"""`iolens run --kernel`: programs that nothing is preloaded into are observed by eBPF."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import places
import pytest
from here import sampled
from iolens.metrics import Dataset
from observed import Observe

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "programs"))
import test_programs  # noqa: E402

# What the kernel does not count as the preload library does, or not at all (docs/guide/kernel.md).
DIFFERENT = {
    "posix_path_cleaning": "a link is made a directory before the companion looks at what `..` stands behind",
    "posix_aio_never_returned": "what threads of libc do is counted whether its result is asked for or not",
    "posix_close_twice": "a failed open of the program's own libc",
    "posix_directory_changes": "files keep the name that they had first, and what libc opens itself is counted",
    "posix_fileno": "streams are descriptors",
    "posix_fileno_reused_after_fclose": "streams are descriptors",
    "posix_files_beyond_budget": "the budget is larger",
    "posix_closed_by_other_names": "closes by libc's own names for its calls",
    "posix_old_stat_names": "asks the dynamic linker",
    "posix_raw_close": "raw system calls are counted",
    "posix_raw_copies": "raw system calls are counted",
    "posix_spawn_redirected": "opens between fork and exec are counted",
    "posix_splice_tee": "splice is not counted",
}
# readlink: a static libc asks for its own path at start; readdir: a system call brings many entries.
OF_LIBC = {"readlink", "readdir"}
CLASSES = {"pipe", "terminal", "special"}
# Programs that musl 1.2.3 has no names or functions for.
OF_GLIBC = {
    "posix_64bit_names",
    "posix_close_range",
    "posix_fortified_names",
    "posix_longjmp_out_of_recording",
    "posix_preadv2_at_cursor",
    "posix_rename_chain",
    "posix_stat64_names",
    "posix_stat_by_descriptor",
    "posix_stat_by_path",
}
# musl's aio asks by lseek of each new descriptor whether it can be positioned.
SEEKS_OF_MUSL = {"posix_aio": 3, "posix_lio_listio": 2}
READ_BACK = "posix_preadv_pwritev"  # as far as it wrote
ALIKE = [
    name
    for name in test_programs.PROGRAMS
    if name.startswith("posix_")
    and not re.search("large|edge_1g", name)
    and name not in DIFFERENT
    and (sampled(name, 9) or name == READ_BACK or "KERNEL_ALL" in os.environ)
]
RUN = ["--kernel", "--quiet"]


def static(source: Path, program: Path, compiler: str = "gcc") -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    options = ["-static", "-w", "-O0", "-fno-builtin", "-D_GNU_SOURCE", "-I", source.parent]
    subprocess.run([compiler, *options, source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def refusal(iolens: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    log = tmp_path_factory.mktemp("allowed") / "log.darshan"
    command = [iolens, "run", *RUN, "-o", log, "--", "true"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stderr.strip() if "run: --kernel: " in done.stderr else ""


@pytest.fixture(autouse=True)
def bpf_allowed(refusal: str) -> None:
    if refusal:
        pytest.skip(refusal)


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "cwd").mkdir()
    return tmp_path.resolve() / "cwd"


def by_name(expected: test_programs.Expectation, log: test_programs.Log) -> Iterator[str]:
    """Operations and kinds of descriptors that are counted by name: those that the kernel knows, too."""
    rows = [row for row in log.sections.get("operation", []) if row["interface"] == "posix"]
    found = test_programs.add_up(rows, "name")
    wanted = {name: row for name, row in expected.operation.items() if name not in OF_LIBC}
    free = test_programs.COUNTED | OF_LIBC
    yield from test_programs.check_section(wanted, found, ["count", "errors"], free)
    classes = test_programs.add_up(log.sections.get("excluded", []), "class")
    fields = ["reads", "writes", "bytes_read", "bytes_written"]
    moved = {name: row for name, row in expected.excluded.items() if name in CLASSES}
    yield from test_programs.check_section(moved, classes, fields, classes.keys() - CLASSES)


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
@pytest.mark.parametrize("name", ALIKE)
def test_static_programs_count_what_they_count_under_preload(
    name: str, compiler: str, iolens: Path, cwd: Path
) -> None:
    if compiler == "musl-gcc" and name in OF_GLIBC:
        pytest.skip("musl has no such names")
    program, log = cwd.parent / name, cwd.parent / "log.darshan"
    static(HERE.parent / f"programs/{name}.c", program, compiler)
    expected = test_programs.EXPECTATIONS[name]
    expected.prepare(cwd)
    ended = expected.execute([iolens, "run", *RUN, "-o", log, "--", program], cwd)
    assert ended.returncode == 0, ended.stderr.decode()
    found = test_programs.read_log(iolens, log, cwd)
    wrong = [*test_programs.check_records(expected, "POSIX", found), *by_name(expected, found)]
    seeks = SEEKS_OF_MUSL.get(name) if compiler == "musl-gcc" else None
    assert wrong == ([f"POSIX data: SEEKS is {seeks}, not 0"] if seeks else []), "\n" + "\n".join(wrong)


GO = """package main
import "os"
func main() {
	f, err := os.Create("out")
	if err != nil { panic(err) }
	for i := 0; i < 100; i++ { f.Write(make([]byte, 4096)) }
	f.WriteAt(make([]byte, 10), 1 << 20)
	f.Sync()
	f.Close()
}
"""


def test_a_go_program(observe: Observe, cwd: Path, tmp_path: Path) -> None:
    if not shutil.which("go"):
        pytest.skip("no go")
    (tmp_path / "main.go").write_text(GO)
    environment = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off"}
    subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=tmp_path, env=environment, check=True)
    done = observe([tmp_path / "program"], options=RUN, cwd=cwd)
    assert done.total("POSIX", "WRITES", f"{cwd}/out") == 101
    assert done.total("POSIX", "BYTES_WRITTEN", f"{cwd}/out") == 409610
    assert done.total("POSIX", "MAX_BYTE_WRITTEN", f"{cwd}/out") == (1 << 20) + 9
    assert done.total("POSIX", "FSYNCS", f"{cwd}/out") == 1


def test_a_preloaded_program_is_counted_once(observe: Observe, cwd: Path) -> None:
    (cwd / "in").write_bytes(bytes(1 << 20))
    done = observe(["dd", "if=in", "of=out", "bs=4096", "status=none"], options=RUN, cwd=cwd)
    assert done.total("POSIX", "BYTES_WRITTEN") == 1 << 20
    assert done.total("POSIX", "WRITES", f"{cwd}/out") == 256


def companions() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text() == "iolens-kernel\n":
                yield int(entry.name)
        except OSError:
            continue


@pytest.mark.parametrize("kills", [pytest.param(int(os.environ.get("KERNEL_KILLS", "3")), id="kills")])
def test_a_killed_companion_disturbs_no_program(kills: int, iolens: Path, cwd: Path) -> None:
    source = cwd.parent / "writer.c"
    source.write_text(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { int f = open("out", O_CREAT | O_WRONLY | O_TRUNC, 0600); write(f, "x", 1); puts("on");'
        ' fflush(stdout); getchar(); for (int i = 0; i < 1000; i++) if (write(f, "y", 1) != 1) return 1;'
        " return close(f); }\n"
    )
    program = static(source, cwd.parent / "writer")
    for n in range(kills):
        others = set(companions())
        log = cwd.parent / f"{n}.darshan"
        command = [iolens, "run", *RUN, "-o", log, "--", program]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        job = subprocess.Popen(command, cwd=cwd, **pipes)
        assert job.stdout and job.stdout.readline() == b"on\n"
        ours = [pid for pid in companions() if pid not in others and parent(pid) == job.pid]
        assert len(ours) == 1, job.communicate(b"\n", timeout=300)
        os.kill(ours[0], signal.SIGKILL)
        _, said = job.communicate(b"\n", timeout=300)
        assert job.returncode == 0, said
        assert b"iolens-kernel was killed" in said
        assert (cwd / "out").stat().st_size == 1001


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_what_was_written_before_a_kill_is_in_the_log(iolens: Path, cwd: Path, tmp_path: Path) -> None:
    stay = tmp_path / "session"
    stay.mkdir()
    source = tmp_path / "stays.c"
    source.write_text(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { int f = open("out", O_CREAT | O_WRONLY, 0600); write(f, "abc", 3); getchar(); return 0; }\n'
    )
    program, log = static(source, tmp_path / "stays"), tmp_path / "log.darshan"
    command = [iolens, "run", *RUN, "-o", log, "--", program]
    others = set(companions())
    job = subprocess.Popen(
        command, cwd=cwd, stdin=subprocess.PIPE, env={**os.environ, "IOLENS_TMPDIR": str(stay)}
    )
    while not list(stay.rglob("*.store")):
        assert job.poll() is None
        time.sleep(0.01)
    (ours,) = {pid for pid in companions() if pid not in others and parent(pid) == job.pid}
    os.kill(ours, signal.SIGKILL)
    job.communicate(b"\n", timeout=300)
    records = test_programs.read_log(iolens, log, cwd).records
    assert records["POSIX", "out", 0]["BYTES_WRITTEN"] == 3


MANY = """#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		char name[32];
		snprintf(name, sizeof name, "%s/f%d", i % 3 ? "many" : "few", i);
		int f = open(name, O_CREAT | O_RDWR, 0600);
		if (f < 0 || write(f, "0123456789", 10) != 10 || pread(f, name, 5, 0) != 5 || close(f)) return 1;
	}
	return 0;
}
"""
KEPT = 16384


def test_files_beyond_16384_share_a_record_and_the_log_says_so(
    observe: Observe, iolens: Path, cwd: Path
) -> None:
    source, files = cwd.parent / "many.c", KEPT + 3000
    source.write_text(MANY)
    for name in ("many", "few"):
        (cwd / name).mkdir()
    done = observe([static(source, cwd.parent / "many"), str(files)], options=RUN, cwd=cwd)
    assert done.done.returncode == 0
    seen = test_programs.read_log(iolens, done.log, cwd)
    records = {name: row for (module, name, _), row in seen.records.items() if module == "POSIX"}
    (shared,) = [name for name in records if name.endswith("<other files>")]
    assert len(records) == KEPT + 1
    for counter, each in {"OPENS": 1, "READS": 1, "BYTES_WRITTEN": 10, "BYTES_READ": 5}.items():
        assert sum(row[counter] for row in records.values()) == each * files
        assert records[shared][counter] == each * 3000
    assert "*WARNING*: The POSIX module contains incomplete data" in done.text
    (row,) = seen.sections["folded"]
    assert int(row["opens"]) == 3000
    assert abs(int(row["files"]) - 3000) < 300
    assert int(row["sufficient_budget"]) > int(row["budget"]) >= KEPT * 700
    opens = {Path(r["directory"]).name: int(r["opens"]) for r in seen.sections["folded_directory"]}
    assert opens == {"many": 2000, "few": 1000}
    done = observe([cwd.parent / "many", str(files)], options=RUN, cwd=cwd, env={"IOLENS_BUDGET": "16"})
    assert "folded" not in done.sections
    assert len([name for (module, name, _) in done.records if module == "POSIX"]) == files


def test_the_log_says_which_process_was_seen_how(observe: Observe, cwd: Path, iolens: Path) -> None:
    program = static(HERE.parent / "programs/posix_rename_chain.c", cwd.parent / "program")
    done = observe(["sh", "-c", f"{program}; true"], options=["--kernel"], cwd=cwd)
    seen = {row["pid"]: row["observer"] for row in done.sections["observers"]}
    processes = {row["pid"]: Path(row["exe"]).name for row in done.sections["process"]}
    assert [processes[pid] for pid, observer in seen.items() if observer == "kernel"] == ["program"]
    assert len(processes) == 2
    assert b"observed by   kernel: 1 of 2 processes, by system calls" in done.done.stderr
    with Dataset(done.log) as data:
        rows = data.rows("SELECT command, observed_by FROM metric.tree ORDER BY position")
    assert [row["observed_by"] for row in rows] == ["itself", "kernel"]


WRITER = """#include <fcntl.h>
#include <unistd.h>
static char block[10000];
int main(int argc, char **argv)
{
	int f = open(argv[1], O_CREAT | O_RDWR | O_TRUNC, 0600);
	for (int i = 0; i < 1000; i++) if (write(f, block, sizeof block) != sizeof block) return 1;
	for (int i = 0; i < 1000; i++) if (pread(f, block, sizeof block, i * sizeof block) != sizeof block) return 1;
	return close(f);
}
"""


def test_what_a_preloaded_shell_starts_is_counted_once(observe: Observe, cwd: Path) -> None:
    source = cwd.parent / "writer.c"
    source.write_text(WRITER)
    program, size = static(source, cwd.parent / "writer"), 10_000_000
    done = observe(["sh", "-c", f"{program} a; {program} b; exec {program} c"], options=RUN, cwd=cwd)
    assert done.total("POSIX", "BYTES_WRITTEN") == done.total("POSIX", "BYTES_READ") == 3 * size
    again = [row for row in done.sections["operation"] if row["interface"] == "unobserved"]
    assert sum(int(row["bytes"]) for row in again) == 0
    assert not done.sections.get("unobserved")
    by_kernel = {row["rank"] for row in done.sections["observers"] if row["observer"] == "kernel"}
    rows = done.sections["process"]
    assert len(by_kernel) == 3
    assert {int(row["unseen_written"]) for row in rows if row["rank"] in by_kernel} == {0}
    assert sum(int(row["unexplained_written"]) for row in rows) == 0
    assert sum(int(row["unexplained_read"]) for row in rows) < size // 10


KILLED = """#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
	int f = open("out", O_CREAT | O_WRONLY, 0600);
	for (int i = 0; i < 50; i++) if (write(f, "0123456789", 10) != 10) return 1;
	return kill(getpid(), SIGKILL);
}
"""


@pytest.mark.parametrize("shell", [["sh", "-c", '"$0"; true'], []], ids=["child", "command"])
def test_a_killed_static_program_is_known(shell: list[str], observe: Observe, cwd: Path) -> None:
    source = cwd.parent / "killed.c"
    source.write_text(KILLED)
    program = static(source, cwd.parent / "killed")
    done = observe([*shell, program], options=RUN, cwd=cwd)
    (row,) = [row for row in done.sections["process"] if row["exe"] == str(program)]
    assert (row["ended"], row["signal"]) == ("signal", "9")
    assert len(done.sections["process"]) == 1 + bool(shell)
    assert [r["observer"] for r in done.sections["observers"] if r["rank"] == row["rank"]] == ["kernel"]
    assert done.total("POSIX", "BYTES_WRITTEN") == 500


# Its stores are so large that `iolens run` deflates them when their process has ended.
TWICE = """#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static void use_all(void)
{
	char name[32];
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "file-%d", i);
		int f = open(name, O_CREAT | O_WRONLY, 0600);
		if (write(f, "0123456789", 10) != 10) _exit(1);
		close(f);
	}
}
int main(void) { use_all(); sleep(2); use_all(); return 0; }
"""


def test_an_early_version_of_a_store_is_replaced(observe: Observe, cwd: Path) -> None:
    """The companion writes one each second, and the last one after the program's end."""
    source = cwd.parent / "twice.c"
    source.write_text(TWICE)
    program = static(source, cwd.parent / "twice")
    done = observe(["sh", "-c", f"{program}; sleep 3"], options=RUN, cwd=cwd)
    assert done.total("POSIX", "WRITES") == 4000 and done.total("POSIX", "BYTES_WRITTEN") == 40000
    assert sorted(row["ended"] for row in done.sections["process"]) == ["exit"] * 3


LATE = """#include <fcntl.h>
#include <unistd.h>
static void wait_first(void) { sleep(3); }
__attribute__((section(".preinit_array"), used)) static void (*before)(void) = wait_first;
int main(void) { return write(open("out", O_CREAT | O_WRONLY, 0600), "0123456789", 10) != 10; }
"""


def test_a_program_that_is_preloaded_late_is_one_process(observe: Observe, cwd: Path) -> None:
    """Until the library begins, the companion takes it for one of its own, and writes a store."""
    (cwd.parent / "late.c").write_text(LATE)
    subprocess.run(["gcc", "-w", "-o", "late", "late.c"], cwd=cwd.parent, check=True)
    done = observe([cwd.parent / "late"], options=RUN, cwd=cwd)
    (row,) = done.sections["process"]
    assert row["ended"] == "exit" and not done.sections.get("observers")
    assert done.listed_files() == {str(cwd / "out")}
    assert done.total("POSIX", "BYTES_WRITTEN") == 10


@pytest.mark.parametrize("then", ['exec {real} "$@"', "exit 1"], ids=["starts", "fails"])
def test_loading_is_no_run_time(then: str, iolens: Path, tmp_path: Path) -> None:
    parts = {
        "cli": iolens,
        "runtime": places.PRELOAD,
        "kernel": iolens.parent.parent / "kernel/iolens-kernel",
    }
    for name, part in parts.items():
        (tmp_path / name).mkdir()
        shutil.copy(part, tmp_path / name / part.name)
    real = (tmp_path / "kernel/iolens-kernel").rename(tmp_path / "kernel/real")
    (tmp_path / "kernel/iolens-kernel").write_text(f"#!/bin/sh\nsleep 5\n{then.format(real=real)}\n")
    (tmp_path / "kernel/iolens-kernel").chmod(0o755)
    command = [tmp_path / "cli" / iolens.name, "run", *RUN, "--json", "s.json", "-o", "log", "--", "true"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert json.loads((tmp_path / "s.json").read_text())["run_time"] < 4


def test_settings_of_exclusion_hold(observe: Observe, cwd: Path) -> None:
    source = cwd.parent / "writer.c"
    source.write_text(
        "#include <fcntl.h>\n#include <unistd.h>\n"
        'int main(void) { write(open("a.tmp", O_CREAT | O_WRONLY, 0600), "abc", 3);'
        ' write(open("b.tmp", O_CREAT | O_WRONLY, 0600), "de", 2); return 0; }\n'
    )
    env = {"IOLENS_NAME_EXCLUDE": r"\.tmp$", "IOLENS_NAME_INCLUDE": "/b"}
    done = observe([static(source, cwd.parent / "writer"), "secret"], options=RUN, cwd=cwd, env=env)
    assert {Path(name).name for name in done.files("POSIX")} == {"b.tmp"}
    assert done.class_total("bytes_written", "filtered") == 3


# ---------------------------------------------------------------- where it is not allowed


REFUSED = {
    "capabilities": (
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all"],
        b"the kernel does not let this user observe system calls by eBPF: it takes root, or CAP_BPF and CAP_PERFMON",
    ),
    "no BTF": (
        ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"],
        b"this kernel does not describe itself for eBPF: no /sys/kernel/btf/vmlinux",
    ),
}


@pytest.mark.parametrize("how", REFUSED)
def test_where_it_is_not_allowed_totals_are_in_the_log_and_one_line_says_why(
    how: str, iolens: Path, cwd: Path
) -> None:
    before, said = REFUSED[how]
    source, log = cwd.parent / "program.c", cwd.parent / "log.darshan"
    source.write_text(
        "#include <fcntl.h>\n#include <unistd.h>\nstatic char block[1 << 20];\n"
        'int main(void) { write(open("out", O_CREAT | O_WRONLY, 0600), block, sizeof block); return 3; }\n'
    )
    program = static(source, cwd.parent / "program")
    cwd.chmod(0o777)
    cwd.parent.chmod(0o777)
    summary = cwd / "summary.json"
    command = [*before, iolens, "run", "--kernel", "--json", summary, "-o", log, "--", program, "word"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    assert done.returncode == 3
    assert b"iolens: run: --kernel: " + said in done.stderr
    assert b"observed by   totals: 1 of 1 process, by /proc: which files is unknown" in done.stderr
    read = test_programs.read_log(iolens, log, cwd)
    assert not [key for key in read.records if key[0] == "POSIX"]
    ((row,), (observer,)) = read.sections["process"], read.sections["observers"]
    assert (row["exe"], row["command"], row["exit_code"]) == (str(program), f"{program} word", "3")
    assert int(row["kernel_written"]) >= 1 << 20
    assert (observer["pid"], observer["observer"]) == (row["pid"], "totals")
    assert json.loads(summary.read_text())["totals_only"] == 1


def test_a_dynamic_program_is_observed_all_the_same(iolens: Path, cwd: Path) -> None:
    log, out = cwd.parent / "log.darshan", cwd / "out"
    cwd.chmod(0o777)
    cwd.parent.chmod(0o777)
    before = REFUSED["capabilities"][0]
    command = [
        *before,
        iolens,
        "run",
        "--kernel",
        "--quiet",
        "-o",
        log,
        "--",
        "dd",
        "if=/dev/zero",
        f"of={out}",
    ]
    assert subprocess.run([*command, "count=3"], capture_output=True, check=False).returncode == 0
    records = test_programs.read_log(iolens, log, cwd).records
    assert records["POSIX", "out", 0]["BYTES_WRITTEN"] == 3 * 512


def test_of_a_user_the_totals_of_a_static_program_are_in_the_log(iolens: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o777)
        (place / "writer.c").write_text(WRITER)
        program, log = static(place / "writer.c", place / "writer"), place / "log.darshan"
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = subprocess.run(
            [*user, iolens, "run", "--kernel", "-o", log, "--", program, "out"],
            cwd=place,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"observed by   totals: 1 of 1 process" in done.stderr
        (row,) = test_programs.read_log(iolens, log, place).sections["process"]
        assert 10_000_000 <= int(row["kernel_written"]) < 10_100_000
