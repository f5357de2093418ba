"""The curator's commands: make a jail, add data, let people in, watch what they spend."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from privjail.errors import DPError

out = Console()
Where = Annotated[Path, typer.Option("--jail", "-j", envvar="PRIVJAIL_HOME", help="the jail's folder")]
Json = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]
HERE = Path("jail")


def quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of ours as one message, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except DPError as e:
            Console(stderr=True).print(f"[red]{type(e).__name__}[/red]: ", end="")
            print(e, file=sys.stderr)
            raise typer.Exit(1) from None

    return run


def _folder(path: Path) -> Any:
    from privjail.curator.folder import JailFolder

    return JailFolder(path)


def _table(title: str, columns: list[str], rows: list[list[Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False, default=str))
        return
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*("—" if cell is None else str(cell) for cell in row))
    out.print(table)


def _numbers(text: str | None) -> list[Any]:
    from fractions import Fraction

    if text is None:
        return []
    try:
        return [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise DPError(
            f"{text!r} is no budget", do="write a number, or several with commas: --budget 1.0,1e-6"
        ) from None


def _shown(cost: Any) -> str | None:
    return None if cost is None else ", ".join(f"{float(x):.12g}" for x in cost)


def _bar(spent: Any, limit: Any) -> str:
    if not limit or not limit[0]:
        return ""
    share = max(float(s / m) for s, m in zip(spent, limit, strict=False) if m)
    filled = round(20 * min(1.0, share))
    return "█" * filled + "░" * (20 - filled) + f" {share:.0%}"


@quiet
def init(
    folder: Annotated[Path, typer.Argument(help="the folder to make")] = HERE,
    host: Annotated[list[str] | None, typer.Option(help="names and addresses that analysts will use")] = None,
    port: Annotated[int, typer.Option(help="the port that analysts will connect to")] = 7443,
    ledger: Annotated[str | None, typer.Option(help="a PostgreSQL URL, to share one ledger among jails")] = None,
) -> None:
    """Make a jail: its folder, certificate and ledger."""
    from privjail.curator.folder import JailFolder

    names = list(host or ["localhost", "127.0.0.1"])
    JailFolder.init(folder, names, f"{names[0]}:{port}", ledger)
    out.print(f"[green]made[/green] {folder}: certificate for {', '.join(names)}, ledger, and nothing else yet")
    out.print(f"next: privjail dataset add NAME FILE --schema … --budget … --unit row --jail {folder}")


dataset = typer.Typer(help="Add and list data sets.", no_args_is_help=True)
user = typer.Typer(help="Add and list users.", no_args_is_help=True)
group = typer.Typer(help="Add and list groups.", no_args_is_help=True)


@dataset.command("add")
@quiet
def dataset_add(
    name: Annotated[str, typer.Argument(help="the name that analysts open it by")],
    file: Annotated[str, typer.Argument(help="a CSV or Parquet file, a folder of Parquet files, or a database")],
    budget: Annotated[str, typer.Option(help="the hard cap over all users together, e.g. 1.0 (or eps,delta)")],
    unit: Annotated[str, typer.Option(help="what is protected: 'row', or the column that says whose row it is")],
    rows_per_unit: Annotated[int | None, typer.Option(help="most rows kept of one user; needed with a column")] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON or TOML schema; it is enforced")] = None,
    notion: Annotated[str, typer.Option(help="pure, approx, zcdp or renyi")] = "pure",
    kind: Annotated[str | None, typer.Option(help="csv, parquet, folder, sqlite, duckdb or postgres")] = None,
    table: Annotated[str | None, typer.Option(help="a table of the database")] = None,
    query: Annotated[str | None, typer.Option(help="a query of the database, with ORDER BY")] = None,
    jail: Where = HERE,
) -> None:
    """Add a data set under a name, with its schema, budget and unit of protection."""
    if unit == "row" and rows_per_unit is not None:
        raise DPError("--rows-per-unit goes with a user column", do="give --unit COLUMN")
    if table is not None and query is None:
        if not table.replace("_", "").replace(".", "").isalnum():
            raise DPError(f"{table!r} is no table name", do="use --query")
        query = f"SELECT * FROM {table}"  # noqa: S608  the curator's own database
    whose = (None, 1) if unit == "row" else (unit, rows_per_unit)
    warnings = _folder(jail).add_dataset(name, file, schema, _numbers(budget), notion, whose, kind, query)
    for warning in warnings:
        out.print(f"[yellow]note[/yellow]: {warning}")
    out.print(f"[green]added[/green] {name}: budget {budget} ({notion}), unit of protection: {unit}")


@dataset.command("list")
@quiet
def dataset_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the data sets."""
    state = _folder(jail).state
    rows = [
        [d.name, d.origin["kind"], str(d.unit), str(d.notion), _shown(state.total(("dataset", "", d.name))),
         _shown(state.limits.get(("dataset", "", d.name))), d.removed]
        for d in state.datasets.values()
    ]  # fmt: skip
    _table("data sets", ["name", "kind", "unit", "notion", "spent", "budget", "removed"], rows, as_json)


@dataset.command("remove")
@quiet
def dataset_remove(name: str, jail: Where = HERE) -> None:
    """Close a data set for everybody. What was spent stays on the ledger."""
    folder = _folder(jail)
    if name not in folder.state.datasets:
        raise DPError(f"there is no data set {name!r}")
    folder.ledger.record({"type": "remove", "name": name})


@user.command("add")
@quiet
def user_add(
    name: str,
    role: Annotated[str, typer.Option(help="analyst or curator")] = "analyst",
    days: Annotated[int, typer.Option(help="days until the token expires")] = 90,
    mutual_tls: Annotated[bool, typer.Option("--mutual-tls", help="make a client certificate too")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="where to write the connection file")] = None,
    jail: Where = HERE,
) -> None:
    """Add a user (or give her a new token) and write the connection file that she connects with."""
    file = _folder(jail).add_user(name, role, days, mutual_tls)
    path = output or Path(f"{name}.privjail")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        json.dump(file, f, indent=1)
    out.print(f"[green]added[/green] {name}; hand {path} to her in private: it holds her token")


@user.command("list")
@quiet
def user_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the users."""
    state = _folder(jail).state
    rows = [[u.name, u.role, ", ".join(state.groups_of(u.name)), u.expires, u.revoked] for u in state.users.values()]
    _table("users", ["name", "role", "groups", "expires", "revoked"], rows, as_json)


@group.command("add")
@quiet
def group_add(name: str, members: list[str], jail: Where = HERE) -> None:
    """Make a group, or change its members."""
    _folder(jail).set_group(name, members)
    out.print(f"[green]group[/green] {name}: {', '.join(members)}")


@group.command("list")
@quiet
def group_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the groups."""
    groups = _folder(jail).state.groups
    _table("groups", ["name", "members"], [[g, ", ".join(sorted(m))] for g, m in groups.items()], as_json)


@quiet
def grant(
    who: Annotated[str, typer.Argument(help="a user, or with --group a group")],
    dataset: str,
    budget: Annotated[str, typer.Option(help="what may be spent, e.g. 0.5")],
    group: Annotated[bool, typer.Option("--group", help="WHO is a group: its members share the budget")] = False,
    reason: Annotated[str | None, typer.Option(help="why; needed to raise a budget, and logged")] = None,
    jail: Where = HERE,
) -> None:
    """Let a user or a group spend on a data set."""
    _folder(jail).grant(who, dataset, _numbers(budget), group, reason)
    out.print(f"[green]granted[/green] {who}: {budget} on {dataset}")


@quiet
def budget(
    dataset: Annotated[str | None, typer.Argument(help="with --raise: the data set")] = None,
    raise_to: Annotated[str | None, typer.Option("--raise", help="a new hard cap for the data set")] = None,
    reason: Annotated[str | None, typer.Option(help="why; logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Show what was spent, by data set, group and user; or change the cap of a data set."""
    folder = _folder(jail)
    if raise_to is not None:
        if dataset is None or reason is None:
            raise DPError(
                "raising a budget needs the data set and a reason", do="privjail budget NAME --raise 2 --reason …"
            )
        folder.raise_budget(dataset, _numbers(raise_to), reason)
    state = folder.state
    scopes = sorted(set(state.limits) | set(state.trees))
    rows = []
    for scope in scopes:
        if dataset is None or scope[2] == dataset:
            spent, limit = state.total(scope), state.limits.get(scope)
            bar = [] if as_json else [_bar(spent, limit)]
            rows.append([scope[2], scope[0], scope[1], _shown(spent), _shown(limit), *bar])
    columns = ["data set", "scope", "who", "spent", "limit", *([] if as_json else [""])]
    _table("budgets", columns, rows, as_json)


@quiet
def log(
    jail: Where = HERE,
    as_json: Json = False,
    last: Annotated[int, typer.Option("-n", help="how many entries")] = 50,
) -> None:
    """Show the audit log: what was decided, asked and charged. Answers are not in it."""
    folder = _folder(jail)
    events = folder.events()[-last:]
    rows = [[e.seq, e.body.get("at"), e.body["type"], e.body.get("user") or e.body.get("who") or e.body.get("name"),
             _told(e.body)] for e in events]  # fmt: skip
    _table("log", ["entry", "at", "what", "who", "details"], rows, as_json)


def _told(body: dict[str, Any]) -> str:
    match body["type"]:
        case "charge":
            cost = "; ".join(f"{d}: {', '.join(c)}" for d, _, c in body["charges"])
            asked = "; ".join(f"{value} | {mechanism}" for value, mechanism in body.get("program", []))
            return f"{cost} for {asked}"
        case "limit":
            reason = f" because {body['reason']}" if body.get("reason") else ""
            return f"{body['scope']} {body['who']} may spend {', '.join(body['limit'])} on {body['dataset']}{reason}"
        case "dataset":
            return f"{body['origin']['kind']}, {body['notion']} {', '.join(body['limit'])}"
        case "group":
            return ", ".join(body["members"])
    return ""


@quiet
def revoke(
    user: str,
    dataset: Annotated[str | None, typer.Option(help="only the grant on this data set")] = None,
    jail: Where = HERE,
) -> None:
    """Shut a user out, or take back one grant. It holds from the next request on."""
    _folder(jail).revoke(user, dataset)
    out.print(f"[green]revoked[/green] {user}" + (f" on {dataset}" if dataset else ""))


@quiet
def serve(
    jail: Where = HERE,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 picks a free port")] = 7443,
    mutual_tls: Annotated[bool, typer.Option("--mutual-tls", help="clients must show a certificate too")] = False,
    insecure_loopback: Annotated[bool, typer.Option("--insecure-loopback", help="no TLS, on loopback only")] = False,
    time_quantum: Annotated[float, typer.Option(help="answer only at multiples of this many seconds")] = 0.0,
    metrics_port: Annotated[int | None, typer.Option(help="serve /metrics for Prometheus on this port")] = None,
    workers: Annotated[int, typer.Option(help="requests at work at once")] = 8,
) -> None:
    """Serve the jail until it is stopped."""
    from privjail.jail.server import Options, start

    folder = _folder(jail)
    url = folder.config.get("ledger_url")
    folder.ledger.close()
    running = start(
        jail,
        Options(host, port, workers, insecure_loopback, mutual_tls, time_quantum, metrics_port, url),
    )
    signal.signal(signal.SIGTERM, lambda *_: running.server.stop(grace=2))
    print(f"serving on {host}:{running.port}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        running.wait()
    running.stop()


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    for command in (init, grant, budget, log, revoke, serve):
        app.command()(command)
    for name, sub in (("dataset", dataset), ("user", user), ("group", group)):
        app.add_typer(sub, name=name)
