"""iolens findings: what it prints, its options, its exit codes, and iolens explain RULE."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from here import Run, in_this_process
from jobs import Job, KiB, MiB


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """40 s of 100 s in small reads: a high finding."""
    return Job().posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=50.0).save(tmp_path / "a.darshan")


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    return (
        Job(nprocs=1).posix("/scratch/a", 0, read={MiB: 40}, read_time=1.0).save(tmp_path / "quiet.darshan")
    )


def test_the_most_severe_comes_first_with_its_cost_and_advice(run_iolens: Run, log: Path) -> None:
    done = run_iolens(["findings", log], env={})  # in a process of its own
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines[0].split() == ["high", "Many", "small", "reads", "[small_reads]"]
    assert lines[1].startswith("  4,000 of 4,000 reads (100 %) are smaller than 1 MiB, 64 KiB on average")
    assert "costs 40 s, 40 % of the run time; can save 1.18 s to 38 s (confidence: medium)." in done.stdout
    assert "  -> Read a few megabytes at a time" in done.stdout
    assert "file.read(RECORD)" not in done.stdout
    verbose = run_iolens(["findings", "-v", log]).stdout
    assert "Files with most reads:" in verbose
    assert "with open(" not in verbose  # the job is not Python's
    assert "/scratch/a  4,000" in verbose


@pytest.mark.parametrize("spent", [0.5, 0.0])
def test_what_costs_next_to_nothing_is_a_count_behind_what_the_time_goes_into(
    run_iolens: Run, tmp_path: Path, spent: float
) -> None:
    """Half a second of 100 in small reads, or none, while a compiler keeps the processor busy."""
    job = Job(nprocs=1).posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=spent)
    used = {"user_time": 90.0, "system_time": 4.0, "major_faults": 0, "waits": 9, "end": 100.0}
    job.section(
        "process",
        {"rank": 0, "pid": 1, "exe": "/usr/bin/cc1", "start": 0.0, "io_time": spent, "ended": "exit", **used},
    )
    log = job.save(tmp_path / "compiled.darshan")
    lines = run_iolens(["findings", log]).stdout.splitlines()
    assert lines[0] == "The time goes into something else: the processor, busy for 94 % of the run."
    assert lines[-1] == "1 more below 1 % of the run: --all" and "small_reads" not in " ".join(lines)
    every = run_iolens(["findings", "--all", log]).stdout
    assert "[small_reads]" in every and "more below" not in every
    assert "[small_reads]" in run_iolens(["findings", "-v", log]).stdout


def test_a_finding_of_low_severity_stands_behind_the_time_in_io(run_iolens: Run, tmp_path: Path) -> None:
    """A log of another tool: what else its time went into is not known."""
    job = Job(nprocs=1).posix("/scratch/a", 0, read={64 * KiB: 4000}, read_time=6.0)
    log = job.save(tmp_path / "low.darshan")
    lines = run_iolens(["findings", log]).stdout.splitlines()
    assert lines[0] == "I/O takes 6.0 % of the run time, and no finding is of weight."
    assert lines[2].startswith("low     4,000 of 4,000 reads")
    assert not run_iolens(["findings", "-v", log]).stdout.startswith("I/O takes")


def test_a_run_in_io_is_not_said_to_spend_its_time_elsewhere(run_iolens: Run, tmp_path: Path) -> None:
    """A compiler that reads for 76 of 100 seconds, and computes in 55 of them, during its reads."""
    job = Job(nprocs=1).posix("/scratch/a", 0, read={MiB: 400}, read_time=76.0)
    used = {"user_time": 50.0, "system_time": 5.0, "major_faults": 0, "waits": 9, "end": 100.0}
    job.section(
        "process",
        {"rank": 0, "pid": 1, "exe": "/usr/bin/cc1", "start": 0.0, "io_time": 76.0, "ended": "exit", **used},
    )
    assert "something else" not in run_iolens(["findings", job.save(tmp_path / "reads.darshan")]).stdout


def test_exit_codes(run_iolens: Run, log: Path, quiet: Path, tmp_path: Path) -> None:
    assert run_iolens(["findings", log, "--fail-on", "high"]).returncode == 1
    assert run_iolens(["findings", quiet, "--fail-on", "low"]).returncode == 0
    assert run_iolens(["findings", quiet, log, "--fail-on", "low"]).returncode == 1
    assert run_iolens(["findings", log, "--fail-on", "high", "--only", "P12"]).returncode == 0
    assert "small_reads" not in run_iolens(["findings", log, "--skip", "P05"]).stdout
    for wrong, code in (
        (["--only", "small"], 2),
        (["--threshold", "small_reads.count"], 2),
        (["--threshold", "small_reads.count=many"], 2),
        (["--threshold", "small_reads.counts=1"], 2),
        (["--rules", tmp_path / "none"], 2),
        (["--thresholds", tmp_path / "none.toml"], 3),
        ([tmp_path / "none.darshan"], 3),
    ):
        done = run_iolens(["findings", log, *wrong])
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert done.stderr.startswith("iolens: ")


def test_thresholds_of_the_command_line_and_a_file(run_iolens: Run, log: Path, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('[small_reads]\nsmall_bytes = "10KiB"\n')
    for option in (["--threshold", "small_reads.count=5e3"], ["--thresholds", tmp_path / "site.toml"]):
        assert "small_reads" not in run_iolens(["findings", log, *option]).stdout
    severe = run_iolens(["findings", log, "--threshold", "severity.high=0.5", "--only", "small_reads"])
    assert severe.stdout.startswith("medium")


def test_json_and_csv_have_everything(run_iolens: Run, log: Path, quiet: Path) -> None:
    rows = json.loads(run_iolens(["findings", quiet, log, "--json", "--only", "P05"]).stdout)["findings"]
    assert [(row["path"], row["rule"], row["time_lost"]) for row in rows] == [(str(log), "small_reads", 40.0)]
    assert rows[0]["evidence"][0]["rows"][0][:3] == ["/scratch/a", 4000, 4000 * 65536]
    table = list(csv.DictReader(run_iolens(["findings", log, "--csv", "--only", "P05"]).stdout.splitlines()))
    assert [(row["severity"], row["aliases"]) for row in table] == [("high", "P05")]
    assert float(table[0]["gain_high"]) == pytest.approx(38.0)


def test_rules_of_the_site(run_iolens: Run, log: Path, tmp_path: Path) -> None:
    (tmp_path / "wide.toml").write_text(
        'title = "Few ranks"\ntopic = "data"\nwhy = "Ours."\nmessage = "{ranks:# rank}"\n'
        'condition = "SELECT log, nprocs AS ranks FROM job"\nseverity = { cap = "info" }\n'
    )
    (tmp_path / "broken.toml").write_text("title = 3")
    done = run_iolens(["findings", log], env={"IOLENS_RULES": str(tmp_path)})
    assert done.returncode == 0
    assert "8 ranks [wide]" in done.stdout
    assert done.stderr == f'iolens: {tmp_path}/broken.toml: "title" must be a string\n'


def test_names_cannot_command_the_terminal(run_iolens: Run, tmp_path: Path) -> None:
    job = Job().posix("/scratch/\x1b[31mred", 0, read={64 * KiB: 4000}, read_time=30.0)
    done = run_iolens(["findings", "-v", job.save(tmp_path / "a.darshan")])
    assert "\x1b" not in done.stdout and "\\x1b[31mred" in done.stdout


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_text_fits_the_terminal(run_iolens: Run, log: Path, columns: int) -> None:
    out = run_iolens(["findings", log], env={"COLUMNS": str(columns)}).stdout
    assert max(len(line) for line in out.splitlines()) <= min(columns, 110)


def test_rules_are_explained(run_iolens: Run) -> None:
    text = run_iolens(["explain", "P05"]).stdout
    assert text.startswith("small_reads: Many small reads\n")
    assert "1.04858e+06" not in text and "FROM metric.posix_costs" in text
    assert json.loads(run_iolens(["explain", "small_reads", "--json"]).stdout)["aliases"] == ["P05"]
