"""Answers of a published histogram as tables, and queries as they are typed."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from privjail.errors import PlanError


def answers_table(found: Any, ranges: list[tuple[int, int]], unsmoothed: bool, level: float) -> Table:
    """Estimates with intervals; unbiased numbers with standard errors; or, of buckets, the error of the noise."""
    if unsmoothed or not found.exact:
        table = Table("bins", "records", "± standard error" if found.exact else "± noise only")
        plain = found.unsmoothed() if unsmoothed else found
        for a, b in ranges:
            table.add_row(f"{a} … {b - 1}", f"{plain.range(a, b):,.1f}", f"{plain.error(a, b):,.1f}")
        return table
    table = Table("bins", "records, smoothed", f"{level:.3g} of the time between")
    for a, b in ranges:
        told = found.answer(a, b, level)
        table.add_row(f"{a} … {b - 1}", f"{told.estimate:,.1f}", f"{told.low:,.1f} … {told.high:,.1f}")
    return table


def attributes_table(found: Any, attributes: Any, queries: list[str], level: float, mean_of: str, sum_of: str) -> Table:
    """Counts, sums or means over the cells that each query names."""
    from privjail.encrypted.attributes import values, weights
    from privjail.histograms.weighted import mean, weighted

    kind = f"mean of {mean_of}" if mean_of else f"sum of {sum_of}" if sum_of else "records"
    table = Table("of", kind, f"{level:.3g} of the time between")
    for query in queries:
        cells = weights(attributes, query)
        if mean_of:
            told = mean(found, values(attributes, mean_of), cells, level)
        else:
            told = weighted(found, cells * (values(attributes, sum_of) if sum_of else 1.0), level)
        table.add_row(query or "all", f"{told.estimate:,.1f}", f"{told.low:,.1f} … {told.high:,.1f}")
    return table


def read_range(text: str, bins: int) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    try:
        return int(first or 0), int(last or bins) if colon else int(first) + 1
    except ValueError:
        raise PlanError(f"{text!r} is no range", do="write 10:20 for bins 10 … 19, 5 for bin 5") from None
