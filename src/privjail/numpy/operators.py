"""The operators of private arrays, by the names of numpy's functions; written out, so that type checkers know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from privjail.numpy import elementwise as each
from privjail.plan.expr import Expr
from privjail.prisoner import Prisoner


class ArrayOperators(Prisoner):
    """Turns every operator into one call of ``_with`` or ``_map``, which the array defines."""

    def _with(self, name: str, other: Any, flip: bool = False) -> Self:
        raise TypeError(f"{type(self).__name__} has no operators")

    def _map(self, f: Callable[[Expr], Expr]) -> Self:
        raise TypeError(f"{type(self).__name__} has no operators")

    def __add__(self, other: Any) -> Self:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Self:
        return self._with("add", other, flip=True)

    def __sub__(self, other: Any) -> Self:
        return self._with("subtract", other)

    def __rsub__(self, other: Any) -> Self:
        return self._with("subtract", other, flip=True)

    def __mul__(self, other: Any) -> Self:
        return self._with("multiply", other)

    def __rmul__(self, other: Any) -> Self:
        return self._with("multiply", other, flip=True)

    def __truediv__(self, other: Any) -> Self:
        return self._with("divide", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._with("divide", other, flip=True)

    def __floordiv__(self, other: Any) -> Self:
        return self._with("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._with("floor_divide", other, flip=True)

    def __mod__(self, other: Any) -> Self:
        return self._with("remainder", other)

    def __rmod__(self, other: Any) -> Self:
        return self._with("remainder", other, flip=True)

    def __pow__(self, other: Any) -> Self:
        return self._with("power", other)

    def __rpow__(self, other: Any) -> Self:
        return self._with("power", other, flip=True)

    def __and__(self, other: Any) -> Self:
        return self._with("bitwise_and", other)

    def __rand__(self, other: Any) -> Self:
        return self._with("bitwise_and", other, flip=True)

    def __or__(self, other: Any) -> Self:
        return self._with("bitwise_or", other)

    def __ror__(self, other: Any) -> Self:
        return self._with("bitwise_or", other, flip=True)

    def __xor__(self, other: Any) -> Self:
        return self._with("bitwise_xor", other)

    def __rxor__(self, other: Any) -> Self:
        return self._with("bitwise_xor", other, flip=True)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._with("equal", other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._with("not_equal", other)

    def __lt__(self, other: Any) -> Self:
        return self._with("less", other)

    def __le__(self, other: Any) -> Self:
        return self._with("less_equal", other)

    def __gt__(self, other: Any) -> Self:
        return self._with("greater", other)

    def __ge__(self, other: Any) -> Self:
        return self._with("greater_equal", other)

    def __neg__(self) -> Self:
        return self._map(each.UNARY["negative"])

    def __pos__(self) -> Self:
        return self._map(each.UNARY["positive"])

    def __abs__(self) -> Self:
        return self._map(each.UNARY["absolute"])

    def __invert__(self) -> Self:
        return self._map(each.UNARY["invert"])

    __hash__ = Prisoner.__hash__  # lost where __eq__ is defined
