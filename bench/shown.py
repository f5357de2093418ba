"""What the benchmarks' own command lines share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table


def main(doc: str | None, quick: str, rows: Callable[[bool], list[Any]]) -> None:
    """Measure, shorter if that is asked for, and print a table: work, rival, target, measured."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    table = Table("work", "rival", "target", "measured")
    for row in rows(parser.parse_args().quick):
        table.add_row(*row)
    Console(width=170).print(table)
