"""``privjail encrypted keys``: make a server's folder, or tickets."""

from __future__ import annotations

import csv
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from privjail.errors import PlanError
from privjail.terminal import Json, errors_as_messages, print_done

app = typer.Typer(help="Make a server's folder, or tickets for owners and the operator.", no_args_is_help=True)
screen, notes = Console(), Console(stderr=True)
_errors = partial(errors_as_messages, notes)

Folder = Annotated[Path, typer.Argument(help="The server's folder.", exists=True, file_okay=False)]
Address = Annotated[str, typer.Option(help="host:port that the others will use")]


def _private(path: Path) -> Any:
    """A file that only its owner can read, also if it was there before."""
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(f, 0o600)
    return os.fdopen(f, "w", newline="", encoding="utf-8")


@app.command("decrypt")
def keys_decrypt(
    out: Annotated[Path, typer.Argument(help="The folder to make.")],
    budget: Annotated[str, typer.Option(help="All releases together cost at most this ε.")],
    bins: Annotated[int, typer.Option(help="Number of bins, 2 … 4096, if there are no attributes.")] = 0,
    attribute: Annotated[
        list[str] | None, typer.Option(help="region=north,south or age=0:100:5; several make a cross table.")
    ] = None,
    least: Annotated[int, typer.Option(help="Submissions before anything is published.")] = 0,
    opens: Annotated[str, typer.Option(help="When records are taken, as 2027-01-01T00:00:00+00:00.")] = "",
    closes: Annotated[str, typer.Option(help="Until when; nothing is published before.")] = "",
    neighbours: Annotated[str, typer.Option(help="add-remove hides who took part, replace values")] = "add-remove",
    address: Address = "127.0.0.1:7451",
    as_json: Json = False,
) -> None:
    """Run by the decryption server's operator: secret keys, certificate, and offer.json to hand over."""
    from privjail.encrypted.attributes import Attribute, bins_of
    from privjail.encrypted.keys import make_decrypt
    from privjail.encrypted.plans import spelled_amount
    from privjail.encrypted.study import Terms

    with _errors():
        asked = tuple(Attribute.parse(each) for each in attribute or ())
        count = bins_of(asked) if asked and not bins else bins
        terms = Terms(count, neighbours, spelled_amount(budget), least, opens, closes, asked)
        with notes.status("making keys"):
            offer = make_decrypt(out, terms, address)
        if as_json:
            facts = {"fingerprint": offer.fingerprint, "promise": terms.promise}
            print_done("made", folder=str(out), hand_over=str(out / "offer.json"), **facts)
            return
        screen.print(f"made {out}; hand [bold]offer.json[/] to the compute server, and nothing else", soft_wrap=True)
        shown = f"fingerprint: {offer.fingerprint} (tell the owners: submit --fingerprint)"
        screen.print(shown, highlight=False, soft_wrap=True)
        screen.print(f"promise: {terms.promise}", soft_wrap=True, highlight=False)


@app.command("compute")
def keys_compute(
    out: Annotated[Path, typer.Argument(help="The folder to make.")],
    offer: Annotated[Path, typer.Option(help="offer.json of the decryption server.", exists=True, dir_okay=False)],
    address: Address = "127.0.0.1:7452",
    as_json: Json = False,
) -> None:
    """Run by the compute server's operator: certificate, the secret behind tickets, and study.json to hand out."""
    from privjail.encrypted.keys import make_compute
    from privjail.encrypted.study import Offer

    with _errors():
        make_compute(out, Offer.load(offer), address)
        if as_json:
            print_done("made", folder=str(out), hand_over=str(out / "study.json"))
            return
        screen.print(
            f"made {out}; hand [bold]study.json[/] to the decryption server, owners and analysts", soft_wrap=True
        )


@app.command("account")
def keys_account(
    account: Annotated[Path, typer.Argument(help="The account's folder; made if a budget is given.")],
    budget: Annotated[str, typer.Option(help="All studies of it together cost at most this ε.")] = "",
    server: Annotated[list[Path] | None, typer.Option(help="The folder of a server that shall charge it.")] = None,
    as_json: Json = False,
) -> None:
    """One budget over several studies of the same owners. Each server's operator keeps one."""
    from privjail.encrypted.plans import spelled_amount
    from privjail.encrypted.spending import make_account, use_account

    with _errors():
        if budget:
            make_account(account, spelled_amount(budget))
        for folder in server or ():
            use_account(folder, account)
        if as_json:
            print_done("account", account=str(account), servers=[str(each) for each in server or ()])
            return
        screen.print(f"{account}: {len(server or ())} servers charge it from their next start", soft_wrap=True)


@app.command("owners")
def keys_owners(
    folder: Folder,
    names: Annotated[Path, typer.Argument(help="A file with one owner's name in each line.", exists=True)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write owner,ticket here.")] = Path("tickets.csv"),
    as_json: Json = False,
) -> None:
    """Run by the compute server's operator: one ticket for each owner, good for one submission."""
    from privjail.encrypted.keys import Tickets

    with _errors():
        tickets = Tickets(folder)
        people = [line.strip() for line in names.read_text(encoding="utf-8").splitlines() if line.strip()]
        if len(set(people)) != len(people):
            raise PlanError("a name occurs twice", do="give each owner a name of her own")
        with _private(out) as f:
            csv.writer(f).writerows([("owner", "ticket"), *((name, tickets.owner(name).hex()) for name in people)])
        if as_json:
            print_done("written", out=str(out), tickets=len(people))
            return
        screen.print(f"wrote {len(people)} tickets to {out}", soft_wrap=True)


@app.command("operator")
def keys_operator(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the ticket here.")] = Path("operator.ticket"),
    as_json: Json = False,
) -> None:
    """Run by the compute server's operator: the ticket with which releases are published."""
    from privjail.encrypted.keys import Tickets

    with _errors():
        ticket = Tickets(folder).operator().hex()
        with _private(out) as f:
            f.write(ticket + "\n")
        if as_json:
            print_done("written", out=str(out), tickets=1)
            return
        screen.print(f"wrote {out}", soft_wrap=True)
