"""Ranges as phases: NVTX by its real headers, library and Python package, ROCTX by a library made here of its names."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Callable

import pytest
from observed import Observe, Observed

Build = Callable[..., Path]
ON = ("--quiet", "--ranges")

HEAD = """\
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char buffer[10000];
static int fd;
static void put(size_t n) { if (write(fd, buffer, n) < 0) exit(9); }
"""


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def made(body: str, *options: str | Path, before: str = "") -> Path:
        source = tmp_path / "program.c"
        begin = '\tfd = open("out", O_CREAT | O_WRONLY | O_TRUNC, 0600);'
        source.write_text(f"{HEAD}{before}\nint main(void)\n{{\n{begin}\n{body}\n\treturn 0;\n}}\n")
        program = tmp_path / "program"
        subprocess.run(["cc", "-o", program, source, "-pthread", *map(str, options), "-ldl"], check=True)
        return program

    return made


def phases(seen: Observed, *fields: str) -> dict[str, tuple[int, ...]]:
    assert seen.done.returncode == 0, seen.done.stderr
    rows = seen.sections.get("phases", [])
    return {row["phase"]: tuple(int(row[field]) for field in fields) for row in rows}


def nvtx_package() -> Path:
    """Headers of version 3, and the shared library of version 2."""
    found = find_spec("nvidia.nvtx") if find_spec("nvidia") else None
    if not found or not found.origin:
        pytest.skip("NVTX's headers are not installed (the Python package nvidia-nvtx-cu11)")
    return Path(found.origin).parent


# ---- NVTX ----

PYTHON = """\
import nvtx, os
fd = os.open("out", os.O_WRONLY | os.O_CREAT)
for i in range(5):
    with nvtx.annotate(f"iter {i}"):
        os.write(fd, bytes(100))
        with nvtx.annotate("all reduce", domain="NCCL"):
            os.write(fd, bytes(10))
with nvtx.annotate("conv2d layer1"):
    os.write(fd, bytes(7))
"""


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--ranges", {"iter #": (5, 550), "conv2d layer1": (1, 7)}),
        ("--ranges=all", {"iter #": (5, 500), "iter #/NCCL:all reduce": (5, 50), "conv2d layer1": (1, 7)}),
        (
            "--ranges=cuDNN,NCCL",
            {"iter #": (5, 500), "iter #/NCCL:all reduce": (5, 50), "conv2d layer1": (1, 7)},
        ),
        ("--ranges=off", {}),
    ],
)
def test_nvtx_of_python(
    observe: Observe, tmp_path: Path, option: str, told: dict[str, tuple[int, int]]
) -> None:
    """Numbers that are words are one phase; other domains' ranges are told only when asked for."""
    pytest.importorskip("nvtx")
    seen = observe([sys.executable, "-c", PYTHON], options=("--quiet", option), cwd=tmp_path)
    assert phases(seen, "count", "bytes_written") == told


NVTX = """\
	nvtxRangePushA("outer");
	put(1);
	nvtxRangePushW(L"w\\u00e4it \\U0001f4be 17");
	put(10);
	nvtxRangePop();
	nvtxEventAttributes_t event = {0};
	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = "by event";
	nvtxRangePushEx(&event);
	put(100);
	nvtxRangePop();
	nvtxDomainHandle_t domain = nvtxDomainCreateA("own");
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	nvtxDomainRangePushEx(domain, &event);
	put(1000);
	nvtxRangePop(); /* of the other domain: "outer" */
	put(2000);
	nvtxDomainRangePop(domain);
	nvtxRangePop(); /* nothing is left */
	put(5);"""
FROM_NVTX = {
    "outer": (1, 0, 1),
    "outer/wäit 💾 #": (1, 0, 10),
    "outer/by event": (1, 0, 100),
    "outer/own:registered": (1, 0, 3000),
}
COUNTED = ("count", "open", "bytes_written")


def test_nvtx_of_version_3(build: Build, observe: Observe, tmp_path: Path) -> None:
    include = f"-I{nvtx_package() / 'include'}"
    program = build(NVTX, include, before="#include <nvtx3/nvToolsExt.h>")
    assert (
        phases(observe([program], options=("--quiet", "--ranges=own"), cwd=tmp_path), *COUNTED) == FROM_NVTX
    )
    assert phases(observe([program], cwd=tmp_path), *COUNTED) == {}
    assert subprocess.run([program], cwd=tmp_path, check=False).returncode == 0


def test_nvtx_of_version_2(build: Build, observe: Observe, tmp_path: Path) -> None:
    package = nvtx_package()
    library = package / "lib" / "libnvToolsExt.so.1"
    options = [f"-I{package / 'include'}", library, f"-Wl,-rpath,{library.parent}"]
    program = build(NVTX, *options, before="#include <nvToolsExt.h>")
    assert (
        phases(observe([program], options=("--quiet", "--ranges=own"), cwd=tmp_path), *COUNTED) == FROM_NVTX
    )


RANGES = """\
	nvtxRangeId_t a = nvtxRangeStartA("a");
	put(1);
	nvtxRangeId_t b = nvtxRangeStartW(L"b");
	put(10);
	nvtxRangeEnd(a);
	put(100);
	pthread_t t;
	pthread_create(&t, 0, end, (void *)(uintptr_t)b);
	pthread_join(t, 0);
	put(1000);
	nvtxRangeEnd(a);
	nvtxRangeEnd(12345);"""


def test_ranges_overlap_and_end_in_other_threads(build: Build, observe: Observe, tmp_path: Path) -> None:
    end = "static void *end(void *id)\n{\n\tnvtxRangeEnd((uintptr_t)id);\n\treturn 0;\n}\n"
    include = f"-I{nvtx_package() / 'include'}"
    program = build(RANGES, include, before=f"#include <nvtx3/nvToolsExt.h>\n{end}")
    told = phases(observe([program], options=ON, cwd=tmp_path), *COUNTED)
    assert told == {"a": (1, 0, 1), "a/b": (1, 0, 110)}


def test_another_tool_of_nvtx_keeps_its_place(build: Build, observe: Observe, tmp_path: Path) -> None:
    """And a process that runs without the preload library has no ranges, and no harm."""
    include = f"-I{nvtx_package() / 'include'}"
    program = build(NVTX, include, before="#include <nvtx3/nvToolsExt.h>")
    seen = observe(
        [program], options=("--ranges",), cwd=tmp_path, env={"NVTX_INJECTION64_PATH": "/nowhere/tool.so"}
    )
    assert phases(seen) == {}
    assert b"NVTX_INJECTION64_PATH is set" in seen.done.stderr
    asked = observe(
        ["sh", "-c", "echo $NVTX_INJECTION64_PATH; unset LD_PRELOAD; ./program"], options=ON, cwd=tmp_path
    )
    assert asked.done.returncode == 0
    assert asked.done.stdout.strip().endswith(b"/libiolens-ranges.so")


# ---- ROCTX ----

STANDIN = """\
#include <stdint.h>
static int level;
static uint64_t ids = 40;
uint64_t stopped;
int roctxRangePushA(const char *text) { return text ? level++ : -1; }
int roctxRangePop(void) { return --level; }
uint64_t roctxRangeStartA(const char *text) { return text ? ids++ : 0; }
void roctxRangeStop(uint64_t id) { stopped = stopped * 100 + id; }
"""
DECLARED = """\
int roctxRangePushA(const char *text);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *text);
void roctxRangeStop(uint64_t id);
extern uint64_t stopped;
"""
ROCTX = """\
	int first = roctxRangePushA("train"), second = roctxRangePushA("epoch_3/batch-17");
	put(10);
	uint64_t one = roctxRangeStartA("one"), two = roctxRangeStartA("two");
	put(100);
	roctxRangeStop(one);
	put(1000);
	roctxRangeStop(two);
	int third = roctxRangePop();
	put(1);
	int fourth = roctxRangePop();
	if (first != 0 || second != 1 || one != 40 || two != 41 || third != 1 || fourth != 0 || stopped != 4041)
		return 1;"""
FROM_ROCTX = {
    "train": (1, 0, 1),
    "train/epoch_#/batch-#": (1, 0, 10),
    "train/epoch_#/batch-#/one": (1, 0, 0),
    "train/epoch_#/batch-#/one/two": (1, 0, 1100),
}


def standin(directory: Path) -> Path:
    source, library = directory / "roctx.c", directory / "libroctx64.so.4"
    source.write_text(STANDIN)
    link = f"-Wl,-soname,{library.name}"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, link], check=True)
    return library


def test_roctx_is_called_as_ever(build: Build, observe: Observe, tmp_path: Path) -> None:
    library = standin(tmp_path)
    program = build(ROCTX, library, f"-Wl,-rpath,{tmp_path}", before=DECLARED)
    assert subprocess.run([program], cwd=tmp_path, check=False).returncode == 0
    assert phases(observe([program], options=ON, cwd=tmp_path), *COUNTED) == FROM_ROCTX
    assert phases(observe([program], cwd=tmp_path), *COUNTED) == {}


def test_roctx_in_a_plugin(build: Build, observe: Observe, tmp_path: Path) -> None:
    """As an extension of Python brings it: nobody else sees its names."""
    library = standin(tmp_path)
    source = tmp_path / "plugin.c"
    source.write_text(
        f"{HEAD}{DECLARED}int work(int to)\n{{\n\tfd = to;\n{ROCTX}\n\treturn 0;\n}}\n",
    )
    plugin = tmp_path / "plugin.so"
    command = ["cc", "-shared", "-fPIC", "-o", plugin, source, library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, check=True)
    body = f"""\
	void *plugin = dlopen("{plugin}", RTLD_NOW | RTLD_LOCAL);
	return ((int (*)(int))dlsym(plugin, "work"))(fd);"""
    program = build(body)
    assert phases(observe([program], options=ON, cwd=tmp_path), *COUNTED) == FROM_ROCTX


def test_many_names(build: Build, observe: Observe, tmp_path: Path) -> None:
    """The last row of 64 is that of all others."""
    body = """\
	char name[200];
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "layer%d", i);
		roctxRangePushA(name);
		put(10);
		roctxRangePop();
	}"""
    program = build(body, standin(tmp_path), f"-Wl,-rpath,{tmp_path}", before=DECLARED)
    told = phases(observe([program], options=ON, cwd=tmp_path), "count", "bytes_written")
    assert len(told) == 64
    assert told["<other phases>"] == (37, 370)


NAMES = {
    "iter 12": "iter #",
    "12": "#",
    "epoch=3, loss 0.25": "epoch=#, loss #.#",
    "layer1": "layer1",
    "conv2d": "conv2d",
    "2d": "2d",
    "é1 1é 1": "é1 1é #",
    "step[007]": "step[#]",
    "x" * 62 + " 1": "x" * 62 + " ",
    "": "",
}


def test_names(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = "".join(f'\troctxRangePushA("{name}");\n\troctxRangePop();\n' for name in NAMES)
    program = build(body, standin(tmp_path), f"-Wl,-rpath,{tmp_path}", before=DECLARED)
    assert set(phases(observe([program], options=ON, cwd=tmp_path), "count")) == set(NAMES.values())


def test_errno_is_kept(build: Build, observe: Observe, tmp_path: Path) -> None:
    body = '\terrno = 77;\n\troctxRangePushA("a");\n\troctxRangePop();\n\treturn errno != 77;'
    program = build(
        body, standin(tmp_path), f"-Wl,-rpath,{tmp_path}", before=f"#include <errno.h>\n{DECLARED}"
    )
    assert observe([program], options=ON, cwd=tmp_path).done.returncode == 0


def test_the_library_is_found_and_needs_libc_alone(iolens: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [iolens, "run", "-q", "--ranges", "-o", tmp_path / "log", "sh", "-c", "echo $LD_PRELOAD"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LD_PRELOAD": ""},
    )
    first, second = done.stdout.strip().split(":")
    assert (Path(first).name, Path(second).name) == ("libiolens.so", "libiolens-ranges.so")
    text = subprocess.run(["readelf", "-dW", second], capture_output=True, text=True, check=True).stdout
    assert "(NEEDED)" in text and all("libc.so" in line for line in text.splitlines() if "(NEEDED)" in line)
