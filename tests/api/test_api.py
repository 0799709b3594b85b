"""The C library as somebody who installs it finds it: header, pkg-config file, libraries, manual pages, examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import shown
from interfaces import RECORDED
from logmaker import DXT_POSIX, HEATMAP, POSIX, STDIO, LogMaker, dxt_posix, heatmap, posix

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Compile = Callable[..., Path]
HEADER = "api/iolens/log.h"
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def output(command: Sequence[str | Path], **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command], check=True, capture_output=True, text=True, **options
    )  # type: ignore[call-overload]
    return str(done.stdout)


@pytest.fixture(scope="session")
def prefix(build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`meson install --tags capi,man`, moved to a place of our own."""
    root = tmp_path_factory.mktemp("installed")
    meson = shutil.which("meson") or Path(os.sys.executable).parent / "meson"  # type: ignore[attr-defined]
    output([meson, "install", "-C", build_dir, "--no-rebuild", "--tags", "capi,man", "--destdir", root])
    (found,) = root.rglob("include/iolens/log.h")
    return found.parent.parent.parent


@pytest.fixture(scope="session")
def config(prefix: Path) -> Callable[..., list[str]]:
    (folder,) = prefix.rglob("pkgconfig")

    def ask(*options: str) -> list[str]:
        environment = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
        return output(["pkg-config", *options, "iolens-log"], env=environment).split()

    return ask


@pytest.fixture(scope="session")
def build(
    config: Callable[..., list[str]], prefix: Path, tmp_path_factory: pytest.TempPathFactory
) -> Compile:
    def compiled(source: Path, static: bool = False) -> Path:
        program = tmp_path_factory.mktemp("program") / source.stem
        (folder,) = {path.parent for path in prefix.rglob("libiolens-log.a")}
        libs = config("--libs")
        if static:
            private = [word for word in config("--libs", "--static") if word not in libs]
            libs = [str(folder / "libiolens-log.a"), *private]
        command = ["cc", *FLAGS, *config("--cflags"), "-o", program, source, *libs]
        output(command if static else [*command, f"-Wl,-rpath,{folder}"])
        return program

    return compiled


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made = LogMaker(nprocs=4, names={5: b"/scratch/five", 9: b"heatmap:POSIX"}, partial=[STDIO])
    counters = {"opens": 7, "size_read_100_1k": 8, "bytes_read": 4096, "bytes_written": 10}
    made.regions = {
        POSIX: (4, posix(5, rank=3, read_time=0.25, **counters)),
        HEATMAP: (1, heatmap(9, 0, 0.5, writes=[1, 2], reads=[10, 20])),
        DXT_POSIX: (1, dxt_posix(5, 3, writes=[(0, 10, 1.0, 1.5)], reads=[(4, 6, 2.0, 2.5)])),
    }
    path = tmp_path / "log"
    path.write_bytes(bytes(made))
    return path


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_the_contract_of_the_header(build: Compile, root: Path, static: bool, tmp_path: Path) -> None:
    """MPI-IO records of version 2 have no time of the first close."""
    made = LogMaker(nprocs=4, names={5: b"/scratch/five"}, partial=[STDIO])
    record = posix(5, rank=3, opens=7, size_read_100_1k=8, read_time=0.25)
    made.regions = {POSIX: (4, record), 2: (2, (5).to_bytes(8, "little") + bytes(536))}
    (tmp_path / "log").write_bytes(bytes(made))
    (tmp_path / "text").write_text("this is no log\n")
    program = build(root / "tests" / "api" / "contract.c", static)
    assert (
        output([program, "log", "text"], cwd=tmp_path).strip()
        == output(["sed", "-n", r"s/^  version: '\(.*\)',$/\1/p", root / "meson.build"])
        .splitlines()[0]
        .strip()
    )


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_example_files(build: Compile, root: Path, static: bool, log: Path) -> None:
    program = build(root / "api" / "examples" / "files.c", static)
    assert output([program, log]) == "posix\t3\t4096\t10\t/scratch/five\n"


def test_example_files_of_the_corpus(build: Compile, root: Path, corpus: Path, run_iolens: Run) -> None:
    program = build(root / "api" / "examples" / "files.c")
    for path in sorted((corpus / "logs").glob("*.darshan"))[::4]:
        text = run_iolens(["show", "--show-incomplete", path]).stdout
        wanted = sorted(
            (int(rank), int(row[prefix + "READ"]), int(row[prefix + "WRITTEN"]))
            for (module, _, rank), row in shown.records(text).items()
            for prefix in [f"{module.replace('-', '')}_BYTES_"]
            if module in RECORDED and prefix + "READ" in row
        )
        lines = [line.split("\t") for line in output([program, path], errors="replace").splitlines()]
        found = sorted((int(line[1]), int(line[2]), int(line[3])) for line in lines)
        assert set(found) == set(wanted), path.name


def test_example_dump(build: Compile, root: Path, log: Path) -> None:
    lines = output([build(root / "api" / "examples" / "dump.c"), log]).splitlines()
    assert "module POSIX version 4" in lines and "record 5 rank 3 /scratch/five" in lines
    assert "  size_read = 0 8 0 0 0 0 0 0 0 0" in lines and "  read_time = 0.25 seconds" in lines
    assert "  write_bin = 1 2 bytes" in lines and "  hostname = node01" in lines


def test_example_dump_reads_every_log(build: Compile, root: Path, corpus: Path, run_iolens: Run) -> None:
    program = build(root / "api" / "examples" / "dump.c")
    for path in sorted((corpus / "logs").iterdir()):
        lines = output([program, path], errors="replace").splitlines()
        counted = sum(line.startswith("record ") for line in lines)
        info = run_iolens(["info", path]).stdout
        table = info.partition("\nmodule ")[2].splitlines()[1:]
        rows = [line.split() for line in table[: table.index("") if "" in table else None]]
        assert counted == sum(int(row[2].replace(",", "")) for row in rows if row[2] not in ("-", "data")), (
            path.name
        )


def test_example_dump_names_the_tables_of_our_logs(
    build: Compile, root: Path, run_iolens: Run, tmp_path: Path
) -> None:
    assert run_iolens(["run", "-q", "-o", "own", "--", "true"], cwd=tmp_path).returncode == 0
    text = output([build(root / "api" / "examples" / "dump.c"), tmp_path / "own"])
    assert "table process: 1 rows\n  column rank \n" in text


def test_cells_that_a_table_lacks(build: Compile, root: Path, run_iolens: Run, tmp_path: Path) -> None:
    assert run_iolens(["run", "-q", "-o", "own", "--", "true"], cwd=tmp_path).returncode == 0
    output([build(root / "tests" / "api" / "cells.c"), tmp_path / "own"])


def test_example_timeline(build: Compile, root: Path, log: Path) -> None:
    assert output([build(root / "api" / "examples" / "timeline.c"), log]).splitlines() == [
        "job 42: 4 processes, 100.000 s: /bin/program --with arguments",
        "mount /scratch lustre",
        "mount / ext4",
        "heatmap:POSIX rank 0, bins of 0.5 s: 11 22",
        "/scratch/five 3 write 10 bytes at 0, 1.000000 to 1.500000 s",
        "/scratch/five 3 read 6 bytes at 4, 2.000000 to 2.500000 s",
    ]


@pytest.mark.parametrize("example", ["files", "dump", "timeline"])
def test_examples_say_what_is_wrong(build: Compile, root: Path, example: str, log: Path) -> None:
    program = build(root / "api" / "examples" / f"{example}.c")
    (log.parent / "cut").write_bytes(log.read_bytes()[:1500])
    for path, complaint in (("missing", "missing"), ("cut", "cut: "), ("/", "/: ")):
        done = subprocess.run([program, path], cwd=log.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 3 and complaint in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1


def declared(root: Path) -> set[str]:
    return set(re.findall(r"\b(iolens_\w+)\(", (root / HEADER).read_text()))


def symbols(*command: str | Path) -> set[str]:
    lines = [line.split() for line in output(command).splitlines()]
    return {re.sub("@.*", "", words[-1]) for words in lines if len(words) > 2 and words[-2] != "A"}


def test_the_libraries_export_what_the_header_declares(prefix: Path, root: Path) -> None:
    (shared,) = (path for path in prefix.rglob("libiolens-log.so.*") if not path.is_symlink())
    (static,) = prefix.rglob("libiolens-log.a")
    declarations = declared(root) - {"iolens_log"}
    assert symbols("nm", "-D", "--defined-only", shared) == declarations
    assert symbols("nm", "-g", "--defined-only", static) == declarations
    assert "[libiolens-log.so.0]" in output(["readelf", "-d", shared])
    assert "IOLENS_LOG_0" in output(["readelf", "-V", shared])


def test_the_header_is_c99_and_c_plus_plus(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <iolens/log.h>\nint main(void) { return iolens_error(0); }\n")
    command = ["cc", "-std=c99", *FLAGS[1:], f"-I{prefix}/include", "-fsyntax-only", tmp_path / "a.c"]
    output(command)
    if shutil.which("c++"):
        output(["c++", "-x", "c++", "-Wall", "-Werror", *command[5:]])


def test_manual_pages(prefix: Path, root: Path, run_iolens: Run) -> None:
    pages = {}
    for name in ("man1/iolens.1", "man1/iolens-merge.1", "man3/iolens-log.3"):
        (page,) = prefix.rglob(name)
        done = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", page], capture_output=True, text=True, check=True
        )
        assert not done.stderr
        pages[page.name] = re.sub(".\b", "", re.sub("\x1b\\[[0-9]+m", "", done.stdout))
    commands = re.findall(r"^  (\w+) ", run_iolens(["--help"]).stdout, re.M)
    assert len(commands) > 10
    missing = [name for name in commands if not re.search(rf"^ +{name}\b", pages["iolens.1"], re.M)]
    assert not missing
    assert "--shared-redux" in pages["iolens-merge.1"]
    assert not [name for name in declared(root) if name not in pages["iolens-log.3"]]


def test_the_library_is_not_in_the_wheel(build_dir: Path, root: Path) -> None:
    assert 'install = ["--tags=runtime,python-runtime,man"]' in (root / "pyproject.toml").read_text()
