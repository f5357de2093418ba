"""Random analysts: programs over the public API, each the same whenever it is run with its seed."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.errors import DPWarning

CITIES = ["Kobe", "Kyoto", "Nara", "Osaka", "Tokyo"]
PUBLIC = pandas.DataFrame({"city": CITIES, "north": [False, True, False, False, True], "dist": [0, 60, 70, 30, None]})
EPS = [0.1, 0.5, 1, 2.5]


class Program:
    """A few steps on a private table, then a few releases; errors are part of what it shows."""

    def __init__(self, seed: int, dataset: str) -> None:
        self.rng, self.dataset = random.Random(seed), dataset
        self.shown: list[str] = []

    def run(self) -> list[str]:
        df = pd.read_csv(self.dataset)
        self.shown.append(repr(df))
        for _ in range(self.rng.randrange(2, 7)):
            step = self.rng.choice(STEPS)
            df = self.tried(lambda step=step, df=df: step(self, df), df)
            self.shown.append(repr(df))
        for _ in range(self.rng.randrange(2, 5)):
            out = self.rng.choice(RELEASES)
            self.tried(lambda out=out, df=df: out(self, df), None)
        return self.shown

    def tried(self, step: Callable[[], Any], otherwise: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DPWarning)  # a city that is no category of the column is compared, too
                return step()
        except pj.DPError as e:
            self.shown.append(f"{type(e).__name__}: {e}")
            return otherwise

    # -- what to choose from

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def number(self, df: Any) -> Any:
        names = [n for n in df.columns if df.domains[n].dtype in ("Int64", "Float64", "boolean")]
        return df[self.pick(*names)]

    def whole(self, df: Any) -> Any:
        return self.number(df).clip(0, self.pick(1, 10, 100))

    def label(self, df: Any) -> Any:
        names = [n for n in df.columns if df.domains[n].labels is not None and len(df.domains[n].labels) <= 130]
        return self.pick(*names)

    def condition(self, df: Any) -> Any:
        r = self.rng
        kind = r.randrange(9)
        if kind == 0:
            return self.number(df) > self.pick(-1, 0, 18, 40.5, 1e6)
        if kind == 1:
            return df["city"] == self.pick(*CITIES)
        if kind == 2:
            return df["city"].isin(r.sample(CITIES, r.randrange(0, 4)))
        if kind == 3:
            return df[self.pick(*df.columns)].isna()
        if kind == 4:
            return self.number(df).between(self.pick(0, 1.5), self.pick(2, 99))
        if kind == 5:
            return df["note"].str.contains(self.pick("a", "", "ß", "\n"))
        if kind == 6:
            return self.pick(
                df["born"].dt.month > r.randrange(0, 13), df["born"] >= "1966-02-28", df["born"].dt.year == 1970
            )
        if kind == 7:
            return ~(df["grade"] == self.pick(1, 2, 3, 4))
        return df["member"]

    def conditions(self, df: Any) -> Any:
        a, b = self.condition(df), self.condition(df)
        return self.pick(a, a & b, a | b, a ^ b, ~a)

    def column(self, df: Any) -> Any:
        """A new column, row by row."""
        x, y = self.number(df), self.number(df)
        r = self.rng
        return self.pick(
            lambda: x + y, lambda: x - y, lambda: x * y, lambda: x / y, lambda: x // y, lambda: x % y,
            lambda: x * self.pick(0, -2, 1e10, 0.1), lambda: x.clip(self.pick(0, -5), self.pick(1, 50.5)),
            lambda: x.round(r.randrange(3)), lambda: x.abs(), lambda: x.sqrt(), lambda: x.log(), lambda: x.exp(),
            lambda: x.floor(), lambda: x**self.pick(2, 3, 0.5), lambda: x.astype(self.pick("int", "float", "str", "bool")),
            lambda: x.fillna(self.pick(0, 1.5)), lambda: x.where(self.condition(df), self.pick(0, None, y)),
            lambda: x.mask(self.condition(df)), lambda: df["city"].map(dict(zip(CITIES, [1, 2, 3, None, 5], strict=True))),
            lambda: df["grade"].replace({1: 2}), lambda: df["city"].replace("Kobe", "Oslo"), lambda: x.isna(),
            lambda: pd.cut(x, sorted(r.sample(range(-5, 150), 5)), right=self.pick(True, False)),
            lambda: pd.cut(x, [0, 1, 50, 1000], labels=["low", "mid", "high"], include_lowest=True),
            lambda: df["note"].str.len(), lambda: df["note"].str.upper().str.slice(0, 2),
            lambda: df["note"].astype(pandas.CategoricalDtype(["a", "", "ΑΒΓ"])),
            lambda: df["born"].dt.year, lambda: df["born"].dt.dayofweek, lambda: df["city"].str.startswith("K"),
            lambda: df["age"] > df["grade"].astype("int"),
            lambda: (pandas.Timestamp("2030-01-02") - df["born"]).dt.days, lambda: df["born"].dt.isocalendar().week,
            lambda: df["born"].dt.is_month_end, lambda: df["note"].str.count("[a-x]"), lambda: x % 1.5,
            lambda: (df["note"] + "-" + df["city"]).str.len(), lambda: df["grade"].map(lambda g: g * g),
            lambda: df["note"].str.extract("(.)$", expand=False).str.len(), lambda: df["city"].cat.codes,
            lambda: pd.cut(x, [-float("inf"), 5, float("inf")]), lambda: x.round(-1),
        )()  # fmt: skip

    def show(self, released: Any) -> None:
        self.shown.append(repr(released))


def _assign(p: Program, df: Any) -> Any:
    out = df.copy()
    out[p.pick("new", "age", "income", "free")] = p.column(df)
    return out


def _windowed(p: Program, df: Any) -> Any:
    x = p.number(df)
    k = p.rng.randrange(1, 4)
    made = p.pick(
        lambda: x.shift(k), lambda: x.shift(-k), lambda: x.diff(k), lambda: x.rolling(k).sum(),
        lambda: x.rolling(k).mean(), lambda: x.rolling(k).max(), lambda: x.rolling(k).min(),
    )()  # fmt: skip
    p.show(made)
    p.show(made.clip(0, 10).sum().reveal(eps=p.pick(*EPS)))
    return df


STEPS: list[Callable[[Program, Any], Any]] = [
    lambda p, df: df[p.conditions(df)],
    lambda p, df: df[p.conditions(df)],
    lambda p, df: df.query(p.pick("age > 40 and grade == 2", "income <= 1234.5 or member", "city in ['Kobe', 'Nara']")),
    lambda p, df: df.sort_values(p.rng.sample(list(df.columns), 2), ascending=p.pick(True, False)),
    lambda p, df: df.head(p.pick(0, 1, 5, 1000)),
    lambda p, df: df.tail(p.pick(1, 7)),
    lambda p, df: df.iloc[p.pick(None, 0, 3, -20) : p.pick(None, 10, 30, -3)],
    lambda p, df: df.groupby(p.label(df)).head(p.pick(1, 2)),
    lambda p, df: df.groupby("age" if p.rng.random() < 0.5 else p.label(df)).get_group(p.pick(1, 2, 40, "Kobe", True)),
    lambda p, df: df.merge(PUBLIC, how=p.pick("left", "inner"), on="city"),
    lambda p, df: df.dropna(),
    lambda p, df: df.fillna({"age": 0, "income": 1.0}),
    lambda p, df: (
        df.clip(0, 10) if p.rng.random() < 0.1 else df[["age", "income", "city", "grade", "member", "note", "born"]]
    ),
    _assign,
    _assign,
    _assign,
    _windowed,
]


def _counts(p: Program, df: Any) -> dict[str, Any]:
    return {f"q{i}": df[p.condition(df)].shape[0] for i in range(3)} | {"public": 4}


def _mixed(p: Program, df: Any) -> Any:
    a, b = df[p.condition(df)].shape[0], p.whole(df).sum()
    return p.pick(a + b, a - b, 2 * a, b / 3, abs(a - b), pj.max(a, b, 3), pj.min([a, b]), a + 0.25, -b)


RELEASES: list[Callable[[Program, Any], Any]] = [
    lambda p, df: p.show(df.shape[0].reveal(eps=p.pick(*EPS))),
    lambda p, df: p.show(_mixed(p, df).reveal(eps=p.pick(*EPS))),
    lambda p, df: p.show(_mixed(p, df).reveal(eps=0.5, delta=1e-6)),
    lambda p, df: p.show(_mixed(p, df).reveal(rho=0.1)),
    lambda p, df: p.show(df[p.label(df)].value_counts(sort=False).reveal(eps=p.pick(*EPS))),
    lambda p, df: p.show(df.groupby(p.label(df)).size().reveal(eps=p.pick(*EPS))),
    lambda p, df: p.show(df.groupby(["city", "grade"])[["age", "income"]].sum().reveal(eps=1)),
    lambda p, df: p.show(df.groupby("city")["age"].count().reveal(rho=0.5)),
    lambda p, df: p.show(df.groupby("member")["age"].mean(eps=1)),
    lambda p, df: p.show(df.resample(p.pick("YE", "10YE", "QS"), on="born").size().reveal(eps=1)),
    lambda p, df: p.show(df.groupby(df["born"].dt.to_period("Y"))["age"].sum().reveal(eps=1)),
    lambda p, df: p.show(df["born"].min(eps=1)),
    lambda p, df: p.show(df.groupby("member")["income"].median(eps=1)),
    lambda p, df: p.show(pd.crosstab(df["city"], df[p.label(df)]).reveal(eps=1)),
    lambda p, df: p.show(pd.crosstab(df["city"], df["grade"]).sum(axis=p.pick(0, 1)).reveal(eps=1)),
    lambda p, df: p.show(p.number(df).sum().reveal(eps=p.pick(*EPS))),
    lambda p, df: p.show(p.number(df).mean(eps=p.pick(*EPS))),
    lambda p, df: p.show(p.number(df).var(eps=1)),
    lambda p, df: p.show(p.number(df).quantile([0.1, 0.9], eps=1)),
    lambda p, df: p.show(p.number(df).min(eps=1)),
    lambda p, df: p.show(p.number(df).max(eps=1)),
    lambda p, df: p.show(p.number(df).hist(eps=1, bins=p.pick(3, [0, 1, 10.5]))),
    lambda p, df: p.show(p.whole(df).describe(eps=2)),
    lambda p, df: p.show(df[p.label(df)].nunique().reveal(eps=1)),
    lambda p, df: p.show(df[["age", "city"]].count().reveal(eps=1)),
    lambda p, df: p.show(df[p.label(df)].value_counts(sort=False).idxmax(eps=1)),
    lambda p, df: p.show(df["city"].value_counts(sort=False).nlargest(2, eps=1)),
    lambda p, df: p.show(df["city"].value_counts(sort=False).max().reveal(eps=1)),
    lambda p, df: p.show(df["city"].value_counts(sort=False).iloc[[0, 2]].reveal(eps=1)),
    lambda p, df: p.show(pj.exponential_mechanism(_counts(p, df), eps=1)),
    lambda p, df: p.show(pj.noisy_min(_counts(p, df), eps=1)),
    lambda p, df: p.show(pj.top_k(_counts(p, df), 2, eps=1)),
    lambda p, df: p.show(pj.above_threshold(_counts(p, df), p.pick(0, 10, 1000), eps=1)),
    lambda p, df: p.show(pj.reveal_all(_counts(p, df), eps=1)),
    lambda p, df: p.show(pj.laplace_mechanism([df.shape[0], df["member"].sum()], eps=1)),
    lambda p, df: p.show(df.groupby("city").get_group(p.pick(*CITIES))["city"].value_counts(sort=False).reveal(eps=1)),
    lambda p, df: p.show(
        df[df["age"] > 3].assign(c=p.pick(1, 2.5, "x", True))["c"].value_counts(sort=False).reveal(eps=1)
    ),
    lambda p, df: p.show(df[df["age"] > 3].assign(c=p.pick(1, 2.5))["c"].median(eps=1)),
    lambda p, df: len(df),
    lambda p, df: df["note"].sum(),
    lambda p, df: df.to_csv("loot.csv"),
    lambda p, df: bool(df.shape[0] > 3),
]
