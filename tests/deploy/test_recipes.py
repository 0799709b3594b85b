"""
The recipes for Spack and conda say what pyproject.toml and meson.build say, and what builds for conda renders its own.

Neither can be built here: no channel is in reach.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPACK = "deploy/spack/spack_repo/iolens"
# What they call otherwise.
IN_CONDA = {"duckdb": "python-duckdb"}
IN_SPACK = {"meson": "meson"}
# Of the extension and the command: headers and libraries of C, and what builds them.
NATIVE = {"zlib", "bzip2", "libdeflate", "ninja", "pip", "python", "pkg-config"}


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def version(root: Path) -> str:
    found = re.search(r"^  version: '([^']*)',$", (root / "meson.build").read_text(), re.MULTILINE)
    assert found
    return found[1]


def wanted(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Of each package the lowest version, and the one that is too new, or nothing."""
    bounds = {}
    for line in lines:
        requirement = Requirement(line)
        each = {one.operator: one.version for one in requirement.specifier}
        assert set(each) <= {">=", "<"}, line
        bounds[requirement.name] = (each[">="], each.get("<", ""))
    return bounds


@pytest.fixture(scope="module")
def directives(root: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """What the package's class calls: name, first word, other words."""
    tree = ast.parse((root / SPACK / "packages/iolens/package.py").read_text())
    (package,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert package.name == "Iolens" and ast.unparse(package.bases[0]) == "PythonPackage"
    calls = [node.value for node in package.body if isinstance(node, ast.Expr)]
    return [
        (
            ast.unparse(call.func),
            ast.literal_eval(call.args[0]),
            {str(key.arg): ast.literal_eval(key.value) for key in call.keywords},
        )
        for call in calls
        if isinstance(call, ast.Call)
    ]


def spack_bounds(spec: str) -> tuple[str, str, str]:
    """py-click@8.1:8 is click from 8.1 on, and not 9."""
    name, _, bounds = spec.partition("@")
    lowest, _, highest = bounds.partition(":")
    return name, lowest, str(int(highest) + 1) if highest else ""


def test_spack_s_dependencies_are_the_project_s(
    directives: list[tuple[str, str, dict[str, Any]]], project: dict[str, Any]
) -> None:
    asked = [(spec, more) for name, spec, more in directives if name == "depends_on"]
    for kind, lines in (
        ("run", project["project"]["dependencies"]),
        ("build", project["build-system"]["requires"]),
    ):
        found = {}
        for spec, more in asked:
            name, lowest, above = spack_bounds(spec)
            if (name.startswith("py-") or name in IN_SPACK) and kind in more.get("type", ()):
                found[name.removeprefix("py-") if name not in IN_SPACK else name] = (lowest, above)
        assert found == wanted(lines), kind
    specs = {spec for spec, _ in asked}
    assert {"c", "ninja", "zlib-api", "bzip2", "libdeflate"} <= specs
    assert f"python@{project['project']['requires-python'].removeprefix('>=')}:" in specs
    (tomli,) = [more for spec, more in asked if spec.startswith("py-tomli")]
    assert tomli["when"] == "^python@:3.10"


def test_spack_s_package_has_the_version_and_no_variants(
    directives: list[tuple[str, str, dict[str, Any]]], project: dict[str, Any], root: Path
) -> None:
    assert [spec for name, spec, _ in directives if name == "version"] == [version(root)]
    assert [spec for name, spec, _ in directives if name == "license"] == [project["project"]["license"]]
    assert [spec for name, spec, _ in directives if name == "variant"] == []
    described = ast.parse((root / SPACK / "packages/iolens/package.py").read_text())
    (package,) = [node for node in described.body if isinstance(node, ast.ClassDef)]
    assert ast.get_docstring(package) == project["project"]["description"]


def test_spack_s_repository_is_where_its_namespace_says(root: Path) -> None:
    repository = yaml.safe_load((root / SPACK / "repo.yaml").read_text())["repo"]
    assert repository == {"namespace": Path(SPACK).name, "api": "v2.0"}


def conda_bounds(lines: list[str]) -> dict[str, tuple[str, str]]:
    return {
        name: bounds
        for name, bounds in wanted([line for line in lines if " " in line and "{{" not in line]).items()
        if name not in NATIVE
    }


def test_conda_s_recipe_is_the_project_s(project: dict[str, Any], root: Path) -> None:
    recipe = yaml.safe_load((root / "deploy/conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == version(root)
    about, needs = recipe["about"], recipe["requirements"]
    assert (about["license"], about["summary"]) == (
        project["project"]["license"],
        project["project"]["description"],
    )
    assert [about["license_file"]] == project["project"]["license-files"]
    run = wanted(project["project"]["dependencies"])
    assert conda_bounds(needs["run"]) == {IN_CONDA.get(name, name): bounds for name, bounds in run.items()}
    assert conda_bounds(needs["host"]) == wanted(project["build-system"]["requires"])
    assert f"python {project['project']['requires-python']}" in needs["run"]
    assert {"zlib", "bzip2", "libdeflate", "pip"} <= set(needs["host"]) and "ninja" in needs["build"]
    assert (root / "deploy/conda" / recipe["source"]["path"]).resolve() == root


def test_rattler_build_renders_conda_s_recipe(root: Path) -> None:
    stage0 = pytest.importorskip("rattler_build.stage0", reason="no rattler-build: make outside-checks")
    from rattler_build.variant_config import VariantConfig

    recipe = stage0.Stage0Recipe.from_file(root / "deploy/conda/recipe.yaml")
    (rendered,) = recipe.render(VariantConfig.from_yaml("c_compiler: [gcc]"))
    made = rendered.recipe
    assert (made.package.name, str(made.package.version)) == ("iolens", version(root))
    needs = yaml.safe_load((root / "deploy/conda/recipe.yaml").read_text())["requirements"]
    asked = made.requirements.to_dict()
    assert (asked["host"], asked["run"]) == (needs["host"], needs["run"])
    assert asked["build"][0].startswith("gcc_linux-")
