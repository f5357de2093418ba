"""Public labels of private vectors, as pandas would hold them."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

from privjail.errors import PlanError
from privjail.pandas.periods import labels_of
from privjail.plan.domain import BoolDomain, CategoryDomain, Domain, IntDomain, Interval, OrdinalDomain
from privjail.prisoner import Prisoner


@dataclass(frozen=True)
class Axis:
    """The name of one axis, and the domain that its labels come from (None: names of columns)."""

    name: Any = None
    domain: Domain | None = None


Labels = tuple[tuple[Any, ...], ...]


def public_label(label: Any) -> Any:
    """A label as pandas would hold it."""
    if isinstance(label, Interval):
        import pandas

        return pandas.Interval(label.left, label.right, "both" if label.closed == "both" else label.closed)  # type: ignore[arg-type]
    return label


def flat_labels(axes: Labels, named: tuple[Axis, ...] | None = None) -> list[Any]:
    """The label of each element: plain for one axis, else a tuple."""
    domains = [None] * len(axes) if named is None else [axis.domain for axis in named]
    shown = [shown_labels(labels, domain) for labels, domain in zip(axes, domains, strict=True)]
    return shown[0] if len(shown) == 1 else list(product(*shown))


def public_name(name: Any) -> Any:
    """A name for public results: one that pandas takes, or the results would be lost when they are paid."""
    if isinstance(name, Prisoner) or not isinstance(name, Hashable):
        raise PlanError(f"a name is a text, not a {type(name).__name__}", do='.rename("stays")')
    return name


def shown_labels(labels: tuple[Any, ...], domain: Domain | None) -> list[Any]:
    """The labels of one axis as pandas would hold them."""
    if isinstance(domain, OrdinalDomain):
        return list(labels_of(domain, labels))
    return [public_label(label) for label in labels]


def index_of(labels: Labels, axes: tuple[Axis, ...]) -> Any:
    """The pandas index of a released vector: what groupby(observed=False) gives for columns of these types."""
    import pandas

    levels = [_level(each, axis) for each, axis in zip(labels, axes, strict=True)]
    if len(levels) == 1:
        return levels[0]
    return pandas.MultiIndex.from_product(levels, names=[axis.name for axis in axes])


def _level(labels: tuple[Any, ...], axis: Axis) -> Any:
    import pandas

    match axis.domain:
        case CategoryDomain(ordered=ordered):
            with suppress(ValueError):  # False and 0, which are two labels here and one there
                type_ = pandas.CategoricalDtype(_categories(labels), ordered)
                codes = pandas.Categorical.from_codes(range(len(labels)), dtype=type_)
                return pandas.CategoricalIndex(codes, name=axis.name)
            return pandas.Index([public_label(label) for label in labels], dtype=object, name=axis.name)
        case OrdinalDomain():
            return labels_of(axis.domain, labels).rename(axis.name)
        case IntDomain():
            return pandas.Index(labels, dtype="Int64", name=axis.name)
        case BoolDomain():
            return pandas.Index(labels, dtype="boolean", name=axis.name)
    return pandas.Index([public_label(label) for label in labels], name=axis.name)


def _categories(labels: tuple[Any, ...]) -> Any:
    import pandas

    closed: set[Any] = {label.closed if isinstance(label, Interval) else None for label in labels}
    if len(closed) == 1 and None not in closed:
        lefts, rights = [label.left for label in labels], [label.right for label in labels]
        if {*map(type, lefts), *map(type, rights)} == {float}:  # else pandas looks at each label for a common type
            return pandas.IntervalIndex.from_arrays(lefts, rights, closed.pop())
    shown = [public_label(label) for label in labels]
    # With include_lowest the first interval is closed on both sides: no IntervalIndex holds that. Nor one that begins
    # with a signed and ends with an unsigned number of 64 bits; and when the index is made the answer is paid for.
    with suppress(TypeError):
        if len(closed - {None}) <= 1:
            return pandas.Index(shown)
    return pandas.Index(shown, dtype=object)
