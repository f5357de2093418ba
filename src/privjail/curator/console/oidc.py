"""Login through the house's identity provider (OpenID Connect): authorization code with PKCE, state and nonce.

The provider says who somebody is; the ledger says what she may do. The name in the claim must be that of a user whose
token is valid: revoking her in the ledger ends her sessions, whatever the provider says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from privjail.curator.console import guard
from privjail.curator.console.app import address
from privjail.errors import DPError
from privjail.faults import safe_url

if TYPE_CHECKING:
    from privjail.curator.console.app import Console

SECONDS, MOST_BYTES = 10.0, 2**20  # of an answer of the provider
MINUTES, MOST_WAITING = 10, 1_000  # for somebody to log in there, and how many may do so at a time
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]  # signatures with a public key: never "none" or a shared secret
BEGINS = 30  # logins that one address may begin in a minute


@dataclass(frozen=True)
class Provider:
    """An identity provider, and who we are to it."""

    issuer: str
    client: str
    secret: str | None = None
    claim: str = "sub"


@dataclass(frozen=True)
class Begun:
    """A login that began here and has not come back yet."""

    state: str
    nonce: str
    verifier: str
    redirect: str
    at: float


class Refusal(Exception):
    """Why a login failed, for the log; the browser is told only that it did."""


def _safe(url: str) -> str:
    if not safe_url(url):
        raise Refusal("the provider is not reached through https")
    return url


def _json(url: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """What the provider answers to a GET, or to a form."""
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(_safe(url), body, {"Accept": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read(MOST_BYTES))
    except (OSError, ValueError, urllib.error.URLError) as e:
        raise Refusal(f"the provider did not answer as expected ({type(e).__name__})") from None
    if not isinstance(found, dict):
        raise Refusal("the provider did not answer as expected")
    return found


class Oidc:
    """The way to the provider and back."""

    def __init__(self, console: Console, provider: Provider) -> None:
        self._console, self._provider = console, provider
        self._lock = threading.Lock()
        self._begun: dict[str, Begun] = {}
        self._patience = guard.Patience(tries=BEGINS)
        self._cookie = "__Host-privjail-oidc" if console.options.secure else "privjail-oidc"

    def _known(self) -> dict[str, Any]:
        """The provider's addresses, which must be its own."""
        issuer = self._provider.issuer.rstrip("/")
        found = _json(f"{issuer}/.well-known/openid-configuration")
        if str(found.get("issuer", "")).rstrip("/") != issuer:
            raise Refusal("the provider calls itself by another name")
        return found

    async def begin(self, request: Request) -> Response:
        return await run_in_threadpool(self._begin, request)

    def _begin(self, request: Request) -> Response:
        place = address(request)
        if self._patience.wait(place) > 0:
            return self._failed(request, "too many logins began at this address", status=429)
        self._patience.failed(place)
        scheme = "https" if self._console.options.secure else "http"
        redirect = f"{scheme}://{request.headers['host']}/oidc/callback"  # a name that the console is served under
        words = [secrets.token_urlsafe(32) for _ in range(4)]
        begun = Begun(words[0], words[1], words[2], redirect, time.monotonic())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code", "client_id": self._provider.client, "redirect_uri": redirect,
            "scope": "openid profile email", "state": begun.state, "nonce": begun.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        try:
            to = _safe(self._known()["authorization_endpoint"]) + "?" + urllib.parse.urlencode(query)
        except (Refusal, KeyError) as e:
            return self._failed(request, str(e))
        with self._lock:
            old = time.monotonic() - MINUTES * 60
            self._begun = {k: b for k, b in self._begun.items() if b.at > old}
            if len(self._begun) >= MOST_WAITING:
                return self._failed(request, "too many logins are under way")
            self._begun[words[3]] = begun
        response = RedirectResponse(to, 303)
        secure = self._console.options.secure
        response.set_cookie(self._cookie, words[3], max_age=MINUTES * 60, httponly=True, samesite="lax", secure=secure)
        return response

    async def callback(self, request: Request) -> Response:
        return await run_in_threadpool(self._callback, request)

    def _callback(self, request: Request) -> Response:
        with self._lock:
            begun = self._begun.pop(request.cookies.get(self._cookie, ""), None)
        try:
            name = self._named(begun, request)
        except Refusal as e:
            return self._failed(request, str(e))
        self._console.folder.ledger.refresh()
        state = self._console.folder.ledger.state
        found = state.users.get(name)
        user = None if found is None else self._console.holder(state, found.token)
        if user is None:
            return self._failed(request, "the provider's user is none of the jail's, or her token is not valid", name)
        return self._console.welcome(request, user, by_page=True)

    def _named(self, begun: Begun | None, request: Request) -> str:
        """The name that the provider vouches for."""
        given = request.query_params
        if begun is None or begun.at < time.monotonic() - MINUTES * 60:
            raise Refusal("no login began in this browser")
        if not secrets.compare_digest(given.get("state", "").encode(), begun.state.encode()):
            raise Refusal("the answer belongs to another login")
        if "code" not in given:
            raise Refusal("the provider refused")
        known = self._known()
        form = {"grant_type": "authorization_code", "code": given["code"], "redirect_uri": begun.redirect,
                "client_id": self._provider.client, "code_verifier": begun.verifier}  # fmt: skip
        headers = {}
        if self._provider.secret is not None:
            pair = f"{urllib.parse.quote(self._provider.client)}:{urllib.parse.quote(self._provider.secret)}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        answer = _json(str(known.get("token_endpoint")), form, headers)
        keys = _json(str(known.get("jwks_uri")))
        claims = read_claims(str(answer.get("id_token")), keys, self._provider, str(known["issuer"]), begun.nonce)
        name = claims.get(self._provider.claim)
        if not isinstance(name, str) or not name:
            raise Refusal(f"the provider says no {self._provider.claim}")
        return name

    def _failed(self, request: Request, why: str, name: str | None = None, status: int = 403) -> Response:
        self._console.note("login failed", request, None, why=why, named=name)
        return self._console.page("login.html", status, wrong="The login through the identity provider failed.")

    def routes(self) -> list[Route]:
        return [Route("/oidc", self.begin), Route("/oidc/callback", self.callback)]


def read_claims(token: str, keys: dict[str, Any], provider: Provider, issuer: str, nonce: str | None) -> dict[str, Any]:
    """What an identity token says, if the provider signed it, for us, now, and in answer to this login.

    ``issuer``: the provider's name for itself, letter by letter. ``nonce``: None where the way here carries none (a
    device's login, whose token comes straight from the provider).
    """
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    required: Any = {
        "iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": provider.client},
        "exp": {"essential": True},
    }  # fmt: skip
    if nonce is not None:
        required["nonce"] = {"essential": True, "value": nonce}
    try:
        decoded = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS)  # type: ignore[arg-type]
        jwt.JWTClaimsRegistry(leeway=30, **required).validate(decoded.claims)
    except (JoseError, ValueError, KeyError, TypeError) as e:
        raise Refusal(f"the provider's token is not accepted ({type(e).__name__})") from None
    claims = dict(decoded.claims)
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else provider.client) != provider.client:
        raise Refusal("the provider's token was made for another client")
    return claims


def read_provider(issuer: str | None, client: str | None, secret: Any, claim: str) -> Provider | None:
    """From the options of the command line."""
    if issuer is None:
        return None
    if client is None:
        raise DPError("an identity provider needs to know who asks", do="give --oidc-client")
    try:
        import joserfc  # noqa: F401
    except ModuleNotFoundError:
        raise DPError("the package 'joserfc' is not installed", do="pip install 'privjail-dp[console]'") from None
    text = None if secret is None else secret.read_text(encoding="utf-8").strip()
    return Provider(issuer, client, text, claim)
