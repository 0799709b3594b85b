"""Findings of a lake's recent jobs, for notices."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from iolens.fleet.notify.occurrence import Occurrence
from iolens.fleet.notify.site import NOTICES, Site
from iolens.fleet.saved_queries import ask
from iolens.fleet.tables.lake import Lake
from iolens.rules import SEVERITIES

__all__ = ["recent"]


def recent(lake: str, site: Site, now: float) -> Iterator[Occurrence]:
    """Findings of jobs that started in the site's last days, down to the least severity that a recipient wants."""
    users = site.opted_in and NOTICES in site.user_send
    wanted = [one.severity for one in site.recipients if NOTICES in one.send]
    wanted += [site.user_severity] if users else []
    if not wanted:
        return
    today = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).date()
    first = today - datetime.timedelta(days=min(int(site.max_age_days) + 1, today.toordinal() - 1))
    with Lake(lake).open(since=first) as data:
        found = ask(data, "occurrences", severity=max(wanted, key=SEVERITIES.index)).dicts()
    for row in found:
        if row["rule"] not in site.skip:
            yield Occurrence(**row)
