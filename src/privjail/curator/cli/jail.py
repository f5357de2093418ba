"""The curator's commands: make a jail, add data, let people in, watch what they spend."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from privjail.curator.cli.show import bar, done, exact, listed, notes, out, plain, progress, quiet, show, spelled, told
from privjail.curator.given import numbers, table_query
from privjail.errors import DPError
from privjail.terminal import Json, dumps

HERE = Path("jail")
Where = Annotated[Path, typer.Option("--jail", "-j", envvar="PRIVJAIL_HOME", help="the jail's folder")]
Reason = Annotated[str | None, typer.Option(help="the reason, which is logged; needed to raise or lower a budget")]
Overlap = Annotated[
    str | None, typer.Option(help="why people who are in another budget already get one more; it is logged")
]
IntakeOf = Annotated[str | None, typer.Option(help="the account whose persons entered earlier; nobody may be in both")]
Entered = Annotated[str | None, typer.Option(help="COLUMN=VALUE: when the persons of the intake entered: year=2027")]
Widen = Annotated[bool, typer.Option("--widen", help="allow this although some users could then spend more")]


def _names(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """Completion by what is in the jail."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        with contextlib.suppress(DPError, OSError):
            state = _folder(Path(context.params.get("jail") or os.environ.get("PRIVJAIL_HOME") or HERE)).state
            return [name for name in getattr(state, kind) if name.startswith(incomplete)]
        return []

    return complete


DatasetName = Annotated[str, typer.Argument(help="the data set's name", autocompletion=_names("datasets"))]


def _folder(path: Path) -> Any:
    from privjail.curator.folder import JailFolder

    return JailFolder(path)


@quiet
def init(
    folder: Annotated[Path, typer.Argument(help="the folder to make")] = HERE,
    host: Annotated[list[str] | None, typer.Option(help="names and addresses that analysts will use")] = None,
    port: Annotated[int, typer.Option(help="the port that analysts will connect to", min=1, max=65535)] = 7443,
    ledger: Annotated[str | None, typer.Option(help="a PostgreSQL URL, to share one ledger among jails")] = None,
    also: Annotated[list[str] | None, typer.Option(help="HOST:PORT of further jails behind the same name")] = None,
    like: Annotated[Path | None, typer.Option(help="share certificates and ledger with this jail's folder")] = None,
    as_json: Json = False,
) -> None:
    """Make a jail: its folder, certificate and ledger."""
    from privjail.curator.folder import JailFolder, read_config

    names = list(host or ["localhost", "127.0.0.1"])
    for each in also or []:
        if not re.fullmatch(r"[^\s:,/]+:\d{1,5}", each):
            raise DPError(
                f"{each!r} is no address of a jail", do="write --also HOST:PORT, e.g. --also b.example.org:7443"
            )
    address = ",".join([f"{names[0]}:{port}", *(also or [])])
    if like is not None:
        other = read_config(like)
        ledger = ledger or other.get("ledger_url")
        if ledger is None:
            raise DPError("jails behind one name share one ledger, and that of the other is in its folder",
                          do="make both with --ledger postgresql://…")  # fmt: skip
    JailFolder.init(folder, names, address, ledger, like)
    told(as_json, "made", f"{folder}: a certificate for {', '.join(names)} and an empty ledger",
         {"jail": str(folder), "address": address, "hosts": names})  # fmt: skip
    if as_json:
        return
    out.print(
        escape(plain(f"next: privjail dataset add NAME FILE --schema … --budget … --unit row --jail {folder}")),
        soft_wrap=True,
    )


dataset = typer.Typer(help="Add and list data sets.", no_args_is_help=True)
population_ = typer.Typer(help="Add populations: persons with several tables and one budget.", no_args_is_help=True)
user = typer.Typer(help="Add and list users.", no_args_is_help=True)
group = typer.Typer(help="Add and list groups.", no_args_is_help=True)


def privacy_unit(unit: str, rows_per_unit: int | None) -> tuple[str | None, int | None]:
    """What --unit and --rows-per-unit say: (column, rows), or (None, 1) for a row."""
    if unit == "row" and rows_per_unit is not None:
        raise DPError("--rows-per-unit needs a unit that is a column, not 'row'", do="give --unit COLUMN")
    if unit != "row" and rows_per_unit is None:
        raise DPError(f"the number of rows to keep of each {unit!r} is missing", do="give --rows-per-unit N")
    return (None, 1) if unit == "row" else (unit, rows_per_unit)


@dataset.command("add")
@quiet
def dataset_add(
    name: Annotated[str, typer.Argument(help="the name that analysts open it by")],
    file: Annotated[str, typer.Argument(help="a CSV or Parquet file, a folder of Parquet files, or a database")],
    budget: Annotated[
        str | None, typer.Option(help="the limit for all users together, e.g. 1.0 (or eps,delta)")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="what is protected: 'row', or the column that identifies the person")
    ] = None,
    rows_per_unit: Annotated[
        int | None,
        typer.Option(help="rows that are kept of each person, if --unit is a column", min=1, max=2**31 - 1),
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON or TOML schema; it is enforced")] = None,
    notion: Annotated[str, typer.Option(help="pure, approx, zcdp or renyi")] = "pure",
    kind: Annotated[str | None, typer.Option(help="csv, parquet, folder, sqlite, duckdb or postgres")] = None,
    table: Annotated[str | None, typer.Option(help="a table of the database")] = None,
    query: Annotated[str | None, typer.Option(help="a query of the database, with ORDER BY")] = None,
    engine: Annotated[str | None, typer.Option(help="polars, duckdb or spark; default: by the data's size")] = None,
    population: Annotated[str | None, typer.Option(help="the population whose account pays for this table")] = None,
    person: Annotated[str | None, typer.Option(help="the column that names the person, in a population")] = None,
    key: Annotated[
        list[str] | None, typer.Option(help="a column that names one row, for links of other tables")
    ] = None,
    link: Annotated[list[str] | None, typer.Option(help="COLUMN=TABLE.KEY: whose row it is, if not --person")] = None,
    lease: Annotated[str | None, typer.Option(help="see: privjail dataset lease --help")] = None,
    overlap_reason: Overlap = None,
    intake_of: IntakeOf = None,
    entered: Entered = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Add a data set under a name, with its schema, budget and unit of protection; or a table of a population."""
    from privjail.curator.leases import check_size, set_lease

    query = table_query(table, query)
    if population is not None:
        if budget is not None or unit is not None or engine is not None or lease is not None:
            raise DPError(
                "--budget, --lease and --unit are the population's; --engine is not offered for its tables yet"
            )
        if intake_of is not None or entered is not None:
            raise DPError("an intake is a population: its tables are added like others",
                          do="privjail population add NAME --intake-of … --entered …")  # fmt: skip
        whose = (person, rows_per_unit)
        with out.status("reading …") as status:
            noted = _folder(jail).add_table(
                name, file, schema, population, whose, key or [], link or [], kind, query, overlap_reason,
                lambda table: status.update(f"reading {escape(table)} …"),
            )  # fmt: skip
        words = f"{name}: a table of the population {population}"
        told(as_json, "added", words, {"dataset": name, "population": population}, noted)
        return
    if budget is None or unit is None or person or key or link:
        raise DPError("a data set of its own needs --budget and --unit; --person, --key and --link need --population")
    whose = privacy_unit(unit, rows_per_unit)
    if lease is not None:
        check_size(_folder(jail), notion, numbers(budget), lease)
    with out.status("reading …") as status:
        noted = _folder(jail).add_dataset(
            name, file, schema, numbers(budget), notion, whose, kind, query, engine,
            lambda rows: status.update(f"{rows:,} rows checked and written"), overlap_reason, intake_of, entered,
        )  # fmt: skip
    if lease is not None:
        set_lease(_folder(jail), name, lease, None)
    words = f"{name}: budget {budget} ({notion}), unit of protection: {unit}"
    told(as_json, "added", words, {"dataset": name, "population": None}, noted)


@population_.command("add")
@quiet
def population_add(
    name: Annotated[str, typer.Argument(help="the name of the account that all its tables have")],
    budget: Annotated[str, typer.Option(help="the limit for all users together, e.g. 1.0 (or eps,delta)")],
    notion: Annotated[str, typer.Option(help="pure, approx, zcdp or renyi")] = "pure",
    intake_of: IntakeOf = None,
    entered: Entered = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Add a population: persons, and one budget for all tables about them."""
    _folder(jail).add_population(name, numbers(budget), notion, intake_of, entered)
    told(as_json, "added", f"population {name}: budget {budget} ({notion})", {"dataset": None, "population": name})


@dataset.command("list")
@quiet
def dataset_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the data sets."""
    from privjail.curator.views import data_sets

    rows = [
        [
            d.name,
            d.kind,
            d.engine,
            d.unit,
            str(d.notion),
            (exact if as_json else spelled)(d.notion, d.spent),
            (exact if as_json else spelled)(d.notion, d.limit),
            d.removed,
            d.epoch,
            *([d.intake_of] if as_json else []),
        ]
        for d in data_sets(_folder(jail).state)
    ]
    columns = ["name", "kind", "engine", "unit", "notion", "spent", "budget", "removed", "epoch"]
    show("data sets", [*columns, *(["intake of"] if as_json else [])], rows, as_json)


@dataset.command("remove")
@quiet
def dataset_remove(name: DatasetName, jail: Where = HERE, as_json: Json = False) -> None:
    """Close a data set for everybody, permanently. Its charges stay in the ledger; its name cannot be used again."""
    _folder(jail).remove_dataset(name)
    told(as_json, "removed", name, {"dataset": name})


@user.command("add")
@quiet
def user_add(
    name: str,
    days: Annotated[int, typer.Option(help="days until the token expires", min=1, max=3650)] = 90,
    mutual_tls: Annotated[bool, typer.Option("--mutual-tls", help="make a client certificate too")] = False,
    role: Annotated[str | None, typer.Option(help="analyst, curator, auditor or operator; default: analyst")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="where to write the connection file")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Add a user and write the connection file that she connects with.

    For a user who exists, this issues a new token, invalidates the old one and ends a revocation. Charges stay.
    """
    from privjail.curator.checks import check_name

    check_name(name)  # before it is part of a file's name
    folder = _folder(jail)
    shut_out = name in folder.state.users and folder.state.users[name].revoked
    path = output or Path(f"{name}.privjail")
    there = path.exists()
    # Opened first: a token that cannot be handed over must not replace one that works.
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        os.fchmod(fd, 0o600)
        try:
            file = folder.add_user(name, days, mutual_tls, role)
        except BaseException:
            if not there:
                path.unlink()
            raise
        f.truncate()
        json.dump(file, f, indent=1)
    noted = [f"{name} was revoked; the new token ends that, and the grants are valid again"] if shut_out else []
    words = f"{name}; hand over {path} in private: it contains the token, which is stored nowhere else"
    told(as_json, "added", words, {"user": name, "file": str(path)}, noted)


@user.command("list")
@quiet
def user_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the users."""
    from privjail.curator.views import users

    rows = [
        [u.name, u.role, listed(u.groups, as_json), listed(u.files, as_json), u.expires, u.revoked]
        for u in users(_folder(jail).state)
    ]
    show("users", ["name", "role", "groups", "files", "expires", "revoked"], rows, as_json)


@user.command("file")
@quiet
def user_file(
    name: Annotated[str, typer.Argument(help="the user", autocompletion=_names("users"))],
    file: Annotated[str, typer.Argument(help="a name for the connection file, e.g. laptop")],
    end: Annotated[bool, typer.Option("--end", help="end this file instead of making it")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="where to write it")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Give a user one more connection file, or end one. Her others stay valid; grants and limits are the same."""
    from privjail.curator.checks import check_name
    from privjail.curator.connection_files import add_file, end_file

    for each in (name, file):  # before they are parts of a file's name
        check_name(each)
    if end:
        end_file(_folder(jail), name, file)
        told(as_json, "ended", f"the connection file {file} of {name}", {"user": name, "file": file})
        return
    path = output or Path(f"{name}-{file}.privjail")
    folder = _folder(jail)
    # Opened first: a token that cannot be handed over must not replace one that works.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as f:
        try:
            json.dump(add_file(folder, name, file), f, indent=1)
        except BaseException:
            path.unlink()
            raise
    told(as_json, "added", f"{path}; hand it over in private", {"user": name, "file": str(path)})


@user.command("pardon")
@quiet
def user_pardon(
    name: Annotated[str, typer.Argument(help="the user", autocompletion=_names("users"))],
    reason: Annotated[str | None, typer.Option(help="why the requests failed; logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Allow releases again to a user whose requests failed too often inside the jail. Find the cause first."""
    _folder(jail).pardon(name, reason)
    told(as_json, "pardoned", name, {"user": name})


@group.command("add")
@quiet
def group_add(
    name: str,
    members: Annotated[list[str] | None, typer.Argument(help="all its members", autocompletion=_names("users"))] = None,
    widen: Widen = False,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Make a group, or replace its members. What the group has spent stays with it.

    Refused without --widen if somebody who leaves the group could then spend more.
    """
    noted = _folder(jail).set_group(name, members or [], widen)
    facts = {"group": name, "members": sorted(set(members or []))}
    told(as_json, "group", f"{name}: {', '.join(members or ['nobody'])}", facts, noted)


@group.command("list")
@quiet
def group_list(jail: Where = HERE, as_json: Json = False) -> None:
    """List the groups."""
    from privjail.curator.views import groups

    rows = [[g.name, listed(g.members, as_json)] for g in groups(_folder(jail).state)]
    show("groups", ["name", "members"], rows, as_json)


@quiet
def grant(
    who: Annotated[str, typer.Argument(help="a user, or with --group a group", autocompletion=_names("users"))],
    dataset: DatasetName,
    budget: Annotated[str, typer.Option(help="what may be spent, e.g. 0.5")],
    group: Annotated[bool, typer.Option("--group", help="WHO is a group: its members share the budget")] = False,
    reason: Reason = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Let a user or a group spend on a data set. Every limit that applies must allow a release."""
    folder = _folder(jail)
    noted = folder.grant(who, dataset, numbers(budget), group, reason)
    kind = "group" if group else "user"
    limit = exact(folder.state.datasets[dataset].notion, folder.state.limits[(kind, who, dataset)])
    facts = {"scope": kind, "who": who, "dataset": dataset, "limit": limit}
    told(as_json, "granted", f"{who}: {budget} on {dataset}", facts, noted)


@quiet
def budget(
    dataset: Annotated[str | None, typer.Argument(help="only this data set", autocompletion=_names("datasets"))] = None,
    raise_to: Annotated[str | None, typer.Option("--raise", help="a higher limit for the data set")] = None,
    lower_to: Annotated[str | None, typer.Option("--lower", help="a lower limit, but not below what is spent")] = None,
    reason: Reason = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Show what was spent, by data set, group and user; or change the limit of a data set."""
    from privjail.curator.intakes import families
    from privjail.curator.views import budgets, forfeited

    folder = _folder(jail)
    if raise_to is not None or lower_to is not None:
        if dataset is None:
            raise DPError(
                "the data set whose budget is to be changed is missing", do="privjail budget NAME --raise 2 --reason …"
            )
        if raise_to is not None and lower_to is not None:
            raise DPError("--raise and --lower exclude each other")
        if raise_to is not None:
            gained = folder.raise_budget(dataset, numbers(raise_to), reason)
            notes([] if as_json else gained)
        else:
            folder.lower_budget(dataset, numbers(lower_to), reason)
    rows = []
    for b in budgets(folder.state, dataset):
        words = [spelled(b.notion, b.spent), spelled(b.notion, b.limit)]
        drawn = words if as_json else [bar(b.share)]
        written = exact if as_json else spelled
        rows.append([b.dataset, b.scope, b.who, written(b.notion, b.spent), written(b.notion, b.limit), *drawn])
    columns = ["data set", "scope", "who", "spent", "limit", *(["spent words", "limit words"] if as_json else [""])]
    show("budgets", columns, rows, as_json)
    if not as_json:
        notes([*forfeited(folder.state, dataset), *map(str, families(folder.state, dataset))])


@quiet
def revoke(
    who: Annotated[str, typer.Argument(help="a user, or with --group a group", autocompletion=_names("users"))],
    dataset: Annotated[
        str | None, typer.Option(help="only the grant on this data set", autocompletion=_names("datasets"))
    ] = None,
    group: Annotated[bool, typer.Option("--group", help="WHO is a group")] = False,
    widen: Widen = False,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Revoke a user, or one grant. It takes effect with the next request.

    A grant is also a limit: revoking a group's grant can let a member with a larger grant of her own spend more.
    That is refused without --widen.
    """
    noted = _folder(jail).revoke(who, dataset, group, widen)
    facts = {"scope": "group" if group else "user", "who": who, "dataset": dataset}
    told(as_json, "revoked", who + (f" on {dataset}" if dataset else ""), facts, noted)


@quiet
def verify(
    jail: Where = HERE,
    as_json: Json = False,
    expect: Annotated[
        str | None, typer.Option(help="SEQ:HASH as printed earlier: check that the ledger contains it")
    ] = None,
    renew_anchor: Annotated[
        bool, typer.Option("--renew-anchor", help="accept the ledger as it is; only if no older copy was restored")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="why the anchor is renewed; logged")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="go on after the newest checkpoint that an earlier check found right")
    ] = False,
) -> None:
    """Check the whole ledger, and print its newest entry. Store that on another machine.

    A ledger that was rolled back together with its anchors looks complete. Only an entry stored elsewhere shows it.
    """
    from privjail.curator import keeping

    if renew_anchor:
        keeping.renew_anchor(jail, reason or "")
    folder = _folder(jail)
    with progress("checking the ledger", quiet=as_json) as step:
        newest = folder.check(step, resume)
    if expect is not None:
        keeping.expect(folder, expect)
    head = f"{newest.seq}:{newest.hash}"
    if as_json:
        print(dumps({"entries": newest.seq, "head": head}))
    else:
        done("whole", f"{newest.seq} entries; newest: {head}")


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    for command in (init, grant, budget, revoke, verify):
        app.command()(command)
    for name, sub in (("dataset", dataset), ("population", population_), ("user", user), ("group", group)):
        app.add_typer(sub, name=name)
