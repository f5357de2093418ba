"""Statistics of several releases are one request: all of it is checked, priced and charged, or nothing is.

A statistic such as ``agg`` is an ordinary function that calls others, each of which releases something. ``at_once``
runs it twice. The first run is a draft: what it asks for is checked and noted, and made-up numbers of the right shape
are answered, so every mistake shows before anything is paid. Then all that was noted is released in one request, which
the jail charges as a whole or refuses as a whole. The second run gets those answers.

This needs a function that asks for the same things whatever the answers are. One whose later questions depend on
earlier answers (a decision tree) checks its whole price first: see ``session.reserve``.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from privjail import records, session
from privjail.errors import InternalError
from privjail.release import Query

P = ParamSpec("P")
T = TypeVar("T")
#: What fits into one request: half of what a jail allows, or all of it (see server/limits.py).
MOST_ASKS, MOST_ELEMENTS, MOST_STEPS = 1_000, 500_000, 50_000


def at_once(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function whose releases are charged together or not at all."""
    if session.instead.get() is not None:
        return work(*args, **kwargs)  # a part of another one
    draft = Draft()
    with records.unnoted(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second run warns
        _run(draft.note, work, *args, **kwargs)
    return _run(_Replay(draft.requests, _released(draft.requests)), work, *args, **kwargs)


def several(f: Callable[P, T]) -> Callable[P, T]:
    """The same function, with releases that are charged together or not at all."""

    @functools.wraps(f)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        return at_once(f, *args, **kwargs)

    return called


def _run(instead: Callable[[list[Query]], list[Any]], work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    token = session.instead.set(instead)
    try:
        return work(*args, **kwargs)
    finally:
        session.instead.reset(token)


class Draft:
    """What a function asks for, request by request."""

    def __init__(self) -> None:
        self.requests: list[list[Query]] = []

    def note(self, asks: list[Query]) -> list[Any]:
        """Check a request, note it, and answer with made-up numbers."""
        for ask in asks:
            ask.mechanism.check(ask.value)
        self.requests.append(asks)
        return [_made_up(ask, (i + 1) / (len(asks) + 1)) for i, ask in enumerate(asks)]


def _made_up(ask: Query, share: float) -> Any:
    """An answer of the right shape: numbers that rise, or a position at this share of them."""
    size = ask.value.joint.size
    if ask.mechanism.adds_noise:
        return [float(i + 1) for i in range(size)] if ask.value.index else 1.0
    k = ask.mechanism.parameters().get("k", 1)
    return int(share * size) if k == 1 else list(range(k))


def _released(requests: list[list[Query]]) -> list[list[Any]]:
    """The answers to several requests, which are sent as one.

    More than fit into one request of a jail are sent one by one, after their common price was checked.
    """
    together = [ask for asks in requests for ask in asks]
    if not together:
        return []
    if not _is_one_request(together):
        session.reserve(together)
        return [session.answered(asks) for asks in requests]
    answers = iter(session.answered(together))
    return [[next(answers) for _ in asks] for asks in requests]


def _is_one_request(asks: list[Query]) -> bool:
    elements = sum(ask.value.joint.size for ask in asks)
    steps = sum(cell.depth + 1 for ask in asks for cell in ask.value.cells)
    return len(asks) <= MOST_ASKS and elements <= MOST_ELEMENTS and steps <= MOST_STEPS


class _Replay:
    """Answers each request as it was answered before, and enters it in the history."""

    def __init__(self, requests: list[list[Query]], answers: list[list[Any]]) -> None:
        self._rest = list(zip(requests, answers, strict=True))[::-1]

    def __call__(self, asks: list[Query]) -> list[Any]:
        drafted, answers = self._rest.pop() if self._rest else ([], [])
        if [(id(a.value), a.mechanism) for a in asks] != [(id(a.value), a.mechanism) for a in drafted]:
            raise InternalError("a statistic asked for something else than in its draft; what it cost stays charged")
        records.record(asks, answers)
        return answers
