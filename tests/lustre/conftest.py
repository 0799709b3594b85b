"""The stand-in for Lustre, built once and mounted for each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from standin import StandIn, build, stand_in


@pytest.fixture(scope="session")
def standin_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def lustre(standin_program: Path, tmp_path: Path) -> Iterator[StandIn]:
    place = tmp_path.resolve() / "place"
    place.mkdir()
    with stand_in(standin_program, place) as mounted:
        yield mounted
