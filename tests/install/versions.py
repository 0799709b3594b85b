"""What depends on other packages, tested with the oldest releases of these that pyproject.toml allows, or the newest.

usage: tests/install/versions.py oldest|newest [ARGUMENTS OF PYTEST...]
The newest are those that the index has, whatever pyproject.toml allows: a new major release shows here first. Spark has
a target of its own (make spark-tests). Makes an environment of 700 MB, build/versions/oldest or newest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
EXTRAS = ("fleet", "mcp", "notebook", "portal", "postgres", "pdf", "spark")
LEFT_OUT = ("pyspark", "drishti-io", "mpi4py", "nvtx", "nvidia-nvtx-cu11")
# Those of the quick tier whose programs import what is not iolens'.
TESTS = (
    *(
        "assistant",
        "ci",
        "compare",
        "export",
        "fleet",
        "metrics",
        "notebook",
        "portal",
        "python",
        "report",
        "rules",
    ),
    *("cli/test_findings.py", "cli/test_progress.py", "cli/test_safe_output.py", "schemas"),
)


def unbounded(line: str) -> str:
    """The requirement without its upper bound."""
    wanted = Requirement(line)
    wanted.specifier = SpecifierSet(",".join(str(one) for one in wanted.specifier if one.operator != "<"))
    return str(wanted)


def requirements(which: str) -> tuple[list[str], list[str]]:
    """What iolens needs to run, and what only its tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in EXTRAS for line in extras[extra])]
    own = {name: line for line in lines if (name := Requirement(line).name) not in LEFT_OUT}
    tests = {Requirement(line).name: line for line in extras["test"]}
    others = [line for name, line in tests.items() if name not in {*own, *LEFT_OUT} or name == "pyarrow"]
    own.pop("pyarrow", None)  # of Spark's front
    if which == "newest":
        return [*map(unbounded, own.values())], [*map(unbounded, others)]
    return list(own.values()), [*others, "httpx"]  # of the test client of Starlette 1.0


def environment(which: str) -> Path:
    """An environment with these packages and iolens; its Python. uv knows the oldest releases that go together."""
    place, python = ROOT / "build" / "versions", Path(sys.executable)
    home = place / which
    own, others = requirements(which)
    (place / which).mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "venv", "--clear", home], check=True)
    inner = home / "bin" / "python"
    pip = [inner, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "uv"], check=True)
    resolution = "lowest-direct" if which == "oldest" else "highest"
    uv = [home / "bin" / "uv", "pip", "install", "-q", "--python", inner, "--resolution", resolution]
    subprocess.run([*uv, *own], check=True)
    subprocess.run([*pip, *others], check=True)
    options = ["-q", "--no-build-isolation", "--no-deps", "-Cbuild-dir=build", "-Csetup-args=-Dtests=true"]
    path = f"{python.parent}:{os.environ['PATH']}"  # of Meson
    making = [python, "-m", "pip", "wheel", *options, "-w", home / "wheel", "."]
    subprocess.run(making, cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    (wheel,) = (home / "wheel").glob("iolens-*.whl")
    subprocess.run([*pip, "--no-deps", wheel], check=True)
    return inner


def main() -> int:
    which, *arguments = sys.argv[1:] or [""]
    if which not in ("oldest", "newest"):
        print(__doc__, file=sys.stderr)
        return 2
    chosen = arguments or ["-q", "-n", str((os.cpu_count() or 1) + 1), "--tier", "quick"]
    paths = (
        [] if any(word.startswith("tests/") for word in arguments) else [f"tests/{path}" for path in TESTS]
    )
    return subprocess.run(
        [environment(which), "-m", "pytest", *chosen, *paths], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
