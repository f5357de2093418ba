"""The forms that decide. Each is tried first, to show who may do what afterwards; then it is confirmed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from privjail.curator import house_rules
from privjail.curator.checks import need_reason, the_dataset
from privjail.curator.console.app import PageRequest, Refused
from privjail.curator.folder import JailFolder, Tried
from privjail.curator.given import numbers, whole
from privjail.errors import DPError, PlanError
from privjail.server.rights import Rights, concerned, rights

if TYPE_CHECKING:
    from privjail.curator.console.app import Console

MOST_ROWS = 200  # of the table of who may do what
Given = Callable[[str], str]


@dataclass(frozen=True)
class Action:
    """A decision: what it is called, where it goes afterwards, and the call that makes it."""

    title: str
    back: str
    call: Callable[[JailFolder, PageRequest], Any]


def _days(ask: PageRequest) -> int:
    text = ask.given("days", "90")
    days = whole(text)
    if days is None or not 1 <= days <= 3650:
        raise PlanError(f"{text[:20]!r} is no number of days", do="write a number from 1 to 3650")
    return days


def _whole(ask: PageRequest, name: str) -> int:
    text = ask.given(name)
    number = whole(text)
    if number is None:
        raise PlanError(f"{text[:20]!r} is no number")
    return number


def _widen(ask: PageRequest) -> bool:
    return ask.given("widen") == "yes"


def _grantee(ask: PageRequest) -> tuple[str, bool]:
    """A user or a group, as the form names them: user:ann, group:team."""
    kind, _, who = ask.given("who").partition(":")
    if kind not in ("user", "group") or not who:
        raise PlanError("choose a user or a group")
    return who, kind == "group"


def _grant(folder: JailFolder, ask: PageRequest) -> list[str]:
    who, group = _grantee(ask)
    return folder.grant(who, ask.given("dataset"), numbers(ask.given("budget")), group, None)


def _revoke_grant(folder: JailFolder, ask: PageRequest) -> list[str]:
    who, group = _grantee(ask)
    return folder.revoke(who, ask.given("dataset"), group, _widen(ask))


def _budget(folder: JailFolder, ask: PageRequest) -> list[str] | None:
    name, budget = ask.given("dataset"), numbers(ask.given("budget"))
    the_dataset(folder.state, name)
    limit = folder.state.limits[("dataset", "", name)]
    if limit is not None and Fraction(budget[0]) < limit[0]:
        folder.lower_budget(name, budget, None)
        return None
    return folder.raise_budget(name, budget, None)


def _rule(folder: JailFolder, ask: PageRequest) -> None:
    names = ("per_request", "per_day", "requests_per_day", "requests_per_hour", "noise", "hours", "until")
    kind, _, who = ask.given("who").partition(":")
    rule = house_rules.read_rule({name: ask.given(name) for name in names})
    house_rules.set_rule(
        folder, ask.given("dataset"), rule, who if kind == "user" else None, who if kind == "group" else None
    )


ACTIONS = {
    "add-user": Action(
        "Add a user, or give her a new token", "/people",
        lambda f, a: f.add_user(a.given("name"), _days(a), False, a.given("role") or None),
    ),
    "revoke-user": Action("Revoke a user", "/people", lambda f, a: f.revoke(a.given("name"), None, False, _widen(a))),
    "pardon": Action("Pardon a user", "/people", lambda f, a: f.pardon(a.given("name"), None)),
    "set-group": Action(
        "Set a group's members", "/people",
        lambda f, a: f.set_group(a.given("name"), [m for m in a.form.get("members", []) if m], _widen(a)),
    ),
    "grant": Action("Grant a budget", "/people", _grant),
    "revoke-grant": Action("Revoke a grant", "/people", _revoke_grant),
    "budget": Action("Change a data set's budget", "/", _budget),
    "freeze": Action("Freeze a data set", "/", lambda f, a: house_rules.freeze(f, a.given("dataset"), None)),
    "unfreeze": Action("Unfreeze a data set", "/", lambda f, a: house_rules.freeze(f, a.given("dataset"), None, False)),
    "rule": Action("Set limits beside the budget", "/", _rule),
    "approve": Action("Approve a request", "/requests", lambda f, a: house_rules.approve(f, _whole(a, "wish"), None)),
    "decline": Action("Decline a request", "/requests", lambda f, a: house_rules.decline(f, _whole(a, "wish"), None)),
}  # fmt: skip


def decide(ask: PageRequest) -> Response:
    action = ACTIONS.get(ask.request.path_params["action"])
    if action is None:
        raise Refused(404, "there is no such decision")
    reason = ask.given("reason")
    need_reason(reason, "every decision")
    by = f"{ask.user.name} (console)"
    if ask.given("confirm") != "yes":
        return _preview(ask, action, by, reason)
    made = action.call(ask.console.folder.acting(by, reason), ask)
    ask.console.note("decision", ask.request, ask.user.name, decision=action.title, reason=reason)
    if action is ACTIONS["add-user"]:
        text = json.dumps(made, indent=1)
        return ask.page("once.html", name=made["user"], text=text)
    return ask.go(action.back, f"{action.title}: done.")


def _preview(ask: PageRequest, action: Action, by: str, reason: str) -> Response:
    trial = ask.console.folder.acting(by, reason, dry=True)
    wrong, notes = None, []
    try:
        made = action.call(trial, ask)
        notes = made if isinstance(made, list) else []
    except DPError as e:
        if trial.tried is None:
            raise
        wrong = e  # it takes rights away, and would let somebody spend more: she may allow that
    assert trial.tried is not None
    rows = changes(trial.tried)
    kept = [(name, value) for name, values in ask.form.items() if name != "csrf" for value in values]
    return ask.page(
        "preview.html", title=action.title, action=ask.request.path_params["action"], rows=rows[:MOST_ROWS],
        more=len(rows) - MOST_ROWS, wrong=wrong, notes=notes, fields=kept, reason=reason, back=action.back,
        facts=facts(trial.tried.body),
    )  # fmt: skip


def facts(body: dict[str, Any]) -> list[tuple[str, str]]:
    """What the entry will say, without the hash of a token."""
    shown = {
        k: v for k, v in body.items() if k not in ("token", "by", "reason", "type") and v not in (None, "", [], {})
    }
    return [(k, ", ".join(map(str, v)) if isinstance(v, list) else str(v)) for k, v in shown.items()]


@dataclass(frozen=True)
class Change:
    """What a user may do on a data set before and after a decision, in words."""

    user: str
    dataset: str
    before: str
    after: str


def changes(tried: Tried) -> list[Change]:
    """Everybody whose rights differ."""
    found = []
    for user, dataset in concerned(tried.before, tried.after):
        notion = tried.after.datasets[dataset].notion
        old, new = rights(tried.before, user, dataset), rights(tried.after, user, dataset)
        before, after = _words(old, notion, tried.before, user), _words(new, notion, tried.after, user)
        if before != after:
            found.append(Change(user, dataset, before, after))
    return found


def _words(has: Rights, notion: Any, state: Any, user: str) -> str:
    entry = state.users.get(user)
    if entry is None:
        return "no such user"
    if entry.revoked or not has.access:
        return "no access"
    limit, left = has.limit, has.left
    if limit is None or left is None:
        return "access without a limit"
    rest = tuple(max(x, Fraction(0)) for x in left)
    return f"may spend {notion.spelled(limit)}, {notion.spelled(rest)} left"


def wish(ask: PageRequest) -> Response:
    house_rules.wish(
        ask.console.folder.acting(f"{ask.user.name} (console)"), ask.user.name, ask.given("dataset"),
        ask.given("budget"), ask.given("reason"),
    )  # fmt: skip
    return ask.go("/mine", "Your request was sent to the curator.")


def renew(ask: PageRequest) -> Response:
    """A new token for its owner: she holds a valid one. The old one ends, and this session with it."""
    folder = ask.console.folder.acting(f"{ask.user.name} (console)", "renewed by its owner")
    made = folder.add_user(ask.user.name, None, renews=True)
    ask.console.note("token renewed", ask.request, ask.user.name)
    return ask.page("once.html", name=made["user"], text=json.dumps(made, indent=1))


def routes(console: Console) -> list[Route]:
    return [
        Route("/decide/{action}", console.open_to("curator", decides=True)(decide), methods=["POST"]),
        Route("/wish", console.open_to("analyst", decides=True)(wish), methods=["POST"]),
        Route("/renew", console.open_to(decides=True)(renew), methods=["POST"]),
    ]
