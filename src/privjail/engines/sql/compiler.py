"""One SQL statement for several counts, sums, ranks or rows, made from public facts only.

Rows of a base are read from one relation. What an expression over the base computes becomes a term; terms that grow
long are computed in a stage of their own, as a column that later terms mention by name; what is looked up in another
table comes from a join of such a stage. A slice, a window, a groupby.head, one row per person, a join of rows or tables
below each other close their rows into a relation with the columns that are needed above it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.table import By, Table
from privjail.engines.sql.term import Term, build, listed
from privjail.errors import engine_gap
from privjail.ops.columns.carried import Carried
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.source import Source
from privjail.ops.rows.window import Lag
from privjail.plan.expr import Expr
from privjail.plan.node import inputs_first
from privjail.plan.rows import Rows

LONG = 1_500  # characters of a term that is computed in a stage of its own
SIMPLE = 120  # characters of an input that may be repeated in a long term
LONGEST = 20_000  # characters of a term with the columns of all stages below written out in it
POSITION = "position"
MOST_JOINS = 32  # in one statement: a plan can mention the same tables in more ways than an engine can plan for
_COLUMN = re.compile(r"\b[a-z]\d+\b")
_NAME = re.compile(r"[a-z]+\d*")
_DEFINED = re.compile(r"(.*?) AS ([a-z]\d+)\b", re.DOTALL)


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
        self._lengths: dict[str, int] = {}  # of columns, if everything below were written out

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
        kept = self.sql.kept if self._is_long(body) else ""
        self._relations.append(f"{name} AS {kept}({body})")
        return name

    def _is_long(self, body: str) -> bool:
        """Whether a column of a relation would be long if the columns that it uses were written out in it.

        Databases do that, and each use of a column is a copy: after some stages of a few copies each, no memory is
        large enough. A relation that is kept as it is ends that, so its columns count as their names.
        """
        found = {column: self.written_out(Term(term)) for term, column in _DEFINED.findall(body)}
        long = max(found.values(), default=0) > LONGEST
        self._lengths.update(dict.fromkeys(found, 0) if long and self.sql.kept else found)
        return long

    def written_out(self, term: Term) -> int:
        """How long a term is if the columns that it uses were written out in it."""
        return len(term.text) + sum(self._lengths.get(each, 0) for each in _COLUMN.findall(term.text))

    def _start(self, base: Rows, order: Sequence[Expr]) -> Scope:
        if isinstance(base, Source):
            return self._source(base)
        match base:
            case PerPerson():
                return self._persons(base, order)
            case Pairs():
                return self._pairs(base, order)
            case Append():
                return self._appended(base, order)
        return self._base(base, order)

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
        table, keys = self._by_columns(
            below, self.selected(base.parent, below), [below.terms[each] for each in base.inputs]
        )
        table = base.sql(self.sql, table, *keys)
        columns: dict[Expr, Term] = {}
        for leaf in leaves:
            columns[leaf] = leaf.sql(self.sql, table, below.terms[leaf.inner])
        return self._closed(below.relation, table, columns)

    def _by_columns(self, scope: Scope, table: Table, keys: Sequence[Term]) -> tuple[Table, list[Term]]:
        """The same rows and keys, with order and keys as columns of the relation.

        Sail spells a part that occurs twice in a window's order in two ways, and then refuses the statement.
        """
        columns: list[str] = []

        def column(term: Term) -> Term:
            if _NAME.fullmatch(term.text):
                return term
            columns.append(f"{term.text} AS {self.name('w')}")
            return Term(f"w{self._names:d}", term.level)

        order = tuple(by._replace(term=column(by.term)) for by in table.order)
        named = [column(key) for key in keys]
        if columns:
            scope.relation = self._relation(f"SELECT {', '.join(['*', *columns])} FROM {scope.relation}")
        return replace(table, order=order), named

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

    def _pairs(self, base: Pairs, order: Sequence[Expr]) -> Scope:
        """Each row with each of its partners; in the order of the rows, and of the partners of one row."""
        self._count_join()
        carried = [node for node in order if isinstance(node, Carried)]
        paired = [node for node in order if isinstance(node, Paired)]
        mine = self.kept_rows(base.rows, [*base.keys, *(leaf.inner for leaf in carried)])
        theirs = self.kept_rows(base.other, [*base.other_keys, *(leaf.inner for leaf in paired)])
        sides = [mine.leaves[key] for key in base.keys], [theirs.leaves[key] for key in base.other_keys]
        way = "LEFT JOIN" if base.how == "left" else "JOIN"
        condition: Term = base.sql(self.sql, mine.table, *sides)
        relation = f"{mine.relation} {way} {theirs.relation} ON {condition.text}"
        columns: dict[Expr, Term] = {leaf: leaf.sql(self.sql, None, mine.leaves[leaf.inner]) for leaf in carried}
        for leaf in paired:
            columns[leaf] = leaf.sql(self.sql, theirs.leaves[leaf.inner], sides[1][0])
        return self._closed(relation, Table(self.sql, (*mine.table.order, *theirs.table.order)), columns)

    def _appended(self, base: Append, order: Sequence[Expr]) -> Scope:
        """The rows of one table, numbered in their order, then those of another."""
        self._count_join()
        leaves = [node for node in order if isinstance(node, Appended)]
        queries = []
        for i, rows in enumerate((base.rows, base.other)):
            parts = [leaf.parts[i][0] for leaf in leaves]
            kept = self.kept_rows(rows, [part for part in parts if part is not None])
            selected = [
                self.sql.null(leaf.domain) if part is None else leaf.sql(self.sql, kept.leaves[part], part)
                for leaf, part in zip(leaves, parts, strict=True)
            ]
            numbers = [self.sql.whole(i), kept.table.rank()]
            named = [build(each, f" AS c{j:d}") for j, each in enumerate([*numbers, *selected])]
            queries.append(build("SELECT ", *listed(named), f" FROM {kept.relation}").text)
        relation = self._relation(base.sql(self.sql, *queries))
        columns: dict[Expr, Term] = {leaf: Term(f"c{j + 2:d}") for j, leaf in enumerate(leaves)}
        return self._closed(relation, Table(self.sql, (By(Term("c0")), By(Term("c1")))), columns)

    def kept_rows(self, rows: Rows, wanted: Sequence[Expr]) -> Scope:
        """Some rows of a base as a relation of their own, with these columns and no rows but those that are kept."""
        below = self.scope(rows.base, [*wanted, *inputs_of_steps(rows)])
        columns = {each: below.terms[each] for each in dict.fromkeys(wanted)}
        found = self._closed(below.relation, self.selected(rows, below), columns)
        kept = found.table.kept()
        if kept is not None:
            found.relation = self._relation(build(f"SELECT * FROM {found.relation} WHERE ", kept).text)
            found.table = Table(self.sql, found.table.order)
        return found

    def first_keys(self, counts: KeyCounts) -> str:
        """One row for each key of each person that counts: of hers, the first different ones."""
        wanted = [counts.key] if counts.person is None else [counts.key, counts.person]
        rows = self.kept_rows(counts.rows, wanted)
        key = rows.leaves[counts.key]
        table = counts.sql(self.sql, rows.table, key)
        if counts.person is None:  # each row is a person
            return self._finished(self._closed(rows.relation, table, {counts.key: key}))
        person = self.sql.sortable(rows.leaves[counts.person], counts.person.domain)
        once = self._closed(rows.relation, table.first_of([person, key]), {counts.key: key, counts.person: person})
        number = once.table.rank(once.leaves[counts.person])  # of a key among those of its person, by its first row
        first = replace(once.table, ranks=((number, "<=", counts.per_person),))
        return self._finished(self._closed(once.relation, first, {counts.key: once.leaves[counts.key]}))

    def _finished(self, scope: Scope) -> str:
        """The relation whose only column is a key, for each row that is kept."""
        kept, (key,) = scope.table.kept(), scope.leaves.values()
        where: tuple[str | Term, ...] = () if kept is None else (" WHERE ", kept)
        return self._relation(build("SELECT ", key, f" AS key FROM {scope.relation}", *where).text)

    def _count_join(self) -> None:
        self._joins += 1
        if self._joins > MOST_JOINS:
            raise engine_gap(f"a question with more than {MOST_JOINS} joins", self.sql.name)

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
        self._count_join()
        other, other_keys = nodes[0].other, nodes[0].other_keys
        wanted = list(dict.fromkeys([*other_keys, *(node.inner for node in nodes)]))
        below = self.scope(other.base, [*wanted, *inputs_of_steps(other)])
        table = self.selected(other, below)
        for key in other_keys:
            table = table.where(below.terms[key].is_known())
        if not isinstance(other.base, PerPerson):  # of several rows the first: a join must not make rows more
            table, keys = self._by_columns(below, table, [below.terms[key] for key in other_keys])
            table = table.first_of(keys)
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
        if isinstance(node, (Carried, Lag, Aggregate, Lookup, Paired, Appended)):
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
