"""The command ``privjail dataset update``: new rows under the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privjail.curator.cli.jail import HERE, DatasetName, Overlap, Where, _folder
from privjail.curator.cli.show import out, quiet, told
from privjail.curator.given import table_query
from privjail.errors import DPError
from privjail.terminal import Json


@quiet
def update(
    name: DatasetName,
    file: Annotated[str, typer.Argument(help="the new rows: a file, a folder of Parquet files, or a database")],
    also: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE: another table of the population, updated in the same moment")
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="a new schema; default: the one that it has")] = None,
    kind: Annotated[str | None, typer.Option(help="csv, parquet, folder, sqlite, duckdb or postgres")] = None,
    table: Annotated[str | None, typer.Option(help="a table of the database")] = None,
    query: Annotated[str | None, typer.Option(help="a query of the database, with ORDER BY")] = None,
    reason: Annotated[str | None, typer.Option(help="why; it is logged")] = None,
    overlap_reason: Overlap = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Bring new or corrected rows of a data set: FILE holds all rows that there are from now on.

    What was spent stays spent: the same people pay for the new rows, too. Users, grants and programs go on. Do not
    overwrite the old file while the jail is served: give the new rows a file of their own.
    """
    from privjail.curator.updates import Given, update

    given = [Given(name, file, schema, kind, table_query(table, query))]
    for each in also or []:
        other, equals, place = each.partition("=")
        if not (other and equals and place):
            raise DPError(f"{each!r} names no table and file", do="write --also NAME=FILE")
        given.append(Given(other, place))
    with out.status("reading …") as status:
        done = update(
            _folder(jail), given, reason, overlap_reason,
            lambda rows: status.update(f"{rows:,} rows checked and written"),
        )  # fmt: skip
    words = ", ".join(f"{each}: epoch {epoch}" for each, epoch in done.epochs.items())
    told(as_json, "updated", f"{words}; what was spent stays spent", {"epochs": done.epochs}, done.notes)


def register(app: typer.Typer) -> None:
    """Mount this command beside the others about data sets."""
    app.command("update")(update)
