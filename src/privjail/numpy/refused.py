"""What numpy offers and private rows refuse, with the reason and what to type instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from privjail.errors import PlanError, PrisonerError
from privjail.other_libraries import refusal

#: numpy's functions that private rows refuse: why, what to type instead, and their names
_REFUSED = [
    ("the order of all rows is private", "quantiles: np.quantile(X, [0.1, 0.5, 0.9], axis=0, eps=0.1)",
     "sort argsort partition argpartition lexsort msort"),
    ("its result in one row depends on all rows above it",
     'windows of fixed length: df["a"].rolling(7).sum(); sums: X.sum(axis=0).reveal(eps=0.1)',
     "cumsum cumprod nancumsum ediff1d gradient trapezoid convolve correlate"),
    ("differences to the row above are a column's", 'use df["a"].diff()', "diff"),
    ("one row could change it", "count the rows: np.sum(X > 0, axis=0).reveal(eps=0.1); within rows: axis=1",
     "any all allclose array_equal array_equiv isclose"),
    ("which values occur is private", 'counts: df["g"].value_counts().reveal(eps=0.1); np.bincount(y).reveal(eps=0.1)',
     "unique intersect1d union1d setdiff1d argwhere nonzero flatnonzero extract in1d"),
    ("the two ends are released one by one", "np.max(X, axis=0, eps=0.1) - np.min(X, axis=0, eps=0.1)", "ptp"),
    ("a fit is made from sums over the rows", "np.linalg.solve((X.T @ X).reveal(eps=0.1), (X.T @ y).reveal(eps=0.1)), "
     "or learn.LinearRegression().fit(X, y, eps=0.1)", "lstsq polyfit pinv solve inv"),
    ("a decomposition needs all rows", "np.linalg.eigh((X.T @ X).reveal(eps=0.1)), or learn.PCA(2).fit(X, eps=0.1)",
     "svd qr eig eigh eigvalsh matrix_rank cholesky det"),
    ("it multiplies rows with rows", "X.T @ Y sums products over the rows: (X.T @ Y).reveal(eps=0.1)",
     "outer einsum tensordot kron cross multi_dot"),
    ("private arrays are put side by side", "use axis=1, np.hstack or np.column_stack", "vstack row_stack tile repeat"),
    ("rows of a private array cannot be chosen by position",
     "parts by a condition: X[X[:, 0] > 5], by chance: X.sample(0.5)",
     "split array_split vsplit delete take_along_axis roll flip flipud rot90 resize"),
    ("no code runs on single rows", "np.where(condition, a, b), np.select(conditions, choices)",
     "apply_along_axis apply_over_axes piecewise fromfunction"),
    ("roots other than the square root have no rule", "of positive numbers: np.exp(np.log(X) / 3)", "cbrt"),
    ("waves have no rule", "np.where, np.interp(X, xp, fp), or powers up to 16: X ** 3",
     "sin cos tan arcsin arccos arctan arctan2 sinh cosh arcsinh arccosh arctanh degrees radians"),
]  # fmt: skip


def refuse(name: str) -> NoReturn:
    told = refusal(None)
    if told is not None:
        raise told
    for why, do, names in _REFUSED:
        if name.split(".")[0] in names.split():
            raise PrisonerError(f"numpy.{name} is refused for a private array: {why}", do=do)
    raise PrisonerError(
        f"numpy.{name} has no rule for a private array",
        do="row-wise functions, sum, X.T @ Y, histogram, histogramdd and bincount have one; release first",
    )


def check_call(name: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """An argument of numpy's that private rows lack is told in words, before anything is built."""
    signature = inspect.signature(f)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        takes = ", ".join(p for p in signature.parameters if not p.startswith("_"))
        raise PlanError(
            f"numpy.{name} of private rows cannot be called like this: {error}", do=f"its arguments are {takes}"
        ) from None
