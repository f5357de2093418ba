"""The command ``privjail ingest``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from privjail.curator.cli.jail import privacy_unit
from privjail.curator.cli.show import out, quiet, told
from privjail.terminal import Json


@quiet
def ingest(
    file: Annotated[str, typer.Argument(help="a CSV or Parquet file, a folder of Parquet files, or a database")],
    folder: Annotated[Path, typer.Argument(help="where to write; on storage that the cluster sees, if Spark reads it")],
    unit: Annotated[str, typer.Option(help="what is protected: 'row', or the column that identifies the person")],
    rows_per_unit: Annotated[
        int | None,
        typer.Option(help="rows that are kept of each person, if --unit is a column", min=1, max=2**31 - 1),
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON or TOML schema; it is enforced")] = None,
    kind: Annotated[str | None, typer.Option(help="csv, parquet, folder, sqlite, duckdb or postgres")] = None,
    query: Annotated[str | None, typer.Option(help="a query of the database, with ORDER BY")] = None,
    as_json: Json = False,
) -> None:
    """Write data in the form that every engine reads, in files; then add the folder with `privjail dataset add`.

    The table is never held in memory as a whole. If it is stopped, the same command goes on where it was.
    """
    from privjail.catalogue.ingest import ingest as write
    from privjail.catalogue.origins import origin_of
    from privjail.curator.given import schema_dict
    from privjail.ops.rows.source import Unit

    whose = Unit(*privacy_unit(unit, rows_per_unit))
    origin = origin_of(file, kind, query)
    with Console(stderr=True).status("writing …") as status:
        files = write(origin, schema_dict(schema), whose, folder, lambda rows: status.update(f"{rows:,} rows written"))
    facts = {"folder": str(folder), "files": len(files.parts), "digest": files.digest}
    told(as_json, "ingested", f"{folder}: {len(files.parts)} files; digest {files.digest}", facts)
    if as_json:
        return
    out.print(f"next: privjail dataset add NAME {folder} --budget … --unit {unit}", soft_wrap=True, markup=False)


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(ingest)
