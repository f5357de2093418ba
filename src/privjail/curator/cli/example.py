"""The command ``privjail example``: made-up rows that analysts may have."""

from __future__ import annotations

from typing import Annotated

import typer

from privjail.curator.cli.jail import HERE, DatasetName, Where, _folder
from privjail.curator.cli.show import exact, quiet, told
from privjail.curator.given import numbers
from privjail.errors import DPError
from privjail.terminal import Json


@quiet
def example(
    dataset: DatasetName,
    budget: Annotated[
        str | None, typer.Option(help="buy a synthetic table for this much of the data set's budget, e.g. 0.5")
    ] = None,
    rows: Annotated[int, typer.Option(help="how many rows")] = 1_000,
    off: Annotated[bool, typer.Option("--off", help="no made-up rows from now on")] = False,
    reason: Annotated[str | None, typer.Option(help="why a table is bought; logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Let analysts have made-up rows to write programs on: from the schema alone, or a synthetic table that you buy.

    Rows from the schema hold nothing of the data, and cost nothing. Analysts get them with pj.made_up(NAME).
    """
    from privjail.curator import examples

    folder = _folder(jail)
    origin: str | None = None
    price: dict[str, str] | None = None
    if off and budget is not None:
        raise DPError("--off and --budget exclude each other")
    if off:
        examples.forbid(folder, dataset)
        words, rows = f"{dataset}: no made-up rows", 0
    elif budget is None:
        examples.allow_schema(folder, dataset, rows)
        origin, words = "schema", f"{dataset}: {rows} rows from the schema alone"
    else:
        examples.buy(folder, dataset, numbers(budget), rows, reason)
        origin, words = "synthetic", f"{dataset}: a synthetic table of {rows} rows for {budget}"
        price = exact(folder.state.datasets[dataset].notion, folder.state.examples[dataset].price)
    facts = {"dataset": dataset, "origin": origin, "rows": rows, "price": price}
    told(as_json, {None: "forbidden", "schema": "allowed", "synthetic": "bought"}[origin], words, facts)


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(example)
