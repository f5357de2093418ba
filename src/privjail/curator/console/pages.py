"""The pages that show: overview, data sets, people, requests, log, what ε means. What they show comes from views."""

from __future__ import annotations

import datetime
import json
import math
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from privjail.curator import views
from privjail.curator.certificates import checked, read
from privjail.curator.checks import the_dataset
from privjail.curator.console.app import PageRequest, Refused
from privjail.curator.given import whole
from privjail.curator.meaning import best_guess, meaning, of_rho
from privjail.curator.spending import forecast
from privjail.server import security_log
from privjail.server.ledger.events import LedgerError
from privjail.server.ledger.state import ROLES
from privjail.server.rights import rights

if TYPE_CHECKING:
    from privjail.curator.console.app import Console

STAFF = ("curator", "auditor", "operator")
ON_A_PAGE = 50
NEAR = 0.8  # of a limit: who is shown as near it
GONE = "the certificate that was kept with this entry, or one that it goes on from, was removed or lost"
KINDS = (
    "charge", "limit", "user", "revoke", "group", "dataset", "update", "remove", "freeze", "rule", "wish", "decline",
    "pardon", "failed", "given_up", "anchor", "lost", "dropped", "repeat", "init", "upgrade", "restored", "token",
    "example", "settings", "leasing", "lease", "leases_ended",
)  # fmt: skip


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def overview(ask: PageRequest) -> Response:
    state = ask.state
    budgets = views.budgets(state)
    soon = (now() + datetime.timedelta(days=14)).isoformat()
    return ask.page(
        "overview.html",
        sets=[(d, _share(d), state.frozen.get(d.name)) for d in views.data_sets(state)],
        near=[b for b in budgets if (b.share or 0) >= NEAR],
        expiring=[u for u in views.users(state) if u.expires and u.expires < soon and not u.revoked],
        wishes=list(state.wishes.values()),
        health=_health(ask),
        newest=views.search(ask.console.folder, views.Filter(), None, 6, ask.sees_programs),
        failures={user: n for user, n in state.failures.items() if n},
    )


def _share(data: views.DataSet) -> float | None:
    return views.Budget(data.name, "dataset", "", data.notion, data.spent, data.limit).share


def _health(ask: PageRequest) -> list[tuple[str, bool, str]]:
    """What is well, and what is not: (what, whether, in words)."""
    folder, security = ask.console.folder, ask.console.security
    where = "PostgreSQL" if folder.config.get("ledger_url") else "SQLite"
    found = [("Ledger", True, f"{folder.ledger.entries} entries in {where}, chain and anchor whole")]
    failed = sum(ask.state.failures.values())
    found.append(("Engine", not failed, f"{failed} requests failed inside it" if failed else "no request has failed"))
    found.append(("Security log", security.failed is None, security.failed or "is written"))
    return found


def dataset(ask: PageRequest) -> Response:
    state, name = ask.state, ask.request.path_params["name"]
    entry = the_dataset(state, name)
    shown = next(d for d in views.data_sets(state) if d.name == name)
    course = ask.console.courses.of(name)
    budgets = views.budgets(state, name)
    left = float(shown.limit[0] - shown.spent[0]) if shown.limit else None
    typical = course.typical
    return ask.page(
        "dataset.html",
        data=shown,
        share=_share(shown),
        columns=[(c, _domain(entry.schema.get(c))) for c in entry.columns or entry.schema],
        course=course,
        now=now(),
        forecast=forecast(course, now()),
        budgets=[b for b in budgets if b.scope != "dataset"],
        programs=course.programs.most_common(10) if ask.sees_programs else None,
        typical=typical,
        queries=math.floor(left / typical + 1e-9) if typical and left else None,
        frozen=state.frozen.get(name),
        rules=[(scope, str(rule)) for scope, rule in sorted(state.rules.items()) if scope[2] == name],
        people=sorted(u.name for u in state.users.values() if u.role == "analyst"),
        groups=sorted(state.groups),
    )


def _domain(column: Any) -> str:
    """What the schema declares of a column: public, as analysts see it."""
    if not isinstance(column, dict):
        return "untyped: no schema" if column is None else str(column)
    said = [str(column.get("type", ""))]
    if column.get("range"):
        low, high = column["range"]
        said.append(f"from {low} to {high}")
    if column.get("categories"):
        names = [str(c) for c in column["categories"]]
        said.append(f"{len(names)} categories: " + ", ".join(names[:8]) + (" …" if len(names) > 8 else ""))
    return ", ".join(s for s in said if s)


def people(ask: PageRequest) -> Response:
    state = ask.state
    may = {}
    for user in state.users:
        each = [rights(state, user, d) for d, entry in state.datasets.items() if not entry.removed]
        may[user] = [(r, state.datasets[r.dataset].notion) for r in each if r.access]
    return ask.page(
        "people.html",
        users=views.users(state),
        groups=views.groups(state),
        may=may,
        datasets=[d for d, e in state.datasets.items() if not e.removed],
        roles=ROLES,
        now=now().isoformat(),
        grants=[b for b in views.budgets(state) if b.scope != "dataset" and b.limit is not None],
    )


def requests(ask: PageRequest) -> Response:
    state = ask.state
    known = {w.number: w.dataset in state.datasets for w in state.wishes.values()}
    done = views.search(ask.console.folder, views.Filter(what="decline"), None, 10)
    return ask.page("requests.html", wishes=list(state.wishes.values()), known=known, declined=done)


def log(ask: PageRequest) -> Response:
    wanted = views.Filter(
        ask.query("who"), ask.query("dataset"), ask.query("what"), ask.query("text"), ask.query("since"),
        ask.query("until"),
    )  # fmt: skip
    before = whole(ask.query("before"))
    found = views.search(ask.console.folder, wanted, before, ON_A_PAGE + 1, ask.sees_programs)
    more = found[ON_A_PAGE - 1].line.entry if len(found) > ON_A_PAGE else None
    return ask.page("log.html", entries=found[:ON_A_PAGE], wanted=wanted, kinds=KINDS, more=more,
                    datasets=list(ask.state.datasets), users=list(ask.state.users))  # fmt: skip


def _entry(ask: PageRequest) -> views.Entry:
    number = whole(ask.request.path_params["number"]) or 0
    found = ask.console.folder.ledger.window(number, number) if 0 < number <= ask.console.folder.ledger.entries else []
    if not found or found[0].body["type"] in views.HIDDEN:
        raise Refused(404, "the log has no such entry that is shown")
    return views.entry(found[0], ask.state, ask.sees_programs)


def entry(ask: PageRequest) -> Response:
    shown = _entry(ask)
    kept, wrong = None, "" if shown.certificate is None else GONE
    try:
        kept = read(ask.console.folder, shown.line.entry) if shown.certificate else None
    except LedgerError as e:  # the rest of the entry is shown: an analyst decides how large her certificates are
        wrong = e.what
    report = checked(kept) if kept is not None and ask.query("check") else None
    return ask.page("entry.html", entry=shown, kept=kept is not None, wrong=wrong, report=report)


def certificate(ask: PageRequest) -> Response:
    shown = _entry(ask)
    kept = read(ask.console.folder, shown.line.entry) if shown.certificate else None
    if kept is None:
        raise Refused(404, "no certificate was kept with this entry")
    ask.console.note("certificate loaded", ask.request, ask.user.name)
    name = f"entry-{shown.line.entry}-certificates.json"
    return Response(
        json.dumps(kept, ensure_ascii=False), media_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )  # fmt: skip


def epsilon(ask: PageRequest) -> Response:
    wrong, given = None, ask.query("eps") or "0.1"
    try:
        if not 1e-9 <= float(given) <= 1e9:
            raise ValueError(given)
        shown = meaning(float(given), float(ask.query("delta") or 0))
    except (ValueError, OverflowError):
        wrong, shown = "ε is a number above 0, δ one from 0 to below 1", meaning(0.1)
    sets = []
    staff, state = ask.user.role in STAFF, ask.state
    for data in views.data_sets(state):
        seen = staff or rights(state, ask.user.name, data.name).access
        if seen and not data.removed and data.limit is not None:
            left = max(0.0, float(data.limit[0] - data.spent[0]))
            reported = data.notion.report(data.spent)
            pair = reported if isinstance(reported, tuple) else (reported, 0.0)
            rho = "ρ" in str(data.notion)
            guess = of_rho(pair[0]) if rho else best_guess(*pair) if any(data.spent) else 0.5
            sets.append((data, guess, None if rho else math.floor(left / shown.epsilon + 1e-9)))
    table = [meaning(e) for e in (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)]
    return ask.page("epsilon.html", shown=shown, wrong=wrong, table=table, sets=sets)


def security(ask: PageRequest) -> Response:
    kind, user = ask.query("kind"), ask.query("user")
    lines = list(security_log.read(ask.console.folder.path))
    kinds = sorted({str(line.get("kind")) for line in lines})
    fits = [x for x in lines if (not kind or x.get("kind") == kind) and (not user or x.get("user") == user)]
    return ask.page("security.html", lines=fits[-200:][::-1], kinds=kinds, kind=kind, user=user)


def mine(ask: PageRequest) -> Response:
    """What an analyst sees: her own budgets and requests."""
    state, me = ask.state, ask.user.name
    own = [rights(state, me, d) for d in state.datasets]
    declined = views.search(ask.console.folder, views.Filter(who=me, what="decline"), None, 10)
    return ask.page(
        "mine.html",
        may=[(r, state.datasets[r.dataset].notion, state.frozen.get(r.dataset)) for r in own if r.access],
        wishes=[w for w in state.wishes.values() if w.user == me],
        declined=[e for e in declined if e.line.who == me],
    )


def routes(console: Console) -> list[Route]:
    staff, readers = console.open_to(*STAFF), console.open_to("curator", "auditor")
    return [
        Route("/", staff(overview)),
        Route("/data/{name}", staff(dataset)),
        Route("/people", staff(people)),
        Route("/requests", staff(requests)),
        Route("/log", staff(log)),
        Route("/log/{number}", staff(entry)),
        Route("/log/{number}/certificates.json", readers(certificate)),
        Route("/epsilon", console.open_to()(epsilon)),
        Route("/security", staff(security)),
        Route("/mine", console.open_to("analyst")(mine)),
    ]
