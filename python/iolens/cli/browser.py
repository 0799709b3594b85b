"""A page for the user's browser."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["open_page"]

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(page: Path) -> str:
    """Opens it; returns why that cannot be, "" where it can.

    Browsers need a screen. Those for terminals would hold up a batch job: they are asked for by $BROWSER alone.
    """
    import webbrowser

    if not any(os.environ.get(name) for name in _SCREENS):
        return "there is no screen here (DISPLAY is not set): open it where there is one"
    try:
        opened = webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        opened = False
    return "" if opened else "no browser was found: set BROWSER to the command of one"
