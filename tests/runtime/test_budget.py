"""Bounded memory: files beyond the budget share a record, and nothing else about them is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import shown

PROGRAM = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int files = atoi(argv[1]), rounds = atoi(argv[2]);
	char name[64];
	for (int i = 0; i < files * rounds; i++) {
		snprintf(name, sizeof name, "%s/file-%07d", i % files % 4 ? "many" : "few", i % files);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || write(fd, "0123456789", 10) != 10)
			return 1;
		close(fd);
		if (i / files == rounds - 1)
			unlink(name);
	}
	return argc < 3;
}
"""

FILES, ROUNDS = 3000, 2
Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def folded(compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path) -> str:
    """All that `show` says of a run whose files need more than 2 MiB, with a budget of 1."""
    for folder in ("many", "few"):
        (tmp_path / folder).mkdir()
    program = compile_program(PROGRAM)
    command = ["run", "-q", "-o", "log", "--", program, str(FILES), str(ROUNDS)]
    done = run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": "1"})
    assert done.returncode == 0, done.stderr
    return run_iolens(["show", "--base", "--show-incomplete", "--ext", "log"], cwd=tmp_path).stdout


def test_totals_are_exact_beyond_the_budget(folded: str) -> None:
    posix = [r for (module, _, _), r in shown.records(folded).items() if module == "POSIX"]
    total = {c: sum(int(r[f"POSIX_{c}"]) for r in posix) for c in ("OPENS", "WRITES", "BYTES_WRITTEN")}
    assert total == {
        "OPENS": FILES * ROUNDS,
        "WRITES": FILES * ROUNDS,
        "BYTES_WRITTEN": 10 * FILES * ROUNDS,
    }
    assert 1000 < len(posix) < FILES, "about a thousand records fit a MiB"


def test_a_heat_map_holds_the_folded_bytes_too(folded: str) -> None:
    heat = shown.records(folded)["HEATMAP", "heatmap:POSIX", 0]
    assert sum(int(v) for k, v in heat.items() if "WRITE_BIN" in k) == 10 * FILES * ROUNDS


def test_one_record_per_file_system_stands_for_the_rest(folded: str) -> None:
    names = [name for (module, name, _) in shown.records(folded) if name.endswith("<other files>")]
    assert len(names) == 1


def test_the_module_is_marked_incomplete(folded: str) -> None:
    assert "*WARNING*: The POSIX module contains incomplete data" in folded


def test_the_log_says_how_much_was_folded_where_and_what_would_have_held_it(folded: str) -> None:
    table = shown.sections(folded)
    (row,) = table["folded"]
    kept = sum(1 for (m, name, _) in shown.records(folded) if m == "POSIX" and "<other" not in name)
    missing = FILES - kept
    assert int(row["opens"]) == missing * ROUNDS
    assert abs(int(row["files"]) - missing) < 0.1 * missing
    assert int(row["budget"]) == 1 << 20
    needed = (1 << 20) + missing * 750
    assert 0.8 * needed < int(row["sufficient_budget"]) < 1.4 * needed
    opens = {Path(r["directory"]).name: int(r["opens"]) for r in table["folded_directory"]}
    assert set(opens) == {"many", "few"} and opens["many"] > 2 * opens["few"]
    assert sum(opens.values()) == missing * ROUNDS


def test_the_sufficient_budget_suffices(
    compile_program: Callable[[str], Path], run_iolens: Run, tmp_path: Path, folded: str
) -> None:
    mebibytes = int(shown.sections(folded)["folded"][0]["sufficient_budget"]) / (1 << 20)
    program = compile_program(PROGRAM)
    command = ["run", "-q", "-o", "log2", "--", program, str(FILES), str(ROUNDS)]
    run_iolens(command, cwd=tmp_path, env={"IOLENS_BUDGET": str(1.1 * mebibytes)})
    text = run_iolens(["show", "--base", "--ext", "log2"], cwd=tmp_path).stdout
    assert "folded" not in shown.sections(text)
    assert sum(1 for (module, _, _) in shown.records(text) if module == "POSIX") == FILES
