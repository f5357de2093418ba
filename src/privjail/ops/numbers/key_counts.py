"""How many persons have each key, for keys that nobody listed beforehand: free text, open whole numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

from privjail.errors import PlanError, RefusedError, RowsError
from privjail.ops.numbers.tally import ONE
from privjail.plan.distance import Distance
from privjail.plan.domain import IntDomain, TextDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Node, node, set_frozen
from privjail.plan.rows import Rows
from privjail.plan.value import ROWS_BITS, Facts, OneMoves, Value

MOST_KEYS = 100_000  # that can come out of one release
LONGEST = 250  # characters of a key: at most 1,000 bytes
Keyed = list[tuple[Any, int]]  # keys that occur, and how many persons have each


@node
class KeyCounts(Value):
    """For each key that occurs, how many persons have it; of each person the first few keys count, each once.

    Distance: whoever comes or goes moves the counts of at most ``per_person`` keys, each by 1. The rows are owned:
    without a person they are the same rows without hers, and which keys of a person count is decided by her rows alone.
    Where no column says whose rows they are, each row is a person with one key; then at most one row may be edited.
    It is a bound on all rows of a person together, so it is stated above all partitions in which she can be in
    several groups. Rows without a key, or with a text of more than 250 characters, are in no group.

    Which keys occur is private, so this is no vector: it has no labels, is no part of any other value, and leaves
    through a mechanism for private keys only. ``most``: how many keys come out at most.
    """

    kind = "key_counts"
    keyed = True
    answer_bytes = 1100
    rows: Rows
    key: Expr
    person: Expr | None
    per_person: int
    most: int

    def __post_init__(self) -> None:
        if self.key.base is not self.rows.base:
            raise RowsError("the key does not belong to the rows of this table")
        if not isinstance(self.key.domain, TextDomain) and type(self.key.domain) is not IntDomain:
            raise PlanError(
                f"private keys are texts or whole numbers, not {self.key.domain.dtype}",
                plan=str(self.rows),
                do="group by the column as it is, or put numbers into intervals first: pd.cut(…)",
            )
        whole = type(self.per_person) is int and type(self.most) is int
        if not (whole and 1 <= self.per_person <= self.most <= MOST_KEYS):
            raise PlanError(
                f"keys per person, and keys in all, are whole numbers of at least 1 and at most {MOST_KEYS}"
            )
        if self.person is not self.rows.base.owner():
            raise RefusedError("keys are counted by the column that says whose rows they are", plan=str(self.rows))
        if self.person is None and not (self.per_person == 1 and self.rows.edits is not None and self.rows.edits <= 1):
            raise RefusedError(
                "which keys enough persons share is asked of rows that were filtered and sorted only: after slices and "
                "windows rows of others come in",
                plan=str(self.rows),
            )
        set_frozen(self, "index", (range(self.most),))  # no list: it would take memory for keys that may not be there
        set_frozen(self, "grid", ONE)

    def derive(self) -> Facts:
        cells = tuple(dict.fromkeys(cell.unsplit() for cell in self.rows.cells))
        whole, each = (Distance(0, dict.fromkeys(cells, n)) for n in (self.per_person, 1))
        return Facts(OneMoves(self.most, whole, partial(_same, each), each), cells, False, monotone=False)

    filling_bytes = 2200

    def number_bits(self, inputs: Any) -> int:
        return ROWS_BITS

    def python(self, keys: list[Any], persons: list[Any]) -> Keyed:
        """Given the key and the person of each row, in the order of the rows; without a column, each row's number."""
        known: dict[Any, set[Any]] = defaultdict(set)
        found: Counter[Any] = Counter()
        for key, person in zip(keys, persons, strict=True):
            theirs = known[person]
            if key is None or isinstance(key, str) and len(key) > LONGEST or key in theirs:
                continue
            if len(theirs) < self.per_person:
                theirs.add(key)
                found[key] += 1
        return list(found.items())

    def polars(self, keys: Any, persons: Any) -> Keyed:
        """The same for columns; ``persons`` is None where each row is a person."""
        import polars as pl

        fits = pl.col("key").is_not_null()
        if keys.dtype == pl.String():
            fits = fits & (pl.col("key").str.len_chars() <= LONGEST)
        if persons is None:
            kept = pl.DataFrame({"key": keys}).filter(fits)
        else:
            pairs = pl.DataFrame({"key": keys, "person": persons}).filter(fits).unique(maintain_order=True)
            kept = pairs.filter(pl.int_range(pl.len()).over("person") < self.per_person)
        counted = kept.group_by("key").len()
        return list(zip(counted["key"].to_list(), counted["len"].to_list(), strict=True))

    def sql(self, sql: Any, table: Any, key: Any) -> Any:
        """The rows whose key counts; of each person the first few of them are taken (engines/sql/compiler.py)."""
        fits = key.is_known()
        if isinstance(self.key.domain, TextDomain):
            fits = fits & (sql.characters(key) <= sql.whole(LONGEST))
        return table.where(fits)

    def quotes(self) -> Iterator[Node]:
        yield self.rows
        yield self.key

    def text(self) -> str:
        return f"{self.rows} | persons by {self.key}, at most {self.per_person} keys each"


def _same(each: Distance, i: int) -> Distance:
    return each
