"""What a rehearsed program would cost."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from html import escape
from typing import Any

from privjail import records
from privjail.records import Record


class Bill:
    """Every release of a rehearsed program: which line asked, its price, the error to expect; and the total.

    Errors are those on made-up rows. Of counts and sums they are exact; of means, variances and quantiles they depend
    on how many rows there are: ``pj.rehearsal(rows=…)``.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.records: list[Record] = []
        self.totals: dict[str, Any] = {}
        self.left: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @property
    def total(self) -> dict[str, Any]:
        """What the program costs, by data set: ε, (ε, δ) or ρ. Groups that exclude each other are paid for once."""
        return dict(self.totals)

    @property
    def fits(self) -> bool:
        """Whether every budget has that much left."""
        return all(_fits(spent, self.left.get(name)) for name, spent in self.totals.items())

    def table(self) -> Any:
        """One row for each release, as a pandas table."""
        found = records.table(self.records).drop(columns=["time", "answer"])
        sources = [linecache.getline(each.file, each.line).strip() for each in self.records]
        found.insert(1, "program", sources)
        return found.rename(columns={"error": "expected error"})

    def lines(self) -> Any:
        """The same by line of the program: how often it released something, and the ε that it asked for in all."""
        found = self.table()
        by = found.groupby(["line", "program", "data"], sort=False)
        return by.agg(releases=("asked", "size"), eps=("eps", "sum")).reset_index()

    def _sums(self) -> list[str]:
        out = []
        for name, spent in self.totals.items():
            rest = self.left.get(name)
            note = "" if rest is None else f" of {_spelled(rest)} left" + ("" if _fits(spent, rest) else ": TOO MUCH")
            out.append(f"total for {name}: {_spelled(spent)}{note}")
        return out or ["nothing would be released"]

    def __repr__(self) -> str:
        import pandas

        if not self.records:
            return "\n".join(self._sums())
        with pandas.option_context("display.width", 160, "display.max_columns", 12, "display.max_colwidth", 50):
            shown = self.lines().to_string(index=False, max_rows=60)
        return "\n".join([shown, *self._sums()])

    def _repr_html_(self) -> str:
        sums = "".join(f"<p><b>{escape(each)}</b></p>" for each in self._sums())
        return (self.lines()._repr_html_() if self.records else "") + sums


def _spelled(x: Any) -> str:
    return ", ".join(f"{each:.10g}" for each in (x if isinstance(x, tuple) else (x,)))


def _fits(spent: Any, rest: Any) -> bool:
    if rest is None:
        return True
    pairs = zip(spent, rest, strict=False) if isinstance(spent, tuple) and isinstance(rest, tuple) else [(spent, rest)]
    return all(x <= y for x, y in pairs if not isinstance(x, tuple))
