"""Operators and their method spellings, for columns and tables alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from privjail.errors import PlanError
from privjail.pandas.priced import priced
from privjail.prisoner import Prisoner

if TYPE_CHECKING:
    from privjail.numpy.arrays import PrivArray

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOGIC = ("&", "|", "^")

#: numpy functions of one column that have a rule here
UNARY_UFUNCS = {
    "absolute": "abs", "fabs": "abs", "exp": "exp", "log": "log", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "negative": "__neg__", "invert": "__invert__", "logical_not": "__invert__", "isnan": "isna",
}  # fmt: skip
#: numpy functions of two operands that numpy calls for ``numpy.float64(2) * column``
BINARY_UFUNCS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "floor_divide": "//",
    "remainder": "%", "power": "**", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^",
}  # fmt: skip
_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@priced
class Operators(Prisoner):
    """Turns every operator into one call of ``_operate(symbol, other, flip)``, which the face defines."""

    def _operate(self, op: str, other: Any, flip: bool = False) -> Self:
        raise TypeError(f"{type(self).__name__} has no operators")

    def __add__(self, other: Any) -> Self:
        return self._operate("+", other)

    def __radd__(self, other: Any) -> Self:
        return self._operate("+", other, flip=True)

    def __sub__(self, other: Any) -> Self:
        return self._operate("-", other)

    def __rsub__(self, other: Any) -> Self:
        return self._operate("-", other, flip=True)

    def __mul__(self, other: Any) -> Self:
        return self._operate("*", other)

    def __rmul__(self, other: Any) -> Self:
        return self._operate("*", other, flip=True)

    def __truediv__(self, other: Any) -> Self:
        return self._operate("/", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._operate("/", other, flip=True)

    def __floordiv__(self, other: Any) -> Self:
        return self._operate("//", other)

    def __rfloordiv__(self, other: Any) -> Self:
        return self._operate("//", other, flip=True)

    def __mod__(self, other: Any) -> Self:
        return self._operate("%", other)

    def __rmod__(self, other: Any) -> Self:
        return self._operate("%", other, flip=True)

    def __pow__(self, other: Any) -> Self:
        return self._operate("**", other)

    def __rpow__(self, other: Any) -> Self:
        return self._operate("**", other, flip=True)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._operate("==", other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._operate("!=", other)

    def __lt__(self, other: Any) -> Self:
        return self._operate("<", other)

    def __le__(self, other: Any) -> Self:
        return self._operate("<=", other)

    def __gt__(self, other: Any) -> Self:
        return self._operate(">", other)

    def __ge__(self, other: Any) -> Self:
        return self._operate(">=", other)

    __hash__ = Prisoner.__hash__

    def __and__(self, other: Any) -> Self:
        return self._operate("&", other)

    def __or__(self, other: Any) -> Self:
        return self._operate("|", other)

    def __xor__(self, other: Any) -> Self:
        return self._operate("^", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __neg__(self) -> Self:
        return self._operate("-", 0, flip=True)

    def __pos__(self) -> Self:
        return self

    # -- the same as methods, under the names of pandas

    def add(self, other: Any) -> Self:
        """self + other, row by row.

        >>> x = df["days"].add(1)
        """
        return self._operate("+", other)

    def sub(self, other: Any) -> Self:
        """self - other, row by row.

        >>> x = df["days"].sub(1)
        """
        return self._operate("-", other)

    subtract = sub

    def mul(self, other: Any) -> Self:
        """self * other, row by row.

        >>> x = df["cost"].mul(1.19)
        """
        return self._operate("*", other)

    multiply = mul

    def truediv(self, other: Any) -> Self:
        """self / other, row by row.

        >>> x = df["cost"].truediv(1000)
        """
        return self._operate("/", other)

    div = truediv
    divide = truediv

    def floordiv(self, other: Any) -> Self:
        """self // other, row by row.

        >>> x = df["age"].floordiv(10)
        """
        return self._operate("//", other)

    def mod(self, other: Any) -> Self:
        """self % other, row by row.

        >>> x = df["age"].mod(10)
        """
        return self._operate("%", other)

    def pow(self, other: Any) -> Self:
        """self ** other, row by row.

        >>> x = df["days"].pow(2)
        """
        return self._operate("**", other)

    def radd(self, other: Any) -> Self:
        """other + self, row by row.

        >>> x = df["days"].radd(100)
        """
        return self._operate("+", other, flip=True)

    def rsub(self, other: Any) -> Self:
        """other - self, row by row.

        >>> x = df["days"].rsub(100)
        """
        return self._operate("-", other, flip=True)

    def rmul(self, other: Any) -> Self:
        """other * self, row by row.

        >>> x = df["days"].rmul(100)
        """
        return self._operate("*", other, flip=True)

    def rtruediv(self, other: Any) -> Self:
        """other / self, row by row.

        >>> x = df["days"].rtruediv(100)
        """
        return self._operate("/", other, flip=True)

    rdiv = rtruediv

    def rfloordiv(self, other: Any) -> Self:
        """other // self, row by row.

        >>> x = df["days"].rfloordiv(100)
        """
        return self._operate("//", other, flip=True)

    def rmod(self, other: Any) -> Self:
        """other % self, row by row.

        >>> x = df["days"].rmod(100)
        """
        return self._operate("%", other, flip=True)

    def eq(self, other: Any) -> Self:
        """self == other, row by row.

        >>> x = df["age"].eq(65)
        """
        return self._operate("==", other)

    def ne(self, other: Any) -> Self:
        """self != other, row by row.

        >>> x = df["age"].ne(65)
        """
        return self._operate("!=", other)

    def lt(self, other: Any) -> Self:
        """self < other, row by row.

        >>> x = df["age"].lt(65)
        """
        return self._operate("<", other)

    def le(self, other: Any) -> Self:
        """self <= other, row by row.

        >>> x = df["age"].le(65)
        """
        return self._operate("<=", other)

    def gt(self, other: Any) -> Self:
        """self > other, row by row.

        >>> x = df["age"].gt(65)
        """
        return self._operate(">", other)

    def ge(self, other: Any) -> Self:
        """self >= other, row by row.

        >>> x = df["age"].ge(65)
        """
        return self._operate(">=", other)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """``numpy.log(column)``, and what numpy calls for ``numpy.float64(2) * column``."""
        name = ufunc.__name__
        if method == "__call__" and not kwargs and all(_plain(x) for x in inputs):
            if len(inputs) == 1 and name in UNARY_UFUNCS and hasattr(self, UNARY_UFUNCS[name]):
                return getattr(self, UNARY_UFUNCS[name])()
            if len(inputs) == 2 and name in BINARY_UFUNCS:
                op = BINARY_UFUNCS[name]
                left, right = inputs
                if left is self:
                    return self._operate(op, right)
                return self._operate(_MIRROR[op], left) if op in _MIRROR else self._operate(op, left, flip=True)
        from privjail.numpy.protocol import ufunc as call

        found = call(self, ufunc, method, inputs, kwargs)
        return self._like(found) if method == "__call__" and name != "matmul" else found

    def _like(self, array: PrivArray) -> Any:
        """An array as the column or table that it was made of."""
        return array

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """``numpy.where(column > 5, 1, 0)``, ``numpy.histogram(column, …)``, …"""
        from privjail.numpy.protocol import function

        return function(self, func, args, kwargs)

    def to_numpy(self) -> PrivArray:
        """A private array: its first axis is the rows, which stay private.

        >>> df[["age", "days"]].to_numpy().ndim
        2
        """
        from privjail.numpy.arrays import asarray

        found: PrivArray = asarray(self)
        return found

    @property
    def values(self) -> PrivArray:
        """The same as .to_numpy().

        >>> df[["age", "days"]].values.ndim
        2
        """
        try:
            return self.to_numpy()
        except PlanError:  # hasattr() must keep working; why it is not there stands in refusals.py
            raise AttributeError("values") from None


def _plain(x: Any) -> bool:
    """A private column or table, or one public constant: no array, whose rows would have to be matched."""
    return isinstance(x, Operators) or not getattr(x, "ndim", 0)
