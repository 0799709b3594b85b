"""A user in a real browser: the list, a job, its application, picked runs."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from iolens.portal.portal import Portal
from iolens.portal.shelf import Shelf
from iolens.portal.site import Site
from playwright.sync_api import Browser, Page, sync_playwright
from portal_site import behind_proxy

pytestmark = pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")


@pytest.fixture(scope="module")
def address(site: Site, shelf: Shelf) -> Iterator[str]:
    """A portal that believes this machine's header."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port = listening.getsockname()[1]
    portal = Portal(behind_proxy(site, port), shelf)
    server = uvicorn.Server(uvicorn.Config(portal.app(), log_level="error", proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


class Visitor:
    """A page of somebody's, and what the browser complained of."""

    def __init__(self, browser: Browser, name: str, **more: Any) -> None:
        self.context = browser.new_context(extra_http_headers={"X-Remote-User": name}, **more)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))


def test_a_user_finds_a_job_and_what_it_did(browser: Browser, address: str) -> None:
    visitor = Visitor(browser, "alice")
    page = visitor.page
    page.goto(address)
    assert page.locator("#jobs tbody tr").count() == 6
    page.keyboard.press("/")
    page.keyboard.type("105")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=105**")
    assert page.locator("#jobs tbody tr").count() == 1
    page.click("#jobs tbody a >> text=105")
    page.wait_for_selector("#sizes svg")
    assert "Data written" in page.inner_text("#summary") and "6 MiB" in page.inner_text("#summary")
    page.wait_for_selector("html[data-ready=true]")
    assert "/scratch/alice/run/out" in page.inner_text("#details")
    page.click("text=History of sim")
    page.wait_for_selector("#history-io_time svg")
    assert page.locator("#history-io_time circle.s-first").count() == 6
    page.go_back()
    page.wait_for_selector("#summary")
    page.go_back()
    page.wait_for_selector("#jobs")
    assert page.input_value("input[name=text]") == "105"
    assert page.locator("text=Audit").count() == 0
    assert visitor.complaints == []


def test_picked_runs_are_compared_and_sorted(browser: Browser, address: str) -> None:
    page = Visitor(browser, "alice").page
    page.goto(f"{address}/jobs")
    page.click("th >> text=io time")
    page.wait_for_url("**by=io_time**")
    assert page.inner_text("#jobs tbody tr:first-child td:nth-child(2)") == "105"
    for number in (0, 1):
        page.locator("input[name=log]").nth(number).check()
    page.click("text=Compare picked")
    page.wait_for_selector("h1 >> text=Runs beside each other")
    assert page.locator("thead th").count() == 3
