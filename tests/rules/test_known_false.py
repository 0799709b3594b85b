"""What Drishti means is found under its codes; what it is known to get wrong is not said (T3, T8)."""

from __future__ import annotations

from pathlib import Path

from iolens.metrics import Dataset
from iolens.rules import Finding, find, load

CODES = {
    *(f"P{n:02}" for n in range(1, 23) if n != 20),
    *(f"M{n:02}" for n in range(1, 11)),
    "S01",
}


def found(log: Path) -> dict[str, Finding]:
    with Dataset(log) as data:
        return {f.rule: f for f in find(data)}


def codes(findings: dict[str, Finding]) -> set[str]:
    return {code for f in findings.values() for code in f.aliases}


def test_every_code_is_a_rule_s() -> None:
    """And every rule has a job in which it fires: test_rules.py."""
    assert {code for rule in load().rules.values() for code in rule.aliases} == CODES


def test_blocks_of_collective_buffering_are_not_small(corpus: Path) -> None:
    for log in ("imbalanced-io", "skew-app"):
        assert not codes(found(corpus / "logs" / f"{log}.darshan")) & {"P06", "P16"}, log


def test_a_sum_over_65536_ranks_is_no_waiting(corpus: Path) -> None:
    here = found(corpus / "logs" / "skew-app.darshan")
    assert "P17" not in codes(here)
    assert not {"screen_metadata", "screen_small_writes"} & here.keys()
    # One aggregator moved all of the data, and the job has little I/O.
    assert "serial_io" not in here and "io_is_small" in here
    assert here["one_aggregator"].severity == "low" and here["one_aggregator"].values["worker"] == 0


def test_what_was_read_twice_is_found(corpus: Path) -> None:
    here = found(corpus / "logs" / "imbalanced-io.darshan")
    assert here["redundant_reads"].values["excess"] == 1025628
    assert "P10" not in codes(here)
    assert {"partial_log", "levels_disagree", "one_aggregator"} <= here.keys()
    # All of the 496 ranks write, one passes it on, and POSIX has not all of it.
    assert "serial_io" not in here


def test_the_slow_target_of_a_known_log_is_named(corpus: Path) -> None:
    here = list(found(corpus / "logs" / "sample-badost.darshan").values())
    assert here[0].rule == "slow_servers" and here[0].severity == "high"
    assert here[0].values["osts"] == "14"


def test_a_log_without_hints_is_not_compared_with_nodes(corpus: Path) -> None:
    assert not codes(found(corpus / "logs" / "release-x86_64-3.4.0.darshan")) & {"M08", "M09", "M10"}


def test_every_log_of_the_corpus_can_be_judged(released: list[Path]) -> None:
    for log in released:
        for one in found(log).values():
            assert one.share is None or 0 <= one.share <= 1, log
            assert one.gain is None or one.gain[1] <= (one.time_lost or 0), log
            assert "unknown" not in one.message, (log, one.message)
