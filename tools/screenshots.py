"""Pictures of reports for docs/pictures: opens them in Chromium.

Usage: screenshots.py FOLDER LOG=NAME[:SELECTOR][:dark] ...
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IOLENS = Path(__file__).parent.parent / ".venv" / "bin" / "iolens"


def main(folder: Path, wanted: list[str]) -> None:
    chromium = shutil.which("chromium")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as scratch:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
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
                page.locator(selector).screenshot(path=target)
            else:
                page.screenshot(path=target)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
