"""Random sessions on random neighbours: no release moves further than claimed, and the ledger pays for the whole.

A session is a program of the pandas face, made from a number: filters, groups, heads, sorts, windows, new columns,
and 5 to 30 releases from what it made. It is run on two neighbouring tables. Everything public must be the same;
each released value must move no further than its distance says; and the log-ratio of the probabilities of all
answers together (added up release by release, over the worst answers) must not exceed what the ledger charged.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.budget.ledger import CostTree
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import listed
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.release import Query

#: a random program compares with texts that are no category, too
pytestmark = pytest.mark.filterwarnings("ignore:.* is no category of this column:privjail.errors.DPWarning")
_names = itertools.count()
SCHEMA = {
    "u": {"type": "category", "categories": ["ann", "bob", "cat"]},
    "g": {"type": "category", "categories": ["a", "b", "c"]},
    "h": {"type": "Int64", "range": [0, 3]},
    "n": {"type": "Int64", "range": [-2, 2], "fill": 0},
    "b": {"type": "boolean"},
    "x": {"type": "Float64", "range": [-1, 2]},
}
VALUES: dict[str, tuple[Any, ...]] = {
    "u": ("ann", "bob", "cat"),
    "g": ("a", "b", "c", None),
    "h": (0, 1, 2, 3, None),
    "n": (-2, -1, 0, 1, 2),
    "b": (True, False, None),
    "x": (-1.0, 0.0, 0.3, 1.0, 2.0, None),
}
UNITS = ({}, {}, {"unit": "u", "max_rows_per_unit": 2}, {"unit": "u", "max_rows_per_unit": 3}, {"unit": "u"})
Rows = list[tuple[Any, ...]]


def neighbours(pick: random.Random, unit: dict[str, Any]) -> tuple[Rows, Rows]:
    """A table, and the same without one row, or without the rows of one person."""
    most = unit.get("max_rows_per_unit", 4) if unit else 99
    rows: Rows = []
    few = {name: pick.sample(values, min(len(values), pick.randint(1, 3))) for name, values in VALUES.items()}
    for _ in range(pick.randint(1, 8)):
        row = tuple(pick.choice(values) for values in few.values())
        if sum(r[0] == row[0] for r in rows) < most:
            rows.append(row)
    if unit:
        who = pick.choice(rows)[0]
        return rows, [r for r in rows if r[0] != who]
    i = pick.randrange(len(rows))
    return rows, rows[:i] + rows[i + 1 :]


class Session:
    """One random program, run on one table."""

    def __init__(self, seed: int, rows: Rows, unit: dict[str, Any], budget: Any = None) -> None:
        self.pick = random.Random(seed)
        self.name = chr(0x20000 + next(_names))  # one character, which no text can be cut within
        frame = pandas.DataFrame(rows, columns=list(SCHEMA)).astype(object)
        self.tables = [pd.from_frame(frame, self.name, SCHEMA, budget=budget, **unit)]
        self.numbers: list[Any] = []
        self.asks: list[Query] = []
        self.public: list[str] = []
        self.zcdp = budget is not None

    def run(self, steps: int) -> Session:
        for _ in range(steps):
            step = self.pick.choice((self.rows, self.rows, self.column, self.number, self.number, self.groups))
            try:
                step()
            except pj.DPError as e:
                self.public.append(f"{type(e).__name__}: {e}".replace(self.name, ""))
        for number in self.pick.sample(self.numbers, min(len(self.numbers), self.pick.randint(5, 30))):
            self.release(number)
        return self

    # -- rows

    def condition(self, df: Any, depth: int = 2) -> Any:
        pick = self.pick
        match pick.randrange(12 if depth else 9):
            case 0:
                return df["g"] == pick.choice("abcz")
            case 1:
                return df["g"].isin(pick.sample(["a", "b", "c", None, "z"], pick.randint(0, 3)))
            case 2:
                return df["h"].isin(pick.sample([0, 1, 2, 3, 1.0, 1.5, 9], pick.randint(0, 3)))
            case 3:
                return pick.choice(
                    (df["h"] == 1, df["h"] != 2, df["h"] > 1, df["h"] <= 0.5, df["n"] == -1, df["n"] != 1)
                )
            case 4:
                return df["b"] if pick.random() < 0.5 else df["b"] == pick.choice((True, False))
            case 5:
                return pick.choice((df["x"] > 0.3, df["x"] >= 1, df["x"] == 0.0, df["x"] < -0.5))
            case 6:
                return df[pick.choice(list(df.columns))].isna()
            case 7:
                return df[pick.choice("hnx")].between(0, 1)
            case 8:
                return df["u"] == pick.choice(("ann", "bob"))
            case 9 | 10:
                return ~self.condition(df, depth - 1)
        a, b = self.condition(df, depth - 1), self.condition(df, depth - 1)
        return pick.choice((lambda: a & b, lambda: a | b, lambda: a ^ b))()

    def rows(self) -> None:
        pick = self.pick
        df = pick.choice(self.tables)
        match pick.randrange(12):
            case 0 | 1 | 2:
                condition = self.condition(df)
                self.tables += [df[condition], df[~condition]]
            case 3:
                new = df[self.condition(df)]
            case 4:
                new = df.query(
                    pick.choice(("h > 0 and g == 'a'", "not (b == True)", "g in ['a', 'b'] or h == 1", "0 < n <= 2"))
                )
            case 5:
                new = df.sort_values(pick.sample(["g", "h", "x", "n"], 2), ascending=pick.random() < 0.5)
            case 6:
                new = df.head(pick.choice((0, 1, 2, 3, -1)))
            case 7:
                new = df.tail(pick.choice((1, 2, 3, -1)))
            case 8:
                new = df.iloc[pick.choice((None, 0, 1, -2)) : pick.choice((None, 2, 3, -1))]
            case 9:
                new = df.groupby(pick.choice("gh")).head(pick.randint(1, 2))
            case 10:
                new = df.groupby("u").head(pick.randint(1, 2))
            case 11:
                new = df.dropna(subset=pick.sample(["g", "h", "x", "b"], pick.randint(1, 2)))
        if "new" in locals():
            self.tables.append(locals()["new"])

    def groups(self) -> None:
        pick = self.pick
        df = pick.choice(self.tables)
        by = pick.choice(("g", "h", "b", ["g", "b"], "n"))
        for _, group in df.groupby(by):
            if pick.random() < 0.8:
                self.tables.append(group)
                self.numbers.append(group.shape[0] if pick.random() < 0.6 else group["n"].sum())

    # -- columns

    def column(self) -> None:
        pick = self.pick
        df = pick.choice(self.tables).copy()
        match pick.randrange(16):
            case 0:
                df["g"] = pd.cut(df["x"], [-1, 0, 1, 2], labels=["a", "b", "c"], include_lowest=pick.random() < 0.5)
            case 1:
                df["h"] = (df["h"] + df["n"]) % 4
            case 2:
                df["h"] = (df["h"] * pick.choice((-1, 2)) // pick.choice((2, -2, 3))).clip(0, 3)
            case 3:
                df["g"] = df["g"].map({"a": "b", "b": "a"})
            case 4:
                df["g"] = df["g"].replace({"a": "b"}).fillna(pick.choice(("a", "new")))
            case 5:
                df["h"] = df["h"].fillna(pick.choice((0, 7)))
            case 6:
                df["x"] = df["x"].where(self.condition(df), pick.choice((0.5, 3)))
            case 7:
                df.loc[self.condition(df), pick.choice(["h", "n"])] = pick.choice((0, 2, 5))
            case 8:
                df[pick.choice("hnx")] = df[pick.choice("hnx")].shift(pick.choice((1, -1)))
            case 9:
                df["n"] = df["n"].diff()
            case 10:
                df["h"] = (df["x"] * pick.choice((1.5, 0.1)) / pick.choice((3, 0.7, 49.0))).round(0).astype("Int64")
            case 11:
                df["b"] = self.condition(df)
            case 12:
                df["g"] = df["h"].map({0: "a", 1: "b", 2: "a"})
            case 13:
                df["g"] = df["g"].astype(pandas.CategoricalDtype(pick.sample(["a", "b", "c", "d"], 3)))
            case 14:
                df["n"] = df["n"].rolling(2).sum()
            case 15:
                public = pandas.DataFrame({"h": [0, 1, 2], f"k{len(self.tables)}": [1, -1, 2]})
                df = df.merge(public, on="h", how=pick.choice(("left", "inner")))
                df["n"] = df[f"k{len(self.tables)}"]
        self.tables.append(df)

    # -- private numbers

    def number(self) -> None:
        pick = self.pick
        df = pick.choice(self.tables)
        key = pick.choice("ghbn")
        match pick.randrange(14):
            case 0 | 1:
                new = df.shape[0]
            case 2:
                new = df[pick.choice("hnxb")].sum()
            case 3:
                new = df[key].value_counts(sort=False)
            case 4:
                new = df.groupby(key)[pick.choice("hnx")].sum()
            case 5:
                new = df.groupby(key).size()
            case 6:
                new = pd.crosstab(df["g"], df[pick.choice("hbn")])
            case 7:
                new = df[key].nunique()
            case 8:
                vector = df.groupby(key).size()
                new = pick.choice(
                    (lambda: vector.iloc[pick.randrange(vector.size)], vector.sum, vector.max, vector.min)
                )()
            case 9:
                new = df[["h", "n"]].sum()
            case 10:
                new = df.groupby(key)[["n", "x"]].sum()
            case 11:
                new = abs(df.groupby(key).size() - df.groupby(key)["n"].sum())
            case 12 | 13:
                new = self.combined()
        self.numbers.append(new)

    def combined(self) -> Any:
        pick = self.pick
        singles = [n for n in self.numbers if not n._value.index]
        if len(singles) < 2:
            return self.tables[0].shape[0]
        some = pick.sample(singles, min(len(singles), pick.randint(2, 4)))
        match pick.randrange(5):
            case 0:
                return some[0] - some[1] * pick.choice((1, 2, 0.5))
            case 1:
                return pj.max(*some)
            case 2:
                return abs(some[0] - 1) + some[1] / 3
            case 3:
                return pj.min([*some, 1])
        return Stacked(some)

    # -- releases

    def release(self, number: Any) -> None:
        value, pick = number._value, self.pick
        eps = Fraction(pick.randint(1, 8), 4)
        choices: list[Any] = [Laplace(eps), Laplace(eps)]
        if value.index and value.joint.size <= 6:
            choices += [NoisyMax(eps), NoisyMax(eps, smallest=True), Exponential(eps)]
        mechanism = Gaussian(rho=eps) if self.zcdp else pick.choice(choices)
        ask, jail = Query(value, mechanism), session.jail()
        try:
            mechanism.check(value)
            jail.ledger.charge(jail.charges(ask))
        except pj.DPError as e:
            self.public.append(f"{type(e).__name__}: {e}".replace(self.name, ""))
            return
        self.asks.append(ask)
        joint = value.joint
        norms = [None if x is None else str(Fraction(x)) for x in (joint.l1, joint.l2, joint.linf)]
        facts = (value.index, norms, value.grid, value.monotone, value.has_constant_bound)
        self.public.append(f"{facts} {sorted(map(str, value.cells))} {value}".replace(self.name, ""))

    def exact(self, i: int) -> list[int]:
        return listed(session.jail().engine.evaluate(self.asks[i].value))

    def total(self) -> Fraction:
        account = next(a for a in session.jail().ledger.accounts() if a.name == self.name)
        return account.total()[0]


class Narrow(Session):
    """Counts of many parts of one table by one column, and their complements: where parts are easily miscounted."""

    def run(self, steps: int) -> Session:
        pick, df = self.pick, self.tables[0]
        base = pick.choice(
            (
                lambda: df,
                lambda: df.head(pick.randint(1, 3)),
                lambda: df.groupby("u").head(pick.randint(1, 2)),
                lambda: df.groupby("h").head(1),
                lambda: df.sort_values("x").tail(2),
                lambda: df[df["h"].isin([0, 1])].head(2),
            )
        )()
        base["c"] = base["n"].shift(1) if pick.random() < 0.2 else base["n"] * 2
        column = pick.choice("ghb")
        labels = {"g": ["a", "b", "c"], "h": [0, 1, 2, 3], "b": [True, False]}[column]
        for _ in range(pick.randint(3, 10)):
            table = pick.choice((base, base, *self.tables[1:]))
            some = pick.sample(labels, pick.randint(1, len(labels) - 1))
            tests = [table[column] == some[0], table[column] != some[0], table[column].isin(some)]
            tests += [~table[column].isin(some), table[column].isna(), (table[column] == some[0]) | tests[2]]
            part = table[pick.choice(tests)]
            self.tables.append(part)
            self.numbers.append(pick.choice((lambda t: t.shape[0], lambda t: t["n"].sum()))(part))
        for number in self.numbers:
            self.release(number)
        return self


class Stacked:
    """A list of private numbers, as the mechanisms take it."""

    def __init__(self, numbers: list[Any]) -> None:
        from privjail.sensitive import keys_and_vector

        self._value = keys_and_vector(numbers, "reveal_all")[1]


# -- exact losses


def ratio(p: list[float], q: list[float]) -> float:
    return max(a - b for a, b in zip(p, q, strict=True))


def permute_and_flip(scores: list[int], scale: float) -> list[float]:
    """The logarithms of its probabilities: McKenna & Sheldon 2020, by inclusion and exclusion."""
    best = max(scores)
    heads = [Fraction(math.exp((s - best) / scale)) for s in scores]
    out = []
    for i, own in enumerate(heads):
        others = heads[:i] + heads[i + 1 :]
        chance = Fraction(0)
        for size in range(len(others) + 1):
            for some in itertools.combinations(others, size):
                chance += Fraction((-1) ** size, size + 1) * math.prod(some, start=Fraction(1))
        chance *= own
        out.append(math.log(chance.numerator) - math.log(chance.denominator))
    return out


def softmax(scores: list[int], factor: float) -> list[float]:
    best = max(scores)
    total = math.log(sum(math.exp((s - best) * factor) for s in scores))
    return [(s - best) * factor - total for s in scores]


def loss(ask: Query, x: list[int], y: list[int]) -> float:
    """The largest log-ratio of the probabilities of one answer (Gaussian: the ρ)."""
    value, mechanism = ask.value, ask.mechanism
    if x == y:
        return 0.0
    match mechanism:
        case Laplace():
            calibration = mechanism.calibrate(value)
            grid, scale = calibration.on, calibration.scale
            return sum(abs(grid.place(a) - grid.place(b)) for a, b in zip(x, y, strict=True)) / float(scale)
        case Gaussian():
            square = sum(((a - b) * value.grid) ** 2 for a, b in zip(x, y, strict=True))
            return float(square / (2 * mechanism.calibrate(value).sigma ** 2))
        case Exponential():
            factor = float(mechanism.epsilon * value.grid / (2 * Fraction(value.joint.linf)))
            return ratio(softmax(x, factor), softmax(y, factor))
        case NoisyMax():
            calibration = mechanism.calibrate(value)
            grid, scale = calibration.on, calibration.scale
            sign = -1 if mechanism.smallest else 1
            laws = [permute_and_flip([sign * grid.place(a) for a in each], float(scale)) for each in (x, y)]
            return ratio(*laws)
    raise TypeError


def check(seed: int, zcdp: bool = False, kind: type[Session] = Session) -> int:
    pick = random.Random(seed)
    unit = pick.choice(UNITS)
    left, right = neighbours(pick, unit)
    steps = pick.randint(6, 40)
    budget = pj.ZCDP() if zcdp else None
    one, two = (kind(seed, rows, unit, budget).run(steps) for rows in (left, right))
    assert one.public == two.public
    assert one.total() == two.total()
    losses: list[tuple[float, float]] = []
    for i, ask in enumerate(one.asks):
        x, y = one.exact(i), two.exact(i)
        moved = [abs(a - b) * ask.value.grid for a, b in zip(x, y, strict=True)]
        joint = ask.value.joint
        told = f"seed {seed}: {ask.value}"
        assert joint.linf is None or max(moved) <= joint.linf, told
        assert joint.l1 is None or sum(moved) <= joint.l1, told
        assert joint.l2 is None or sum(m * m for m in moved) <= joint.l2**2, told
        assert all(joint.at(j).value is None or m <= joint.at(j).value for j, m in enumerate(moved)), told
        losses.append((loss(ask, x, y), loss(ask, y, x)))
    everything = tuple(range(len(losses)))
    assert cost_of(one, everything) == one.total()
    pairs = list(itertools.combinations(everything, 2))
    some = [pick.sample(everything, pick.randint(0, len(everything))) for _ in range(20)]
    for part in (everything, *((i,) for i in everything), *pick.sample(pairs, min(len(pairs), 60)), *some):
        spent = float(cost_of(one, part)) * (1 + 1e-9)
        lost = [sum(losses[i][way] for i in part) for way in (0, 1)]
        assert max(lost) <= spent, f"seed {seed}: {lost} > {spent} for {[str(one.asks[i].value) for i in part]}"
    return len(one.asks)


def cost_of(one: Session, part: Sequence[int]) -> Fraction:
    """What a ledger would show had only these releases been made: where other charges hide nothing."""
    tree = CostTree((Fraction(0),))
    for i in part:
        for cell, cost in session.jail().charges(one.asks[i]):
            tree.add(cell.address, cost)
    return tree.total[0]


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_sessions_lose_no_more_than_the_ledger_says(start):
    """V-11, V-17, V-18, V-22, V-23, V-26, V-41: glue, and everything together."""
    assert sum(check(seed) for seed in range(start, start + 20)) > 0


@pytest.mark.parametrize("start", range(0, 20, 20))
def test_random_sessions_under_zcdp(start):
    """The same for Gaussian noise, counted in ρ."""
    assert sum(check(seed, zcdp=True) for seed in range(start, start + 20)) > 0


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_parts_and_complements_of_one_table(start):
    """V-41: which parts exclude each other, rows with missing keys among them, under every unit of protection."""
    assert sum(check(seed, kind=Narrow) for seed in range(start, start + 20)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 11000, 500))
def test_many_random_sessions(start):
    for seed in range(start, start + 500):
        check(seed, zcdp=seed % 4 == 0)
        check(seed, kind=Narrow)
