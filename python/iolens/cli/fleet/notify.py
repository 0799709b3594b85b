"""iolens fleet notify: sends new findings to their recipients."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from iolens.cli.command import to_json, warn
from iolens.error import OK, PARTIAL, USAGE, IolensError
from iolens.shown import say

if TYPE_CHECKING:
    from iolens.fleet.notify import Outbox, Site
    from iolens.fleet.notify.dark import Trial


def _try(site: Site, lake: str, name: str, as_json: bool) -> None:
    from dataclasses import asdict

    from iolens.fleet import Lake
    from iolens.fleet.notify.dark import try_rule
    from iolens.schemas import stamped

    rule = site.catalog().find(name)
    with Lake(lake).open() as data:
        trial = try_rule(data, rule)
    print(to_json(stamped("trial", asdict(trial)))) if as_json else _print_trial(trial)


def _print_trial(trial: Trial) -> None:
    from iolens.rules.text import counted, write

    say(f"{trial.rule} on {counted(trial.jobs, 'job')}; no message is sent")
    users, applications = counted(trial.users, "user"), counted(trial.applications, "application")
    print(f"  matching   {counted(trial.matching, 'job')} of {users}, {applications}")
    print(f"  notices    {trial.notices:,}: one per user and application")
    if trial.time_lost is not None:
        print(
            f"  time lost  {write(trial.time_lost, 'seconds')}, at most {write(trial.worst, 'seconds')} in a job"
        )
    for month, count in trial.by_month:
        print(f"  {month:<9}  {counted(count, 'job')}")
    for user, application, job, lost in trial.examples:
        say(f"  for instance job {job}: {user}, {application}, {write(lost, 'seconds')}")


def _status(outbox: Outbox) -> None:
    from iolens.rules.text import counted

    for state, count in outbox.counts().items():
        print(f"{state:<10} {count:,}")
    for message in outbox.waiting():
        when = datetime.datetime.fromtimestamp(message.next_try, datetime.timezone.utc)
        why = f": {message.error}" if message.error else ""
        say(
            f"  {message.recipient}, tried {counted(message.attempts, 'time')}, again {when:%Y-%m-%d %H:%M} UTC{why}"
        )


@click.command()
@click.option(
    "--site",
    "file",
    required=True,
    metavar="FILE",
    envvar="IOLENS_SITE",
    help="Recipients and rules, as TOML.",
)
@click.option("--lake", required=True, metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option("--outbox", metavar="FILE", help="Queue and history of notices [outbox.sqlite in the lake].")
@click.option("--dry-run", is_flag=True, help="Print what would be sent; keep and send nothing.")
@click.option("--status", is_flag=True, help="List waiting notices, and why they wait.")
@click.option("--try", "trial", metavar="RULE", help="Print what this rule finds in all jobs; send nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --try: as JSON.")
def notify(file: str, lake: str, outbox: str | None, trial: str | None, as_json: bool, **flags: Any) -> int:
    """Sends new findings to recipients: once per user, application and rule, by mail, webhook or file.

    Run it after each ingest. Later runs retry failed deliveries. Recipients with "weekly" in `send` get a summary of
    each week after it has ended.
    """
    from iolens.fleet import Lake
    from iolens.fleet.notify import Outbox, read_site
    from iolens.fleet.tables.access import keep_owner

    site = read_site(file)
    Lake(lake)  # before an outbox is made in a folder that is no lake
    if trial:
        _try(site, lake, trial, as_json)
        return OK
    if flags["dry_run"]:
        with Outbox(":memory:") as kept:
            _collect(kept, site, lake, time.time())
            for message in kept.waiting():
                for line in (f"to {message.recipient}: {message.subject}", *message.body.split("\n")):
                    say(line)
        return OK
    if outbox and flags["status"] and not Path(outbox).exists():
        raise IolensError("no such outbox", outbox, exit_code=USAGE)
    with Outbox(outbox or f"{lake}/outbox.sqlite") as kept:
        if not outbox:
            keep_owner(kept.path)
        if flags["status"]:
            _status(kept)
            return OK
        code = _tell(kept, site, lake)
        if not outbox:
            keep_owner(f"{kept.path}.lock")
        return code


def _collect(outbox: Outbox, site: Site, lake: str, now: float) -> int:
    from iolens.fleet import Lake
    from iolens.fleet.notify.collect import collect
    from iolens.fleet.notify.evidence import with_evidence
    from iolens.fleet.notify.recent import recent
    from iolens.fleet.notify.weekly import collect_weekly

    catalog = site.catalog()
    found = recent(lake, site, now)
    opened = Lake(lake)
    made = collect(outbox, site, found, now, lambda one: with_evidence(one, catalog, site.adjusted, opened))
    return made + collect_weekly(outbox, site, lake, now)


def _tell(outbox: Outbox, site: Site, lake: str) -> int:
    from iolens.fleet.notify import deliver

    made = _collect(outbox, site, lake, time.time())
    done = deliver(outbox, site, time.time)
    for problem in done.failed:
        warn(problem)
    if done.busy:
        warn("another process is sending: what is new is kept, and it or the next run sends it")
    print(f"{made} new messages, {done.delivered} delivered, {outbox.counts()['waiting']} waiting")
    return PARTIAL if done.failed else OK
