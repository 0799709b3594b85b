"""The job and its log: user, program, time, and what the log holds."""

from __future__ import annotations

from pathlib import Path

from iolens.report.document import Block, Column, Facts, Note, Section
from iolens.report.source import Source, stamp

__all__ = ["job"]


def _metadata(source: Source, key: str) -> str | None:
    found = source.data.query(
        "SELECT value FROM metadata WHERE log = ? AND key = ?", [source.log, key]
    ).fetchone()
    return str(found[0]) if found else None


def _job(source: Source) -> Facts:
    row = source.job
    return Facts(
        f"{source.prefix}job",
        "Job",
        [
            *([] if source.number is None else [("Job ID", source.number, "text")]),
            ("User", source.user, "text"),
            ("Processes", row["nprocs"], "count"),
            ("Run time", row["run_time"], "seconds"),
            ("Start", stamp(row["start"]), "text"),
            ("End", stamp(row["end"]), "text"),
            ("Command line", row["exe"] or None, "text"),
        ],
    )


def _log(source: Source) -> Facts:
    path = Path(str(source.job["path"]))
    size = path.stat().st_size if path.exists() else None
    return Facts(
        f"{source.prefix}log",
        "Log",
        [
            ("Log file", path.name, "text"),
            ("Size", size, "bytes"),
            ("Runtime library", _metadata(source, "lib_ver"), "text"),
            ("Log format", source.job["format"], "text"),
            ("Hints", _metadata(source, "h"), "text"),
        ],
    )


def job(source: Source) -> Section:
    blocks: list[Block] = [_job(source), _log(source)]
    blocks += source.table(
        "modules",
        "Modules of the log",
        (
            Column("darshan", "Module"),
            Column("version", "Version", "number"),
            Column("stored", "Size in the log", "bytes"),
            Column("state", "State"),
        ),
        "SELECT darshan, version, stored, CASE WHEN partial <> 0 THEN 'partial: records are missing' ELSE "
        "'complete' END "
        "AS state FROM module WHERE log = {log} ORDER BY id",
        note="Partial: the memory for records was full, later files have no record."
        if source.job["partial"]
        else "",
    )
    if not source.interfaces:
        blocks.append(Note("missing", "No module of this log has records of I/O."))
    # The table of iolens's own logs has more of each.
    blocks += source.table(
        "mounts",
        "Mounted file systems",
        (Column("mount", "Mount point", "path"), Column("file_system", "Type")),
        "SELECT mount, file_system FROM mount WHERE log = {log} AND log NOT IN (SELECT log FROM mounted) "
        "ORDER BY mount",
    )
    blocks += source.table(
        "metadata",
        "Notes in the log",
        (Column("key", "Key"), Column("value", "Value")),
        "SELECT key, value FROM metadata WHERE log = {log}",
    )
    return Section(f"{source.prefix}about", "Job and log", blocks)
