"""The wheel, in an environment of its own: what a user has after `pip install`."""

from __future__ import annotations

import bz2
import gzip
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import iolens
import places
import pytest
from synthetic import OLD, old_log

OFFLINE = ("NewConnectionError", "name resolution", "ConnectTimeout", "No matching distribution")

READ = """
import sys, iolens
log = iolens.open(sys.argv[1])
print(log.job.nprocs, list(log.modules), log["posix"].num_records, log.names[11])
print(len(list(log["posix"].batches())), iolens.__version__, iolens.preload_path().exists())
print(iolens.__file__)
"""


def pip(python: Path | str, *arguments: object) -> None:
    command = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and any(word in done.stderr for word in OFFLINE):
        pytest.skip("the wheel's dependencies cannot be had: pip reaches no index")
    assert done.returncode == 0, done.stderr


def test_a_wheel_in_a_fresh_environment(
    root: Path, build_dir: Path, tmp_path: Path, small_log: bytes
) -> None:
    pytest.importorskip("mesonpy", reason="meson-python is not installed")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, root)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-abi3-" in wheel.name
    built = [(build_dir / room).glob("libiolens*.so") for room in ("runtime", "ranges")]
    libraries = {path.name for found in built for path in found}
    imported = {path.name for path in (root / "ranges" / "python").glob("*.py")}
    names = zipfile.ZipFile(wheel).namelist()
    assert {Path(name).name for name in names if "/lib/" in name} == libraries | imported
    manuals = {path.name for path in (build_dir / "cli" / "man1").iterdir()}
    assert {Path(name).name for name in names if "/share/man/man1/" in name} == manuals
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    pip(programs / "python", "install", wheel)
    log = tmp_path / "job.darshan"
    log.write_bytes(small_log)

    def run(*command: object) -> str:
        words = list(map(str, command))
        done = subprocess.run(words, capture_output=True, check=True, cwd=tmp_path)
        return done.stdout.decode(errors="replace")  # a name of the log is not UTF-8

    first, second, place = run(programs / "python", "-I", "-c", READ, log).splitlines()
    assert first == "8 ['posix'] 5 /home/b"
    assert second == f"1 {iolens.__version__} True"
    assert Path(place).is_relative_to(tmp_path / "env")
    assert run(programs / "iolens", "--version") == f"iolens {iolens.__version__}\n"
    assert "POSIX_OPENS" in run(programs / "iolens", "show", log)
    assert "select" in run(programs / "iolens", "sql", "--help").lower()


def test_the_portable_wheel_reads_logs_of_every_version(
    root: Path, run_iolens: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """tools/wheel.py compiles its own zlib and libbz2: gzip was missing once, in which 1.x and 2.x write their logs."""
    for needed in ("ziglang", "auditwheel"):
        pytest.importorskip(needed, reason="./bootstrap wheel installs what the portable wheel needs")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    build = [sys.executable, "tools/wheel.py", "--to", str(tmp_path)]
    subprocess.run(build, cwd=root, env=environment, check=True, timeout=900)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = (name for name in archive.namelist() if name.endswith("/scripts/iolens"))
        program = Path(archive.extract(member, tmp_path))
    program.chmod(0o755)
    logs = sorted(places.CORPUS.glob("logs/*"))
    for version, (orders, *_) in OLD.items():
        plain = old_log(version, orders[0], 1, len)
        for pack in (gzip.compress, bz2.compress):
            logs.append(tmp_path / f"{version}-{pack.__module__}")
            logs[-1].write_bytes(pack(plain))
    for log in logs:
        told = subprocess.run([program, "show", log], capture_output=True, check=False)
        wanted = run_iolens(["show", log], encoding=None, errors=None)
        assert (told.returncode, told.stdout, told.stderr) == (0, wanted.stdout, wanted.stderr), log.name
