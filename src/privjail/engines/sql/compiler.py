"""One SQL statement for several counts, sums, ranks or rows, made from public facts only.

Rows of a base are read from one relation. What an expression over the base computes becomes a term; terms that grow
long are computed in a stage of their own, as a column that later terms mention by name; what is looked up in another
table comes from a join of such a stage. A slice, a window, a groupby.head or one row per person closes its rows into a
relation with the columns that are needed above it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.table import By, Table
from privjail.engines.sql.term import Term, build, listed
from privjail.errors import engine_gap
from privjail.ops.columns.carried import Carried
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.source import Source
from privjail.ops.rows.window import Lag
from privjail.plan.expr import Expr
from privjail.plan.node import inputs_first
from privjail.plan.rows import Rows

LONG = 1_500  # characters of a term that is computed in a stage of its own
SIMPLE = 120  # characters of an input that may be repeated in a long term
POSITION = "position"
MOST_JOINS = 32  # in one statement: a plan can mention the same tables in more ways than an engine can plan for


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
    stages: list[list[str]] = field(default_factory=list)  # columns that are computed in each stage
    joins: dict[int, list[str]] = field(default_factory=dict)  # LEFT JOIN … of each stage

    def stage(self, level: int) -> list[str]:
        while len(self.stages) <= level:
            self.stages.append([])
        return self.stages[level]


class Compiler:
    """Collects relations (WITH …) while the parts of one statement are compiled."""

    def __init__(self, sql: Dialect, stored: Mapping[Source, Stored]) -> None:
        self.sql, self._stored = sql, stored
        self._relations: list[str] = []
        self._open: Scope | None = None  # the one whose terms are being made
        sql.named = self._named
        self._names = self._joins = 0

    def statement(self, body: str) -> str:
        return (f"WITH {', '.join(self._relations)} " if self._relations else "") + body

    def name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    # -- rows

    def scope(self, base: Rows, wanted: Sequence[Expr]) -> Scope:
        """The rows of a base, with terms for these expressions over it."""
        order: list[Expr] = list(inputs_first(wanted, _computed_from))
        scope = self._start(base, order)
        self._open = scope
        for node in order:
            if isinstance(node, Lookup) and node not in scope.leaves:
                self._look_up(scope, [n for n in order if isinstance(n, Lookup) and _same_rows(n, node)])
                self._open = scope
            scope.terms[node] = self._term(scope, node)
        self._open = None
        for level, stage in enumerate(scope.stages):
            joins = " ".join(["", *scope.joins.get(level, [])])
            scope.relation = self._relation(f"SELECT {', '.join(['*', *stage])} FROM {scope.relation}{joins}")
        return scope

    def _relation(self, body: str) -> str:
        name = self.name("r")
        self._relations.append(f"{name} AS ({body})")
        return name

    def _start(self, base: Rows, order: Sequence[Expr]) -> Scope:
        if isinstance(base, Source):
            return self._source(base)
        return self._persons(base, order) if isinstance(base, PerPerson) else self._base(base, order)

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

    def _persons(self, base: PerPerson, order: Sequence[Expr]) -> Scope:
        """One row for each person, with what is computed from her rows; in the order of her first rows."""
        leaves = [node for node in order if isinstance(node, Aggregate)]
        inner = [leaf.inner for leaf in leaves if leaf.inner is not None]
        below = self.scope(base.rows.base, [base.key, *inner, *inputs_of_steps(base.rows)])
        columns = {each: below.terms[each] for each in dict.fromkeys([base.key, *inner])}
        rows = self._closed(below.relation, self.selected(base.rows, below), columns)
        key, by = base.sql(self.sql, rows.table, rows.leaves[base.key]), rows.table.order
        first = [by[0]._replace(term=build("min(", by[0].term, ")"))]
        number = by[0].term  # of a row among those of its person: her rows lie in the order of their positions
        if len(by) > 1:
            number = Term(self.name("k"))
            ranked = build("SELECT *, ", rows.table.rank(key), f" AS {number.text} FROM {rows.relation}")
            rows.relation = self._relation(ranked.text)
            at_first = number.equals(self.sql.whole(1))
            first = [each._replace(term=build("max(", self.sql.case(at_first, each.term), ")")) for each in by]
        made: dict[Expr, Term] = {
            leaf: leaf.sql(self.sql, number, None if leaf.inner is None else rows.leaves[leaf.inner]) for leaf in leaves
        }
        return self._closed(rows.relation, Table(self.sql, tuple(first), grouped=key), made)

    def _closed(self, relation: str, table: Table, columns: Mapping[Expr, Term]) -> Scope:
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
        if table.grouped is not None:
            body = build(body, " GROUP BY ", table.grouped)
        conditions = tuple(Term(f"({column} {op} {number:d})") for column, _, op, number in ranks)
        return Scope(self._relation(body.text), Table(self.sql, tuple(order), conditions), {}, leaves)

    # -- columns

    def _look_up(self, scope: Scope, nodes: Sequence[Lookup]) -> None:
        """Columns of the one row of another table that each row finds by the same keys: one join for all of them."""
        self._joins += 1
        if self._joins > MOST_JOINS:
            raise engine_gap(f"a question with more than {MOST_JOINS} joins", self.sql.name)
        other, other_keys = nodes[0].other, nodes[0].other_keys
        wanted = list(dict.fromkeys([*other_keys, *(node.inner for node in nodes)]))
        below = self.scope(other.base, [*wanted, *inputs_of_steps(other)])
        table = self.selected(other, below)
        for key in other_keys:
            table = table.where(below.terms[key].is_known())
        if not isinstance(other.base, PerPerson):  # of several rows the first: a join must not make rows more
            table = table.first_of([below.terms[key] for key in other_keys])
        found = self._closed(below.relation, table, {each: below.terms[each] for each in wanted})
        relation, kept = found.relation, found.table.kept()
        if kept is not None:
            relation = self._relation(build(f"SELECT * FROM {relation} WHERE ", kept).text)
        condition = nodes[0].sql(
            self.sql, [scope.terms[key] for key in nodes[0].keys], [found.leaves[key] for key in other_keys]
        )
        scope.stage(condition.level)
        scope.joins.setdefault(condition.level, []).append(f"LEFT JOIN {relation} ON {condition.text}")
        for node in nodes:
            scope.leaves[node] = Term(found.leaves[node.inner].text, condition.level + 1)

    def _term(self, scope: Scope, node: Expr) -> Term:
        if isinstance(node, (Carried, Lag, Aggregate, Lookup)):
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
        scope.stage(term.level).append(f"{term.text} AS {column}")
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


def _computed_from(node: Expr) -> tuple[Expr, ...]:
    return node.keys if isinstance(node, Lookup) else node.inputs


def _same_rows(a: Lookup, b: Lookup) -> bool:
    """Whether two columns are looked up in the same row of another table."""
    return (a.keys, a.other, a.other_keys) == (b.keys, b.other, b.other_keys)
