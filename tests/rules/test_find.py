"""How rules are read, applied and set; single rules have tests of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from iolens.error import IolensError
from iolens.metrics import Dataset
from iolens.rules import Finding, find, load, opened_by
from iolens.rules.text import counted, within
from jobs import Job, MiB, identify
from observed import Observe


@pytest.fixture
def reread(observe: Observe, tmp_path: Path) -> Path:
    """The log of a program that reads 3,000,000 bytes twice."""
    target = tmp_path / "data"
    target.write_bytes(bytes(3_000_000))
    return observe(["sh", "-c", f"cat {target} {target} > /dev/null"]).log


def of(found: list[Finding], rule: str) -> Finding:
    return next(f for f in found if f.rule == rule)


def test_a_finding_has_numbers_evidence_and_advice(reread: Path, tmp_path: Path) -> None:
    with Dataset(reread) as data:
        found = of(find(data), "redundant_reads")
    assert found.values["excess"] == 3_000_000
    assert found.message.startswith(
        "2.9 MiB of 5.7 MiB (50 %) are read a second time or more often, from 1 file"
    )
    assert found.evidence[0].columns == ("name", "bytes_read", "size", "factor", "ranks", "read_time")
    assert found.evidence[0].rows[0][:4] == (str(tmp_path / "data"), 6_000_000, 3_000_000, 2.0)
    assert found.advice and found.aliases == ("P09",)
    assert found.time_lost is not None and found.share is not None and found.gain is not None
    assert 0 < found.gain[0] <= found.gain[1] <= found.time_lost


def test_thresholds_are_settable_and_wrong_ones_named(reread: Path) -> None:
    with Dataset(reread) as data:
        found = find(data, thresholds={"redundant_reads.excess_bytes": 3_000_001})
        assert "redundant_reads" not in {f.rule for f in found}
        with pytest.raises(IolensError, match=r"did you mean redundant_reads\.excess_bytes"):
            find(data, thresholds={"redundant_reads.excess": 1})


def test_a_gain_names_columns_of_the_condition_and_of_the_job(reread: Path, tmp_path: Path) -> None:
    (tmp_path / "gain.toml").write_text("""
title = "A gain"
topic = "data"
why = "For its gain."
condition = "SELECT log, 0.5 * run_time AS half FROM job"
message = "{half:seconds} of {run_time:seconds}, {nprocs:# process}."
severity = { cap = "low" }
[gain]
low = "half / 2 / nprocs"
high = "half + run_time / 4"
assumptions = "None."
""")
    with Dataset(reread) as data:
        job = data.rows("SELECT run_time, nprocs FROM job")[0]
        found = of(find(data, directories=[tmp_path]), "gain")
    assert (found.values["run_time"], found.values["nprocs"]) == (job["run_time"], job["nprocs"])
    assert found.gain == pytest.approx((job["run_time"] / 4 / job["nprocs"], 0.75 * job["run_time"]))


def test_no_cause_costs_more_than_the_time_in_io(tmp_path: Path) -> None:
    """A site's rule that adds up calls of threads at the same time."""
    (tmp_path / "waits.toml").write_text("""
title = "Waits"
topic = "data"
why = "For its time."
condition = "SELECT log, 50.0 AS time_lost FROM job"
message = "{time_lost:seconds} of waiting"
severity = { cap = "high" }
""")
    job = Job(nprocs=1).posix("/scratch/a", 0, read={MiB: 10}, read_time=4.0)
    with Dataset(job.save(tmp_path / "job.darshan")) as data:
        found = of(find(data, directories=[tmp_path]), "waits")
    assert (found.time_lost, found.share, found.message) == (4.0, 0.04, "4 s of waiting")


def test_the_guide_s_rule_works(root: Path, reread: Path, tmp_path: Path) -> None:
    blocks = (root / "docs" / "guide" / "findings.md").read_text().split("```toml\n")[1:]
    rule = next(block.split("```")[0] for block in blocks if block.startswith("title"))
    (tmp_path / "guide.toml").write_text(
        rule.replace("/scratch/old", "/").replace("default = 10", "default = 0")
    )
    problems: list[str] = []
    with Dataset(reread) as data:
        found = of(find(data, directories=[tmp_path], problems=problems), "guide")
    assert problems == [] and found.evidence[0].columns == ("name", "bytes_read")
    assert found.message.startswith(f"{found.values['files']} file")


SITE = """
title = "Ranks"
topic = "data"
why = "A site's own."
condition = "SELECT log, nprocs AS ranks FROM job"
message = "{ranks:# rank}"
severity = { cap = "info" }
"""


def test_a_site_adds_rules_and_is_told_what_is_wrong_with_them(reread: Path, tmp_path: Path) -> None:
    (tmp_path / "ranks.toml").write_text(SITE)
    (tmp_path / "broken.toml").write_text(SITE.replace('topic = "data"', 'topic = "dat"'))
    (tmp_path / "no_column.toml").write_text(SITE.replace("{ranks:# rank}", "{rank}"))
    (tmp_path / "no_table.toml").write_text(SITE.replace("FROM job", "FROM jobs"))
    problems: list[str] = []
    with Dataset(reread) as data:
        found = find(data, directories=[tmp_path], problems=problems)
    assert of(found, "ranks").message == "2 ranks"
    assert [line.split(": ", 1)[0] for line in problems] == [
        str(tmp_path / f"{name}.toml") for name in ("broken", "no_column", "no_table")
    ]
    assert 'topic "dat" is none of' in problems[0]
    assert 'message: no column "rank"' in problems[1]
    assert "jobs" in problems[2]
    assert not any("\n" in line for line in problems)


REACHING = {
    "csv": "SELECT 0 AS log, content AS ranks FROM read_csv('{secret}', columns = {{'content': 'VARCHAR'}})",
    "text": "SELECT 0 AS log, content AS ranks FROM read_text('{secret}')",
    "blob": "SELECT 0 AS log, content AS ranks FROM read_blob('{secret}')",
    "json": "SELECT 0 AS log, json AS ranks FROM read_json_objects('{secret}')",
    "parquet": "SELECT 0 AS log, * FROM parquet_scan('{secret}')",
    "by name": "SELECT 0 AS log, * FROM '{secret}'",
    "glob": "SELECT 0 AS log, file AS ranks FROM glob('{folder}/*')",
    "network": "SELECT 0 AS log, content AS ranks FROM read_text('http://127.0.0.1:9/x')",
    "getenv": "SELECT 0 AS log, getenv('IOLENS_TEST_SECRET') AS ranks",
    "variables of Python": "SELECT 0 AS log, * FROM settings",
    "settings": "SELECT log, nprocs AS ranks FROM job); SET enable_external_access = true; SELECT (1",
    "copy": "SELECT log, nprocs AS ranks FROM job); COPY job TO '{target}'; SELECT (1",
    "copy from": "SELECT log, nprocs AS ranks FROM job); COPY path FROM '{secret}'; SELECT (1",
    "attach": "SELECT log, nprocs AS ranks FROM job); ATTACH '{target}' AS other; SELECT (1",
    "export": "SELECT log, nprocs AS ranks FROM job); EXPORT DATABASE '{target}'; SELECT (1",
    "install": "SELECT log, nprocs AS ranks FROM job); INSTALL httpfs; LOAD httpfs; SELECT (1",
    "load": "SELECT log, nprocs AS ranks FROM job); LOAD '{secret}'; SELECT (1",
}


@pytest.mark.parametrize("place", ["condition", "evidence"])
@pytest.mark.parametrize("way", REACHING)
def test_a_rule_of_a_site_reaches_the_logs_alone(
    way: str, place: str, reread: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOLENS_TEST_SECRET", "the secret")
    rules, secret, target = tmp_path / "rules", tmp_path / "secret", tmp_path / "target"
    rules.mkdir()
    secret.write_text("the secret\n")
    sql = REACHING[way].format(secret=secret, target=target, folder=tmp_path)
    text = SITE
    if place == "condition":
        text = text.replace("SELECT log, nprocs AS ranks FROM job", sql)
        text = text.replace("{ranks:# rank}", "{ranks}")
    else:
        text += f'''[[evidence]]\ntitle = "All"\nsql = """{sql}"""\n'''
    (rules / "reaching.toml").write_text(text)
    problems: list[str] = []
    with Dataset(reread) as data:
        found = find(data, catalog=load([rules]).of(["reaching"]), problems=problems)
        found += find(data, catalog=load([rules]).of(["reaching"]), problems=problems)
    assert len(problems) == 2 and problems[0].startswith(f"{rules}/reaching.toml: ")
    assert not any(f.rule == "reaching" for f in found)
    assert "the secret" not in f"{found}{problems}" and not target.exists()


def test_numbers_and_capitals_in_sentences() -> None:
    assert [counted(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
    assert [counted(2, noun) for noun in ("independent access", "directory", "MPI-IO read", "flush", "way")] == [
        "2 independent accesses", "2 directories", "2 MPI-IO reads", "2 flushes", "2 ways",
    ]  # fmt: skip
    kept = ("HDF5's own metadata", "MPI-IO costs", "Python looks up", "PnetCDF requests")
    assert [within(text) for text in kept] == list(kept)
    assert [within(t) for t in ("Many small files", "A file", "Read-ahead")] == [
        "many small files",
        "a file",
        "read-ahead",
    ]


@pytest.mark.parametrize(
    ("run_time", "lost", "severity"),
    [
        (100, 26, "high"),
        (100, 24, "medium"),
        (100, 11, "medium"),
        (100, 9, "low"),
        (3, 2, "high"),
        (2, 0.9, "medium"),
        (1, 0.11, "medium"),
        (1, 0.09, "low"),
    ],
)
def test_severity_is_the_share_of_the_run_that_a_finding_costs(
    tmp_path: Path, run_time: float, lost: float, severity: str
) -> None:
    """A run of two seconds has findings of medium severity, too; what costs less than a tenth of a second is of low."""
    job = Job(nprocs=1, run_time=run_time).posix("/s/a", 0, read={100: 20_000}, read_time=lost)
    with Dataset(job.save(tmp_path / "a.darshan")) as data:
        found = {f.rule: f for f in find(data)}
    assert found["tiny_reads"].severity == severity
    assert found["tiny_reads"].time_lost == pytest.approx(lost, rel=0.01)


def test_many_small_files_name_the_line_that_makes_them(tmp_path: Path) -> None:
    """1,200 files in 2.4 s; their writes take longer, as do a file of another kind and the line that opens it."""
    made = "save (/home/u/train.py:7)\n<module> (/home/u/train.py:30)"
    written = "dump (/home/u/train.py:9)\n<module> (/home/u/train.py:30)"
    opened = "gather (/home/u/train.py:20)\n<module> (/home/u/train.py:31)"
    job, rows = Job(nprocs=1, run_time=100), []

    def line(stack: str, kind: str, name: str, size: int, time: float) -> None:
        where = {
            "rank": 0,
            "interface": "posix",
            "kind": kind,
            "stack": stack,
            "file": identify(name) % (1 << 40),
        }
        rows.append({**where, "calls": 1, "bytes": size, "time": time})

    for name in (f"/scratch/out/{n}.json" for n in range(1200)):
        job.posix(name, 0, write={300: 1}, meta_time=0.002, write_time=0.02)
        line(made, "meta", name, 0, 0.002)
        line(written, "write", name, 300, 0.02)
    job.posix("/scratch/all.bin", 0, write={64 * MiB: 1}, meta_time=30.0, write_time=0.1)
    line(opened, "meta", "/scratch/all.bin", 0, 30.0)
    with Dataset(job.section("lines", *rows).save(tmp_path / "job.darshan")) as data:
        found = of(find(data), "many_small_files")
    assert opened_by(found) == "Called from save (train.py:7)."
    (row,) = found.evidence[-1].rows
    assert row == ("save (train.py:7)", pytest.approx(2.4), 1200, 0, "/home/u/train.py", 7)
