"""`make sbom`: the bill of materials of the build that is tested here."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

VERSIONS = """
#include <bzlib.h>
#include <libdeflate.h>
#include <stdio.h>
#include <zlib.h>
int main(void) { return printf("%s\\n%s\\n%s\\n", zlibVersion(), BZ2_bzlibVersion(), LIBDEFLATE_VERSION_STRING) < 0; }
"""
# Of the extras that a user may choose.
OPTIONAL = ["deltalake", "mcp", "jinja2", "starlette", "psycopg", "typst", "pyspark", "ipykernel"]


def made(root: Path, build: Path, to: Path, epoch: int = 1700000000) -> Path:
    command = [sys.executable, root / "tools" / "sbom.py", "--build", build, "--to", to]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Path(done.stdout.rstrip("\n"))


@pytest.fixture(scope="module")
def bill(root: Path, build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(root, build_dir, tmp_path_factory.mktemp("sbom"))


@pytest.fixture(scope="module")
def components(bill: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bill.read_text())["components"]
    return found


def named(components: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [one for one in components if one["name"] == name]
    return found


def properties(component: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["name"], one["value"]) for one in component.get("properties", [])]


def test_it_is_valid_and_names_its_version(bill: Path, root: Path) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.read_text()) is None
    main = json.loads(bill.read_text())["metadata"]["component"]
    assert f"version: '{main['version']}'" in (root / "meson.build").read_text()
    assert main["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]
    assert bill.name == f"iolens-{main['version']}.cdx.json"


def test_two_runs_are_the_same_bytes(bill: Path, root: Path, build_dir: Path, tmp_path: Path) -> None:
    assert made(root, build_dir, tmp_path / "again").read_bytes() == bill.read_bytes()
    later = json.loads(made(root, build_dir, tmp_path / "later", epoch=1700000001).read_text())
    assert later["metadata"]["timestamp"] == "2023-11-14T22:13:21+00:00"
    assert later["serialNumber"] != json.loads(bill.read_text())["serialNumber"]


def test_compressors_are_those_of_this_machine(components: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "versions.c").write_text(VERSIONS)
    subprocess.run(["cc", "-o", "versions", "versions.c", "-lz", "-lbz2"], cwd=tmp_path, check=True)
    zlib, bzip2, libdeflate = subprocess.check_output([tmp_path / "versions"], text=True).splitlines()
    for name, version in (("zlib", zlib), ("bzip2", bzip2.split(",")[0])):
        found = [one for one in components if one["name"] == name]
        assert {one["version"] for one in found} == {version}
        users = {value for one in found for key, value in properties(one) if key == "iolens:product"}
        assert {"iolens", "_native.abi3.so"} <= users
    assert named(components, "libdeflate")["version"] == libdeflate
    assert ("iolens:product", "iolens") in properties(named(components, "libdeflate"))


def test_how_a_library_is_linked_is_what_the_command_asks_for(
    components: list[dict[str, Any]], iolens: Path
) -> None:
    needed = subprocess.check_output(["readelf", "-dW", iolens], text=True)
    for name, soname in (("zlib", "libz.so"), ("bzip2", "libbz2.so")):
        (linked,) = [
            dict(properties(one))["iolens:linked"]
            for one in components
            if one["name"] == name and ("iolens:product", "iolens") in properties(one)
        ]
        assert linked == ("shared" if soname in needed else "static")


def test_libbpf_is_the_companion_s_alone(components: list[dict[str, Any]], build_dir: Path) -> None:
    if not (build_dir / "kernel" / "iolens-kernel").exists():
        pytest.skip("this build has no iolens-kernel")
    libbpf = named(components, "libbpf")
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?", libbpf["version"])
    assert properties(libbpf) == [("iolens:linked", "shared"), ("iolens:product", "iolens-kernel")]
    assert libbpf["licenses"] == [{"expression": "LGPL-2.1-only OR BSD-2-Clause"}]


def test_a_file_of_others_has_its_checksum(components: list[dict[str, Any]], root: Path) -> None:
    htmx = named(components, "htmx.org")
    data = (root / "python/iolens/portal/static/htmx.min.js").read_bytes()
    assert (htmx["version"], htmx["purl"]) == ("2.0.11", "pkg:npm/htmx.org@2.0.11")
    assert htmx["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}]


def test_what_is_minified_in_the_package_is_listed(components: list[dict[str, Any]], root: Path) -> None:
    listed = {value for one in components for key, value in properties(one) if key == "iolens:file"}
    package = root / "python" / "iolens"
    others = [*package.rglob("*.min.*"), *(p.with_suffix(".min.js") for p in package.rglob("*.LICENSE"))]
    assert {str(path.relative_to(root)) for path in others} == listed


def test_python_packages_have_the_versions_that_are_installed(components: list[dict[str, Any]]) -> None:
    always = {"click", "duckdb", "mpmath", "pyelftools", "rich"}
    required = {one["name"]: one for one in components if one.get("scope") == "required"}
    assert always <= set(required)
    assert {"markdown-it-py", "pygments"} <= set(required), "what rich needs"
    assert {name: one["version"] for name, one in required.items()} == {
        name: metadata.version(name) for name in required
    }
    assert [name for name, one in required.items() if not one["licenses"]] == []


def test_extras_are_optional_and_development_is_not_in_it(components: list[dict[str, Any]]) -> None:
    assert {named(components, name)["scope"] for name in OPTIONAL} == {"optional"}
    extras = {value for key, value in properties(named(components, "deltalake")) if key == "iolens:extra"}
    assert extras == {"fleet", "portal"}
    names = {one["name"] for one in components}
    assert names & {"pytest", "mypy", "ruff", "mkdocs", "cyclonedx-python-lib"} == set()
    for one in components:
        if one["purl"].startswith("pkg:pypi/") and "version" not in one:
            assert "iolens:not-installed" in dict(properties(one))


def test_no_build_is_one_line(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, root / "tools" / "sbom.py", "--build", tmp_path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sbom: {tmp_path}: no build of iolens: ./bootstrap build\n"
