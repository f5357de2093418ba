"""astype from or to dates, spans of time and periods; texts of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.recode import Recode
from privjail.ops.rows.deciding import label_lit
from privjail.pandas.dates import as_numbers, kind_of, parsed, shown_type
from privjail.pandas.periods import unit_of
from privjail.plan.domain import CategoryDomain
from privjail.plan.node import Lit

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries


def retyped(series: PrivSeries, dtype: Any) -> Any:
    """astype from or to dates, spans and periods; None where neither is one."""
    if getattr(dtype, "categories", None) is not None or str(dtype) == "category":
        return None
    kind, spelled = kind_of(series._expr), dtype.__name__ if isinstance(dtype, type) else str(dtype)
    to = {"datetime": "moment", "timedelta": "span", "period": "period"}.get(spelled.split("64")[0].split("[")[0])
    if to == "moment" and kind != "span":
        return parsed(series, {})
    if to == "span" and kind == "span":
        return series
    if to == "period" and kind in ("moment", "period"):
        return series if kind == "period" else series.dt.to_period(spelled[7:-1])
    if not kind and to is None:
        return _texts(series, spelled)
    if spelled in ("Int64", "int", "int64") and kind in ("moment", "span"):
        return series._new(as_numbers(series._expr))
    if spelled in ("str", "string", "object") and kind == "period":
        return series.map(str)
    if spelled in ("str", "string", "object") and kind == "moment" and unit_of(series.domain)[1] == "D":
        return series.dt.strftime("%Y-%m-%d")
    raise PlanError(
        f"a {shown_type(series.domain)} column cannot become {spelled}",
        do='use .dt.strftime("%Y-%m-%d"), .dt.days, .dt.total_seconds(), or pd.to_datetime(…)',
    )


def _texts(series: PrivSeries, spelled: str) -> Any:
    """Texts of categories are categories: their list is public."""
    domain = series.domain
    if spelled in ("str", "object") and isinstance(domain, CategoryDomain):
        if all(isinstance(label, str) for label in domain.categories):
            return series
        names = [str(label) for label in domain.categories]
        if len(set(names)) == len(names):
            pairs = zip(map(label_lit, domain.categories), map(Lit.of, names), strict=True)
            return series._new(Recode(series._expr, tuple(pairs), 0))
    return None
