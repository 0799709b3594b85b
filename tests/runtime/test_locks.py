"""Advisory locks: what was taken and refused, and how long a program waited for which file."""

from __future__ import annotations

from pathlib import Path

import pytest
import shown
from observed import Observe

HOLDER = """
import fcntl, os, time
ready, done = os.pipe()
if os.fork() == 0:
    mine = open("contended", "w")
    {take}(mine, fcntl.LOCK_EX)
    os.write(done, b"x")
    time.sleep(0.4)
    os._exit(0)
os.read(ready, 1)
file = open("contended", "w")
try:
    {take}(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    pass
{take}(file, fcntl.LOCK_EX)
{take}(file, fcntl.LOCK_UN)
os.wait()
"""


def locks(sections: dict[str, list[shown.Row]], name: str) -> dict[str, shown.Row]:
    return {row["rank"]: row for row in sections["locks"] if Path(row["file"]).name == name}


@pytest.mark.parametrize("take", ["fcntl.lockf", "fcntl.flock"])
def test_the_time_that_a_program_waited_for_a_file(take: str, observe: Observe, tmp_path: Path) -> None:
    seen = observe(["python3", "-c", HOLDER.format(take=take)], cwd=tmp_path)
    assert seen.done.returncode == 0, seen.done.stderr
    parent, child = (locks(seen.sections, "contended")[rank] for rank in ("0", "1"))
    counts = [int(parent[field]) for field in ("shared", "exclusive", "released", "refused")]
    assert counts == [0, 1, 1, 1]
    assert 0.2 < float(parent["longest"]) <= float(parent["wait_time"]) < 0.4 + 5
    assert (int(child["exclusive"]), int(child["released"])) == (1, 0)
    assert float(child["wait_time"]) < 0.2


def test_a_lock_on_what_has_no_record_takes_its_own_time(observe: Observe, tmp_path: Path) -> None:
    """Not that of the program until then."""
    program = "import fcntl, time; time.sleep(0.5); fcntl.lockf(open('/var/tmp/lock-of-a-test', 'w'), fcntl.LOCK_EX)"
    try:
        seen = observe(["python3", "-c", program], cwd=tmp_path)
    finally:
        Path("/var/tmp/lock-of-a-test").unlink(missing_ok=True)
    (row,) = [row for row in seen.sections["operation"] if row["name"] == "lock"]
    assert int(row["count"]) == 1
    assert float(row["time"]) < 0.1
    assert "locks" not in seen.sections


def test_more_files_than_there_are_rows(observe: Observe, tmp_path: Path) -> None:
    program = (
        "import fcntl\nfor n in range(100):\n    with open(f'{n}', 'w') as f: fcntl.flock(f, fcntl.LOCK_SH)"
    )
    rows = observe(["python3", "-c", program], cwd=tmp_path).sections["locks"]
    assert len(rows) == 64
    assert sum(int(row["shared"]) for row in rows) == 100
    assert [int(row["shared"]) for row in rows if not row["file"]] == [37]
