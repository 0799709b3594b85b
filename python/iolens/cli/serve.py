"""iolens serve: a lake as pages and an API."""

from __future__ import annotations

import getpass
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from iolens.cli.command import STDOUT, Command
from iolens.cli.usage import FiniteRange
from iolens.error import OK, USAGE, IolensError
from iolens.extras import lacks

if TYPE_CHECKING:
    from iolens.portal.access.site import Site

COMMAND = Command(
    group="explain",
    place=80,
    about="show a lake in a browser: users see only their own jobs",
)

_NEEDED = ("starlette", "uvicorn", "jinja2", "nanoarrow", "deltalake")


_NEEDED_FOR_OIDC = ("authlib", "httpx2")


def _check_installed(needed: tuple[str, ...] = _NEEDED) -> None:
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise lacks("serve", ", ".join(missing), "portal")


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name for this uid
        return "you"


def _site(path: str | None, host: str, port: int, audit: str | None) -> Site:
    from iolens.portal.access.site import for_one_person, read_site

    if audit == STDOUT:
        raise IolensError(f'--audit "{audit}": expected the name of a file', exit_code=USAGE)
    if path is not None and audit is not None:
        raise IolensError("--audit: with --site, set audit in [server] of the site's file", exit_code=USAGE)
    if path is not None:
        return read_site(path)
    if host not in ("127.0.0.1", "::1", "localhost"):
        raise IolensError(
            "--host: without --site, the portal serves this machine only (for a site: docs/guide/portal.md)",
            exit_code=USAGE,
        )
    return for_one_person(_person(), host, port, Path(audit) if audit else None)


@click.group(invoke_without_command=True)
@click.option("--lake", metavar="DIR", envvar="IOLENS_LAKE", help="The lake [$IOLENS_LAKE].")
@click.option(
    "--site", metavar="FILE", help="Settings of a site (TOML): users, groups, and what they may see."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8420, show_default=True, type=click.IntRange(1, 65535), help="The port.")
@click.option(
    "--refresh",
    default=30.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    metavar="SECONDS",
    help="How often to look for new jobs.",
)
@click.option("--memory", default="256MB", show_default=True, help="Memory for reading a grown lake.")
@click.option("--audit", metavar="FILE", help="A line of JSON for each request.")
@click.pass_context
def serve(  # noqa: PLR0913, PLR0917
    context: click.Context,
    lake: str | None,
    site: str | None,
    host: str,
    port: int,
    refresh: float,
    memory: str,
    audit: str | None,
) -> int:
    """A lake as pages in a browser, and as an API.

    Without --site it is for you alone: it listens on this machine only, and prints an address that lets you in once.
    With --site users see their own jobs, and staff all jobs. If packages are missing, it names them.
    """
    if context.invoked_subcommand is not None:
        return OK
    if not lake:
        raise click.UsageError("--lake is missing")
    _check_installed()
    from iolens.portal.server import serve as run

    settings = _site(site, host, port, audit)
    if settings.oidc is not None:
        _check_installed(_NEEDED_FOR_OIDC)
    return run(settings, Path(lake), refresh, memory)


@serve.command()
@click.option("--site", required=True, metavar="FILE", help="Settings of the site.")
@click.option("--user", required=True, metavar="NAME", help="Whose token it is.")
@click.option(
    "--days", default=90, show_default=True, type=click.IntRange(1, 366), help="Days until it expires."
)
@click.option("--label", default="made by command", metavar="TEXT", help="What it is for.")
def token(site: str, user: str, days: int, label: str) -> int:
    """Makes and prints an API token for a user; only its hash is stored."""
    _check_installed()
    from iolens.portal.access.sessions import State
    from iolens.portal.access.site import read_site

    state = State(read_site(site).state)
    try:
        print(state.make_token(user, label, days))
    except ValueError as error:
        raise IolensError(str(error), exit_code=USAGE) from None
    finally:
        state.close()
    sys.stdout.flush()
    return OK
