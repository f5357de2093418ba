"""get_dummies: one true/false column for each possible value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.isin import IsIn, IsNull
from privjail.ops.rows.deciding import label_lit
from privjail.pandas.series import TYPES, PrivSeries
from privjail.plan.domain import CategoryDomain, TextDomain, UntypedDomain
from privjail.plan.expr import Expr

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame

MOST_COLUMNS = 1_000


def dummies_of(series: PrivSeries, prefix: str | None, sep: str, na: bool, first: bool, dtype: Any) -> dict[Any, Expr]:
    """The columns that stand for one column, by their names."""
    labels = series.domain.labels
    if labels is None:
        raise RefusedError(
            f"which values {series.name!r} holds is private, so it has no columns of its own",
            do=f'declare them: df["{series.name}"].astype(pd.CategoricalDtype(["a", "b"]))',
        )
    if len(labels) > MOST_COLUMNS:
        raise PlanError(f"{len(labels)} possible values would be as many columns", do="group them with pd.cut first")
    spelled = dtype.__name__ if isinstance(dtype, type) else dtype
    kind = None if spelled is None else TYPES.get(str(spelled), str(spelled))
    found: dict[Any, Expr] = {}
    for label in list(labels)[1 if first else 0 :]:
        expr: Expr = IsIn(series._expr, (label_lit(label),))
        found[label if prefix is None else f"{prefix}{sep}{label}"] = expr
    if na:
        found[float("nan") if prefix is None else f"{prefix}{sep}nan"] = IsNull(series._expr)
    return found if kind in (None, "boolean") else {n: Cast(e, kind) for n, e in found.items()}


def table_dummies(
    table: PrivDataFrame, prefix: Any, sep: str, na: bool, columns: Any, first: bool, dtype: Any
) -> PrivDataFrame:
    """A table with some columns replaced by those that stand for them: categories and text, unless named."""
    kinds = (CategoryDomain, TextDomain, UntypedDomain)
    chosen = [n for n, d in table.domains.items() if isinstance(d, kinds)] if columns is None else list(columns)
    if isinstance(prefix, (list, tuple)):
        prefix = dict(zip(chosen, prefix, strict=True))
    kept = {n: e for n, e in table._exprs.items() if n not in chosen}
    for name in chosen:
        begin = prefix.get(name, name) if isinstance(prefix, Mapping) else prefix if prefix is not None else name
        kept |= dummies_of(table._series(name), str(begin), sep, na, first, dtype)
    return table._new(kept)
