"""The site's OpenID provider, which identifies users: authorization code flow with PKCE, state and nonce.

Authlib makes the requests and validates the ID token. Here is what it leaves open: that the provider is the one of the
settings, that a token is for this portal alone and signed by a key of the provider, and which name is the user's.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client.sync_app import BaseApp, OAuth2Mixin
from authlib.integrations.base_client.sync_openid import OpenIDMixin
from authlib.integrations.httpx_client import OAuth2Client
from joserfc.errors import JoseError

from iolens.portal.access.identity import user_name
from iolens.portal.access.site import OpenId

__all__ = ["Begun", "Provider", "Refused", "Unreachable"]

SECONDS = 5.0
"""For an answer of the provider; and after none, before it is asked again."""

FRESH = 3600.0
"""Seconds until its description and keys are read again."""

LEEWAY = 60
"""Seconds by which clocks may differ."""

SIGNATURES = frozenset("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split())
"""By a key that only the provider has: neither "none" nor a shared secret."""

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_MORE_ENDPOINTS = ("userinfo_endpoint", "end_session_endpoint")


class Unreachable(Exception):
    """The provider does not answer, or not as a provider does."""


class Refused(Exception):
    """What came back is not a sign-in."""


class Begun(NamedTuple):
    """A sign-in: where the browser goes, and what must fit when it comes back."""

    url: str
    state: str
    nonce: str
    verifier: str


def _described(told: Any, issuer: str) -> dict[str, Any]:
    """What is needed of a provider's own description. Raises Unreachable if it is not this issuer's."""
    if not isinstance(told, dict) or told.get("issuer") != issuer:
        raise Unreachable(f"its description is not that of issuer {issuer}")
    found: dict[str, Any] = {"issuer": issuer}
    for name in (*_ENDPOINTS, *_MORE_ENDPOINTS):
        url = told.get(name)
        if url is None and name in _MORE_ENDPOINTS:
            continue
        if not isinstance(url, str) or urlsplit(url).scheme not in {"https", urlsplit(issuer).scheme}:
            raise Unreachable(f"its description has no sound {name}")
        found[name] = url
    signatures = told.get("id_token_signing_alg_values_supported", ["RS256"])
    found["id_token_signing_alg_values_supported"] = sorted(SIGNATURES.intersection(map(str, signatures)))
    if not found["id_token_signing_alg_values_supported"]:
        raise Unreachable("it signs with nothing that is believed here")
    found["names_itself"] = told.get("authorization_response_iss_parameter_supported") is True
    ways = told.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    basic = "client_secret_basic" in ways
    found["token_endpoint_auth_method"] = "client_secret_basic" if basic else "client_secret_post"
    return found


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc] # Authlib has no types
    """Authlib's, with this description and no other."""

    client_cls = OAuth2Client

    def load_server_metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.server_metadata
        return found


class Provider:
    """One for a portal. The first sign-in reads its description: the portal starts without it."""

    def __init__(self, settings: OpenId, origin: str) -> None:
        self.settings = settings
        self.back = f"{origin}/oidc/back"
        self.left = f"{origin}/left"
        self._lock = threading.Lock()
        self._client: Any = None
        self._read = -FRESH
        self._failed = -SECONDS

    def _ready(self) -> Any:
        """The client, with a description not older than FRESH. Raises Unreachable."""
        with self._lock:
            now = time.monotonic()
            if self._client is not None and now - self._read < FRESH:
                return self._client
            if now - self._failed < SECONDS:
                raise Unreachable("it did not answer a moment ago")
            try:
                self._client, self._read = self._discovered(), now
            except Unreachable:
                self._failed = time.monotonic()
                raise
            return self._client

    def _discovered(self) -> Any:
        settings = self.settings
        url = settings.issuer.rstrip("/") + "/.well-known/openid-configuration"
        try:
            answer = httpx2.get(url, timeout=SECONDS)
            answer.raise_for_status()
            found = _described(answer.json(), settings.issuer)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError) as error:
            raise Unreachable(f"{url}: {error}") from None
        return _Client(
            None,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            client_kwargs={
                "scope": " ".join(settings.scopes),
                "code_challenge_method": "S256",
                "timeout": SECONDS,
            },
            **found,
        )

    def begin(self) -> Begun:
        """Raises Unreachable."""
        made = self._ready().create_authorization_url(self.back)
        return Begun(made["url"], made["state"], made["nonce"], made["code_verifier"])

    def finish(self, code: str, issuer: str, nonce: str, verifier: str) -> str:
        """The user's name, for what a browser has brought back; issuer: as named there, "" if not.

        Raises Unreachable or Refused.
        """
        client = self._ready()
        unnamed = not issuer and not client.server_metadata["names_itself"]
        if not unnamed and issuer != self.settings.issuer:
            raise Refused("the answer is of another issuer")
        try:
            token = client.fetch_access_token(
                self.back, code=code, code_verifier=verifier, grant_type="authorization_code"
            )
            claims = self._claims(client, token, nonce)
        except httpx2.HTTPError as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from None
        except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused(f"{type(error).__name__}: {error}") from None
        told = claims.get(self.settings.claim)
        name = user_name(told) if isinstance(told, str) else None
        if name is None:
            raise Refused(f"the provider tells no {self.settings.claim}")
        return name

    def _claims(self, client: Any, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Of the ID token; a claim that it lacks may be with the provider's userinfo."""
        claims = client.parse_id_token(
            token,
            nonce=nonce,
            leeway=LEEWAY,
            claims_options={
                "iss": {"essential": True, "value": self.settings.issuer},
                "aud": {"essential": True, "value": self.settings.client_id},
                "sub": {"essential": True},
            },
        )
        if claims is None:
            raise Refused("the provider sent no ID token")
        if self.settings.claim in claims or "userinfo_endpoint" not in client.server_metadata:
            return dict(claims)
        more = client.userinfo(token=token)
        if more.get("sub") != claims["sub"]:
            raise Refused("userinfo is another user's")
        return dict(more)

    def farewell(self) -> str:
        """Where the session with the provider is ended, "" if that is nowhere."""
        try:
            url = str(self._ready().server_metadata.get("end_session_endpoint", ""))
        except Unreachable:
            return ""
        told = {"client_id": self.settings.client_id, "post_logout_redirect_uri": self.left}
        return f"{url}{'&' if '?' in url else '?'}{urlencode(told)}" if url else ""
