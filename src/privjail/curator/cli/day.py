"""Commands for the day after: backup, restore, new certificates, upgrades, and a look over everything."""

from __future__ import annotations

import datetime
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from privjail.curator.cli.jail import HERE, Where, _folder
from privjail.curator.cli.show import done, notes, out, quiet, told
from privjail.errors import DPError
from privjail.terminal import Json, dumps


@quiet
def backup(
    file: Annotated[Path, typer.Argument(help="where to write it, e.g. jail.privjail-backup")],
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Write ledger, certificates and settings into one file, while the jail runs. It holds keys: keep it as safe.

    Store the newest entry that it prints on another machine: it shows later whether a backup is the newest.
    """
    from privjail.curator.backup import backup as write

    if file.is_dir():
        raise DPError(f"{str(file)!r} is a folder", do="name a file in it")
    head = write(_folder(jail), file)
    if as_json:
        print(dumps({"file": str(file), "entries": head.seq, "head": str(head)}))
    else:
        done("written", f"{file}: {head.seq} entries; newest: {head}")


@quiet
def restore(
    file: Annotated[Path, typer.Argument(help="a backup")],
    jail: Annotated[Path, typer.Argument(help="the folder to make; what is left of a jail there is put aside")],
    expect: Annotated[
        str | None, typer.Option(help="SEQ:HASH that the backup must end with, as printed with it")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="an empty PostgreSQL database for the ledger")] = None,
    reason: Annotated[str | None, typer.Option(help="why, if this may not be the newest state; logged")] = None,
    as_json: Json = False,
) -> None:
    """Make a jail from a backup.

    If nothing shows that it is the newest state, a reason is needed, and all data sets are frozen: what was spent since
    then is forgotten. Think about that before you unfreeze them.
    """
    from privjail.curator.backup import restore as put_back

    folder, newest = put_back(file, jail, reason, expect, ledger)
    frozen = sorted(folder.state.frozen)
    if as_json:
        print(dumps({"jail": str(jail), "entries": folder.ledger.entries, "newest": newest, "frozen": frozen}))
        return
    done("restored", f"{jail}: {folder.ledger.entries} entries")
    if not newest:
        notes([f"this may not be the newest state: frozen are {', '.join(frozen) or 'no data sets'}"])


@quiet
def rotate(
    authority: Annotated[
        bool, typer.Option("--authority", help="also a new authority; connection files stay valid")
    ] = False,
    users: Annotated[bool, typer.Option("--users", help="a new authority for users' certificates instead")] = False,
    days: Annotated[int, typer.Option(help="days that the new certificate is valid", min=1, max=3650)] = 398,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Give the jail a new certificate. A jail that runs takes it up by itself; no connection file has to change."""
    from privjail.server import rotation

    folder = _folder(jail)
    end: datetime.datetime | None = None
    if users:
        rotation.rotate_users(jail)
        words = "the authority of users' certificates; restart jails with --mutual-tls"
    else:
        if authority:
            rotation.rotate_authority(jail)
        end = rotation.rotate_certificate(jail, days)
        words = f"the certificate, valid until {end:%Y-%m-%d}" + (", and its authority" if authority else "")
    what = "users" if users else "authority" if authority else "certificate"
    folder.ledger.record({"type": "settings", "rotated": what, "by": folder.by})
    told(as_json, "rotated", words, {"what": what, "until": None if end is None else end.isoformat()})


@quiet
def upgrade(
    jail: Where = HERE,
    keep: Annotated[Path | None, typer.Option(help="where the backup goes; default: beside the jail")] = None,
    as_json: Json = False,
) -> None:
    """Bring a jail of an older layout to the newest, after a check of its ledger and a backup."""
    from privjail.curator.folder import LAYOUT
    from privjail.curator.upgrade import upgrade as renew

    file = keep or jail.with_name(f"{jail.name}.before-layout-{LAYOUT}.privjail-backup")
    before, head = renew(_folder(jail), file)
    facts = {"from": before, "to": LAYOUT, "backup": None if head is None else str(file)}
    if head is None:
        told(as_json, "newest", f"{jail} has layout {before} already", facts)
    else:
        words = f"{jail} from layout {before} to {LAYOUT}; backup: {file} (newest: {head})"
        told(as_json, "upgraded", words, facts)


@quiet
def compact(
    older_than: Annotated[int, typer.Option(help="days for which answers are kept", min=1, max=36_500)],
    reason: Annotated[str, typer.Option(help="why; logged")],
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Remove stored answers and certificates that are old, and make the ledger's file smaller.

    Everything else stays: what was asked, what it cost, and the hash of each answer. An analyst who repeats such a
    request gets no answer and no new noise.
    """
    from privjail.curator.keeping import drop_answers

    with out.status("removing old answers …"):
        freed = drop_answers(_folder(jail), older_than, reason)
    words = f"{sum(freed.values()):,} bytes of answers and certificates, of {len(freed)} users"
    told(as_json, "removed", words, {"bytes": freed})


@quiet
def doctor(jail: Where = HERE, as_json: Json = False) -> None:
    """Look over the installation and the jail, and say what to do. Ends with 1 if something is wrong."""
    from privjail.curator.doctor import look

    found = look(jail)
    if as_json:
        print(dumps([asdict(each) for each in found]))
    else:
        colours = {"ok": "green", "warning": "yellow", "wrong": "red"}
        for each in found:
            out.print(
                f"[{colours[each.state]}]{each.state:8}[/] {escape(each.what)}: {escape(each.said)}", soft_wrap=True
            )
            if each.do:
                out.print(f"         do: {escape(each.do)}", soft_wrap=True)
    if any(each.state == "wrong" for each in found):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    for each in (backup, restore, rotate, compact, upgrade, doctor):
        app.command()(each)
