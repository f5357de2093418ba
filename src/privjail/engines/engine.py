"""What an engine is: it holds the rows of data sets, and gives exact whole numbers about them.

An engine draws no noise, charges nothing and decides nothing. Its numbers are equal, bit for bit, to those of the
reference engine (reference.py), which is the definition. See docs/decisions/0010-engines.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from privjail.engines.held import Held
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.plan.value import Value, evaluation

OVERHEAD = 512  # bytes of an entry besides what it holds
Answer = int | list[int]  # in units of the value's grid: one number, or one for each element, flat


class Sides(NamedTuple):
    """For each candidate, how many values lie below it and above it; and how many values there are."""

    below: list[int]
    above: list[int]
    values: int


class Memory(Protocol):
    """What an engine keeps of what it computed, in bytes. A server sets the limit, and reads what is used."""

    limit: int

    @property
    def used(self) -> int: ...


class Cache:
    """What was computed before, up to a number of bytes; the least recently used goes first.

    Keys hold plan nodes, so a node stays alive while something computed for it is kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.used = limit, 0
        self._held: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()

    def put(self, key: tuple[Any, ...], value: Any, size: int | None = None) -> None:
        size = OVERHEAD + (value.nbytes if size is None else size)
        self.used += size - self._held.pop(key, (None, 0))[1]
        self._held[key] = (value, size)
        while self.used > self.limit and len(self._held) > 1:
            _, (_, freed) = self._held.popitem(last=False)
            self.used -= freed

    def get(self, key: tuple[Any, ...]) -> Any:
        """What is kept under a key, or None."""
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def clear(self) -> None:
        self._held.clear()
        self.used = 0

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._held

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        self._held.move_to_end(key)
        return self._held[key][0]


class Engine(Protocol):
    """Runs checked plans on data sets that it holds."""

    @property
    def cache(self) -> Memory:
        """What is kept between releases."""

    def hold(self, source: Source, data: Held) -> None:
        """Take in a data set's rows, in the held form (held.py); rows that were held under this source are replaced."""

    def tally(self, tally: Tally) -> Answer:
        """How many rows each group has, or the sum of their amounts on the grid."""

    def rank(self, scores: QuantileScores) -> Sides:
        """How many values of the column lie on either side of each candidate."""

    def keys(self, counts: KeyCounts) -> Keyed:
        """How many persons have each key that occurs, in any order."""

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        """The rows themselves, in their order, as held values: what distances speak of. For tests; never released."""

    def check(self, values: Iterable[Value]) -> None:
        """Refuse, before anything is charged, a plan with an operation that this engine lacks (EngineGap)."""
        return

    def evaluate_all(self, values: Iterable[Value]) -> list[Answer]:
        """Several values. An engine may look at all of them first, to compute together what they share."""
        return [self.evaluate(value) for value in values]

    def evaluate(self, value: Value) -> Answer:
        """Exact whole numbers in units of the value's grid. Only counts, sums and ranks look at rows."""
        return self.evaluate_from(value, {})

    def evaluate_from(self, value: Value, known: Mapping[Value, Answer]) -> Answer:
        """The same, where some values were computed already."""
        if value in known:
            return known[value]
        if not value.inputs:
            return self.step(value, [])
        done: dict[Value, Answer] = {}
        for node, used in evaluation(value):
            found = known.get(node)
            done[node] = self.step(node, list(map(done.__getitem__, node.inputs))) if found is None else found
            for each in used:
                del done[each]
        return done[value]

    def step(self, node: Value, inputs: list[Answer]) -> Answer:
        """One value, from the values that it is computed from."""
        match node:
            case Tally():
                return self.tally(node)
            case QuantileScores():
                return node.scores(*self.rank(node))
            case KeyCounts():
                return self.keys(node)  # type: ignore[return-value]  # never an input of another value
        found: Answer = node.compute(*inputs)
        return found
