"""Commands beside grants: limits, freezing, requests of analysts, alerts."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from privjail.curator.checks import the_dataset
from privjail.curator.cli.jail import HERE, DatasetName, Reason, Where, _folder
from privjail.curator.cli.show import done, quiet, show, told
from privjail.errors import DPError
from privjail.faults import safe_url
from privjail.terminal import Json, dumps


@quiet
def limit(
    dataset: DatasetName,
    user: Annotated[str | None, typer.Option(help="only for this user")] = None,
    group: Annotated[str | None, typer.Option(help="only for this group")] = None,
    per_request: Annotated[str | None, typer.Option(help="the most that one request may cost")] = None,
    per_day: Annotated[str | None, typer.Option(help="the most that may be spent in a day (UTC)")] = None,
    requests_per_day: Annotated[str | None, typer.Option(help="requests in a day (UTC)")] = None,
    requests_per_hour: Annotated[str | None, typer.Option(help="requests in an hour")] = None,
    noise: Annotated[
        str | None, typer.Option(help="the least noise: standard deviation, in units of protection")
    ] = None,
    hours: Annotated[str | None, typer.Option(help="08:00-18:00, or 08:00-18:00 Europe/Zurich")] = None,
    until: Annotated[str | None, typer.Option(help="the first day on which the grant no longer holds")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="lift all these limits")] = False,
    reason: Reason = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Set limits beside the budget, for everybody or for one user or group; without options, show them.

    What is given replaces all limits of this kind that were set before for the same people.
    """
    from privjail.curator import house_rules

    folder = _folder(jail)
    given = {
        "per_request": per_request, "per_day": per_day, "requests_per_day": requests_per_day,
        "requests_per_hour": requests_per_hour, "noise": noise, "hours": hours, "until": until,
    }  # fmt: skip
    rule = house_rules.read_rule(given)
    if lift or rule.record():
        if lift and rule.record():
            raise DPError("--lift lifts all limits: it goes without others")
        house_rules.set_rule(folder, dataset, rule, user, group, reason)
        facts = {"dataset": dataset, "scope": "user" if user else "group" if group else "dataset",
                 "who": user or group or "", **rule.record()}  # fmt: skip
        words = f"{dataset}, {user or group or 'everybody'}: {rule}"
        told(as_json, "limited" if rule.record() else "lifted", words, facts)
        return
    the_dataset(folder.state, dataset)
    rules = {s: r for s, r in sorted(folder.state.rules.items()) if s[2] == dataset}
    if as_json:
        print(dumps([{"dataset": d, "scope": k, "who": w, **r.record()} for (k, w, d), r in rules.items()]))
        return
    show(
        "limits",
        ["data set", "who", "limits"],
        [[d, w or "everybody", str(r)] for (_, w, d), r in rules.items()],
        False,
    )


@quiet
def freeze(
    dataset: DatasetName,
    reason: Annotated[str | None, typer.Option(help="why; logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Let a data set answer nobody, until `privjail unfreeze`. Nothing of what was granted or spent changes."""
    from privjail.curator import house_rules

    house_rules.freeze(_folder(jail), dataset, reason)
    told(as_json, "frozen", dataset, {"dataset": dataset, "frozen": True})


@quiet
def unfreeze(
    dataset: DatasetName,
    reason: Annotated[str | None, typer.Option(help="why; logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Let a data set answer again."""
    from privjail.curator import house_rules

    house_rules.freeze(_folder(jail), dataset, reason, frozen=False)
    told(as_json, "unfrozen", dataset, {"dataset": dataset, "frozen": False})


@quiet
def requests(
    approve: Annotated[int | None, typer.Option(help="grant what this request asks for")] = None,
    decline: Annotated[int | None, typer.Option(help="decline this request")] = None,
    reason: Annotated[str | None, typer.Option(help="why; logged, and shown to the analyst")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """List what analysts ask for in the console; approve or decline it."""
    from privjail.curator import house_rules

    folder = _folder(jail)
    if approve is not None:
        noted = house_rules.approve(folder, approve, reason)
        told(as_json, "approved", str(approve), {"request": approve}, noted)
    if decline is not None:
        house_rules.decline(folder, decline, reason)
        told(as_json, "declined", str(decline), {"request": decline})
    if approve is None and decline is None:
        rows = [[w.number, w.at, w.user, w.dataset, w.budget, w.reason] for w in folder.state.wishes.values()]
        show("requests", ["request", "at", "user", "data set", "budget", "reason"], rows, as_json)


@quiet
def alerts(
    command: Annotated[str | None, typer.Option(help="a program that gets the alert as JSON on its input")] = None,
    webhook: Annotated[str | None, typer.Option(help="a web address that gets it as JSON")] = None,
    email: Annotated[str | None, typer.Option(help="FROM,TO,SERVER[:PORT]")] = None,
    off: Annotated[bool, typer.Option("--off", help="tell nobody")] = False,
    test: Annotated[bool, typer.Option("--test", help="send a trial now")] = False,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Who is told when 80 % or all of a budget is spent. A jail that runs takes it up when it is started again."""
    from privjail.server.alerts import Alert, send

    path = jail / "jail.json"
    folder = _folder(jail)
    ways = {} if off else dict(folder.config.get("alerts", {}))
    if command is not None:
        ways["command"] = shlex.split(command)
    if webhook is not None:
        if not safe_url(webhook):
            raise DPError(f"{webhook!r} is no web address for alerts", do="it begins with https://")
        ways["webhook"] = webhook
    if email is not None:
        parts = email.split(",")
        if len(parts) != 3:
            raise DPError(f"{email!r} is not FROM,TO,SERVER", do="e.g. jail@house.example,dpo@house.example,mail:25")
        ways["email"] = dict(zip(("from", "to", "server"), parts, strict=True))
    if off or command or webhook or email:
        _write_config(path, {**folder.config, "alerts": ways})
        folder.ledger.record({"type": "settings", "alerts": sorted(ways), "by": folder.by})
    for way, wrong in send(ways, Alert("a trial", "dataset", "", 80, "0")).items() if test else ():
        if not as_json:
            done("sent" if wrong is None else "not sent", f"by {way}" + (f": {wrong}" if wrong else ""))
    rows = [[way, given if isinstance(given, str) or as_json else json.dumps(given)] for way, given in ways.items()]
    show("alerts", ["way", "to"], rows, as_json)


def _write_config(path: Path, config: dict[str, object]) -> None:
    new = path.with_name("jail.json.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(config, file, indent=1)
    os.replace(new, path)


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    for each in (limit, freeze, unfreeze, requests, alerts):
        app.command()(each)
