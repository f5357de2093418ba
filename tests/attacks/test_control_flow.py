"""What a program shows besides its releases must not depend on the data: neighbour replay in miniature.

A corpus of programs runs on data sets that have the same schema and nothing else in common, with noise frozen to
zero answers, and everything public is compared: exceptions and their texts, warnings, types, lengths, labels,
order, texts of private values, costs and verdicts.
"""

from __future__ import annotations

import itertools
import warnings

import numpy
import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from tests.pandas.seen import SCHEMA, Silent, random_frame, without_noise

_count = itertools.count()
N = 12
WORDS = pandas.CategoricalDtype(["alpha", "zzz"])


class Frozen(Silent):
    """The same answers whatever is asked: what is left to compare is everything but the released numbers."""

    def noisy_max(self, scores, scale):
        return 0

    def exponential(self, scores, factor):
        return 0


def base() -> pandas.DataFrame:
    return random_frame(11, N)


def worlds() -> dict[str, pandas.DataFrame]:
    """Data sets of one schema: neighbours of one another, empty, all missing, extreme."""
    frame = base()
    empty = frame.iloc[:0]
    missing = frame.copy()
    for name in missing.columns:
        if name != "j":
            missing[name] = pandas.Series([None] * N, dtype=missing[name].dtype)
    low, high = frame.copy(), frame.copy()
    for name, values in {"i": (-9, 9), "j": (1, 5), "x": (-4.0, 4.0)}.items():
        low[name] = pandas.array([values[0]] * N, dtype=frame[name].dtype)
        high[name] = pandas.array([values[1]] * N, dtype=frame[name].dtype)
    low["s"], high["s"] = "", "\x00'\"; DROP" * 3
    low["t"], high["t"] = pandas.Timestamp("1950-01-01"), pandas.Timestamp("2030-01-01")
    only = frame[(frame["c"] != "u").fillna(True)]
    return {
        "base": frame, "one row less": frame.iloc[1:], "one group less": only, "doubled": pandas.concat([frame, frame]),
        "empty": empty, "missing": missing, "low": low, "high": high, "reversed": frame.iloc[::-1],
        "other": random_frame(99, 40),
    }  # fmt: skip


def extreme_file(tmp_path, rows):
    path = tmp_path / f"f{next(_count)}.csv"
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    return path


PROGRAMS = {
    "count": lambda d: d.shape[0].reveal(eps=1),
    "filter count": lambda d: d[(d["i"] > 0) & (d["c"] == "u")].shape[0].reveal(eps=1),
    "divide by zero": lambda d: (d["i"] / d["i"]).clip(-1, 1).sum().reveal(eps=1),
    "floor divide by zero": lambda d: (d["i"] // (d["j"] - 1)).clip(-1, 1).sum().reveal(eps=1),
    "mod zero": lambda d: (d["i"] % (d["j"] - d["j"])).clip(0, 1).sum().reveal(eps=1),
    "overflow": lambda d: (d["i"] * 10**18 * 10**18).clip(0, 1).sum().reveal(eps=1),
    "overflow float": lambda d: ((d["x"] * 1e308) * 1e308).clip(0, 1).sum().reveal(eps=1),
    "power": lambda d: (d["x"] ** 8).clip(0, 1).mean(eps=1),
    "log of negatives": lambda d: d["x"].log().clip(0, 1).mean(eps=1),
    "sqrt of negatives": lambda d: d["x"].sqrt().mean(eps=1),
    "exp": lambda d: (d["x"] * 1000).exp().clip(0, 1).mean(eps=1),
    "cast text": lambda d: d["s"].astype("Int64").clip(0, 1).sum().reveal(eps=1),
    "cast text to float": lambda d: d["s"].astype("Float64").clip(0, 1).sum().reveal(eps=1),
    "cast float": lambda d: (d["x"] * 1e300).astype("Int64").clip(0, 1).sum().reveal(eps=1),
    "categorise": lambda d: d["s"].astype(WORDS).value_counts(sort=False).reveal(eps=1),
    "text": lambda d: d[d["s"].str.upper().str.contains("A")].shape[0].reveal(eps=1),
    "text length": lambda d: d["s"].str.len().clip(0, 9).sum().reveal(eps=1),
    "text slice": lambda d: (d["s"].str[2] == "p").sum().reveal(eps=1),
    "year": lambda d: d["t"].dt.year.clip(1950, 2000).mean(eps=1),
    "weekday": lambda d: d.groupby(d["t"].dt.day_of_week).size().reveal(eps=1),
    "group sizes": lambda d: d.groupby("c").size().reveal(eps=1),
    "group of two": lambda d: d.groupby(["c", "b"])["x"].sum().reveal(eps=1),
    "group means": lambda d: d.groupby("c")["x"].mean(eps=1),
    "group medians": lambda d: d.groupby("c")["i"].median(eps=1),
    "each group": lambda d: [(k, g.shape[0].reveal(eps=1)) for k, g in d.groupby("c")],
    "get_group": lambda d: d.groupby("c").get_group("u")["i"].mean(eps=1),
    "no such group": lambda d: d.groupby("c").get_group("zzz"),
    "crosstab": lambda d: pd.crosstab(d["c"], d["k"]).reveal(eps=1),
    "cut": lambda d: pd.cut(d["x"], [-1, 0, 1]).value_counts(sort=False).reveal(eps=1),
    "histogram": lambda d: d["i"].hist(eps=1, bins=3),
    "describe": lambda d: d[["i", "x"]].describe(eps=1),
    "quantiles": lambda d: d["x"].quantile([0.0, 0.5, 1.0], eps=1),
    "min max": lambda d: (d["i"].min(eps=1), d["i"].max(eps=1)),
    "variance": lambda d: d["x"].var(eps=1),
    "distinct": lambda d: d["c"].nunique().reveal(eps=1),
    "head": lambda d: d.sort_values(["x", "s"]).head(3)["i"].sum().reveal(eps=1),
    "tail": lambda d: d.tail(2).shape[0].reveal(eps=1),
    "iloc": lambda d: d.iloc[5:-5]["j"].sum().reveal(eps=1),
    "rolling": lambda d: d["x"].rolling(3).mean().clip(0, 1).sum().reveal(eps=1),
    "shift": lambda d: (d["i"] - d["i"].shift(1)).clip(0, 1).sum().reveal(eps=1),
    "map": lambda d: d["i"].map({1: 0.5, 2: 7.5}).sum().reveal(eps=1),
    "replace": lambda d: d["i"].replace({3: 400}).sum().reveal(eps=1),
    "masked": lambda d: d["i"].where(d["b"], 100).sum().reveal(eps=1),
    "merge": lambda d: d.merge(pandas.DataFrame({"j": [1, 7], "p": [2.5, 3.5]}), on="j")["p"].sum().reveal(eps=1),
    "dropna": lambda d: d.dropna().shape[0].reveal(eps=1),
    "best group": lambda d: d.groupby("c").size().idxmax(eps=1),
    "top two": lambda d: len(d.groupby("c").size().nlargest(2, eps=1)),
    "threshold": lambda d: pj.above_threshold(d.groupby("c").size(), 10**6, eps=1) in ("u", "v", "w", None),
    "exponential": lambda d: type(pj.exponential_mechanism(d.groupby("c").size(), eps=1)).__name__,
    "unbounded": lambda d: d["s"].astype("Float64").sum().reveal(eps=1),
    "wrong type": lambda d: d["s"] + 1,
    "no eps": lambda d: d.shape[0].reveal(eps=0),
    "too much": lambda d: [d.shape[0].reveal(eps=40) for _ in range(3)],
    "sub-limit": lambda d: _limited(d),
    "texts": lambda d: (str(d), d._repr_html_(), str(d[d["i"] > 0].groupby("c").size()), str(d.dtypes)),
    "facts": lambda d: (d["i"].max_distance, str(d.domains), list(d.columns), d.shape[0].error(eps=1)),
}  # fmt: skip


def _limited(d):
    with pj.budget(0.5):
        d.shape[0].reveal(eps=0.4)
        d.shape[0].reveal(eps=0.4)


def public(answer):
    """Everything about an answer but the released numbers themselves."""
    if isinstance(answer, pandas.DataFrame):
        return ("frame", list(answer.index), list(answer.columns), [str(t) for t in answer.dtypes], answer.index.dtype)
    if isinstance(answer, pandas.Series):
        return ("series", list(answer.index), str(answer.dtype), answer.name, str(answer.index.dtype))
    if isinstance(answer, (list, tuple)):
        return (type(answer).__name__, [public(each) for each in answer])
    if isinstance(answer, (float, numpy.floating)):
        return ("number", type(answer).__name__, numpy.isfinite(answer))
    return (type(answer).__name__, answer)


def replay(program, frame):
    """Run a program; what an analyst sees of the run, apart from the numbers that she paid for."""
    name = f"replayed {next(_count)}"
    jail = session.jail()
    before = len(jail.audit)
    with without_noise(Frozen()), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        table = pd.from_frame(frame, name, SCHEMA, budget=100)
        try:
            shown = public(program(table))
        except Exception as e:  # noqa: BLE001
            shown = (type(e).__name__, str(e))
    spent = pj.consumed_privacy_budget()[name]
    log = [(entry.program, entry.mechanism, entry.cost) for entry in jail.audit[before:]]
    ours = [str(w.message) for w in warned if not issubclass(w.category, ResourceWarning)]  # files of other tests
    seen = repr((shown, ours, spent, log))
    return seen.replace(name, "NAME")


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_but_the_released_numbers_depends_on_the_data(name):
    """V-24, V-26, V-19, V-20: identical exceptions, warnings, types, lengths, labels, costs, verdicts, metadata."""
    runs = {world: replay(PROGRAMS[name], frame) for world, frame in worlds().items()}
    for world, run in runs.items():
        assert run == runs["base"], world


def test_the_replay_would_notice():
    """The comparison above can fail: a program that looks at the rows is caught."""
    from tests.pandas.seen import seen

    for spy in (
        lambda d: len(seen(d)),
        lambda d: {0: 1}[len(seen(d["i"].dropna()))],
        lambda d: seen(d["c"]).dropna().unique().tolist(),
    ):
        assert len({replay(spy, frame) for frame in worlds().values()}) > 1


def test_opening_does_not_depend_on_rows(tmp_path):
    """V-24, V-19: whatever a row of a file holds, opening gives the same table."""
    schema = {"a": {"type": "Int64", "range": [0, 9]}, "b": {"type": "category", "categories": ["x", "y"]}}
    rows = {
        "plain": ["1,x", "2,y"], "none": [], "text": ["abc,def"], "huge": ["9" * 400 + ",x"], "short": ["1"],
        "long": ["1,x,3,4,5"], "quotes": ['"1","x"'], "empty": [",", ""], "float": ["1.5,x", "nan,y", "inf,x"],
        "spaces": [" 1 , x "], "null byte": ["\x00,\x00"], "emoji": ["🙂,🙂"],
    }  # fmt: skip
    shown = set()
    for each in rows.values():
        for given in (schema, None):
            df = pd.read_csv(extreme_file(tmp_path, each), given)
            text = str(df).replace(str(df._rows), "FILE")
            shown.add((given is None, text, str(df.domains), str(df.shape[0])))
            assert isinstance(df.shape[0].reveal(eps=1), float)
    assert len(shown) == 2


def test_the_shape_stays_when_the_only_row_of_a_group_goes():
    """V-20: keys, order and empty groups come from the schema."""
    frame = base()
    frame["c"] = pandas.Categorical(["w"] + ["u"] * (N - 1), categories=["u", "v", "w"])
    with_it, without = pd.from_frame(frame, "with", SCHEMA), pd.from_frame(frame.iloc[1:], "without", SCHEMA)
    for program in (
        lambda d: d.groupby("c").size().reveal(eps=1),
        lambda d: d["c"].value_counts(sort=False).reveal(eps=1),
        lambda d: d.groupby("c")["x"].mean(eps=1),
        lambda d: pd.crosstab(d["c"], d["k"]).reveal(eps=1),
    ):
        left, right = program(with_it), program(without)
        assert left.shape == right.shape and left.index.equals(right.index)
        assert left.notna().all().all() and right.notna().all().all()
    assert [k for k, _ in with_it.groupby("c")] == [k for k, _ in without.groupby("c")] == ["u", "v", "w"]


def test_costs_and_verdicts_are_functions_of_the_program():
    """V-26: the refusal comes at the same release, whatever the data."""
    verdicts = set()
    for frame in worlds().values():
        table = pd.from_frame(frame, f"limited {next(_count)}", SCHEMA, budget=1)
        paid = 0
        with pytest.raises(pj.BudgetExceeded):
            for _ in range(20):
                table[table["c"] == "u"].shape[0].reveal(eps=0.15)
                table[table["c"] != "u"].shape[0].reveal(eps=0.15)
                paid += 1
        verdicts.add(paid)
    assert verdicts == {6}
