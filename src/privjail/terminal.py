"""What the command lines share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console

from privjail.errors import DPError
from privjail.faults import explained

Json = Annotated[bool, typer.Option("--json", help="print JSON for other programs")]
#: Controls of a terminal, and marks that turn the direction of writing: somebody else's text must not work the screen.
#: And bytes that are no UTF-8, as Python reads them from arguments and names of files: no output can hold them.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def dumps(value: Any) -> str:
    """JSON in one line; controls are escaped, other letters are as they are."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_done(what: str, **facts: Any) -> None:
    """What a command did, for other programs: one object with the same keys every time."""
    print(dumps({"done": what, **facts}), flush=True)


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
