"""How commands print results, warnings and errors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privjail.budget.notions import Cost, Notion, name_of
from privjail.errors import DPError
from privjail.faults import explained
from privjail.terminal import CONTROLS, dumps

out = Console()
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for a formula


def plain(text: Any) -> str:
    """A text with all controls spelled out, as \\x1b."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def cell(value: Any) -> str:
    """A text for a spreadsheet: no controls, and nothing that it would compute."""
    text = "" if value is None else str(value)
    safe = isinstance(value, (int, float)) or not text.startswith(FORMULA)
    return plain(text if safe else "'" + text)


def complain(error: DPError) -> None:
    """The one form in which all commands say what is wrong."""
    print(f"privjail: error: {plain_lines(str(error))}", file=sys.stderr)


def plain_lines(text: str) -> str:
    return "\n".join(plain(line) for line in text.split("\n"))


def quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors as one message, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except DPError as e:
            complain(e)
        except (typer.Exit, typer.Abort):  # which are RuntimeErrors
            raise
        except Exception as e:
            wrong = explained(e)
            if wrong is None:
                raise
            complain(wrong)
        raise typer.Exit(1) from None

    return run


def done(what: str, rest: str) -> None:
    out.print(f"[green]{what}[/green] {escape(plain_lines(rest))}", soft_wrap=True)


def told(as_json: bool, what: str, words: str, facts: dict[str, Any], warnings: Iterable[str] = ()) -> None:
    """What a command did: in words, or as one JSON object with the same keys every time (``done``, ``notes``)."""
    if as_json:
        print(dumps({"done": what, **facts, "notes": list(warnings)}), flush=True)
        return
    notes(list(warnings))
    done(what, words)


def notes(warnings: list[str]) -> None:
    for warning in warnings:
        out.print(f"[yellow]note[/yellow]: {escape(plain(warning))}", soft_wrap=True)


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
        keys = [column.replace("data set", "dataset").replace(" ", "_") for column in columns]
        print(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*("—" if each is None else escape(plain(each)) for each in row))
    out.print(table)


def spelled(notion: Notion, cost: Cost | None) -> str | None:
    return None if cost is None else notion.spelled(cost)


NAMES = {"pure": ("epsilon",), "approx": ("epsilon", "delta"), "zcdp": ("rho",), "renyi": ("divergence",)}


def exact(notion: Notion, cost: Cost | None) -> dict[str, str] | None:
    """An amount for other programs: exact numbers as texts, "1/3" or "0.5" never rounded."""
    return None if cost is None else dict(zip(NAMES[name_of(notion)], map(str, cost), strict=True))


def listed(names: Iterable[str], as_json: bool) -> Any:
    return list(names) if as_json else ", ".join(names)


def bar(share: float | None) -> str:
    """How much of a limit is spent, drawn."""
    if share is None:
        return ""
    filled = round(20 * min(1.0, share))
    return "█" * filled + "░" * (20 - filled) + f" {share:.0%}"
