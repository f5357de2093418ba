"""Columns: whether the claimed domain of a column holds every value that can stand in it.

A column belongs to the rows of one *base* (a data set, or rows that a slice, window or group_head makes). Two columns
are combined only if they have the same base. Otherwise row i of one would meet row i of the other, and one inserted row
would change all pairs after it. A public constant has no base and can be combined with all columns.
"""

from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Any

from privjail.verify.checker.domains import Domain
from privjail.verify.checker.norms import OF_ROWS, row_results
from privjail.verify.checker.operations import (
    CONDITIONS,
    NULL_IF_AN_INPUT_IS,
    ROW_WISE,
    SEES_NULLS,
    Labels,
    results_in_between,
)
from privjail.verify.checker.reading import HIGHEST_INT, LARGEST_FLOAT, LOWEST_INT
from privjail.verify.checker.verdict import CannotCheck, Refuted

MOST_COMBINATIONS = 20_000  # of critical values, for one operation


@dataclass(frozen=True, eq=False)
class Column:
    """A column whose claimed domain was checked."""

    node: int
    kind: str
    fields: list[Any]
    domain: Domain
    base: int | None  # the node of the rows that it belongs to; None: any rows
    inputs: tuple["Column", ...] = ()
    ancestors: tuple["Column", ...] = ()  # all columns that it is made of, inputs first

    @property
    def with_ancestors(self) -> tuple["Column", ...]:
        return (*self.ancestors, self)


def row_wise_column(node: int, kind: str, fields: list[Any], domain: Domain) -> Column:
    """A column that is computed from others, row by row."""
    if kind not in ROW_WISE | OF_ROWS:
        raise CannotCheck(f"operation {kind!r}")
    inputs = tuple(x for each in fields for x in (each if isinstance(each, list) else [each]) if isinstance(x, Column))
    known = {each.node: each for column in inputs for each in column.with_ancestors}
    base = next((column.base for column in inputs if column.base is not None), None)
    return Column(node, kind, fields, domain, base, inputs, tuple(known[i] for i in sorted(known)))


def value_at(column: Column, values: list[Any]) -> Any:
    """The value in one row, from the values of the inputs in that row."""
    if column.kind in NULL_IF_AN_INPUT_IS and None in values:
        return None
    operation = (SEES_NULLS | NULL_IF_AN_INPUT_IS)[column.kind]
    labels = Labels(column.inputs[0].domain.labels if column.inputs else (), column.domain.labels)
    left = iter(values)
    return operation(labels, *(next(left) if isinstance(field, Column) else field for field in column.fields))


def check_domain(column: Column) -> bool:
    """Refute a claimed domain that does not hold every result. Returns whether the claim is as small as it can be.

    The operation is carried out for all combinations of critical values: see domains.py for why that is enough.
    """
    claimed = column.domain
    seen = row_results(column.kind, column.fields) if column.kind in OF_ROWS else all_results(column)
    if not all(claimed.contains(x) for x in seen):
        raise Refuted("the claimed domain does not hold all that can come out")
    ends_are_reached = {claimed.low, claimed.high} - {-inf, inf} <= set(seen)
    return ends_are_reached and (None in seen or not claimed.nullable)


def all_results(column: Column) -> list[Any]:
    """What comes out at all combinations of critical values, and in between."""
    domains = [each.domain for each in column.inputs]
    tried = [domain.critical_values(constants_in(column.fields)) for domain in domains]
    if not 0 < prod(map(len, tried)) <= MOST_COMBINATIONS:
        raise CannotCheck(f"no values to try, or more than {MOST_COMBINATIONS} combinations")
    seen = results_in_between(column.kind, column.fields, domains)
    for values in product(*tried):
        try:
            result = value_at(column, list(values))
        except OverflowError:
            result = inf
        except (ValueError, ArithmeticError):
            result = None
        seen += representable(result, column.domain.type)
    return seen


def representable(result: Any, type_: str) -> list[Any]:
    """A result as a column of this type holds it: null if it is beyond the type, and then the type's end is reached."""
    least, most = (LOWEST_INT, HIGHEST_INT) if type_ == "Int64" else (-LARGEST_FLOAT, LARGEST_FLOAT)
    if type(result) not in (int, float) or least <= result <= most:
        return [result]
    return [least if result < least else most, None]


def constants_in(fields: Any) -> list[Any]:
    """The public constants of an operation, also those in lists and in lists of lists."""
    if isinstance(fields, list):
        return [found for each in fields for found in constants_in(each)]
    return [] if isinstance(fields, Column) else [fields]


def can_be_true(condition: Column, by: Column, key: Any) -> bool:
    """Whether a condition can be true in a row where the column ``by`` has this value.

    The condition is evaluated if it depends on ``by`` and public constants alone. Otherwise it may be true.
    """
    known = {by.node: key}
    for column in condition.with_ancestors:
        if column.node not in known and column.kind in CONDITIONS and all(x.node in known for x in column.inputs):
            known[column.node] = value_at(column, [known[x.node] for x in column.inputs])
    return condition.node not in known or known[condition.node] is True
