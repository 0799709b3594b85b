"""An installation is renewed or removed while programs run with it, and versions that do not fit are told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import places
import pytest
import shown

PROGRAM = """
import os
fd = os.open("data", os.O_CREAT | os.O_WRONLY)
os.write(fd, bytes(4096))
print("ready", flush=True)
input()
for _ in range(9):
    os.write(fd, bytes(4096))
"""


def install(place: Path) -> Path:
    """As a site does; its library."""
    if not (places.BUILD / "build.ninja").exists():
        pytest.skip("no build directory: ./bootstrap build")
    meson = Path(sys.executable).parent / "meson"
    command = [meson, "install", "-C", places.BUILD, "--no-rebuild", "--tags", "runtime,python-runtime"]
    subprocess.run([*command, "--destdir", place], check=True, capture_output=True)
    (library,) = place.rglob("libiolens.so")
    return library


@pytest.mark.parametrize("change", ["upgraded", "removed"])
def test_a_running_program_goes_on_and_has_its_log(change: str, tmp_path: Path, iolens: Path) -> None:
    place, logs = tmp_path / "site", tmp_path / "logs"
    logs.mkdir()
    library = install(place)
    before = library.stat().st_ino
    # Held open, so that no new file can have its number.
    with library.open("rb"):
        program = subprocess.Popen(
            [sys._base_executable, "-c", PROGRAM],  # type: ignore[attr-defined]
            env={
                **os.environ,
                "LD_PRELOAD": str(library),
                "IOLENS_ENABLE_NONMPI": "1",
                "IOLENS_ABANDONED": "keep",  # stores of others are none of its logs
                "IOLENS_LOGPATH": str(logs),
            },
            cwd=tmp_path,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        if change == "upgraded":
            assert install(place).stat().st_ino != before  # never written into
        else:
            shutil.rmtree(place)
        _, complaints = program.communicate("\n", timeout=300)
    assert (program.returncode, complaints) == (0, "")
    (log,) = logs.rglob("*.darshan")
    text = subprocess.run([iolens, "show", "--base", log], check=True, capture_output=True, text=True).stdout
    (row,) = [
        row
        for (module, name, _), row in shown.records(text).items()
        if (module, name) == ("POSIX", f"{tmp_path}/data")
    ]
    assert (row["POSIX_WRITES"], row["POSIX_BYTES_WRITTEN"]) == ("10", "40960")


def test_a_library_of_another_version_is_told(tmp_path: Path, iolens: Path) -> None:
    """A command that says it is of another version, beside the library as it is."""
    own = subprocess.run([iolens, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    own = own.replace(" ", "-")
    program = iolens.read_bytes()
    assert own.encode() in program
    command = tmp_path / "iolens"
    command.write_bytes(program.replace(own.encode(), own[:-1].encode() + b"x"))
    command.chmod(0o755)
    done = subprocess.run(
        [command, "doctor", "--json"],
        env={**os.environ, "IOLENS_PRELOAD": str(places.PRELOAD)},
        capture_output=True,
        text=True,
        check=False,
    )
    (told,) = [row for row in json.loads(done.stdout)["checks"] if row["name"] == "trial"]
    text = f"the library is of another version ({own}) than this command: install both from one package"
    assert (done.returncode, told["result"], told["text"]) == (1, "problem", text)
