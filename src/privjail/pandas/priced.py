"""How methods of the face are called: clear errors for a missing price and for unsupported arguments of pandas."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeVar

from privjail.errors import PlanError, RefusedError
from privjail.pandas.keywords import KEYWORDS
from privjail.plan.domain import OrdinalDomain, TimeDomain
from privjail.prisoner import Prisoner

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
AMOUNTS = ("eps", "delta", "rho")
#: What is released about dates in days and about spans in microseconds, and shown as dates and spans again.
OF_TIME = {"mean", "std", "min", "max", "median", "quantile"}


def priced(cls: type[T]) -> type[T]:
    """Every public method: explains a missing eps, takes eps if it gives a private number, and answers
    arguments of pandas that it lacks.
    """
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and inspect.isfunction(method):
            setattr(cls, name, _Call(name, method, 1).wrapped())
    return cls


def function(f: F) -> F:
    """The same for a function of privjail.pandas."""
    return _Call(f.__name__, f, 0).wrapped()  # type: ignore[return-value]


def no_price(owner: Any, name: str, more: bool = False) -> RefusedError:
    """The error for a release without a price, or for what no price buys here."""
    own = getattr(type(owner), "_unpriced", None)
    told: RefusedError | None = own(owner, name) if own is not None else None
    if told is not None:
        return told
    return RefusedError(
        f"{name} releases something about the data, and that has a price: eps= is missing",
        plan=owner._plan() if hasattr(owner, "_plan") else None,
        do=f"say what it may cost: .{name}({'…, ' if more else ''}eps=0.1)",
    )


class _Call:
    """One method, and what its signature says."""

    def __init__(self, name: str, method: Callable[..., Any], bound: int) -> None:
        parameters = list(inspect.signature(method).parameters.values())
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.name, self.method, self.bound = name, method, bound
        self.known = frozenset(p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL))
        self.open = any(p.kind == p.VAR_KEYWORD for p in parameters)
        self.most = 99 if any(p.kind == p.VAR_POSITIONAL for p in parameters) else len(positional)
        self.positional = [p.name for p in positional][bound:]
        eps = inspect.signature(method).parameters.get("eps")
        self.needs_eps = eps is not None and eps.default is inspect.Parameter.empty

    def wrapped(self) -> Callable[..., Any]:
        method, known, most, needs_eps, open_ = self.method, self.known, self.most, self.needs_eps, self.open
        name, of_time = self.name, self.name in OF_TIME and self.bound

        @functools.wraps(method)
        def called(*args: Any, **kwargs: Any) -> Any:
            if (kwargs.keys() <= known or open_) and len(args) <= most:
                if needs_eps and "eps" not in kwargs:
                    raise no_price(args[0] if args else None, self.name, len(args) > self.bound)
                if of_time and args and isinstance(getattr(args[0], "domain", None), (TimeDomain, OrdinalDomain)):
                    return in_its_unit(args[0], name, args[1:], kwargs)
                try:
                    return method(*args, **kwargs)
                except TypeError as error:
                    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                        raise
                    raise self.unfit(str(error)) from None  # raised by the call itself: an argument is missing
            return self.adapted(called, args, kwargs)

        return called

    def unfit(self, said: str) -> PlanError:
        text = said.split("() ", 1)[-1].replace("positional argument", "argument").replace("keyword-only ", "")
        return PlanError(f"{self.name}() is {text}", do=f"{self.name}({', '.join(self.positional) or ''})")

    def adapted(self, called: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call without the arguments that only pandas has, where they change nothing."""
        if len(args) > self.most:
            raise PlanError(
                f"{self.name}() takes at most {self.most - self.bound} arguments without a name",
                do=f"{self.name}({', '.join(self.positional)}); name further arguments",
            )
        rest = {k: v for k, v in kwargs.items() if k in self.known}
        extra = {k: v for k, v in kwargs.items() if k not in self.known}
        if extra.get("numeric_only") is True and hasattr(args[0], "_numbers"):
            extra.pop("numeric_only")
            args = (args[0]._numbers(), *args[1:])
        amounts = {k: extra.pop(k) for k in AMOUNTS if k in extra}
        inplace = extra.pop("inplace", False) if self.bound and hasattr(args[0], "_replace") else False
        for keyword, value in extra.items():
            self.look_up(keyword, value)
        if amounts and "eps" in self.known:
            others = ", ".join(f"{k}=" for k in amounts)
            raise PlanError(f"{self.name}() is paid for with eps= alone; nothing was charged", do=f"leave out {others}")
        result = called(*args, **rest)
        if amounts:
            return self.released(result, amounts)
        if inplace:
            args[0]._replace(result)
            return None
        return result

    def look_up(self, keyword: str, value: Any) -> None:
        rule = KEYWORDS.get(f"{self.name}.{keyword}") or KEYWORDS.get(keyword)
        if rule is None:
            near = get_close_matches(keyword, [*self.known - {"self"}], 1)
            takes = ", ".join(sorted(self.known - {"self"})) or "none"
            raise PlanError(
                f"{self.name}() takes no argument {keyword!r}",
                do=f"did you mean {near[0]}=?" if near else f"its arguments are: {takes}",
            )
        if not rule.accepts(value):
            shown = "a private value" if isinstance(value, Prisoner) else repr(value)
            raise PlanError(f"{self.name}({keyword}={shown}) is not offered: {rule.why}", do=rule.instead)

    def released(self, result: Any, amounts: dict[str, Any]) -> Any:
        if hasattr(result, "reveal"):
            return result.reveal(**amounts)
        raise PlanError(
            f"{self.name}() gives a private column or table and releases nothing, so it costs nothing",
            do=f"leave out {', '.join(f'{k}=' for k in amounts)}",
        )


def in_its_unit(column: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A statistic of a column of dates or spans, as a date or a span."""
    from privjail.pandas.dates import statistic

    return statistic(column, name, args, kwargs)
