"""What is new, as messages in the outbox."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from typing import Optional

from iolens.fleet.notify.occurrence import Occurrence
from iolens.fleet.notify.outbox import Message, Outbox, Told, new_id
from iolens.fleet.notify.site import USER, Recipient, Site
from iolens.rules import SEVERITIES
from iolens.rules.text import clean
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
    count = f"{len(told)} new I/O findings" if len(told) > 1 else "new I/O finding"
    first = told[0]
    subject = clean(f"[{site.name}] {count}: {first.title} ({first.user}, {first.application})")
    blocks, listed = [], []
    for one in told:
        link = site.link_to(one.plain())
        blocks.append("\n".join(one.lines(link)))
        listed.append({**one.plain(), "link": link})
    id = new_id()
    content = {"id": id, "site": site.name, "recipient": recipient.name, "text": subject, "findings": listed}
    return Message(id, recipient.name, subject, "\n\n".join(blocks) + "\n", stamped("notice", content), now)


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
