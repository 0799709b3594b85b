"""Python packages: layers and rooms import downwards, no circles, no overfull folders."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Lower layers know nothing of the ones above. What is not listed (commands) stands on top of all of them.
LAYERS = ["log", "metrics", "rules", "compare", "overhead", "export", "report", "fleet", "portal"]

# Rooms within a Python package, lowest first; its other folders and files may use all of them.
PYTHON_ROOMS = {"portal": ["data", "access", "web"], "fleet": ["tables", "ingest", "upkeep"]}
PYTHON_FOLDER_FILES = 20


def show(wrong: list[str]) -> str:
    return "\n  " + "\n  ".join(wrong)


def imported(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, first name below iolens) of everything a Python file imports from the package."""
    here = ("iolens", *path.relative_to(package).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names):
            if parts[0] == "iolens" and len(parts) > 1:
                yield node.lineno, parts[1]


def test_python_layers_import_downwards(root: Path) -> None:
    package = root / "python" / "iolens"
    wrong = []
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).parts
        own = inside[0].removesuffix(".py") if len(inside) > 1 or inside[0] != "__init__.py" else ""
        if own not in LAYERS:
            continue
        for line, name in imported(path, package):
            if name in LAYERS and LAYERS.index(name) > LAYERS.index(own):
                wrong.append(f"python/iolens/{'/'.join(inside)}:{line}: {own} may not import {name}")
    assert not wrong, show(wrong)


def modules_imported(path: Path, package: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Modules of the package that a Python file imports when it runs: what only a type checker reads does not count."""
    body = ast.parse(path.read_text())
    typed = {
        inner
        for node in ast.walk(body)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    here = ("iolens", *path.relative_to(package).parts[:-1])
    for node in ast.walk(body):
        if node in typed:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{stem}.{alias.name}"
                if whole in modules:
                    yield whole
                elif stem in modules and not alias.name.startswith("_native"):
                    yield stem


def test_python_packages_have_floors_and_no_circles(root: Path) -> None:
    package = root / "python" / "iolens"
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        modules[".".join(("iolens", *parts)).removesuffix(".__init__")] = path
    uses = {name: set(modules_imported(path, package, modules)) - {name} for name, path in modules.items()}
    wrong = []
    for name, used in uses.items():
        for other in used:
            for room, floors in PYTHON_ROOMS.items():
                here, there = (n.removeprefix(f"iolens.{room}.").split(".")[0] for n in (name, other))
                if here in floors and there in floors and floors.index(there) > floors.index(here):
                    wrong.append(f"{name} stands below {other}")
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as found:
        wrong.append(f"in a circle: {' <- '.join(found.args[1])}")
    for folder in {path.parent for path in modules.values()}:
        if (files := len(list(folder.glob("*.py")))) > PYTHON_FOLDER_FILES:
            wrong.append(f"{folder.relative_to(root)}: {files} files, at most {PYTHON_FOLDER_FILES}")
    assert not wrong, show(sorted(wrong))
