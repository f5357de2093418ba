"""Rows joined with rows of the same person, and tables below each other: which rows there are, and their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from privjail.ops.polars_types import dtype_of
from privjail.ops.rows.append import Appended
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows

if TYPE_CHECKING:
    from privjail.engines.polars.engine import PolarsEngine


class Joins:
    """What an engine computes for rows that are made from two tables."""

    def __init__(self, engine: PolarsEngine) -> None:
        self._engine = engine

    def pairs(self, base: Pairs) -> pl.DataFrame:
        """The numbers of the two rows of each pair, in the rows that were joined."""
        cache, key = self._engine.cache, (base, "pairs")
        found: pl.DataFrame | None = cache.get(key)
        if found is None:
            sides = [
                pl.DataFrame({str(i): self._in_rows(each, rows) for i, each in enumerate(keys)})
                for rows, keys in ((base.rows, base.keys), (base.other, base.other_keys))
            ]
            found = base.polars(*sides)
            cache.put(key, found, int(found.estimated_size()))
        return found

    def paired(self, node: Paired) -> pl.Series:
        """A column of the other table in the partner of each row."""
        base = node.pairs
        found: pl.Series = node.polars(self._in_rows(node.inner, base.other), self.pairs(base)["right"])
        return found

    def appended(self, node: Appended) -> pl.Series:
        """A column of the first table, and one of the second below it."""
        parts = []
        for part, rows in node.parts:
            if part is None:
                parts.append(
                    pl.Series([None], dtype=dtype_of(node.domain)).new_from_index(0, self._engine._height(rows))
                )
            else:
                held = pl.DataFrame({"x": self._in_rows(part, rows)})
                parts.append(held.select(node.polars(pl.col("x"), part))["x"])
        found: pl.Series = node.append.polars(*parts)
        return found

    def _in_rows(self, expression: Expr, rows: Rows) -> pl.Series:
        """A column in some rows of its base, in their order."""
        index, column = self._engine._index(rows), self._engine._column(expression, self._engine._size(rows.base))
        return column if index is None else column.gather(index)
