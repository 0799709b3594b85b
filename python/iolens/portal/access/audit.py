"""Who asked for what: a line of JSON for each request, written before the next one of the same thread."""

from __future__ import annotations

import json
import os
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = ["Audit"]

_TAIL = 512 * 1024


class Audit:
    """A file that only grows; nothing, if there is none."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, **told: Any) -> None:
        if self._file is None:
            return
        line = {"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), **told}
        text = json.dumps(line, ensure_ascii=True, default=str) + "\n"
        with self._lock:
            os.write(self._file, text.encode())

    def last(self, rows: int, tail: int = _TAIL) -> list[dict[str, Any]]:
        """The newest lines, the newest first. tail: bytes that are read for them, at most."""
        if self.path is None:
            return []
        with self.path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - tail))
            lines = file.read().splitlines()[-rows - 1 :]
        found = []
        for line in reversed(lines):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # the first one was cut
        return found[:rows]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
