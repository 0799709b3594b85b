"""A lake with many records of files, and every named query on it: seconds, processor time, memory.

Rows are made by SQL and written and committed as an ingest does it, of the tables that named queries read: job, metric,
finding, name_of, file_sum. Each log has 40 files; three in ten are shared by jobs, some by very many. Again:

    bench/fleet/records.py --records 100000000 --keep DIR
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from needs import need

need("fleet", packages=["iolens", "deltalake", "arro3", "duckdb"])

from iolens.fleet import Lake  # noqa: E402
from iolens.fleet.tables.schema import BATCH_BITS, tables  # noqa: E402
from iolens.fleet.tables.write import connection, write_files  # noqa: E402
from iolens.metrics import metrics  # noqa: E402
from iolens.rules import load  # noqa: E402

FILES = 40
LOGS = 34_723
"""Of a day: as many as a batch has numbers for, and 10^8 records in 72 days."""
FIRST = date(2013, 1, 1)

# Asks one named query, or a list of them, and tells what that took after the imports.
ASKED = r"""
import json, re, sys, time
from iolens.fleet import Lake
from iolens.fleet.saved_queries import ask
lake, name, given = sys.argv[1:]
start, used = time.perf_counter(), time.process_time()
with Lake(lake).open(memory="3GB") as data:
    rows = len(ask(data, name, **json.loads(given)).rows)
seconds, used = time.perf_counter() - start, time.process_time() - used
peak = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024
print(json.dumps({"seconds": seconds, "processor": used, "memory": peak, "rows": rows}))
"""

QUERIES: list[tuple[str, dict[str, Any]]] = [
    *(("top_files", {"by": by}) for by in ("time", "bytes", "metadata", "small")),
    ("top_files", {"user": "user7"}),
    *(("top_directories", {"by": by}) for by in ("time", "bytes")),
    ("top_directories", {"depth": 2}),
    ("top_directories", {"user": "user7"}),
    *(
        (name, {})
        for name in ("top_users", "top_applications", "screen", "screen_metadata", "findings", "drift")
    ),
    ("history", {"application": "app7"}),
    ("job", {"id": 1_000_000}),
]


def _noise(seed: int) -> str:
    """SQL: a number from 0 to 1 of a row, the same each time."""
    return f"((hash(n * 97 + {seed}) % 1000003) / 1000003.0)"


def _day(number: int) -> dict[str, str]:
    """SQL of the rows of each table, by the columns that are not null; `n` numbers logs or files over all days."""
    first = number * LOGS
    log = f"({(number + 1) << BATCH_BITS}::BIGINT + i)"
    one = f"FROM (SELECT i, {first} + i AS n FROM range({LOGS}) AS r(i))"
    of_file = f"({(number + 1) << BATCH_BITS}::BIGINT + i // {FILES})"
    # A file is of its job, or one of a million that jobs share, the first of them by most.
    file = f"""FROM (
        SELECT *, user_directory || '/run' || (run % 40) || '/part' || file || '.h5' AS name,
            user_directory || '/run' || (run % 40) AS directory,
            (hash(name) >> 1)::BIGINT AS id
        FROM (
            SELECT i, n, CASE WHEN {_noise(1)} < 0.7 THEN n ELSE pow(1e6, {_noise(2)})::BIGINT END AS file,
                CASE WHEN file = n THEN hash(n // {FILES}) ELSE hash(file) END AS run,
                '/scratch/user' || (run % 1200) AS user_directory
            FROM (SELECT i, {first * FILES} + i AS n FROM range({LOGS * FILES}) AS r(i))
        ) ORDER BY i // {FILES}, directory
    )"""
    start = f"(TIMESTAMPTZ '{FIRST + timedelta(number)} 00:00:00+00' + to_seconds(i * 2))"
    names = ", ".join(f"'{name}'" for name, one in metrics().items() if one.layout == "value")
    rules = ", ".join(f"'{rule}'" for rule in list(load().rules)[:20])
    return {
        "name_of": f"SELECT {of_file} AS log, id, name {file}",
        "file_sum": f"""
            SELECT {of_file} AS log, id, directory, exp(20 * {_noise(3)})::BIGINT AS bytes_read,
                CASE WHEN {_noise(4)} < 0.5 THEN 0 ELSE exp(20 * {_noise(5)})::BIGINT END AS bytes_written,
                exp(12 * {_noise(6)} - 9) AS io_time, exp(8 * {_noise(7)} - 9) AS metadata_time,
                exp(9 * {_noise(8)})::BIGINT AS small_writes {file}""",
        "metric": f"""
            SELECT {log} AS log, name, 100 * {_noise(9)} AS value, 'bench' AS version
            {one}, (SELECT unnest([{names}]) AS name)""",
        "finding": f"""
            SELECT {log} AS log, [{rules}][1 + (n + k) % 20] AS rule, 'a rule' AS title, 'time' AS topic,
                ['high', 'medium', 'low'][1 + n % 3] AS severity, 60 * {_noise(10)} AS time_lost, 0.1 AS share,
                'measured' AS confidence, 'Some of the time goes into job ' || n AS message
            {one}, range(3) AS t(k)""",
        "job": f"""
            SELECT {log} AS log, '/logs/' || n || '.darshan' AS path, n % 1200 AS uid, n AS job_id,
                (1 + n % 64) * 16 AS nprocs, {start} AS start, {start} + to_seconds(600) AS "end",
                600.0 AS run_time, '/apps/app' || (n % 300) AS exe, '3.41' AS format, 0 AS partial, 7000 AS log_size,
                n AS log_mtime, md5(n::VARCHAR) AS digest, 'user' || (n % 1200) AS "user",
                'app' || (n % 300) AS application, 'hopper' AS cluster, {start} AS ingested {one}""",
    }


def make(lake: Lake, records: int) -> int:
    """Days until there are so many records; how many there are."""
    made = 0
    number = 0
    while made < records:
        day = FIRST + timedelta(number)
        for name, rows in _day(number).items():
            table = lake.table(name)
            with connection() as duck:
                duck.execute("SET preserve_insertion_order = true; SET memory_limit = '3GB'")
                there = {row[0] for row in duck.execute(f"DESCRIBE {rows}").fetchall()}
                chosen = ", ".join(
                    f'"{c.name}"::{c.stored} AS "{c.name}"'
                    if c.name in there
                    else f'NULL::{c.stored} AS "{c.name}"'
                    for c in tables()[name]
                )
                files = write_files(duck, f"SELECT {chosen} FROM ({rows})", table, f"{number + 1:x}", day)
            table.commit(add=files)
        made += LOGS * FILES
        number += 1
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument(
        "--keep", type=Path, help="folder of the lake, which stays, and is taken if it is there"
    )
    parser.add_argument("--query", default="", help="this one only")
    parser.add_argument("--json", action="store_true", help="a line for each query")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (arguments.keep or Path(scratch)) / "lake"
        if not folder.exists():
            start = time.process_time()
            records = make(Lake.create(folder), arguments.records)
            print(
                f"{records:,} records made, {time.process_time() - start:.0f} s of processor time",
                file=sys.stderr,
            )
        if not arguments.json:
            print("| query | seconds | processor seconds | memory, MB | rows |\n|---|---|---|---|---|")
        for name, given in QUERIES:
            if arguments.query in ("", name):
                report(folder, name, given, arguments.json)


def report(lake: Path, name: str, given: dict[str, Any], as_json: bool) -> None:
    asked = [sys.executable, "-c", ASKED, os.fspath(lake), name, json.dumps(given)]
    one = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    if as_json:
        print(json.dumps({"query": name, "given": given, **one}), flush=True)
        return
    words = " ".join([name, *(f"{key}={value}" for key, value in given.items())])
    print(
        f"| {words} | {one['seconds']:.1f} | {one['processor']:.1f} | {one['memory']:.0f} | {one['rows']} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
