"""Where files lie: the object storage targets of Lustre."""

from __future__ import annotations

from iolens.report.document import Block, Boxes, Column, Section
from iolens.report.source import Source

__all__ = ["storage"]


def _boxes(source: Source) -> list[Block]:
    rows = [row for row in source.metric("ost_occupancy") if row.get("median") is not None]
    if not rows:
        return []
    several = len({row["volume"] for row in rows}) > 1
    rows.sort(key=lambda row: (row["volume"] or "", row["ost"]))
    return [
        Boxes(
            f"{source.prefix}ost-time",
            "I/O time by storage target",
            [f"{row['volume']} OST {row['ost']}" if several else f"OST {row['ost']}" for row in rows],
            [
                (row.get("least", row["q1"]), row["q1"], row["median"], row["q3"], row.get("most", row["q3"]))
                for row in rows
            ],
            "seconds",
            note="Of the ranks (or files) whose data lie there. Box: the middle half; line in it: the median; thin "
            "line: least to most.",
            metric="ost_occupancy",
        )
    ]


def storage(source: Source) -> Section:
    blocks: list[Block] = [*_boxes(source)]
    blocks += source.table(
        "osts",
        "Each storage target",
        (
            Column("volume", "File system"),
            Column("ost", "OST", "number"),
            Column("oss", "Server"),
            Column("files", "Files", "count"),
            Column("ranks", "Ranks", "count"),
            Column("bytes", "Bytes (estimated)", "bytes"),
            Column("q1", "Time: first quartile", "seconds"),
            Column("median", "Time: median", "seconds"),
            Column("q3", "Time: third quartile", "seconds"),
            Column("slow", "Slow"),
        ),
        "SELECT * FROM metric.ost_occupancy WHERE log = {log} ORDER BY volume, ost",
        note="Bytes: spread over a file's targets by its layout.",
        metric="ost_occupancy",
    )
    blocks += source.table(
        "stripes",
        "Accesses and stripes",
        (
            Column("name", "File", "path"),
            Column("stripe_size", "Stripe size", "bytes"),
            Column("stripes", "Stripes", "count"),
            Column("access_size", "Most frequent access", "bytes"),
            Column("access_count", "Number of these", "count"),
            Column("fits", "Fits"),
            Column("unaligned", "Unaligned accesses", "count"),
            Column("accesses", "of accesses", "count"),
        ),
        "SELECT * FROM metric.stripe_mismatch WHERE log = {log} ORDER BY fits, unaligned DESC, name",
        note="Fits: the size is a multiple or a divisor of the stripe's.",
        metric="stripe_mismatch",
    )
    return Section(f"{source.prefix}storage", "Storage targets", blocks)
