"""Ways to a recipient: mail by SMTP, a POST to a URL, a file in a directory. Each returns, or raises DeliveryError."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import smtplib
import ssl
import urllib.error
import urllib.request
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path
from typing import Any

from iolens.fleet.notify.outbox import Message
from iolens.fleet.notify.site import Mail, Recipient, Site

__all__ = ["DeliveryError", "send"]

TIMEOUT = 30
"""Seconds that a server may take for an answer."""


class DeliveryError(Exception):
    """The message was not taken; why, in one line."""


def send(site: Site, recipient: Recipient, message: Message) -> None:
    """Brings a message to its recipient. Raises DeliveryError if that is not certain."""
    try:
        if recipient.channel == "mail":
            _mail(site.mail, recipient.target, message)
        elif recipient.channel == "webhook":
            _post(recipient, message)
        else:
            _write(recipient.target, message)
    except (smtplib.SMTPException, urllib.error.URLError, OSError, ValueError) as error:
        raise DeliveryError(_said(error)) from error


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
        return f"the mail server says {code} {_text(text)}"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server says {error.smtp_code} {_text(error.smtp_error)}"
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _text(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _secret(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").strip()


def _mail(mail: Mail, address: str, message: Message) -> None:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = mail.sender, address, message.subject
    made["Date"] = formatdate(message.created)
    made["Message-ID"] = f"<{message.id}@iolens>"  # the same each time it is tried: servers know it again
    made["Auto-Submitted"] = "auto-generated"
    made.set_content(message.body)
    context = ssl.create_default_context() if mail.security != "none" else None
    server: smtplib.SMTP = (
        smtplib.SMTP_SSL(mail.host, mail.port, timeout=TIMEOUT, context=context)
        if mail.security == "tls"
        else smtplib.SMTP(mail.host, mail.port, timeout=TIMEOUT)
    )
    try:
        if mail.security == "starttls":
            server.starttls(context=context)
        if mail.user:
            server.login(mail.user, _secret(mail.password_file))
        server.send_message(made)
    except BaseException:
        server.close()
        raise
    # It has the message: what goes wrong from now on does not make it undelivered.
    try:
        server.quit()
    except (smtplib.SMTPException, OSError):
        server.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A POST that is led elsewhere would arrive as a GET without its content."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(recipient: Recipient, message: Message) -> None:
    payload: Any = message.payload
    if recipient.body == "text":
        payload = {"text": f"{message.subject}\n{message.body}"}
    body = json.dumps(payload).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": message.id, "User-Agent": "iolens"}
    if recipient.secret_file:
        digest = hmac.new(_secret(recipient.secret_file).encode(), body, hashlib.sha256).hexdigest()
        headers["X-Iolens-Signature"] = f"sha256={digest}"
    request = urllib.request.Request(recipient.target, body, headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirect)
    with opener.open(request, timeout=TIMEOUT):
        pass


def _write(folder: str, message: Message) -> None:
    """Under a name of its own, whole or not at all: to be tried again does no harm."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f".{message.id}.draft"
    with draft.open("w", encoding="utf-8") as out:
        json.dump(message.payload, out, indent=2)
        out.flush()
        os.fsync(out.fileno())
    draft.rename(place / f"{message.id}.json")
