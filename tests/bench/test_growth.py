"""bench/growth: the exponent is that of the points, the verdict follows, the picture shows them."""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
SIZES = (1_000, 16_000, 32_000, 64_000, 128_000)


@pytest.fixture(scope="module")
def rooms() -> Iterator[tuple[ModuleType, ModuleType]]:
    sys.path.insert(0, str(BENCH / "growth"))
    sys.modules.pop("fit", None)  # bench/scale has one, too
    try:
        yield importlib.import_module("fit"), importlib.import_module("picture")
    finally:
        sys.path.remove(str(BENCH / "growth"))
        for name in ("fit", "picture"):
            sys.modules.pop(name, None)


LAWS: list[tuple[str, Callable[[int], float], float, str]] = [
    ("linear", lambda n: n, 1.0, "at most n log n"),
    ("n log n", lambda n: n * math.log(n), 1.1, "at most n log n"),
    ("n^1.4", lambda n: n**1.4, 1.4, "MORE than n log n"),
    ("quadratic", lambda n: n * n / 1000, 2.0, "MORE than n log n"),
]


@pytest.mark.parametrize(
    ("law", "exponent", "verdict"), [row[1:] for row in LAWS], ids=[row[0] for row in LAWS]
)
def test_the_exponent_is_that_beyond_the_start(
    rooms: tuple[ModuleType, ModuleType], law: Callable[[int], float], exponent: float, verdict: str
) -> None:
    fit, _ = rooms
    found = fit.growth([(n, 0.2 + 1e-5 * law(n)) for n in SIZES])
    assert found.exponent == pytest.approx(exponent, abs=0.06)
    assert found.verdict == verdict


def test_what_does_not_stand_out_has_no_exponent(rooms: tuple[ModuleType, ModuleType]) -> None:
    found = rooms[0].growth([(n, 0.2 + 1e-9 * n * n / 1000) for n in SIZES[:3]])
    assert (found.points, found.verdict) == (0, "within the start")


def test_the_picture_has_every_point(rooms: tuple[ModuleType, ModuleType]) -> None:
    points = [(n, 1e-5 * n) for n in SIZES]
    drawn = ET.fromstring(rooms[1].picture({"a & b": ("records", points), "second": ("ranks", points[:3])}))
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 8
    text = "".join(drawn.itertext())
    assert "a & b" in text and "n^1.00: at most n log n" in text


def test_measured_points_are_written(tmp_path: Path) -> None:
    json_file, picture = tmp_path / "points.json", tmp_path / "growth.svg"
    command = [sys.executable, BENCH / "growth" / "run.py", "--only", "ranks", "--rounds", "1"]
    done = subprocess.run(
        [*command, "--json", json_file, "--picture", picture], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr  # of times: what they say is not for a test
    (name, points), *others = json.loads(json_file.read_text()).items()
    assert (name, others) == ("ranks", []) and [n for n, _ in points] == [2, 64, 128, 256]
    assert all(took > 0 for _, took in points) and points[-1][1] > points[0][1]
    assert done.stdout.splitlines()[-1].startswith("| Making the log of a job | ranks | 2 | 256 |")
    assert ET.parse(picture).getroot().tag.endswith("svg")


def test_a_bench_says_in_one_line_what_it_needs() -> None:
    code = (
        "from needs import need; need('x', packages=['json', 'no_such'], programs=['sh', 'no-such-program'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=BENCH
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("bench/x: no no_such for ") and line.endswith("; no no-such-program on PATH")
