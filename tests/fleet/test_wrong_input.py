"""What a person may get wrong on the commands of `iolens fleet`: a line that names command and option, nothing done."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import pytest
from iolens.cli import main
from iolens.fleet import Lake

Tell = Callable[[str], "tuple[object, str, str]"]
SEE = ": see iolens fleet {} --help"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IOLENS_LAKE", raising=False)
    (tmp_path / "file").write_text("JobID|User\n")
    return Lake.create(tmp_path / "lake")


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    """tell(arguments): exit code, standard output and standard error of `iolens fleet ARGUMENTS`."""

    def run(arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["iolens", "fleet", *arguments.split()])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("ingst", 2, "fleet: No such command 'ingst': see iolens fleet --help"),
        ("ingest file", 2, "fleet ingest: --lake DIR is missing" + SEE.format("ingest")),
        ("ingest --lake lake", 2, "fleet ingest: LOGS... is missing" + SEE.format("ingest")),
        (
            "ingest absent --lake lake",
            2,
            "fleet ingest: Invalid value for 'LOGS...': Path 'absent' does not exist",
        ),
        ("ingest file --lake lake --rules absent", 2, "absent: no directory of rules"),
        ("ingest file --lake lake --thresholds absent", 3, "absent: No such file or directory"),
        ("ingest file --lake lake --pseudonymize absent", 2, "absent: No such file or directory"),
        (
            "top --lake lake",
            2,
            "fleet top: expected users, applications, files or directories" + SEE.format("top"),
        ),
        (
            "top users -n -3 --lake lake",
            2,
            "fleet top: Invalid value for '-n' / '--rows': -3 is not in the range",
        ),
        ("top directories --depth -1 --lake lake", 2, "fleet top: Invalid value for '--depth': -1 is not"),
        ("top files --by io --lake lake", 2, "fleet top: --by io goes with users and applications"),
        (
            "findings -n 0 --lake lake",
            2,
            "fleet findings: Invalid value for '-n' / '--rows': 0 is not in the range",
        ),
        ("history app --recent 0 --lake lake", 2, "fleet history: Invalid value for '--recent': 0 is not"),
        (
            "history app --factor 0.5 --lake lake",
            2,
            "fleet history: Invalid value for '--factor': 0.5 is not",
        ),
        ("job --lake lake", 2, "fleet job: ID is missing" + SEE.format("job")),
        ("mark 2013-01 text --lake lake", 2, "fleet mark: Invalid value for 'DAY': '2013-01' does not match"),
        (
            "accounting file absent --lake lake",
            2,
            "fleet accounting: Invalid value for 'FILE...': File 'absent' does",
        ),
        ("accounting file --observed absent --lake lake", 3, "absent: No such file or directory"),
        ("notify --lake lake --site absent", 2, "absent: No such file or directory"),
        ("recompute --lake lake --thresholds absent", 3, "absent: No such file or directory"),
        ("retention --lake lake", 2, "fleet retention: --detail, --jobs or --pseudonyms is needed"),
        ("export --lake lake --openmetrics absent/metrics", 3, "absent/metrics: No such file or directory"),
        (
            "import absent --lake lake",
            2,
            "fleet import: Invalid value for 'FILE...': Path 'absent' does not exist",
        ),
        ("verify --lake absent", 2, "absent: no lake here: `iolens fleet ingest LOGS --lake DIR` makes one"),
    ],
)
def test_it_is_one_line(arguments: str, code: int, said: str, lake: Lake, tell: Tell) -> None:
    before = sorted(lake.path.parent.rglob("*"))
    ended, out, told = tell(arguments)
    assert (ended, out, told.count("\n")) == (code, "", 1), told
    assert told.startswith(f"iolens: {said}")
    assert sorted(lake.path.parent.rglob("*")) == before


def test_without_a_command_it_tells_which_there_are(tell: Tell) -> None:
    code, out, told = tell("")
    assert (code, out) == (2, "")
    assert told.startswith("Usage: iolens fleet ") and "\n  verify " in told
