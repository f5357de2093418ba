"""Private numbers: arithmetic with a known distance, and their release with noise. Choices are in choices.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from privjail.answers import noisy
from privjail.answers.answer import Answer, Facts
from privjail.budget.amounts import amount, exact, probability
from privjail.errors import PlanError, PrisonerError, UnknownName
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.ops.numbers.combine import Absolute, Add, Extreme, Offset, PublicNumber, Scale, Stack
from privjail.plan.distance import Distance
from privjail.plan.value import Value
from privjail.prisoner import Prisoner

_UFUNCS = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv"}


Key = TypeVar("Key")
Public = TypeVar("Public")  # what a release gives: a float, or a pandas object


class Sensitive(Prisoner, Generic[Public]):
    """A private number, or a vector of them with a public index: it can be computed with, and released."""

    def __init__(self, value: Value) -> None:
        self._value = value

    @property
    def distance(self) -> Distance:
        return self._value.distance

    def _plan(self) -> str:
        return str(self._value)

    def _wrap(self, value: Value) -> Self:
        """The same kind of object around another value of the same shape."""
        raise TypeError

    # -- arithmetic with a known distance

    def _plus(self, other: Any, sign: int) -> Self:
        if isinstance(other, Sensitive):
            return self._wrap(Add(self._value, other._value if sign > 0 else Scale(other._value, Fraction(-1))))
        if not _is_public_number(other):
            return NotImplemented  # type: ignore[no-any-return]
        return self._wrap(Offset(self._value, sign * exact(other)))

    def __add__(self, other: Any) -> Self:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Self:
        return (-self)._plus(other, 1)

    def __neg__(self) -> Self:
        return self._wrap(Scale(self._value, Fraction(-1)))

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self._wrap(Absolute(self._value))

    def __mul__(self, other: Any) -> Self:
        if isinstance(other, Sensitive):
            raise PlanError(
                "the product of two private numbers has no bounded distance",
                plan=f"{self._plan()} * {other._plan()}",
                do="release one of them first, and multiply by the public value",
            )
        if not _is_public_number(other):
            return NotImplemented
        return self._wrap(Scale(self._value, exact(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        if isinstance(other, Sensitive):
            raise PlanError(
                "the quotient of two private numbers has no bounded distance",
                plan=f"{self._plan()} / {other._plan()}",
                do="release both and divide the public values; for averages use .mean(eps=…)",
            )
        if not _is_public_number(other):
            return NotImplemented
        divisor = exact(other)
        if divisor == 0:
            raise PlanError("division by zero", plan=self._plan())
        return self._wrap(Scale(self._value, 1 / divisor))

    def __rtruediv__(self, other: Any) -> Any:
        raise PlanError("dividing by a private number has no bounded distance", do="release it first")

    def _no(self, *_: Any) -> Any:
        raise PlanError("this operation on a private number has no bounded distance", do="release it first")

    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _no

    def _no_decision(self, other: Any) -> Any:
        raise PrisonerError(
            "comparing a private number would show it",
            plan=self._plan(),
            do="release it first, or ask which of several is above a threshold: pj.above_threshold(…, eps=…)",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """What numpy calls for ``numpy.float64(2) * x``."""
        name = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or len(inputs) != 2 or name is None:
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        left, right = inputs
        if left is self:
            return getattr(self, f"__{name}__")(right)
        return getattr(self, f"__r{name}__")(left)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _no_decision
    __hash__ = Prisoner.__hash__

    # -- the way out

    def reveal(
        self, eps: Any = None, *, delta: Any = None, rho: Any = None, scale: Any = None,
        mechanism: str | Mechanism | None = None,
    ) -> Public:  # fmt: skip
        """Release the value with noise, and pay for it.

        With ``eps`` alone Laplace noise; with ``delta`` too, or with ``rho``, Gaussian noise. ``mechanism``: "laplace",
        "gaussian", or a mechanism with parameters of its own. ``scale``: noise of this scale (Gaussian: this standard
        deviation) on each element, at the price that it has.

        >>> df.shape[0].reveal(eps=1)
        ≈ 2000
        """
        if scale is not None and (eps, delta, rho) == (None, None, None):
            noise = noisy.at_scale(self._value, scale, mechanism)
            return self._public(*noisy.release(self._value, noise, as_it_is=True))
        if scale is not None:
            raise PlanError("a scale has a price of its own", do="leave out eps, delta and rho")
        return self._release(_mechanism(eps, delta, rho, mechanism))

    def error(
        self, eps: Any = None, *, delta: Any = None, rho: Any = None, mechanism: str | Mechanism | None = None,
        confidence: float = 0.95,
    ) -> float:  # fmt: skip
        """How far the released value (of a vector: each element) will be off at most, with this confidence.

        Asking is free. Elements of different sensitivity get noise of different scale: the largest counts here.

        >>> df.shape[0].error(eps=0.1)
        30.0
        """
        chosen = _mechanism(eps, delta, rho, mechanism)
        chosen.check(self._value)
        if not 0 < confidence < 1:
            raise PlanError(f"confidence must lie strictly between 0 and 1, got {confidence}")
        scaled, factors = noisy.equalised(self._value) if isinstance(chosen, (Laplace, Gaussian)) else (None, [])
        if scaled is None:
            return float(chosen.error(self._value, confidence))
        return noisy.largest_error(self._value, chosen.error(scaled, confidence), factors)

    def eps_for(self, *, error: Any, confidence: float = 0.95) -> float:
        """The eps at which Laplace noise is off by at most ``error``, with this confidence.

        >>> round(df.shape[0].eps_for(error=30), 2)
        0.1
        """
        wanted = float(amount(error, "error"))
        low, high = 1e-9, 1e6
        if self.error(eps=high, confidence=confidence) > wanted:
            raise PlanError("no eps up to 1e6 makes the noise that small", plan=self._plan())
        for _ in range(100):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.error(eps=middle, confidence=confidence) <= wanted else (middle, high)
        return high

    def _release(self, mechanism: Mechanism) -> Public:
        return self._public(*noisy.release(self._value, mechanism))

    def _public(self, answer: Any, facts: list[Facts]) -> Public:
        """The answer as the analyst gets it, with what is known about each number."""
        raise TypeError


class Number(Sensitive[Answer]):
    """A private number."""

    def _wrap(self, value: Value) -> Self:
        return number(value)  # type: ignore[return-value]  # a whole number times 0.5 is none any more

    if not TYPE_CHECKING:  # to mypy and editors a misspelt method is an error

        def __getattr__(self, name: str) -> Any:
            near = [] if name.startswith("_") else get_close_matches(name, dir(self), 3)
            do = f"did you mean {', '.join(near)}?" if near else "release it first: .reveal(eps=0.1)"
            raise UnknownName(f"a private number has no {name!r}", do=do)

    def _public(self, answer: Any, facts: list[Facts]) -> Answer:
        return Answer(answer, facts[0])


class SensitiveInt(Number):
    """A private whole number."""

    _shown_class = "int"


class SensitiveFloat(Number):
    """A private number that need not be whole."""

    _shown_class = "float"


def number(value: Value) -> SensitiveInt | SensitiveFloat:
    """The face of a private number."""
    return SensitiveInt(value) if value.whole else SensitiveFloat(value)


def _is_public_number(x: Any) -> bool:
    if isinstance(x, bool):
        return False
    if isinstance(x, (int, float, Fraction, Decimal)):
        return True
    return type(x).__module__ == "numpy" and getattr(x, "ndim", 1) == 0 and x.dtype.kind in "iuf"


def _mechanism(eps: Any, delta: Any, rho: Any, kind: str | Mechanism | None) -> Mechanism:
    if isinstance(kind, Mechanism):
        if (eps, delta, rho) != (None, None, None):
            raise PlanError(f"{kind.kind} has parameters of its own", do="leave out eps, delta and rho")
        if not kind.adds_noise:
            raise PlanError(f"{kind.kind} chooses among elements and shows none of them", do="see pj.noisy_max")
        return kind
    gaussian = kind == "gaussian" or delta is not None or rho is not None
    if kind not in (None, "laplace", "gaussian") or (kind == "laplace" and gaussian):
        raise PlanError(f"no mechanism {kind!r} with these parameters", do="use 'laplace' or 'gaussian'")
    if not gaussian:
        if eps is None:
            raise PlanError("a release needs eps", do="reveal(eps=0.1)")
        return Laplace(amount(eps))
    return Gaussian(
        None if eps is None else amount(eps),
        None if delta is None else probability(delta),
        None if rho is None else amount(rho, "rho"),
    )


def _need_sensitive(x: Any, verb: str) -> Sensitive[Any]:
    if isinstance(x, Sensitive):
        return x
    if isinstance(x, Prisoner):
        raise PlanError(
            f"{verb} releases private numbers, not whole tables or columns",
            do="count or sum first: .shape[0], .sum(), .value_counts(sort=False), …",
        )
    raise PlanError(f"{verb} needs a private number, not {type(x).__name__}")


def keys_and_vector(x: Any, verb: str) -> tuple[list[Any], Value]:
    """Keys and one private vector, from a dictionary, a list or a private vector."""
    if isinstance(x, Sensitive) and x._value.index:
        keys = list(x._value.index[0]) if len(x._value.index) == 1 else list(_product(x._value.index))
        return keys, x._value
    if isinstance(x, Mapping):
        keys, items = list(x), list(x.values())
    elif isinstance(x, Iterable) and not isinstance(x, Prisoner):
        items = list(x)
        keys = list(range(len(items)))
    else:
        raise PlanError(f"{verb} needs a private vector, or a list or dict of private numbers")
    if not items:
        raise PlanError(f"{verb} needs at least one private number")
    values = [_need_sensitive(v, verb)._value if isinstance(v, Prisoner) else PublicNumber(exact(v)) for v in items]
    return keys, Stack(tuple(values), tuple(range(len(values))))


def _product(axes: tuple[tuple[Any, ...], ...]) -> Iterable[tuple[Any, ...]]:
    return product(*axes)


@overload
def laplace_mechanism(prisoner: Sensitive[Public], *, eps: Any) -> Public: ...
@overload
def laplace_mechanism(prisoner: Mapping[Key, Any], *, eps: Any) -> dict[Key, Answer]: ...
@overload
def laplace_mechanism(prisoner: list[Any] | tuple[Any, ...], *, eps: Any) -> list[Answer]: ...
def laplace_mechanism(prisoner: Any, *, eps: Any) -> Any:
    """Release a private number or vector with Laplace noise.

    A list or dict of private numbers is released as one vector: ``eps`` pays for all of it.

    >>> pj.laplace_mechanism(df.shape[0], eps=1)
    ≈ 2000
    """
    return _additive(prisoner, Laplace(amount(eps)), "laplace_mechanism")


@overload
def gaussian_mechanism(
    prisoner: Sensitive[Public], *, eps: Any = None, delta: Any = None, rho: Any = None
) -> Public: ...
@overload
def gaussian_mechanism(
    prisoner: Mapping[Key, Any], *, eps: Any = None, delta: Any = None, rho: Any = None
) -> dict[Key, Answer]: ...
@overload
def gaussian_mechanism(
    prisoner: list[Any] | tuple[Any, ...], *, eps: Any = None, delta: Any = None, rho: Any = None
) -> list[Answer]: ...
def gaussian_mechanism(prisoner: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Any:
    """Release a private number or vector with Gaussian noise, for ``eps`` and ``delta``, or for ``rho``.

    >>> x = pj.gaussian_mechanism(zcdp_df.shape[0], rho=0.5)  # zcdp_df has a budget of ρ
    """
    mechanism = _mechanism(eps, delta, rho, "gaussian")
    return _additive(prisoner, mechanism, "gaussian_mechanism")


@overload
def reveal_all(prisoners: Sensitive[Public], *, eps: Any = None, delta: Any = None, rho: Any = None) -> Public: ...
@overload
def reveal_all(
    prisoners: Mapping[Key, Any], *, eps: Any = None, delta: Any = None, rho: Any = None
) -> dict[Key, Answer]: ...
@overload
def reveal_all(
    prisoners: list[Any] | tuple[Any, ...], *, eps: Any = None, delta: Any = None, rho: Any = None
) -> list[Answer]: ...
def reveal_all(prisoners: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Any:
    """Release several private numbers at once, for one price and in one step.

    Each number gets noise by its own scale, as if it were alone with an equal share of the price. ``eps`` may also be
    a dict, or a list, with an ε for each number; they add up to the price.

    >>> x = pj.reveal_all({"rows": df.shape[0], "days": df["days"].sum()}, eps=1)
    >>> y = pj.reveal_all({"rows": df.shape[0], "days": df["days"].sum()}, eps={"rows": 0.1, "days": 0.9})
    """
    if isinstance(eps, (Mapping, list, tuple)):
        return _shared(prisoners, eps, delta, rho)
    return _additive(prisoners, _mechanism(eps, delta, rho, None), "reveal_all")


def _shared(x: Any, eps: Any, delta: Any, rho: Any) -> Any:
    """Several numbers, with an ε for each."""
    if (delta, rho) != (None, None):
        raise PlanError("an eps for each number is for Laplace noise", do="leave out delta and rho")
    if isinstance(x, (Prisoner, int, float)) or isinstance(x, Mapping) != isinstance(eps, Mapping):
        raise PlanError("an eps for each number needs a dict of numbers and a dict of eps, or two lists")
    keys, vector = keys_and_vector(x, "reveal_all")
    if isinstance(eps, Mapping) and set(eps) != set(keys) or len(eps) != len(keys):
        raise PlanError("eps needs one entry for each number", do=f"the numbers are {keys[:10]}")
    each = [amount(eps[key]) for key in keys]
    total = sum(each, Fraction(0))
    answers = _answers(vector, Laplace(total), [share / total for share in each])
    return dict(zip(keys, answers, strict=True)) if isinstance(x, Mapping) else answers


def _additive(x: Any, mechanism: Mechanism, verb: str) -> Any:
    if isinstance(x, (Prisoner, int, float)):
        return _need_sensitive(x, verb)._release(mechanism)
    keys, vector = keys_and_vector(x, verb)
    answers = _answers(vector, mechanism, None)
    return dict(zip(keys, answers, strict=True)) if isinstance(x, Mapping) else answers


def _answers(vector: Value, mechanism: Mechanism, weights: list[Fraction] | None) -> list[Answer]:
    return [Answer(x, facts) for x, facts in zip(*noisy.release(vector, mechanism, weights), strict=True)]


def _extreme(which: str, first: Any, *rest: Any) -> SensitiveInt | SensitiveFloat:
    items = [first, *rest] if rest or isinstance(first, Prisoner) and not _is_vector(first) else first
    _, vector = keys_and_vector(items, f"pj.{which}")
    return number(Extreme(which, vector))


def _is_vector(x: Any) -> bool:
    return isinstance(x, Sensitive) and bool(x._value.index)


def max(first: Any, *rest: Any) -> SensitiveInt | SensitiveFloat:  # noqa: A001
    """The largest of several private numbers: max(a, b, …), of a list, a dict or a private vector.

    >>> x = pj.max(df["age"].sum(), df["days"].sum())
    """
    return _extreme("max", first, *rest)


def min(first: Any, *rest: Any) -> SensitiveInt | SensitiveFloat:  # noqa: A001
    """The smallest of several private numbers: min(a, b, …), of a list, a dict or a private vector.

    >>> x = pj.min(df["age"].sum(), df["days"].sum())
    """
    return _extreme("min", first, *rest)
