"""Plans as SQL: all counts, sums and ranks that several values need, in as few statements as possible.

The statement is made from public facts, before anything is charged; a database runs it and gives (question, place,
number): exact whole numbers. Tables that were counted before are kept, and groups of one partition are read off one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from privjail.engines.coins import Coins
from privjail.engines.engine import Answer, Cache, Engine, Sides
from privjail.engines.held import Held
from privjail.engines.polars.columns import enclosing_tables
from privjail.engines.sql.compiler import Compiler
from privjail.engines.sql.questions import Question, counted, keys_of, rows_of, statements
from privjail.engines.sql.store import Store
from privjail.ops.numbers.key_counts import KeyCounts, Keyed
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.node import inputs_first
from privjail.plan.rows import Rows
from privjail.plan.value import Value, inputs_of

AT_ONCE = 64  # tables in one statement
ELEMENTS = 1 << 22  # of tables in one statement
NUMBER_BYTES = 36  # of one whole number that is kept in a list


class SqlEngine(Engine):
    """Asks a database that holds the data sets; keeps the tables that it gave."""

    def __init__(self, store: Store, cache_bytes: int, coins: Coins | None = None) -> None:
        self.store = store
        self.coins = coins or Coins()
        self._cache = Cache(cache_bytes)

    @property
    def cache(self) -> Cache:
        return self._cache

    def hold(self, source: Source, data: Held) -> None:
        if source in self.store.stored:  # opened again: nothing that was counted before may be mixed in
            self._cache = Cache(self._cache.limit)
        self.coins.renew(source)
        self.store.hold(source, data)

    def check(self, values: Iterable[Value]) -> None:
        values = list(values)
        for each in values:
            if isinstance(each, KeyCounts):
                keys_of(self._compiler(), each)
        for _ in self._statements(list(dict.fromkeys(_asked(values)))):
            pass

    def evaluate_all(self, values: Iterable[Value]) -> list[Answer]:
        wanted = list(values)
        # Not read from what is kept: a table may have been dropped there already for another one of this release.
        asked = self._ask(_asked(wanted))
        known: dict[Value, Answer] = {question: _answer(question, numbers) for question, numbers in asked.items()}
        return [self.evaluate_from(value, known) for value in wanted]

    def tally(self, tally: Tally) -> Answer:
        return _answer(tally, self._ask([tally])[tally])

    def rank(self, scores: QuantileScores) -> Sides:
        return _sides(self._ask([scores])[scores], len(scores.candidates) + 1)

    def keys(self, counts: KeyCounts) -> Keyed:
        found = self.store.run(keys_of(self._compiler(), counts))
        return [(key, int(number)) for key, number in found]

    def table(self, rows: Rows, columns: Mapping[str, Expr]) -> dict[str, list[Any]]:
        found = self.store.run(rows_of(self._compiler(), rows, list(columns.values())))
        return {name: [row[i] for row in found] for i, name in enumerate(columns)}

    # -- questions

    def _known(self, question: Question) -> list[int] | None:
        if isinstance(question, QuantileScores):
            kept: list[int] | None = self._cache.get((question, "sides"))
            return kept
        if isinstance(question.rows, Source) and not question.keys and question.value is None:
            return [self.store.stored[question.rows].rows]  # as many as were stored
        for (rows, keys, value), place in enclosing_tables(question.fields()):
            found = self._cache.get((rows, keys, value, "tally"))
            if found is not None:
                return _part(found, question.size, place, keys)
        return None

    def _ask(self, questions: Iterable[Question]) -> dict[Question, list[int]]:
        """The answers to all questions; those that are not kept are put to the database."""
        kept = {each: self._known(each) for each in questions}
        answers = {each: numbers for each, numbers in kept.items() if numbers is not None}
        missing = [each for each in kept if each not in answers]
        for statement, asked in self._statements(_widened(missing)):
            for question, numbers in zip(asked, counted(self.store.run(statement), asked), strict=True):
                answers[question] = numbers
                key = (*question.fields(), "tally") if isinstance(question, Tally) else (question, "sides")
                self._cache.put(key, numbers, NUMBER_BYTES * len(numbers))
        for question in missing:
            if question not in answers:
                answers[question] = _read_off(question, answers)
        return answers

    def _statements(self, questions: list[Question]) -> Iterator[tuple[str, list[Question]]]:
        for some in _small_enough(questions):
            yield from statements(self._compiler, some)

    def _compiler(self) -> Compiler:
        dialect = self.store.dialect()
        dialect.drawn = partial(self.coins.term, dialect)
        return Compiler(dialect, self.store.stored)


def _asked(values: Iterable[Value]) -> list[Question]:
    nodes = inputs_first(list(values), inputs_of)
    return [node for node in nodes if isinstance(node, (Tally, QuantileScores))]


def _widened(questions: list[Question]) -> list[Question]:
    """One table for all groups of a partition, where it is small enough to share."""
    wider = [Tally(*enclosing_tables(q.fields())[-1][0]) if isinstance(q, Tally) else q for q in questions]
    return list(dict.fromkeys(wider))


def _read_off(question: Question, answers: Mapping[Question, list[int]]) -> list[int]:
    assert isinstance(question, Tally)
    fields, place = enclosing_tables(question.fields())[-1]
    return _part(answers[Tally(*fields)], question.size, place, fields[1])


def _part(numbers: list[int], size: int, place: tuple[int, ...], keys: tuple[Expr, ...]) -> list[int]:
    """The elements of a flat table whose first axes have the given positions."""
    start = 0
    for position, key in zip(place, keys, strict=False):
        start = start * len(key.domain.labels or ()) + position
    return numbers[start * size : (start + 1) * size]


def _answer(question: Question, numbers: list[int]) -> Answer:
    if isinstance(question, QuantileScores):
        return question.scores(*_sides(numbers, len(question.candidates) + 1))
    return numbers if question.keys else numbers[0]


def _sides(pairs: list[int], size: int) -> Sides:
    at_or_below, below = [0] * size, [0] * size  # values, by how many candidates lie (at or) below them
    for place, number in enumerate(pairs):
        passed, equal = divmod(place, 2)
        at_or_below[passed] += number
        below[passed - equal] += number
    total = sum(pairs)
    return Sides(_running(at_or_below)[:-1], [total - n for n in _running(below)[:-1]], total)


def _small_enough(questions: list[Question]) -> Iterator[list[Question]]:
    some: list[Question] = []
    elements = 0
    for question in questions:
        if some and (len(some) >= AT_ONCE or elements + question.size > ELEMENTS):
            yield some
            some, elements = [], 0
        some.append(question)
        elements += question.size
    if some:
        yield some


def _running(numbers: list[int]) -> list[int]:
    total, found = 0, []
    for number in numbers:
        total += number
        found.append(total)
    return found
