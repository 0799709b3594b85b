"""The same snippets on PyDarshan and on iolens.pydarshan give the same."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest

for _name in ("pyarrow", "numpy", "pandas"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")
theirs = pytest.importorskip("darshan", reason="PyDarshan is not installed")

from interfaces import AUTOPERF, TRACES  # noqa: E402
from iolens import pydarshan as ours  # noqa: E402

LOGS = sorted(p.name for p in (places.CORPUS / "logs").glob("*.darshan")) or ["none"]

# PyDarshan's values of these are wrong in old records: lost variances (POSIX 3), bytes of the other order.
WRONG = [
    *("POSIX_F_META_TIME", "POSIX_F_MAX_READ_TIME", "POSIX_F_MAX_WRITE_TIME"),
    *("POSIX_F_FASTEST_RANK_TIME", "POSIX_F_SLOWEST_RANK_TIME"),
    *("POSIX_F_VARIANCE_RANK_TIME", "POSIX_F_VARIANCE_RANK_BYTES"),
]

Pair = tuple[Any, Any]


@pytest.fixture(scope="module", params=LOGS)
def reports(request: pytest.FixtureRequest, corpus: Path) -> Pair:
    path = str(corpus / "logs" / request.param)
    return theirs.DarshanReport(path, read_all=True), ours.DarshanReport(path, read_all=True)


def both(reports: Pair, snippet: Callable[[Any], object]) -> None:
    a, b = (snippet(report) for report in reports)
    assert a == b


def test_metadata(reports: Pair) -> None:
    def snippet(report: Any) -> object:
        job = dict(report.metadata["job"])
        job["run_time"] = round(job["run_time"], 3)  # PyDarshan's comes from a difference of large doubles
        return job, report.metadata["exe"]

    both(reports, snippet)


def test_times_mounts_and_names(reports: Pair) -> None:
    both(
        reports,
        lambda r: (r.start_time, r.end_time, list(r.mounts), list(r.name_records.items()), r.filename),
    )


def test_modules(reports: Pair) -> None:
    def snippet(report: Any) -> object:
        keys = ("len", "ver", "idx", "partial_flag")
        return {name: [entry[k] for k in keys] for name, entry in report.modules.items()}

    both(reports, snippet)


SPECIAL = (*TRACES, *AUTOPERF, "LUSTRE")


def compared(reports: Pair) -> list[str]:
    """The modules that both have read as records of counters."""
    mods = (m for m in reports[1].records if m not in SPECIAL)
    return [m for m in mods if len(reports[0].records.get(m, ()))]


def test_records(reports: Pair) -> None:
    for mod in compared(reports):
        both(
            reports, lambda r, mod=mod: (len(r.records[mod]), r.modules[mod]["num_records"], r.counters[mod])
        )
        old = reports[1].modules[mod]["ver"] < 4
        frames = [r.records[mod].to_df() for r in reports]
        for part in ("counters", "fcounters"):
            a, b = (f[part].drop(columns=[c for c in WRONG if old and c in f[part]]) for f in frames)
            assert list(a.columns) == list(b.columns)
            assert a.equals(b), (mod, [c for c in a if not a[c].equals(b[c])])


def test_single_records(reports: Pair) -> None:
    for mod in compared(reports):
        a, b = (r.records[mod] for r in reports)
        if len(a):
            assert (a[0]["id"], a[0]["rank"]) == (b[0]["id"], b[0]["rank"])
            assert a[0]["counters"].tolist() == b[0]["counters"].tolist()
            assert len(a[0:1]) == len(b[0:1]) == 1
            assert [r["id"] for r in a] == [r["id"] for r in b]
            assert [list(r["counters"]) for r in a.to_dict()[:2]] == [
                list(r["counters"]) for r in b.to_dict()[:2]
            ]


def test_attached_columns(reports: Pair) -> None:
    for mod in compared(reports):
        for attach in (None, ["id"], ["rank"]):
            a, b = (r.records[mod].to_df(attach=attach)["counters"] for r in reports)
            assert list(a.columns) == list(b.columns)


def test_heat_maps(reports: Pair) -> None:
    both(reports, lambda r: sorted(r.heatmaps))
    for mod in reports[1].heatmaps:
        for ops in (["read"], ["write"], ["read", "write"]):
            a, b = (r.heatmaps[mod].to_df(ops=ops) for r in reports)
            assert a.shape == b.shape and (a.to_numpy() == b.to_numpy()).all()
            assert a.index.tolist() == b.index.tolist()
            assert [round(i.left, 6) for i in a.columns] == [round(i.left, 6) for i in b.columns]


def test_all_modules_are_read(reports: Pair) -> None:
    both(reports, lambda r: (set(r.records), set(r.counters), r.summary))


def same_traces(reports: Pair, mod: str) -> None:
    keys = ("id", "rank", "hostname", "write_count", "read_count", "write_segments", "read_segments")
    both(reports, lambda r: (len(r.records[mod]), r.modules[mod]["num_records"], r.counters[mod]))
    both(reports, lambda r: [{k: record[k] for k in keys} for record in r.records[mod]])
    for a, b in zip(*(r.records[mod].to_df() for r in reports)):
        for part in ("write_segments", "read_segments"):
            assert list(b[part].columns) == ["offset", "length", "start_time", "end_time"]
            assert (a[part].empty and b[part].empty) or a[part].equals(b[part])


def test_traces(reports: Pair) -> None:
    for mod in set(TRACES) & set(reports[0].records):
        same_traces(reports, mod)


def same_layouts(reports: Pair) -> None:
    for attach in (None, ["id"], ["id", "rank"]):
        a, b = (r.records["LUSTRE"].to_df(attach=attach)["components"] for r in reports)
        assert list(a.columns) == list(b.columns)
        assert len(a) == len(b) and [list(x) for x in a["LUSTRE_OST_IDS"]] == [
            list(x) for x in b["LUSTRE_OST_IDS"]
        ]
        assert a.drop(columns="LUSTRE_OST_IDS").to_dict("list") == b.drop(columns="LUSTRE_OST_IDS").to_dict(
            "list"
        )
    both(
        reports,
        lambda r: [
            (c["counters"].tolist(), c["pool_name"], list(c["ost_ids"]))
            for record in r.records["LUSTRE"]
            for c in record["components"]
        ],
    )


def test_layouts(reports: Pair) -> None:
    if "LUSTRE" in reports[0].records:
        same_layouts(reports)


# In a process of its own: the second such log that one reads with PyDarshan comes out shifted by a few words.
MPI_SNIPPET = """
import json, sys, {library}
records = {library}.DarshanReport(sys.argv[1]).records["APMPI"].to_numpy()
processes = [r for r in records if "all_counters" in r]
plain = [[r["id"], r["rank"], r["node_name"], {{k: v + 0.0 for k, v in r["all_counters"].items()}}] for r in processes]
print(json.dumps(plain))
"""


@pytest.mark.parametrize("log, processes", [("apmpi", 128), ("release-x86_64-3.4.7", 4)])
def test_mpi_records(corpus: Path, log: str, processes: int) -> None:
    printed = []
    for library in ("darshan", "iolens.pydarshan"):
        command = [
            sys.executable,
            "-c",
            MPI_SNIPPET.format(library=library),
            corpus / "logs" / f"{log}.darshan",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        printed.append(json.loads(done.stdout))
    assert len(printed[1]) == processes and printed[1][0][2] != ""
    assert printed[0] == printed[1]


def test_one_module_at_a_time(corpus: Path) -> None:
    path = str(corpus / "logs" / "mpi-io-test-dxt.darshan")

    def snippet(report: Any) -> object:
        report.mod_read_all_records("STDIO", filter_patterns=["<STD"], filter_mode="include")
        report.mod_read_all_dxt_records("DXT_POSIX", filter_patterns=["nothing"], filter_mode="exclude")
        return {mod: len(records) for mod, records in report.records.items()}, dict(report.name_records)

    both(tuple(library.DarshanReport(path, read_all=False) for library in (theirs, ours)), snippet)


def test_half_a_trace(corpus: Path) -> None:
    report = ours.DarshanReport(corpus / "logs" / "mpi-io-test-dxt.darshan", read_all=False)
    for reads, writes in ((False, True), (True, False)):  # PyDarshan takes the arguments and gives both
        report.mod_read_all_dxt_records("DXT_POSIX", reads=reads, writes=writes)
        record = report.records["DXT_POSIX"][1]
        assert (record["read_count"], record["write_count"]) == (4, 4)
        assert (len(record["read_segments"]), len(record["write_segments"])) == (4 * reads, 4 * writes)


@pytest.mark.parametrize("mode", ["include", "exclude"])
def test_filters_reach_every_module(corpus: Path, mode: str) -> None:
    for log, pattern in (("mpi-io-test-dxt", "<STD"), ("dlio-4", r"\.npz$"), ("imbalanced-io", "1")):
        reports = [
            library.DarshanReport(
                str(corpus / "logs" / f"{log}.darshan"), filter_patterns=[pattern], filter_mode=mode
            )
            for library in (theirs, ours)
        ]
        both(
            tuple(reports),
            lambda r: ({m: len(c) for m, c in r.records.items()}, dict(r.name_records)),
        )


def test_all_of_it_as_a_dict(reports: Pair) -> None:
    def snippet(report: Any) -> object:
        whole = report.to_dict()
        assert json.loads(report.to_json()) == json.loads(json.dumps(whole))
        whole["metadata"]["job"]["run_time"] = round(whole["metadata"]["job"]["run_time"], 3)
        whole["modules"] = {m: whole["modules"][m] for m in compared(reports)}
        for part in (
            "records",
            "counters",
        ):  # as numbers and texts: PyDarshan says "Not implemented." of the others
            whole[part] = {m: json.dumps(whole[part][m]) for m in compared(reports) if is_new(reports, m)}
        return whole

    both(reports, snippet)


def is_new(reports: Pair, mod: str) -> bool:
    """PyDarshan's values are those of the log."""
    return mod != "POSIX" or reports[1].modules[mod]["ver"] >= 4


def test_the_dict_has_traces_and_layouts(corpus: Path) -> None:
    report = ours.DarshanReport(corpus / "logs" / "mpi-io-test-dxt.darshan")
    records = json.loads(report.to_json())["records"]
    assert records["DXT_POSIX"] == report.records["DXT_POSIX"].to_list()
    assert len(records["DXT_POSIX"]) == 64 and records["DXT_POSIX"][0]["write_segments"][0]["length"] == 40
    report = ours.DarshanReport(corpus / "logs" / "dlio-1.darshan")
    first = json.loads(report.to_json())["records"]["LUSTRE"][0]
    assert first["components"] == [
        {"counters": [1048576, 1, 0, 0, 0, -1, 0], "pool_name": "", "ost_ids": [4]}
    ]


def test_modules_that_are_not_there(corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = str(corpus / "logs" / "ior-hdf5.darshan")
    for library in (theirs, ours):
        report = library.DarshanReport(path, read_all=False)
        report.mod_read_all_dxt_records("DXT_POSIX")
        report.mod_read_all_lustre_records()
        report.mod_read_all_apmpi_records()
        with pytest.raises(ValueError, match="NOPE"):
            report.mod_read_all_records("NOPE")
    assert report.records == {}
    assert "Skipped: LUSTRE is not in this log" in caplog.text


def test_mod_records_of_two_modules_at_once(corpus: Path) -> None:
    report = ours.DarshanReport(corpus / "logs" / "mpi-io-test-dxt.darshan")
    pairs = list(zip(report.mod_records("POSIX"), report.mod_records("DXT_POSIX")))
    assert len(pairs) == 64
    assert [p[1]["id"] for p in pairs] == [r["id"] for r in report.records["DXT_POSIX"]]


def dxt(record_id: int, rank: int, writes: int, reads: int) -> bytes:
    head = struct.pack("<Qqq64sqq", record_id, rank, 0, b"node17", writes, reads)
    parts = [struct.pack("<qqdd", 100 * i, 10 + i, i / 4, i / 4 + 0.125) for i in range(writes + reads)]
    return head + b"".join(parts)


def layout(record_id: int, osts: list[int]) -> bytes:
    head = struct.pack("<Qqqq", record_id, -1, 2, len(osts))
    parts = [struct.pack("<7q16s", 1 << 20, 1, 0, 0, 0, 1 << 30, 0, b"fast")]
    parts.append(struct.pack("<7q16s", 4 << 20, len(osts) - 1, 0, 16, 1 << 30, -1, 0, b""))
    return head + b"".join(parts) + struct.pack(f"<{len(osts)}q", *osts)


def test_traces_and_layouts_of_a_log_of_ours(tmp_path: Path, posix_log: Callable[..., bytes]) -> None:
    traces = dxt(1, 0, 3, 2) + dxt(1, 1, 0, 4) + dxt(2, 1, 5, 0) + dxt(2, 2, 1, 1)
    regions = {8: (2, layout(1, [5, 7, 9]) + layout(2, [1, 2])), 10: (1, traces), 11: (2, dxt(2, 0, 1, 0))}
    path = tmp_path / "made.darshan"
    path.write_bytes(posix_log([{"id": 1}, {"id": 2}], names={1: b"/a", 2: b"/b"}, nprocs=3, regions=regions))
    reports = tuple(library.DarshanReport(str(path)) for library in (theirs, ours))
    same_traces(reports, "DXT_POSIX")
    same_traces(reports, "DXT_MPIIO")
    same_layouts(reports)
    first = reports[1].records["DXT_POSIX"].to_df()[0]
    assert first["read_segments"].to_dict("list") == {
        "offset": [300, 400],
        "length": [13, 14],
        "start_time": [0.75, 1.0],
        "end_time": [0.875, 1.125],
    }
    only = ours.DarshanReport(str(path), filter_patterns=["/b"], filter_mode="include")
    assert {mod: len(c) for mod, c in only.records.items()} == {
        "POSIX": 1,
        "LUSTRE": 1,
        "DXT_POSIX": 2,
        "DXT_MPIIO": 1,
    }


def test_a_log_of_ours(tmp_path: Path, posix_log: Callable[..., bytes]) -> None:
    path = tmp_path / "made.darshan"
    records = [{"id": 9 - i, "rank": i % 3, "opens": i, "mmaps": -1, "read_time": i / 3} for i in range(9)]
    path.write_bytes(posix_log(records, names={9 - i: b"/file%d" % i for i in range(9)}, nprocs=3))
    for modes in (
        {},
        {"filter_patterns": ["file[0-3]"]},
        {"filter_patterns": ["[0-3]$"], "filter_mode": "include"},
    ):
        reports = [library.DarshanReport(str(path), **modes) for library in (theirs, ours)]
        both(tuple(reports), lambda r: len(r.records["POSIX"]))
        frames = [r.records["POSIX"].to_df()["counters"] for r in reports]
        assert frames[0].equals(frames[1])


def test_info_prints(capsys: pytest.CaptureFixture[str], corpus: Path) -> None:
    report = ours.DarshanReport(corpus / "logs" / "ior-hdf5.darshan")
    report.info()
    report.records["POSIX"].info()
    assert "JobID:          438090" in capsys.readouterr().out
