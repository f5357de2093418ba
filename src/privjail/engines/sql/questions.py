"""Counts, sums and ranks as SQL statements, and their results as tables of whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from privjail.engines.sql.compiler import LONG, Compiler, Scope, inputs_of_steps
from privjail.engines.sql.table import Table, ordered
from privjail.engines.sql.term import Term, build, listed
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.numbers.tally import Tally
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

Question = Tally | QuantileScores


def statements(compiler: Callable[[], Compiler], questions: Sequence[Question]) -> Iterator[tuple[str, list[Question]]]:
    """Two statements at most: all numbers without groups in one row, and all tables one below another."""
    plain = [q for q in questions if isinstance(q, Tally) and not q.keys]
    tables = [q for q in questions if not (isinstance(q, Tally) and not q.keys)]
    for asked, write in ((plain, _one_row), (tables, _tables)):
        if asked:
            made = compiler()
            yield made.statement(write(made, asked)), list(asked)


def counted(rows: Iterable[Sequence[Any]], questions: Sequence[Question]) -> list[list[int]]:
    """The tables of the questions of one statement, flat, from what the database gave."""
    if isinstance(questions[0], Tally) and not questions[0].keys:
        (row,) = rows
        return [[int(number)] for number in row]
    found = [[0] * _size(question) for question in questions]
    for question, place, number in rows:
        if place is not None:  # rows in no group, and those that conditions drop
            found[question][place] = int(number)
    return found


def rows_of(compiler: Compiler, rows: Rows, columns: Sequence[Expr]) -> str:
    """The rows themselves, in their order."""
    scope = _scope(compiler, [rows], columns)
    table = compiler.selected(rows, scope)
    terms = [build(scope.terms[each], f" AS x{i:d}") for i, each in enumerate(columns)]
    order = ordered(table.order)
    return compiler.statement(build(_select(scope, table, terms or [Term("1 AS x0")]), " ", order).text)


def keys_of(compiler: Compiler, counts: KeyCounts) -> str:
    """(key, number of persons) of each key that occurs, in any order."""
    return compiler.statement(f"SELECT key, count(*) AS number FROM {compiler.first_keys(counts)} GROUP BY key")


def _size(question: Question) -> int:
    return question.size if isinstance(question, Tally) else 2 * (len(question.candidates) + 1)


def _scope(compiler: Compiler, rows: Sequence[Rows], columns: Sequence[Expr]) -> Scope:
    steps = [each for one in rows for each in inputs_of_steps(one)]
    return compiler.scope(rows[0].base, [*columns, *steps])


def _by_base(questions: Sequence[Question]) -> dict[Rows, list[Question]]:
    found: dict[Rows, list[Question]] = {}
    for question in questions:
        found.setdefault(question.rows.base, []).append(question)
    return found


def _columns(question: Question) -> list[Expr]:
    if isinstance(question, QuantileScores):
        return [question.a]
    return [*question.keys, *(() if question.value is None else (question.value,))]


def _select(scope: Scope, table: Table, terms: Sequence[Term], and_: Term | None = None) -> Term:
    kept = table.kept()
    condition = and_ if kept is None else kept if and_ is None else kept & and_
    where: tuple[str | Term, ...] = () if condition is None else (" WHERE ", condition)
    return build("SELECT ", *listed(list(terms)), f" FROM {scope.relation}", *where)


def _one_row(compiler: Compiler, questions: Sequence[Question]) -> str:
    """Counts and sums of all rows: one pass over each base, and the results side by side."""
    passes: list[Term] = []
    for base, asked in _by_base(questions).items():
        scope = _scope(compiler, [q.rows for q in asked] or [base], [e for q in asked for e in _columns(q)])
        columns: list[Term] = []  # by names of their own: Sail takes two sums of equal text for the same column
        aggregates: list[Term] = []
        where: tuple[str | Term, ...] = ()
        for question in asked:
            assert isinstance(question, Tally)
            number = questions.index(question)
            value = None if question.value is None else scope.terms[question.value]
            _, amount = question.sql(compiler.sql, [], value)
            kept = compiler.selected(question.rows, scope).kept()
            if len(asked) == 1 and kept is not None:  # the other rows are not needed
                where, kept = (" WHERE ", kept), None
            amount, kept = (
                _as_column(columns, each, f"{letter}{number:d}")
                for letter, each in zip("ak", (amount, kept), strict=True)
            )
            aggregates.append(build(_aggregate(amount, kept), f" AS n{number:d}"))
        selected = listed(columns or [Term("1 AS one")])
        rows = build("(SELECT ", *selected, f" FROM {scope.relation}", *where, f") AS q{len(passes):d}")
        passes.append(build("(SELECT ", *listed(aggregates), " FROM ", rows, f") AS p{len(passes):d}"))
    names = [Term(f"n{i:d}") for i in range(len(questions))]
    return build("SELECT ", *listed(names), " FROM ", *_crossed(passes)).text


def _as_column(columns: list[Term], term: Term | None, name: str) -> Term | None:
    if term is None:
        return None
    columns.append(build(term, f" AS {name}"))
    return Term(name)


def _crossed(passes: Sequence[Term]) -> list[str | Term]:
    parts: list[str | Term] = []
    for each in passes:
        parts += [" CROSS JOIN ", each] if parts else [each]
    return parts


def _aggregate(amount: Term | None, kept: Term | None = None) -> Term:
    rows: tuple[str | Term, ...] = () if kept is None else (" FILTER (WHERE ", kept, ")")
    if amount is None:
        return build("count(*)", *rows)
    return build("coalesce(sum(", amount, ")", *rows, ", 0)")


def _tables(compiler: Compiler, questions: Sequence[Question]) -> str:
    """(question, place, number) of all tables, one below another."""
    parts: list[str | Term] = []
    for asked in _by_base(questions).values():
        scope = _scope(compiler, [q.rows for q in asked], [e for q in asked for e in _columns(q)])
        numbered = [(questions.index(question), question) for question in asked]
        if compiler.sql.stacks and len(asked) > 1:
            selects = [_one_pass(compiler, scope, numbered)]
        else:
            selects = [_table(compiler, scope, question, number) for number, question in numbered]
        for select in selects:
            parts += [" UNION ALL ", select] if parts else [select]
    return build(*parts).text


def _one_pass(compiler: Compiler, scope: Scope, numbered: Sequence[tuple[int, Question]]) -> Term:
    """Several tables over the rows of one base, which are read once: each row gives one row for each table.

    As parts of a UNION, each table would read and compute the rows again, and be planned again.
    """
    columns: list[Term] = []  # by names of their own: Sail takes two columns of equal text for the same
    stacked: list[Term] = [Term(f"{len(numbered):d}")]
    for number, question in numbered:
        place, amount = _place(compiler, scope, question)
        kept = compiler.selected(question.rows, scope).kept()
        place = place if kept is None else compiler.sql.case(kept, place)
        one = Term("CAST(1 AS BIGINT)")
        columns += [build(place, f" AS p{number:d}"), build(one if amount is None else amount, f" AS a{number:d}")]
        stacked += [Term(each) for each in (f"{number:d}", f"p{number:d}", f"a{number:d}")]
    rows = build("(SELECT ", *listed(columns), f" FROM {scope.relation}) AS q{numbered[0][0]:d}")
    tall = build("(SELECT stack(", *listed(stacked), ") AS (question, place, amount) FROM ", rows, ")")
    total = build("SELECT question, place, ", _aggregate(Term("amount")), " AS number FROM ", tall)
    return build(total, f" AS t{numbered[0][0]:d} GROUP BY question, place")


def _place(compiler: Compiler, scope: Scope, question: Question) -> tuple[Term, Term | None]:
    """Each row's place in the flat table, and amount (None: rows are counted)."""
    terms = [scope.terms[each] for each in _columns(question)]
    if isinstance(question, Tally):
        place, amount = question.sql(compiler.sql, terms[: len(question.keys)], terms[-1])
        return place, amount
    at_or_below, below = question.sql(compiler.sql, terms[0])
    sql = compiler.sql
    # The candidates rise, so at most one of them equals a value.
    return sql.as_whole(at_or_below) * sql.whole(3) - sql.as_whole(below), None


def _table(compiler: Compiler, scope: Scope, question: Question, number: int) -> Term:
    table = compiler.selected(question.rows, scope)
    place, amount = _place(compiler, scope, question)
    kept = table.kept()
    if kept is not None and compiler.written_out(kept) > LONG:
        # As a column: databases move conditions down to the stored rows, with all stages in between written out.
        place, table = compiler.sql.case(kept, place), replace(table, conditions=())
    inner = [build(place, " AS place")] + ([] if amount is None else [build(amount, " AS amount")])
    rows = _select(scope, table, inner)
    total = _aggregate(None if amount is None else Term("amount"))
    grouped = f") AS q{number:d} GROUP BY place"
    return build(f"SELECT {number:d} AS question, place, ", total, " AS number FROM (", rows, grouped)
