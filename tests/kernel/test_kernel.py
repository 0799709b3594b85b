"""`iolens run --kernel`: programs that nothing is preloaded into are observed by eBPF."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from observed import Observe

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "programs"))
import test_programs  # noqa: E402

# What the kernel does not count as the preload library does, or not at all (docs/guide/kernel.md).
DIFFERENT = {
    "posix_aio_never_returned": "what threads of libc do is counted whether its result is asked for or not",
    "posix_close_twice": "a failed open of the program's own libc",
    "posix_fileno": "streams are descriptors",
    "posix_fileno_reused_after_fclose": "streams are descriptors",
    "posix_files_beyond_budget": "there is no budget for each process",
    "posix_old_stat_names": "asks the dynamic linker",
    "posix_openat": "directories have no record",
    "posix_path_cleaning": "`..` is not resolved",
    "posix_raw_copies": "raw system calls are counted",
    "posix_read_of_directory": "directories have no record",
    "posix_spawn_redirected": "opens between fork and exec are counted",
    "posix_special_descriptors": "descriptors of the kernel's own have records",
    "posix_splice_tee": "splice is not counted",
}
OF_GLIBC = {"posix_64bit_names", "posix_fortified_names", "posix_stat64_names"}
ALIKE = [
    name
    for at, name in enumerate(
        n for n in test_programs.PROGRAMS if n.startswith("posix_") and not re.search("large|edge_1g", n)
    )
    if name not in DIFFERENT and (at % 6 == 0 or "KERNEL_ALL" in os.environ)
]
RUN = ["--kernel", "--quiet"]


def static(source: Path, program: Path, compiler: str = "gcc") -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    options = ["-static", "-w", "-O0", "-fno-builtin", "-D_GNU_SOURCE", "-I", source.parent]
    subprocess.run([compiler, *options, source, "-o", program], check=True)
    return program


@pytest.fixture(autouse=True)
def bpf_allowed(observe: Observe, tmp_path: Path) -> None:
    done = observe(["true"], options=RUN).done
    assert done.returncode == 0, done.stderr
    if b"run: --kernel: " in done.stderr:
        pytest.skip(done.stderr.decode().strip())


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "cwd").mkdir()
    return tmp_path.resolve() / "cwd"


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
    wrong = list(test_programs.check_records(expected, "POSIX", test_programs.read_log(iolens, log, cwd)))
    assert not wrong, "\n" + "\n".join(wrong)


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
    environment = {**os.environ, "CGO_ENABLED": "0", "GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off"}
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
        (ours,) = {pid for pid in companions() if pid not in others and parent(pid) == job.pid}
        os.kill(ours, signal.SIGKILL)
        _, said = job.communicate(b"\n", timeout=60)
        assert job.returncode == 0, said
        assert b"the companion was killed" in said
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
    job.communicate(b"\n", timeout=60)
    records = test_programs.read_log(iolens, log, cwd).records
    assert records["POSIX", "out", 0]["BYTES_WRITTEN"] == 3


def test_where_it_is_not_allowed_the_job_runs_and_one_line_says_so(iolens: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", iolens, "run", "--kernel", "--quiet"]
    done = subprocess.run(
        [
            *command,
            "-o",
            tmp_path / "log.darshan",
            "--",
            "dd",
            "if=/dev/zero",
            f"of={tmp_path}/out",
            "count=3",
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b"run: --kernel: the kernel does not let this user observe system calls by eBPF" in done.stderr
    assert (tmp_path / "log.darshan").exists()
