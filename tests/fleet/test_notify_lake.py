"""iolens fleet notify over a lake: what is told of real findings, and a rule that is tried on history."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from here import Run, in_this_process
from iolens.fleet import Lake
from iolens.fleet.notify import Outbox, read_site
from iolens.fleet.notify.weekly import collect_weekly
from iolens.fleet.saved_queries import ask
from iolens.schemas import load
from jsonschema import Draft202012Validator
from small_lake import small_lake


@pytest.fixture
def run_iolens(run_iolens: Run) -> Run:
    return in_this_process(run_iolens)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_lake(tmp_path_factory)


@pytest.fixture
def notify(run_iolens: Run, lake: Path, tmp_path: Path) -> Run:
    """notify(text of the site's file, option...): its recipient is the directory tmp_path/spool."""

    def run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        site = tmp_path / "site.toml"
        where = f'[[recipient]]\nname = "spool"\nchannel = "directory"\npath = "{tmp_path}/spool"\n'
        where += 'severity = "low"\n'
        site.write_text(f"{text}\n{where}")
        outbox = ["--outbox", str(tmp_path / "outbox.sqlite")]
        return run_iolens(["fleet", "notify", "--lake", lake, "--site", site, *outbox, *options])

    return run


EVER = "[notify]\nmax_age_days = 100000\n"


def told(folder: Path) -> list[dict[str, Any]]:
    messages = (
        [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
    )
    for message in messages:
        Draft202012Validator(load("notice")).validate(message)
    return [finding for message in messages for finding in message["findings"]]


def test_findings_of_the_lake_are_told_once_with_evidence(notify: Run, lake: Path, tmp_path: Path) -> None:
    done = notify(EVER)
    assert done.returncode == 0 and done.stdout.endswith(" delivered, 0 waiting\n")
    found = told(tmp_path / "spool")
    with Lake(lake).open() as data:
        rows = ask(data, "findings", rows=1000, severity="low").dicts()
    listed = {(row["rule"], row["user"], row["application"]) for row in rows}
    assert {(f["rule"], f["user"], f["application"]) for f in found} == listed
    assert len(found) == len(listed) > 3
    (one,) = [f for f in found if f["rule"] == "redundant_reads"]
    assert (one["user"], one["cluster"]) == ("bob", "hopper") and one["job_id"] in (200, 201)
    assert one["evidence"][0]["rows"][0][0] == "/data/set/all" and one["advice"]
    assert notify(EVER).stdout == "0 new messages, 0 delivered, 0 waiting\n"
    assert "delivered  " in notify(EVER, "--status").stdout


def test_a_dry_run_keeps_and_sends_nothing(notify: Run, tmp_path: Path) -> None:
    done = notify(EVER, "--dry-run")
    assert done.returncode == 0 and done.stdout.startswith("to spool: [iolens] ")
    assert not (tmp_path / "spool").exists() and not (tmp_path / "outbox.sqlite").exists()


def test_a_directory_that_cannot_be_written_is_tried_again(notify: Run, tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("in the way")
    done = notify(EVER)
    assert done.returncode == 4 and "spool: " in done.stderr and "0 delivered, " in done.stdout
    assert "spool, tried 1 time," in notify(EVER, "--status").stdout


def test_what_is_not_there_is_told_and_nothing_is_made(run_iolens: Run, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text("")
    command = ["fleet", "notify", "--site", tmp_path / "site.toml"]
    done = run_iolens([*command, "--lake", tmp_path / "absent"])
    assert done.returncode == 2 and f"{tmp_path}/absent: no lake here" in done.stderr
    done = run_iolens([*command, "--lake", lake, "--outbox", tmp_path / "outbox", "--status"])
    assert (done.returncode, done.stderr) == (2, f"iolens: {tmp_path}/outbox: no such outbox\n")
    assert [path.name for path in tmp_path.iterdir()] == ["site.toml"]


RULE = """
title = "Many writes"
topic = "size"
why = "To try it."
condition = "SELECT log, value AS n, 3.0 AS time_lost FROM metric.small_writes WHERE value >= $writes"
message = "{n:count} writes."
severity = { cap = "high" }
[thresholds.writes]
default = 1000000
reason = "None."
"""


MONDAY = datetime(2026, 11, 9, 6, tzinfo=timezone.utc).timestamp()
WEEKLY = """
[site]
name = "Hopper"
portal = "https://io.example.org/"
[[recipient]]
name = "staff"
channel = "directory"
path = "/nowhere"
send = ["weekly"]
[[recipient]]
name = "notices"
channel = "directory"
path = "/nowhere"
[users]
opt_in = ["alice", "bob", "carol", "dave"]
address = "{user}@example.org"
send = ["notices", "weekly"]
"""


def test_a_week_is_told_once_after_it_has_ended(lake: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(WEEKLY)
    site = read_site(str(file))
    with Outbox(tmp_path / "outbox.sqlite") as outbox:
        assert collect_weekly(outbox, site, str(lake), MONDAY) == 3  # carol had no job yet, dave never has
        assert collect_weekly(outbox, site, str(lake), MONDAY + 3 * 86400) == 0
        made = {message.recipient: message for message in outbox.waiting()}
        assert set(made) == {"staff", "user:alice", "user:bob"}
        assert made["staff"].subject == "[Hopper] Week to 2026-11-08: 6 jobs, 24 s lost"
        assert made["user:alice"].subject == "[Hopper] Week to 2026-11-08: 5 jobs"
        assert collect_weekly(outbox, site, str(lake), MONDAY + 7 * 86400) == 2
        assert {message.recipient for message in outbox.waiting()} - set(made) == {"user:carol"}
    for message in made.values():
        Draft202012Validator(load("notice")).validate(message.payload)
    text = made["staff"].body.splitlines()
    assert text[:2] == [
        "2026-11-02 to 2026-11-08 (UTC), compared with the week before",
        "https://io.example.org/?until=2026-11-08",
    ]
    rows = [line.split() for line in text]
    assert (
        ["jobs", "6", "2"] in rows
        and ["users", "2", "2"] in rows
        and ["time", "lost", "24", "s", "24", "s"] in rows
    )
    at = text.index("7 days, compared with the 7 before")
    assert rows[at + 2 : at + 4] == [
        ["train.py", "1", "1", "30", "s", "30", "s", "24", "s", "24", "s"],
        ["sim", "5", "1", "18", "s", "2", "s", "0", "s", "0", "s"],
    ]
    assert "Users who lost most" in text and "Jobs that lost most" in text and "New findings" not in text
    mine = made["user:alice"].body
    assert "sim" in mine and "bob" not in mine and "train.py" not in mine and "users" not in mine
    week = made["user:alice"].payload["week"]
    assert (week["total"]["jobs"], week["before"]["jobs"]) == (5, 1)
    assert [one["query"] for one in week["answers"]] == [
        "job_list",
        "findings",
        "drift",
        "periods",
        "periods",
    ]


def test_the_first_week_of_a_finding_is_its_news(lake: Path, tmp_path: Path) -> None:
    """And a recipient of weeks alone gets no notice of single findings."""
    file = tmp_path / "site.toml"
    file.write_text(WEEKLY)
    site = read_site(str(file))
    assert [one.wants("sync_storm", "high") for one in site.recipients] == [False, True]
    with Outbox(tmp_path / "outbox.sqlite") as outbox:
        assert collect_weekly(outbox, site, str(lake), MONDAY - 7 * 86400) == 3
        (staff,) = (message for message in outbox.waiting() if message.recipient == "staff")
    assert staff.subject == "[Hopper] Week to 2026-11-01: 2 jobs, 24 s lost, 1 new finding"
    (new,) = (one["rows"] for one in staff.payload["week"]["answers"] if one["query"] == "findings")
    assert [(row["rule"], row["user"]) for row in new] == [("redundant_reads", "bob")]
    assert "New findings" in staff.body


def test_a_rule_is_tried_on_history(notify: Run, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "many_writes.toml").write_text(RULE)
    rules = f'[rules]\ndirectories = ["{tmp_path}/rules"]\ndark = ["many_writes"]'
    site = f"{rules}\n[thresholds.many_writes]\nwrites = %d\n"
    trial = json.loads(notify(site % 1000, "--try", "many_writes", "--json").stdout)
    Draft202012Validator(load("trial")).validate(trial)
    del trial["schema"]
    examples = trial.pop("examples")
    assert trial == {
        **{"rule": "many_writes", "jobs": 9, "matching": 6, "users": 1, "applications": 1, "notices": 1},
        **{"time_lost": 18.0, "worst": 3.0, "by_month": [["2026-11", 6]]},
    }
    assert examples[0] == ["alice", "sim", 100, 3.0] and len(examples) == 6
    shown = notify(site % 1001, "--try", "many_writes").stdout
    assert shown.splitlines()[:2] == [
        "many_writes on 9 jobs; no message is sent",
        "  matching   0 jobs of 0 users, 0 applications",
    ]
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("[sit]", (), 'unknown table "sit"'),
        ("", ("--try", "sync_strom"), 'unknown rule "sync_strom"'),
        ('[users]\nsend = ["monthly"]', (), '[users]: "monthly" is none of notices, weekly'),
    ],
)
def test_mistakes_are_one_line(notify: Run, text: str, options: tuple[str, ...], problem: str) -> None:
    done = notify(text, *options)
    assert done.returncode == 2 and problem in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("most", "times"), [(4_000_000_000, 1), (5_000_000_000, 0)])
def test_stricter_thresholds_of_the_site_hold_for_notices(
    notify: Run, tmp_path: Path, most: int, times: int
) -> None:
    """bob's jobs read 4 GiB more than there are."""
    assert notify(f"{EVER}[thresholds.redundant_reads]\nexcess_bytes = {most}\n").returncode == 0
    assert sum(f["rule"] == "redundant_reads" for f in told(tmp_path / "spool")) == times
