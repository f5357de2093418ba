"""Methods that release something, and so have a price: they say so when eps is missing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from privjail.errors import RefusedError
from privjail.plan.domain import OrdinalDomain, TimeDomain

T = TypeVar("T")
#: What is released about dates in days and about spans in microseconds, and shown as dates and spans again.
OF_TIME = {"mean", "std", "min", "max", "median", "quantile"}


def priced(cls: type[T]) -> type[T]:
    """Every public method with a keyword ``eps`` explains itself when it is called without one."""
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and inspect.isfunction(method) and "eps" in inspect.signature(method).parameters:
            setattr(cls, name, _needs_eps(name, method))
    return cls


def _needs_eps(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "eps" not in kwargs:
            raise RefusedError(
                f"{name} releases something about the data, and that has a price: eps= is missing",
                plan=self._plan(),
                do=f"say what it may cost: .{name}({'…, ' if args else ''}eps=0.1)",
            )
        found = in_its_unit(self, name, args, kwargs)
        return method(self, *args, **kwargs) if found is None else found

    return called


def in_its_unit(column: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A statistic of a column of dates or spans, as a date or a span; None for all other columns."""
    if name not in OF_TIME or not isinstance(getattr(column, "domain", None), (TimeDomain, OrdinalDomain)):
        return None
    from privjail.pandas.dates import statistic

    return statistic(column, name, args, kwargs)
