"""Which one column decides a condition, and for which of its values the condition is true.

A filter keeps rows of known cells, such as ``stays / ward='surgery'``, if its condition is about one column with
finitely many values. Filters that pick different values of that column are then charged side by side.
"""

from __future__ import annotations

from typing import Any

from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.logic import Logic, Not
from privjail.plan.domain import CategoryDomain, Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, inputs_first
from privjail.plan.rows import MOST_CELLS

MISSING = Lit.of(None)
SingleKey = tuple[Expr, tuple[Lit, ...]] | None
Truth = bool | None  # None: null
#: The column that decides a condition, the labels for which it is true, and its truth where the column is null.
Decided = tuple[Expr, tuple[Lit, ...], Truth]


def single_key(condition: Expr) -> SingleKey:
    """The column with finitely many values that decides a condition, and the keys for which the condition is true.

    A missing value is a key of its own: ~isin(…) is true for it, and its rows are in no label's cell.
    None if there is no such column, or if the keys are too many to spread over.
    """
    if isinstance(condition, Compare):  # most conditions: it has no parts, and is not true for a missing value
        keys = _keys_of_equality(condition)
        return None if keys is None else (condition.a, keys)
    known: dict[Expr, Decided | None] = {}
    for part in inputs_first(_parts(condition), _parts, known.__contains__):
        known[part] = _decided(part, known)
    found = _decided(condition, known)
    if found is None:
        return None
    by, keys, if_missing = found
    if if_missing and by.domain.nullable:
        keys = (*keys, MISSING)
    return None if len(keys) > MOST_CELLS else (by, keys)


def _parts(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that this one is made of."""
    return condition.inputs if type(condition) is Not or type(condition) is Logic else ()


def _decided(condition: Expr, known: dict[Expr, Decided | None]) -> Decided | None:
    """What decides a condition, given what decides its parts. For every label that is not listed it is false."""
    match condition:
        case Compare(_, a):
            found = _keys_of_equality(condition)
            return None if found is None else (a, found, None)
        case IsIn(a, values) if a.domain.labels is not None:
            return a, _labels_among(a, [v.value for v in values]), False
        case Not(a):
            inner = known[a]
            if inner is None or len(inner[0].domain.labels or ()) > MOST_CELLS + len(inner[1]):
                return None
            return inner[0], _other_labels(inner[0], inner[1]), None if inner[2] is None else not inner[2]
        case Logic("|", a, b):
            one, other = known[a], known[b]
            if one and other and one[0] is other[0]:
                keys = tuple(dict.fromkeys(one[1] + other[1]))
                return one[0], keys, _either(one[2], other[2])
    return None


def _keys_of_equality(condition: Compare) -> tuple[Lit, ...] | None:
    """The label for which a column equals a constant, if there is one; None if it is another kind of comparison."""
    a, right = condition.a, condition.b
    if condition.op != "==" or not isinstance(right, Lit) or a.domain.labels is None:
        return None
    return _equal(a, right)


def _either(a: Truth, b: Truth) -> Truth:
    """a or b, where an unknown side leaves the result unknown unless the other is true."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def _equal(a: Expr, wanted: Lit) -> tuple[Lit, ...]:
    """The label that equals a constant, if there is one; mostly that is the constant itself."""
    domain = a.domain
    if wanted.type_ == "text" and isinstance(domain, CategoryDomain):
        code = domain.code(wanted.spelling)
        if code is None:
            return ()
        if type(domain.categories[code]) is str:
            return (wanted,)
    return _labels_among(a, [wanted.value])


def _labels_among(a: Expr, wanted: list[Any]) -> tuple[Lit, ...]:
    """The labels that equal one of these constants, by the same rule that the engine compares with."""
    labels = a.domain.labels
    assert labels is not None
    if isinstance(labels, range):
        return tuple(Lit.of(int(v)) for v in dict.fromkeys(wanted) if v in labels)
    codes = [a.domain.code(v) if isinstance(a.domain, CategoryDomain) else int(v) for v in wanted]
    return tuple(label_lit(labels[code]) for code in dict.fromkeys(codes) if code is not None)


def _other_labels(a: Expr, keys: tuple[Lit, ...]) -> tuple[Lit, ...]:
    return tuple(k for k in map(label_lit, a.domain.labels or ()) if k not in keys)


def label_lit(label: Any) -> Lit:
    """A category's label as a constant; labels that are intervals go by their text."""
    return Lit.of(str(label) if isinstance(label, Interval) else label)
