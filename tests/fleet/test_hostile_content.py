"""What a user writes into his logs, and how he names them: text to all others, whatever it says."""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any, Callable

import pytest
from here import run_here
from iolens.fleet import Lake
from iolens.fleet.archive import archive, restore, sources
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.fleet.notify import Occurrence, Outbox, collect, deliver, read_site
from iolens.fleet.upkeep.verify import verify
from iolens.rules.finding import Evidence
from made_area import Here
from receivers import mail_server, web_server
from two_users import ALICE, MALLORY, TWO, Site, as_user, number, two_users

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, and to become other users")

TEXTS = {
    "two lines": "one\nBcc: all@example.org\r\n\r\nother",
    "a formula": "=cmd|' calc'!A0",
    "markup": "<img src=x onerror=alert(1)><!channel>",
    "a statement": "x'); DROP TABLE job; --",
    "a command": "$(touch owned);`touch owned`|touch owned&",
    "an option": "--to=owned",
    "a format": "{user} {0} %s %n {{7*7}}",
    "bytes": "\udcff\udc80\x1b]0;T\x07",
}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with two_users() as made:
        monkeypatch.chdir(made.at)
        yield made
        assert not list(made.at.rglob("owned"))


# ---- names and command lines ----


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_of_a_log_are_one_value_each(site: Site, text: str) -> None:
    mine = site.log(ALICE, site.area / "alice.darshan")
    raw = os.fsencode(text)
    names = {1: b"/scratch/" + raw}
    log = site.log(MALLORY, site.area / f"{text}.darshan", exe=b"/bin/" + raw, names=names)
    content = log.read_bytes()
    done = site.ingest()
    assert (done.ingested, done.quarantined) == (2, 0)
    asked = ["fleet", "sql", "--lake", site.lake]
    query = 'SELECT path, exe, "user", application FROM job ORDER BY job_id'
    kept = json.loads(run_here(*asked, "--json", query).stdout)
    rows = [list(row.values()) for row in kept]
    assert rows[0][0] == str(mine)
    assert [row[2] for row in rows] == [ALICE, MALLORY]
    printed = run_here(*asked, "--csv", query)
    head, *table = csv.reader(io.StringIO(printed.stdout, newline=""))
    assert head == ["path", "exe", "user", "application"] and len(table) == 2
    assert [row[2] for row in table] == [ALICE, MALLORY]
    # Asked for by its name, it is one application, and the lake is as it was.
    with Lake(site.lake).open() as data:
        (application,) = data.query('SELECT application FROM job WHERE "user" = ?', [MALLORY]).fetchone()
        number_of = data.query("SELECT count(*) FROM job WHERE application = ?", [application]).fetchone()
        assert number_of == (1,)
    told = run_here("fleet", "history", "--lake", site.lake, "--json", "--", application)
    assert told.returncode == 0, told.stderr
    assert "\x1b" not in told.stdout and "Traceback" not in told.stderr
    assert list(verify(Lake(site.lake))) == []

    packed = archive(Lake(site.lake), site.at / "archives", before=date(2100, 1, 1), program="/bin/false")
    gone = [path for path in (mine, log) if not path.exists()]
    assert (packed.logs, packed.removed, packed.problems) == (len(gone), len(gone), [])
    assert gone == ([mine] if "\udcff" in text else [mine, log])  # what is not UTF-8 stays
    with Lake(site.lake).open() as data:
        found = sources(data)
    assert restore(Lake(site.lake), found).logs == len(gone)
    assert log.read_bytes() == content and log.stat().st_uid == number(MALLORY)
    assert {path.name for path in site.area.iterdir()} == {mine.name, log.name}


def hostile(text: str) -> Occurrence:
    text = os.fsencode(text).decode("utf-8", "replace")  # as the lake has it
    return Occurrence(
        rule="sync_storm",
        title="Data is forced to storage again and again",
        severity="high",
        message=f"{text} was forced to storage 8,004 times.",
        user=MALLORY,
        application=text,
        log=1,
        path=f"/logs/{text}.darshan",
        job_id=1,
        start=datetime.now(timezone.utc).replace(tzinfo=None),
        evidence=(Evidence("Files", ("name", "syncs"), ("", "count"), ((f"/scratch/{text}", 8004),)),),
        advice=("Call fsync once.",),
    )


SITE = """
[site]
link = "https://jobs.example.org/{{application}}"
[[recipient]]
name = "operators"
channel = "mail"
to = "io@example.org"
[[recipient]]
name = "chat"
channel = "webhook"
url = "{url}"
body = "text"
[[recipient]]
name = "spool"
channel = "directory"
path = "spool"
[mail]
host = "localhost"
port = {port}
"""


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_notice_is_one_message_to_its_recipient(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with mail_server() as box, web_server() as hook, Outbox(tmp_path / "outbox.sqlite") as outbox:
        (tmp_path / "site.toml").write_text(SITE.format(url=hook.url, port=box.port))
        where = read_site(str(tmp_path / "site.toml"))
        assert collect(outbox, where, [hostile("plain"), hostile(text)], time.time()) == 3
        done = deliver(outbox, where, time.time)
        assert (done.delivered, done.failed) == (3, [])
        (mail,) = box.taken
        assert mail["X-Taken-For"] == mail["To"] == "io@example.org"
        assert {name.lower() for name in mail} & {"bcc", "cc"} == set()
        lines = mail.get_content().replace("\r\n", "\n").rstrip("\n").split("\n")
        blank = lines.index("")
        first, second = "\n".join(lines[blank + 1 :]).split("\n\n")
        assert second.count("\n") == first.count("\n") - 1  # the advice stands once
        assert not any(c < " " or "\x7f" <= c < "\xa0" for line in lines for c in line)
        (chat,) = hook.json
        assert len(chat["text"].rstrip("\n").split("\n")) == len(lines) + 1  # and the subject
        (file,) = (tmp_path / "spool").iterdir()
        (of,) = (one for one in json.loads(file.read_text())["findings"] if one["application"] != "plain")
        assert of["user"] == MALLORY
    assert not list(tmp_path.rglob("owned"))


# ---- many logs ----


class Seen(Here):
    """Keeps the names of each batch's logs."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def submit(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        self.batches.append([Path(found.path).name for found, _ in values[2]])
        return super().submit(function, *values, **named)


def test_no_log_waits_for_the_many_of_another_user(site: Site) -> None:
    for n in range(60):
        made = site.make(posix=TWO, job_id=1000 + n, uid=number(MALLORY))
        os.chown(made, number(MALLORY), number(MALLORY))
        made.rename(site.area / f"a{n}.darshan")
    site.log(ALICE, site.area / "z.darshan")
    pool = Seen()
    options = Options(str(site.lake), rules=False)
    done = Ingest(Lake.create(site.lake), options, jobs=1, batch_logs=10, pool=pool).run([site.area])
    assert (done.ingested, sum(map(len, pool.batches))) == (61, 61)
    assert [n for n, batch in enumerate(pool.batches) if "z.darshan" in batch] == [1]
    limited = Lake.create(site.at / "other")
    few = Ingest(
        limited, Options(str(limited.path), rules=False), jobs=1, batch_logs=10, limit=11, pool=Here()
    )
    assert few.run([site.area]).deferred == 50
    with limited.open() as data:
        assert data.rows('SELECT count(*) AS n FROM job WHERE "user" = ?', [ALICE]) == [{"n": 1}]


# ---- times and numbers ----


def test_times_far_away_reach_no_other_log(site: Site) -> None:
    today = int(time.time())
    starts = {"epoch": 1, "soon": today + 3600, "later": today + 10 * 86400, "9999": 253402214400}
    starts |= {"10000": 253402300800, "end of time": (1 << 62), "before": -(1 << 62)}
    for name, start in starts.items():
        site.log(MALLORY, site.area / f"{name}.darshan", start=start, end=start + 1)
    for name, moment in (("old", "1901-12-14"), ("new", "2200-01-01")):
        log = site.log(MALLORY, site.area / f"{name}.darshan")
        as_user(MALLORY, "touch", "-d", moment, log)
    mine = site.log(ALICE, site.area / "mine.darshan")
    done = site.ingest()
    day = datetime.fromtimestamp(starts["later"], timezone.utc).date()
    assert site.reasons() == {
        "later.darshan": f"starts on {day}, which is still to come",
        "9999.darshan": "starts on 9999-12-31, which is still to come",
        **dict.fromkeys(
            ("10000.darshan", "end of time.darshan", "before.darshan"), "the time of the job is not a date"
        ),
    }
    assert (done.ingested, done.quarantined) == (5, 5)
    assert set(site.users()) == {"epoch.darshan", "soon.darshan", "old.darshan", "new.darshan", mine.name}
    assert run_here("fleet", "compact", "--lake", site.lake).returncode == 0
    assert list(verify(Lake(site.lake))) == []


def test_the_number_of_anothers_job_does_not_make_it_his(site: Site) -> None:
    site.log(ALICE, site.area / f"{ALICE}_prog_id4711-1_1-1-1-1_1.darshan", job_id=4711)
    site.log(
        MALLORY, site.area / f"{MALLORY}_prog_id4711-1_1-1-1-1_1.darshan", job_id=4711, exe=b"/bin/other"
    )
    assert site.ingest().ingested == 2
    told = run_here(
        "fleet", "sql", "--lake", site.lake, "--csv", 'SELECT "user", exe FROM job WHERE job_id = 4711'
    )
    assert sorted(told.stdout.splitlines()[1:]) == [f"{ALICE},/bin/prog", f"{MALLORY},/bin/other"]
