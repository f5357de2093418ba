"""What the command lines share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from privjail.errors import DPError
from privjail.faults import explained


def plain(text: str) -> str:
    """What a server wrote, without characters that a terminal obeys."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


@contextmanager
def errors_as_messages(notes: Console) -> Iterator[None]:
    """What is wrong and what to do, without a traceback that might show a value."""
    try:
        yield
    except (typer.Exit, typer.Abort):  # which are RuntimeErrors
        raise
    except Exception as error:
        wrong = error if isinstance(error, DPError) else explained(error)
        if wrong is None:
            raise
        notes.print("[bold red]privjail: error[/]", end=": ")
        notes.print(plain(str(wrong)), markup=False, highlight=False)
        raise typer.Exit(2) from None
