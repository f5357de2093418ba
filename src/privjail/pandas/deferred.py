"""What is to be done with a private vector once it is released: sorting, dividing by the total, rounding, plotting.

None of this has a rule for private numbers, and none of it needs one: done after the noise, it is post-processing and
costs nothing. The steps are kept, tried on made-up numbers of the same public index (so that a mistake shows at its
line, before anything is paid), and run on the released object.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from privjail.errors import PlanError, RefusedError
from privjail.pandas.refusals import of_pandas, refuse
from privjail.plan.distance import Distance
from privjail.prisoner import Prisoner

Step = Callable[[Any], Any]
#: what shows or writes something is not tried on made-up numbers
_ACTS = ("plot", "hist", "boxplot", "style", "to_csv", "to_excel", "to_parquet", "to_json", "to_pickle", "to_clipboard")


class Deferred(Prisoner):
    """A private vector, and steps that its release goes through."""

    _shown_class = "pandas.core.series.Series"
    _way_out = "release it with .reveal(eps=…); the steps that you typed are done then"

    def __init__(self, vector: Any, steps: tuple[tuple[str, Step], ...] = (), acts: bool = False) -> None:
        self._vector, self._steps, self._acts = vector, steps, acts
        self._model = None if acts else self._tried()

    def _tried(self) -> Any:
        """What comes out for made-up numbers."""
        size = self._vector.size
        found = self._vector._public([float(i + 1) for i in range(size)], [None] * size)
        try:
            return self._finished(found)
        except RefusedError:
            raise PlanError(
                "what is done after the release takes released numbers, and another private value is among them",
                plan=self._plan(),
                do="release each, and compute with what comes out: a.reveal(eps=0.1) / b.reveal(eps=0.1)",
            ) from None
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
        raise PlanError(f"this step does not work on the released numbers either: {what}", plan=self._plan())

    def _finished(self, found: Any) -> Any:
        for _, step in self._steps:
            found = step(found)
        return found

    def _then(self, name: str, step: Step, acts: bool = False) -> Deferred:
        return Deferred(self._vector, (*self._steps, (name, step)), self._acts or acts)

    @property
    def distance(self) -> Distance:
        found: Distance = self._vector.distance
        return found

    def _plan(self) -> str:
        return " | ".join([self._vector._plan(), *(name for name, _ in self._steps)])

    def __str__(self) -> str:
        shown = "".join(name if name[0] in ".([" else f" {name} " for name, _ in self._steps)
        return str(self._vector) + "\n  after the release: " + shown.strip()

    __repr__ = __str__

    def reveal(self, eps: Any = None, **how: Any) -> Any:
        """Release the vector with noise, and do the steps with what comes out; see SensitiveSeries.reveal.

        >>> counts = df["ward"].value_counts().reveal(eps=1)
        """
        return self._finished(self._vector.reveal(eps=eps, **how))

    def error(self, eps: Any = None, **how: Any) -> float:
        """How far each number will be off before the steps, with 95 % confidence.

        >>> df["ward"].value_counts().error(eps=1)
        4.0
        """
        found: float = self._vector.error(eps=eps, **how)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._model is not None and not hasattr(self._model, name):
            refuse(self, name)
        if name in ("idxmax", "idxmin", "nlargest", "nsmallest"):
            return Choice(self, name)
        return self._then(f".{name}", operator.attrgetter(name), acts=name in _ACTS or self._acts)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        amounts = {k: kwargs.pop(k) for k in ("eps", "delta", "rho") if k in kwargs}
        done = self._then("(…)", lambda found: found(*args, **kwargs))
        return done.reveal(**amounts) if amounts else done

    def keys(self) -> Any:
        """Refused: what dict() calls first. The labels, in the order of the numbers, are known after the release."""
        raise RefusedError(
            "the labels are in the order of private numbers until they are released",
            plan=self._plan(),
            do='`dict(df["g"].value_counts().reveal(eps=0.1))`; in the order of the labels: '
            '`df["g"].value_counts(sort=False).keys()`',
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(dir(self._model) if self._model is not None else [])]

    def __getitem__(self, key: Any) -> Deferred:
        return self._then(f"[{key!r}]", lambda found: found[key])


class Choice:
    """x.idxmax(eps=…) chooses privately; x.idxmax() waits for the release."""

    def __init__(self, deferred: Deferred, name: str) -> None:
        self._deferred, self._name = deferred, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "eps" in kwargs:
            return getattr(self._deferred._vector, self._name)(*args, **kwargs)
        name = self._name
        return self._deferred._then(f".{name}(…)", lambda found: getattr(found, name)(*args, **kwargs))


def deferred(vector: Any, name: str, step: Step) -> Deferred:
    """A vector whose release goes through one step."""
    return Deferred(vector, ((name, step),))


def later(vector: Any, name: str) -> Any:
    """A method of pandas that a private vector lacks: it is done after the release."""
    if name.startswith("_") or not of_pandas(name):
        refuse(vector, name)
    return getattr(Deferred(vector), name)


def _operated(symbol: str, f: Callable[[Any, Any], Any]) -> None:
    def left(self: Deferred, other: Any) -> Deferred:
        return self._then(symbol, lambda found: f(found, other))

    def right(self: Deferred, other: Any) -> Deferred:
        return self._then(symbol, lambda found: f(other, found))

    name = f.__name__.rstrip("_")
    setattr(Deferred, f"__{name}__", left)
    setattr(Deferred, f"__r{name}__", right)


for _symbol, _f in {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow,
}.items():  # fmt: skip
    _operated(_symbol, _f)
