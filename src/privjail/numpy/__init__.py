"""numpy on private arrays: ``from privjail import numpy as np``.

Functions of private arrays and columns build plans; aggregates over the rows give private sums, or take ``eps``.
All other names are numpy's own.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from privjail.errors import PlanError
from privjail.numpy import elementwise as _each
from privjail.numpy.array import PrivArray, asarray, clip_norm, norm, normalize
from privjail.numpy.public import eye, take
from privjail.numpy.sums import SensitiveArray
from privjail.prisoner import Prisoner

__all__ = ["PrivArray", "SensitiveArray", "asarray", "clip_norm", "cov", "eye", "mean", "median", "norm", "normalize",
           "percentile", "quantile", "sigmoid", "std", "take", "var"]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)


def sigmoid(x: Any) -> Any:
    """1 / (1 + e**-x), row by row; of public numbers too.

    >>> X = np.sigmoid(df["days"])
    """
    if isinstance(x, Prisoner):
        return asarray(x)._map(_each.sigmoid)
    return 1 / (1 + _numpy.exp(-_numpy.asarray(x, dtype=_numpy.float64)))


def _aggregate(name: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not isinstance(x, Prisoner):
        kwargs.pop("eps", None)
        return getattr(_numpy, name)(x, *args, **kwargs)
    return getattr(asarray(x), name)(*args, **kwargs)


def mean(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The mean: of a private array over its rows (axis=0) with eps, else numpy's.

    >>> np.mean(df["days"], eps=1)
    ≈ 5
    """
    return _aggregate("mean", x, args, kwargs)


def var(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The variance, with eps for a private array."""
    return _aggregate("var", x, args, kwargs)


def std(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The standard deviation, with eps for a private array."""
    return _aggregate("std", x, args, kwargs)


def quantile(x: Any, q: Any, *, eps: Any = None, **kwargs: Any) -> Any:
    """Quantiles of a private column at eps in all; of public numbers numpy's."""
    if not isinstance(x, Prisoner):
        return _numpy.quantile(x, q, **kwargs)
    from privjail.statistics.quantile import quantiles

    array = asarray(x)
    if array.ndim != 1 or eps is None:
        raise PlanError("a quantile of one private column needs eps", do="np.quantile(X[:, 0], 0.5, eps=0.1)")
    found = quantiles(array._rows, array._flat[0], _numpy.atleast_1d(q).tolist(), eps)
    return found[0] if _numpy.ndim(q) == 0 else _numpy.array(found)


def percentile(x: Any, q: Any, *, eps: Any = None, **kwargs: Any) -> Any:
    """Percentiles of a private column at eps in all; of public numbers numpy's."""
    if not isinstance(x, Prisoner):
        return _numpy.percentile(x, q, **kwargs)
    from fractions import Fraction

    shares = [Fraction(str(share)) / 100 for share in _numpy.atleast_1d(q).tolist()]
    found = quantile(x, _numpy.array([float(share) for share in shares]), eps=eps)
    return found[0] if _numpy.ndim(q) == 0 else found


def median(x: Any, *, eps: Any = None) -> Any:
    """The median of a private column at eps; of public numbers numpy's."""
    return quantile(x, 0.5, eps=eps) if isinstance(x, Prisoner) else _numpy.median(x)


def cov(x: Any, *, rho: Any = None, eps: Any = None, delta: Any = None) -> Any:
    """The covariance matrix of a private array's columns (one row per observation), released at one price.

    From one vector: the number of rows, the sums and the products, all measured from the middle of each column's range.
    """
    if not isinstance(x, Prisoner):
        return _numpy.cov(x, rowvar=False)
    from privjail.statistics.moments import covariance

    array = asarray(x)
    return covariance(array._rows, array._flat, eps=eps, delta=delta, rho=rho)
