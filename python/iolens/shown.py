"""Text of a log, a job or a path on its way to a terminal or a page; cli/text/shown.h is the same for native commands.

Whatever prints such a text does it through one of these, or as JSON. Then no character of it is a command to the
terminal, ends a line or turns its direction.
"""

from __future__ import annotations

import re
import sys
import traceback
from typing import TextIO

__all__ = ["clean", "say", "say_traceback"]

# Those of output_hides() in cli/text/output.c; a test compares them.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _NAMED:
        return _NAMED[character]
    # A byte of a name that is not UTF-8 is one of U+DC80 to U+DCFF.
    handler = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", handler))


def clean(text: str) -> str:
    r"""The text, with ``\n``, ``\x1b`` and the like for what would change how a page or a terminal reads on."""
    return text if text.isprintable() else _HIDDEN.sub(_escape, text)


def say(text: str = "", to: TextIO | None = None) -> None:
    """Prints one line, on standard output unless the caller names another."""
    print(clean(text), file=to or sys.stdout, flush=to is sys.stderr)


def say_traceback(error: BaseException) -> None:
    """What Python says of an error, on standard error: its message may have names in it."""
    for line in "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines():
        say(line, sys.stderr)
