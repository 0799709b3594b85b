"""A user, an administrator and an intruder in a real browser."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from accessible import violations
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest
from iolens.portal.access.site import Site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from jobs import lined_job
from made_area import Here
from playwright.sync_api import Browser, Page
from portal_site import behind_proxy


@contextlib.contextmanager
def serving(site: Site, snapshots: Snapshots) -> Iterator[str]:
    """A portal that believes this machine's header."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    port = listening.getsockname()[1]
    portal = Portal(behind_proxy(site, port), snapshots)
    server = uvicorn.Server(uvicorn.Config(portal.app(), log_level="error", proxy_headers=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture(scope="module")
def address(site: Site, snapshots: Snapshots) -> Iterator[str]:
    with serving(site, snapshots) as address:
        yield address


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
    page.goto(f"{address}/jobs")
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


def test_the_flame_graph_of_a_job_has_names_and_keys(browser: Browser, site: Site, tmp_path: Path) -> None:
    lined_job().save(tmp_path / "root_job_id4711_1.darshan")
    lake = Lake.create(str(tmp_path / "lake"))
    options = Options(str(tmp_path / "lake"), cluster="hopper")
    assert Ingest(lake, options, jobs=1, batch_logs=9, pool=Here()).run([tmp_path]).ingested == 1
    with lake.open() as data:
        ((log,),) = data.query("SELECT log FROM job").fetchall()
    snapshots = Snapshots(tmp_path / "lake", refresh=3600)
    snapshots.renew()
    visitor = Visitor(browser, "root")
    page = visitor.page
    with serving(site, snapshots) as address:
        page.goto(f"{address}/job/{log}")
        page.wait_for_selector("html[data-ready=true] #flame svg")
        page.wait_for_selector("#flame .tools:not([hidden])")
        assert "secret" not in page.content()
        assert page.locator("#flame g[data-label='load (train.py:7)']").get_attribute("data-part") == "0.75"
        page.focus("#flame g")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("/")
        page.keyboard.type("save")
        assert page.inner_text("#flame output") == "25.0 %"
        assert violations(page) == []
    snapshots.stop()
    visitor.context.close()
    assert visitor.complaints == []


def test_picked_runs_are_compared_and_sorted(browser: Browser, address: str) -> None:
    page = Visitor(browser, "alice").page
    page.goto(f"{address}/jobs")
    page.click("th >> text=Time in I/O")
    page.wait_for_url("**by=io_time**")
    assert page.inner_text("#jobs tbody tr:first-child td:nth-child(2)") == "105"
    for number in (0, 1):
        page.locator("input[name=log]").nth(number).check()
    page.click("text=Compare selected")
    page.wait_for_selector("h1 >> text=Runs compared")
    assert page.locator("thead th").count() == 3


def test_an_administrator_sees_what_came_and_who_asked(browser: Browser, address: str) -> None:
    visitor = Visitor(browser, "root")
    page = visitor.page
    page.goto(f"{address}/ingest")
    assert "zed_bad_id9_1.darshan" in page.inner_text("#quarantine")
    page.goto(f"{address}/sql")
    page.fill("textarea", 'SELECT "user", count(*) AS jobs FROM job GROUP BY 1 ORDER BY 1')
    page.click("form.sql button >> nth=0")
    page.wait_for_selector("#answer tbody tr")
    assert page.locator("#answer tbody tr").count() == 3
    page.click("nav summary >> text=More")
    page.click("nav >> text=Audit")
    page.wait_for_selector("#audit")
    assert "count(*) AS jobs" in page.inner_text("#audit")
    for path in (
        "/q/findings",
        "/q/top_users",
        "/storage",
        "/screens",
        "/coverage",
        "/q/drift",
        "/tokens",
        "/q",
    ):
        page.goto(address + path)
    assert visitor.complaints == []


def test_an_intruder_gets_nowhere(browser: Browser, address: str, logs: dict[int, int]) -> None:
    page = Visitor(browser, "mallory").page
    for path in (
        f"/job/{logs[100]}",
        f"/job/{logs[100]}/details",
        "/ingest",
        "/audit",
        "/application?name=sim",
    ):
        answer = page.goto(address + path)
        assert answer is not None and answer.status in (403, 404), path
        assert "alice" not in page.content().replace("/job/", "")
    page.goto(f"{address}/jobs?text=<script>window.stolen=1</script>")
    assert page.evaluate("window.stolen") is None
    assert page.locator("#jobs tbody tr").count() == 0
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.stolen=1\">')")
    page.wait_for_timeout(200)
    assert page.evaluate("window.stolen") is None, "the policy lets no inline script run"


@pytest.mark.parametrize("path", ["/jobs", "JOB", "/q/findings", "/coverage", "/sql", "/storage"])
def test_a_page_fits_a_phone(path: str, browser: Browser, address: str, logs: dict[int, int]) -> None:
    page = Visitor(browser, "sam", viewport={"width": 320, "height": 640}).page
    page.goto(address + path.replace("JOB", f"/job/{logs[105]}"))
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_first_column_stays_when_a_table_is_scrolled(browser: Browser, address: str) -> None:
    page = Visitor(browser, "sam", viewport={"width": 390, "height": 844}).page
    page.goto(f"{address}/q/top_users")
    places = []
    for left in (0, 120):
        page.evaluate(f"document.querySelector('#top_users .scroll').scrollLeft = {left}")
        cells = page.locator("#top_users tbody tr:first-child td")
        places.append([cells.nth(at).bounding_box()["x"] for at in (0, 1)])
    (first, second), (kept, moved) = places
    assert kept == first and moved == second - 120


def test_dark_is_dark(browser: Browser, address: str) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page = Visitor(browser, "sam", color_scheme=scheme).page
        page.goto(f"{address}/jobs")
        colours[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}


def test_from_a_mail_to_the_remedy(browser: Browser, address: str, logs: dict[int, int]) -> None:
    """The page of a job dropped every advice that has a condition: the worst findings had none."""
    page = Visitor(browser, "bob", viewport={"width": 1280, "height": 900}).page
    page.goto(f"{address}/job?id=200")
    box = page.locator(".verdict")
    assert box.count() == 1 and box.bounding_box()["y"] < 300
    worst = page.locator("#findings .finding").first
    assert worst.locator(".advice li").count() >= 1
    assert page.locator(".verdict a").get_attribute("href") == f"#{worst.get_attribute('id')}"
    assert worst.locator("dt >> text=Confidence").count() == 1
    assert page.locator("#findings").bounding_box()["y"] < page.locator("#summary").bounding_box()["y"]


def test_the_menu_has_four_groups_and_nothing_that_fails(browser: Browser, address: str) -> None:
    page = Visitor(browser, "root").page
    page.goto(f"{address}/jobs")
    assert page.locator(".bar nav summary").all_inner_texts() == ["Jobs", "Problems", "Machine", "More"]
    links = page.eval_on_selector_all(".bar nav a", "all => all.map((one) => one.getAttribute('href'))")
    assert len(links) >= 12 and "/running" not in links, "no exporters are configured"
    for link in links:
        answer = page.goto(address + link)
        assert answer is not None and answer.status == 200, link


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    browser: Browser, address: str, logs: dict[int, int], scheme: str, width: int
) -> None:
    visitor = Visitor(browser, "root", color_scheme=scheme, viewport={"width": width, "height": 844})
    wrong = {}
    for path in (
        *(
            "/",
            "/jobs",
            f"/job/{logs[105]}",
            "/q/findings",
            "/q/top_users",
            "/q/drift",
            "/storage",
            "/screens",
        ),
        *(
            "/coverage",
            "/running",
            "/q",
            "/sql",
            "/ingest",
            "/audit",
            "/tokens",
            "/application?name=sim&user=alice",
        ),
        *(f"/compare?log={logs[100]}&log={logs[105]}", "/job?id=999"),
    ):
        visitor.page.goto(address + path)
        if found := violations(visitor.page):
            wrong[path] = found
    assert wrong == {}


def test_the_first_page_says_who_was_hit_most(browser: Browser, address: str, logs: dict[int, int]) -> None:
    page = Visitor(browser, "sam").page
    page.goto(address)
    assert page.inner_text(".intro").startswith(
        "2026-11-03 to 2026-11-09 (UTC): 5 jobs of 2 users. The week before: 4 jobs of 2 users, 48 s lost."
    )
    assert {"top_users", "job_list", "findings", "drift", "periods-7", "periods-28"} <= set(
        page.eval_on_selector_all("figure[id]", "all => all.map((one) => one.id)")
    )
    page.click(".more-links a >> text=The week before")
    page.wait_for_url("**until=2026-11-02**")
    assert page.inner_text("h1") == "Seven days until 2026-11-02"
    assert page.inner_text("#job_list tbody tr:first-child td:first-child") in ("200", "201")
    rows = page.locator("#periods-7 tbody tr").all_inner_texts()
    assert sorted(row.split("\t")[:4] for row in rows) == [
        ["sim", "", "1", "0"], ["sim", "m100", "1", "0"],
        ["train.py", "m200", "1", "0"], ["train.py", "m999", "1", "0"],
    ]  # fmt: skip
    page.click(".more-links a >> text=The week after")
    page.wait_for_url("**until=2026-11-09**")
    page = Visitor(browser, "bob").page
    page.goto(address)
    assert page.locator("#top_users").count() == 0
    assert page.locator("#job_list tbody tr").count() == 2
    assert page.locator("#findings tbody tr").count() == 1
