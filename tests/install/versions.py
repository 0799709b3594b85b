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


def requirement(line: str, which: str) -> str:
    """The line of pyproject.toml for the oldest release that it allows, or without its upper bound."""
    wanted = Requirement(line)
    (least,) = [one.version for one in wanted.specifier if one.operator in (">=", "==")]
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    marker = f"; {wanted.marker}" if wanted.marker else ""
    return f"{wanted.name}{extras}{'==' if which == 'oldest' else '>='}{least}{marker}"


def requirements(which: str) -> list[str]:
    """Of all that iolens needs to run and to be tested; what only tests need is the newest that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in EXTRAS)]
    own = {Requirement(line).name: line for lines in lists for line in lines}
    del own["pyarrow"]  # of Spark's front
    of_tests = {Requirement(line).name: line for line in project["optional-dependencies"]["test"]}
    tests = {name: line for name, line in of_tests.items() if name not in own}
    if which == "oldest":
        chosen = [*(requirement(line, which) for name, line in own.items() if name not in LEFT_OUT)]
        return chosen + [line for name, line in tests.items() if name not in LEFT_OUT]
    return [requirement(line, which) for name, line in {**own, **tests}.items() if name not in LEFT_OUT]


def environment(which: str) -> Path:
    """An environment with these packages and iolens; its Python."""
    place, python = ROOT / "build" / "versions", Path(sys.executable)
    home = place / which
    subprocess.run([python, "-m", "venv", "--clear", home], check=True)
    pip = [home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    listed = place / f"{which}.txt"
    listed.write_text("\n".join(requirements(which)) + "\n")
    subprocess.run([*pip, "-r", listed], check=True)
    options = ["-q", "--no-build-isolation", "--no-deps", "-Cbuild-dir=build", "-Csetup-args=-Dtests=true"]
    path = f"{python.parent}:{os.environ['PATH']}"  # of Meson
    making = [python, "-m", "pip", "wheel", *options, "-w", place / f"{which}-wheel", "."]
    subprocess.run(making, cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    (wheel,) = (place / f"{which}-wheel").glob("iolens-*.whl")
    subprocess.run([*pip, "--no-deps", wheel], check=True)
    return home / "bin" / "python"


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
