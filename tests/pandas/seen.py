"""What only tests may do: look at the rows of a private table, and run releases without noise."""

from __future__ import annotations

import contextlib
import functools
import itertools

import numpy as np
import pandas.testing

import pandas
from privjail import pandas as pd
from privjail import session
from privjail.mechanisms.noise import Noise
from privjail.pandas.dates import shown_type
from privjail.pandas.periods import labels_of
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    FloatDomain,
    IntDomain,
    Interval,
    OrdinalDomain,
    TextDomain,
    TimeDomain,
)

_names = itertools.count(1)


def seen(x):
    """The private rows as pandas would hold them (nullable types, categories of the domain)."""
    if isinstance(x, pd.PrivDataFrame):
        return pandas.DataFrame({name: seen(x[name]) for name in x.columns})
    engine = session.jail().engine
    rows = x._rows
    size = engine._size(rows.base)
    column = engine._column(x._expr, size)
    index = engine._index(rows)
    values = (column if index is None else column.gather(index)).to_list()
    return pandas.Series(_held(values, x.domain), name=x.name)


def _held(values, domain):
    match domain:
        case CategoryDomain():
            labels = [_label(c) for c in domain.categories]
            held = pandas.Index(labels, dtype=object) if len({type(c) for c in labels}) > 1 else pandas.Index(labels)
            codes = [-1 if v is None else v for v in values]
            return pandas.Categorical.from_codes(codes, categories=held, ordered=domain.ordered)
        case OrdinalDomain():
            known = iter(labels_of(domain, [v for v in values if v is not None]))
            shown = [pandas.NaT if v is None else next(known) for v in values]
            return pandas.Series(shown, dtype=shown_type(domain)).array
        case IntDomain():
            return pandas.array(values, dtype="Int64")
        case FloatDomain():
            return pandas.array(values, dtype="Float64")
        case BoolDomain():
            return pandas.array(values, dtype="boolean")
        case TimeDomain():
            return pandas.array(values, dtype="datetime64[us]")
        case TextDomain():
            return pandas.array(values, dtype="string")
    raise TypeError(domain)


def _label(c):
    return pandas.Interval(c.left, c.right, c.closed) if isinstance(c, Interval) else c


SCHEMA = {
    "i": {"type": "Int64", "range": [-9, 9]},
    "j": {"type": "Int64", "range": [1, 5], "fill": 3},
    "x": {"type": "Float64", "range": [-4.0, 4.0]},
    "b": {"type": "boolean"},
    "c": {"type": "category", "categories": ["u", "v", "w"]},
    "k": {"type": "category", "categories": ["no", "yes"]},
    "s": {"type": "string"},
    "t": {"type": "datetime", "range": ["1950-01-01", "2030-01-01"]},
}


def random_frame(seed: int, n: int = 60) -> pandas.DataFrame:
    """Rows of SCHEMA with ties and missing values, in pandas' nullable types. Category "w" never occurs."""
    rng = np.random.default_rng(seed)

    def holes(values, dtype):
        values = list(values)
        return pandas.array([None if rng.random() < 0.2 else v for v in values], dtype=dtype)

    words = ["alpha", "Beta beta", " gamma ", "", "délta", "EPS"]
    days = pandas.to_datetime("1955-03-01") + pandas.to_timedelta(rng.integers(0, 2_000_000_000, n), unit="s")
    return pandas.DataFrame(
        {
            "i": holes(rng.integers(-9, 10, n).tolist(), "Int64"),
            "j": pandas.array(rng.integers(1, 6, n).tolist(), dtype="Int64"),
            "x": holes((rng.integers(-16, 17, n) / 4).tolist(), "Float64"),
            "b": holes(rng.integers(0, 2, n).astype(bool).tolist(), "boolean"),
            "c": pandas.Categorical(holes(rng.choice(["u", "v"], n).tolist(), object), categories=["u", "v", "w"]),
            "k": pandas.Categorical(holes(rng.choice(["no", "yes"], n).tolist(), object), categories=["no", "yes"]),
            "s": holes(rng.choice(words, n).tolist(), "string"),
            "t": pandas.Series(holes(days.tolist(), object)).astype("datetime64[us]").array,
        }
    )


@functools.cache
def pair(seed: int):
    """A random frame and the private table of it, for programs that change neither."""
    frame = random_frame(seed)
    return frame, opened(frame)


def opened(frame: pandas.DataFrame, schema=None, **options):
    """A private table of a pandas frame, under a name of its own."""
    return pd.from_frame(frame, f"table {next(_names)}", SCHEMA if schema is None else schema, **options)


def same(private, public, exact: bool = True) -> None:
    """The private rows equal the public ones: values, missing values, order, types."""
    private = seen(private) if isinstance(private, (pd.PrivDataFrame, pd.PrivSeries)) else private
    public = public.reset_index(drop=True)
    if isinstance(public, pandas.DataFrame):
        assert list(private.columns) == list(public.columns)
        for name in public.columns:
            same(private[name], public[name], exact)
        return
    if getattr(public.dtype, "kind", "O") == "b":
        public = public.astype("boolean")
    pandas.testing.assert_series_equal(private, public, check_names=False, check_exact=exact, rtol=1e-12)


class Silent(Noise):
    """No noise at all: every release is exact, every choice the best one."""

    def laplace(self, scale, n):
        return [0] * n

    def gaussian(self, scale, n):
        return [0] * n

    def noisy_max(self, scores, scale):
        return max(range(len(scores)), key=lambda i: (scores[i], -i))

    def exponential(self, scores, factor):
        return self.noisy_max(scores, 1)


@contextlib.contextmanager
def without_noise(noise=None):
    """Releases inside this block are exact (or carry the given noise)."""
    jail = session.jail()
    kept, jail.noise = jail.noise, noise or Silent()
    try:
        yield
    finally:
        jail.noise = kept
