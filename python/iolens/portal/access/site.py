"""The settings of a portal: for one person by default, for a site from a TOML file that is read strictly."""

from __future__ import annotations

import ipaddress
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union
from urllib.parse import urlsplit

from iolens.error import USAGE, IolensError
from iolens.log.unknown import near_text
from iolens.portal.data.sandbox import Limits
from iolens.portal.data.scope import Role, Viewer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Header", "OpenId", "Project", "Site", "for_one_person", "read_site"]

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


@dataclass(frozen=True)
class Header:
    """A header that names the user, from these addresses only: the site's reverse proxy."""

    name: str
    addresses: tuple[Network, ...]

    def trusts(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.addresses)


@dataclass(frozen=True)
class OpenId:
    """The site's OpenID provider, and what it knows this portal by."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scopes: tuple[str, ...] = ("openid", "profile")
    claim: str = "preferred_username"
    """What the provider calls the user's name."""


@dataclass(frozen=True)
class Project:
    """Who leads it, and whose jobs it is about: those of users, and those charged to accounts."""

    leads: frozenset[str]
    users: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Site:
    """A portal's settings."""

    host: str = "127.0.0.1"
    port: int = 8420
    url: str = ""
    """Where browsers reach it, "" for http://HOST:PORT."""
    person: str = ""
    """The user that started it and may see the whole lake; "" for a site."""
    header: Header | None = None
    oidc: OpenId | None = None
    staff: frozenset[str] = frozenset()
    administrators: frozenset[str] = frozenset()
    projects: Mapping[str, Project] = field(default_factory=dict)
    state: Path | None = None
    """The file of sessions and tokens; None: in memory."""
    audit: Path | None = None
    exporters: tuple[str, ...] = ()
    """Where `iolens top --openmetrics` of nodes is served."""
    limits: Limits = field(default_factory=Limits)
    requests_per_second: float = 20.0
    burst: int = 120
    session_hours: float = 12.0

    @property
    def origin(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return self.url.rstrip("/") or f"http://{shown}:{self.port}"

    @property
    def secure(self) -> bool:
        return self.origin.startswith("https://")

    def viewer(self, name: str) -> Viewer:
        """Who this is here. Everybody is a user at least."""
        if self.person:
            return Viewer(name, Role.ADMINISTRATOR if name == self.person else Role.USER)
        if name in self.administrators:
            return Viewer(name, Role.ADMINISTRATOR)
        if name in self.staff:
            return Viewer(name, Role.STAFF)
        led = [project for project in self.projects.values() if name in project.leads]
        if not led:
            return Viewer(name, Role.USER)
        return Viewer(
            name,
            Role.LEAD,
            frozenset().union(*(project.users for project in led)),
            frozenset().union(*(project.accounts for project in led)),
        )


def for_one_person(name: str, host: str, port: int, audit: Path | None = None) -> Site:
    """Without a file: everything for the user that started it."""
    return Site(host=host, port=port, person=name, audit=audit, requests_per_second=100, burst=1000)


class _Section:
    """A table of the file: every key is taken once, and none may be left."""

    def __init__(self, path: str, name: str, values: Any) -> None:
        self.path, self.name = path, name
        if not isinstance(values, dict):
            raise self.error(f"[{name}] is not a table")
        self.values: dict[str, Any] = dict(values)
        self._known: list[str] = []

    def error(self, text: str) -> IolensError:
        return IolensError(text, self.path, exit_code=USAGE)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        self._known.append(key)
        value = self.values.pop(key, default)
        where = f"[{self.name}] {key}" if self.name else key
        if value is None:
            raise self.error(f"{where} is missing")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"{where}: expected {_KINDS.get(kind, 'another kind of value')}")
        return value

    def names(self, key: str) -> frozenset[str]:
        found = self.take(key, list, [])
        if not all(isinstance(one, str) and one for one in found):
            raise self.error(f"[{self.name}] {key}: expected a list of names")
        return frozenset(found)

    def section(self, key: str) -> _Section:
        self._known.append(key)
        return _Section(self.path, f"{self.name}.{key}".lstrip("."), self.values.pop(key, {}))

    def end(self) -> None:
        if self.values:
            key = next(iter(self.values))
            meant = near_text(key, self._known)
            raise self.error(
                f'{f"[{self.name}] " if self.name else ""}"{key}" is no setting{meant and f": {meant}"}'
            )


_NUMBER = (int, float)
_KINDS: dict[Any, str] = {str: "text", list: "a list", int: "a whole number", _NUMBER: "a number"}


def _header(section: _Section) -> Header | None:
    if not section.values:
        return None
    name = section.take("name", str)
    addresses = []
    for text in sorted(section.names("from")):
        try:
            addresses.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise section.error(f'[{section.name}] from: "{text}" is no address or network') from None
    if not addresses:
        raise section.error(f"[{section.name}] from is missing: the addresses whose header is believed")
    section.end()
    return Header(name.lower(), tuple(addresses))


def _secret(section: _Section) -> str:
    """Of the settings, or of a file that they name: neither may be everybody's to read."""
    given = [key for key in ("client_secret", "client_secret_file") if key in section.values]
    if len(given) != 1:
        raise section.error(f"[{section.name}] expected one of client_secret and client_secret_file")
    text = str(section.take(given[0], str))
    file = Path(section.path).parent / text if given[0].endswith("_file") else Path(section.path)
    try:
        if file.stat().st_mode & stat.S_IROTH:
            raise section.error(f'[{section.name}] {given[0]}: everybody can read "{file}": chmod o-r')
        found = file.read_text().strip() if given[0].endswith("_file") else text
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise section.error(f'[{section.name}] {given[0]}: "{file}": {why}') from None
    if not found:
        raise section.error(f"[{section.name}] {given[0]}: is empty")
    return found


def _oidc(section: _Section) -> OpenId | None:
    if not section.values:
        return None
    issuer = section.take("issuer", str)
    try:
        parts = urlsplit(issuer)
        local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    except ValueError:
        parts, local = urlsplit(""), False
    if not parts.netloc or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise section.error(
            f'[{section.name}] issuer: "{issuer}": expected an address that begins with https://'
        )
    scopes = section.take("scopes", list, list(OpenId.scopes))
    if not all(isinstance(one, str) and one.split() == [one] for one in scopes) or "openid" not in scopes:
        raise section.error(f'[{section.name}] scopes: expected a list of words with "openid" among them')
    found = OpenId(
        issuer,
        section.take("client_id", str),
        _secret(section),
        tuple(scopes),
        section.take("claim", str, OpenId.claim),
    )
    if not found.client_id or not found.claim:
        raise section.error(f"[{section.name}] {'claim' if found.client_id else 'client_id'}: is empty")
    section.end()
    return found


def _projects(section: _Section) -> dict[str, Project]:
    found = {}
    for name in list(section.values):
        one = section.section(name)
        found[name] = Project(one.names("leads"), one.names("users"), one.names("accounts"))
        one.end()
    return found


def _server(section: _Section) -> dict[str, Any]:
    """[server]"""
    found: dict[str, Any] = {
        "host": section.take("host", str, Site.host),
        "port": section.take("port", int, Site.port),
        "url": section.take("url", str, ""),
        "requests_per_second": float(section.take("requests_per_second", _NUMBER, Site.requests_per_second)),
        "burst": section.take("burst", int, Site.burst),
        "session_hours": float(section.take("session_hours", _NUMBER, Site.session_hours)),
        "state": Path(section.take("state", str)),
        "audit": Path(section.take("audit", str)),
    }
    section.end()
    return found


def _limits(section: _Section) -> Limits:
    found = Limits(
        float(section.take("seconds", _NUMBER, Limits.seconds)),
        section.take("memory", str, Limits.memory),
        section.take("rows", int, Limits.rows),
    )
    section.end()
    return found


def read_site(path: str | os.PathLike[str]) -> Site:
    """The site of a file. Raises IolensError, naming file and setting."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            root = _Section(name, "", tomllib.load(file))
    except OSError as error:
        raise IolensError(error.strerror or str(error), name, exit_code=USAGE) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IolensError(f"is no TOML: {error}", name, exit_code=USAGE) from None
    read: dict[str, Callable[[_Section], Any]] = {
        "header": _header,
        "oidc": _oidc,
        "projects": _projects,
        "limits": _limits,
    }
    found = {key: take(root.section(key)) for key, take in read.items()}
    settings = _server(root.section("server"))
    roles = root.section("roles")
    settings |= {"staff": roles.names("staff"), "administrators": roles.names("administrators")}
    roles.end()
    live = root.section("live")
    settings["exporters"] = tuple(sorted(live.names("exporters")))
    live.end()
    if not all(url.startswith(("http://", "https://")) for url in settings["exporters"]):
        raise IolensError(
            "[live] exporters: expected addresses that begin with http://", name, exit_code=USAGE
        )
    root.end()
    if not found["header"] and not found["oidc"]:
        raise IolensError(
            "[header] or [oidc] is missing: the portal cannot identify its users", name, exit_code=USAGE
        )
    if found["header"] and found["oidc"]:
        raise IolensError("[header] and [oidc]: expected one of them", name, exit_code=USAGE)
    return Site(**settings, **found)
