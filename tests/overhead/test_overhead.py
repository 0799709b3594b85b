"""iolens overhead: a program with and without, in turn, and what the difference is worth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from iolens import schemas
from iolens.compare.statistics import critical_t
from iolens.error import IolensError
from iolens.overhead import Cost, Measure, Run, Trial
from iolens.overhead.cost import _measure
from iolens.overhead.text import sentence, to_text
from jsonschema import Draft202012Validator

WRITER = "import sys, time; open(sys.argv[1], 'a').write(__import__('os').environ.get('LD_PRELOAD', '-') + chr(10))"


def run(*args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    iolens = Path(sys.executable).parent / "iolens"
    return subprocess.run(
        [iolens, "overhead", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def cost(without: list[float], observed: list[float]) -> Cost:
    runs = [Run(side, t, t / 2, 100 * side) for side, ts in ((False, without), (True, observed)) for t in ts]
    times, halves = (_measure(runs, lambda r: r.run_time), _measure(runs, lambda r: r.processor_time))
    return Cost(Trial(["./solver", "a b"], runs=len(without)), tuple(runs), times, halves)


def test_runs_alternate_and_only_every_other_is_observed(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    done = run("-n", 3, "--warmup", 1, "--json", "--", sys.executable, "-c", WRITER, seen)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    Draft202012Validator(schemas.load("overhead")).validate(told)
    observed = ["libiolens" in line for line in seen.read_text().splitlines()]
    assert observed == [False, True, True, False, False, True, True, False]
    assert (told["runs"], told["warmup"], told["command"][-1]) == (3, 1, str(seen))
    assert len(told["run_time"]["without"]["values"]) == len(told["run_time"]["with"]["values"]) == 3
    assert told["log_bytes"] > 500
    assert 0 < told["processor_time"]["without"]["mean"] < 10 * told["run_time"]["without"]["mean"]


def test_the_numbers_are_those_of_the_textbook() -> None:
    """Welch's test of two samples with equal sizes; t, df and p computed by hand from the definition."""
    found = cost([10.0, 11.0, 12.0, 13.0], [12.0, 13.0, 14.0, 19.0]).run_time
    assert (found.without.mean, found.observed.mean, found.difference) == (11.5, 14.5, 3.0)
    assert found.share == pytest.approx(3 / 11.5)
    assert found.welch is not None
    assert found.welch.t == pytest.approx(3 / (5 / 3 / 4 + 29 / 3 / 4) ** 0.5)
    assert found.welch.df == pytest.approx((34 / 12) ** 2 / ((5 / 12) ** 2 / 3 + (29 / 12) ** 2 / 3))
    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    ("without", "observed", "verdict", "words"),
    [
        ([100.0, 100.1, 99.9, 100.0], [100.0, 100.1, 100.0, 99.9], "none", "No overhead can be measured"),
        ([100.0, 100.1, 99.9, 100.0], [103.0, 103.1, 102.9, 103.0], "slower", r"changes by \+3.00 %"),
        ([103.0, 103.1, 102.9, 103.0], [100.0, 100.1, 99.9, 100.0], "faster", "something else differed"),
        (
            [100.0, 120.0, 90.0, 110.0, 100.0],
            [101.0, 121.0, 92.0, 108.0, 100.0],
            "unproven",
            "Not proven.*About [0-9,]+ runs",
        ),
    ],
)
def test_verdicts(without: list[float], observed: list[float], verdict: str, words: str) -> None:
    import re

    found = cost(without, observed)
    assert found.verdict == verdict
    assert re.search(words, sentence(found))
    assert sentence(found) in to_text(found)
    assert "./solver 'a b'" in to_text(found)


def test_more_runs_are_asked_for_as_the_interval_is_wide() -> None:
    """As many as make 1 %, of the same means and deviations, with Student's t of that many runs."""
    found = cost([100.0, 120.0, 90.0, 110.0, 105.0], [101.0, 121.0, 92.0, 108.0, 103.0])
    spread = (found.run_time.without.sd**2 + found.run_time.observed.sd**2) ** 0.5

    def width(runs: int) -> float:
        freedom = found.run_time.welch.df * (runs - 1) / 4 if found.run_time.welch else 0
        return 2 * critical_t(freedom, 0.05) * spread / runs**0.5 / found.run_time.without.mean

    assert width(5) == pytest.approx(found.width)
    assert width(found.runs_needed) <= 0.01 < width(found.runs_needed - 1)
    assert cost([1.0, 1.0], [1.0, 1.0]).runs_needed == 2


def test_few_runs_do_not_tell_how_many_it_takes() -> None:
    found = cost([100.0, 120.0], [101.0, 121.0])
    assert found.verdict == "unproven"
    assert "2 runs each are too few to estimate how many are needed: try -n 20." in sentence(found)


def test_equal_times_are_no_overhead() -> None:
    found = cost([2.0, 2.0], [2.0, 2.0])
    assert found.verdict == "none"
    assert "All runs took the same time." in to_text(found)


def test_an_empty_mean_has_no_share() -> None:
    found: Measure = cost([0.0, 0.0], [1.0, 1.0]).run_time
    assert found.share is None


def test_what_costs_time_for_sure_fails_a_check(tmp_path: Path) -> None:
    slow = tmp_path / "slow.sh"
    slow.write_text('case "$LD_PRELOAD" in *libiolens*) sleep 0.4 ;; esac\nsleep 0.05\n')
    done = run("-n", 3, "--warmup", 0, "--fail-above", 50, "--", "sh", slow)
    assert done.returncode == 1, done.stderr
    assert "With iolens, the run time changes by +" in done.stdout
    assert run("-n", 3, "--warmup", 0, "--fail-above", 100000, "--", "sh", slow).returncode == 0


def test_setup_runs_before_each_and_output_is_shown_when_asked(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    done = run("-n", 2, "--warmup", 0, "--setup", f"echo x >> {counted}", "--show", "--", "echo", "hello")
    assert done.returncode == 0, done.stderr
    assert counted.read_text() == "x\n" * 4
    assert done.stdout.count("hello\n") == 4 + 1  # and in the line that names the command
    assert "hello\nhello" not in run("-n", 2, "--warmup", 0, "--", "echo", "hello").stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["--", "sh", "-c", "echo bad luck >&2; exit 3"],
            "sh: ended with 3 without iolens.*it said: bad luck",
        ),
        (["--", "sh", "-c", "kill -9 $$"], "sh: was ended by signal 9 without iolens"),
        (["--", "/no/such/program"], "/no/such/program"),
        (["--", "sh", "-c", 'test -z "$LD_PRELOAD"'], "sh: ended with 1 with iolens"),
        (["-n", "1", "--", "true"], "-n"),
        (["--fail-above", "nan", "--", "true"], "--fail-above.*nan is no number"),
        (["--fail-above", "-5", "--", "true"], "--fail-above.*-5"),
        (["--options", "-o other.darshan", "--", "true"], "--options.*a log of its own"),
        (["--setup", "exit 7", "--", "true"], "--setup ended with 7"),
        (["--options", "'", "--", "true"], "--options"),
        (["--options", "--nonsense", "--", "true"], "nonsense"),
        ([], "COMMAND"),
    ],
)
def test_what_cannot_be_measured_is_one_line(args: list[str], problem: str) -> None:
    import re

    done = run(*args)
    assert done.returncode == 2, done.stdout
    assert re.search(problem, done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_a_shell_that_is_observed_already_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/lib/libiolens.so")
    with pytest.raises(IolensError, match="observed already"):
        next(Trial(["true"]).each())


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_stop_ends_the_program_too(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """The program itself sends it, as soon as it runs: its start may not be over in the command."""
    mark, places = tmp_path / "pid", tmp_path / "places"
    places.mkdir()
    iolens = Path(sys.executable).parent / "iolens"
    stop = f"echo $$ > {mark}; kill -{number.name[3:]} $PPID; exec sleep 60"
    environment = {**os.environ, "TMPDIR": str(places)}
    command = [iolens, "overhead", "-n", "2", "--", "sh", "-c", stop]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as child:
        assert child.wait(30) == code
    assert not list(places.iterdir()), "its log is left"
    assert not Path(f"/proc/{mark.read_text().strip()}").exists(), "the program still runs"
