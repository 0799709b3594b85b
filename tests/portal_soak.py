"""What a soak of the portal is made of: people of each role who know what they must see, and what is done to the lake.

The lake of nine jobs changes all the time: days of it are removed, zoe's jobs come in, files are compacted, damaged and
mended, the server is stopped and killed. An answer is right if the lake has been, or become, what it tells: each person
knows own jobs with their bytes, in how many steps they may go and come, and never sees a step backwards.
"""

from __future__ import annotations

import csv
import http.client
import io
import json
import random
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import places
from portal_server import ask

MIB, GIB = 1 << 20, 1 << 30
NOBODY_THERE = (
    ConnectionRefusedError,
    ConnectionResetError,
    BrokenPipeError,
    http.client.RemoteDisconnected,
    http.client.IncompleteRead,
)
PLAIN = re.compile(
    r"The lake cannot be read|The portal is being stopped|Took too long|being read: try again|cannot be read"
)
"""What a 503 says."""

REMOVED = ("2026-11-02", "2026-11-03")
"""Before these days retention removes, one after the other."""

STAYS = {"alice": {102 + run: (3 + run) * MIB for run in range(4)}, "bob": {}, "carol": {300: 0}}
GOES = {"alice": [{100: MIB}, {101: 2 * MIB}], "bob": [{200: 5 * GIB}, {201: 5 * GIB}], "carol": [{}, {}]}
"""User -> job -> bytes moved: what stays, and what goes with each day."""

GOING = {job for days in GOES.values() for jobs in days for job in jobs}

NEW = 7 * MIB
"""Bytes of each of zoe's jobs, 900, 901, ..."""


@dataclass
class Person:
    """One of the site, and how far the lake had come when this one last looked."""

    name: str
    days: int = 0
    new: int = 0

    @property
    def sees_all(self) -> bool:
        return self.name in ("sam", "root")

    def problem(self, jobs: dict[int, tuple[str, int]]) -> str:
        """What is wrong with a list of jobs (number -> user and bytes), "" if nothing is."""
        new = {job: told for job, told in jobs.items() if job >= 900}
        if new and not (self.sees_all or self.name == "zoe"):
            return f"{self.name} sees zoe's jobs"
        if new != {900 + n: ("zoe", NEW) for n in range(len(new))}:
            return f"zoe's jobs are {new}"
        old = {job: told for job, told in jobs.items() if job < 900}
        for days in range(self.days, len(REMOVED) + 1):
            if old == self._expected(days):
                if len(new) < self.new and (self.sees_all or self.name == "zoe"):
                    return f"{len(new)} new jobs after {self.new}"
                self.days, self.new = days, max(self.new, len(new))
                return ""
        return f"{self.name}, {self.days} days after: {old}"

    def _expected(self, days: int) -> dict[int, tuple[str, int]]:
        return {
            job: (user, moved)
            for user in STAYS
            if self.sees_all or self.name == user
            for jobs in (STAYS[user], *GOES[user][days:])
            for job, moved in jobs.items()
        }


@dataclass
class Soak:
    """Counts of all people's answers, and the first wrong ones."""

    port: int
    tokens: dict[str, str]
    logs: dict[int, int]
    ended: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)

    def visit(self, name: str, seed: int) -> None:
        """Until the end: asks for something, and tells what is wrong with the answer."""
        person, dice = Person(name), random.Random(seed)
        while not self.ended.is_set():
            question = dice.choice(QUESTIONS)
            try:
                status, text = question(self, person)
            except NOBODY_THERE:
                self.answers["nobody there"] += 1
                time.sleep(0.05)
                continue
            except Exception as error:  # an answer that is not understood is a wrong one
                self.wrong.append(f"{name}, {question.__name__}: {error!r}")
                continue
            if status == 503:
                if not PLAIN.search(text) or "Traceback" in text:
                    self.wrong.append(f"{name}, {question.__name__}: {text[:300]}")
                time.sleep(0.05)
            elif status not in (200, 404):
                self.wrong.append(f"{name}, {question.__name__}: {status} {text[-400:]}")
            self.answers[str(status)] += 1

    def get(self, person: Person, path: str, **headers: str) -> tuple[int, str]:
        return ask(self.port, "GET", path, {"X-Remote-User": person.name, **headers})


def _check(person: Person, rows: list[dict[str, Any]]) -> None:
    """Retention removes numbers before jobs: one of a day that goes may be listed without any for a moment. Such a list
    does not tell that the day is gone: its runs are counted still."""
    told = [row for row in rows if int(row["job_id"]) not in GOING or row["bytes_read"] not in (None, "")]
    jobs = {
        int(row["job_id"]): (str(row["user"]), int(row["bytes_read"]) + int(row["bytes_written"]))
        for row in told
    }
    assert len(jobs) == len(told), "a job stands there twice"
    problem = (person if len(told) == len(rows) else replace(person)).problem(jobs)
    assert not problem, problem


def by_api(soak: Soak, person: Person) -> tuple[int, str]:
    status, text = soak.get(person, "/api/v1/jobs?rows=1000&by=job_id")
    if status == 200:
        _check(person, json.loads(text)["rows"])
    return status, text


def by_csv(soak: Soak, person: Person) -> tuple[int, str]:
    status, text = soak.get(person, "/csv/job_list?by=user")
    if status == 200:
        _check(person, list(csv.DictReader(io.StringIO(text))))
    return status, text


def by_sql(soak: Soak, person: Person) -> tuple[int, str]:
    """The sandbox reads the lake's own files. Records of a day go before its jobs, so a job that is missing here may be
    listed once more."""
    statement = (
        'SELECT job_id, "user", coalesce(sum(r.bytes_read), 0)::BIGINT AS bytes_read, '
        "coalesce(sum(r.bytes_written), 0)::BIGINT AS bytes_written "
        "FROM job JOIN own_record AS r USING (log) GROUP BY ALL"
    )
    headers = {"Authorization": f"Bearer {soak.tokens[person.name]}", "Content-Type": "application/json"}
    status, text = ask(soak.port, "POST", "/api/v1/sql", headers, json.dumps({"statement": statement}))
    if status == 400 and ("try again in a moment" in text or "ended after" in text):
        return 503, "cannot be read: busy"
    if status == 200:
        _check(replace(person), json.loads(text)["rows"])
    return status, text


def front(soak: Soak, person: Person) -> tuple[int, str]:
    """The page, whose sums are those of the list."""
    status, text = soak.get(person, "/jobs?since=")
    if status == 200:
        assert text.rstrip().endswith("</html>"), text[-200:]
        cells = re.findall(r'data-name="job id"><a href="[^"]*">(\d+)<', text)
        counted = re.search(r"<b>([\d,]+)</b> jobs", text)
        assert counted and int(counted[1].replace(",", "")) >= len(cells)
        assert sorted(set(cells)) == sorted(cells) and (person.sees_all or len(cells) <= 50)
    return status, text


def job_page(soak: Soak, person: Person) -> tuple[int, str]:
    """One of alice's that stays: hers and staff's alone."""
    log = soak.logs[105]
    path = f"/job/{log}/tables.csv?table=file-table" if person.days % 2 else f"/job/{log}/details"
    status, text = soak.get(person, path)
    mine = person.sees_all or person.name == "alice"
    if status == 200:
        assert mine and "/scratch/alice/run/out" in text, f"details: {text[:200]}"
    elif status == 404:
        assert not mine and "alice" not in text
    return status, text


def history(soak: Soak, person: Person) -> tuple[int, str]:
    status, text = soak.get(person, "/application?name=sim")
    if status == 200:
        assert person.sees_all or person.name == "alice"
        found = re.search(r"<h1>sim: (\d) runs", text)
        assert found and 4 <= int(found[1]) <= 6 - person.days, found
    elif status == 404:
        assert not (person.sees_all or person.name == "alice"), text[-300:]
    return status, text


def storage(soak: Soak, person: Person) -> tuple[int, str]:
    status, text = soak.get(person, "/q/top_files")
    if status == 200:
        others = {"alice": "/data/set|/home/carol", "bob": "/scratch/alice|/home/carol"}.get(
            person.name, "\0"
        )
        assert not re.search(others, text), "others' files"
    return status, text


QUESTIONS = (by_api, by_csv, by_sql, front, job_page, history, storage)


class Lake:
    """What is done to the lake meanwhile, each by a thread of its own."""

    def __init__(self, path: Path, make: Any, ended: threading.Event) -> None:
        self.path, self.make, self.ended = path, make, ended
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._whole = threading.Lock()

    def _fleet(self, *words: object) -> bool:
        """Has it been done? Else a file of the lake was damaged (3), and that was said."""
        done = subprocess.run(
            [str(places.BIN), "fleet", *map(str, words), "--lake", str(self.path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode not in (0, 3) or "Traceback" in done.stderr:
            self.wrong.append(f"{words}: {done.returncode} {done.stderr[-500:]}")
        self.done[str(words[0])] += done.returncode == 0
        return done.returncode == 0

    def compact(self) -> None:
        while not self.ended.wait(0.5):
            self._fleet("compact", "--keep", "0")

    def ingest(self) -> None:
        for number in range(10**6):
            area = self.path.parent / f"area-{number}"
            area.mkdir()
            record = {"id": 77, "rank": 0, "opens": 1, "writes": 7, "bytes_written": NEW}
            record |= {"max_byte_written": NEW - 1, "write_time": 1.0}
            begin = 1_790_000_000 + number * 3600
            log = self.make(
                exe=b"/opt/bin/fresh", job_id=900 + number, uid=1000, start=begin, end=begin + 100,
                posix=[record], names={77: b"/scratch/zoe/out"},
            )  # fmt: skip
            log.rename(area / f"zoe_fresh_id{900 + number}-1_11-1-{number}_1.darshan")
            while not self._fleet("ingest", area, "--jobs", "1") and not self.wrong:
                time.sleep(0.2)
            shutil.rmtree(area)
            if self.ended.wait(1):
                return

    def damage(self) -> None:
        """A file is half as long for a while; compaction has to do without."""
        dice = random.Random(3)
        while not self.ended.wait(1):
            tables = [t for t in ("job", "metric", "posix", "name", "file_sum") if (self.path / t).is_dir()]
            files = sorted((self.path / dice.choice(tables)).rglob("*.parquet"))
            file = dice.choice(files)
            try:
                kept = file.read_bytes()
                file.write_bytes(kept[: len(kept) // 2])
                time.sleep(0.5)
                if file.exists():  # or a compaction before had replaced it
                    file.write_bytes(kept)
                self.done["damage"] += 1
            except FileNotFoundError:
                continue

    def remove_days(self, seconds: float) -> None:
        for day in REMOVED:
            if self.ended.wait(seconds / (len(REMOVED) + 1)):
                return
            while not self._fleet("retention", "--jobs", day) and not self.wrong:
                time.sleep(0.2)
