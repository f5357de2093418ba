"""What every private value refuses: to be looked at, decided on, counted, copied or converted."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NoReturn

from privjail.errors import PrisonerError, RefusedError
from privjail.other_libraries import refusal
from privjail.plan.distance import Distance


class Prisoner:
    """A value derived from private data. It shows its facts, never itself."""

    #: what the value would be outside: shown by ``repr``
    _shown_class = "object"
    _way_out = "release it through a mechanism, e.g. .reveal(eps=…)"
    #: pandas leaves an operator to the operand of the higher priority: a public Series must not take us for data
    __pandas_priority__ = 10_000

    @property
    def _typ(self) -> str:
        """What pandas asks of all that its own functions are given: ``pandas.concat([x])``, ``public.merge(x)``."""
        name = _asking_function()
        ours = hasattr(sys.modules.get("privjail.pandas"), name)
        raise RefusedError(
            f"pandas' own {name} cannot take a private value" if name else "pandas itself cannot take a private value",
            plan=self._plan(),
            do=f"use pd.{name}(…) after `from privjail import pandas as pd`" if ours else self._way_out,
        )

    @property
    def distance(self) -> Distance:
        raise TypeError

    @property
    def max_distance(self) -> float:
        """The largest change that one privacy unit can cause; inf if there is no bound."""
        value = self.distance.value
        return float("inf") if value is None else float(value)

    def __repr__(self) -> str:
        return f"Prisoner(<class '{self._shown_class}'>, distance={self.distance})"

    __str__ = __repr__

    def _refuse(self, what: str) -> NoReturn:
        raise PrisonerError(f"{what} would show a private value", plan=self._plan(), do=self._way_out)

    def _plan(self) -> str | None:
        return None

    def __bool__(self) -> bool:
        self._refuse("a decision (if, and, or, not, while)")

    def __len__(self) -> int:
        raise refusal(self._plan()) or PrisonerError(
            "len() must return a plain number, but the number of rows is private",
            plan=self._plan(),
            do="use .shape[0], which is a private number, and release it: .shape[0].reveal(eps=…)",
        )

    def __iter__(self) -> Any:
        self._refuse("iterating over rows")

    def __contains__(self, item: Any) -> bool:
        self._refuse("the test with 'in'")

    def __hash__(self) -> int:
        self._refuse("hash()")

    def __float__(self) -> float:
        self._refuse("float()")

    def __int__(self) -> int:
        self._refuse("int()")

    def __index__(self) -> int:
        self._refuse("use as an index")

    def __complex__(self) -> complex:
        self._refuse("complex()")

    def __format__(self, spec: str) -> str:
        self._refuse("formatting into text")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        told = refusal(self._plan())
        if told is not None:
            raise told
        self._refuse("conversion to a numpy array")

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("a numpy function")

    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("a numpy function")

    def __dataframe__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("the dataframe interchange protocol")

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._refuse("pickling or copying")

    def __copy__(self) -> Any:
        self._refuse("copy.copy()")

    def __deepcopy__(self, memo: Any) -> Any:
        self._refuse("copy.deepcopy()")

    def __bytes__(self) -> bytes:
        self._refuse("bytes()")

    def __round__(self, digits: Any = None) -> Any:
        self._refuse("round()")

    def __trunc__(self) -> Any:
        self._refuse("trunc()")

    def __floor__(self) -> Any:
        self._refuse("floor()")

    def __ceil__(self) -> Any:
        self._refuse("ceil()")

    def __next__(self) -> Any:
        self._refuse("next()")

    def __reversed__(self) -> Any:
        self._refuse("reversed()")

    def __getstate__(self) -> Any:
        self._refuse("pickling or copying")

    def __arrow_c_stream__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("conversion to Arrow")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._no_rule("setting elements")

    def __delitem__(self, key: Any) -> None:
        self._no_rule("deleting elements")

    def _no_rule(self, what: str) -> NoReturn:
        raise PrisonerError(f"{what} has no rule for a private value", plan=self._plan(), do=self._way_out)


def _asking_function() -> str:
    """The name of the function of pandas that was called; nothing if it is an operator or a constructor."""
    frame: FrameType | None = sys._getframe(2)
    name = ""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith("pandas."):
            name = frame.f_code.co_name  # of the outermost one, in the end
        frame = frame.f_back
    return "" if name.startswith("_") else name


def _operator(symbol: str) -> Any:
    def method(self: Prisoner, *_: Any) -> Any:
        self._no_rule(symbol)

    return method


_OPERATORS = {
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@", "divmod": "divmod()",
}  # fmt: skip
for _name, _symbol in _OPERATORS.items():
    setattr(Prisoner, f"__{_name}__", _operator(_symbol))
    setattr(Prisoner, f"__r{_name}__", _operator(_symbol))
setattr(Prisoner, "__invert__", _operator("~"))  # noqa: B010
