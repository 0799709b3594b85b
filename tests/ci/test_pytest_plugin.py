"""@pytest.mark.io_limit, in real runs of pytest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from observed import Observe

MANY = """
import pytest, subprocess, sys, threading

pytestmark = pytest.mark.io_limit(opens=100)

def write(path, size, times=1):
    with open(path, "wb", buffering=0) as file:
        for _ in range(times):
            file.write(bytes(size))

@pytest.mark.io_limit(written="2 KiB", writes=2, opens=1, files=1, read=0, reads=0)
def test_within(tmp_path):
    write(tmp_path / "a", 1024, 2)

@pytest.mark.io_limit(written="2 KiB", writes=2)
def test_beyond(tmp_path):
    write(tmp_path / "small", 1)
    write(tmp_path / "large", 1024, 3)

@pytest.mark.io_limit(files=2)
def test_files(tmp_path):
    for n in range(3):
        write(tmp_path / f"file{n}", 0)

@pytest.mark.io_limit(metadata=0)
def test_metadata(tmp_path):
    write(tmp_path / "a", 1)
    with open(tmp_path / "a", "rb", buffering=0) as file:
        for _ in range(50):
            file.seek(0)

@pytest.mark.io_limit(read=0, written=0, reads=0, writes=0, opens=0, metadata=0, files=0)
def test_what_is_no_io_of_a_test(capfd):
    print("to standard output", file=sys.stderr)
    print("and error")
    import mine, wave
    subprocess.run([sys.executable, "-c", "open('other', 'w').write('x')"], check=True)

@pytest.mark.io_limit(opens=3)
def test_threads(tmp_path):
    workers = [threading.Thread(target=write, args=(tmp_path / str(n), 10)) for n in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]

@pytest.mark.io_limit(opens=0)
def test_a_failure_of_its_own(tmp_path):
    write(tmp_path / "a", 1)
    assert 1 == 2, "its own"

@pytest.fixture
def made(tmp_path):
    write(tmp_path / "made", 1)

@pytest.mark.io_limit(opens=0)
def test_fixtures_are_not_counted(made):
    pass

def test_limits_of_the_module(tmp_path):
    for n in range(101):
        write(tmp_path / "a", 0)
"""
FAILED = {
    "test_beyond": r"io_limit: written 3 KiB \(limit 2 KiB\), writes 4 \(limit 2\)\n"
    r" ! written +3 KiB \(3,073 bytes\)   limit 2 KiB \(2,048 bytes\)\n ! writes +4   limit 2\n"
    r"   opens +2   limit 100\ncostliest files:\n   \S+/large: written 3,072, writes 3, opens 1(, metadata \d+)?\n"
    r"   \S+/small: written 1, writes 1, opens 1",
    "test_files": r" ! files +3   limit 2",
    "test_metadata": r" ! metadata +5\d   limit 0",
    "test_threads": r" ! opens +4   limit 3",
    "test_a_failure_of_its_own": r"AssertionError: its own",
    "test_limits_of_the_module": r" ! opens +101   limit 100",
}
BAD = """
import pytest

@pytest.mark.io_limit(speed=1)
def test_a(): pass

@pytest.mark.io_limit
def test_b(): pass

@pytest.mark.io_limit(opens="1 MiB")
def test_c(): pass

@pytest.mark.io_limit(read="much")
def test_d(): pass
"""


def run(folder: Path, *options: str, source: str = MANY) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(source)
    (folder / "mine.py").write_text("open('read by an import', 'w').write('x')\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider --strict-markers -q\n")
    command = [sys.executable, "-m", "pytest", "test_it.py", "--basetemp", str(folder / "made"), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def failures(text: str) -> dict[str, str]:
    """Test -> what is told of its failure."""
    parts = re.split(r"^_+ (test_\w+) _+$", text.partition("short test summary")[0], flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("options", [(), ("-s",), ("--capture=sys",), ("-n", "2")])
def test_what_is_counted(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, "--io-limits", *options)
    told = failures(done.stdout)
    assert sorted(told) == sorted(FAILED), done.stdout + done.stderr
    for name, words in FAILED.items():
        assert re.search(words, told[name]), told[name]
    assert done.returncode == 1
    assert (tmp_path / "other").exists() and (tmp_path / "read by an import").exists()
    assert "not checked" not in done.stdout


def test_counts_are_the_same_each_time(tmp_path: Path) -> None:
    """Whether there is byte code or not, and in whichever order tests run."""
    first = failures(run(tmp_path, "--io-limits").stdout)
    alone = failures(run(tmp_path, "--io-limits", "-k", "beyond or metadata").stdout)
    again = failures(run(tmp_path, "--io-limits", "-n", "2").stdout)
    for name, text in alone.items():
        for other in (first, again):
            numbers = [re.findall(r"^ [! ] .* limit .*$", told, re.M) for told in (text, other[name])]
            assert numbers[0] == numbers[1] != []


SNAPSHOTS = """
import os, sys, time
from iolens.live import ROLES, snapshot

def use(name):
    file = os.open(os.path.join(sys.argv[1], name), os.O_RDWR | os.O_CREAT)
    os.write(file, b"x" * 100)
    os.lseek(file, 0, os.SEEK_SET)
    os.read(file, 50)
    os.close(file)

first = snapshot()
for n in range(500):
    use(f"file{n}")
second = snapshot()
use("file7"), use("file7"), use("other")
third = snapshot()
for later, earlier in ((second, first), (third, second), (third, first)):
    done = {later.name(id): dict(zip(ROLES, counts)) for (_, id), counts in later.since(earlier).items()}
    used = [counts for name, counts in done.items() if name.startswith(sys.argv[1])]
    print(len(used), *(sum(counts[role] for counts in used) for role in ROLES))
began = time.process_time()
for _ in range(100):
    snapshot()
print(time.process_time() - began)
"""


def test_snapshots_count_what_was_done_between_them_and_cost_little(observe: Observe, tmp_path: Path) -> None:
    *between, seconds = observe([sys.executable, "-c", SNAPSHOTS, tmp_path]).done.stdout.decode().splitlines()
    assert between == [
        "500 500 500 500 25000 50000 500 0",
        "2 3 3 3 150 300 3 0",
        "501 503 503 503 25150 50300 503 0",
    ]
    assert float(seconds) / 100 < 0.001, "0.05 ms; of a reader of all records 4 ms"


def test_without_iolens_it_is_said(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert list(failures(done.stdout)) == ["test_a_failure_of_its_own"]
    assert "IoLimitsNotChecked: io_limit was not checked: pytest --io-limits" in done.stdout
    strict = run(tmp_path, "-k", "within", "-W", "error::iolens.pytest_plugin.IoLimitsNotChecked")
    assert strict.returncode == 1


def test_under_iolens_run_limits_are_checked_and_the_log_stays(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MANY)
    iolens = Path(sys.executable).parent / "iolens"
    command = [
        iolens,
        "run",
        "-q",
        "-o",
        "tests.darshan",
        "--",
        sys.executable,
        "-m",
        "pytest",
        "-k",
        "threads",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert list(failures(done.stdout)) == ["test_threads"], done.stdout
    assert (tmp_path / "tests.darshan").stat().st_size > 1000


def test_wrong_limits(tmp_path: Path) -> None:
    told = failures(run(tmp_path, "--io-limits", source=BAD).stdout)
    assert (
        told["test_a"]
        .strip()
        .startswith(
            "io_limit: no limit 'speed'; there are read, written, reads, writes, opens, metadata, files"
        )
    )
    assert "io_limit: name its limits: read," in told["test_b"]
    assert "io_limit: opens='1 MiB' is not a number from 0 on\n" in told["test_c"]
    assert "io_limit: read='much' is not a number from 0 on, or as \"64 KiB\"\n" in told["test_d"]


@pytest.mark.parametrize(
    ("options", "code"), [(("-k", "within"), 0), (("-k", "nothing"), 5), (("--none",), 4)]
)
def test_the_exit_code_is_pytest_s(tmp_path: Path, options: tuple[str, ...], code: int) -> None:
    done = run(tmp_path, "--io-limits", *options)
    assert done.returncode == code, done.stdout + done.stderr


def test_a_program_that_is_not_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(BAD)
    (tmp_path / "tests").write_text("import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))")
    done = subprocess.run(
        [sys.executable, "tests", "--io-limits"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4
    assert "--io-limits: tests is not pytest's command; start it by: iolens run -- tests" in done.stderr
