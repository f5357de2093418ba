"""A many-to-one join: for each row, the value in the one row of another table that belongs to the same person."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RefusedError, RowsError
from privjail.ops.direct import find_rows
from privjail.plan.domain import CategoryDomain, Domain, FloatDomain, OrdinalDomain, TextDomain
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.rows import Rows


@node
class Lookup(Expr):
    """The value of a column in the one row of another table with the same owner, and the same further keys.

    Missing where there is no such row. Both tables are owned, and the owner is the first key on both sides. So for
    everybody but p, the row that is looked up is the same with and without p, and the table with this column is as
    owned as without it: it moves as far, in the same cells. The other table moves with p, but only rows of p see it.
    At most one row is found: the other table has one row per person, or one of the keys has another value in each
    row of a person.
    """

    kind = "lookup"
    from_elsewhere = shared = True
    keys: tuple[Expr, ...]
    other: Rows
    other_keys: tuple[Expr, ...]
    inner: Expr

    def __post_init__(self) -> None:
        rows, other = check_owners(self.keys, self.other, self.other_keys)
        if self.inner.base is not None and self.inner.base is not other:
            raise RowsError("the column does not belong to the rows of the other table")
        if not at_most_one(self.other, self.other_keys):
            raise PlanError(
                f"a person can have several rows in {self.other}: one of them cannot be looked up",
                do="make it one row per person first: .groupby(person).agg(…)",
            )
        self.fact(base=rows, domain=self.inner.domain.with_nulls(True), inputs=())

    def of_person(self) -> tuple[Rows, Expr] | None:
        base = self.other.base
        if base.edits is None or base.edits > 1:
            return None
        return (base, self.inner) if self.inner.base is None else self.inner.of_person() or (base, self.inner)

    def python(self, *inputs: Any) -> Any:
        """Given the keys of this row, the rows of the other table by their keys, and the column there."""
        keys, known, column = inputs
        return column[known[keys]] if keys in known else None

    def polars(self, *inputs: Any) -> Any:
        """Given the keys of all rows, and those of the rows of the other table: which of these each row finds."""
        import polars as pl

        mine, theirs = inputs
        if mine.width == 1:
            rows = find_rows(mine.to_series(), theirs.to_series())
            if rows is not None:
                return pl.select(pl.when(pl.lit(rows) >= 0).then(pl.lit(rows)).alias("found")).to_series()
        found = theirs.with_row_index("found").unique(subset=theirs.columns, keep="first", maintain_order=True)
        joined = mine.join(found, on=mine.columns, how="left", maintain_order="left")
        return joined["found"].cast(pl.Int64())

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """Given the keys of a row, and those of a row of the other table: whether it is looked up there."""
        return sql.all_equal(*inputs)

    def text(self, *inputs: str) -> str:
        return f"{self.other}[{self.inner}]"


def check_owners(keys: tuple[Expr, ...], other: Rows, other_keys: tuple[Expr, ...]) -> tuple[Rows, Rows]:
    """Refuse a join unless owners are compared, of two owned tables of one population. Gives both bases."""
    if not keys or len(keys) != len(other_keys):
        raise PlanError("a join needs keys, and as many on both sides")
    base = keys[0].base
    if base is None or any(key.base is not base for key in keys):
        raise RowsError("the keys of a join do not belong to the same rows")
    if any(key.base is not other.base for key in other_keys):
        raise RowsError("the keys do not belong to the rows of the other table")
    if base.owner() is not keys[0] or other.base.owner() is not other_keys[0]:
        raise RefusedError(
            "private tables are joined on the person, in rows that were filtered and sorted only",
            plan=str(other),
        )
    if base.source.cells[0] is not other.source.cells[0]:
        raise RefusedError(
            "tables of different populations are not joined: nothing says which persons are the same",
            do="ask the curator to add both tables to one population",
        )
    if drawn(other):
        raise RefusedError("a random sample is not looked up in", do="join with the whole table, and sample first")
    for a, b in zip(keys, other_keys, strict=True):
        if not comparable(a.domain, b.domain):
            raise PlanError(
                f"the keys {a} and {b} have different types", do="convert one of them first, or declare them alike"
            )
    return base, other.base


def drawn(rows: Rows) -> bool:
    """Whether rows were made from a random sample, whose coins decide at one place of the tree of costs: plan/cells.py.

    Other tables that joined or appended rows were made from are no samples: that is refused when they are made.
    """
    step: Rows | None = rows
    while step is not None and step.kind != "sample":
        step = step.parent
    return step is not None


def comparable(a: Domain, b: Domain) -> bool:
    """Whether equal held values are equal values. Floats are no keys: two numbers may be one float."""
    if isinstance(a, FloatDomain):
        return False
    if isinstance(a, CategoryDomain):
        return isinstance(b, CategoryDomain) and a.categories == b.categories
    if isinstance(a, TextDomain):
        return isinstance(b, TextDomain)
    if isinstance(a, OrdinalDomain) or isinstance(b, OrdinalDomain):
        return type(a) is type(b) and getattr(a, "unit", None) == getattr(b, "unit", None)
    return type(a) is type(b)


def at_most_one(other: Rows, keys: tuple[Expr, ...]) -> bool:
    """Whether at most one row of a table has given keys, of which the first is the owner."""
    base = other.base
    return base.edits is not None and base.edits <= 1 or any(key in base.unique() for key in keys)
