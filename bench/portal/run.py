"""How fast the portal's pages are on a lake of a machine's jobs, alone and with many people while jobs come in.

bench/fleetgen makes some thousand logs, which are ingested with their findings; the rows of all their tables, records
of files among them, are then repeated under other numbers until there are enough jobs. Seconds are wall-clock at the
client, on loopback. Several numbers of jobs: how the first page and the server's memory grow with them, without load.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
IOLENS = Path(sys.executable).parent / "iolens"
sys.path[:0] = [str(ROOT / "bench" / part) for part in (".", "fleetgen")] + [str(ROOT / "tests")]
from needs import need  # noqa: E402

PACKAGES = ["iolens", "deltalake", "arro3", "duckdb", "starlette", "uvicorn", "jinja2", "nanoarrow"]
need("portal", packages=PACKAGES, programs=["cc"])

import generate  # noqa: E402
from iolens.fleet.tables.write import read_files, write_files  # noqa: E402
from portal_site import local_settings  # noqa: E402

NUMBERS = {"log": "log + k * 68719476736", "job_id": "job_id + k * 10000000"}
"""Of a copy of rows."""

PAGES = (
    "/",
    "/jobs",
    "/jobs?since=",
    "/jobs?text=a&by=io_time",
    "/jobs?since=&page=1000",
    "/jobs?found=1&by=time_lost",
    "/job/LOG",
    "/job/LOG/details",
    "APPLICATION",
    "/q/findings",
    "/q/findings?since=",
    "/q/top_applications",
    "/q/top_users",
    "/q/periods?days=28",
    "/q/drift",
    "/q/top_files",
    "/q/top_directories",
    "/screens",
    "/storage",
    "/coverage",
    "/coverage?by=user",
    "/sql",
)
LOADED = (
    "/jobs",
    "/jobs?by=io_time",
    "/jobs?text=a",
    "/job/LOG",
    "/q/findings",
    "/q/top_applications",
    "/screens",
)


def make_lake(folder: Path, logs: int, jobs: int) -> Path:
    """A lake of so many jobs."""
    lake = folder / f"lake-{jobs}"
    if not lake.exists():
        shutil.copytree(_ingested(folder, logs), lake)
        repeat(lake, logs, jobs)
    return lake


def _ingested(folder: Path, logs: int) -> Path:
    """The lake of the logs themselves."""
    lake = folder / "lake"
    if lake.exists():
        return lake
    generate.generate(folder / "population", logs=logs, files=20, users=max(10, logs // 20), days=72)
    area = str(folder / "population" / "logs")
    subprocess.run([IOLENS, "fleet", "ingest", area, "--lake", lake], check=True, stdout=subprocess.DEVNULL)
    told = folder / "population" / "accounting.txt"
    subprocess.run(
        [IOLENS, "fleet", "accounting", told, "--zone", "UTC", "--lake", lake],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return lake


def repeat(path: Path, logs: int, jobs: int) -> None:
    """All rows under other numbers, file records, too: users get as many more jobs, and files as many more uses."""
    from iolens.fleet import Lake

    lake = Lake(path)
    copies = f"(SELECT unnest(range(1, {max(1, jobs // logs)})) AS k)"
    with lake.open(memory="4GB") as data:
        found = [name for name, files in data.snapshot.files.items() if files]
        for name in sorted(found, key=lambda name: name == "job"):  # last: its rows make the others count
            table = lake.table(name)
            if not table.partitioned and name != "accounting":
                continue
            columns = ", ".join(
                f'{NUMBERS.get(c.name, chr(34) + c.name + chr(34))} AS "{c.name}"' for c in table.columns
            )
            order = "day, log" if table.partitioned else "job_id"
            source = read_files(data.connection, table, data.snapshot.files[name])
            query = f"SELECT {columns}{', day' if table.partitioned else ''} FROM {source}, {copies} ORDER BY {order}"
            table.commit(add=write_files(data.connection, query, table, uuid.uuid4().hex))


class Asker:
    """One person's connection."""

    def __init__(self, port: int, user: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"X-Remote-User": user, "Host": f"127.0.0.1:{port}"}

    def get(self, path: str) -> tuple[float, int, str]:
        start = time.perf_counter()
        self.connection.request("GET", path, headers=self.headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        return time.perf_counter() - start, answer.status, text


@contextmanager
def served(lake: Path, folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A server whose pages for staff are prepared."""
    site = folder / "site.toml"
    site.write_text(local_settings(folder, port))
    process = subprocess.Popen(
        [IOLENS, "serve", "--lake", lake, "--site", site, "--refresh", "5"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    process.stdout.readline()
    try:
        while process.poll() is None and not _is_prepared(port):
            time.sleep(0.1)
        if process.returncode is not None:
            raise SystemExit(f"bench/portal: iolens serve ended with {process.returncode}")
        yield process
    finally:
        process.terminate()
        process.wait()


def _is_prepared(port: int) -> bool:
    try:
        return bool(json.loads(Asker(port, "sam").get("/healthy")[2])["prepared"])
    except (OSError, ValueError):
        return False


def filled(paths: tuple[str, ...], first: str) -> Iterator[str]:
    """Addresses with the numbers of a list of jobs in them."""
    log = re.search(r'href="/job/(\d+)"', first)
    application = re.search(r'href="(/application[^"]+)"', first)
    for path in paths:
        if log:
            found = path.replace("LOG", log[1])
            yield application[1].replace("&amp;", "&") if found == "APPLICATION" and application else found


def pages(port: int, user: str, again: int = 5) -> dict[str, Any]:
    """Of each page the first time, and the median of some more."""
    asker = Asker(port, user)
    first = asker.get("/jobs")
    found = {"first page of all": {"first": first[0], "then": first[0], "status": first[1]}}
    for path in filled(PAGES, first[2]):
        seconds, status, _ = asker.get(path)
        then = statistics.median(asker.get(path)[0] for _ in range(again))
        found[path] = {"first": seconds, "then": then, "status": status}
    return found


def load(port: int, users: list[str], seconds: float) -> dict[str, Any]:
    """So many people who read a page, and go to another one a second later."""
    times: list[float] = []
    wrong: list[str] = []
    end = time.monotonic() + seconds

    def person(number: int, user: str) -> None:
        dice = random.Random(number)
        asker = Asker(port, user)
        try:
            paths = list(filled(LOADED, asker.get("/jobs")[2])) or ["/jobs"]
            while time.monotonic() < end:
                took, status, text = asker.get(dice.choice(paths))
                times.append(took)
                if status != 200:
                    wrong.append(f"{status} {text[:200]}")
                time.sleep(dice.random() * 2)
        except OSError as error:
            wrong.append(str(error))

    threads = [threading.Thread(target=person, args=one) for one in enumerate(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ordered = sorted(times)
    return {
        "people": len(users),
        "requests": len(times),
        "median": statistics.median(times),
        "p95": ordered[int(0.95 * len(ordered))],
        "largest": ordered[-1],
        "wrong": wrong[:5],
    }


def resident(process: subprocess.Popen[str], at_most: bool = True) -> float:
    """MB, at most so far or now."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)" if at_most else r"VmRSS:\s+(\d+)", text)
    return int(found[1]) / 1024 if found else 0.0


def names_of(lake: Path) -> list[str]:
    """The users with most jobs."""
    words = [IOLENS, "fleet", "top", "users", "--by", "jobs", "-n", "49", "--lake", lake, "--json"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return [row["user"] for row in json.loads(text)["answers"][0]["rows"]]


def bench(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    lake = make_lake(folder, arguments.logs, arguments.jobs[0])
    begun = time.monotonic()
    with served(lake, folder, arguments.port) as process:
        prepared = time.monotonic() - begun
        names = names_of(lake)
        found: dict[str, Any] = {
            "staff": pages(arguments.port, "sam"),
            "user": pages(arguments.port, names[0]),
        }
        seed = 7 + len(
            list(folder.glob("more-*"))
        )  # what a kept lake has already would not be ingested again
        more = folder / f"more-{seed}"
        generate.generate(more, logs=2000, files=20, users=20, days=5, seed=seed)
        people = (["sam", *names] * arguments.people)[: arguments.people]
        found["all come at once"] = load(arguments.port, people, arguments.seconds / 2)
        ingest = subprocess.Popen(
            [IOLENS, "fleet", "ingest", more / "logs", "--lake", lake, "--jobs", "1"],
            stdout=subprocess.DEVNULL,
        )
        found["load while jobs come in"] = load(arguments.port, people, arguments.seconds)
        ingest.wait()
        found["memory"] = resident(process)
        found["prepared"] = prepared
    return found


def grown(folder: Path, arguments: argparse.Namespace, jobs: int) -> dict[str, Any]:
    """Of a lake of so many jobs: staff's first page, and memory before and after every page was read."""
    lake = make_lake(folder, arguments.logs, jobs)
    begun = time.monotonic()
    with served(lake, folder, arguments.port) as process:
        found = {"jobs": jobs, "prepared": time.monotonic() - begun, "start": resident(process, False)}
        asker = Asker(arguments.port, "sam")
        found["first"] = asker.get("/")[0]
        found["then"] = statistics.median(asker.get("/")[0] for _ in range(20))
        for user in ("sam", *names_of(lake)[:15]):
            wrong = {
                path: one["status"]
                for path, one in pages(arguments.port, user, 1).items()
                if one["status"] >= 500
            }
            found["wrong"] = {**found.get("wrong", {}), **wrong}
        found["memory"], found["end"] = resident(process), resident(process, False)
    return found


def growth_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| jobs | first page, ms: once; then | memory, MB: prepared; all pages read; at most | prepared after, s |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['jobs']:,} | {1000 * row['first']:.0f}; {1000 * row['then']:.0f} "
        f"| {row['start']:.0f}; {row['end']:.0f}; {row['memory']:.0f} | {row['prepared']:.1f} |"
        + (f" {row['wrong']}" if row["wrong"] else "")
        for row in rows
    ]
    return "\n".join(lines)


def table(found: dict[str, Any]) -> str:
    lines = []
    for who in ("staff", "user"):
        lines += [f"| page, as {who} | first, ms | then, ms |", "|---|---|---|"]
        lines += [
            f"| {path[:60]} | {1000 * one['first']:.0f} | {1000 * one['then']:.0f} |"
            + ("" if one["status"] == 200 else f" {one['status']}")
            for path, one in found[who].items()
        ]
        lines.append("")
    for when in ("all come at once", "load while jobs come in"):
        one = found[when]
        lines.append(
            f"{when}: {one['people']} people, {one['requests']} requests, median {1000 * one['median']:.0f} ms, "
            f"95 % within {1000 * one['p95']:.0f} ms, largest {1000 * one['largest']:.0f} ms, {len(one['wrong'])} wrong"
        )
        lines += [f"  {text}" for text in one["wrong"]]
    lines.append(f"from the start until staff's pages are prepared {found['prepared']:.1f} s")
    lines.append(f"memory of the server at most {found['memory']:.0f} MB")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[261_000], help="in the lake; several: growth")
    parser.add_argument("--logs", type=int, default=3000, help="that are ingested")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0, help="of the load")
    parser.add_argument("--port", type=int, default=8465)
    parser.add_argument("--keep", type=Path, help="folder for the lake, which stays")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(exist_ok=True, parents=True)
        if len(arguments.jobs) > 1:
            rows = [grown(folder, arguments, jobs) for jobs in arguments.jobs]
            print(json.dumps(rows) if arguments.json else growth_table(rows))
            return
        found = bench(folder, arguments)
    print(json.dumps(found) if arguments.json else table(found))


if __name__ == "__main__":
    main()
