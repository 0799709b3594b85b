"""What is to be sent and what was: a small SQLite database beside the lake.

A table of the lake has a commit of many files for each change; here every message changes state by itself, and two
notifiers must not take the same one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iolens.error import IolensError

__all__ = ["Message", "Outbox", "Told"]

Told = tuple[str, str, str]
"""User, application, rule: one notice for each."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS message (
    id TEXT PRIMARY KEY, recipient TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL, payload TEXT NOT NULL,
    created REAL NOT NULL, state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'withdrawn')),
    attempts INTEGER NOT NULL DEFAULT 0, next_try REAL NOT NULL, delivered REAL, error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS waiting ON message (state, next_try);
CREATE TABLE IF NOT EXISTS told (
    recipient TEXT NOT NULL, user TEXT NOT NULL, application TEXT NOT NULL, rule TEXT NOT NULL,
    log INTEGER NOT NULL, message TEXT NOT NULL REFERENCES message (id), told REAL NOT NULL,
    PRIMARY KEY (recipient, user, application, rule)
);
"""
_VERSION = 1


@dataclass(frozen=True)
class Message:
    """What one recipient gets at once. Times in seconds since 1970."""

    id: str
    recipient: str
    subject: str
    body: str
    """As text."""
    payload: dict[str, Any]
    """As JSON."""
    created: float
    attempts: int = 0
    error: str = ""
    next_try: float = 0


class Outbox:
    """The database. Everything that changes it is one transaction."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        old = os.umask(0o077)  # it names users and their files
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._connection.execute("PRAGMA secure_delete = ON")
            with self._transaction():
                (version,) = self._connection.execute("PRAGMA user_version").fetchone()
                if version > _VERSION:
                    raise IolensError(
                        "a newer version of iolens made the outbox: use that version", self.path
                    )
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        except (sqlite3.Error, OSError) as error:
            raise IolensError(f"cannot open the outbox: {error}", self.path) from error
        finally:
            os.umask(old)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def told(self, recipient: str, since: float) -> set[Told]:
        """What this recipient was told, or will be, not before ``since``."""
        asked = "SELECT user, application, rule FROM told WHERE recipient = ? AND told >= ?"
        return set(self._connection.execute(asked, (recipient, since)).fetchall())

    def add(self, made: Iterable[tuple[Message, dict[Told, int]]]) -> None:
        """Messages and what each tells, with the log that it tells it of: all of them, or after an error none."""
        with self._transaction():
            for message, told in made:
                self._connection.execute(
                    "INSERT INTO message (id, recipient, subject, body, payload, created, state, next_try)"
                    " VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?)",
                    (
                        *(message.id, message.recipient, message.subject, message.body),
                        *(json.dumps(message.payload), message.created, message.created),
                    ),
                )
                self._connection.executemany(
                    "INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (message.recipient, *key, log, message.id, message.created)
                        for key, log in told.items()
                    ],
                )

    def due(self, now: float) -> list[Message]:
        """What is to be sent now, the oldest first."""
        return self._messages("state = 'waiting' AND next_try <= ?", now)

    def waiting(self) -> list[Message]:
        """What was not delivered yet."""
        return self._messages("state = 'waiting'")

    def _messages(self, condition: str, *values: Any) -> list[Message]:
        asked = (
            "SELECT id, recipient, subject, body, payload, created, attempts, error, next_try"
            f" FROM message WHERE {condition} ORDER BY created, rowid"
        )
        return [
            Message(id, to, subject, body, json.loads(payload), *rest)
            for id, to, subject, body, payload, *rest in self._connection.execute(asked, values)
        ]

    def attempt(self, id: str, next_try: float) -> None:
        """Before a message is sent: if this cannot be kept, it is not sent."""
        self._change("UPDATE message SET attempts = attempts + 1, next_try = ? WHERE id = ?", next_try, id)

    def failed(self, id: str, error: str) -> None:
        self._change("UPDATE message SET error = ? WHERE id = ?", error, id)

    def delivered(self, id: str, now: float) -> None:
        """Its text is not needed any more; what it told stays known."""
        self._change(
            "UPDATE message SET state = 'delivered', delivered = ?, error = '', subject = '', body = '', payload = '{}'"
            " WHERE id = ?",
            now,
            id,
        )

    def withdrawn(self, id: str, reason: str) -> None:
        self._change(
            "UPDATE message SET state = 'withdrawn', error = ?, subject = '', body = '', payload = '{}' WHERE id = ?",
            reason,
            id,
        )

    def forget(self, before: float) -> int:
        """Removes notices sent before this moment. Returns how many messages of that time still wait; these stay."""
        with self._transaction():
            self._connection.execute(
                "DELETE FROM told WHERE told < ? AND message NOT IN (SELECT id FROM message WHERE state = 'waiting')",
                (before,),
            )
            self._connection.execute(
                "DELETE FROM message WHERE state <> 'waiting' AND created < ?", (before,)
            )
        self._connection.execute("VACUUM")  # pages that were free before have names, too
        asked = "SELECT count(*) FROM message WHERE state = 'waiting' AND created < ?"
        return int(self._connection.execute(asked, (before,)).fetchone()[0])

    def _change(self, statement: str, *values: Any) -> None:
        with self._transaction():
            self._connection.execute(statement, values)

    def counts(self) -> dict[str, int]:
        """State -> messages."""
        asked = "SELECT state, count(*) FROM message GROUP BY state"
        return {
            "waiting": 0,
            "delivered": 0,
            "withdrawn": 0,
            **dict(self._connection.execute(asked).fetchall()),
        }

    @contextlib.contextmanager
    def sending(self) -> Iterator[bool]:
        """True for the one process that may send; the lock ends with the process, however that ends."""
        with open(f"{self.path}.lock", "w") as lock:  # noqa: PTH123
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def new_id() -> str:
    """Of a message, for all time: receivers tell by it that they have it already."""
    return uuid.uuid4().hex
