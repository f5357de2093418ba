"""+ on texts and categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Concat
from privjail.pandas.periods import plus, times
from privjail.plan.domain import CategoryDomain, TextDomain, UntypedDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.prisoner import Prisoner
from privjail.rowwise import same_rows

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries

MOST_LABELS = 2_000  # pairs of labels that become one column of categories


def is_text(expr: Expr) -> bool:
    """Whether a column holds texts: free ones (untyped ones are numbers where they are added), or labels."""
    domain = expr.domain
    if isinstance(domain, CategoryDomain):
        return all(isinstance(label, str) for label in domain.categories)
    return isinstance(domain, TextDomain) and not isinstance(domain, UntypedDomain)


def joined(series: PrivSeries, other: Any, flip: bool) -> Any:
    """One text behind another; None if the operands are no texts."""
    private = isinstance(other, Prisoner)
    if not private and not isinstance(other, str) or private and not isinstance(getattr(other, "_expr", None), Expr):
        return None
    untyped = isinstance(series.domain, UntypedDomain) and isinstance(other, str)
    if not is_text(series._expr) and not untyped:
        if private and is_text(other._expr) or isinstance(other, str):
            raise PlanError("+ joins texts, or adds numbers", do='convert first: df["n"].astype("string") + "…"')
        return None
    if not private:
        return series._new(_with_constant(series._expr, other, flip))
    if not is_text(other._expr) and not isinstance(other.domain, UntypedDomain):
        raise PlanError("+ joins texts, or adds numbers", do='convert first: df["a"] + df["n"].astype("string")')
    rows, (a, b) = same_rows((series._rows, series._expr), (other._rows, other._expr))
    return series._new(_both(b, a) if flip else _both(a, b), rows)


def _with_constant(expr: Expr, text: str, flip: bool) -> Expr:
    if isinstance(expr.domain, CategoryDomain):
        made = [(label, text + label if flip else label + text) for label in expr.domain.categories]
        return Recode(expr, tuple((Lit.of(a), Lit.of(b)) for a, b in made), 0)
    if not text:
        return expr
    fixed = Cast(Constant(Lit.of(text)), "string")
    return Concat(fixed, expr) if flip else Concat(expr, fixed)


def _both(a: Expr, b: Expr) -> Expr:
    x, y = a.domain, b.domain
    if isinstance(x, CategoryDomain) and isinstance(y, CategoryDomain):
        size = len(x.categories) * len(y.categories)
        if size <= MOST_LABELS:
            return _pairs(a, b, x, y)
    return Concat(*(Cast(e, "string") if isinstance(e.domain, CategoryDomain) else e for e in (a, b)))


def _pairs(a: Expr, b: Expr, x: CategoryDomain, y: CategoryDomain) -> Expr:
    """The pair of labels as one number, and that as one label: the result has finitely many values."""
    place = plus(times(codes(a, x), len(y.categories)), codes(b, y))
    made = [p + q for p in x.categories for q in y.categories]
    return Recode(place, tuple((Lit.of(i), Lit.of(label)) for i, label in enumerate(made)), 0)


def codes(expr: Expr, domain: CategoryDomain) -> Expr:
    """The position of each label."""
    from privjail.ops.rows.deciding import label_lit

    return Recode(expr, tuple((label_lit(label), Lit.of(i)) for i, label in enumerate(domain.categories)), 0)
