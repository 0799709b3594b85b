"""A portal's API from Python, with nothing but the standard library.

client = Client("https://iolens.example.org", token)
client.jobs(application="sim", by="io_time", rows=10)
client.sql("SELECT application, count(*) AS jobs FROM job GROUP BY 1")
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
import warnings
from typing import Any

from iolens.error import USAGE, IolensError
from iolens.rules.text import counted

__all__ = ["Client"]

ARROW = "application/vnd.apache.arrow.stream"
CUT = "X-Iolens-Cut"
"""Header of an answer that has not all rows: how many it has."""


class Client:
    """Asks as the user whose token it has. Every method raises IolensError with the portal's own words."""

    def __init__(self, url: str, token: str, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise IolensError("a portal's address begins with https://", url, exit_code=USAGE)
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def _send(self, path: str, accept: str, body: dict[str, Any] | None = None, **given: Any) -> bytes:
        query = urllib.parse.urlencode({k: v for k, v in given.items() if v is not None})
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}{'?' if query else ''}{query}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": accept,
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                content: bytes = answer.read()
                if rows := answer.headers.get(CUT):
                    text = (
                        f"only the first {counted(int(rows), 'row')}: the portal gives no more of a statement"
                    )
                    warnings.warn(text, stacklevel=4)
                return content
        except urllib.error.HTTPError as error:
            raise IolensError(_told(error), self.url) from None
        except OSError as error:
            raise IolensError(f"not reached: {getattr(error, 'reason', error)}", self.url) from None

    def _json(self, path: str, body: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
        found = json.loads(self._send(path, "application/json", body, **given))
        assert isinstance(found, dict)
        return found

    def me(self) -> dict[str, Any]:
        """Who this token is: ``user`` and ``role``."""
        return self._json("me")

    def jobs(self, **filters: Any) -> list[dict[str, Any]]:
        """Jobs by the parameters of the named query ``job_list``."""
        return list(self._json("jobs", **filters)["rows"])

    def job(self, log: int) -> dict[str, Any]:
        """One job, by its log's number."""
        found: dict[str, Any] = self._json(f"jobs/{int(log)}")["job"]
        return found

    def findings(self, log: int) -> list[dict[str, Any]]:
        """What the rules found in a job."""
        return list(self._json(f"jobs/{int(log)}/findings")["rows"])

    def running(self) -> list[dict[str, Any]]:
        """Jobs that run now, as node exporters tell."""
        return list(self._json("running")["rows"])

    def query(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """The rows of a named query."""
        return list(self._json(f"queries/{urllib.parse.quote(name, safe='')}", **parameters)["rows"])

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """The rows of a SELECT over what the user may see; a UserWarning says if there are more."""
        return list(self._json("sql", {"statement": statement})["rows"])

    def arrow(self, statement: str) -> bytes:
        """The same as a stream of Arrow's, for ``pyarrow.ipc.open_stream`` or ``polars.read_ipc_stream``."""
        return self._send("sql", ARROW, {"statement": statement})


def _told(error: urllib.error.HTTPError) -> str:
    try:
        detail = json.loads(error.read(100_000))["error"]
        return f"{detail['title']}: {detail['detail']}"
    except (ValueError, KeyError, TypeError, OSError):
        return f"HTTP {error.code}"
