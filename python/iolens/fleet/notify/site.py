"""A site's recipients and rules for notices: one TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from iolens.error import USAGE, IolensError
from iolens.log.unknown import unknown_text
from iolens.rules import SEVERITIES, Catalog, RuleError, load
from iolens.rules.rule import read_toml

__all__ = ["CHANNELS", "NOTICES", "WEEKLY", "Mail", "Recipient", "Site", "read_site"]

CHANNELS = {"mail": "to", "webhook": "url", "directory": "path"}
"""Channel -> the key that says where it leads."""

NOTICES, WEEKLY = "notices", "weekly"
"""What a recipient may get: new findings at once, a summary of each week."""

USER = "user:"
"""Recipients that are users have names that begin so."""

_LINK_FIELDS = ("job_id", "log", "user", "application", "rule", "cluster")

# Table -> key -> type; a list is one of strings.
_KEYS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "site": {"name": str, "link": str, "portal": str},
    "rules": {"directories": list, "dark": list, "skip": list},
    "notify": {"max_age_days": (int, float), "repeat_days": (int, float), "per_message": int},
    "recipient": {
        "name": str,
        "channel": str,
        "to": str,
        "url": str,
        "path": str,
        "severity": str,
        "rules": list,
        "send": list,
        "body": str,
        "secret_file": str,
    },
    "mail": {
        "host": str,
        "port": int,
        "security": str,
        "user": str,
        "password_file": str,
        "sender": str,
    },
    "users": {"opt_in": list, "opt_in_file": str, "address": str, "severity": str, "rules": list,
              "send": list},
}  # fmt: skip
_WORDS = {str: "string", list: "list of strings", int: "whole number"}


@dataclass(frozen=True)
class Mail:
    """How mail leaves. security: "none", "starttls" or "tls"."""

    host: str = "localhost"
    port: int = 25
    security: str = "none"
    user: str = ""
    password_file: str = ""
    sender: str = "iolens@localhost"


@dataclass(frozen=True)
class Recipient:
    """A recipient. ``severity``: the lowest that is sent; ``rules``: patterns of rules' names, all without."""

    name: str
    channel: str
    target: str
    """An address, a URL, or a directory."""
    severity: str
    rules: tuple[str, ...] = ()
    body: str = "json"
    """Of a webhook: "json", or "text" for chats that take ``{"text": ...}``."""
    secret_file: str = ""
    send: tuple[str, ...] = (NOTICES,)

    def wants(self, rule: str, severity: str) -> bool:
        """Is a finding of this rule and severity for them?"""
        if NOTICES not in self.send:
            return False
        named = not self.rules or any(fnmatchcase(rule, pattern) for pattern in self.rules)
        return named and SEVERITIES.index(severity) <= SEVERITIES.index(self.severity)


@dataclass(frozen=True)
class Site:
    """What ``read_site`` read; without a file, no notices are sent."""

    name: str = "iolens"
    link: str = ""
    portal: str = ""
    """Address of its first page."""
    directories: tuple[str, ...] = ()
    dark: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    max_age_days: float = 7
    repeat_days: float = 0
    per_message: int = 20
    recipients: tuple[Recipient, ...] = ()
    mail: Mail = field(default_factory=Mail)
    opted_in: frozenset[str] = frozenset()
    address: str = ""
    user_severity: str = "medium"
    user_rules: tuple[str, ...] = ()
    user_send: tuple[str, ...] = (NOTICES,)

    def catalog(self) -> Catalog:
        """iolens' rules and the site's, without those to skip, with the site's thresholds."""
        every = load(self.directories)
        for name in (*self.skip, *self.dark):
            every.find(name)
        return every.of(name for name in every.rules if name not in self.skip).with_thresholds(
            dict(self.thresholds)
        )

    @property
    def adjusted(self) -> frozenset[str]:
        """Rules with thresholds of the site."""
        return frozenset(key.partition(".")[0] for key in self.thresholds)

    def everybody(self, users: set[str]) -> list[Recipient]:
        """All recipients, and users that subscribed."""
        return [*self.recipients, *(self.user(name) for name in sorted(users & self.opted_in))]

    def user(self, name: str) -> Recipient:
        """A user as a recipient."""
        address = self.address.replace("{user}", name)
        return Recipient(
            f"{USER}{name}", "mail", address, self.user_severity, self.user_rules, send=self.user_send
        )

    def find(self, name: str) -> Recipient | None:
        """The recipient of this name as the file has it now; None if there is none, or the user opted out."""
        if name.startswith(USER):
            user = name[len(USER) :]
            return self.user(user) if user in self.opted_in else None
        return next((one for one in self.recipients if one.name == name), None)

    def link_to(self, facts: Mapping[str, Any]) -> str:
        """The page of a job."""
        return re.sub(r"\{(\w+)\}", lambda found: quote(str(facts[found[1]]), safe=""), self.link)


def _wrong(path: str, problem: str) -> IolensError:
    return IolensError(problem, path, exit_code=USAGE)


def _checked(path: str, where: str, name: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise _wrong(path, f"[{where}] must be a table")
    known = _KEYS[name]
    for key, value in table.items():
        if key not in known:
            raise _wrong(path, f"[{where}]: {unknown_text('key', key, known, 'docs/guide/fleet-notify.md')}")
        kind = known[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            word = "number" if isinstance(kind, tuple) else _WORDS[kind]
            raise _wrong(path, f'[{where}]: "{key}" must be a {word}')
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise _wrong(path, f'[{where}]: "{key}" must be a list of strings')
    return table


def _one_of(path: str, where: str, value: str, choice: Any) -> str:
    if value not in choice:
        raise _wrong(path, f'[{where}]: "{value}" is none of {", ".join(choice)}')
    return value


def _send(path: str, where: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_one_of(path, where, one, (NOTICES, WEEKLY)) for one in table.get("send", (NOTICES,)))


def _recipient(path: str, number: int, table: Any) -> Recipient:
    where = f"recipient {number}"
    told = _checked(path, where, "recipient", table)
    channel = _one_of(path, where, told.get("channel", ""), CHANNELS)
    target = told.get(CHANNELS[channel], "")
    if not target:
        raise _wrong(path, f'[{where}]: "{CHANNELS[channel]}" is missing: a {channel} needs it')
    if channel == "webhook" and urlsplit(target).scheme not in ("http", "https"):
        raise _wrong(path, f'[{where}]: "{target}" is no URL of http or https')
    name = told.get("name", f"{channel} {target}")
    if name.startswith(USER):
        raise _wrong(path, f'[{where}]: names that begin with "{USER}" are those of users')
    rules = tuple(told.get("rules", ()))
    least = _one_of(path, where, told.get("severity", SEVERITIES[-1] if rules else "medium"), SEVERITIES)
    body = _one_of(path, where, told.get("body", "json"), ("json", "text"))
    secret, send = told.get("secret_file", ""), _send(path, where, told)
    return Recipient(name, channel, target, least, rules, body, secret, send)


def _thresholds(path: str, table: Any) -> dict[str, float]:
    settings: dict[str, float] = {}
    for rule, values in (table if isinstance(table, dict) else {"": table}).items():
        if not isinstance(values, dict):
            raise _wrong(path, f'[thresholds]: write [thresholds.RULE], not "{rule}"')
        for name, value in values.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _wrong(path, f'[thresholds.{rule}]: "{name}" must be a number')
            settings[f"{rule}.{name}"] = float(value)
    return settings


def _opted_in(path: str, users: Mapping[str, Any]) -> frozenset[str]:
    """Users of the list and of the file: a name a line, what stands behind a # is a remark."""
    listed = list(users.get("opt_in", ()))
    if "opt_in_file" in users:
        place = Path(path).parent / users["opt_in_file"]
        try:
            lines = place.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise _wrong(str(place), error.strerror or str(error)) from error
        listed += [name for line in lines if (name := line.partition("#")[0].strip())]
    if listed and "{user}" not in users.get("address", ""):
        raise _wrong(path, '[users]: "address" is missing: write it as "{user}@example.org"')
    return frozenset(listed)


def read_site(path: str) -> Site:
    """The site's configuration. Raises IolensError for what is no such file, with the place in it."""
    try:
        told = read_toml(Path(path).read_text(encoding="utf-8"))
    except (RuleError, UnicodeDecodeError) as error:
        raise _wrong(path, str(error)) from error
    except OSError as error:
        raise _wrong(path, error.strerror or str(error)) from error
    for name in told:
        if name not in (*_KEYS, "thresholds"):
            raise _wrong(
                path, unknown_text("table", name, [*_KEYS, "thresholds"], "docs/guide/fleet-notify.md")
            )
    given = told.get("recipient", [])
    if not isinstance(given, list):
        raise _wrong(path, "write [[recipient]], with two brackets: there may be several")
    recipients = tuple(_recipient(path, number, one) for number, one in enumerate(given, 1))
    names = [one.name for one in recipients]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise _wrong(path, f'two recipients have the name "{twice}"')
    general, rules, pace, mail, users = (
        _checked(path, name, name, told.get(name, {}))
        for name in ("site", "rules", "notify", "mail", "users")
    )
    for name in re.findall(r"\{(\w*)\}", general.get("link", "")):
        _one_of(path, "site", name, _LINK_FIELDS)
    if "security" in mail:
        _one_of(path, "mail", mail["security"], ("none", "starttls", "tls"))
    site = Site(
        thresholds=_thresholds(path, told.get("thresholds", {})),
        recipients=recipients,
        mail=Mail(**mail),
        opted_in=_opted_in(path, users),
        address=users.get("address", ""),
        user_severity=_one_of(path, "users", users.get("severity", "medium"), SEVERITIES),
        user_rules=tuple(users.get("rules", ())),
        user_send=_send(path, "users", users),
        directories=tuple(rules.get("directories", ())),
        dark=tuple(rules.get("dark", ())),
        skip=tuple(rules.get("skip", ())),
        **general,
        **pace,
    )
    if site.per_message < 1:
        raise _wrong(path, '[notify]: "per_message" must be 1 or more')
    try:
        site.catalog()  # a rule or a threshold that there is not is told at once
    except IolensError as error:
        raise error if error.path else _wrong(path, error.problem) from error
    return site
