"""What scikit-learn's and scipy's own functions say when they are given a private value: our words, and what to type.

Both catch a TypeError of ``len()`` or of a numpy function and raise one of their own, which names a class and nothing
else. So what they are told is a RefusedError that is no TypeError. Everybody else gets the TypeError of Python:
``list`` asks for a length first, and goes on without one only after a TypeError.
"""

from __future__ import annotations

import inspect
import sys
from types import FrameType

from privjail.errors import RefusedError

_NAMES = {"sklearn": "scikit-learn", "scipy": "scipy"}
_OURS = ("other_libraries", "prisoner", "numpy.protocol", "numpy.refused", "numpy.arrays", "pandas.operators")
_PASSED_THROUGH = {f"privjail.{name}" for name in _OURS}  # between the caller and the refusal

#: What runs instead of scipy's functions, on a table with the numbers a and b and the categories g and h.
INSTEAD_OF_SCIPY = (
    'standard scores: `(df["a"] - df["a"].mean(eps=0.1)) / df["a"].std(eps=0.1)`; correlation: '
    '`df["a"].corr(df["b"], eps=0.1)`; tests, after `from privjail import stats`: `stats.ttest(df, "a", by="g", '
    'eps=0.1)`, `stats.chi2_test(df, "g", "h", eps=0.1)`'
)
#: What runs instead of scikit-learn's, on columns X of a table df and a column y.
INSTEAD_OF_SCIKIT_LEARN = (
    "after `from privjail import learn`: `model = learn.LogisticRegression().fit(X, y, eps=1)`, `model.score(X, y, "
    "eps=1)`, on rows that were held out `learn.cross_val_score(learn.LogisticRegression(), X, y, eps=1)`"
)


def refusal(plan: str | None) -> RefusedError | None:
    """The error for a function of another library that reads a private value; None if somebody else asks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _module(frame) in _PASSED_THROUGH:
        frame = frame.f_back
    library = "" if frame is None else _module(frame).partition(".")[0]
    if library not in _NAMES:
        return None
    name = _asked(frame, library)
    return RefusedError(
        f"{_NAMES[library]}'s own {name or 'functions'} cannot take a private value: it would read the rows",
        plan=plan,
        do=_instead(name) if library == "sklearn" else INSTEAD_OF_SCIPY,
    )


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _asked(frame: FrameType | None, library: str) -> str:
    """The function of the library that was called, or the class of the method; nothing if a wrapper hides it."""
    name = ""
    while frame is not None:
        called, inside = frame.f_code.co_name, "._lib" in _module(frame)
        if _module(frame).partition(".")[0] == library and not inside and called[0] != "_" and "wrapper" not in called:
            name = type(frame.f_locals["self"]).__name__ if "self" in frame.f_locals else called
        frame = frame.f_back
    return name


def _instead(name: str) -> str:
    from privjail import learn
    from privjail.learn.words import instead_of

    told = instead_of(name)
    if told is not None:
        return f"{told}, after `from privjail import learn`"
    ours = getattr(learn, name, None) if name in learn.__all__ else None
    if isinstance(ours, type) and hasattr(ours, "fit"):
        y = "y, " if "y" in inspect.signature(ours.fit).parameters else ""
        return f"after `from privjail import learn`: `learn.{name}().fit(X, {y}eps=1)`"
    return INSTEAD_OF_SCIKIT_LEARN
