"""The reference engine: plans in plain Python, one value of one row at a time. Slow, and easy to judge.

It is what the numbers of every other engine are compared with. A row of a base is its number in that base; rows are a
list of such numbers; a column is the list of its held values in all rows of its base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privjail.engines.coins import Coins
from privjail.engines.engine import Answer, Cache, Engine, Sides
from privjail.engines.held import Held, check_held, columns_of
from privjail.ops.columns.carried import Carried
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.source import Column, Source
from privjail.ops.rows.window import Lag, Window
from privjail.plan.expr import Expr, column_steps
from privjail.plan.rows import Rows


class ReferenceEngine(Engine):
    """Holds data sets as Python lists, and keeps nothing between questions."""

    def __init__(self, cache_bytes: int = 0) -> None:
        self._held: dict[Source, dict[str, list[Any]]] = {}
        self._nothing = Cache(cache_bytes)
        self.coins = Coins()

    @property
    def cache(self) -> Cache:
        return self._nothing

    def hold(self, source: Source, data: Held) -> None:
        check_held(source.dataset, data)
        self.coins.renew(source)
        self._held[source] = columns_of(data)

    def tally(self, tally: Tally) -> Answer:
        rows = self._rows(tally.rows)
        keys = [self._taken(key, tally.rows, rows) for key in tally.keys]
        values = rows if tally.value is None else self._taken(tally.value, tally.rows, rows)
        numbers = tally.python(keys, values)
        return numbers if tally.keys else numbers[0]

    def rank(self, scores: QuantileScores) -> Sides:
        return Sides(*scores.python(self._taken(scores.a, scores.rows, self._rows(scores.rows))))

    def keys(self, counts: KeyCounts) -> Keyed:
        rows = self._rows(counts.rows)
        persons = rows if counts.person is None else self._taken(counts.person, counts.rows, rows)
        return counts.python(self._taken(counts.key, counts.rows, rows), persons)

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        kept = self._rows(rows)
        return {name: self._taken(each, rows, kept) for name, each in columns.items()}

    # -- rows

    def _rows(self, rows: Rows) -> list[int]:
        """The numbers of the rows in their base, in their order."""
        steps = []
        while not rows.starts_base:
            steps.append(rows)
            assert rows.parent is not None
            rows = rows.parent
        kept = list(range(self._size(rows)))
        for step in reversed(steps):
            kept = self._step(step, kept)
        return kept

    def _step(self, step: Rows, before: list[int]) -> list[int]:
        """The rows that one step keeps of those before it."""
        assert step.parent is not None
        if isinstance(step, Sample):
            return step.python(before, [self.coins.number(step, i) for i in range(self._size(step.base))])
        return step.python(before, *(self._taken(each, step.parent, before) for each in step.inputs))

    def _size(self, base: Rows) -> int:
        if isinstance(base, Source):
            columns = list(self._held[base].values())
            return len(columns[0]) if columns else 0
        if isinstance(base, PerPerson):
            return len(self._persons(base))
        if isinstance(base, Append):
            return len(base.python(self._rows(base.rows), self._rows(base.other)))
        return len(self._origins(base))

    def _origins(self, base: Rows) -> list[int]:
        """For each row of a base that is no data set, its number in the base before."""
        assert base.parent is not None
        before = self._rows(base.parent)
        if isinstance(base, Pairs):
            return [before[i] for i, _ in self._pairs(base)]
        return before if isinstance(base, Window) else self._step(base, before)

    def _pairs(self, base: Pairs) -> list[tuple[int, int | None]]:
        """For each row of a join, the numbers of the two rows that it is made of, in the rows that were joined."""
        sides = ((base.rows, base.keys), (base.other, base.other_keys))
        keys = [[self._taken(key, rows, self._rows(rows)) for key in keys] for rows, keys in sides]
        return base.python(*(list(zip(*columns, strict=True)) for columns in keys))

    def _persons(self, base: PerPerson) -> list[list[int]]:
        """For each person the numbers of her rows in the base before, in their order."""
        before = self._rows(base.rows)
        numbers = self._step(base, before)
        found: list[list[int]] = [[] for _ in range(max(numbers, default=-1) + 1)]
        for row, person in zip(before, numbers, strict=True):
            found[person].append(row)
        return found

    # -- columns

    def _taken(self, expression: Expr, rows: Rows, kept: list[int]) -> list[Any]:
        """The values of an expression in some rows of a base."""
        column = self._column(expression, self._size(rows.base))
        return [column[i] for i in kept]

    def _column(self, expression: Expr, size: int) -> list[Any]:
        """The values of an expression in all rows of its base."""
        done: dict[Expr, list[Any]] = {}
        for node in column_steps(expression):
            match node:
                case Column():
                    done[node] = self._held[node.source][node.column]
                case Carried():
                    inner = self._column(node.inner, self._size(node.inner.base or node.into))
                    done[node] = [node.python(inner[i]) for i in self._origins(node.into)]
                case Lag():
                    inner = self._column(node.inner, self._size(node.inner.base or node.window))
                    seen = [inner[i] for i in self._origins(node.window)]
                    done[node] = [node.python(seen, i) for i in range(size)]
                case Aggregate():
                    done[node] = self._aggregated(node)
                case Paired():
                    other = node.pairs.other
                    column = self._taken(node.inner, other, self._rows(other))
                    done[node] = [node.python(column, j) for _, j in self._pairs(node.pairs)]
                case Appended():
                    parts = [self._part(node, *part) for part in node.parts]
                    done[node] = node.append.python(*parts)
                case Lookup():
                    done[node] = self._looked_up(node, size)
                case _:
                    columns = [done[each] for each in node.inputs]
                    rows = zip(*columns, strict=True) if columns else [()] * size
                    done[node] = [_value(node, row) for row in rows]
        return done[expression]

    def _aggregated(self, node: Aggregate) -> list[Any]:
        persons = self._persons(node.persons)
        if node.inner is None:
            return [node.python(rows) for rows in persons]
        column = self._column(node.inner, self._size(node.persons.rows.base))
        return [node.python([column[i] for i in rows]) for rows in persons]

    def _part(self, node: Appended, part: Expr | None, rows: Rows) -> list[Any]:
        kept = self._rows(rows)
        return [None] * len(kept) if part is None else [node.python(x, part) for x in self._taken(part, rows, kept)]

    def _looked_up(self, node: Lookup, size: int) -> list[Any]:
        rows = self._rows(node.other)
        theirs = zip(*(self._taken(key, node.other, rows) for key in node.other_keys), strict=True)
        known: dict[tuple[Any, ...], int] = {}
        for row, keys in zip(rows, theirs, strict=True):
            if None not in keys:
                known.setdefault(keys, row)
        column = self._column(node.inner, self._size(node.other.base))
        mine = zip(*(self._column(key, size) for key in node.keys), strict=True)
        return [node.python(keys, known, column) for keys in mine]


def _value(node: Expr, inputs: tuple[Any, ...]) -> Any:
    return None if None in inputs and not node.sees_nulls else node.python(*inputs)
