"""Methods that release something, and so have a price: they say so when eps is missing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from privjail.errors import RefusedError

T = TypeVar("T")


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
        return method(self, *args, **kwargs)

    return called
