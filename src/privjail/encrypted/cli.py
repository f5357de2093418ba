"""``privjail encrypted``: make keys, submit encrypted records, run the two servers, publish, ask ranges."""

from __future__ import annotations

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

from privjail.encrypted import cli_keys
from privjail.encrypted.memory import keep
from privjail.errors import PlanError
from privjail.terminal import Json, errors_as_messages, plain, print_done

app = typer.Typer(
    name="encrypted",
    help="Histograms that no single server can read: encrypted records, two servers that do not collude.",
    no_args_is_help=True,
)
app.add_typer(cli_keys.app, name="keys")
screen, notes = Console(), Console(stderr=True)
_errors = partial(errors_as_messages, notes)

StudyFile = Annotated[Path, typer.Argument(help="The study file, study.json.", exists=True, dir_okay=False)]
Folder = Annotated[Path, typer.Argument(help="The server's folder.", exists=True, file_okay=False)]
Listen = Annotated[str | None, typer.Option(help="host:port to listen on, if it is another one")]
Operator = Annotated[Path, typer.Option("--operator", help="The operator's ticket.", exists=True, dir_okay=False)]


@contextmanager
def _progress(doing: str, total: float | None = None) -> Iterator[Progress]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TimeRemainingColumn(), console=notes, transient=True) as progress:
        progress.add_task(doing, total=total)
        yield progress


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
    as_json: Json = False,
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
        if as_json:
            refused = [{"owner": owner, "why": why} for owner, why in report.refused.items()]
            print_done("submitted", kept=report.kept, known=report.known, refused=refused)
        else:
            screen.print(f"{report.kept} kept, {report.known} there before, {len(report.refused)} refused")
            for owner, why in list(report.refused.items())[:20]:
                notes.print(plain(f"  {owner}: {why}"), markup=False, highlight=False, soft_wrap=True)
        if report.refused:
            raise typer.Exit(1)


@app.command()
def explain(study: StudyFile, as_json: Json = False) -> None:
    """What an owner consents to, in plain words."""
    from privjail.encrypted.consent import consent
    from privjail.encrypted.study import Study

    with _errors():
        lines = list(consent(Study.load(study)))
        if as_json:
            print_done("explained", lines=lines)
            return
        for line in lines:
            screen.print(f"• {line}", markup=False, highlight=False)


Gatekeeper = Annotated[str, typer.Option("--gateway", help="The gateway's address as owners see it, https://host/.")]


@app.command()
def page(
    study: StudyFile,
    gateway: Gatekeeper,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    title: Annotated[str, typer.Option(help="What owners read above it.")] = "",
    as_json: Json = False,
) -> None:
    """A page that encrypts in the owner's browser. Hand it out yourself, or publish its hash."""
    import hashlib

    from privjail.encrypted.browser.page import page as make
    from privjail.encrypted.study import Study

    with _errors():
        text = make(Study.load(study), gateway, title)
        out.write_text(text, encoding="utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        if as_json:
            print_done("written", out=str(out), sha256=digest)
            return
        screen.print(f"wrote {out}; SHA-256 {digest}", soft_wrap=True)


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
    as_json: Json = False,
) -> None:
    """Have the two servers make and publish a private histogram."""
    from privjail.encrypted.analyst import publish as run
    from privjail.encrypted.plans import PURPOSES
    from privjail.encrypted.shown import facts_of
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
        if as_json:
            print_done("published", release=release, **facts_of(made))
            return
        screen.print(made, markup=False, highlight=False)


@app.command()
def status(study: StudyFile, operator: Operator, as_json: Json = False) -> None:
    """How many records are there, what was spent, what was published."""
    from privjail.encrypted.analyst import status as ask
    from privjail.encrypted.study import Study

    with _errors():
        found = ask(Study.load(study), _ticket(operator))
        if as_json:
            counts = {"submissions": found.submissions, "refused": found.refused}
            print_done("status", **counts, spent=found.spent, budget=found.budget, releases=list(found.releases))
            return
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
    as_json: Json = False,
) -> None:
    """Ask a published histogram as many ranges as you like: it costs nothing more.

    With attributes: age=20:40,region=north. Attributes that are not named are added up.
    """
    from privjail.encrypted.analyst import fetch
    from privjail.encrypted.shown import answers_of, as_table, attributes_of, facts_of, read_range
    from privjail.encrypted.study import KIND, Study
    from privjail.histograms import PrivateHistogram

    with _errors():
        text = source.read_text(encoding="utf-8")
        found = fetch(Study.load(source), release) if KIND in text[:200] else PrivateHistogram.from_json(text)
        if out is not None:
            out.write_text(found.to_json(), encoding="utf-8")
        attributes = Study.load(terms or source).terms.attributes if terms or KIND in text[:200] else ()
        if attributes and (mean_of or sum_of or any("=" in each for each in ranges or ())):
            told = attributes_of(found, attributes, ranges or [""], level, mean_of, sum_of)
        else:
            told = answers_of(found, [read_range(each, len(found)) for each in ranges or ()], unsmoothed, level)
        if as_json:
            print_done("asked", **facts_of(found), answers=told)
        elif told:
            screen.print(as_table(told))
        else:
            screen.print(found, markup=False, highlight=False)
