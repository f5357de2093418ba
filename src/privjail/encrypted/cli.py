"""``privjail encrypted``: make keys, submit encrypted records, run the two servers, publish, ask ranges."""

from __future__ import annotations

import csv
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from privjail.encrypted.memory import keep
from privjail.errors import PlanError
from privjail.terminal import errors_as_messages, plain

app = typer.Typer(
    name="encrypted",
    help="Histograms that no single server can read: encrypted records, two servers that do not collude.",
    no_args_is_help=True,
)
keys_app = typer.Typer(help="Make a server's folder, or tickets for owners and the operator.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")
screen, notes = Console(), Console(stderr=True)
_errors = partial(errors_as_messages, notes)

StudyFile = Annotated[Path, typer.Argument(help="The study file, study.json.", exists=True, dir_okay=False)]
Folder = Annotated[Path, typer.Argument(help="The server's folder.", exists=True, file_okay=False)]
Address = Annotated[str, typer.Option(help="host:port that the others will use")]
Listen = Annotated[str | None, typer.Option(help="host:port to listen on, if it is another one")]
Operator = Annotated[Path, typer.Option("--operator", help="The operator's ticket.", exists=True, dir_okay=False)]


@contextmanager
def _progress(doing: str, total: float | None = None) -> Iterator[Progress]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=notes, transient=True) as progress:
        progress.add_task(doing, total=total)
        yield progress


# -- keys


def _private(path: Path) -> Any:
    """A file that only its owner can read, also if it was there before."""
    f = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(f, 0o600)
    return os.fdopen(f, "w", newline="", encoding="utf-8")


@keys_app.command("decrypt")
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
        with _progress("making keys"):
            offer = make_decrypt(out, terms, address)
        screen.print(f"made {out}; hand [bold]offer.json[/] to the compute server, and nothing else", soft_wrap=True)
        shown = f"fingerprint: {offer.fingerprint} (tell the owners: submit --fingerprint)"
        screen.print(shown, highlight=False, soft_wrap=True)
        screen.print(f"promise: {terms.promise}", soft_wrap=True, highlight=False)


@keys_app.command("compute")
def keys_compute(
    out: Annotated[Path, typer.Argument(help="The folder to make.")],
    offer: Annotated[Path, typer.Option(help="offer.json of the decryption server.", exists=True, dir_okay=False)],
    address: Address = "127.0.0.1:7452",
) -> None:
    """Run by the compute server's operator: certificate, the secret behind tickets, and study.json to hand out."""
    from privjail.encrypted.keys import make_compute
    from privjail.encrypted.study import Offer

    with _errors():
        make_compute(out, Offer.load(offer), address)
        screen.print(
            f"made {out}; hand [bold]study.json[/] to the decryption server, owners and analysts", soft_wrap=True
        )


@keys_app.command("account")
def keys_account(
    account: Annotated[Path, typer.Argument(help="The account's folder; made if a budget is given.")],
    budget: Annotated[str, typer.Option(help="All studies of it together cost at most this ε.")] = "",
    server: Annotated[list[Path] | None, typer.Option(help="The folder of a server that shall charge it.")] = None,
) -> None:
    """One budget over several studies of the same owners. Each server's operator keeps one."""
    from privjail.encrypted.plans import spelled_amount
    from privjail.encrypted.spending import make_account, use_account

    with _errors():
        if budget:
            make_account(account, spelled_amount(budget))
        for folder in server or ():
            use_account(folder, account)
        screen.print(f"{account}: {len(server or ())} servers charge it from their next start", soft_wrap=True)


@keys_app.command("owners")
def keys_owners(
    folder: Folder,
    names: Annotated[Path, typer.Argument(help="A file with one owner's name in each line.", exists=True)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Write owner,ticket here.")] = Path("tickets.csv"),
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
        screen.print(f"wrote {len(people)} tickets to {out}", soft_wrap=True)


@keys_app.command("operator")
def keys_operator(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the ticket here.")] = Path("operator.ticket"),
) -> None:
    """Run by the compute server's operator: the ticket with which releases are published."""
    from privjail.encrypted.keys import Tickets

    with _errors():
        ticket = Tickets(folder).operator().hex()
        with _private(out) as f:
            f.write(ticket + "\n")
        screen.print(f"wrote {out}", soft_wrap=True)


# -- servers


def _serve(start: Callable[[], Any], what: str) -> None:
    # A signal's handler runs between any two steps of this thread, which may hold a lock: it only writes to a pipe.
    told, tell = os.pipe()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: os.write(tell, b"."))
    with _errors():
        running = start()
    keep()  # not earlier: what a server allocates for good had better lie in large pages
    print(f"{what} serving on port {running.port}", flush=True)
    os.read(told, 1)
    running.stop()


@app.command()
def compute(folder: Folder, listen: Listen = None) -> None:
    """Run the compute server until it is stopped: it adds up what it cannot read."""
    from privjail.encrypted.compute import start

    _serve(lambda: start(folder, listen), "compute server")


@app.command()
def decrypt(
    folder: Folder,
    study: Annotated[Path, typer.Option(help="study.json of the compute server.", exists=True, dir_okay=False)],
    listen: Listen = None,
) -> None:
    """Run the decryption server until it is stopped: it holds the keys and sees only masked numbers."""
    from privjail.encrypted.decrypt import start
    from privjail.encrypted.study import Study

    _serve(lambda: start(folder, Study.load(study), listen), "decryption server")


# -- owners


@app.command()
def submit(
    study: StudyFile,
    records: Annotated[Path, typer.Argument(help="CSV with owner, bin and ticket; no bin: takes no part.")],
    tickets: Annotated[Path | None, typer.Option(help="CSV with owner and ticket, if RECORDS has none.")] = None,
    batch: Annotated[int, typer.Option(help="Records sent at once.", min=1, max=512)] = 512,
    fingerprint: Annotated[str | None, typer.Option(help="As the decryption server's operator tells it.")] = None,
) -> None:
    """Encrypt records here and submit them. Run again after an interruption: what is there is not sent twice."""
    from privjail.encrypted.owner import Submitter, read_csv
    from privjail.encrypted.study import Study

    with _errors():
        found = Study.load(study)
        if fingerprint is not None and fingerprint.strip().lower() != found.fingerprint:
            raise PlanError(
                f"{study.name!r} has the fingerprint {found.fingerprint}: another key, or other terms",
                do="do not submit: ask the decryption server's operator",
            )
        people = list(read_csv(records, tickets, found.terms.attributes))
        with Submitter(found) as submitter, _progress("encrypting and sending", len(people)) as progress:
            report = submitter.submit(people, lambda n: progress.update(progress.task_ids[0], advance=n), batch)
        screen.print(f"{report.kept} kept, {report.known} there before, {len(report.refused)} refused")
        for owner, why in list(report.refused.items())[:20]:
            notes.print(plain(f"  {owner}: {why}"), markup=False, highlight=False, soft_wrap=True)
        if report.refused:
            raise typer.Exit(1)


@app.command()
def explain(study: StudyFile) -> None:
    """What an owner consents to, in plain words."""
    from privjail.encrypted.consent import consent
    from privjail.encrypted.study import Study

    with _errors():
        for line in consent(Study.load(study)):
            screen.print(f"• {line}", markup=False, highlight=False)


Gatekeeper = Annotated[str, typer.Option("--gateway", help="The gateway's address as owners see it, https://host/.")]


@app.command()
def page(
    study: StudyFile,
    gateway: Gatekeeper,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    title: Annotated[str, typer.Option(help="What owners read above it.")] = "",
) -> None:
    """A page that encrypts in the owner's browser. Hand it out yourself, or publish its hash."""
    import hashlib

    from privjail.encrypted.browser.page import page as make
    from privjail.encrypted.study import Study

    with _errors():
        text = make(Study.load(study), gateway, title)
        out.write_text(text, encoding="utf-8")
        screen.print(f"wrote {out}; SHA-256 {hashlib.sha256(text.encode()).hexdigest()}", soft_wrap=True)


@app.command()
def gateway(
    study: StudyFile,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 7453,
    public: Annotated[str, typer.Option(help="Its address as owners see it; default: this one.")] = "",
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: the certificate, PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="For HTTPS: its key, PEM.")] = None,
) -> None:
    """Take records from browsers and pass them to the compute server. Run by the compute server's operator."""
    from privjail.encrypted.browser.gateway import Gateway
    from privjail.encrypted.browser.page import page as make
    from privjail.encrypted.study import Study

    with _errors():
        found = Study.load(study)
        pair = (certificate, private_key) if certificate is not None and private_key is not None else None
        at = public or f"http{'s' if pair else ''}://{host}:{port}/"
        served = Gateway(found, make(found, at), (host, port), certificate=pair)
        print(f"gateway on port {served.port}", flush=True)
        try:
            served.serve_forever()
        except KeyboardInterrupt:
            served.stop()


# -- the operator


def _ticket(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text(encoding="utf-8").strip())
    except ValueError:
        raise PlanError(f"{path.name!r} holds no ticket") from None


@app.command()
def publish(
    study: StudyFile,
    operator: Operator,
    epsilon: Annotated[str, typer.Option(help="What the release costs, as 0.5 or 1/2.")],
    release: Annotated[str, typer.Option(help="A name for it; the same name continues or repeats a release.")],
    purpose: Annotated[str, typer.Option("--for", help="What it will be asked: bins, ranges or both.")] = "both",
    method: Annotated[str, typer.Option(help="block_tree (more accurate) or partition (the thesis').")] = "block_tree",
) -> None:
    """Have the two servers make and publish a private histogram."""
    from privjail.encrypted.analyst import publish as run
    from privjail.encrypted.plans import PURPOSES
    from privjail.encrypted.study import Study

    with _errors():
        if purpose not in PURPOSES.values() or (method != "block_tree" and purpose != "both"):
            raise PlanError(f"--for {purpose} --method {method} is no release", do="use --for bins, ranges or both")
        if method == "block_tree":
            method = next(name for name, each in PURPOSES.items() if each == purpose)
        with _progress("asking the compute server", 1) as progress:

            def advance(done: int, of: int, doing: str) -> None:
                progress.update(progress.task_ids[0], completed=done, total=of, description=doing)

            made = run(Study.load(study), _ticket(operator), release, method, epsilon, advance)
        screen.print(made, markup=False, highlight=False)


@app.command()
def status(study: StudyFile, operator: Operator) -> None:
    """How many records are there, what was spent, what was published."""
    from privjail.encrypted.analyst import status as ask
    from privjail.encrypted.study import Study

    with _errors():
        found = ask(Study.load(study), _ticket(operator))
        screen.print(
            f"{found.submissions} submissions, {found.refused} refused by the check; "
            f"ε {found.spent} of {found.budget} spent; published: {', '.join(found.releases) or 'nothing'}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


# -- analysts


@app.command()
def query(
    source: Annotated[Path, typer.Argument(help="study.json, or a histogram saved with --out.", exists=True)],
    ranges: Annotated[list[str] | None, typer.Argument(help="Ranges such as 10:20, bins 10 … 19.")] = None,
    release: Annotated[str, typer.Option(help="Which release; default: the newest.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the histogram here, to ask offline.")] = None,
    unsmoothed: Annotated[bool, typer.Option("--unsmoothed", help="The unbiased numbers and their errors.")] = False,
    level: Annotated[float, typer.Option(help="How often intervals hold the true number.", min=0.5, max=0.999)] = 0.95,
    terms: Annotated[Path | None, typer.Option(help="study.json, if SOURCE is a saved histogram.")] = None,
    mean_of: Annotated[str, typer.Option("--mean", help="The mean of this attribute instead of counts.")] = "",
    sum_of: Annotated[str, typer.Option("--sum", help="The sum of this attribute instead of counts.")] = "",
) -> None:
    """Ask a published histogram as many ranges as you like: it costs nothing more.

    With attributes: age=20:40,region=north. Attributes that are not named are added up.
    """
    from privjail.encrypted.analyst import fetch
    from privjail.encrypted.shown import answers_table, attributes_table, read_range
    from privjail.encrypted.study import KIND, Study
    from privjail.histograms import PrivateHistogram

    with _errors():
        text = source.read_text(encoding="utf-8")
        found = fetch(Study.load(source), release) if KIND in text[:200] else PrivateHistogram.from_json(text)
        if out is not None:
            out.write_text(found.to_json(), encoding="utf-8")
        attributes = Study.load(terms or source).terms.attributes if terms or KIND in text[:200] else ()
        if attributes and (mean_of or sum_of or any("=" in each for each in ranges or ())):
            screen.print(attributes_table(found, attributes, ranges or [""], level, mean_of, sum_of))
            return
        if not ranges:
            screen.print(found, markup=False, highlight=False)
            return
        screen.print(answers_table(found, [read_range(each, len(found)) for each in ranges], unsmoothed, level))
