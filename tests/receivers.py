"""Servers that take messages: a real one for mail, a real one for webhooks. Both can be told to refuse."""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult


class Mailbox:
    """What aiosmtpd calls: keeps what it takes; ``answers`` are given first, one to each message."""

    def __init__(self) -> None:
        self.taken: list[EmailMessage] = []
        self.answers: list[str] = []
        self.unknown: set[str] = set()
        self.port = 0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.unknown:
            return "550 5.1.1 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.answers:
            return self.answers.pop(0)
        made = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(made, EmailMessage)
        made["X-Taken-For"] = ",".join(envelope.rcpt_tos)
        self.taken.append(made)
        return "250 OK"


class _Controller(Controller):
    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # the one that is free
        super()._trigger_server()


def certificate(folder: Path) -> Path:
    """Of localhost, signed by itself: certificate and key in one file."""
    place = folder / "localhost.pem"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", place, "-out", folder / "only"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name, *files]
    subprocess.run(command, check=True, capture_output=True)
    place.write_text(place.read_text() + (folder / "only").read_text())
    return place


@contextmanager
def mail_server(pem: Path | None = None, login: tuple[str, str] | None = None) -> Iterator[Mailbox]:
    """With a certificate it wants STARTTLS first, with a login that."""
    box, context, options = Mailbox(), None, {}
    if pem:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        options |= {"tls_context": context, "require_starttls": True}
    if login:

        def known(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
            right = (given.login.decode(), given.password.decode()) == login
            return AuthResult(success=right, handled=False)

        options |= {"authenticator": known, "auth_required": True}
    controller = _Controller(box, hostname="127.0.0.1", port=0, **options)
    controller.start()
    try:
        box.port = controller.port
        yield box
    finally:
        controller.stop()


class Hook:
    """``taken``: (headers, content) of every POST that got 204. ``answers``: codes that are given first."""

    def __init__(self) -> None:
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.asked = 0
        self.url = ""

    @property
    def json(self) -> list[Any]:
        return [json.loads(content) for _, content in self.taken]


@contextmanager
def web_server() -> Iterator[Hook]:
    hook = Hook()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            hook.asked += 1
            content = self.rfile.read(int(self.headers["Content-Length"]))
            code = hook.answers.pop(0) if hook.answers else 204
            if code == 204:
                hook.taken.append((dict(self.headers), content))
            self.send_response(code)
            if code == 302:
                self.send_header("Location", hook.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            hook.asked += 1
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    hook.url = f"http://localhost:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
