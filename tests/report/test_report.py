"""iolens report as a command, and that a report has all its elements, for any log."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from iolens.metrics import Dataset
from iolens.report import build
from iolens.report.document import (
    Bars,
    Block,
    Boxes,
    Document,
    Facts,
    Heat,
    Note,
    Spans,
    Table,
    Timeline,
    walk,
)
from iolens.report.html import to_html
from iolens.report.plain import to_plain
from iolens.report.text import print_text
from jobs import Job, MiB, lined_job
from logmaker import LogMaker
from observed import Observe
from opened import document_of, dxt_log, dxt_record

MOST_BYTES = 2 << 20


def run(iolens: Path, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(iolens), "report", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True)


def blocks(document: Document) -> dict[str, Block]:
    return {getattr(block, "id", ""): block for block in walk(document)}


def table(document: Document, name: str) -> list[dict[str, object]]:
    found = blocks(document)[name]
    assert isinstance(found, Table)
    return [dict(zip([c.name for c in found.columns], row)) for row in found.rows]


@pytest.fixture
def log(observe: Observe, tmp_path: Path) -> Path:
    text = tmp_path / "some.txt"
    return observe(["sh", "-c", f"echo words > {text}; cat {text} {text} > {tmp_path}/copy.dat"]).log


def test_the_page_is_named_after_the_log_and_lies_here(iolens: Path, log: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    done = run(iolens, log, cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{log.stem}.html\n"
    text = (here / f"{log.stem}.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert [p.name for p in here.iterdir()] == [f"{log.stem}.html"]


def test_text_json_and_csv_say_the_same(iolens: Path, log: Path, tmp_path: Path) -> None:
    done = run(iolens, "--json", log)
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    files = next(b for s in plain["jobs"][0]["sections"] for b in s["blocks"] if b.get("id") == "file-table")
    names = [column["name"] for column in files["columns"]]
    copy = next(row for row in files["rows"] if str(row[0]).endswith("copy.dat"))
    assert dict(zip(names, copy))["bytes_written"] == 12
    text = run(iolens, "--text", log)
    assert text.returncode == 0 and "copy.dat" in text.stdout
    assert plain["jobs"][0]["headline"].split()[0] in text.stdout
    done = run(iolens, "--csv", tmp_path / "tables", log)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "tables" / "file-table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [r["bytes_written"] for r in rows if r["name"].endswith("copy.dat")] == ["12"]


def test_the_flame_graph_in_json_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = document_of(lined_job().save(tmp_path / "lined"))
    plain = to_plain(document)["jobs"][0]["sections"]
    (flame,) = [b for section in plain for b in section["blocks"] if b["kind"] == "flame"]
    assert [(stack["frames"][-1], len(stack["frames"]), stack["seconds"]) for stack in flame["stacks"]] == [
        ("posix read", 4, 6.0),
        ("posix write", 4, 2.0),
    ]
    print_text(document)
    shown = " ".join(capsys.readouterr().out.split())
    assert "6 s = 75 % <module> (train.py:30) > main (train.py:20) > load (train.py:7) > posix read" in shown


def test_csv_holds_the_rows_that_the_page_leaves_out(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from iolens.report.plain import write_csv
    from iolens.report.sections import files

    monkeypatch.setattr(files, "FILES_CAP", 1)
    with Dataset(log) as data:
        document = build(data)
        found = blocks(document)["file-table"]
        assert isinstance(found, Table)
        assert (len(found.rows), found.total > 1) == (1, True)
        write_csv(data, document, tmp_path)
    assert len((tmp_path / "file-table.csv").read_text().splitlines()) == 1 + found.total


def test_a_pdf_has_pages(iolens: Path, log: Path, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    done = run(iolens, "--pdf", "-o", tmp_path / "job.pdf", log)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "job.pdf").read_bytes()
    assert content.startswith(b"%PDF-") and len(content) > 20_000


def test_wrong_input_is_one_line(iolens: Path, log: Path, tmp_path: Path) -> None:
    (tmp_path / "no.log").write_text("no log")
    for arguments, code in (
        ((), 2),
        (("--yaml", log), 2),
        ((tmp_path / "missing",), 3),
        ((tmp_path / "no.log",), 3),
        (("-o", tmp_path / "no" / "where.html", log), 3),
    ):
        done = run(iolens, *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr


def test_a_damaged_log_gives_a_report_that_says_so(iolens: Path, corpus: Path, tmp_path: Path) -> None:
    content = (corpus / "logs" / "imbalanced-io.darshan").read_bytes()
    (tmp_path / "cut.darshan").write_bytes(content[: len(content) * 2 // 3])
    done = run(iolens, tmp_path / "cut.darshan", "-o", tmp_path / "cut.html")
    assert done.returncode in (3, 4) and done.stderr.count("\n") >= 1
    if done.returncode == 4:
        assert "Damaged" in (tmp_path / "cut.html").read_text()


# ---- what the older reports show ----


def test_all_elements_of_older_reports_are_there(corpus: Path) -> None:
    """PyDarshan's (1 to 6) and darshan-job-summary's that PyDarshan dropped."""
    found = blocks(document_of(corpus / "logs" / "imbalanced-io.darshan"))
    wanted: dict[str, type] = {
        "job": Facts,
        "log": Facts,
        "modules": Table,
        "io-cost": Bars,
        "perf": Table,
        "files-posix": Table,
        "pattern-posix": Bars,
        "sizes-posix-all": Bars,
        "sizes-mpiio-all": Bars,
        "common-posix": Table,
        "common-mpiio": Table,
        "operations-posix": Bars,
        "operations-mpiio": Bars,
        "operations-stdio": Bars,
        "category-bytes": Bars,
        "category-files": Bars,
        # Dropped by PyDarshan: time spans, average I/O per process, share per file system, variance of shared files.
        "spans-independent": Spans,
        "spans-shared": Spans,
        "per-process": Table,
        "file-systems": Table,
        "shared-files": Table,
        # In neither.
        "file-table": Table,
        "layers": Table,
        "osts": Table,
        "ost-time": Boxes,
    }
    assert {name: type(found.get(name)) for name in wanted} == wanted


def test_numbers_are_the_released_tools(corpus: Path) -> None:
    document = document_of(corpus / "logs" / "imbalanced-io.darshan")
    posix = next(row for row in table(document, "perf") if row["name"] == "POSIX")
    assert posix["bytes"] == 106730099902
    assert posix["time_by_slowest"] == pytest.approx(616.911529)
    assert posix["by_slowest"] == pytest.approx(164.992467 * 1048576)
    kinds = {row["kind"]: (row["files"], row["bytes"]) for row in table(document, "files-posix")}
    assert kinds["all"] == (1026, 106730099902)
    assert kinds["read only"] == (12, 852195214)
    assert kinds["used by one process"] == (1023, 852195214)
    assert kinds["created (written)"][0] == 2
    notes = [block.text for block in walk(document) if isinstance(block, Note)]
    assert any(
        text.startswith("The log is incomplete (POSIX)") and "POSIX does not show" in text for text in notes
    )


def test_heat_maps_and_timelines_are_there_where_the_log_has_them(corpus: Path) -> None:
    mapped = blocks(document_of(corpus / "logs" / "runtime-and-dxt-heatmaps.darshan"))
    assert [type(block) for name, block in mapped.items() if name.startswith("heat-")].count(Heat) >= 1
    traced = blocks(document_of(corpus / "logs" / "mpi-io-test-dxt.darshan"))
    assert isinstance(traced["timeline-dxt_posix"], Timeline)
    assert isinstance(traced["timeline-dxt_mpiio"], Timeline)
    assert isinstance(blocks(document_of(corpus / "logs" / "apmpi.darshan"))["split"], Bars)


def test_threads_have_rows_of_their_own(tmp_path: Path) -> None:
    """Where they fit: of more threads than rows, ranks have them."""

    def timeline(threads: int) -> Timeline:
        job = Job(nprocs=3, run_time=6).posix("/a", 0, write={2**20: 1})
        for rank, thread in ((0, 0), *((2, n) for n in range(threads))):
            spent = {
                "start": 1.0 + thread % 3,
                "end": 1.5 + thread % 3,
                "read": 0.0,
                "write": 0.5,
                "meta": 0.0,
            }
            job.section("timeline", {"rank": rank, "thread": thread, **spent})
        found = blocks(document_of(job.save(tmp_path / f"{threads}.darshan")))["timeline-processes"]
        assert isinstance(found, Timeline)
        return found

    several = timeline(3)
    assert several.rows == ["0", "1", "2.1", "2.2", "2.3"]
    assert "Rows are threads" in several.note
    bins, cells = several.levels[0]
    firsts = {row: min(place for of, place, *_ in cells if of == row) for row in {cell[0] for cell in cells}}
    begins = {row: round(place * several.end / bins, 1) for row, place in firsts.items()}
    assert begins == {0: 1.0, 2: 1.0, 3: 2.0, 4: 3.0}
    assert sum(cell[3] for cell in cells) * several.end / bins == pytest.approx(4 * 0.5)
    for number in (1, 127):
        assert timeline(number).rows == ["0", "1", "2"]


def test_a_heat_map_holds_all_bytes(tmp_path: Path) -> None:
    records = [dxt_record(1, rank, [(0, 1000 * (rank + 1), 1.0, 3.0)], []) for rank in range(300)]
    heat = blocks(document_of(dxt_log(tmp_path / "a.darshan", records, {1: b"/f"}, nprocs=300)))["heat-posix"]
    assert isinstance(heat, Heat)
    assert (heat.per_row, heat.rows, heat.ranks) == (2, 150, 300)
    assert sum(cell[3] for cell in heat.cells) == sum(1000 * (r + 1) for r in range(300))
    assert "Most bytes: rank 299" in heat.note


def small(nprocs: int, pids: Sequence[int]) -> Job:
    """Processes that write; job 42 of LogMaker."""
    job = Job(nprocs=nprocs, mounts=[("ext4", "/")])
    span = {"write_start_timestamp": 1.0, "write_end_timestamp": 5.0}
    for rank, pid in enumerate(pids):
        job.posix(f"/{rank}", rank, write={MiB: 8}, write_time=4.0, **span)
        job.section("process", {"rank": rank, "pid": pid, "ended": "exit", "io_time": 4.0})
    job.section(
        "mounted", {"host": "", "point": "/", "type": "ext4", "source": "", "options": "rw", "class": ""}
    )
    fact = {"host": "", "value": "", "number": 2.0}
    job.section("platform", {**fact, "name": "cgroup_version", "unit": "version"})
    return job.section("platform", {**fact, "name": "dirty_ratio", "unit": "%"})


def test_a_job_of_one_process_has_no_tables_of_ranks(tmp_path: Path) -> None:
    one = document_of(small(1, [7]).save(tmp_path / "one"))
    two = document_of(small(2, [7, 8]).save(tmp_path / "two"))
    assert {"ranks", "per-process"} <= set(blocks(two))
    assert not {"ranks", "per-process", "busy"} & set(blocks(one))
    assert "slowest_rank" in table(two, "perf")[0] and "slowest_rank" not in table(one, "perf")[0]
    assert "rank" not in str(getattr(blocks(one)["io-cost"], "title", ""))


def test_mounts_are_listed_once_and_facts_have_no_unit_that_repeats_them(tmp_path: Path) -> None:
    document = document_of(small(1, [7]).save(tmp_path / "log"))
    assert "mounted" in blocks(document) and "mounts" not in blocks(document)
    values = {row["name"]: row["value"] for row in table(document, "platform")}
    assert values == {"cgroup_version": "2", "dirty_ratio": "2 %"}
    darshan = Job(mounts=[("ext4", "/")]).posix("/a", 0, write={MiB: 8}).save(tmp_path / "darshan")
    assert table(document_of(darshan), "mounts") == [{"mount": "/", "file_system": "ext4"}]


def test_a_process_id_is_no_number_of_a_job(tmp_path: Path) -> None:
    for pid, shown in ((42, False), (7, True)):
        document = document_of(small(1, [pid]).save(tmp_path / str(pid)))
        assert ("job 42 · " in document.jobs[0].subtitle) is shown
        facts = blocks(document)["job"]
        assert isinstance(facts, Facts)
        assert (("Job ID", 42, "text") in facts.rows) is shown


def test_the_text_says_what_its_signs_mean(tmp_path: Path) -> None:
    log = dxt_log(tmp_path / "a.darshan", [dxt_record(1, 0, [(0, 10, 1.0, 2.0)], [])], {1: b"/f"})
    print_text(document_of(log), tmp_path / "shades.txt")
    print_text(document_of(small(1, [7]).save(tmp_path / "log")), tmp_path / "spans.txt")
    assert "░ little, █ much." in (tmp_path / "shades.txt").read_text()
    assert "r reading, w writing, x both." in (tmp_path / "spans.txt").read_text()


# ---- unusual logs ----


def test_a_log_of_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.darshan").write_bytes(bytes(LogMaker()))
    document = document_of(tmp_path / "a.darshan")
    assert document.jobs[0].verdict == "unknown"
    assert "no records of I/O" in document.jobs[0].headline


def test_a_trace_alone_is_drawn(tmp_path: Path) -> None:
    log = dxt_log(tmp_path / "a.darshan", [dxt_record(1, 0, [(0, 10, 1.0, 2.0)], [])], {1: b"/f"})
    found = blocks(document_of(log))
    assert {"timeline-dxt_posix", "heat-posix"} <= set(found)


def test_two_jobs_keep_their_times_apart(tmp_path: Path) -> None:
    """Not one job of 149 days."""
    for number in (0, 1):
        start = 1_600_000_000 + number * 149 * 86400
        (tmp_path / f"{number}.darshan").write_bytes(bytes(LogMaker(start=start, end=start + 100)))
    document = document_of(tmp_path / "0.darshan", tmp_path / "1.darshan")
    facts = blocks(document)["overview-facts"]
    assert isinstance(facts, Facts)
    values = {name: value for name, value, _ in facts.rows}
    assert values["Times in which jobs ran"] == 2
    assert values["Time in which at least one job ran"] == pytest.approx(200)


def test_of_many_jobs_the_page_says_which_it_shows(tmp_path: Path) -> None:
    logs = []
    for number in range(23):
        logs.append(tmp_path / f"{number}.darshan")
        logs[-1].write_bytes(bytes(LogMaker(job_id=number)))
    document = document_of(*logs)
    assert (len(document.jobs), len(table(document, "overview-jobs"))) == (20, 23)


def test_every_log_of_every_version_gives_a_small_report(released: list[Path]) -> None:
    for log in released:
        document = document_of(log)
        assert document.jobs[0].headline, log
        assert len(to_html(document)) < MOST_BYTES, log
        ids = [block.id for block in walk(document) if not isinstance(block, Note)]
        assert len(ids) == len(set(ids)), log
        json.dumps(to_plain(document), default=str)


def test_bytes_that_old_logs_count_at_posix_alone_are_in_the_headline(corpus: Path) -> None:
    document = document_of(corpus / "logs" / "v2-x86_64-2.3.1.darshan.gz")
    assert "16 MiB read, 16 MiB written" in document.jobs[0].headline
