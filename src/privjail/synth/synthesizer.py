"""A synthetic table from noisy counts: select pairs of columns, measure them, generate rows. All at the client."""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Any, Self

import numpy as np

import pandas
from privjail.errors import PlanError
from privjail.learn.base import Estimator, columns_of
from privjail.learn.bins import Bins, bins_of
from privjail.learn.spending import Spending
from privjail.notebook import progress
from privjail.ops.numbers.tally import Tally
from privjail.plan.domain import BoolDomain, Domain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows
from privjail.synth.tree import Measured, conditional, dependence, joint, shares, spanning_tree

SINGLE, SELECT = 0.2, 0.3  # shares of the price: each column alone, all pairs; the pairs of the tree get the rest
MOST_COLUMNS = 40


class Synthesizer(Estimator):
    """Made-up rows that agree with the noisy counts of each column and of the pairs that depend on each other most.

    It asks for the counts of each column, for those of all pairs (to choose a tree of pairs, and to say how well it
    fits), and once more for the pairs of the tree. Numbers are counted in ``bins`` of their public range
    (learn/bins.py) and spread evenly inside. Under an (ε, δ) budget all of it is one release.

    ``errors_`` has a line for each column and pair: the standard deviation of the noise on a count, the share of rows
    that noise alone moves between cells (half the sum of absolute errors), and how much further the model is from what
    was measured.

    >>> model = synth.Synthesizer(bins=4).fit(df[["age", "ward", "sex"]], eps=1)
    >>> model.sample(10).shape
    (10, 3)
    """

    def __init__(self, bins: int = 16) -> None:
        self.bins = bins

    def fit(self, X: Any, y: Any = None, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table whose columns have public categories or ranges, for eps, eps and delta, or rho."""
        rows, columns = columns_of(X)
        if not 2 <= len(columns) <= MOST_COLUMNS:
            raise PlanError(f"a synthetic table has between 2 and {MOST_COLUMNS} columns", do="choose some: df[[…]]")
        spending = Spending.of(eps, delta, rho, rows)
        self.bins_ = {name: bins_of(name, each, self.bins) for name, each in columns.items()}
        self._domains = {name: each.domain for name, each in columns.items()}
        keys = {name: bins.key(columns[name]) for name, bins in self.bins_.items()}
        names, pairs = list(columns), list(combinations(columns, 2))
        once = spending.in_one_piece
        spending.reserve(rows)
        asked: list[tuple[Any, ...]] = [*((name,) for name in names), *pairs]
        if once:
            found = self._measure(spending, rows, keys, asked, 1.0, "counts of columns and pairs")
        else:
            found = self._measure(spending, rows, keys, asked[: len(names)], SINGLE, "counts of columns")
            found |= self._measure(spending, rows, keys, asked[len(names) :], SELECT, "counts of all pairs")
        self._combine(names, found)
        weights = {p: dependence(found[p], self.chances_[p[0]], self.chances_[p[1]]) for p in pairs}
        self.tree_ = spanning_tree(names, weights)
        if not once:
            edges = [pair if pair in found else pair[::-1] for pair in self.tree_]
            again = self._measure(spending, rows, keys, edges, 1 - SINGLE - SELECT, "counts of the tree's pairs")
            found |= {pair: found[pair].with_(more) for pair, more in again.items()}
            self._combine(names, found)
        self._settle(found)
        self.feature_names_in_ = np.array(names, dtype=object)
        self.bill = spending.bill
        return self

    def _measure(
        self, spending: Spending, rows: Rows, keys: dict[Any, Expr], asked: list[Any], share: float, what: str
    ) -> dict[Any, Measured]:
        tallies = [
            Tally(rows, tuple(keys[name] for name in names), None) for names in progress(asked, len(asked), what)
        ]
        answers, deviation = spending.release_all(tallies, share, what)
        sizes = [tuple(self.bins_[name].size for name in names) for names in asked]
        return {
            names: Measured(np.reshape(a, size), deviation)
            for names, a, size in zip(asked, answers, sizes, strict=True)
        }

    def _combine(self, names: list[Any], found: dict[Any, Measured]) -> None:
        """Each column's chances and the number of rows, from all tables that show them."""
        self.chances_ = {}
        totals = []
        for name in names:
            best = found[(name,)]
            for key, table in found.items():
                if len(key) == 2 and name in key:
                    axis = 1 - key.index(name)
                    across = table.counts.shape[axis]
                    best = best.with_(Measured(table.counts.sum(axis=axis), table.deviation * across**0.5))
            self.chances_[name] = shares(best.counts)
            totals.append((best.counts.sum(), best.deviation**2 * len(best.counts)))
        weights = np.array([1 / variance for _, variance in totals])
        self.n_rows_ = max(int(round(float(np.dot([t for t, _ in totals], weights) / weights.sum()))), 1)

    def _settle(self, found: dict[Any, Measured]) -> None:
        """Chances of each child for each bin of its parent; and how far the model is from every table that was seen."""
        self.given_ = {}
        for parent, child in self.tree_:
            table = found[(parent, child)].counts if (parent, child) in found else found[(child, parent)].counts.T
            self.given_[child] = conditional(shares(table), self.chances_[parent], self.chances_[child])
        lines = []
        for key, table in found.items():
            model = self.chances_[key[0]] if len(key) == 1 else joint(self.tree_, self.chances_, self.given_, *key)
            expected = table.deviation * (2 / np.pi) ** 0.5 * table.counts.size / 2 / self.n_rows_
            seen = float(np.abs(model - table.counts / self.n_rows_).sum() / 2)
            measured = len(key) == 1 or key in self.tree_ or key[::-1] in self.tree_
            lines.append((" × ".join(map(str, key)), measured, table.deviation, expected, max(seen - expected, 0.0)))
        columns = ["marginal", "in_model", "noise_per_count", "noise_share", "beyond_noise"]
        self.errors_ = pandas.DataFrame(lines, columns=pandas.Index(columns)).set_index("marginal")

    def sample(
        self, n: int | None = None, seed: int = 0, *, random_state: int | None = None
    ) -> pandas.DataFrame:  # fmt: skip
        """n made-up rows (by default about as many as there are). The seed, or random_state, draws rows, never noise.

        Counts follow the model as closely as whole rows can; which row gets which value is shuffled.
        """
        self._need_fitted()
        seed = seed if random_state is None else random_state
        n = self.n_rows_ if n is None else n
        if type(n) is not int or n < 1:
            raise PlanError("n is a whole number from 1")
        first = next(iter(self.bins_))
        codes = {first: _dealt(self.chances_[first], n, seed, first)}
        for parent, child in self.tree_:
            place = np.empty(n, dtype=int)
            for code, chances in enumerate(self.given_[child]):
                here = np.flatnonzero(codes[parent] == code)
                if len(here):
                    place[here] = _dealt(chances, len(here), seed, child, code)
            codes[child] = place
        return pandas.DataFrame({n_: self._values(n_, bins, codes[n_], seed) for n_, bins in self.bins_.items()})

    def _values(self, name: Any, bins: Bins, codes: Any, seed: int) -> Any:
        """A value of the bin: the category, or a number spread evenly over the bin."""
        missing = codes >= bins.known
        if bins.labels:
            labels = np.array([*bins.labels, None], dtype=object)
            return pandas.Series(labels[codes])
        domain: Domain = self._domains[name]
        edges = np.asarray(bins.edges)
        low, high = edges[np.minimum(codes, bins.known - 1)], edges[np.minimum(codes, bins.known - 1) + 1]
        inside = _uniform(len(codes), seed, name, "inside")
        if isinstance(domain, BoolDomain):
            return pandas.Series(codes == 1, dtype="boolean").mask(missing)
        if isinstance(domain, IntDomain):
            low, high = np.ceil(low), np.ceil(high)
            numbers = np.minimum(low + np.floor(inside * np.maximum(high - low, 1)), float(domain.upper or high.max()))
            return pandas.Series(numbers.astype("int64"), dtype="Int64").mask(missing)
        return pandas.Series(low + inside * (high - low)).clip(edges[0], edges[-1]).mask(missing)

    def __repr__(self) -> str:
        if not hasattr(self, "bill"):
            return f"Synthesizer(bins={self.bins!r})"
        edges = ", ".join(f"{a}–{b}" for a, b in self.tree_)
        worst = self.errors_["beyond_noise"].max()
        return (
            f"Synthesizer(bins={self.bins!r}): about {self.n_rows_} rows, {len(self.bins_)} columns; pairs {edges}; "
            f"no pair is seen to be off by more than {worst:.1%} of the rows beyond noise"
        )


def _uniform(n: int, *place: Any) -> Any:
    """n public numbers in [0, 1) that look random: a function of the arguments."""
    stream = hashlib.shake_256(repr(place).encode()).digest(8 * n)
    return (np.frombuffer(stream, dtype="<u8") >> 11) / 2**53


def _dealt(chances: Any, n: int, *place: Any) -> Any:
    """n codes whose counts are as near to n·chances as whole numbers can be (largest remainders), shuffled."""
    exact = chances * n
    counts = np.floor(exact).astype(int)
    rest = exact - counts + 1e-9 * _uniform(len(counts), *place, "ties")
    counts[np.argsort(-rest)[: n - counts.sum()]] += 1
    return np.repeat(np.arange(len(counts)), counts)[np.argsort(_uniform(n, *place, "order"))]
