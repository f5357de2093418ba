"""numpy on private arrays: ``from privjail import numpy as np``.

Functions of private arrays and columns build plans; aggregates over the rows give private sums, or take ``eps``.
All other names are numpy's own.
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from privjail.errors import PlanError, PrisonerError
from privjail.numpy import elementwise as _each
from privjail.numpy.arrays import PrivArray, asarray, clip_norm, norm, normalize
from privjail.numpy.public import eye, identity, take
from privjail.numpy.released import (
    FUNCTIONS as _RELEASED,
)
from privjail.numpy.released import average, corrcoef, cov, is_private, median, percentile, quantile
from privjail.numpy.sums import SensitiveArray
from privjail.prisoner import Prisoner

__all__ = ["PrivArray", "SensitiveArray", "array", "asarray", "average", "c_", "clip_norm", "corrcoef", "cov", "eye",
           "identity", "mean", "median", "norm", "normalize", "percentile", "quantile", "sigmoid", "std", "take",
           "var"]  # fmt: skip
mean, var, std = (_RELEASED[name] for name in ("mean", "var", "std"))


def __getattr__(name: str) -> Any:
    if name in _RELEASED:
        return _RELEASED[name]
    return getattr(_numpy, name)


def array(x: Any, dtype: Any = None, **options: Any) -> Any:
    """A private column or table as a private array; public numbers as numpy's array.

    >>> X = np.array(df[["age", "days"]])
    """
    if not is_private(x):
        return _numpy.array(x, dtype=dtype, **options)
    if isinstance(x, (list, tuple)):
        raise PlanError("private columns are put side by side", do="np.column_stack([a, b])")
    found = asarray(x)
    return found if dtype is None else found.astype(dtype)


asanyarray = ascontiguousarray = array


def _of_public_shape(name: str) -> Any:
    def call(shape: Any, *args: Any, **kwargs: Any) -> Any:
        if is_private(shape):
            do = f"np.{name}_like(X[:, 0])" if name != "empty" else "np.zeros_like(X[:, 0])"
            raise PrisonerError(f"np.{name} needs a public shape, and the number of rows is private", do=do)
        return getattr(_numpy, name)(shape, *args, **kwargs)

    call.__doc__ = f"numpy.{name}: its shape is public."
    return call


ones, zeros, full, empty = (_of_public_shape(name) for name in ("ones", "zeros", "full", "empty"))


class _SideBySide:
    """np.c_[X, y]: private columns side by side; of public arrays numpy's own."""

    def __getitem__(self, parts: Any) -> Any:
        return _numpy.column_stack(parts) if is_private(parts) else _numpy.c_[parts]


c_ = _SideBySide()


def sigmoid(x: Any) -> Any:
    """1 / (1 + e**-x), row by row; of public numbers too.

    >>> X = np.sigmoid(df["days"])
    """
    if isinstance(x, Prisoner):
        return asarray(x)._map(_each.sigmoid)
    return 1 / (1 + _numpy.exp(-_numpy.asarray(x, dtype=_numpy.float64)))
