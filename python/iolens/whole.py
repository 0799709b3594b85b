"""Files that are whole or not there: a full disk leaves nothing under a final name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["whole"]


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name to write to; at the end the file, if there is one, gets its own, in place of what was there.

    Raises OSError about ``path`` for what the system refuses; then the file is gone.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        if part.exists():
            part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
