"""Sessions, sign-ins and API tokens, in a file of SQLite or in memory: as hashes, which a reader cannot use."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["SignIn", "State", "Token"]

_TABLES = """
CREATE TABLE IF NOT EXISTS token (hash TEXT PRIMARY KEY, user TEXT, label TEXT, made REAL, ends REAL);
CREATE TABLE IF NOT EXISTS session (hash TEXT PRIMARY KEY, user TEXT, ends REAL);
CREATE TABLE IF NOT EXISTS sign_in (hash TEXT PRIMARY KEY, nonce TEXT, verifier TEXT, onward TEXT, ends REAL);
CREATE TABLE IF NOT EXISTS secret (value TEXT);
"""
TOKENS_EACH = 20

SIGN_INS = 10_000
"""Sign-ins under way at once: every client can begin one."""


class Token(NamedTuple):
    """What is known of a token; its text is not."""

    id: str
    label: str
    made: float
    ends: float


class SignIn(NamedTuple):
    """What the portal must know when a browser comes back from the provider. onward: the page it wanted."""

    nonce: str
    verifier: str
    onward: str


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class State:
    """One for a portal; used by several threads and, through its file, by `iolens serve token`."""

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._lock = threading.Lock()
        self._base = sqlite3.connect(path or ":memory:", check_same_thread=False, timeout=10)
        with self._change() as base:
            base.executescript(_TABLES)
            found = base.execute("SELECT value FROM secret").fetchone()
            if found is None:
                found = (secrets.token_hex(32),)
                base.execute("INSERT INTO secret VALUES (?)", found)
        self.secret = bytes.fromhex(found[0])
        """For the marks of forms."""

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._base:
            yield self._base

    # ---- sessions ----

    def open_session(self, user: str, seconds: float) -> str:
        """A new session's text, for a cookie."""
        text = secrets.token_urlsafe(32)
        now = time.time()
        with self._change() as base:
            base.execute("DELETE FROM session WHERE ends < ?", (now,))
            base.execute("INSERT INTO session VALUES (?, ?, ?)", (_hash(text), user, now + seconds))
        return text

    def session(self, text: str) -> str | None:
        """The user it belongs to; None if it is unknown or has ended."""
        with self._change() as base:
            found = base.execute(
                "SELECT user FROM session WHERE hash = ? AND ends > ?", (_hash(text), time.time())
            ).fetchone()
        return found[0] if found else None

    def close_session(self, text: str) -> None:
        with self._change() as base:
            base.execute("DELETE FROM session WHERE hash = ?", (_hash(text),))

    # ---- sign-ins ----

    def begin_sign_in(self, key: str, begun: SignIn, seconds: float) -> None:
        now = time.time()
        with self._change() as base:
            base.execute("DELETE FROM sign_in WHERE ends < ?", (now,))
            base.execute("INSERT INTO sign_in VALUES (?, ?, ?, ?, ?)", (_hash(key), *begun, now + seconds))
            base.execute(
                "DELETE FROM sign_in WHERE hash IN (SELECT hash FROM sign_in ORDER BY ends DESC LIMIT -1 OFFSET ?)",
                (SIGN_INS,),
            )

    def end_sign_in(self, key: str) -> SignIn | None:
        """What was begun with this key; None for any other, and the second time."""
        with self._change() as base:
            found = base.execute(
                "SELECT nonce, verifier, onward, ends FROM sign_in WHERE hash = ?", (_hash(key),)
            ).fetchone()
            base.execute("DELETE FROM sign_in WHERE hash = ?", (_hash(key),))
        return SignIn(*found[:3]) if found and found[3] > time.time() else None

    # ---- tokens ----

    def make_token(self, user: str, label: str, days: float) -> str:
        """A new token's text, which is shown once. Raises ValueError if the user has too many."""
        text = "iolens_" + secrets.token_urlsafe(32)
        now = time.time()
        with self._change() as base:
            base.execute("DELETE FROM token WHERE ends < ?", (now,))
            count = base.execute("SELECT count(*) FROM token WHERE user = ?", (user,)).fetchone()[0]
            if count >= TOKENS_EACH:
                raise ValueError(f"{user} has {count} tokens: remove one first")
            base.execute(
                "INSERT INTO token VALUES (?, ?, ?, ?, ?)",
                (_hash(text), user, label[:100], now, now + days * 86400),
            )
        return text

    def token(self, text: str) -> str | None:
        """The user it belongs to; None if it is unknown or has ended."""
        with self._change() as base:
            found = base.execute(
                "SELECT user FROM token WHERE hash = ? AND ends > ?", (_hash(text), time.time())
            ).fetchone()
        return found[0] if found else None

    def tokens(self, user: str) -> list[Token]:
        with self._change() as base:
            rows = base.execute(
                "SELECT substr(hash, 1, 16), label, made, ends FROM token WHERE user = ? AND ends > ? ORDER BY made",
                (user, time.time()),
            ).fetchall()
        return [Token(*row) for row in rows]

    def remove_token(self, user: str, id: str) -> bool:
        """Only one's own."""
        with self._change() as base:
            done = base.execute("DELETE FROM token WHERE user = ? AND substr(hash, 1, 16) = ?", (user, id))
            return done.rowcount > 0

    def close(self) -> None:
        self._base.close()
