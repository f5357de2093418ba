"""One SQL statement for several counts, sums, ranks or rows, made from public facts only.

Rows of a base are read from one relation. What an expression over the base computes becomes a term; terms that grow
long are computed in a stage of their own, as a column that later terms mention by name. A slice, a window or a
groupby.head closes its rows into a relation with the columns that are needed above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.table import By, Table
from privjail.engines.sql.term import Term, build, listed
from privjail.ops.columns.carried import Carried
from privjail.ops.rows.source import Source
from privjail.ops.rows.window import Lag
from privjail.plan.expr import Expr, column_steps
from privjail.plan.rows import Rows

LONG = 1_500  # characters of a term that is computed in a stage of its own
SIMPLE = 120  # characters of an input that may be repeated in a long term
POSITION = "position"


class Stored(NamedTuple):
    """Where a data set's rows are stored: a relation with the columns ``position`` and c0, c1, …; and how many."""

    relation: str
    rows: int


@dataclass
class Scope:
    """The relation that the rows of one base are read from, and the terms of expressions over it."""

    relation: str
    table: Table
    terms: dict[Expr, Term]
    leaves: dict[Expr, Term]
    stages: list[list[str]] = field(default_factory=list)


class Compiler:
    """Collects relations (WITH …) while the parts of one statement are compiled."""

    def __init__(self, sql: Dialect, stored: Mapping[Source, Stored]) -> None:
        self.sql, self._stored = sql, stored
        self._relations: list[str] = []
        self._open: Scope | None = None  # the one whose terms are being made
        sql.named = self._named
        self._names = 0

    def statement(self, body: str) -> str:
        return (f"WITH {', '.join(self._relations)} " if self._relations else "") + body

    def name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    # -- rows

    def scope(self, base: Rows, wanted: Sequence[Expr]) -> Scope:
        """The rows of a base, with terms for these expressions over it."""
        order: list[Expr] = list(dict.fromkeys(step for each in wanted for step in column_steps(each)))
        scope = self._source(base) if isinstance(base, Source) else self._base(base, order)
        self._open = scope
        for node in order:
            scope.terms[node] = self._term(scope, node)
        self._open = None
        for stage in scope.stages:
            staged = self.name("r")
            self._relations.append(f"{staged} AS (SELECT *, {', '.join(stage)} FROM {scope.relation})")
            scope.relation = staged
        return scope

    def selected(self, rows: Rows, scope: Scope) -> Table:
        """The rows that the steps above a base keep, in their order."""
        table = scope.table
        for step in steps_above_base(rows):
            table = step.sql(self.sql, table, *(scope.terms[each] for each in step.inputs))
        return table

    def _source(self, base: Source) -> Scope:
        stored = self._stored[base]
        order = (By(Term(POSITION)),)
        return Scope(stored.relation, Table(self.sql, order, positions=stored.rows), {}, {})

    def _base(self, base: Rows, order: Sequence[Expr]) -> Scope:
        """Rows that a slice, window or groupby.head makes, as a relation of the columns that are needed above."""
        assert base.parent is not None
        leaves = [node for node in order if isinstance(node, (Carried, Lag))]
        inner = [leaf.inner for leaf in leaves]
        below = self.scope(base.parent.base, [*inner, *inputs_of_steps(base.parent), *base.inputs])
        table = self.selected(base.parent, below)
        table = base.sql(self.sql, table, *(below.terms[each] for each in base.inputs))
        columns: dict[Expr, Term] = {}
        for leaf in leaves:
            columns[leaf] = leaf.sql(self.sql, table, below.terms[leaf.inner])
        return self._closed(below.relation, table, columns)

    def _closed(self, relation: str, table: Table, columns: Mapping[Expr, Term]) -> Scope:
        name = self.name("r")
        selected: list[Term] = []
        leaves: dict[Expr, Term] = {}
        for leaf, term in columns.items():
            column = self.name("e")
            selected.append(build(term, f" AS {column}"))
            leaves[leaf] = Term(column)
        order: list[By] = []
        for by in table.order:
            column = self.name("o")
            selected.append(build(by.term, f" AS {column}"))
            order.append(by._replace(term=Term(column)))
        ranks = [(self.name("k"), *rank) for rank in table.ranks]
        selected += [build(number, f" AS {column}") for column, number, _, _ in ranks]
        kept = table.kept()
        body = build("SELECT ", *listed(selected), f" FROM {relation}", *(() if kept is None else (" WHERE ", kept)))
        if table.taken is not None:
            body = build(body, " ", table.taken)
        self._relations.append(f"{name} AS ({body.text})")
        conditions = tuple(Term(f"({column} {op} {number:d})") for column, _, op, number in ranks)
        return Scope(name, Table(self.sql, tuple(order), conditions), {}, leaves)

    # -- columns

    def _term(self, scope: Scope, node: Expr) -> Term:
        if isinstance(node, (Carried, Lag)):
            return scope.leaves[node]
        inputs = [scope.terms[each] for each in node.inputs]
        term = self._line(node, inputs)
        if len(term.text) > LONG and any(len(each.text) > SIMPLE for each in inputs):
            for each, long in zip(node.inputs, inputs, strict=True):
                if len(long.text) > SIMPLE:
                    scope.terms[each] = self._staged(scope, long)
            term = self._line(node, [scope.terms[each] for each in node.inputs])
        return self._staged(scope, term) if len(term.text) > LONG else term

    def _line(self, node: Expr, inputs: list[Term]) -> Term:
        found: Term = node.sql(self.sql, *inputs)
        return found

    def _named(self, term: Term) -> Term:
        return term if self._open is None or len(term.text) <= SIMPLE else self._staged(self._open, term)

    def _staged(self, scope: Scope, term: Term) -> Term:
        """The same as a column that a stage computes."""
        column = self.name("s")
        while len(scope.stages) <= term.level:
            scope.stages.append([])
        scope.stages[term.level].append(f"{term.text} AS {column}")
        return Term(column, term.level + 1)


def steps_above_base(rows: Rows) -> list[Rows]:
    """The filters and sorts between a base and these rows, from the base upward."""
    steps: list[Rows] = []
    while not rows.starts_base:
        steps.append(rows)
        assert rows.parent is not None
        rows = rows.parent
    return steps[::-1]


def inputs_of_steps(rows: Rows) -> list[Expr]:
    """The expressions over a base that the steps above it look at."""
    return [each for step in steps_above_base(rows) for each in step.inputs]
