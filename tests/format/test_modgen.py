"""The generator: its products are current, and wrong descriptions are refused with one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = '[[counter]]\nname = "calls"\nreduce = "sum"\nrole = "reads"\ndoc = "Calls."\n'
MODULE = (
    'id = 12\nname = "MDHIM"\nversion = 1\nlayout = "plain"\nprefix = "MDHIM_"\nsize = 24\ndoc = "Test."\n'
)


def modgen(root: Path, *args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, root / "tools" / "modgen", *args]
    return subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True)


def modules(root: Path) -> list[Path]:
    lists = re.findall(
        r"^(?:read_|recordless_|communication_)?modules = \[(.*?)\]",
        (root / "meson.build").read_text(),
        re.M | re.S,
    )
    return [root / "modules" / m / f"{m}.toml" for m in re.findall(r"'(\w+)'", " ".join(lists))]


def test_the_counters_page_is_current(root: Path, tmp_path: Path) -> None:
    page = tmp_path / "counters.md"
    modgen(root, "--docs", root / "format" / "registry.toml", page, *modules(root)).check_returncode()
    assert page.read_text() == (root / "docs" / "reference" / "counters.md").read_text(), "run make docs"


def test_the_page_on_old_logs_is_current(root: Path, tmp_path: Path) -> None:
    page, cp = tmp_path / "old-logs.md", root / "format" / "records" / "cp.toml"
    made = modgen(root, "--docs-old", root / "format" / "registry.toml", page, *modules(root), cp)
    made.check_returncode()
    assert page.read_text() == (root / "docs" / "reference" / "old-logs.md").read_text(), "run make docs"


def generate(root: Path, tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    toml = tmp_path / "mdhim.toml"
    toml.write_text(text)
    return modgen(root, root / "format" / "registry.toml", tmp_path, "mdhim", toml)


def test_a_module_is_its_description_alone(root: Path, tmp_path: Path) -> None:
    generate(root, tmp_path, MODULE + COUNTER).check_returncode()
    assert "struct mdhim_record {" in (tmp_path / "records.h").read_text()
    schema = json.loads((tmp_path / "schema.json").read_text())["schema"]
    assert schema[0]["fields"][0]["darshan"] == ["MDHIM_CALLS"]
    assert schema[0]["fields"][0]["names"] == ["calls"]
    compiled = [
        "cc",
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        f"-I{root / 'format' / 'base'}",
        f"-I{tmp_path}",
    ]
    subprocess.run([*compiled, str(tmp_path / "schema.c")], check=True)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("id = 12", "id = 1"), "not the registry's module 1"),
        (('layout = "plain"', 'layout = "round"'), "unknown layout"),
        (("size = 24", "size = 32"), "fields end at 24, size says 32"),
        (('reduce = "sum"', 'reduce = "mean"'), "unknown reduce: mean"),
        (('role = "reads"', 'role = "king"'), "unknown role: king"),
        (('name = "calls"', 'name = "calls"\nfollows = "nothing"'), "unknown follows: nothing"),
        (('name = "calls"', 'name = "calls"\ncolour = "red"'), "unknown key {'colour'}"),
        (('doc = "Calls."\n', 'doc = "Calls."\n' + COUNTER), "named twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_description_is_refused(
    root: Path, tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    done = generate(root, tmp_path, (MODULE + COUNTER).replace(*change))
    assert done.returncode == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
