"""A many-to-many join on the person: each row with each row of the same person in another table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privjail.errors import PlanError, RowsError
from privjail.ops.columns.carried import Carried
from privjail.ops.rows.lookup import at_most_one, check_owners
from privjail.plan.expr import Expr
from privjail.plan.node import Node, node
from privjail.plan.rows import Rows

HOW = ("inner", "left")


@node
class Pairs(Rows):
    """Each row, once for each row of another table with the same owner and the same further keys, in pandas' order.

    The order is that of the rows, and of their partners for one row. Rows without a partner are dropped ("inner"), or
    stay once, alone ("left"). Missing keys meet nothing.

    Distance: m times that of the rows, in their cells, where a person has at most m rows in the other table. Both
    tables are owned, and the owner is the first key on both sides. So the rows of everybody but p meet the same
    partners with and without p: without p, the pairs are the same pairs less hers. Each of her rows was in at most m
    of them. The other table moves with p too, but only rows of p meet what moves.
    """

    kind = "pairs"
    starts_base = True
    rows: Rows
    keys: tuple[Expr, ...]
    other: Rows
    other_keys: tuple[Expr, ...]
    how: str

    def __post_init__(self) -> None:
        if self.how not in HOW:
            raise PlanError(f"private tables are joined by {' or '.join(HOW)}, not {self.how!r}")
        base, _ = check_owners(self.keys, self.other, self.other_keys)
        if base is not self.rows.base:
            raise RowsError("the keys of the join do not belong to the rows of this table")
        most = most_partners(self.other, self.other_keys)
        if most is None:
            raise PlanError(
                "one row could meet any number of rows of the other table",
                plan=str(self.other),
                do="bound the rows of each person there first: other.groupby(person).head(k); or make it one row "
                "per person: other.groupby(person).agg(…)",
            )
        self.start_joined_base(self.rows, most)

    def owner(self) -> Expr | None:
        return Carried(self, self.keys[0])

    @property
    def inputs(self) -> tuple[Any, ...]:
        return self.keys

    def quotes(self) -> Iterator[Node]:
        yield from super().quotes()
        yield self.other

    def polars(self, frame: Any, *columns: Any) -> Any:
        """Given the keys of the rows of both tables: the numbers of the rows of each pair, "left" and "right"."""
        keys, mine, theirs = frame.columns, frame.with_row_index("left"), columns[0].with_row_index("right")
        # One list of partners for each key, in their order: a join of all pairs takes longer, and far more memory.
        partners = theirs.drop_nulls().group_by(keys, maintain_order=True).agg("right")
        met = mine.join(partners, on=keys, how=self.how, maintain_order="left")
        return met.select("left", "right").explode("right")

    def python(self, rows: list[Any], *columns: list[Any]) -> list[Any]:
        """Given the keys of the rows of both tables: pairs of row numbers, with None where there is no partner."""
        known: dict[Any, list[int]] = {}
        for j, keys in enumerate(columns[0]):
            if None not in keys:
                known.setdefault(keys, []).append(j)
        alone: list[Any] = [] if self.how == "inner" else [None]
        return [(i, j) for i, keys in enumerate(rows) for j in known.get(keys, alone)]

    def sql(self, sql: Any, table: Any, *columns: Any) -> Any:
        """Given the keys of a row of each table: whether they are a pair."""
        return sql.all_equal(*columns)

    def text(self) -> str:
        return f"merge({self.other}, how={self.how!r})"


@node
class Paired(Expr):
    """A column of the other table, in the partner of each row; missing where there is none."""

    kind = "paired"
    from_elsewhere = shared = True
    pairs: Pairs
    inner: Expr

    def __post_init__(self) -> None:
        if self.inner.base is not None and self.inner.base is not self.pairs.other.base:
            raise RowsError("the column does not belong to the rows of the other table")
        given = self.inner.domain
        domain = given.with_nulls(given.nullable or self.pairs.how == "left")
        self.fact(base=self.pairs, domain=domain, inputs=())

    def polars(self, *inputs: Any) -> Any:
        """Given the column in the rows of the other table, and the number of each row's partner there."""
        column, partners = inputs
        return column.gather(partners)

    def python(self, *inputs: Any) -> Any:
        """Given the column in the rows of the other table, and the number of this row's partner there."""
        column, partner = inputs
        return None if partner is None else column[partner]

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """Given the column of the partner, and its owner, which is missing where there is no partner."""
        column, owner = inputs
        return sql.case(owner.is_known(), column)

    def text(self, *inputs: str) -> str:
        return f"{self.pairs.other}[{self.inner}]"


def most_partners(other: Rows, keys: tuple[Expr, ...]) -> int | None:
    """How many rows of a table can have given keys, of which the first is the owner; None if there is no bound.

    The table is owned: the rows of a person are just those that go out with her, so there are at most as many.
    At least 1: a row that stays alone is one row.
    """
    most = other.base.edits
    return 1 if at_most_one(other, keys) else None if most is None else max(1, int(most))
