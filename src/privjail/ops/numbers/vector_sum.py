"""The sums of several columns as one vector, whose joint distance follows from the norm of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, NamedTuple

from privjail.errors import PlanError
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.clip import Clip
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.norms import RowScale, Truncate
from privjail.ops.numbers.combine import SHOWN, _on
from privjail.ops.numbers.tally import Tally, sum_grid
from privjail.plan.distance import Number, sqrt_up
from privjail.plan.domain import BoolDomain, FloatDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, node
from privjail.plan.rows import Rows
from privjail.plan.value import Facts, RowVectors, Value, common_grid

MOST_ELEMENTS = 20_000
PRODUCT = 1 + Fraction(1, 2**52)  # a product of two floats is rounded: by less than this factor


class Norms(NamedTuple):
    """Bounds on one row's vector."""

    l1: Number
    l2_squared: Number
    linf: Number


@node
class VectorSum(Value):
    """The sums of several columns over the same rows.

    Distance: one edit adds or removes the vector of one row. So each norm moves by at most d times the largest norm of
    a row, which ``row_norms`` finds from how the columns are made (decision 0190). Each element alone moves by at most
    d times the largest absolute value of its column. Each sum is a tally: exact whole numbers on the column's grid.
    """

    kind = "vector_sum"
    rows: Rows
    columns: tuple[Expr, ...]

    sums: tuple[Tally, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.columns) <= MOST_ELEMENTS:
            raise PlanError(f"a vector sum has between 1 and {MOST_ELEMENTS} columns")
        sums = tuple([Tally(self.rows, (), each) for each in self.columns])
        self.fact(sums=sums, index=(tuple(range(len(sums))),), grid=common_grid([each.grid for each in sums]))

    def derive(self) -> Facts:
        largest = tuple([magnitude(each) for each in self.columns])
        joint = RowVectors(self.rows.distance, largest, row_norms(self.columns))
        return Facts(joint, self.rows.cells, self.rows.cap is not None, monotone=False)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.sums

    def compute(self, *inputs: Any) -> Any:
        return [_on(x, each.grid, self.grid) for x, each in zip(inputs, self.sums, strict=True)]

    def text(self) -> str:
        more = f", … {len(self.columns) - SHOWN} more" if len(self.columns) > SHOWN else ""
        return f"{self.rows} | sum([{', '.join(map(str, self.columns[:SHOWN]))}{more}])"

    def quotes(self) -> Iterator[Node]:
        yield self.rows
        yield from self.columns[:SHOWN]


def magnitude(column: Expr) -> Number:
    """The largest absolute value of a column that can be added up."""
    if isinstance(column.domain, BoolDomain):
        return 1
    assert isinstance(column.domain, (IntDomain, FloatDomain))
    found = column.domain.magnitude
    assert found is not None  # or there is no tally of it
    return found


def row_norms(columns: Sequence[Expr]) -> Norms:
    """Bounds on the norms of one row of these columns, as a sum adds them up: from blocks, which add up.

    The columns may have been carried through a slice together: then it is the same row there.
    """
    while all(isinstance(each, Carried) for each in columns) and len({each.into for each in columns}) == 1:  # type: ignore[attr-defined]
        columns = [each.inner for each in columns]  # type: ignore[attr-defined]
    blocks: dict[Hashable, list[Expr]] = {}
    for i, each in enumerate(columns):
        key = block_of(shrunk(each)) if on_grid(each) else None
        blocks.setdefault(("alone", i) if key is None else key, []).append(each)
    return added([_block_norms(key, each) for key, each in blocks.items()])


def on_grid(column: Expr) -> bool:
    """Whether a sum adds up the values just as they are, without rounding."""
    if isinstance(column.domain, IntDomain):
        return column.domain.bounded and sum_grid(column.domain) == 1
    return isinstance(column, Truncate) or isinstance(column.domain, BoolDomain)


def shrunk(column: Expr) -> Expr:
    """The column that this one is made of by steps that never raise an absolute value."""
    while True:
        match column:
            case Truncate(a):
                column = a
            case Clip(a, low, high) if (low.value or 0) <= 0 <= (high.value or 0):
                column = a
            case Cast(a, "Int64" | "Float64") if isinstance(a.domain, BoolDomain):
                column = a
            case _:
                return column


def block_of(column: Expr) -> Hashable:
    """What columns of one block have in common; None: a block of its own."""
    match column:
        case Arithmetic("*", x, RowScale() as s) if x in s.columns:
            return "scaled", s
        case Compare("==", y, Lit() as key) if key.value is not None:
            return "indicators", y
        case Arithmetic("*", u, v):
            first, second = factor_block(u), factor_block(v)
            return "products", first, second
    return None


def factor_block(factor: Expr) -> Hashable:
    """The block of one factor of a product; a column alone is a block of its own.

    A factor need not be on a grid: it is the product that is added up.
    """
    inner = shrunk(factor)
    match inner:
        case Arithmetic("*", x, RowScale() as s) if x in s.columns and _no_underflow(factor):
            return "scaled", s
        case Compare("==", y, Lit() as key) if key.value is not None:
            return "indicators", y
    return "alone", factor


def _no_underflow(column: Expr) -> bool:
    """``row_scale`` bounds products except for those that underflow, which only ``truncate`` makes zero."""
    return isinstance(column, Truncate)


def _block_norms(key: Hashable, block: list[Expr]) -> Norms:
    alone = added([_one(magnitude(each)) for each in block])
    match key:
        case ("scaled", RowScale() as scale):
            inner = Counter([shrunk(each).a for each in block])  # type: ignore[attr-defined]
            return alone if inner - Counter(scale.columns) else smaller(alone, _scaled_to(scale, len(block)))
        case ("indicators", _):
            keys = [shrunk(each).b for each in block]  # type: ignore[attr-defined]
            return smaller(alone, _one(1)) if _all_differ(keys) else alone
        case ("products", _, _):
            return smaller(alone, _product_norms([shrunk(each) for each in block]) or alone)
    return alone


def _product_norms(products: list[Any]) -> Norms | None:
    """Σ|uᵢ·vⱼ|ᵖ ≤ Σ|uᵢ|ᵖ·Σ|vⱼ|ᵖ, over different pairs."""
    if len({(p.a, p.b) for p in products}) < len(products):
        return None
    left, right = (
        _factor_norms(list(dict.fromkeys(side))) for side in zip(*[(p.a, p.b) for p in products], strict=True)
    )
    if left is None or right is None:
        return None
    return Norms(*[x * y * f for x, y, f in zip(left, right, (PRODUCT, PRODUCT**2, PRODUCT), strict=True)])


def _factor_norms(factors: list[Expr]) -> Norms | None:
    """The norms of different factors that are one block."""
    if any(not each.domain.bounded for each in factors):  # type: ignore[attr-defined]
        return None
    return _block_norms(factor_block(factors[0]), factors)


def _scaled_to(scale: RowScale, size: int) -> Norms:
    """A norm bound in one order, in all orders: ‖x‖∞ ≤ ‖x‖₂ ≤ ‖x‖₁ ≤ √k·‖x‖₂ ≤ k·‖x‖∞."""
    c = Fraction(scale.bound.value)
    match scale.order:
        case "1":
            return Norms(c, c * c, c)
        case "2":
            return Norms(c * sqrt_up(size), c * c, c)
    return Norms(c * size, c * c * size, c)


def _all_differ(keys: list[Any]) -> bool:
    """Whether no two constants can equal the same value: 1, 1.0 and True are the same here, to be safe."""
    return len({key.value for key in keys}) == len(keys)


def _one(size: Number) -> Norms:
    return Norms(size, size * size, size)


def added(blocks: Sequence[Norms]) -> Norms:
    """Blocks side by side."""
    return Norms(
        sum([each.l1 for each in blocks], Fraction(0)),
        sum([each.l2_squared for each in blocks], Fraction(0)),
        max([each.linf for each in blocks]),
    )


def smaller(a: Norms, b: Norms) -> Norms:
    return Norms(min(a.l1, b.l1), min(a.l2_squared, b.l2_squared), min(a.linf, b.linf))
