"""The curator's checks: audit a program before its author is let in, and check the certificate of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from privjail.curator.cli.show import out, quiet
from privjail.errors import DPError, PlanError

KINDS = {
    "output": "what is printed differs", "error output": "what is printed differs", "end": "the end differs",
    "direct output": "what is printed differs", "request": "another request", "refusal": "another error",
    "file": "a file differs", "process": "another process", "network": "another connection",
    "path": "another way through the program", "moved": "moved further than declared", "claim": "a claim is wrong",
    "budget": "charges were lost", "changed": "the library was changed", "read": "data read around the library",
}  # fmt: skip


@quiet
def audit(
    program: Annotated[Path, typer.Argument(help="the analyst's program")],
    arguments: Annotated[list[str] | None, typer.Argument(help="its arguments (after --)")] = None,
    data: Annotated[list[str] | None, typer.Option(help="NAME=SCHEMA[,unit=COLUMN[,most=K]][,population=…]")] = None,
    jail: Annotated[Path | None, typer.Option("--jail", "-j", help="take schemas and units from this jail")] = None,
    file: Annotated[list[Path] | None, typer.Option(help="a public file that the program needs beside it")] = None,
    neighbours: Annotated[int, typer.Option(help="neighbours of each data set", min=1, max=7)] = 5,
    rows: Annotated[int, typer.Option(help="rows of dummy data", min=2, max=400)] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Run PROGRAM on dummy data and on neighbours of it, and report everything that differs.

    No real data is needed or touched. All runs get the same answers, so whatever still differs is a leak. The exit
    status is 1 if a leak was found.
    """
    from privjail.verify.audit.auditor import audit as run

    given = {**_from_jail(jail), **dict(map(_given, data or []))}
    shown = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def told(world: str, done: int, of: int) -> None:
            bar.update(task, description=escape(world[-50:]), completed=done, total=of)

        files = list(file or [])
        report = run(program, arguments, data=given, files=files, neighbours=neighbours, rows=rows, told=told)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False, indent=1))
    else:
        _show(report, program.name)
    if not report.clean:
        raise typer.Exit(1)


OF_DATA = ("unit", "most", "notion", "population", "key", "link")


def _given(text: str) -> tuple[str, Any]:
    from privjail.curator.given import schema_dict, whole
    from privjail.verify.audit.jail import Given

    name, equals, rest = text.partition("=")
    schema, *options = rest.split(",")
    found: dict[str, list[str]] = {}
    for option in options:
        word, _, value = option.partition("=")
        found.setdefault(word, []).append(value)
    keys, links = tuple(found.pop("key", ())), tuple(found.pop("link", ()))
    last = {word: values[-1] for word, values in found.items()}
    population = last.get("population")
    wrong = set(found) - set(OF_DATA) or whole(last.get("most", "1")) is None
    if not equals or wrong or population is None and (keys or links):
        raise DPError(
            f"--data takes NAME=SCHEMA[,unit=COLUMN[,most=K]][,notion=pure], and for a table of a population "
            f",population=NAME[,key=COLUMN][,link=COLUMN=TABLE.KEY], got {text!r}"
        )
    most = int(last["most"]) if "most" in last else (None if "unit" in last or population else 1)
    notion = last.get("notion", "pure")
    budget = _budget(notion)
    return name, Given(schema_dict(schema), last.get("unit"), most, notion, budget, (), population, keys, links)


def _budget(notion: str) -> tuple[Any, ...]:
    """More than a program spends: the audit compares what it does, and not how far its money goes."""
    return (1000,) if notion in ("pure", "zcdp") else (1000, 0.1)


def _from_jail(folder: Path | None) -> dict[str, Any]:
    """What a jail says about its data sets and the tables of its populations: everything but the rows."""
    if folder is None:
        return {}
    from privjail.budget.notions import name_of
    from privjail.curator.folder import JailFolder
    from privjail.server.ledger.entries import needed_tables
    from privjail.verify.audit.jail import Given

    found = {}
    datasets = JailFolder(folder).state.datasets
    for name in needed_tables(datasets):
        entry = datasets[name]
        notion, unit = name_of(entry.notion), entry.unit
        found[name] = Given(
            entry.schema, unit.column, unit.most_rows, notion, _budget(notion), entry.columns,
            entry.population, entry.keys, entry.links, entry.removed,
        )  # fmt: skip
    return found


def _show(report: Any, name: str) -> None:
    if report.leaks:
        table = Table("leak", "line", "what was seen", "on", show_lines=True)
        for leak in report.leaks:
            worlds = leak.worlds[0] + (f" and {len(leak.worlds) - 1} more" if len(leak.worlds) > 1 else "")
            table.add_row(KINDS.get(leak.kind, leak.kind), str(leak.line or "—"), escape(leak.what), escape(worlds))
        out.print(table)
    for remark in report.remarks:
        out.print(f"[yellow]note[/yellow]: {escape(remark)}", soft_wrap=True)
    sets = ", ".join(report.datasets) or "none"
    out.print(f"data sets: {escape(sets)}; runs: {report.worlds}; releases: {report.releases}", soft_wrap=True)
    out.print(f"inputs of mechanisms that a neighbour moved: {report.moved}", soft_wrap=True)
    out.print(f"releases whose claims were checked again: {report.checked} of {report.releases}", soft_wrap=True)
    verdict = "[green]no leak found[/green]" if report.clean else f"[red]{len(report.leaks)} leaks found[/red]"
    if report.clean and report.left_out:  # a leak may hide there
        verdict = f"[yellow]no leak found, but {report.left_out} places could not be compared[/yellow]"
    out.print(f"{escape(name)}: {verdict}", soft_wrap=True)


@quiet
def check(
    certificates: Annotated[list[Path], typer.Argument(help="certificates, as pj.certify writes them")],
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
    certified: Annotated[
        bool, typer.Option("--certified", help="ask the checker that Coq has proved right, too (make prove builds it)")
    ] = False,
) -> None:
    """Derive the sensitivity and cost of releases again, from their certificates, with an independent checker.

    Ends with 1 unless every certificate is ok.
    """
    from privjail.verify.checker import check as checked

    lines: list[dict[str, Any]] = []
    read = [_read(path) for path in certificates]
    for path, made in zip(certificates, read, strict=True):
        report = checked(made)
        verdict = {"verdict": report.verdict, "problems": report.problems}
        lines.append({"certificate": path.name, **_summary(made), **verdict})
    if certified:
        _add_certified(lines, read)
    if as_json:
        print(json.dumps(lines, ensure_ascii=False, indent=1))
    else:
        table = Table("certificate", "mechanism", "sensitivity", "cost", "verdict", "why")
        for line in lines:
            colour = {"ok": "green", "refuted": "red"}.get(line["verdict"], "yellow")
            cells = (line["certificate"], line["mechanism"], line["sensitivity"], line["cost"])
            table.add_row(*map(escape, cells), f"[{colour}]{line['verdict']}[/]", escape("; ".join(line["problems"])))
        out.print(table)
    if any(line["verdict"] != "ok" for line in lines):
        raise typer.Exit(1)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise DPError(f"{path.name!r} is no certificate: it is not JSON") from None


def _add_certified(lines: list[dict[str, Any]], certificates: list[Any]) -> None:
    """Add the answers of the certified checker. What it refutes is refuted; what it cannot check stays as it is."""
    from privjail.verify.certified import check_certified

    for line, answer in zip(lines, check_certified(certificates), strict=True):
        line["certified"] = answer.verdict if not answer.reason else f"{answer.verdict}: {answer.reason}"
        if answer.verdict == "refuted":
            line["verdict"] = "refuted"
        line["problems"] = [*line["problems"], f"certified checker: {line['certified']}"]


def _summary(made: Any) -> dict[str, str]:
    """What a certificate says about itself; a malformed one says little."""
    try:
        release = made["release"]
        costs = sorted({", ".join(cost) for _, cost in release["charges"] or ()})
        return {
            "mechanism": str(release["mechanism"]["kind"]), "sensitivity": str(release["noise"]["sensitivity"]),
            "cost": " | ".join(costs) or "—",
        }  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return {"mechanism": "—", "sensitivity": "—", "cost": "—"}


@quiet
def conformance(
    package: Annotated[str | None, typer.Option(help="only this package, or ours")] = None,
    adapter: Annotated[Path | None, typer.Option(help="a file of adapters for another package, instead")] = None,
    page: Annotated[Path | None, typer.Option(help="write what was found into this file, too")] = None,
    keep: Annotated[Path | None, typer.Option(help="note each outcome here; run again, it goes on from there")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Try claims of published packages, and of this library, by running their own code (minutes; uses pip and PyPI).

    Ends with 1 if a claim of this library, or of your own adapters, is refuted.
    """
    from dataclasses import asdict

    from privjail.verify import conformance as suite

    messages = Console(stderr=True)
    told = lambda what: messages.print(escape(what), soft_wrap=True)  # noqa: E731
    if adapter is not None and not adapter.is_file():
        raise PlanError(f"there is no file {str(adapter)!r}", do="check the path")
    found = list(
        suite.outcomes(package, told=told, kept=keep) if adapter is None else suite.adapted(adapter, told=told)
    )
    if page is not None:
        page.write_text(suite.page(found), encoding="utf-8")
    if as_json:
        print(json.dumps([asdict(each) for each in found], ensure_ascii=False, indent=1))
    else:
        table = Table("package", "claim", "known", "verdict", "found")
        for each in found:
            colour = {"refuted": "red", "not refuted": "green"}.get(each.verdict, "yellow")
            cells = [escape(x) for x in (each.package, each.claim, each.known)]
            table.add_row(*cells, f"[{colour}]{each.verdict}[/]", escape(each.found))
        out.print(table)
    mine = [each for each in found if adapter is not None or each.package == suite.OURS]
    if any(each.verdict == "refuted" for each in mine):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    app.command()(audit)
    app.command()(check)
    app.command()(conformance)
