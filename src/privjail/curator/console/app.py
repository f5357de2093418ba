"""The console's web server: finds out who asks, and passes the request to a page."""

from __future__ import annotations

import logging
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from privjail.curator.console import guard
from privjail.curator.console.draw import bar, burn_down
from privjail.curator.folder import JailFolder
from privjail.curator.meaning import at_most
from privjail.curator.spending import Courses
from privjail.distribution import __version__
from privjail.errors import DPError
from privjail.faults import explained
from privjail.server.authentication import holder
from privjail.server.ledger.state import ANALYST, State, UserEntry
from privjail.server.security_log import SecurityLog
from privjail.server.tokens import token_hash

log = logging.getLogger("privjail.console")
LARGEST = 2**20  # bytes of a form
STATIC = {"style.css": "text/css", "console.js": "text/javascript", "icon.svg": "image/svg+xml"}


@dataclass(frozen=True)
class Options:
    """How the console is served."""

    hosts: tuple[str, ...]  # names that the browser may use for it
    write: bool = False
    secure: bool = True
    data: Path | None = None  # the folder whose files may be drafted and checked
    provider: Any = None  # an identity provider: see oidc.py


class Refused(Exception):
    """A request that is answered with an error page."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


@dataclass
class PageRequest:
    """One request of a person who is logged in."""

    console: Console
    request: Request
    form: dict[str, list[str]]
    login: guard.Login
    user: UserEntry

    @property
    def state(self) -> State:
        return self.console.folder.ledger.state

    def given(self, name: str, default: str = "") -> str:
        return (self.form.get(name) or [default])[0].strip()

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "").strip()

    @property
    def may_decide(self) -> bool:
        return self.console.options.write and self.user.role == "curator"

    @property
    def sees_programs(self) -> bool:
        return self.user.role in ("curator", "auditor")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        said, self.login.said = self.login.said, []
        return self.console.page(template, status, ask=self, said=said, **values)

    def go(self, where: str, said: str) -> Response:
        """Back to a page of the console, which tells what was done."""
        self.login.said.append(said)
        return RedirectResponse(where, 303)


Page = Callable[[PageRequest], Response]


class Console:
    """The folder, the sessions and the pages."""

    def __init__(self, folder: JailFolder, options: Options) -> None:
        self.folder, self.options = folder, options
        self.logins, self.patience = guard.Logins(), guard.Patience()
        self.courses = Courses(folder)
        self.security = SecurityLog(folder.path, "console")
        self.cookie = "__Host-privjail" if options.secure else "privjail"
        self._static = {name: _asset("static", name).encode() for name in STATIC}
        self._templates = jinja2.Environment(
            loader=jinja2.FunctionLoader(lambda name: _asset("templates", name)),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {"bar": bar, "burn_down": burn_down, "version": __version__, "write": options.write}
        self._templates.globals["at_most"] = at_most
        self._templates.globals["provider"] = options.provider is not None
        self.holder = holder

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        values = {"ask": None, "said": [], **values}
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    # -- the way of a request

    def open_to(self, *roles: str, decides: bool = False) -> Callable[[Page], Callable[[Request], Any]]:
        """A page for these roles. Whatever is asked, the newest ledger says who asks and what her role is."""

        def wrap(page: Page) -> Callable[[Request], Any]:
            async def answer(request: Request) -> Response:
                form = await _form(request)
                return await run_in_threadpool(self._answer, page, request, form, roles, decides)

            return answer

        return wrap

    def _answer(
        self, page: Page, request: Request, form: dict[str, list[str]], roles: tuple[str, ...], decides: bool
    ) -> Response:  # fmt: skip
        ask: PageRequest | None = None
        try:
            self.folder.ledger.refresh()
            cookie, reloads = request.cookies.get(self.cookie), "x-live" in request.headers
            found = self.logins.find(cookie, self.folder.ledger.state, touch=not reloads)
            if found is None:
                return RedirectResponse("/login", 303)
            ask = PageRequest(self, request, form, *found)
            self._check(ask, roles, decides)
            return page(ask)
        except Refused as e:
            return self._error(e.status, e.said, ask)
        except DPError as e:
            return self._error(400, str(e), ask)
        except Exception as e:
            wrong = explained(e)
            if wrong is None:
                log.error("the page %s failed: %s", request.url.path[:100], type(e).__name__)
            return self._error(
                500, "this page failed; the console's log says more" if wrong is None else str(wrong), ask
            )

    def _check(self, ask: PageRequest, roles: tuple[str, ...], decides: bool) -> None:
        if ask.request.method == "POST":
            same_origin(ask.request, self.options)
            if not guard.right_word(ask.login, ask.given("csrf")):
                self.note("forged request", ask.request, ask.user.name)
                raise Refused(403, "this form is not from a page of this session: load the page again")
        if roles and ask.user.role not in roles:
            self.note("role", ask.request, ask.user.name, role=ask.user.role)
            raise Refused(403, f"your role ({ask.user.role}) may not do this")
        if decides and not self.options.write:
            raise Refused(403, "this console is read-only: it was started without --write")

    def _error(self, status: int, said: str, ask: PageRequest | None) -> Response:
        return self.page("error.html", status, ask=ask, code=status, wrong=said)

    def note(self, kind: str, request: Request, user: str | None, **more: Any) -> None:
        """A line for the security log."""
        self.security.write(kind, user=user, source=address(request), path=request.url.path[:200], **more)

    # -- pages without a login

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return self._error(404, "there is nothing here", None)
        return Response(self._static[name], media_type=STATIC[name], headers={"Cache-Control": "max-age=3600"})

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether the ledger can be read."""
        try:
            await run_in_threadpool(self.folder.ledger.refresh)
        except DPError:
            return JSONResponse({"status": "the ledger cannot be read"}, 503)
        return JSONResponse({"status": "ok"})

    async def login(self, request: Request) -> Response:
        if request.method != "POST":
            return self.page("login.html", wrong=None)
        try:
            form = await _form(request)
            same_origin(request, self.options)
        except Refused as e:
            return self._error(e.status, e.said, None)
        return await run_in_threadpool(self._log_in, request, (form.get("token") or [""])[0])

    def _log_in(self, request: Request, token: str) -> Response:
        """A right token is let in, whatever others at the same address did: nobody guesses one of 256 random bits.

        Wrong ones wait, and while they do, the ledger is not read for them.
        """
        place = address(request)
        wait = self.patience.wait(place)
        known = guard.who(self.folder.ledger.state, token)
        if wait > 0 and known is None:
            self.note("login refused", request, None, why="too many wrong tokens")
            wrong = f"Too many wrong tokens came from your address. Try again in {round(wait) + 1} seconds."
            return self.page("login.html", 429, wrong=wrong)
        self.folder.ledger.refresh()
        user = guard.who(self.folder.ledger.state, token)
        if user is None:
            self.patience.failed(place)
            self.note("login failed", request, None)
            return self.page("login.html", 403, wrong="This token is not accepted: unknown, expired, or revoked.")
        return self.welcome(request, user, digest=token_hash(token.strip()))

    def welcome(
        self, request: Request, user: UserEntry, by_page: bool = False, digest: str | None = None
    ) -> Response:  # fmt: skip
        """Begin a session: a new id, whatever cookie came with the request.

        ``by_page``: the request was sent here by another site. A redirect would not carry our cookie, a link does.
        """
        self.logins.end(request.cookies.get(self.cookie))
        number, _ = self.logins.begin(user, digest)
        self.note("login", request, user.name, role=user.role)
        to = "/mine" if user.role == ANALYST else "/"
        response = self.page("welcome.html", to=to) if by_page else RedirectResponse(to, 303)
        response.set_cookie(self.cookie, number, path="/", httponly=True, samesite="strict", secure=self.options.secure)
        return response

    def log_out(self, ask: PageRequest) -> Response:
        self.logins.end(ask.request.cookies.get(self.cookie))
        return RedirectResponse("/login", 303)


def same_origin(request: Request, options: Options) -> None:
    """A form must come from a page of this console. Browsers say so, and a page cannot change it."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "this form was sent from another site")
    origin = urllib.parse.urlsplit(request.headers.get("origin", ""))
    if origin.netloc and origin.netloc != request.headers.get("host"):
        raise Refused(403, "this form was sent from another site")
    if not origin.netloc and "sec-fetch-site" not in request.headers:
        raise Refused(403, "this form does not say where it was sent from")


def address(request: Request) -> str:
    return request.client.host if request.client else "?"


def _asset(folder: str, name: str) -> str:
    return resources.files(__package__).joinpath(folder, name).read_text(encoding="utf-8")


async def _form(request: Request) -> dict[str, list[str]]:
    if request.method != "POST":
        return {}
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise Refused(413, "this form is too large")
    try:
        return urllib.parse.parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=2_000)
    except ValueError:
        raise Refused(400, "this form cannot be read") from None


class Headed:
    """Adds the headers that protect every answer, and refuses names under which the console is not served."""

    def __init__(self, app: Any, options: Options) -> None:
        self._app, self._options = app, options
        self._headers = guard.HEADERS | (guard.SECURE if options.secure else {})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").rpartition(":")
        name = (host[0] or host[2]).strip("[]").lower()

        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                have = {key.lower() for key, _ in message["headers"]}
                more = [(k.lower().encode(), v.encode()) for k, v in self._headers.items()]
                message["headers"] = [*message["headers"], *((k, v) for k, v in more if k not in have)]
            await send(message)

        if name not in self._options.hosts:  # a name of somebody else's that leads here
            await Response("this console is not served under that name", 421)(scope, receive, headed)
            return
        await self._app(scope, receive, headed)


def build(folder: JailFolder, options: Options) -> Any:
    """The whole application."""
    from privjail.curator.console import actions, devices, oidc, pages, schemas

    console = Console(folder, options)
    routes = [
        Route("/login", console.login, methods=["GET", "POST"]),
        Route("/health", console.health),
        Route("/ready", console.ready),
        Route("/static/{name}", console.static),
        Route("/logout", console.open_to()(console.log_out), methods=["POST"]),
        *pages.routes(console),
        *actions.routes(console),
        *schemas.routes(console),
        *devices.routes(console),
    ]
    if options.provider is not None:
        routes += oidc.Oidc(console, options.provider).routes()

    async def missing(request: Request, error: Exception) -> Response:
        return console._error(404, "there is nothing here", None)

    async def too_large(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return console._error(error.status, error.said, None)

    app = Starlette(routes=routes, exception_handlers={404: missing, 405: missing, Refused: too_large})
    app.state.console = console
    return Headed(app, options)
