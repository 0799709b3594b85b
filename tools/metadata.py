"""What the package needs, as pip would note it: for `make install` and Debian's packages, which Meson installs alone.

usage: metadata.py PYPROJECT VERSION OUTPUT
Commands that lack a package then name the one that installs it (python/iolens/extras.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EXTRAS = ("fleet", "mcp", "notebook", "portal", "postgres", "pdf", "spark")


def of_extra(line: str, extra: str) -> str:
    requirement, _, marker = line.partition(";")
    conditions = [marker.strip()] if marker else []
    return f"{requirement.strip()}; {' and '.join([*conditions, f'extra == {extra!r}'])}"


def main() -> None:
    source, version, output = sys.argv[1:]
    project = tomllib.loads(Path(source).read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}"]
    lines += [f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {line}" for line in project["dependencies"]]
    for extra in EXTRAS:
        lines.append(f"Provides-Extra: {extra}")
        lines += [
            f"Requires-Dist: {of_extra(line, extra)}" for line in project["optional-dependencies"][extra]
        ]
    Path(output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
