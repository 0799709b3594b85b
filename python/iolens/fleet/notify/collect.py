"""What is new, as messages in the outbox."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Optional

from iolens.fleet.notify.occurrence import Occurrence
from iolens.fleet.notify.outbox import Message, Outbox, Told, new_id
from iolens.fleet.notify.site import USER, Recipient, Site
from iolens.rules import SEVERITIES
from iolens.rules.text import clean, counted, write
from iolens.schemas import stamped

__all__ = ["collect"]

Explain = Callable[[Occurrence], Optional[Occurrence]]


def _key(one: Occurrence) -> Told:
    return one.user, one.application, one.rule


def _worst_first(one: Occurrence) -> tuple[int, float, int]:
    return SEVERITIES.index(one.severity), -(one.time_lost or 0), one.log


def _new_for(recipient: Recipient, found: Iterable[Occurrence], told: set[Told]) -> list[Occurrence]:
    """The worst of each user, application and rule that the recipient wants to know and does not."""
    chosen: dict[Told, Occurrence] = {}
    for one in found:
        mine = not recipient.name.startswith(USER) or recipient.name == f"{USER}{one.user}"
        if mine and recipient.wants(one.rule, one.severity) and _key(one) not in told:
            chosen.setdefault(_key(one), one)
    return list(chosen.values())


def _message(site: Site, recipient: Recipient, told: Sequence[Occurrence], now: float) -> Message:
    subject = clean(f"[{site.name}] {_subject(told)}")
    jobs: dict[int, list[Occurrence]] = {}
    for one in told:
        jobs.setdefault(one.log, []).append(one)
    body = "\n\n\n".join(_job(site, found) for found in jobs.values()) + "\n"
    listed = [{**one.plain(), "link": site.link_to(one.plain())} for one in told]
    id = new_id()
    content = {"id": id, "site": site.name, "recipient": recipient.name, "text": subject, "findings": listed}
    return Message(id, recipient.name, subject, body, stamped("notice", content), now)


def _subject(told: Sequence[Occurrence]) -> str:
    """The worst job, what it loses, and how much more there is."""
    first = told[0]
    lost = f": about {write(first.time_lost, 'seconds')} lost" if first.time_lost else ""
    lost += f" of {write(first.run_time, 'seconds')}" if lost and first.run_time else ""
    here = sum(one.log == first.log for one in told)
    others = len({one.log for one in told}) - 1
    what = first.title if here == 1 else counted(here, "finding")
    return f"{first.job} of {first.user}{lost}, {what}" + (
        f"; and {counted(others, 'other job')}" if others else ""
    )


def _job(site: Site, found: Sequence[Occurrence]) -> str:
    """A job with its findings. Its page once, unless each finding has one of its own."""
    links = [site.link_to(one.plain()) for one in found]
    several = len(set(links)) > 1
    head = [*found[0].job_lines(), *([] if several or not links[0] else [links[0]])]
    head += [] if links[0] else [f"log: {clean(found[0].path)}"]
    blocks = [
        "\n".join([*one.lines(found[:number]), *([f"  {links[number]}"] if several else [])])
        for number, one in enumerate(found)
    ]
    return "\n\n".join(["\n".join(head), *blocks])


def collect(
    outbox: Outbox, site: Site, found: Iterable[Occurrence], now: float, explain: Explain | None = None
) -> int:
    """Keeps what recipients do not know yet as messages to be sent; the number of messages.

    found: of jobs that started longer ago than ``site.max_age_days``, and of rules in ``site.dark``, nothing is told.
    explain: gives an occurrence its evidence, or None if it shall not be told; is called for what is new alone.
    """
    oldest = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).replace(
        tzinfo=None
    ) - datetime.timedelta(days=site.max_age_days)
    recent = sorted(
        (f for f in found if f.rule not in site.dark and (f.start is None or f.start >= oldest)),
        key=_worst_first,
    )
    since = now - site.repeat_days * 86400 if site.repeat_days else 0
    explained: dict[tuple[int, str], Occurrence | None] = {}
    made = []
    for recipient in site.everybody({f.user for f in recent}):
        new = _new_for(recipient, recent, outbox.told(recipient.name, since))
        for one in new:
            if explain and (one.log, one.rule) not in explained:
                explained[one.log, one.rule] = explain(one)
        new = [told for one in new if (told := explained.get((one.log, one.rule), one))]
        for at in range(0, len(new), site.per_message):
            part = new[at : at + site.per_message]
            made.append((_message(site, recipient, part, now), {_key(one): one.log for one in part}))
    outbox.add(made)
    return len(made)
