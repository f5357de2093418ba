"""For notebooks and terminals: progress of long releases, and errors without our own frames."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from privjail.errors import DPError

T = TypeVar("T")
LONG = 8  # releases one after the other, from which on progress is worth a line
DELAY = 1.0  # seconds before it is shown
_OURS = os.path.dirname(__file__) + os.sep


def progress(items: Iterable[T], total: int, what: str, least: int = LONG) -> Iterator[T]:
    """The items, with a progress bar if tqdm is installed and somebody looks. How many there are is public."""
    if total < least or not (sys.stderr.isatty() or _in_notebook()) or importlib.util.find_spec("tqdm") is None:
        yield from items
        return
    from tqdm.auto import tqdm

    yield from tqdm(items, total=total, desc=what, delay=DELAY, leave=False)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def short_tracebacks(on: bool = True) -> None:
    """Show errors of PrivJail without the frames inside of it: your line, and what to do.

    In scripts, terminals and notebooks; other errors are shown as before. ``on=False`` undoes it.

    >>> pj.short_tracebacks(); pj.short_tracebacks(on=False)
    """
    sys.excepthook = _hook if on else sys.__excepthook__
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return
    if on:
        shell.set_custom_exc((DPError,), _shown_by_ipython)
    else:
        shell.set_custom_exc((), None)


def trimmed(error: BaseException) -> list[str]:
    """The lines of a traceback without our frames."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OURS)]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return [*lines, *traceback.format_exception_only(type(error), error)]


def _hook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    if isinstance(error, DPError):
        sys.stderr.write("".join(trimmed(error)))
    else:
        sys.__excepthook__(kind, error, where)


def _shown_by_ipython(shell: Any, kind: Any, error: BaseException, where: Any, tb_offset: Any = None) -> list[str]:
    lines = [line.rstrip("\n") for line in trimmed(error) if "IPython" not in line]
    shell._showtraceback(kind, error, lines)
    return lines


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext privjail.notebook``: short tracebacks in this notebook."""
    short_tracebacks()
