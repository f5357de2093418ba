"""The functions of privjail.numpy that go over the rows: they release at once, and their price is ``eps``.

Of public numbers they are numpy's own; eps is then free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy

from privjail.budget.amounts import amount
from privjail.errors import PlanError
from privjail.numpy.arrays import PrivArray, Transposed, asarray, shaped
from privjail.numpy.refused import check_call
from privjail.numpy.sums import SensitiveArray
from privjail.ops.numbers.vector_sum import VectorSum
from privjail.prisoner import Prisoner
from privjail.rowwise import numeric

PRICES = ("eps", "delta", "rho")


def is_private(*values: Any) -> bool:
    """Whether one of the values, or of the elements of a list of them, is private."""
    return any(
        isinstance(x, (Prisoner, Transposed)) or (isinstance(x, (list, tuple)) and is_private(*x)) for x in values
    )


def public_or(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of private values; of public ones numpy's own of this name."""

    def around(f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_private(*args, *kwargs.values()):
                check_call(name, f, args, kwargs)
                return f(*args, **kwargs)
            return getattr(numpy, name)(*args, **{k: v for k, v in kwargs.items() if k not in PRICES})

        call.__name__ = name
        return call

    return around


def observed(x: Any, name: str, y: Any = None, rowvar: Any = None) -> PrivArray:
    """The columns of cov and corrcoef: of X, of X.T, or of two columns; one row per observation."""
    if isinstance(x, Transposed):
        if rowvar is False:
            raise PlanError("X.T has its variables in its rows", do=f"np.{name}(X.T, eps=0.1), np.{name}(X, eps=0.1)")
        x = x.T
    elif rowvar and isinstance(asarray(x), PrivArray) and asarray(x).ndim > 1:
        raise PlanError("the rows of a private array are observations", do=f"np.{name}(X, rowvar=False, eps=0.1)")
    parts = [asarray(p) for p in (x, *(() if y is None else (y,)))]
    from privjail.numpy.protocol import column_stack

    found = column_stack(parts)
    if found._cells.ndim != 1:
        raise PlanError(f"{name} takes an array of two axes", do=f"np.{name}(X, eps=0.1)")
    return found


@public_or("cov")
def cov(m: Any, y: Any = None, rowvar: Any = None, bias: bool = False, ddof: Any = None, *, rho: Any = None,
        eps: Any = None, delta: Any = None) -> Any:  # fmt: skip
    """The covariance matrix of a private array's columns (one row per observation), released at one price.

    From one vector: the number of rows, the sums and the products, all measured from the middle of each column's range.
    """
    if bias or ddof not in (None, 1):
        raise PlanError("cov divides by the number of rows less one", do="np.cov(X, eps=0.1)")
    array = observed(m, "cov", y, rowvar)
    if eps is None and rho is None:
        raise PlanError("cov over the rows is released at once and needs eps", do="np.cov(X, eps=0.1)")
    from privjail.statistics.moments import covariance

    return covariance(array._rows, array._flat, eps=eps, delta=delta, rho=rho)


@public_or("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: Any = None, *, rho: Any = None, eps: Any = None, delta: Any = None) -> Any:
    """The correlations of a private array's columns, computed from a released covariance matrix.

    >>> r = np.corrcoef(df["age"], df["days"], eps=1)
    """
    array = observed(x, "corrcoef", y, rowvar)
    if eps is None and rho is None:
        raise PlanError("corrcoef over the rows is released at once and needs eps", do="np.corrcoef(X, eps=0.1)")
    found = numpy.asarray(cov(array, eps=eps, delta=delta, rho=rho))
    sizes = numpy.sqrt(numpy.diag(found))
    with numpy.errstate(divide="ignore", invalid="ignore"):
        shares = numpy.clip(found / numpy.outer(sizes, sizes), -1, 1)
    numpy.fill_diagonal(shares, 1.0)
    return shares


@public_or("average")
def average(a: Any, axis: Any = None, weights: Any = None, *, eps: Any = None) -> Any:
    """The mean; with weights the quotient of two noisy sums, both from one release at eps.

    >>> x = np.average(df["cost"], weights=df["days"], eps=1)
    """
    array = asarray(a)
    if not isinstance(array, PrivArray):
        raise PlanError("public numbers cannot be averaged by private weights", do="np.average(X, weights=w, eps=0.1)")
    if weights is None:
        return array.mean(axis, eps=eps)
    array._need_eps("average", axis, eps)
    heavy = asarray(weights)
    if not isinstance(heavy, PrivArray) or heavy.ndim != 1:
        raise PlanError(
            "the weights of private rows are a private column", do='np.average(X, weights=df["w"], eps=0.1)'
        )
    weighed = array * (heavy if array.ndim == 1 else heavy._new(heavy._cells.reshape((1,) * array._cells.ndim)))
    known = heavy * ~_missing(array) if array.ndim == 1 else heavy
    parts = [numeric(e) for e in (*weighed._flat, *known._flat)]
    sums = SensitiveArray(VectorSum(array._rows, tuple(parts)), numpy.arange(len(parts))).reveal(eps=eps)
    domains: list[Any] = [numeric(e).domain for e in array._flat]
    ends = [(domain.lower, domain.upper) for domain in domains]
    total = float(sums[-1])
    means = [
        _within(float(s) / total if total > 0 else low, low, high) for s, (low, high) in zip(sums, ends, strict=False)
    ]
    return shaped(means, array._cells.shape)


def _missing(array: PrivArray) -> PrivArray:
    from privjail.numpy import elementwise as each

    return array._map(each.UNARY["isnan"])


def _within(x: float, low: Any, high: Any) -> float:
    return float(min(max(x, low), high))


def _over_rows(name: str) -> Callable[..., Any]:
    """mean, var, std, min, max: methods of the array."""

    @public_or(name)
    def call(a: Any, axis: Any = None, **options: Any) -> Any:
        array = asarray(a)
        if not isinstance(array, PrivArray):
            array = observed(a, name)
        for unused in ("dtype", "out"):
            if options.pop(unused, None) is not None:
                raise PlanError(
                    f"{name}({unused}=) is not offered for private arrays", do=f"np.{name}(X, axis=0, eps=0.1)"
                )
        method = getattr(array, name.removeprefix("nan").removeprefix("a"))
        check_call(name, method, (axis,), options)
        return method(axis, **options)

    call.__doc__ = f"""numpy.{name}; over the rows of a private array it needs eps, and leaves out missing elements.

    >>> x = np.{name}(df["days"], eps=1)
    """
    return call


@public_or("quantile")
def quantile(a: Any, q: Any, axis: Any = None, *, eps: Any = None, **options: Any) -> Any:
    """Quantiles of a private column, or of each column of an array (axis=0), at eps in all.

    >>> x = np.quantile(df["days"], [0.1, 0.9], eps=1)
    """
    from privjail.statistics.quantile import quantiles

    if options:
        raise PlanError(f"quantile({min(options)}=) is not offered", do="np.quantile(X, 0.5, axis=0, eps=0.1)")
    array, shares = asarray(a), numpy.atleast_1d(q).tolist()
    if not isinstance(array, PrivArray):
        raise PlanError("the shares of quantiles must be public numbers", do="np.quantile(X, 0.5, axis=0, eps=0.1)")
    if eps is None:
        raise PlanError("quantiles need eps, which pays for them", do="np.quantile(X, 0.5, axis=0, eps=0.1)")
    if axis not in (0, None) or (axis is None and array.ndim > 1):
        raise PlanError("quantiles go over the rows: axis=0", do="np.quantile(X, 0.5, axis=0, eps=0.1)")
    if array.ndim == 1:
        found: Any = quantiles(array._rows, array._flat[0], shares, eps)
        return found[0] if numpy.ndim(q) == 0 else numpy.array(found)
    each = amount(eps) / array._cells.size
    columns = [quantiles(array._rows, e, shares, each) for e in array._flat]
    table = numpy.array(columns, dtype=numpy.float64).T.reshape(len(shares), *array._cells.shape)
    return table[0] if numpy.ndim(q) == 0 else table


@public_or("percentile")
def percentile(a: Any, q: Any, axis: Any = None, *, eps: Any = None, **options: Any) -> Any:
    """Percentiles of a private column, or of each column of an array (axis=0), at eps in all."""
    from fractions import Fraction

    shares = [float(Fraction(str(share)) / 100) for share in numpy.atleast_1d(q).tolist()]
    return quantile(a, shares[0] if numpy.ndim(q) == 0 else shares, axis, eps=eps, **options)


@public_or("median")
def median(a: Any, axis: Any = None, *, eps: Any = None, **options: Any) -> Any:
    """The median of a private column, or of each column of an array (axis=0), at eps in all."""
    return quantile(a, 0.5, axis, eps=eps, **options)


def _paid(name: str) -> Callable[..., Any]:
    """sum, histogram, …: private numbers, released at once where a price is named."""

    @public_or(name)
    def call(*args: Any, **kwargs: Any) -> Any:
        price = {k: kwargs.pop(k) for k in PRICES if k in kwargs}
        density = kwargs.pop("density", None) if price else None
        found = _private(name, *args, **kwargs)
        if not price:
            return found
        if not isinstance(found, tuple):
            return found.reveal(**price)
        counts = found[0].reveal(**price)
        return (_density(counts, found[1:]) if density else counts, *found[1:])

    call.__doc__ = f"numpy.{name} of private rows: private numbers; released at once if eps is given."
    return call


def _private(name: str, *args: Any, **kwargs: Any) -> Any:
    from privjail.numpy.protocol import function

    return function(None, getattr(numpy, name), args, kwargs)


def _density(counts: Any, edges: Any) -> Any:
    """Released counts as a density: no count below zero, and a total of one."""
    counts = numpy.maximum(counts, 0)
    ends = edges[0] if len(edges) == 1 and isinstance(edges[0], list) else edges
    sizes = numpy.ones(())
    for e in ends:
        sizes = numpy.multiply.outer(sizes, numpy.diff(e))
    return counts / max(float(counts.sum()), 1.0) / sizes


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _over_rows(name) for name in ("mean", "var", "std", "min", "max", "amin", "amax")},
    **{f"nan{name}": _over_rows(f"nan{name}") for name in ("mean", "var", "std", "min", "max")},
    **{name: _paid(name) for name in ("sum", "nansum", "count_nonzero", "histogram", "histogram2d", "histogramdd",
                                      "bincount", "dot", "matmul", "inner", "vdot")},
    **{f"nan{f.__name__}": public_or(f"nan{f.__name__}")(f) for f in (median, quantile, percentile)},
    "cov": cov, "corrcoef": corrcoef, "average": average,
    "median": median, "quantile": quantile, "percentile": percentile,
}  # fmt: skip
