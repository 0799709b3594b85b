"""Pseudonyms: a lake without names of users, files, hosts and programs, in which equal names are still equal.

A keyed hash of each name; of a path of each part of it, so that directories and mount points fit as before. A user
with the key can find a name again; other users cannot.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import lru_cache
from pathlib import Path
from typing import Callable

import duckdb

from iolens.error import USAGE, IolensError
from iolens.fleet.tables.schema import Column, tables
from iolens.fleet.tables.write import arrow, plain
from iolens.metrics.engine import register

__all__ = ["MADE", "Pseudonyms", "columns_of", "read_key"]

MADE = "(^|/|:)~[0-9a-f]{16}"
"""Matches what is, or has, a pseudonym."""

_LEAST = 16

# What a part of a path may end with in clear: the formats that rules and people ask for.
_EXTENSION = re.compile(
    r"\.(h5|hdf5|nc|nc4|cdf|bp|adios|root|parquet|zarr|npy|npz|csv|txt|log|out|err|dat|bin|json|xml|yaml|toml|ini|cfg|"
    r"conf|so|py|pyc|pt|pth|ckpt|tfrecord|tar|gz|bz2|xz|zst|zip|tmp|lock|db|sqlite|vtk|vtu|fits|tif|tiff|png|jpg|o|a|"
    r"c|h|f90|mod|restart|chk)$",
    re.I,
)
# Names that Darshan gives to what has none.
_GIVEN = re.compile(r"<[^<>/]*>|heatmap:\w+")

# How the text of a column becomes a pseudonym; text columns that are not here are of a closed vocabulary.
_PATH, _NAME = "path", "name"
_TEXTS = {
    "path": {"path": _PATH},
    "job_of": {"exe": _NAME},
    "metadata": {"value": _NAME},
    "mount": {"mount": _PATH},
    "name_of": {"name": _PATH},
    "file_sum": {"directory": _PATH, "mount": _PATH},
    "process": {"host": _NAME, "exe": _PATH, "command": _NAME, "directory": _PATH},
    "platform": {"host": _NAME, "value": _NAME},
    "mounted": {"host": _NAME, "point": _PATH, "source": _PATH, "options": _NAME},
    "volume": {"name": _NAME, "source": _PATH},
    "target": {"volume": _NAME, "server": _NAME},
    "excluded": {"description": _NAME},
    "folded_directory": {"directory": _PATH},
    "unobserved": {"program": _PATH},
    "unrecorded": {"program": _PATH},
    "locks": {"file": _PATH},
    "phases": {"phase": _NAME},
    "phase_interfaces": {"phase": _NAME},
    "steps": {"phase": _NAME},
    "lines": {"stack": _NAME},
    "sites": {"module": _PATH, "stack": _NAME},
    "environment": {"value": _NAME},
    "part": {"log_name": _PATH, "command": _NAME, "metadata": _NAME},
}
# Only a lake has these.
_LAKE_TEXTS = {
    "job": {"path": _PATH, "exe": _NAME, "user": _NAME, "application": _NAME, "host": _NAME},
    "archived": {"path": _PATH},
}
_HOSTS = ("host", "processor_name", "component_pool_name", "pool", "container")
_NUMBERS = {"job_of": ("uid",), "job": ("uid",), "part": ("uid",)}
_KEPT = {"metadata": "key = 'lib_ver'"}


_PSEUDONYM = re.compile(r"~[0-9a-f]{16}")


def columns_of(table: str) -> tuple[tuple[str, ...], dict[str, str], str]:
    """Columns of a table that tell names: numbers, texts ("path" or "name"), and a condition for rows of texts."""
    texts = dict(_LAKE_TEXTS.get(table, _TEXTS.get(table, {})))
    texts.update({c.name: _NAME for c in tables().get(table, ()) if c.name in _HOSTS})
    kept = f" AND NOT ({_KEPT[table]})" if table in _KEPT else ""
    return _NUMBERS.get(table, ()), texts, kept


def read_key(path: Path) -> bytes:
    """The key in a file. Raises IolensError for one that is too short, or that everybody may read."""
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise IolensError(error.strerror or str(error), str(path), exit_code=USAGE) from error
    if len(key) < _LEAST:
        raise IolensError(
            f"a key has {_LEAST} bytes or more: head -c 32 /dev/urandom > KEY", str(path), exit_code=USAGE
        )
    return key


class Pseudonyms:
    """Of one key."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key).digest()
        self.name = lru_cache(1 << 16)(self._name)

    @property
    def mark(self) -> str:
        """Tells the key from others, and nothing else of it."""
        return self._hash("iolens lake")

    def _hash(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogateescape"), hashlib.blake2b).hexdigest()[:16]

    def _name(self, text: str) -> str:
        return f"~{self._hash(text)}" if text and not _PSEUDONYM.fullmatch(text) else text

    def number(self, value: int) -> int:
        """Of a uid: below 2^31."""
        return int(self._hash(str(value))[:8], 16) >> 1

    def path(self, text: str) -> str:
        """Part by part; the separators stay, and the ending of a file of a known format."""
        if _GIVEN.fullmatch(text):
            return text
        return "".join(
            part if part in ("", "/", ":") or _GIVEN.fullmatch(part) else self._part(part)
            for part in re.split(r"([/:])", text)
        )

    def _part(self, part: str) -> str:
        if _PSEUDONYM.match(part) and len(part) - 17 in range(9):  # with an ending, perhaps
            return part
        ending = _EXTENSION.search(part)
        return self.name(part) + (ending[0].lower() if ending and ending.start() else "")

    def known(self, path: str) -> str:
        """What the lake calls a log."""
        return self.path(plain(path))

    # ---- tables of a batch ----

    def apply(self, duck: duckdb.DuckDBPyConnection, made: list[str]) -> None:
        """Replaces the names in a batch's tables, in memory, before anything is computed from them."""
        for table in ["path", "job_of", *made]:
            numbers, texts, kept = columns_of(table)
            for column, kind in texts.items():
                self.replace_texts(duck, table, column, self.path if kind == _PATH else self.name, kept)
            for column in numbers:
                self.replace_numbers(duck, table, column, "")

    def replace_texts(
        self, duck: duckdb.DuckDBPyConnection, table: str, column: str, of: Callable[[str], str], where: str
    ) -> None:
        """Replaces the texts of a column in the rows for which more holds (SQL that begins with AND, or nothing)."""
        found = duck.execute(
            f'SELECT DISTINCT "{column}" FROM {table} WHERE "{column}" <> \'\'{where}'
        ).fetchall()
        rows = [(text, of(text)) for (text,) in found]
        self._replace(duck, table, column, arrow(rows, (Column("old", "text"), Column("new", "text"))), where)

    def replace_numbers(self, duck: duckdb.DuckDBPyConnection, table: str, column: str, where: str) -> None:
        """The same for numbers."""
        found = duck.execute(
            f'SELECT DISTINCT "{column}" FROM {table} WHERE "{column}" IS NOT NULL{where}'
        ).fetchall()
        rows = [(number, self.number(number)) for (number,) in found]
        self._replace(duck, table, column, arrow(rows, (Column("old", "long"), Column("new", "long"))), where)

    @staticmethod
    def _replace(duck: duckdb.DuckDBPyConnection, table: str, column: str, rows: object, kept: str) -> None:
        register(duck, "renamed", rows)
        duck.execute(
            f'UPDATE {table} SET "{column}" = renamed.new FROM renamed WHERE {table}."{column}" = renamed.old{kept}'
        )
        duck.unregister("renamed")
