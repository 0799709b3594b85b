"""Every test file is in a tier, with its reason; the quick tier has a test of each feature that README names."""

from __future__ import annotations

import ast
import re
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import affected
import pytest
import tiers
import timings

SMALL = """
[api]
tier = "quick"
rooms = ["api"]

["api/test_all.py"]
tier = "full"
why = "long"
alone = "measures"
quick = ["test_one", "test_two[a-*]"]
campaign = ["test_many*"]
"""


def functions(place: Path) -> set[str]:
    """Names of the functions in a file, or in the test files of a folder."""
    files = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_test_file_is_in_a_tier(root: Path) -> None:
    files = [path.relative_to(root / "tests") for path in (root / "tests").rglob("test_*.py")]
    rows = {str(path): tiers.row_of(PurePosixPath(path)) for path in files}
    assert len(files) > 200
    assert [path for path, row in rows.items() if row is None or row.tier not in tiers.TIERS] == []


def test_every_row_is_of_something_and_says_why(root: Path) -> None:
    wrong = []
    for path, row in tiers.ROWS.items():
        at = root / "tests" / path
        if not at.exists():
            wrong.append(f"{path}: there is no such file or folder")
            continue
        if row.tier != "quick" and not row.why:
            wrong.append(f"{path}: why is it not in the quick tier?")
        wrong += [f"{path}: there is no room {room}" for room in row.rooms if not (root / room).exists()]
        known = functions(at)
        patterns = [re.split(r"[\[*]", name)[0] for name in [*row.quick, *row.full, *row.campaign]]
        wrong += [
            f"{path}: no test {name}*" for name in patterns if not any(f.startswith(name) for f in known)
        ]
    assert wrong == []


def test_a_row_decides_by_file_and_by_test() -> None:
    rows, _ = tiers.table(SMALL)
    row = rows["api/test_all.py"]
    assert row.tier_of("test_one", True) == "quick"
    assert row.tier_of("test_two[a-1]", False) == "quick"
    assert row.tier_of("test_two[b-1]", True) == "full"
    assert row.tier_of("test_many[3]", True) == "campaign"
    firsts = tiers.Row("api", "quick", first=True, full=["test_long"])
    assert [firsts.tier_of("test_x[0]", True), firsts.tier_of("test_x[1]", False)] == ["quick", "full"]
    assert firsts.tier_of("test_long", True) == "full"


def readme(root: Path) -> list[str]:
    """What README says that iolens does: the commands it shows, the bullets of what it sees, the pages it leads to."""
    text = (root / "README.md").read_text()
    text = text[text.index("## A run") : text.index("## What it costs")]
    commands = re.findall(r"^(?:\$ )?(iolens (?:fleet )?\w+)", text, re.MULTILINE)
    bullets = re.findall(r"^\* ((?:.|\n(?! *\n|\*))*)", text, re.MULTILINE)
    return [
        *commands,
        *(" ".join(one.split()) for one in bullets),
        *re.findall(r"\]\((docs/guide/[^)]*)\)", text),
    ]


def test_each_feature_in_readme_has_a_quick_test(root: Path) -> None:
    said = readme(root)
    assert len(said) > 25
    unnamed = [one for one in said if not any(feature in one for feature in tiers.FEATURES)]
    assert unnamed == [], "add them to [features] in tests/tiers.toml"
    whole = " ".join((root / "README.md").read_text().split())
    assert [feature for feature in tiers.FEATURES if feature not in whole] == []
    tests = {test for tests in tiers.FEATURES.values() for test in tests}
    assert sorted(test for test in tests if tiers.tier_of(f"tests/{test}") != "quick") == []
    parts = [test.partition("[")[0].partition("::") for test in tests]
    assert [name for file, _, name in parts if name not in functions(root / "tests" / file)] == []


@pytest.mark.parametrize(
    ("changed", "chosen", "left"),
    [
        ({"modules/stdio/record.c"}, {"programs", "reliability"}, {"portal", "fleet", "format"}),
        ({"python/iolens/portal/access/guard.py"}, {"portal"}, {"fleet", "programs", "mpi", "format"}),
        (
            {"python/iolens/metrics/sql/opens.sql"},
            {"metrics", "rules", "fleet", "portal"},
            {"programs", "mpi"},
        ),
        ({"tests/hdf5/test_hdf5.py"}, {"hdf5"}, {"programs", "portal"}),
        ({"tests/mpi_job.py"}, {"mpi", "apmpi", "live"}, {"portal", "format"}),
        ({"meson.build"}, {"portal", "programs", "format"}, set()),
        ({"docs/glossary.md"}, {"house"}, {"portal", "programs"}),
    ],
)
def test_affected_follows_the_arrows(changed: set[str], chosen: set[str], left: set[str]) -> None:
    found = set(affected.choose(changed))
    assert chosen <= found
    assert not left & found


def test_slowest_reads_what_the_last_run_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "STORED", tmp_path / "stored.json")
    with pytest.raises(SystemExit, match=r"run \./bootstrap test"):
        timings.main()
    (tmp_path / "stored.json").write_text('{"tests/a.py::x": 2.5, "tests/a.py::y": 0.5, "tests/b.py::z": 1}')
    said: list[str] = []
    monkeypatch.setattr("builtins.print", said.append)
    timings.main(1)
    assert said == [
        "     4.0 s in 2 files, of these:",
        "     3.0 s tests/a.py",
        "     4.0 s in 3 tests, of these:",
        "     2.5 s tests/a.py::x",
    ]


def test_the_two_parts_of_a_run_are_every_test_of_the_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = tiers.table(SMALL)
    monkeypatch.setattr(tiers, "ROWS", rows)
    names = [
        "api/test_all.py::test_one",
        "api/test_all.py::test_two[b-1]",
        "api/test_all.py::test_many[3]",
        "api/test_x.py::test_y",
    ]
    items = [SimpleNamespace(nodeid=f"tests/{name}") for name in names]
    left: list[object] = []

    def deselected(items: list[object]) -> None:
        left.extend(items)

    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=deselected))

    def taken(tier: str | None, alone: str | None) -> list[str]:
        some = list(items)
        tiers.Tiers(tier, alone).pytest_collection_modifyitems(config, some)  # type: ignore[arg-type]
        return sorted(item.nodeid.removeprefix("tests/") for item in some)

    assert taken(None, None) == sorted(names)
    assert taken("quick", "no") == [names[3]]
    assert taken("quick", "yes") == [names[0]]
    assert taken("full", "no") + taken("full", "yes") == [names[3], names[0], names[1]]
    assert taken("campaign", None) == [names[2]]
    assert len(left) == 0 + 3 + 3 + 3 + 2 + 3
