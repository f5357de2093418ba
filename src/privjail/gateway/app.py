"""The gateway's web server: JSON in, JSON out, an analyst's token with each request."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from privjail import records, session
from privjail.client import Connection
from privjail.client_errors import NotAccepted, Unreachable
from privjail.errors import BudgetExceeded, DPError, InternalError, PlanError
from privjail.gateway.connections import Asking, Connections, Full, Rate
from privjail.gateway.openapi import document
from privjail.gateway.queries import asked, finite
from privjail.plan import domain as domains

log = logging.getLogger("privjail.gateway")
LARGEST = 256 * 1024  # bytes of a request
TOKEN = re.compile(r"[!-~]{1,500}")
REQUEST = re.compile(r"[0-9a-f]{32}")
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}  # fmt: skip


@dataclass(frozen=True)
class Options:
    """How the gateway is served."""

    address: str  # of the jail
    certificate: str | None  # the jail's, PEM; None: no TLS, on loopback
    per_minute: int = 600  # requests with one token
    wrong_per_minute: int = 20  # tokens from one address that the jail does not accept


class Malformed(PlanError):
    """A request that is no JSON object of the right form."""


class Problem(DPError):
    """An error of HTTP: a status, and what is wrong."""

    def __init__(self, status: int, what: str, do: str | None = None) -> None:
        super().__init__(what, do=do)
        self.status = status


Work = Callable[[Connection, Request, Any], Any]


class Gateway:
    def __init__(self, options: Options) -> None:
        self.connections = Connections(options.address, options.certificate)
        self._rate, self._wrong = Rate(options.per_minute), Rate(options.wrong_per_minute)

    def answering(self, work: Work) -> Callable[[Request], Any]:
        """A page that needs a token. Whatever fails is told as JSON."""

        async def answer(request: Request) -> Response:
            try:
                body = await _body(request)
                return JSONResponse(await run_in_threadpool(self._answer, work, request, body))
            except DPError as e:
                return failed(e)
            except Exception as e:
                log.error("a request failed: %s", type(e).__name__)
                return failed(InternalError("the gateway failed on this request", do="its log says more"))

        return answer

    def _answer(self, work: Work, request: Request, body: Any) -> Any:
        token, place = _token(request), request.client.host if request.client else "?"
        if not self.connections.knows(token) and self._wrong.over(place, 0):
            raise Problem(429, "too many tokens that are not accepted came from this address", "wait a minute")
        if self._rate.over(token):
            raise Problem(429, "this token has asked too often", "wait a minute")
        try:
            with self.connections.of(token) as connection:
                return work(connection, request, body)
        except NotAccepted:
            self._wrong.over(place)
            raise


# -- what can be asked


def _datasets(connection: Connection, request: Request, body: Any) -> Any:
    connection.reopen()  # what the curator has granted since
    return {"datasets": sorted(connection.datasets)}


def _dataset(connection: Connection, request: Request, body: Any) -> Any:
    name = request.path_params["name"]
    connection.reopen()
    if name not in connection.datasets:
        raise Problem(404, f"there is no data set {name[:100]!r} for you", "GET /v1/datasets lists them")
    dataset = connection.source(name).dataset
    return {
        "name": name,
        "population": None if dataset.population is None else dataset.population.name,
        "person": dataset.unit.column,
        "rows_per_person": dataset.unit.most_rows if dataset.unit.column else 1,
        "columns": [{"name": str(each)} | _domain(domain) for each, domain in dataset.columns],
    }


def _domain(domain: domains.Domain) -> dict[str, Any]:
    numeric = isinstance(domain, domains.Numeric)
    categories = list(domain.categories) if isinstance(domain, domains.CategoryDomain) else None
    return {
        "type": domain.dtype,
        "nullable": domain.nullable,
        "lower": _bound(domain.lower) if numeric else None,  # type: ignore[attr-defined]
        "upper": _bound(domain.upper) if numeric else None,  # type: ignore[attr-defined]
        "categories": None if categories is None else [str(each) for each in categories],
    }


def _bound(x: Any) -> Any:
    if isinstance(x, (int, float)):
        return int(x) if isinstance(x, int) and abs(x) < 2**53 else finite(x) if math.isfinite(x) else None
    return None if x is None else str(x)


def _budget(connection: Connection, request: Request, body: Any) -> Any:
    return {"budgets": connection.balances()}


def _query(connection: Connection, request: Request, body: Any) -> Any:
    if not isinstance(body, dict):
        raise Malformed("a query is a JSON object", do="see /openapi.json")
    number = body.get("request")
    if not isinstance(number, str) or not REQUEST.fullmatch(number):
        raise Malformed(
            "a query needs an id of its own: 32 digits of 0-9a-f, random", do='e.g. "request": secrets.token_hex(16)'
        )
    asking = cast(Connection, Asking(connection, bytes.fromhex(number)))
    with session.using(asking), records.unnoted():
        return {"request": number, **asked(body)}


# -- requests and answers


def _token(request: Request) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not TOKEN.fullmatch(token.strip()):
        raise NotAccepted("this request has no token", do="send the header  Authorization: Bearer TOKEN")
    return token.strip()


async def _body(request: Request) -> Any:
    if request.method != "POST":
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "the body is not declared as JSON", "send the header  Content-Type: application/json")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise Problem(413, f"the request has more than {LARGEST} bytes", "ask for less at once")
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once)
        json.dumps(found, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair is no letter
        return found
    except (ValueError, RecursionError):
        raise Malformed("the body is no JSON that can be read here") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and infinities are no JSON


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def failed(error: DPError) -> Response:
    """What is wrong, where, and what to do: the same keys every time."""
    said = {"kind": type(error).__name__, "what": error.what, "plan": error.plan, "do": error.do}
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NotAccepted) else {}
    return JSONResponse({"error": said}, _status(error), headers)


def _status(error: DPError) -> int:
    if isinstance(error, Problem):
        return error.status
    kinds = [(NotAccepted, 401), (BudgetExceeded, 402), (Unreachable, 503), (Full, 503), (InternalError, 500)]
    return next((status for kind, status in kinds if isinstance(error, kind)), 400)


class Headed:
    """Adds headers that protect every answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def headed(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await self._app(scope, receive, headed)


def build(options: Options) -> Any:
    """The whole application."""
    gateway = Gateway(options)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def described(request: Request) -> Response:
        return JSONResponse(document())

    async def missing(request: Request, error: Exception) -> Response:
        return failed(Problem(404, "there is nothing here", "see /openapi.json"))

    async def not_so(request: Request, error: Exception) -> Response:
        answer = failed(Problem(405, "this address does not take such a request", "see /openapi.json"))
        answer.headers["Allow"] = (getattr(error, "headers", None) or {}).get("Allow", "GET")
        return answer

    routes = [
        Route("/health", health),
        Route("/openapi.json", described),
        Route("/v1/datasets", gateway.answering(_datasets)),
        Route("/v1/datasets/{name}", gateway.answering(_dataset)),
        Route("/v1/budget", gateway.answering(_budget)),
        Route("/v1/queries", gateway.answering(_query), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: missing, 405: not_so})
    app.router.redirect_slashes = False  # such an address is another one, and is answered as the description says
    app.state.gateway = gateway
    headed = Headed(app)
    headed.gateway = gateway  # type: ignore[attr-defined]
    return headed
