"""What a program asked, what it cost and what came out: kept where the analyst is."""

from __future__ import annotations

import datetime
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privjail.release import Query

if TYPE_CHECKING:
    import pandas

KEPT = 10_000  # records; older ones are dropped
SHOWN = 100  # numbers of one answer that a record keeps
_OURS = os.path.dirname(__file__) + os.sep


@dataclass
class Record:
    """One release. It keeps words and numbers, not the plan: a session's plans would fill the memory."""

    at: datetime.datetime
    file: str
    line: int
    asked: str
    data: tuple[str, ...]
    asks: int
    mechanism: Any  # of the first ask: a small record of public parameters
    price: dict[str, float]
    answer: Any = None  # one, or the first hundred; those that know their error are asked for it when it is shown

    @property
    def place(self) -> str:
        name = "cell" if "ipykernel" in self.file else os.path.basename(self.file)
        return f"{name}:{self.line}"


kept: deque[Record] = deque(maxlen=KEPT)
_current: list[Any] = [kept]  # the last one is written to: a rehearsal puts its own on top
_unnoted: ContextVar[bool] = ContextVar("unnoted", default=False)


@contextmanager
def unnoted() -> Iterator[None]:
    """While something is drafted, or asked for somebody else, nothing is noted."""
    token = _unnoted.set(True)
    try:
        yield
    finally:
        _unnoted.reset(token)


def record(asks: Sequence[Query], answers: Sequence[Any]) -> None:
    """Note a release that was answered."""
    if _unnoted.get():
        return
    file, line = asking_line()
    roots = dict.fromkeys([cell.root for ask in asks for cell in ask.value.cells])
    price: dict[str, float] = {}
    for ask in asks:
        for name, x in ask.mechanism.parameters().items():
            if name in ("epsilon", "delta", "rho") and x is not None:
                price[name] = price.get(name, 0.0) + float(x)
    first = asks[0]
    answer = answers[0] if len(asks) == 1 else None
    noted = Record(
        datetime.datetime.now(), file, line, str(first.value), tuple(map(str, roots)), len(asks),
        first.mechanism, price, _kept(answer),
    )  # fmt: skip
    _current[-1].append(noted)


def answered(asked: str, answers: Any) -> None:
    """What the analyst gets from the last release, an answer or several; and in what words she asked, if in others."""
    if _current[-1] and not _unnoted.get():
        last = _current[-1][-1]
        last.asked = asked or last.asked
        last.answer = answers if isinstance(answers, float) else list(answers)[:SHOWN]


def _kept(answer: Any) -> Any:
    return answer[:SHOWN] if isinstance(answer, list) else answer


def asking_line() -> tuple[str, int]:
    """The line of the analyst's program that asked: the innermost one outside of this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back  # type: ignore[assignment]
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def table(given: Iterable[Record]) -> pandas.DataFrame:
    """Records as a pandas table."""
    import pandas

    rows = [_row(each) for each in given]
    names = ["time", "line", "asked", "data", "mechanism", "eps", "delta", "rho", "answer", "error"]
    found = pandas.DataFrame(rows, columns=names)
    unused = [name for name in ("delta", "rho") if found[name].isna().all()]
    return found.drop(columns=unused)


def _row(each: Record) -> list[Any]:
    price = [each.price.get(name) for name in ("epsilon", "delta", "rho")]
    answers = each.answer if isinstance(each.answer, list) else [each.answer]
    answer, errors = _shown(answers), _shown([x.error() if hasattr(x, "error") else None for x in answers])
    mechanism = each.mechanism.kind if each.asks == 1 else f"{each.asks} parts"
    return [each.at, each.place, each.asked, ", ".join(each.data), mechanism, *price, answer, errors]


def _shown(given: list[Any]) -> Any:
    """One number as it is, several in a list of rounded ones."""
    found = [float(x) if isinstance(x, float) else x for x in given]
    return found[0] if len(found) == 1 else [float(f"{x:.6g}") if isinstance(x, float) else x for x in found]


def history() -> pandas.DataFrame:
    """A pandas table of this program's releases: when, which line, what was asked, its price, answer and error.

    The answer is what came out; its error is at most that, with 95 % probability. Rehearsals are not in it.

    >>> asked = pj.history()
    """
    return table(kept)
