"""iolens show --json, --csv, and its filters: the same numbers as in the text."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest
import shown
from logmaker import DXT_POSIX, HEATMAP, POSIX, STDIO, LogMaker, dxt_posix, heatmap, posix

Run = Callable[..., "subprocess.CompletedProcess[str]"]

LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan*")) or [
    pytest.param("", marks=pytest.mark.skip(reason=f"no corpus of released logs at {places.CORPUS}"))
]


def strict(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def schema(build_dir: Path) -> dict[str, Any]:
    made = json.loads((build_dir / "format" / "schema.json").read_text())
    return {module["key"]: module for module in made["schema"]}


def flat(schema: dict[str, Any], module: str, counters: dict[str, Any]) -> dict[str, str]:
    """Counters as the text has them: by Darshan's names, doubles with six decimals."""
    found = {}
    for field in schema[module]["fields"]:
        values = counters.get(field["name"])
        names = field["darshan"]
        if values is None or not names or field["length"]:
            continue
        for name, value in zip(names, values if isinstance(values, list) else [values]):
            found[name] = f"{value:.6f}" if field["type"] == "f64" else str(value)
    return found


@pytest.mark.parametrize("name", LOGS)
def test_json_has_the_numbers_of_the_text(
    name: str, run_iolens: Run, corpus: Path, schema: dict[str, Any], tmp_path: Path
) -> None:
    log = corpus / "logs" / name
    done = run_iolens(["show", "--all", "--file-list-detailed", "--json", log])
    assert (done.returncode, done.stderr) == (0, "")
    page = strict(done.stdout)
    if name.startswith("v2-"):  # the text of these has the counters of that time
        assert run_iolens(["convert", log, tmp_path / "new"]).returncode == 0
        log = tmp_path / "new"
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for line in run_iolens(["show", "--base", "--show-incomplete", log]).stdout.splitlines():
        if line and line[0] != "#":
            module, rank, record, counter, value = line.split("\t")[:5]
            lines.setdefault((module, rank, record), {})[counter] = value
    compared = 0
    for module in page["modules"]:
        for record in module.get("records", []):
            wanted = lines.get((module["name"], str(record["rank"]), str(record["id"])), {})
            for counter, value in flat(schema, module["module"], record["counters"]).items():
                if counter in wanted and not (name.startswith("v2-") and record["id"] == "0"):
                    assert wanted[counter] == value, (module["name"], record["id"], counter)
                    compared += 1
    # A record may be there twice (id 0 of old logs); arrays are compared below.
    assert compared or not any(line[0] not in ("HEATMAP", "LUSTRE") for line in lines)


def test_the_shape_of_json(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(nprocs=4, names={5: b'/scratch/"x"\xff\n', 9: b"heatmap:POSIX"}, partial=[STDIO])
    log.regions = {
        POSIX: (4, posix(5, rank=2, opens=3, size_read_0_100=7, read_time=0.1, bytes_read=2**60 + 1)),
        HEATMAP: (1, heatmap(9, 0, 0.1, writes=[1, 2], reads=[3, 4])),
        DXT_POSIX: (1, dxt_posix(5, 2, writes=[(0, 1, 0.5, 1.0)], reads=[])),
        33: (7, bytes(8)),
    }
    (tmp_path / "log").write_bytes(bytes(log))
    done = run_iolens(["show", "--json", "--show-incomplete", "log"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    page = strict(done.stdout)
    assert list(page) == ["schema", "log", "format", "job", "modules"]
    assert page["format"] == {"version": "3.41", "byte_order": "little", "compression": "zlib"}
    assert page["job"]["mounts"] == [{"point": "/scratch", "type": "lustre"}, {"point": "/", "type": "ext4"}]
    assert page["job"]["metadata"] == {"lib_ver": "3.4.7"} and page["job"]["run_time"] == 100
    by_key = {module["module"]: module for module in page["modules"]}
    assert [(m["id"], m["partial"], m["decoded"]) for m in page["modules"]] == [
        (1, False, True),
        (9, True, True),
        (10, False, True),
        (15, False, True),
        (33, False, False),
    ]
    (record,) = by_key["posix"]["records"]
    head = {key: record[key] for key in ("id", "rank", "name", "mount", "file_system")}
    place = {"mount": "/scratch", "file_system": "lustre"}
    assert head == {"id": "5", "rank": 2, "name": '/scratch/"x"\ufffd\n', **place}
    counters = record["counters"]
    assert (counters["opens"], counters["read_time"], counters["bytes_read"]) == (3, 0.1, 2**60 + 1)
    assert counters["size_read"] == [7] + [0] * 9
    heat = by_key["heatmap"]["records"][0]["counters"]
    assert heat == {"bin_width_seconds": 0.1, "nbins": 2, "write_bin": [1, 2], "read_bin": [3, 4]}
    trace = by_key["dxt_posix"]["records"][0]["counters"]
    assert trace == {"hostname": "node01", "writes": 1, "reads": 0}
    assert by_key["stdio"]["records"] == []


def test_record_ids_keep_all_their_digits(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker()
    log.regions = {POSIX: (4, posix(2**64 - 3, rank=0, opens=1))}
    (tmp_path / "log").write_bytes(bytes(log))
    (module,) = strict(run_iolens(["show", "--base", "--json", "log"], cwd=tmp_path).stdout)["modules"]
    assert module["records"][0]["id"] == str(2**64 - 3)


def test_sums_as_json(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(nprocs=2, names={5: b"/a", 6: b"/b"})
    read = {"bytes_read": 1048576, "max_byte_read": 99, "read_time": 2.0}
    log.regions = {POSIX: (4, posix(5, rank=1, **read) + posix(6, rank=-1, opens=4, slowest_rank_time=1.0))}
    (tmp_path / "log").write_bytes(bytes(log))
    options = ["--total", "--file", "--perf", "--file-list", "--json"]
    (module,) = strict(run_iolens(["show", *options, "log"], cwd=tmp_path).stdout)["modules"]
    assert "records" not in module
    assert (module["total"]["opens"], module["total"]["bytes_read"]) == (4, 1048576)
    assert module["files"]["total"] == {"files": 2, "bytes": 1048576, "max_offset": 99}
    assert module["files"]["shared"] == {"files": 1, "bytes": 0, "max_offset": 0}
    speed = module["performance"]
    assert (speed["slowest_rank"], speed["slowest_rank_io_time"]) == (1, 2)
    assert (speed["agg_time_by_slowest"], speed["agg_perf_by_slowest"]) == (3, pytest.approx(1 / 3))
    assert module["file_list"] == [
        {"id": "5", "name": "/a", "processes": 1, "slowest": 2, "average": 2},
        {"id": "6", "name": "/b", "processes": 2, "slowest": 1, "average": 0},
    ]


def test_tables_as_json(run_iolens: Run, tmp_path: Path) -> None:
    assert run_iolens(["run", "-q", "-o", "log", "--", "true"], cwd=tmp_path).returncode == 0
    tables = strict(run_iolens(["show", "--ext", "--json", "log"], cwd=tmp_path).stdout)["tables"]
    text = shown.sections(run_iolens(["show", "--ext", "log"], cwd=tmp_path).stdout)
    assert {name for name, rows in tables.items() if rows} == set(text)
    assert tables["process"][0]["exe"] == text["process"][0]["exe"]
    assert tables["process"][0]["end"] == pytest.approx(float(text["process"][0]["end"]))


def test_what_a_version_did_not_count_is_null(run_iolens: Run, corpus: Path) -> None:
    log = corpus / "logs" / "example.darshan"
    posix_module = next(
        m for m in strict(run_iolens(["show", "--json", log]).stdout)["modules"] if m["module"] == "posix"
    )
    assert {r["counters"]["dups"] for r in posix_module["records"]} == {None}
    rows = csv.DictReader(io.StringIO(run_iolens(["show", "--csv", "--module", "posix", log]).stdout))
    assert {row["dups"] for row in rows} == {""}


@pytest.mark.parametrize("name", LOGS)
def test_csv_has_the_numbers_of_json(name: str, run_iolens: Run, corpus: Path, tmp_path: Path) -> None:
    log = corpus / "logs" / name
    done = run_iolens(["show", "--csv", "--show-incomplete", "--out", tmp_path, log])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    csv.field_size_limit(1 << 24)
    tables = {}
    for path in tmp_path.glob("*.csv"):
        with path.open(newline="", errors="replace") as file:
            tables[path.stem] = list(csv.DictReader(file))
    page = strict(run_iolens(["show", "--json", "--show-incomplete", log]).stdout)
    assert {m["module"] for m in page["modules"] if m.get("records") is not None} >= set(tables)
    for module in page["modules"]:
        records, rows = module["records"], tables.get(module["module"], [])
        assert len(records) == len(rows)
        for record, row in zip(records, rows):
            assert (row["id"], row["rank"]) == (str(record["id"]), str(record["rank"]))
            for counter, value in record["counters"].items():
                cell = row.get(counter)
                if cell is None or isinstance(value, (list, str)):
                    continue
                assert cell == ("" if value is None else cell)
                assert value is None or (float if isinstance(value, float) else int)(cell) == value


def test_csv_on_standard_output_has_a_blank_line_between_tables(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(names={5: b'/a "b", c\n'})
    log.regions = {POSIX: (4, posix(5, opens=3)), HEATMAP: (1, heatmap(9, 0, 0.1, [1, 2], [3, 4]))}
    (tmp_path / "log").write_bytes(bytes(log))
    text = run_iolens(["show", "--csv", "log"], cwd=tmp_path).stdout
    first, second = (list(csv.DictReader(io.StringIO(table))) for table in text.split("\n\n", 1))
    assert (first[0]["module"], first[0]["name"], first[0]["opens"]) == ("posix", '/a "b", c\n', "3")
    assert "size_read_0_100" in first[0]
    assert (second[0]["write_bin"], second[0]["read_bin"]) == ("1 2", "3 4")


@pytest.mark.parametrize("form", ["text", "json", "csv"])
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--module", "stdio"], {("STDIO", "/a.txt", 0)}),
        (["--module", "posix,STDIO", "--rank", "1"], {("POSIX", "/b.h5", 1)}),
        (["--name", "*.h5"], {("POSIX", "/b.h5", 1), ("POSIX", "/c.h5", -1)}),
        (["--regex", "^/[ab]"], {("POSIX", "/a.txt", 0), ("STDIO", "/a.txt", 0), ("POSIX", "/b.h5", 1)}),
        (["--rank", "shared"], {("POSIX", "/c.h5", -1)}),
        (["--rank", "0,shared", "--name", "*.h5"], {("POSIX", "/c.h5", -1)}),
    ],
)
def test_filters(
    form: str, options: list[str], wanted: set[tuple[str, str, int]], run_iolens: Run, tmp_path: Path
) -> None:
    log = LogMaker(nprocs=2, names={5: b"/a.txt", 6: b"/b.h5", 7: b"/c.h5"})
    stdio = (5).to_bytes(8, "little") + bytes(240)
    log.regions = {POSIX: (4, posix(5) + posix(6, rank=1) + posix(7, rank=-1)), STDIO: (2, stdio)}
    (tmp_path / "log").write_bytes(bytes(log))
    form_option = [] if form == "text" else [f"--{form}"]
    done = run_iolens(["show", *form_option, *options, "log"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    if form == "text":
        found = set(shown.records(done.stdout))
    elif form == "json":
        modules = strict(done.stdout)["modules"]
        found = {(m["name"], r["name"], r["rank"]) for m in modules for r in m["records"]}
    else:
        rows = [line.split(",") for line in done.stdout.splitlines() if line and line[:6] != "module"]
        found = {(row[0].upper(), row[3].strip('"'), int(row[2])) for row in rows}
    assert found == wanted


def test_filters_hold_for_sums(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(names={5: b"/a", 6: b"/b"}, regions={POSIX: (4, posix(5, opens=3) + posix(6, opens=4))})
    (tmp_path / "log").write_bytes(bytes(log))
    done = run_iolens(["show", "--total", "--name", "/b", "log"], cwd=tmp_path)
    assert "total_POSIX_OPENS: 4\n" in done.stdout


def test_filters_of_old_logs(run_iolens: Run, corpus: Path) -> None:
    log = corpus / "logs" / "v2-x86_64-2.3.1.darshan.gz"
    lines = [line.split("\t") for line in run_iolens(["show", log]).stdout.splitlines()]
    ranks = {line[0] for line in lines if len(line) > 6 and line[0][0] != "#"}
    some = [line.split("\t") for line in run_iolens(["show", "--rank", "shared", log]).stdout.splitlines()]
    assert {line[0] for line in some if len(line) > 6 and line[0][0] != "#"} == ranks & {"-1"}


def test_damage_leaves_valid_json(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(names={5: b"/a"}, regions={POSIX: (4, posix(5, opens=1) + bytes(100))})
    (tmp_path / "log").write_bytes(bytes(log))
    done = run_iolens(["show", "--json", "log"], cwd=tmp_path)
    assert done.returncode == 4 and len(done.stderr.splitlines()) == 1
    (module,) = strict(done.stdout)["modules"]
    assert module["damaged"] is True and len(module["records"]) == 1


def test_an_incomplete_module_is_said_to_be(run_iolens: Run, tmp_path: Path) -> None:
    log = LogMaker(regions={POSIX: (4, posix(5))}, partial=[POSIX])
    (tmp_path / "log").write_bytes(bytes(log))
    for form in ("--json", "--csv"):
        done = run_iolens(["show", form, "log"], cwd=tmp_path)
        assert done.returncode == 4 and "POSIX module is incomplete" in done.stderr
        assert run_iolens(["show", form, "--show-incomplete", "log"], cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--csv", "--total", "log"], 2, "--csv has records only"),
        (["--json", "--out", ".", "log"], 2, "--out goes with --csv"),
        (["--module", "nosuch", "log"], 2, "--module nosuch"),
        (["--rank", "-3", "log"], 2, "--rank -3"),
        (["--regex", "[", "log"], 2, "--regex ["),
        (["--name"], 2, "--name"),
        (["--csv", "--out", "no/such/folder", "log"], 3, "no/such/folder: No such file or directory"),
    ],
)
def test_wrong_use(run_iolens: Run, tmp_path: Path, arguments: list[str], code: int, complaint: str) -> None:
    (tmp_path / "log").write_bytes(bytes(LogMaker(regions={POSIX: (4, posix(5))})))
    done = run_iolens(["show", *arguments], cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1 and complaint in done.stderr
