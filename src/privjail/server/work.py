"""How much memory a request needs while it runs, computed from its plan before it is charged.

Only public facts are used: the sizes of vectors, the largest lengths of their numbers, and which of them are held at
the same time (``evaluation`` in plan/value.py, which the engine follows). The number of rows is private, so memory that
grows with it is not counted here. It is bounded in another way: columns are computed for so few rows at a time that
some tens of megabytes hold them (engines/polars/columns.py), and a plan that needs more than ``columns_at_once`` is
refused. Rows that joins and appended tables make, up to 256 of one row of the data, are computed for so few persons at
a time that they fit (engines/polars/by_person.py). Where that is impossible, because a slice or a window looks at
rows of several persons, at most ``grown_at_once`` of them may be made of one row.
"""

from __future__ import annotations

from collections.abc import Sequence

from privjail.plan.expr import Expr, column_steps, held_at_once
from privjail.plan.growth import growth
from privjail.plan.node import Node, children, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.plan.value import Value, evaluation, inputs_of
from privjail.release import Query
from privjail.server.limits import LimitError, Limits

LISTS = 4  # copies of a value that exist while noise is added
FLOAT = 64  # bytes of one element of an answer: as a number, in a list, and in a message
MANY = 2**40
_STEPS: NodeTable[int] = NodeTable()
_COLUMNS: NodeTable[int] = NodeTable()


def check(asks: Sequence[Query], nodes: int, limits: Limits) -> int:
    """The bytes that a request needs for its values. Raises if that is too much. ``nodes``: of its session."""
    needed = bytes_of_values(asks)
    if needed > limits.work_bytes:
        raise LimitError(
            f"memory for the values of one request: {needed} bytes is over this jail's limit of {limits.work_bytes}",
            do="ask for fewer groups at once, or for fewer steps on large vectors",
        )
    if nodes > limits.columns_at_once:  # fewer nodes cannot need so many columns
        large = [ask.value for ask in asks if steps_below(ask.value) > limits.columns_at_once]
        widest = max([columns_held(value) for value in large], default=0)
        limits.check("columns that a request needs at the same time", widest, limits.columns_at_once)
    limits.check(
        "rows that are made of one row of the data, and held as a whole for slices or windows, or without a person",
        max([held_growth(ask.value) for ask in asks], default=1),
        limits.grown_at_once,
        do="keep fewer rows of each person before the join, .groupby(person).head(k); or do not slice what was joined",
    )
    return needed


def held_growth(value: Value) -> int:
    """The most rows of one row of the data that are held as a whole, for any count or sum below a value."""
    leaves = [growth(node) for node in inputs_first((value,), inputs_of) if not node.inputs]
    return max([each.most for each in leaves if not each.owned], default=1)


def bytes_of_values(asks: Sequence[Query]) -> int:
    """The most bytes of values that are held at once while asks are answered one after another."""
    bits: dict[Value, int] = {}
    answers = most = 0  # held for the queries before this one
    for ask in asks:
        held = 0
        for node, used in evaluation(ask.value):
            bits[node] = _bits(node, bits)
            held += _bytes(node, bits)
            most = max(most, answers + held + node.filling_bytes * node.size)
            held -= sum([_bytes(each, bits) for each in used])
        answers += held
    sampling = max([ask.mechanism.element_bytes * ask.value.size for ask in asks], default=0)
    return max(most, answers + sampling + sum([LISTS * _bytes(a.value, bits) + FLOAT * a.value.size for a in asks]))


def _bytes(value: Value, bits: dict[Value, int]) -> int:
    """A list of Python's integers: a pointer to each, and its digits of 30 bits."""
    return value.size * (8 + 16 * -(-(24 + 4 * -(-bits[value] // 30)) // 16))


def _bits(value: Value, bits: dict[Value, int]) -> int:
    """The most bits of a value's numbers, in units of its grid."""
    return value.number_bits([(each, bits[each]) for each in value.inputs])


def steps_below(node: Node) -> int:
    """The most steps of any expression below a node, spelled out as a tree: never fewer than columns held at once."""
    for each in inputs_first((node,), children, _STEPS.__contains__):
        below = [_STEPS[child] for child in children(each)]
        row_wise = isinstance(each, Expr) and not each.from_elsewhere
        _STEPS[each] = min(MANY, 1 + sum(below)) if row_wise else max(below, default=0)
    return _STEPS[node]


def columns_held(node: Node) -> int:
    """The most columns that are held at once for any expression below a node. Found once, inputs first."""
    for each in inputs_first((node,), children, _COLUMNS.__contains__):
        most = 0
        for child in children(each):
            most = max(most, _COLUMNS[child])
            if isinstance(child, Expr) and (not isinstance(each, Expr) or each.from_elsewhere):
                most = max(most, held_at_once(column_steps(child)))
        _COLUMNS[each] = most
    return _COLUMNS[node]
