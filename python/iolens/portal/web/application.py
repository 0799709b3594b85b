"""The portal as an application: its routes behind one door, and that behind the guard."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route as Path_
from starlette.types import ASGIApp

from iolens.error import USAGE, IolensError
from iolens.portal.access.audit import Audit
from iolens.portal.access.guard import Guard
from iolens.portal.access.identity import Identity, Known
from iolens.portal.access.sessions import State
from iolens.portal.access.site import Site
from iolens.portal.data.cache import Cache
from iolens.portal.data.snapshot import STOP_SECONDS, PortalSnapshot, Snapshots
from iolens.portal.data.view import Gone, unreadable
from iolens.portal.web import assets
from iolens.portal.web.compressed import Compressed
from iolens.portal.web.menu import menu
from iolens.portal.web.page_request import NotFound, PageRequest, link
from iolens.portal.web.routes import ROUTES, Route
from iolens.portal.web.widgets import cell, head, href, in_digits, job_name, shown, verdict_of
from iolens.report.units import counted, number_of
from iolens.shown import say_traceback

if TYPE_CHECKING:
    from iolens.portal.web.signin import SignInPages

__all__ = ["Portal"]

STATEMENTS = 4
"""Of viewers' own that run at once."""

PARTS = 128
"""Parts of jobs' pages that are kept: an answer and details of each."""

Kept = TypeVar("Kept")


_VALUE = (400, "This cannot be shown", "A value in the address cannot be asked for.")
_ERRORS: dict[type[Exception], tuple[int, str, str]] = {
    NotFound: (404, "Not found", ""),
    Gone: (503, "The lake cannot be read", ""),
    IolensError: (400, "This cannot be shown", ""),
    duckdb.InterruptException: (503, "Took too long", "The question was ended. Ask for less."),
    duckdb.BinderException: _VALUE,
    duckdb.ConversionException: _VALUE,
    duckdb.OutOfRangeException: _VALUE,
}
"""The first that fits; without a text, the error's own."""


def _refuse(status: int, title: str, text: str) -> HTTPException:
    return HTTPException(status, detail=f"{title}\n{text}")


def _way_in(request: Request) -> dict[str, str]:
    """Headers by which a browser gets to the sign-in: from a page there and back, in place of part of one anew."""
    if request.method not in ("GET", "HEAD"):
        return {}
    if "hx-request" in request.headers:
        return {"hx-refresh": "true"}
    query = request.scope["query_string"].decode("latin-1")
    path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
    return {"location": link("/login", next=f"{path}?{query}" if query else path)}


class Portal:
    """All that requests share."""

    def __init__(self, site: Site, snapshots: Snapshots) -> None:
        self.site = site
        self.snapshots = snapshots
        self.state = State(site.state)
        self.audit = Audit(site.audit)
        self.identity = Identity(site, self.state)
        self.sign_in: SignInPages | None = None
        if site.oidc is not None:  # Authlib is not for those who do without
            from iolens.portal.access.provider import Provider
            from iolens.portal.web.signin import SignInPages

            self.sign_in = SignInPages(self, Provider(site.oidc, site.origin))
        self._busy: set[str] = set()
        self._busy_lock = threading.Lock()
        self._parts: Cache[tuple[datetime, int, str], Any] = Cache()
        self._answering: set[PageRequest] = set()

    @cached_property
    def templates(self) -> Environment:
        made = Environment(
            loader=PackageLoader("iolens.portal"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        made.filters["cell"] = cell
        made.filters["counted"], made.filters["number_of"] = counted, number_of
        made.filters["digits"] = in_digits
        made.filters["head"], made.filters["job_name"] = head, job_name
        made.globals.update(
            href=href, link=link, shown=shown, verdict_of=verdict_of, menu=menu, version=assets.version()
        )
        return made

    @contextlib.contextmanager
    def statements(self, name: str) -> Iterator[None]:
        """One statement at a time of each viewer, and a few of all. Raises IolensError."""
        with self._busy_lock:
            if name in self._busy or len(self._busy) >= STATEMENTS:
                whose = (
                    "your last statement still runs" if name in self._busy else "others' statements still run"
                )
                raise IolensError(f"{whose}: try again in a moment", exit_code=USAGE)
            self._busy.add(name)
        try:
            yield
        finally:
            with self._busy_lock:
                self._busy.discard(name)

    def kept(self, snapshot: PortalSnapshot, log: int, part: str, make: Callable[[], Kept]) -> Kept:
        """A part of the page of a job that the user may see, made once for a snapshot."""
        made: Kept = self._parts.get((snapshot.made, log, part), make, PARTS)
        return made

    # ---- one door ----

    def _enter(self, route: Route, request: Request) -> Known:
        """Who asks, if that one may. Raises HTTPException."""
        known = self.identity.known(request, route.api)
        if known is None:
            refused = _refuse(401, "You are not signed in", self._how_to_enter())
            if self.sign_in is not None and not route.api:
                refused.headers = _way_in(request)
            raise refused
        request.state.known = known
        if known.viewer.role < route.least:
            raise _refuse(403, "Not for you", f"This is for {route.least.title}s.")
        return known

    def _how_to_enter(self) -> str:
        if self.site.person:
            return (
                "Open the address that `iolens serve` printed; it works once. Start it again for another one."
            )
        if self.sign_in is not None:
            return "Sign in first."
        return f"Sign in at {self.site.origin}: that address of your site identifies you."

    def _check_form(self, request: Request, known: Known, form: dict[str, str]) -> None:
        """Is a change asked for by a page of ours? Raises HTTPException."""
        if known.by == "token":
            return
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        given = form.get("mark", "") or request.headers.get("x-mark", "")
        foreign = origin is not None and not self._is_own(origin)
        if not known.mark or given != known.mark or foreign or site not in ("same-origin", "none"):
            raise _refuse(403, "Not sent from here", "Open the page again, and send it from there.")

    def _is_own(self, origin: str) -> bool:
        hosts = (f"http://{name}:{self.site.port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        return origin == self.site.origin or (bool(self.site.person) and origin in hosts)

    def _door(self, route: Route) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Response:
            known = self._enter(route, request)
            form: dict[str, str] = {}
            if request.method not in ("GET", "HEAD"):
                if not route.api:
                    form = {k: v for k, v in (await request.form()).items() if isinstance(v, str)}
                elif body := await request.body():
                    form = {"body": body.decode("utf-8", "replace")}
                self._check_form(request, known, form)
            return await run_in_threadpool(self._answer, route, request, known, form)

        return handle

    def _answer(self, route: Route, request: Request, known: Known, form: dict[str, str]) -> Response:
        page = PageRequest(self, request, known, form)
        self._answering.add(page)
        try:
            return route.endpoint(page)
        except HTTPException:
            raise
        except Exception as error:
            status, title, text = self._told(error, page)
            return self._problem(request, status, title, text)
        finally:
            page.close()
            self._answering.discard(page)

    # ---- what goes wrong ----

    def _told(self, error: Exception, page: PageRequest) -> tuple[int, str, str]:
        """What an error is for the viewer: status, title, one sentence."""
        if isinstance(error, duckdb.Error):
            error = unreadable(error) or error
        if isinstance(error, Gone):
            self.snapshots.look_again()
        if isinstance(error, duckdb.InterruptException) and self.snapshots.ended:
            return 503, "The portal is being stopped", "Try again in a moment."
        for kind, (status, title, text) in _ERRORS.items():
            if isinstance(error, kind):
                page.tell(error=str(error)[:500])
                return status, title, text or getattr(error, "problem", "")
        say_traceback(error)
        page.tell(error=f"{type(error).__name__}: {error}"[:500])
        return 500, "Something is broken here", "The server's own log says what."

    def _problem(self, request: Request, status: int, title: str, text: str) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": {"status": status, "title": title, "detail": text}}, status)
        return self.anybodys_page(
            request, "problem.html", status, title=title, text=text, search=status == 404
        )

    def anybodys_page(self, request: Request, template: str, status: int = 200, **context: Any) -> Response:
        """A page that needs no identity, and nothing of the lake."""
        known = getattr(request.state, "known", None)
        made = self.templates.get_template(template).render(
            viewer=known.viewer if known else None,
            site=self.site,
            mark=known.mark if known else "",
            problem=self.snapshots.problem if known else "",
            snapshot=None,
            path=request.url.path,
            **context,
        )
        return HTMLResponse(made, status)

    async def _on_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.headers and "location" in error.headers:
            return RedirectResponse(error.headers["location"], 303)
        titles = {
            404: ("Not found", "There is no such page."),
            405: ("Not here", "This page takes no such request."),
        }
        title, text = titles.get(error.status_code, ("This cannot be shown", str(error.detail)))
        if "\n" in str(error.detail):
            title, text = str(error.detail).split("\n", 1)
        answer = self._problem(request, error.status_code, title, text)
        answer.headers.update(error.headers or {})
        return answer

    # ---- coming in ----

    def _login(self, request: Request) -> Response:
        session = self.identity.enter(request.query_params.get("token", ""))
        if session is None:
            raise _refuse(401, "You are not signed in", self._how_to_enter())
        return self.welcome(session)

    def welcome(self, session: str, onward: str = "/") -> Response:
        """To the first page or another one, with a session's cookie."""
        answer = RedirectResponse(onward, 303)
        self.set_cookie(answer, self.identity.cookie, session, int(self.site.session_hours * 3600))
        return answer

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int) -> None:
        """For as long; 0 removes it. Who comes from the site's provider brings no cookie that is "strict"."""
        answer.set_cookie(
            name,
            value,
            max_age=seconds,
            path="/",
            httponly=True,
            secure=self.site.secure,
            samesite="strict" if self.sign_in is None else "lax",
        )

    def farewell(self) -> str:
        """The provider's address for signing out there, "" without one."""
        return self.sign_in.provider.farewell() if self.sign_in is not None else ""

    def app(self) -> ASGIApp:
        """For uvicorn."""
        routes = [Path_(route.path, self._door(route), methods=list(route.methods)) for route in ROUTES]
        routes += [Path_("/static/{name}", assets.serve), Path_("/healthy", self._healthy)]
        if self.site.person:
            routes.append(Path_("/login", self._login))
        if self.sign_in is not None:
            routes += self.sign_in.routes()
        inner = Starlette(routes=routes, exception_handlers={HTTPException: self._on_error})
        return Guard(Compressed(inner), self.site, self.audit)

    def _healthy(self, request: Request) -> Response:
        """For a load balancer: says nothing of the lake but whether it is there, and staff's pages are prepared."""
        there = self.snapshots.ready
        return JSONResponse({"healthy": there, "prepared": self.snapshots.prepared}, 200 if there else 503)

    def end_queries(self) -> None:
        """Requests that wait for DuckDB are answered with 503 from now on."""
        self.snapshots.ended = True
        self.snapshots.active.end()

    def close(self) -> bool:
        """Threads that still answer are waited for: they must not be in DuckDB when the interpreter ends. Have they
        all come to their end?"""
        by = time.monotonic() + STOP_SECONDS
        while self._answering and time.monotonic() < by:
            self.end_queries()
            time.sleep(0.05)
        quiet = self.snapshots.stop() and not self._answering
        self.state.close()
        self.audit.close()
        return quiet
