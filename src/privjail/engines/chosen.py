"""Several engines in one jail: each data set is held by one of them, which answers whatever is asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from privjail.engines.engine import Answer, Engine, Memory, Sides
from privjail.engines.held import Held
from privjail.errors import EngineGap
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.node import Node, children, inputs_first
from privjail.plan.rows import Rows
from privjail.plan.value import Value, inputs_of


class ChosenEngine(Engine):
    """Passes each question to the engine that holds its data set. A session has one, with engines of its own."""

    def __init__(
        self, cache_bytes: int, make: Mapping[str, Callable[[int], Engine]], held_by: Mapping[Source, str]
    ) -> None:
        self._make, self._held_by = make, held_by
        self._engines: dict[str, Engine] = {"polars": make["polars"](cache_bytes)}
        self._memory = _Together(self._engines, cache_bytes)

    @property
    def cache(self) -> Memory:
        return self._memory

    def hold(self, source: Source, data: Held) -> None:
        self._of(source).hold(source, data)

    def tally(self, tally: Tally) -> Answer:
        return self._of(tally.rows.source).tally(tally)

    def rank(self, scores: QuantileScores) -> Sides:
        return self._of(scores.rows.source).rank(scores)

    def keys(self, counts: KeyCounts) -> Keyed:
        return self._of(counts.rows.source).keys(counts)

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        return self._of(rows.source).table(rows, columns)

    def check(self, values: Iterable[Value]) -> None:
        for name, asked in self._questions(list(values)).items():
            self._engine(name).check(asked)

    def evaluate_all(self, values: Iterable[Value]) -> list[Answer]:
        wanted = list(values)
        used = self._questions(wanted)
        if len(used) <= 1:
            return self._engine(next(iter(used), "polars")).evaluate_all(wanted)
        known: dict[Value, Answer] = {}
        for name, asked in used.items():
            known |= zip(asked, self._engine(name).evaluate_all(asked), strict=True)
        return [self.evaluate_from(value, known) for value in wanted]

    def _questions(self, values: list[Value]) -> dict[str, list[Value]]:
        """What is asked about rows, by the engine that is asked."""
        if all(name == "polars" for name in list(self._held_by.values())):
            return {"polars": values}
        found: dict[str, list[Value]] = {}
        for node in inputs_first(values, inputs_of):
            if isinstance(node, (Tally, QuantileScores, KeyCounts)):
                below: list[Node] = [node]
                names = {self._name(each) for each in inputs_first(below, children) if isinstance(each, Source)}
                if len(names) > 1:
                    raise EngineGap("tables that different engines hold are not joined", do="ask the curator")
                found.setdefault(names.pop(), []).append(node)
        return found

    def _name(self, source: Rows) -> str:
        assert isinstance(source, Source)
        return self._held_by.get(source, "polars")

    def _of(self, source: Rows) -> Engine:
        return self._engine(self._name(source))

    def _engine(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = self._make[name](self._memory.limit)
            self._memory.limit = self._memory.limit  # shared anew
        return self._engines[name]


class _Together:
    """What several engines keep; each may keep its share of the limit."""

    def __init__(self, engines: Mapping[str, Engine], limit: int) -> None:
        self._engines, self._limit = engines, limit

    @property
    def limit(self) -> int:
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit = limit
        for engine in self._engines.values():
            engine.cache.limit = limit // len(self._engines)

    @property
    def used(self) -> int:
        return sum(engine.cache.used for engine in self._engines.values())
