"""The weekly mail: what the last whole week brought, for recipients that want it, once each."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from functools import partial

from iolens.fleet.digest import DAYS, MONTH, ROWS, Digest, digest
from iolens.fleet.notify.occurrence import table_lines
from iolens.fleet.notify.outbox import Message, Outbox, Told, new_id
from iolens.fleet.notify.site import USER, WEEKLY, Recipient, Site
from iolens.fleet.saved_queries import Answer, find_query, statement
from iolens.fleet.tables.data import LakeData
from iolens.fleet.tables.lake import Lake
from iolens.rules import load
from iolens.rules.finding import Evidence
from iolens.rules.text import clean, counted, write
from iolens.schemas import stamped
from iolens.values import plain

__all__ = ["collect_weekly"]

_TOTALS = (
    ("jobs", "count"),
    ("users", "count"),
    ("bytes_read", "bytes"),
    ("bytes_written", "bytes"),
    ("time_lost", "seconds"),
)

_JOBS = ("job_id", "user", "application", "run_time", "io_time", "time_lost")
_FINDINGS = ("severity", "rule", "user", "application", "jobs", "time_lost")
_SLOWER = ("user", "application", "nprocs", "earlier", "recent", "change")
_USERS = ("user", "jobs", "time_lost", "io_time")
_PERIODS = ("application", "account", "jobs", "jobs_before", "io_time", "io_time_before", "time_lost",
            "time_lost_before")  # fmt: skip


def _last_sunday(now: float) -> datetime.date:
    """The end of the last whole week in UTC."""
    today = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).date()
    return today - datetime.timedelta(days=today.weekday() + 1)


def _ask(data: LakeData, name: str, **given: float | str) -> Answer:
    """A named query over the table of measures that is made once for all recipients."""
    sql, values = statement(name, {"measured": "SELECT * FROM measured_made"})
    values |= {key: value for key, value in given.items() if key in values}
    return Answer(find_query(name), values, data.query(sql, values).fetchall())


def _table(title: str, answer: Answer, chosen: tuple[str, ...]) -> list[str]:
    """Columns that say nothing in any row are left out; so is a table without rows."""
    rows = answer.dicts()[:ROWS]
    names = [name for name in chosen if any(row[name] not in (None, "", 0) for row in rows)]
    if not names:
        return []
    units = {c.name: "" if c.name == "job_id" else c.unit for c in answer.query.columns}
    rules = load().rules
    titled = [
        {**row, **({"rule": rules[row["rule"]].title} if row.get("rule") in rules else {})} for row in rows
    ]
    cells = tuple(tuple("-" if row[n] is None else row[n] for n in names) for row in titled)
    shown = Evidence(title, tuple(names), tuple(units[n] for n in names), cells)
    return ["", title, *table_lines(shown)]


def _lines(found: Digest, link: str, staff: bool) -> Iterator[str]:
    yield f"{found.since} to {found.until} (UTC), compared with the week before"
    if link:
        yield link
    names = [(name, unit) for name, unit in _TOTALS if staff or name != "users"]
    rows = tuple(
        (name.replace("_", " "), write(found.total[name] or 0, unit), write(found.before[name] or 0, unit))
        for name, unit in names
    )
    yield ""
    yield from table_lines(Evidence("", ("", "this week", "before"), ("", "text", "text"), rows))
    if staff:
        yield from _table("Users who lost most", found.users, _USERS)
    yield from _table("Jobs that lost most", found.jobs, _JOBS)
    yield from _table("New findings", found.new, _FINDINGS)
    yield from _table("Applications that became slower", found.slower, _SLOWER)
    yield from _table(f"{DAYS} days, compared with the {DAYS} before", found.week, _PERIODS)
    yield from _table(f"{MONTH} days, compared with the {MONTH} before", found.month, _PERIODS)


def _message(site: Site, recipient: Recipient, found: Digest, now: float) -> Message:
    lost = found.total["time_lost"]
    cost = f", {write(lost, 'seconds')} lost" if lost else ""
    new = f", {counted(len(found.new.rows), 'new finding')}" if found.new.rows else ""
    jobs = counted(found.total["jobs"], "job")
    subject = clean(f"[{site.name}] Week to {found.until}: {jobs}{cost}{new}")
    staff = not recipient.name.startswith(USER)
    link = f"{site.portal.rstrip('/')}/?until={found.until}" if site.portal else ""
    body = "\n".join(_lines(found, link, staff)) + "\n"
    answers = (found.users, found.jobs, found.new, found.slower, found.week, found.month)
    week = {
        "since": str(found.since),
        "until": str(found.until),
        "total": plain(found.total),
        "before": plain(found.before),
        "answers": [{**one.plain(), "rows": plain(one.dicts())} for one in answers[not staff :]],
    }
    id = new_id()
    content = {"id": id, "site": site.name, "recipient": recipient.name, "text": subject, "findings": []}
    return Message(id, recipient.name, subject, body, stamped("notice", {**content, "week": week}), now)


def _users(lake: str, until: datetime.date) -> set[str]:
    """With jobs in the week."""
    since = until - datetime.timedelta(days=DAYS - 1)
    with Lake(lake).open(since=since, until=until) as data:
        return {user for (user,) in data.query('SELECT DISTINCT "user" FROM job').fetchall()}


def collect_weekly(outbox: Outbox, site: Site, lake: str, now: float) -> int:
    """Keeps the mails of the last whole week that were not made yet as messages to be sent; their number."""
    until = _last_sunday(now)
    key: Told = ("", "", f"week to {until}")
    subscribed = map(site.user, sorted(site.opted_in))
    wanted = [one for one in (*site.recipients, *subscribed) if WEEKLY in one.send]
    wanted = [one for one in wanted if key not in outbox.told(one.name, 0)]
    whose = {one.name: one.name[len(USER) :] if one.name.startswith(USER) else "" for one in wanted}
    active = _users(lake, until) if wanted else set()
    wanted = [one for one in wanted if (whose[one.name] in active if whose[one.name] else active)]
    if not wanted:
        return 0
    with Lake(lake).open() as data:
        measured, _ = statement("measured")
        data.prepare(measured)
        data.connection.execute(f"CREATE TEMP TABLE measured_made AS {measured}")
        found = [(one, digest(partial(_ask, data), until, whose[one.name])) for one in wanted]
    outbox.add((_message(site, recipient, week, now), {key: 0}) for recipient, week in found)
    return len(found)
