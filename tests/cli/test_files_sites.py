"""`iolens files --sites`: which program or library opened a file, and where in it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from observed import Observe

SOURCE = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
void first(void) { int f = open("one", O_WRONLY | O_CREAT, 0600); write(f, "x", 1); close(f); }
void second(void) { FILE *f = fopen("two", "w"); fputs("y", f); fclose(f); }
int main(void) { first(); second(); }
"""


def ranges(program: Path) -> dict[str, range]:
    """Addresses of the functions."""
    done = subprocess.run(["nm", "-S", program], check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {
        row[3]: range(int(row[0], 16), int(row[0], 16) + int(row[1], 16)) for row in rows if len(row) == 4
    }


def test_places_of_calls(
    observe: Observe,
    run_iolens: Callable[..., subprocess.CompletedProcess[str]],
    compile_program: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    program = compile_program(SOURCE)
    functions = ranges(program)
    log = observe([program], cwd=tmp_path).log
    table = run_iolens(["files", "--sites", log]).stdout
    found = dict(re.findall(r"program\+(0x[0-9a-f]+) +\S*/(one|two)$", table, re.M))
    places = {name: int(offset, 16) for offset, name in found.items()}
    assert places["one"] in functions["first"] and places["two"] in functions["second"]
    files = json.loads(run_iolens(["files", "--sites", "--json", log]).stdout)["files"]
    for file in files:
        (site,) = file["opened_by"]
        name = Path(file["name"]).name
        assert (site["module"], site["offset"]) == (str(program), places[name])
        assert site["interface"] == {"one": "posix", "two": "stdio"}[name]
    assert "opened_by" not in run_iolens(["files", "--json", log]).stdout
    assert "opened by" not in run_iolens(["files", log]).stdout


def test_a_log_that_does_not_tell(
    run_iolens: Callable[..., subprocess.CompletedProcess[str]], corpus: Path
) -> None:
    log = corpus / "logs" / "ior-hdf5.darshan"
    assert run_iolens(["files", "--sites", log]).stdout == run_iolens(["files", log]).stdout
