"""A login for programs (the device flow of RFC 8628): the program shows a code, its owner confirms it in a browser.

In the browser she logs in as always, so through the identity provider where there is one. The program then gets a
connection file of its own, once. Its code means nothing until she has confirmed it, and ends after ten minutes.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from privjail.curator.checks import NAME
from privjail.curator.connection_files import add_file, renew
from privjail.curator.console import guard
from privjail.curator.console.app import PageRequest, Refused, _form, address
from privjail.errors import DPError
from privjail.server.authentication import PREFIX, holder
from privjail.server.tokens import token_hash

if TYPE_CHECKING:
    from privjail.curator.console.app import Console

SECONDS, INTERVAL = 600, 2  # until a code ends; between two questions of a program
MOST_WAITING, BEGINS = 1_000, 30  # in all; of one address in a minute
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words, and nothing that looks like a digit
CONFIRMS = 10  # wrong codes of one person in a minute


@dataclass
class Waiting:
    """A program that waits for its owner."""

    code: str  # that its owner types: XXXX-XXXX
    file: str
    place: str  # the address that it asked from
    at: float
    asked: float = 0.0
    login: guard.Login | None = None  # of the owner, when she has confirmed it
    declined: bool = False


class Devices:
    """The programs that wait, by the secret that each of them got."""

    def __init__(self, console: Console) -> None:
        self._console, self._lock = console, threading.Lock()
        self._waiting: dict[str, Waiting] = {}
        self._begins, self._confirms = guard.Patience(tries=BEGINS), guard.Patience(tries=CONFIRMS)

    def _tidy(self) -> None:
        old = time.monotonic() - SECONDS
        self._waiting = {k: w for k, w in self._waiting.items() if w.at > old}

    async def begin(self, request: Request) -> Response:
        form = await _form(request)
        return await run_in_threadpool(self._begin, request, (form.get("file") or ["program"])[0])

    def _begin(self, request: Request, file: str) -> Response:
        place = address(request)
        if not self._console.options.write:
            return _wrong("access_denied", 403)
        if self._begins.wait(place) > 0:
            return _wrong("slow_down", 429)
        self._begins.failed(place)
        if not NAME.fullmatch(file):
            return _wrong("invalid_request")
        letters = "".join(secrets.choice(LETTERS) for _ in range(8))
        secret, code = secrets.token_urlsafe(32), f"{letters[:4]}-{letters[4:]}"
        with self._lock:
            self._tidy()
            if len(self._waiting) >= MOST_WAITING or any(w.code == code for w in self._waiting.values()):
                return _wrong("slow_down", 429)
            self._waiting[secret] = Waiting(code, file, place, time.monotonic())
        scheme = "https" if self._console.options.secure else "http"
        page = f"{scheme}://{request.headers['host']}/device/confirm"
        return JSONResponse({"device_code": secret, "user_code": code, "verification_uri": page,
                             "expires_in": SECONDS, "interval": INTERVAL})  # fmt: skip

    async def ask(self, request: Request) -> Response:
        form = await _form(request)
        return await run_in_threadpool(self._ask, request, (form.get("device_code") or [""])[0])

    def _ask(self, request: Request, secret: str) -> Response:
        """What a waiting program is told: to wait, that it was declined, or its connection file, once."""
        with self._lock:
            self._tidy()
            waiting, now = self._waiting.get(secret), time.monotonic()
            if waiting is None:
                return _wrong("expired_token")
            if now - waiting.asked < INTERVAL / 2:
                return _wrong("slow_down")
            waiting.asked = now
            if waiting.login is None and not waiting.declined:
                return _wrong("authorization_pending")
            del self._waiting[secret]
        folder = self._console.folder
        folder.ledger.refresh()
        user = None if waiting.login is None else holder(folder.ledger.state, waiting.login.digest)
        if waiting.declined or user is None:
            return _wrong("access_denied")
        try:
            made = add_file(folder.acting(f"{user.name} (console)", "a program's login"), user.name, waiting.file)
        except DPError:
            return _wrong("access_denied")
        self._console.note("program logged in", request, user.name, file=waiting.file)
        return JSONResponse(made)

    def show(self, ask: PageRequest) -> Response:
        return ask.page("device.html", found=None, wrong=None)

    def confirm(self, ask: PageRequest) -> Response:
        """First what waits under a code is shown; then its owner says yes or no."""
        code, said = ask.given("code").upper().replace(" ", "")[:20], ask.given("confirm")
        if self._confirms.wait(ask.user.name) > 0:
            raise Refused(429, "too many wrong codes: wait a minute")
        with self._lock:
            self._tidy()
            found = next((w for w in self._waiting.values() if w.code == code and w.login is None), None)
            if found is not None and said in ("yes", "no"):
                found.login, found.declined = (ask.login if said == "yes" else None), said == "no"
        if found is None:
            self._confirms.failed(ask.user.name)
            return ask.page("device.html", 400, found=None, wrong="No program waits under this code.")
        if said not in ("yes", "no"):
            return ask.page("device.html", found=found, wrong=None)
        ask.console.note("program confirmed" if said == "yes" else "program declined", ask.request, ask.user.name)
        return ask.go(
            "/mine", "The program gets its connection file." if said == "yes" else "The program gets nothing."
        )

    async def renew(self, request: Request) -> Response:
        return await run_in_threadpool(self._renew, request)

    def _renew(self, request: Request) -> Response:
        """A new token for who holds a valid one. The header is one that no page of another site can send."""
        given = request.headers.get("authorization", "")
        folder, place = self._console.folder, address(request)
        if not self._console.options.write or self._begins.wait(place) > 0:
            return _wrong("access_denied", 403)
        self._begins.failed(place)
        folder.ledger.refresh()
        digest = token_hash(given.removeprefix(PREFIX)) if given.startswith(PREFIX) and len(given) < 1000 else None
        user = holder(folder.ledger.state, digest)
        if user is None or digest is None:
            self._console.note("login failed", request, None)
            return _wrong("access_denied", 403)
        made = renew(folder.acting(f"{user.name} (console)", "renewed by its owner"), user, digest)
        self._console.note("token renewed", request, user.name)
        return JSONResponse(made)


def _wrong(error: str, status: int = 400) -> Response:
    return JSONResponse({"error": error}, status)


def routes(console: Console) -> list[Route]:
    devices, analyst = Devices(console), console.open_to("analyst")
    decide: Any = console.open_to("analyst", decides=True)
    return [
        Route("/device", devices.begin, methods=["POST"]),
        Route("/device/token", devices.ask, methods=["POST"]),
        Route("/device/renew", devices.renew, methods=["POST"]),
        Route("/device/confirm", analyst(devices.show), methods=["GET"]),
        Route("/device/confirm", decide(devices.confirm), methods=["POST"]),
    ]
