"""Pictures of reports for docs/pictures: opens them in Chromium. portalpictures.py takes its own the same way.

Usage: screenshots.py FOLDER LOG=NAME[:SELECTOR][:dark] ...
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

IOLENS = Path(__file__).parent.parent / ".venv" / "bin" / "iolens"
COLOURS = 255
"""Of a picture: pages have few, and a palette takes a third of the bytes."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


def save(picture: bytes, path: Path) -> None:
    """A PNG as one with a palette."""
    few = (
        Image.open(io.BytesIO(picture))
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(path, optimize=True)


def main(folder: Path, wanted: list[str]) -> None:
    with chromium() as browser, tempfile.TemporaryDirectory() as scratch:
        for one in wanted:
            log, _, rest = one.partition("=")
            name, *options = rest.split(":")
            page_file = Path(scratch) / f"{name}.html"
            subprocess.run([IOLENS, "report", "-o", page_file, log], check=True, stdout=subprocess.DEVNULL)
            page = browser.new_page(viewport={"width": 1200, "height": 760})
            page.emulate_media(color_scheme="dark" if "dark" in options else "light")
            page.goto(page_file.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.wait_for_timeout(300)
            selector = next((option for option in options if option.startswith("#")), None)
            target = folder / f"{name}.png"
            if selector:
                page.locator(selector).scroll_into_view_if_needed()
                page.wait_for_timeout(200)
                save(page.locator(selector).screenshot(), target)
            else:
                save(page.screenshot(), target)
            page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
