"""How commands print results, warnings and errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privjail.budget.notions import Cost, Notion
from privjail.errors import DPError
from privjail.faults import explained

out = Console()


def quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors as one message, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except DPError as e:
            print(f"{type(e).__name__}: {e}", file=sys.stderr)
        except (typer.Exit, typer.Abort):  # which are RuntimeErrors
            raise
        except Exception as e:
            wrong = explained(e)
            if wrong is None:
                raise
            print(f"privjail: {wrong}", file=sys.stderr)
        raise typer.Exit(1) from None

    return run


def done(what: str, rest: str) -> None:
    out.print(f"[green]{what}[/green] {escape(rest)}", soft_wrap=True)


def notes(warnings: list[str]) -> None:
    for warning in warnings:
        out.print(f"[yellow]note[/yellow]: {escape(warning)}", soft_wrap=True)


@contextmanager
def progress(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on the terminal's error stream, for as long as the block runs; called with (done, all)."""
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as bars:
        task = bars.add_task(what, total=None)
        yield lambda finished, all_: bars.update(task, completed=finished, total=all_)


def show(title: str, columns: list[str], rows: list[list[Any]], as_json: bool) -> None:
    """Print rows as a table, or as JSON."""
    if as_json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False, default=str))
        return
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*("—" if cell is None else escape(str(cell)) for cell in row))
    out.print(table)


def spelled(notion: Notion, cost: Cost | None) -> str | None:
    return None if cost is None else notion.spelled(cost)


def bar(share: float | None) -> str:
    """How much of a limit is spent, drawn."""
    if share is None:
        return ""
    filled = round(20 * min(1.0, share))
    return "█" * filled + "░" * (20 - filled) + f" {share:.0%}"
