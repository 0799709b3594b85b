"""A request with what it may use: the viewer, and a database that holds the viewer's part of the lake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from iolens.error import USAGE, IolensError
from iolens.fleet.saved_queries import find_query, statement
from iolens.log.unknown import unknown_text
from iolens.portal.access.audit import Audit
from iolens.portal.access.identity import Identity, Known
from iolens.portal.access.sessions import State
from iolens.portal.access.site import Site
from iolens.portal.data.scope import Viewer
from iolens.portal.data.snapshot import PortalSnapshot, Snapshots
from iolens.portal.data.view import Session
from iolens.rules.text import size

__all__ = ["DAYS", "NotFound", "PageRequest", "is_count", "link", "link_all", "parameter"]


DAYS = ("since", "until")
"""Parameters."""

_CHOICES = (*DAYS, "text", "user", "application", "cluster", "rule", "found")
"""Parameters that say which jobs are meant."""

Kept = TypeVar("Kept")

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def is_count(text: str) -> bool:
    """Digits, and of a number that int() takes: str.isdigit() is true of "²", too."""
    return re.fullmatch(r"[0-9]{1,18}", text) is not None


def parameter(name: str, text: str) -> float:
    """A number of the address, or a size: 1GiB. Raises IolensError for what is none: float() takes "nan" and " 1 "."""
    found = float(text) if _NUMBER.fullmatch(text) else size(text)
    if found is None:
        raise IolensError(f'{name}: "{text[:40]}" is no number', exit_code=USAGE)
    if abs(found) > 2**53:
        raise IolensError(f"{name}: the number is too large", exit_code=USAGE)
    return found


class NotFound(IolensError):
    """There is no such thing, or none that the viewer may know of: the same answer."""

    def __init__(self, text: str) -> None:
        super().__init__(text, exit_code=USAGE)


def link(path: str, **values: Any) -> str:
    """A URL of the portal; what is empty is left out."""
    told = {key: value for key, value in values.items() if value not in (None, "")}
    return f"{path}?{urlencode(told)}" if told else path


def link_all(path: str, **values: Any) -> str:
    """The same; to a list it says of all days if there is no first and no last one."""
    there = any(values.get(name) not in (None, "") for name in _CHOICES)
    url = link(path, **values)
    return url if there else f"{url}{'&' if '?' in url else '?'}since="


class Application(Protocol):
    """The portal, as its pages and the sign-in use it."""

    site: Site
    snapshots: Snapshots
    state: State
    audit: Audit
    identity: Identity

    @property
    def templates(self) -> Environment: ...
    def statements(self, name: str) -> AbstractContextManager[None]: ...
    def kept(self, snapshot: PortalSnapshot, log: int, part: str, make: Callable[[], Kept]) -> Kept: ...
    def anybodys_page(
        self, request: Request, template: str, status: int = 200, **context: Any
    ) -> Response: ...
    def welcome(self, session: str, onward: str = "/") -> Response: ...
    def set_cookie(self, answer: Response, name: str, value: str, seconds: int) -> None: ...
    def farewell(self) -> str: ...


@dataclass(eq=False)
class PageRequest:
    """What a page gets. Nothing of the lake is reached but by ``data``, ``snapshot.of_log`` and the sandbox, which are
    all given the viewer's scope."""

    portal: Application
    http: Request
    known: Known
    form: Mapping[str, str]
    """What was sent by a form; empty for GET."""

    @property
    def viewer(self) -> Viewer:
        return self.known.viewer

    @cached_property
    def snapshot(self) -> PortalSnapshot:
        """One for the whole request."""
        return self.portal.snapshots.current()

    @cached_property
    def data(self) -> Session:
        return self.snapshot.view(self.viewer.scope).session()

    def close(self) -> None:
        if "data" in self.__dict__:
            self.data.close()

    def text(self, name: str, default: str = "") -> str:
        """A parameter of the URL."""
        return self.http.query_params.get(name, default)[:1000]

    def number(self, name: str, default: int, least: int = 0, most: int = 10**15) -> int:
        text = self.http.query_params.get(name, "")
        if not text:
            return default
        if not _WHOLE.fullmatch(text):  # int() takes 4711_3, a task of an array, for 47113
            raise IolensError(f'{name}: "{text[:40]}" is no whole number', exit_code=USAGE)
        return min(most, max(least, int(text)))

    def values(self, query: str) -> dict[str, float | str]:
        """The parameters of a named query as the URL has them. Raises IolensError for a value that it has not."""
        found: dict[str, float | str] = {}
        choices = {one.name: one.choices for one in find_query(query).parameters}
        for name, default in statement(query)[1].items():
            text = self.http.query_params.get(name)
            if text is None:
                continue
            if name in DAYS:
                self.day(name)
            if choices.get(name) and text not in choices[name]:
                raise IolensError(unknown_text(f"value of {name}", text[:40], choices[name]), exit_code=USAGE)
            found[name] = text[:1000] if isinstance(default, str) else parameter(name, text)
        return found

    def period(self) -> dict[str, str]:
        """The days of a list: those of the address; if it says nothing of which jobs, the last seven that have some."""
        for name in DAYS:
            self.day(name)
        found = {name: self.text(name) for name in DAYS}
        if not any(name in self.http.query_params for name in _CHOICES):
            found["since"] = self.data.week()
        return found

    def day(self, name: str) -> date | None:
        """A parameter that is a day, None if it is not given."""
        text = self.text(name)
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise IolensError(f'{name}: "{text[:20]}" is no day: 2026-01-31', exit_code=USAGE) from None

    def mark_processes(self, rows: Sequence[dict[str, Any]]) -> None:
        """Rows of jobs whose number is a process's say so, as ``scheduled``."""
        jobs = {row["log"]: row for row in rows if "job_id" in row and isinstance(row.get("log"), int)}
        for log in self.data.unscheduled(jobs) if jobs else ():
            jobs[log]["scheduled"] = False

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """A page of the portal."""
        for one in (*context.get("parts", ()), context.get("grid")):
            if not getattr(one, "raw", True):
                self.mark_processes([row for row in one.rows if isinstance(row, dict)])
        made = self.portal.templates.get_template(template).render(
            viewer=self.viewer,
            site=self.portal.site,
            mark=self.known.mark,
            problem=self.portal.snapshots.problem,
            snapshot=self.__dict__.get("snapshot"),
            path=self.http.url.path,
            **context,
        )
        return HTMLResponse(made, status)

    def tell(self, **told: Any) -> None:
        """Into this request's line of the audit."""
        self.http.state.told = {**getattr(self.http.state, "told", {}), **told}
