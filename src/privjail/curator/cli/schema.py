"""Commands for schema files: ``privjail schema draft`` and ``privjail schema check``."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from privjail.curator.cli.show import told
from privjail.curator.given import table_query
from privjail.errors import DPError
from privjail.faults import FILES
from privjail.terminal import Json, dumps

if TYPE_CHECKING:
    from privjail.curator.schema_check import ColumnReport

LEAK = (
    "The ranges and categories in this draft were read from the data. [bold]They are a leak themselves[/]: the age of "
    "the oldest patient is a fact about one patient. Replace each by what is known without the data (ages 0 to 120, "
    "the codes of the form) before anybody else sees this file or opens the data with it."
)

app = typer.Typer(help="Write and try schema files.", no_args_is_help=True)


class Format(StrEnum):
    json = "json"
    toml = "toml"


@app.command("draft")
def schema_draft(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of Parquet files, or a database.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of to the screen.")] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Default: by the ending of OUT, else json.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite OUT if it exists.")] = False,
    kind: Annotated[str | None, typer.Option(help="csv, parquet, folder, sqlite, duckdb or postgres")] = None,
    query: Annotated[str | None, typer.Option(help="A query of the database.")] = None,
    table: Annotated[str | None, typer.Option(help="A table of the database.")] = None,
    header: Annotated[
        bool, typer.Option("--header", help="The first line of a CSV is names, although it looks like data.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="FILE is a data set of the jail: find ranges privately, from its budget.")
    ] = False,
    eps: Annotated[str | None, typer.Option(help="What all ranges together may cost, with --private.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why it is paid for; it is logged.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Pay the price without being asked.")] = False,
    jail: Annotated[
        Path, typer.Option("--jail", "-j", envvar="PRIVJAIL_HOME", help="The jail's folder, with --private.")
    ] = Path("jail"),
    as_json: Json = False,
) -> None:
    """Write a first schema for FILE, for you to edit; or, with --private, ranges for the numbers of a data set.

    Types, ranges and categories are guessed from the data, so the draft itself reveals data. Replace every range and
    list by what is known without the data. Ranges of --private are noisy and paid for: they are public.
    """
    from privjail.curator.schema_draft import draft, read_any, spell

    if form is None:
        form = Format.toml if out is not None and out.suffix.lower() == ".toml" else Format.json
    if out is not None and out.exists() and not force:
        raise DPError(f"{out.name!r} exists and was left as it is", do="choose another name, or add --force")
    if private:
        made, odd = _privately(file, eps, reason, yes, as_json, jail)
    elif eps is not None or yes:
        raise DPError("--eps and --yes belong to --private")
    else:
        rows, odd = read_any(file, kind, table_query(table, query), header)
        made = draft(rows)
    text = spell(made, form.value, head=not private)
    if as_json and out is None:
        print(dumps({"schema": made, "notes": odd}))
        return
    if out is None:
        print(text, end="")
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as e:
            wrong, do = FILES.get(e.errno or 0, (f"cannot be written: {e.strerror}", None))
            raise DPError(f"{out.name!r} {wrong}", do=do) from None
    if as_json:
        told(True, "written", "", {"file": str(out)}, odd)
        return
    messages = Console(stderr=True)
    for remark in odd:
        messages.print(f"[yellow]note[/]: {escape(remark)}", soft_wrap=True)
    if private:
        update = f"privjail dataset update {file} ITS_FILE --schema {out or 'SCHEMA'} --jail {jail}"
        messages.print(f"these ranges are public; take them over with:\n  {escape(update)}", soft_wrap=True)
        return
    messages.print(Panel(LEAK, title="edit before use", border_style="yellow", title_align="left"))
    if out is not None:
        messages.print(f"wrote {escape(str(out))}; try it with:", soft_wrap=True)
        messages.print(f"  privjail schema check {escape(f'{file} {out}')}", soft_wrap=True)


def _privately(
    dataset: str, eps: str | None, reason: str | None, yes: bool, as_json: bool, jail: Path
) -> tuple[dict[str, Any], list[str]]:
    """Show the price, ask, pay: the schema with ranges, and what was paid."""
    from privjail.curator.folder import JailFolder
    from privjail.curator.given import numbers
    from privjail.curator.private_draft import draft, price

    if eps is None or len(numbers(eps)) != 1:
        raise DPError("a private draft has a price: one number", do="give --eps 0.5")
    folder = JailFolder(jail)
    asked = price(folder, dataset, numbers(eps)[0])
    if not yes:
        if as_json:
            raise DPError(f"nothing was paid: {asked}", do="add --yes to pay it")
        typer.echo(str(asked), err=True)
        if not typer.confirm("pay it?", err=True):
            raise DPError("nothing was paid")
    return draft(folder, asked, reason), [f"paid: {asked}"]


@app.command("check")
def schema_check(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    schema: Annotated[Path, typer.Argument(help="Its schema, JSON or TOML.")],
    unit: Annotated[str | None, typer.Option(help="The column that identifies the person.")] = None,
    max_rows_per_unit: Annotated[int | None, typer.Option(help="Keep at most this many rows of each person.")] = None,
    as_json: Json = False,
) -> None:
    """Load FILE as the jail would, and show what SCHEMA changes: values clipped, and values made missing.

    The numbers are exact: do not share them with analysts.
    """
    from privjail.curator.schema_check import check
    from privjail.curator.schema_draft import read_raw

    report = check(read_raw(file), schema, unit, max_rows_per_unit)
    if as_json:
        columns = [{**asdict(c), "domain": c.shown} for c in report.columns]
        kept = [{k: v for k, v in c.items() if k != "shown"} for c in columns]
        print(dumps({"rows": report.rows, "dropped": report.dropped, "columns": kept}))
        return
    console = Console()
    console.print(_check_table(report.columns, file.name))
    if report.dropped:
        console.print(
            f"{report.dropped} of {report.rows} rows are dropped: they have no unit, or their unit has too many rows"
        )
    open_ended = [c.name for c in report.columns if c.unbounded]
    if open_ended:
        names = escape(", ".join(open_ended))
        console.print(f"no range or categories: {names} (analysts must clip or categorise these before they sum)")
    console.print("exact numbers: for the owner of the data only", style="dim")


def _check_table(columns: list[ColumnReport], name: str) -> Table:
    table = Table(title=f"{name} under its schema", title_justify="left")
    table.add_column("column")
    table.add_column("domain")
    for heading in ("missing", "clipped", "made missing", "filled"):
        table.add_column(heading, justify="right")
    for c in columns:
        counts: list[Any] = [c.missing, c.clipped, c.nulled, c.filled]
        table.add_row(escape(c.name), escape(c.shown), *(str(n) if n else "·" for n in counts))
    return table
