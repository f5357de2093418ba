"""Answers of a published histogram as records and as tables, and queries as they are typed."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from privjail.errors import PlanError


def facts_of(found: Any) -> dict[str, Any]:
    """What a published histogram is, for other programs; ε as an exact number."""
    return {
        "bins": len(found),
        "method": found.method,
        "neighbours": found.neighbours,
        "epsilon": str(found.epsilon),
        "counts": [float(each) for each in found.counts],
    }


def answers_of(found: Any, ranges: list[tuple[int, int]], unsmoothed: bool, level: float) -> list[dict[str, Any]]:
    """Estimates with intervals; unbiased numbers with standard errors; or, of buckets, the error of the noise."""
    answers = []
    for a, b in ranges:
        if unsmoothed or not found.exact:
            plain = found.unsmoothed() if unsmoothed else found
            error = "standard_error" if found.exact else "noise_error"
            answers.append(_record(f"{a} … {b - 1}", "records", plain.range(a, b), **{error: plain.error(a, b)}))
        else:
            told = found.answer(a, b, level)
            numbers = {"low": told.low, "high": told.high, "level": level}
            answers.append(_record(f"{a} … {b - 1}", "records, smoothed", told.estimate, **numbers))
    return answers


def attributes_of(
    found: Any, attributes: Any, queries: list[str], level: float, mean_of: str, sum_of: str
) -> list[dict[str, Any]]:
    """Counts, sums or means over the cells that each query names."""
    from privjail.encrypted.attributes import values, weights
    from privjail.histograms.weighted import mean, weighted

    kind = f"mean of {mean_of}" if mean_of else f"sum of {sum_of}" if sum_of else "records"
    answers = []
    for query in queries:
        cells = weights(attributes, query)
        if mean_of:
            told = mean(found, values(attributes, mean_of), cells, level)
        else:
            told = weighted(found, cells * (values(attributes, sum_of) if sum_of else 1.0), level)
        answers.append(_record(query or "all", kind, told.estimate, low=told.low, high=told.high, level=level))
    return answers


def _record(of: str, kind: str, estimate: float, **more: float) -> dict[str, Any]:
    """One answer; what is not known is null: JSON has no infinity either."""
    names = ("estimate", "low", "high", "level", "standard_error", "noise_error")
    given = {"estimate": estimate, **more}
    return {"of": of, "kind": kind} | {n: _finite(given[n]) if n in given else None for n in names}


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def as_table(answers: list[dict[str, Any]]) -> Table:
    first = answers[0]
    headed = "bins" if "…" in first["of"] else "of"
    if first["level"] is None:
        error = "± noise only" if first["standard_error"] is None else "± standard error"
        table = Table(headed, first["kind"], error)
        for each in answers:
            table.add_row(each["of"], _number(each["estimate"]), _number(each["standard_error"] or each["noise_error"]))
        return table
    table = Table(headed, first["kind"], f"{first['level']:.3g} of the time between")
    for each in answers:
        table.add_row(each["of"], _number(each["estimate"]), f"{_number(each['low'])} … {_number(each['high'])}")
    return table


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.1f}"


def read_range(text: str, bins: int) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    try:
        return int(first or 0), int(last or bins) if colon else int(first) + 1
    except ValueError:
        raise PlanError(f"{text!r} is no range", do="write 10:20 for bins 10 … 19, 5 for bin 5") from None
