"""Which element of a table of counts or sums each row belongs to, and with which amount.

The rules are written once for Polars expressions (queries.py), and for columns and arrays that are already computed
(batches.py and engine.py): both have the same operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import polars as pl

from privjail.engines.labels import shape_of
from privjail.engines.polars.selections import Array
from privjail.ops.numbers.tally import rounded, sum_grid
from privjail.plan.domain import BoolDomain, Domain, FloatDomain, IntDomain
from privjail.plan.expr import Expr


# -- rules, for expressions, columns and arrays


def code(column: Any, key: Expr) -> Any:
    """The position of each row's label (an expression or a column); null for a missing one."""
    labels = key.domain.labels
    assert labels is not None
    if isinstance(labels, range) and labels.start:
        column = column - labels.start
    return column.cast(pl.Int32(), strict=False)


def in_a_group(codes: Any, length: int) -> Any:
    """Where a code is the position of a label.

    Other numbers cannot happen while domains are true. If one is not, a row in no group beats a failure that shows it.
    """
    return (codes >= 0) & (codes < length)


def flattened(codes: Sequence[Any], lengths: Sequence[int]) -> Any:
    """The position of each row in the flat table, from its positions along the axes."""
    place = codes[0]
    for each, length in zip(codes[1:], lengths[1:], strict=True):
        place = place * length + each
    return place


def is_rounded(domain: Domain) -> bool:
    """Whether amounts are put on a grid: true/false values and short whole numbers are added as they are."""
    return isinstance(domain, FloatDomain) or isinstance(domain, IntDomain) and sum_grid(domain) != 1


# -- columns and arrays


def codes_of(column: pl.Series, key: Expr) -> Array:
    """The codes of a column, with the number of labels for a missing key."""
    codes = code(column, key)
    if codes.null_count():
        codes = codes.fill_null(len(key.domain.labels or ()))
    found: Array = codes.to_numpy()
    return found


def place_of(codes: list[Array], keys: tuple[Expr, ...]) -> Array | None:
    """The place of each row in a table, flattened; the number of places for rows that are in no group."""
    if not keys:
        return None
    lengths = shape_of(keys)
    size = prod(lengths)
    number: Any = np.int32 if size < 2**31 else np.int64
    nowhere: Array | None = None
    for each, length in zip(codes, lengths, strict=True):
        if len(each) and not (each.min() >= 0 and each.max() < length):  # mostly all rows are in a group
            outside = ~in_a_group(each, length)
            nowhere = outside if nowhere is None else nowhere | outside
    place: Array = flattened([codes[0].astype(number, copy=False), *codes[1:]], lengths)
    return place if nowhere is None else np.where(nowhere, size, place)


def amounts_of(column: pl.Series, domain: Domain) -> Array:
    """A column on its summation grid: whole numbers of grid steps, as floats; missing values add nothing."""
    assert isinstance(domain, (BoolDomain, IntDomain, FloatDomain))
    exact = column.cast(pl.Float64()) if column.dtype != pl.Float64() else column
    amounts: Array = (exact.fill_null(0) if exact.null_count() else exact).to_numpy()
    if not is_rounded(domain):
        return amounts
    assert not isinstance(domain, BoolDomain)
    found: Array = rounded(amounts * float(1 / sum_grid(domain)), domain, 1.0)  # a power of two: exact
    if column.null_count() and not domain.lower <= 0 <= domain.upper:
        found[column.is_null().to_numpy()] = 0
    return found
