"""Pictures of the portal for docs/pictures: a lake of made-up jobs, one job that runs, and a browser that signs in.

Usage: portalpictures.py FOLDER [NAME ...]
"""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page
from screenshots import IOLENS, chromium, save

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench" / "fleetgen"), str(ROOT / "tests"), str(ROOT / "tests" / "live")]

import generate  # noqa: E402
from looked_at import Place, until  # noqa: E402
from portal_server import free_port, serving  # noqa: E402

LIVE = '\n[live]\nexporters = ["{url}"]\n'
WRITER = """
import os, sys
folder = sys.argv[1]
file = os.open(folder + "/restart.chk", os.O_RDWR | os.O_CREAT, 0o600)
open(folder + "/ready.0", "w").close()
while not os.path.exists(folder + "/leave"):
    for block in range(200):
        os.pwrite(file, b"x" * 262144, block * 262144)
    os.pread(file, 1 << 20, 0)
"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Picture(NamedTuple):
    """address: a path, or what ``_find`` makes one of. below: what is scrolled to the top, if anything."""

    name: str
    address: str
    width: int = 1200
    height: int = 800
    dark: bool = False
    below: str = ""


PICTURES = (
    Picture("portal-jobs", "/jobs?found=1&by=time_lost"),
    Picture("portal-job", "JOB"),
    Picture("portal-details", "JOB", below="#details"),
    Picture("portal-history", "HISTORY"),
    Picture("portal-coverage", "/coverage", height=900),
    Picture("portal-screens", "/screens"),
    Picture("portal-compare", "COMPARE"),
    Picture("portal-storage", "/storage"),
    Picture("portal-dark", "JOB", dark=True),
    Picture("portal-phone", "JOB", width=390, height=844),
    Picture("portal-phone-jobs", "/jobs?found=1&by=time_lost", width=390, height=844),
    Picture("portal-running", "/running", height=420),
)
RUNNING = "portal-running"
"""Needs a site that knows a node exporter."""


def make_lake(folder: Path) -> Path:
    """Ten weeks of 3,000 jobs of 15 users, with the scheduler's accounting."""
    lake, population = folder / "lake", folder / "population"
    generate.generate(population, logs=3000, files=20, users=15, days=72)
    for words in (
        ("ingest", population / "logs"),
        ("accounting", population / "accounting.txt", "--zone", "UTC"),
    ):
        done = subprocess.run(
            [
                IOLENS,
                "fleet",
                *words,
                "--lake",
                lake,
                *(("--cluster", "hopper") if words[0] == "ingest" else ()),
            ],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode in (0, 4), "4: fleetgen damages some logs"
    return lake


def _find(page: Page, origin: str, address: str) -> str:
    """The job that loses most time, its application's history, its neighbours in the list next to each other."""
    if address.startswith("/"):
        return address
    page.goto(f"{origin}/jobs?found=1&by=time_lost")
    logs = re.findall(r'href="/job/(\d+)"', page.content())
    if address == "JOB":
        return f"/job/{logs[0]}"
    if address == "COMPARE":
        return "/compare?" + "&".join(f"log={log}" for log in list(dict.fromkeys(logs))[:4])
    page.goto(f"{origin}/q/drift")
    found: list[str] = re.findall(r'href="(/application[^"]+)"', page.content())
    return found[0].replace("&amp;", "&")


def take(browser: Browser, origin: str, picture: Picture, folder: Path, **who: Any) -> None:
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.dark else "light",
        **who,
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(origin + _find(page, origin, picture.address))
    page.wait_for_selector("html[data-ready]")
    if picture.below:
        page.locator(picture.below).evaluate("element => element.scrollIntoView({behavior: 'instant'})")
    page.wait_for_timeout(300)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= picture.width, f"{picture.name}: the page is {wide} wide"
    assert not complaints, f"{picture.name}: {complaints}"
    save(page.screenshot(), folder / f"{picture.name}.png")
    context.close()


def pictures_of_one(browser: Browser, lake: Path, folder: Path, wanted: list[Picture]) -> None:
    """As the person who has started it, let in by the one-time address."""
    port = free_port()
    command = [IOLENS, "serve", "--lake", lake, "--port", str(port)]
    server = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert server.stdout
        way_in = server.stdout.readline().strip()
        context = browser.new_context()
        context.new_page().goto(way_in)
        state = context.storage_state()
        for picture in wanted:
            take(browser, f"http://127.0.0.1:{port}", picture, folder, storage_state=state)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def exporter(scratch: Path) -> Iterator[str]:
    """A job that runs, and what a node exporter tells of it."""
    for name in ("work", "stores", "told"):
        (scratch / name).mkdir()
    place = Place(IOLENS, scratch / "work", scratch / "stores")
    place.run(sys.executable, "-S", "-c", WRITER, place.work, SLURM_JOB_ID="48123")
    place.ready()
    top = place.start([IOLENS, "top", "--every", "0.2", "--openmetrics", scratch / "told" / "metrics"])
    until((scratch / "told" / "metrics").exists, "metrics")
    handler = partial(_Quiet, directory=str(scratch / "told"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        top.terminate()
        place.end()


def picture_of_running(browser: Browser, lake: Path, folder: Path, picture: Picture, scratch: Path) -> None:
    """As staff of a site."""
    with (
        exporter(scratch) as url,
        serving(lake, scratch, more=LIVE.format(url=url)) as server,
    ):
        who: dict[str, Any] = {"extra_http_headers": {"X-Remote-User": "sam"}}
        take(browser, f"http://127.0.0.1:{server.port}", picture, folder, **who)


def main(folder: Path, names: list[str]) -> None:
    wanted = [picture for picture in PICTURES if not names or picture.name in names]
    kept = os.environ.get("PORTAL_PICTURES_LAKE")
    with chromium() as browser, tempfile.TemporaryDirectory() as scratch:
        lake = Path(kept) if kept else make_lake(Path(scratch))
        pictures_of_one(browser, lake, folder, [picture for picture in wanted if picture.name != RUNNING])
        for picture in wanted:
            if picture.name == RUNNING:
                picture_of_running(browser, lake, folder, picture, Path(scratch))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
