"""Layouts of files on Lustre, served by what stands for it: what the records say, and what asking costs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import drishti
import pytest
from observed import Observe, Observed
from standin import EOF, INIT, MDT, OVERSTRIPED, RELEASED, TYPE, MiB, StandIn, composite, foreign, stripes

PYTHON = ["/usr/bin/python3", "-S", "-c"]
SETTING = {"IOLENS_LUSTRE_TYPE": TYPE}
PROGRESSIVE = [
    (1, INIT, 0, 65536, stripes([], 65536, pattern=MDT)),
    (2, INIT, 65536, MiB, stripes([3], 65536)),
    (3, 0, MiB, EOF, stripes([], 4 * MiB, "disk", count=65535)),
]
GROWN = [*PROGRESSIVE[:2], (3, INIT, MiB, EOF, stripes([1, 5, 9, 13], 4 * MiB, "disk"))]

# Each kind: its layout, and of every component size, count, pattern, flags, extent, mirror, pool, targets.
Component = tuple[str, str, str, str, str, str, str, str, list[int]]
KINDS: dict[str, tuple[bytes, list[Component]]] = {
    "v1": (stripes([4, 2]), [(str(MiB), "2", "raid0", "0", "0", "-1", "0", "N/A", [4, 2])]),
    "v3": (stripes([7], 65536, "flash"), [("65536", "1", "raid0", "0", "0", "-1", "0", "flash", [7])]),
    "overstriped": (
        stripes([1, 1, 2, 2], pattern=1 | OVERSTRIPED),
        [(str(MiB), "4", "raid0,overstriped", "0", "0", "-1", "0", "N/A", [1, 1, 2, 2])],
    ),
    "released": (
        stripes([], pattern=1 | RELEASED, count=2),
        [(str(MiB), "2", "raid0", "0", "0", "-1", "0", "N/A", [-1, -1])],
    ),
    "foreign": (foreign(), [("1", "0", "foreign", "0", "0", "-1", "0", "N/A", [])]),
    "progressive": (
        composite(*GROWN),
        [
            ("65536", "0", "mdt", "init", "0", "65536", "0", "N/A", []),
            ("65536", "1", "raid0", "init", "65536", str(MiB), "0", "N/A", [3]),
            (str(4 * MiB), "4", "raid0", "init", str(MiB), "-1", "0", "disk", [1, 5, 9, 13]),
        ],
    ),
    "mirrors": (
        composite((0x10001, INIT, 0, EOF, stripes([8])), (0x20002, INIT | 1, 0, EOF, stripes([9]))),
        [
            (str(MiB), "1", "raid0", "init", "0", "-1", "1", "N/A", [8]),
            (str(MiB), "1", "raid0", "stale,init", "0", "-1", "2", "N/A", [9]),
        ],
    ),
    "wide": (
        stripes(range(1350)),
        [(str(MiB), "1350", "raid0", "0", "0", "-1", "0", "N/A", list(range(1350)))],
    ),
}
FIELDS = (
    *("STRIPE_SIZE", "STRIPE_COUNT", "STRIPE_PATTERN", "FLAGS", "EXT_START", "EXT_END", "MIRROR_ID"),
    "POOL_NAME",
)


def components(row: dict[str, str]) -> list[Component]:
    found: list[Any] = []
    for k in range(1, int(row["LUSTRE_NUM_COMPONENTS"]) + 1):
        fields = [row[f"LUSTRE_COMP{k}_{name}"] for name in FIELDS]
        targets = [int(row[f"LUSTRE_COMP{k}_OST_ID_{n}"]) for n in range(int(fields[1]))]
        found.append((*fields, targets))
    return found


def layouts(seen: Observed) -> dict[tuple[str, int], list[Component]]:
    """By file name and rank."""
    return {
        (Path(name).name, rank): components(row)
        for (module, name, rank), row in seen.records.items()
        if module == "LUSTRE"
    }


def test_every_kind_has_its_record(lustre: StandIn, observe: Observe) -> None:
    lustre.serve(**{kind: layout for kind, (layout, _) in KINDS.items()})
    code = f"for name in {list(KINDS)!r}: open(name, 'wb', buffering=0).write(b'x')"
    seen = observe([*PYTHON, code], cwd=lustre.mount, env=SETTING)
    assert seen.done.returncode == 0, seen.done.stderr
    assert layouts(seen) == {(kind, 0): wanted for kind, (_, wanted) in KINDS.items()}
    assert seen.files("POSIX") == {str(lustre.mount / kind) for kind in KINDS}
    # wide: once with the usual room, once with the most that an attribute can have
    assert sorted(lustre.asked) == sorted([*KINDS, "wide"])


@pytest.mark.parametrize(
    "layout",
    [
        b"",
        b"\xd0",
        b"\0" * 64,
        b"\xff" * 4096,
        stripes([1, 2])[:-1],
        stripes([1, 2, 3], count=60000),
        stripes([], count=65535),
        foreign()[:-1],
        composite((1, INIT, 0, EOF, composite(*GROWN))),
        composite(*GROWN)[:200],
        composite((1, INIT, 5, 5, stripes([1]))),
        composite(),
    ],
    ids=range(12),
)
def test_malformed_layouts_are_no_record(layout: bytes, lustre: StandIn, observe: Observe) -> None:
    lustre.serve(file=layout)
    seen = observe([*PYTHON, "open('file', 'wb').write(b'x')"], cwd=lustre.mount, env=SETTING)
    assert (seen.done.returncode, seen.done.stderr) == (0, b"")
    assert layouts(seen) == {}
    assert seen.total("POSIX", "BYTES_WRITTEN", str(lustre.mount / "file")) == 1


def test_a_file_is_asked_once(lustre: StandIn, observe: Observe) -> None:
    """Whatever opens it, and by whatever name; none of its closes asks."""
    lustre.serve(file=stripes([1]), other=stripes([2]))
    code = (
        "import os; [open('file', 'ab').close() for _ in range(50)];"
        f"os.chdir('/'); [open({str(lustre.mount)!r} + '/file').close() for _ in range(50)];"
    )
    seen = observe([*PYTHON, code], cwd=lustre.mount, env=SETTING)
    assert set(layouts(seen)) == {("file", 0)}
    assert lustre.asked == ["file"]
    seen = observe(
        ["bash", "-c", "read x <file; for i in 1 2 3; do echo >other; done; exit 0"],
        cwd=lustre.mount,
        env=SETTING,
    )
    assert set(layouts(seen)) == {("file", 0), ("other", 0)}
    assert lustre.asked[1:] == ["file", "other"]


def test_streams_and_standard_input(lustre: StandIn, observe: Observe, compile_program: Any) -> None:
    lustre.serve(stream=stripes([5]), input=stripes([6]))
    (lustre.files / "input").write_text("text")
    program = compile_program(
        "#include <stdio.h>\nint main(void)\n"
        '{ getchar(); FILE *f = fopen("stream", "w"); fputs("x", f); return fclose(f); }'
    )
    with (lustre.mount / "input").open() as given:
        seen = observe([program], cwd=lustre.mount, env=SETTING, stdin=given)
    assert {name: row[0][-1] for (name, _), row in layouts(seen).items() if name == "stream"} == {
        "stream": [5]
    }
    assert seen.total("STDIO", "BYTES_WRITTEN", str(lustre.mount / "stream")) == 1


def test_a_layout_that_grows_is_asked_again(lustre: StandIn, observe: Observe) -> None:
    """When the file was written up to a byte that had no place; not before, and not after."""
    lustre.serve(file=composite(*PROGRESSIVE), file__grown=composite(*GROWN))
    small, large = "open('file', 'ab').write(b'x');", f"open('file', 'ab').write(bytes({MiB}));"
    seen = observe([*PYTHON, 3 * small], cwd=lustre.mount, env=SETTING)
    assert lustre.asked == ["file"]
    assert layouts(seen)["file", 0] == KINDS["progressive"][1][:2]
    seen = observe([*PYTHON, small + large + 3 * small], cwd=lustre.mount, env=SETTING)
    assert lustre.asked[1:] == ["file", "file"]
    assert layouts(seen) == {("file", 0): KINDS["progressive"][1]}


def test_a_layout_grows_by_the_component_that_is_written_into(lustre: StandIn, observe: Observe) -> None:
    """Two have no place yet: the byte after which it is asked again is the first of the first one."""
    here = (1, INIT, 0, 65536, stripes([3], 65536))
    second, last = (2, 0, 65536, 16 * MiB, stripes([], count=1)), (3, 0, 16 * MiB, EOF, stripes([], count=4))
    lustre.serve(file=composite(here, second, last))
    lustre.serve(file__grown=composite(here, (2, INIT, 65536, 16 * MiB, stripes([4], 65536)), last))
    large = f"open('file', 'ab').write(bytes({MiB}));"
    seen = observe([*PYTHON, 2 * large], cwd=lustre.mount, env=SETTING)
    assert lustre.asked == ["file", "file"]
    assert [targets for *_, targets in layouts(seen)["file", 0]] == [[3], [4]]


def test_a_layout_that_does_not_grow_is_asked_once_more(lustre: StandIn, observe: Observe) -> None:
    """A mirror without objects begins at byte 0, and stays so."""
    lustre.serve(
        file=composite((0x10001, INIT, 0, EOF, stripes([8])), (0x20002, 0, 0, EOF, stripes([], count=1)))
    )
    seen = observe([*PYTHON, 9 * "open('file', 'ab').write(b'x');"], cwd=lustre.mount, env=SETTING)
    assert lustre.asked == ["file", "file"]
    assert [row[-1] for row in layouts(seen)["file", 0]] == [[8]]


def test_a_link_that_leads_there(lustre: StandIn, observe: Observe, tmp_path: Path) -> None:
    lustre.serve(file=stripes([1]))
    (tmp_path / "link").symlink_to(lustre.mount)
    code = "open('link/file', 'wb').write(b'x'); open('plain', 'wb').write(b'x')"
    seen = observe([*PYTHON, code], cwd=tmp_path, env=SETTING)
    assert {name for module, name, _ in seen.records if module == "LUSTRE"} == {
        str(tmp_path / "link" / "file")
    }
    assert lustre.asked == ["file"]


def system_calls(command: list[str], place: Path, seen: Observe, env: dict[str, str]) -> dict[str, int]:
    """What the program and the library ask for of each kind."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    trace = place.parent / "trace"
    calls = "fgetxattr,getxattr,statx,fstatfs,statfs"
    done = seen(["strace", "-f", "-q", "-e", f"trace={calls}", "-o", trace, *command], cwd=place, env=env)
    assert done.done.returncode == 0, done.done.stderr
    found: dict[str, int] = {}
    for line in trace.read_text().splitlines():
        # A store that grows asks how much is free where it lies.
        if (match := re.match(r"\d+ +(\w+)\(", line)) and '"/dev/shm' not in line:
            found[match[1]] = found.get(match[1], 0) + 1
    return found


def test_files_elsewhere_are_not_asked(lustre: StandIn, observe: Observe, tmp_path: Path) -> None:
    """Without Lustre nothing is asked of any file; where it is mounted, each file has its device looked up once."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    few, many = (
        [*PYTHON, f"for n in range({n}):\n for k in range(9): open('file%d' % n, 'ab').close()"]
        for n in (10, 60)
    )
    for env, per_file in (({}, 0), (SETTING, 1)):
        a, b = (system_calls(command, place, observe, env) for command in (few, many))
        assert b.get("fgetxattr", 0) == a.get("fgetxattr", 0) == 0
        assert b.get("fstatfs", 0) == a.get("fstatfs", 0)
        assert b.get("statfs", 0) == a.get("statfs", 0)
        assert b.get("statx", 0) - a.get("statx", 0) == 50 * per_file
    assert lustre.asked == []


def test_without_the_setting_a_stand_in_is_none(lustre: StandIn, observe: Observe) -> None:
    lustre.serve(file=stripes([1]))
    seen = observe([*PYTHON, "open('file', 'wb').write(b'x')"], cwd=lustre.mount)
    assert layouts(seen) == {}
    assert lustre.asked == []


def test_a_module_that_is_off_asks_nothing(lustre: StandIn, observe: Observe) -> None:
    lustre.serve(file=stripes([1]))
    env = {**SETTING, "IOLENS_MOD_DISABLE": "LUSTRE"}
    seen = observe([*PYTHON, "open('file', 'wb').write(b'x')"], cwd=lustre.mount, env=env)
    assert layouts(seen) == {}
    assert lustre.asked == []


def test_a_killed_process_leaves_its_layouts(lustre: StandIn, observe: Observe) -> None:
    """Also of odd sizes: what is not a multiple of a record's fixed part."""
    names = [f"f{n}" for n in range(1, 8)]
    lustre.serve(**{name: stripes(range(n + 1)) for n, name in enumerate(names)})
    code = f"import os; [open(n, 'wb') for n in {names!r}]; os.kill(os.getpid(), {int(signal.SIGKILL)})"
    seen = observe([*PYTHON, code], cwd=lustre.mount, env=SETTING)
    assert seen.done.returncode == -signal.SIGKILL
    assert {name: row[0][-1] for (name, _), row in layouts(seen).items()} == {
        name: list(range(n + 1)) for n, name in enumerate(names)
    }


def test_a_forked_child_asks_for_itself(lustre: StandIn, observe: Observe) -> None:
    lustre.serve(a=stripes([1]), b=stripes([2, 3]))
    code = (
        "import os; open('a', 'wb').write(b'x'); p = os.fork(); open('b', 'wb').write(b'x');"
        "p and os.waitpid(p, 0)"
    )
    seen = observe([*PYTHON, code], cwd=lustre.mount, env=SETTING)
    found = layouts(seen)
    assert [found["a", 0][0][-1], found["b", 0][0][-1], found["b", 1][0][-1]] == [[1], [2, 3], [2, 3]]


def test_layouts_beyond_the_budget(lustre: StandIn, observe: Observe) -> None:
    """Wide layouts take a quarter of the budget, so that the files keep their records; the log says that some lack."""
    names = [f"f{n}" for n in range(20)]
    lustre.serve(**{name: stripes(range(1300)) for name in names})
    code = f"for n in {names!r}: open(n, 'wb').write(b'x')"
    seen = observe([*PYTHON, code], cwd=lustre.mount, env={**SETTING, "IOLENS_BUDGET": "0.1"})
    assert "# *WARNING*: The LUSTRE module contains incomplete data!" in seen.text
    assert "The POSIX module contains incomplete" not in seen.text
    assert {Path(name).name for name in seen.files("POSIX")} >= set(names)
    whole = subprocess.run(
        [seen.iolens, "show", "--show-incomplete", seen.log], check=True, capture_output=True, text=True
    ).stdout
    stripes_of = re.findall(r"LUSTRE_NUM_STRIPES\t(\d+)", whole)
    assert stripes_of == ["1300"] * 2


def test_other_readers_say_the_same(lustre: StandIn, observe: Observe, oracle: ModuleType) -> None:
    lustre.serve(**{kind: layout for kind, (layout, _) in KINDS.items()})
    code = f"for name in {list(KINDS)!r}: open(name, 'wb', buffering=0).write(b'x')"
    seen = observe([*PYTHON, code], cwd=lustre.mount, env=SETTING)
    wanted = {line for line in seen.text.splitlines() if line and not line.startswith("#")}
    found = {
        line for line in oracle.parser_lines(oracle.Log(str(seen.log))) if line and not line.startswith("#")
    }
    assert found == wanted
    darshan = pytest.importorskip("darshan", reason="PyDarshan is not installed")
    report = darshan.DarshanReport(str(seen.log), read_all=False)
    report.mod_read_all_lustre_records()
    frame = report.records["LUSTRE"].to_df()["components"]
    assert len(frame) == sum(len(parts) for _, parts in KINDS.values())
    drishti.agrees(seen)


def test_many_threads_and_files(lustre: StandIn, observe: Observe, compile_program: Any) -> None:
    """Threads that open the same files at the same time: each file is asked once, each has one record."""
    lustre.serve(**{f"f{n}": stripes(range(n + 1)) for n in range(16)})
    program = compile_program("""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *unused)
{
	char name[8];
	for (int k = 0; k < 64; k++) {
		snprintf(name, sizeof name, "f%d", k % 16);
		close(open(name, O_RDWR | O_CREAT, 0644));
	}
	return unused;
}
int main(void)
{
	pthread_t t[8];
	for (int n = 0; n < 8; n++)
		pthread_create(&t[n], NULL, work, NULL);
	for (int n = 0; n < 8; n++)
		pthread_join(t[n], NULL);
	return 0;
}
""")
    seen = observe([program], cwd=lustre.mount, env=SETTING)
    assert seen.done.returncode == 0
    assert {name: row[0][-1] for (name, _), row in layouts(seen).items()} == {
        f"f{n}": list(range(n + 1)) for n in range(16)
    }
    assert sorted(lustre.asked) == sorted(f"f{n}" for n in range(16))


def test_a_store_with_a_damaged_layout_still_gives_a_log(
    lustre: StandIn, iolens: Path, preload: Path, tmp_path: Path
) -> None:
    """What stands before it is kept."""
    lustre.serve(a=stripes([1]), b=stripes([2]), c=stripes([3]))
    stores = tmp_path / "stores"
    stores.mkdir()
    env = {**os.environ, **SETTING, "LD_PRELOAD": str(preload), "IOLENS_ENABLE_NONMPI": "1"}
    env |= {"IOLENS_TMPDIR": str(stores), "IOLENS_ABANDONED": "keep"}
    code = "import os; [open(n, 'wb').write(b'x') for n in 'abc']; os.kill(os.getpid(), 9)"
    subprocess.run([*PYTHON, code], check=False, env=env, cwd=lustre.mount)
    (store,) = stores.rglob("*.store")
    data = bytearray(store.read_bytes())
    at = int.from_bytes(data[48 + 16 * 8 : 56 + 16 * 8], "little")
    length = int.from_bytes(data[56 + 16 * 8 : 64 + 16 * 8], "little")
    assert length == 3 * (32 + 72 + 8)
    data[at + 112 + 16 : at + 112 + 24] = b"\xff" * 7 + b"\x7f"
    store.write_bytes(data)
    log = tmp_path / "log.darshan"
    done = subprocess.run(
        [iolens, "recover", "-o", log, store.parent], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    seen = Observed(done, log, iolens)  # type: ignore[arg-type]
    assert set(layouts(seen)) == {("a", 0)}
    assert {Path(name).name for name in seen.files("POSIX")} >= {"a", "b", "c"}
