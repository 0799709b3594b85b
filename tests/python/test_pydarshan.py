"""The same snippets on PyDarshan and on iolens.pydarshan give the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import places
import pytest

for _name in ("pyarrow", "numpy", "pandas"):
    pytest.importorskip(_name, reason=f"{_name} is not installed")
theirs = pytest.importorskip("darshan", reason="PyDarshan is not installed")

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
    both(reports, lambda r: (r.start_time, r.end_time, list(r.mounts), dict(r.name_records), r.filename))


def test_modules(reports: Pair) -> None:
    def snippet(report: Any) -> object:
        keys = ("len", "ver", "idx", "partial_flag")
        return {name: [entry[k] for k in keys] for name, entry in report.modules.items()}

    both(reports, snippet)


def compared(reports: Pair) -> list[str]:
    """The modules that both have read as records of counters."""
    return [m for m in reports[1].records if len(reports[0].records.get(m, ()))]


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
