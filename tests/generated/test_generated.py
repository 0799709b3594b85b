"""Random programs print, leave and are counted as the model says. `make generated` runs as many as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from generated.__main__ import Campaign
from generated.generator import generate
from generated.known import KNOWN, Known, unknown
from generated.operations import parse
from generated.runner import Runner, build, namespaces_allowed
from generated.shrink import shrink

SEEDS = range(1, 17)
ALONE = range(101, 105)


@pytest.fixture(scope="module")
def campaign(iolens: Path, preload: Path, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    folder = tmp_path_factory.mktemp("generated")
    return Campaign(Runner(iolens, preload, build(folder), folder))


@pytest.mark.parametrize("seed", SEEDS)
def test_program_is_counted_as_the_model_says(campaign: Campaign, seed: int) -> None:
    program = generate(seed, namespaces_allowed())
    assert campaign.differs(program) == [], "\n".join(map(str, program))


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.happened)
def test_known_difference_is_all_that_differs(campaign: Campaign, known: Known) -> None:
    """It becomes an XPASS with the mend: then its line leaves the table."""
    program = known.operations()
    if "unshare" in known.program and not namespaces_allowed():
        pytest.skip("no user namespaces here")
    want, found = campaign.all_differences(program)
    assert unknown(want, found) == []
    if found:
        pytest.xfail(f"{known.why}: {found[0]}")


def test_append_mode_that_a_stream_of_another_process_sets_is_known(campaign: Campaign) -> None:
    """The parent's pwrite goes to the end of the file of 5,000 bytes, and is counted there."""
    child = "0.0 fork 1;1.0 fdopen 1 3 a;1.0 end exit 0;0.0 wait 1"
    lines = f"0.0 open a 2 0;{child};0.0 pwrite 3 10 1 0 0 0;0.0 end exit 0"
    program = [parse(line) for line in lines.split(";")]
    want, found = campaign.all_differences(program)
    assert found == []
    assert want.files["a"] is not None and len(want.files["a"]) == 5010


def test_a_seed_makes_the_same_program_again() -> None:
    program = generate(7)
    assert program == generate(7) == [parse(str(op)) for op in program]


def test_a_program_is_made_small() -> None:
    small = shrink(generate(7), lambda program: sum(op.verb == "open" for op in program) >= 2)
    assert [op.verb for op in small] == ["open", "open"]


@pytest.mark.parametrize("seed", ALONE)
def test_program_with_the_library_alone_is_counted_as_the_model_says(campaign: Campaign, seed: int) -> None:
    """What ended processes have left is made a log by `iolens recover`."""
    program = generate(seed, namespaces=False)
    assert Campaign(campaign.runner, alone=True).differs(program) == [], "\n".join(map(str, program))
