"""groupby(…).apply and .transform: code that runs at the analyst's side, on private groups that it cannot look into."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError, RefusedError
from privjail.ops.numbers.combine import Stack
from privjail.pandas.aggregate import statistic_of
from privjail.pandas.axes import Axis
from privjail.pandas.priced import no_price
from privjail.pandas.series import PrivSeries
from privjail.pandas.vectors import SensitiveSeries
from privjail.prisoner import Prisoner
from privjail.sensitive import Number
from privjail.together import several


def applied(groups: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """f(group) of every possible group: released values as a Series, Series as a table, private numbers as a vector.

    The groups exclude each other, so what f releases of each is paid once.
    """
    import pandas

    if isinstance(f, str):
        return getattr(groups, f)(*args, **kwargs)
    found = [f(group, *args, **kwargs) for _, group in groups]
    if not any(isinstance(each, Prisoner) for each in found):
        if all(isinstance(each, pandas.Series) for each in found):
            return pandas.DataFrame([each.to_list() for each in found], groups._index(), found[0].index)
        return pandas.Series(found, index=groups._index())
    if all(isinstance(each, Number) for each in found):
        labels = tuple(range(len(found)))
        vector = SensitiveSeries(Stack(tuple(each._value for each in found), labels), None, (Axis(),))
        return _labelled(vector, groups._index())
    raise RefusedError(
        "apply gives one number for each group; this gives private rows",
        do='release something of each group: `df.groupby("g").apply(lambda group: group["a"].mean(eps=0.1))`',
    )


def _labelled(vector: SensitiveSeries, index: Any) -> Any:
    from privjail.pandas.deferred import deferred

    return deferred(vector, "labelled by group", lambda found: found.set_axis(index))


@several
def transformed(groups: Any, func: Any, eps: Any) -> PrivSeries:
    """The released statistic of its group, in each row: a private column made from public numbers."""
    if callable(func) and getattr(func, "__name__", "") == "<lambda>":
        raise RefusedError(
            "transform takes the name of a statistic: a function of a whole group does not run on private data",
            do='`df["b"].fillna(df.groupby("g")["b"].transform("median", eps=0.1))`, '
            '`df["a"] - df.groupby("g")["a"].transform("mean", eps=0.1)`',
        )
    name = statistic_of(func)
    if eps is None:
        raise no_price(groups, "transform", more=True)
    if len(groups._keys) != 1:
        raise PlanError("transform takes one key", do='`df.groupby("g")["a"].transform("mean", eps=0.1)`')
    found = getattr(groups, name)(eps=eps)
    key = PrivSeries(groups._frame._rows, groups._keys[0], groups._name)
    labels = [label for label, _ in groups]
    spelled = [str(label) if type(label).__name__ == "Interval" else label for label in labels]
    return key.map(dict(zip(spelled, [float(x) for x in found], strict=True)))
