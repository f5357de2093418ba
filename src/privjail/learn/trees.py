"""Decision trees and forests, from noisy counts by leaf and class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from privjail.learn.base import Classifier, classes_of, columns_of, frame, target_of
from privjail.learn.bayes import largest
from privjail.learn.bins import Bins, bins_of
from privjail.learn.spending import Spending
from privjail.notebook import progress
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.norms import Dot
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.where import Where
from privjail.ops.numbers.combine import Absolute, Add, Element, Stack
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.plan.expr import Expr
from privjail.plan.node import Lit
from privjail.plan.rows import Rows
from privjail.plan.value import Value

LOOK = 0.05  # the share of the price that a tree pays to know how many rows there are
FEW = 30  # rows in a bin, in units of the noise on its counts, below which splits are chosen by noisy max
SEEN = 10  # rows in a leaf, times ε of a choice, over the logarithm of the choices, from which on it is split
FINE = 64  # shares of classes are rounded to so many parts, so that scores are on a coarse grid


@dataclass
class Split:
    """A test on one column's bins: rows whose bin is in ``left`` go to one child, all others to the other."""

    name: Any
    left: tuple[int, ...]
    children: tuple[int, int]  # numbers of nodes


class Tree:
    """A binary tree over bins: public, so it can be applied to public rows and built into plans."""

    def __init__(self) -> None:
        self.splits: dict[int, Split] = {}
        self.size = 1  # nodes so far; node 0 is the root

    @property
    def leaves(self) -> list[int]:
        return [node for node in range(self.size) if node not in self.splits]

    def split(self, node: int, name: Any, left: tuple[int, ...]) -> None:
        self.splits[node] = Split(name, left, (self.size, self.size + 1))
        self.size += 2

    def leaf(self, keys: dict[Any, Expr], node: int = 0) -> Expr:
        """The leaf of each private row, as a category."""
        split = self.splits.get(node)
        if split is None:
            return Constant(Lit.of(str(node)))
        test = IsIn(keys[split.name], tuple(Lit.of(str(code)) for code in split.left))
        return Where(test, self.leaf(keys, split.children[0]), self.leaf(keys, split.children[1]))

    def places(self, codes: dict[Any, Any], rows: int) -> Any:
        """The leaf of each public row."""
        at = np.zeros(rows, dtype=int)
        for node in sorted(self.splits):
            split = self.splits[node]
            here = at == node
            goes = np.isin(codes[split.name], split.left)
            at[here & goes], at[here & ~goes] = split.children
        return at


class TreeModel(Classifier):
    """What trees and forests share: bins, and the counts of leaves."""

    bins: int

    def _prepare(self, X: Any, y: Any) -> tuple[Rows, dict[Any, Expr], Expr]:  # noqa: N803
        rows, columns = columns_of(X)
        target = target_of(y, rows)
        self.classes_ = np.array(classes_of(target))
        self.bins_: dict[Any, Bins] = {name: bins_of(name, each, self.bins) for name, each in columns.items()}
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        return rows, {name: bins.key(columns[name]) for name, bins in self.bins_.items()}, target

    def _codes(self, X: Any) -> tuple[dict[Any, Any], int]:  # noqa: N803
        self._need_fitted()
        given = frame(X, list(self.feature_names_in_))
        return {name: bins.codes(given[name]) for name, bins in self.bins_.items()}, len(given)


def leaf_labels(leaf: Expr) -> list[int]:
    """The leaves in the order in which a tally lists them."""
    return [int(label) for label in leaf.domain.labels or ()]


def smoothed(counts: Any, prior: Any, noise: float) -> Any:
    """Chances of the classes in a leaf: those of all rows, where the leaf holds little more than noise."""
    held = np.maximum(counts, 0) + (1 + noise) * prior
    return held / held.sum(axis=-1, keepdims=True)


class DecisionTreeClassifier(TreeModel):
    """A tree that is grown level by level, from counts by leaf, bin and class for every column.

    Leaves exclude each other, so a level costs the same however many leaves it has. A small part of the price counts
    the rows first: if there are so few that the noise on all these counts would choose the splits, each split is chosen
    by report noisy max (for ρ: by the exponential mechanism) instead, which costs the same however many splits there
    are to choose from; and the tree is only as deep as the number of rows allows.

    >>> model = learn.DecisionTreeClassifier(max_depth=2).fit(df[["age", "ward"]], df["sex"], eps=1)
    """

    def __init__(self, max_depth: int = 4, bins: int = 16) -> None:
        self.max_depth = max_depth
        self.bins = bins

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private column of classes, for eps, for eps and delta, or for rho."""
        rows, keys, target = self._prepare(X, y)
        spending = Spending.of(eps, delta, rho, rows)
        spending.reserve(rows)
        self.tree_ = Tree()
        self.chances_: dict[int, Any] = {}
        depth = self.max_depth
        left = 1.0
        if depth > 1:
            [counts], _ = spending.release_all([Tally(rows, (target,), None)], LOOK, "rows by class")
            left = 1 - LOOK
            noise = spending.deviation_of_all(len(keys), left / depth)
            if sum(counts) < FEW * self.bins * noise:  # a split would be chosen by noise
                self._fit_chosen(rows, keys, target, spending, left, max(float(sum(counts)), 1.0))
                depth = 0
        for level in progress(range(depth), depth, "levels", least=2):
            leaf = self.tree_.leaf(keys)
            tallies = [Tally(rows, (leaf, key, target), None) for key in keys.values()]
            found, noise = spending.release_all(tallies, left / depth, f"counts, level {level}")
            shape = (len(leaf_labels(leaf)), -1, len(self.classes_))
            tables = {name: np.reshape(a, shape) for name, a in zip(keys, found, strict=True)}
            self._grow(leaf_labels(leaf), tables, noise, level)
        self.bill = spending.bill
        return self

    def _fit_chosen(
        self, rows: Rows, keys: dict[Any, Expr], target: Expr, spending: Spending, share: float, n: float
    ) -> None:  # fmt: skip
        """A tree whose splits are chosen by report noisy max: half of the price for them, half for counts of leaves."""
        tests = list(candidates(self.bins_))
        many = math.log(1 + len(tests) * max(1, len(self.classes_) - 1))
        allowed = [
            d
            for d in range(2, self.max_depth + 1)
            if n * spending.of_choice(share / 2 / d) >= SEEN * 2 ** (d - 1) * many
        ]
        depth = max(allowed, default=1)
        part = share / 2 / (depth + 1)
        prior = np.full(len(self.classes_), 1 / len(self.classes_))
        self.chances_ = {0: prior}
        for level in progress(range(depth + 1), depth + 1, "levels", least=2):
            leaf = self.tree_.leaf(keys)
            [found], noise = spending.release_all([Tally(rows, (leaf, target), None)], part, f"counts, level {level}")
            counts = dict(zip(leaf_labels(leaf), np.reshape(found, (-1, len(self.classes_))), strict=True))
            for node, held in counts.items():
                self.chances_[node] = smoothed(held, self.chances_[node], noise)
            least = SEEN * many / spending.of_choice(share / 2 / depth)
            wide = [node for node, held in counts.items() if self._depth(node) == level and held.sum() >= least]
            if level == depth or not wide or not tests:
                continue
            values = [scores(Filter(rows, _is(leaf, node)), keys, target, tests, self.chances_[node]) for node in wide]
            places = spending.choose(values, share / 2 / depth, f"splits, level {level}")
            for node, place in zip(wide, places, strict=True):
                self.tree_.split(node, *tests[place % len(tests)])
                for child in self.tree_.splits[node].children:
                    self.chances_[child] = self.chances_[node]

    def _grow(self, leaves: list[int], tables: dict[Any, Any], noise: float, level: int) -> None:
        """Split each leaf where the noisy counts say that it pays; and set the chances of both parts."""
        total = np.mean([t.sum(axis=(0, 1)) for t in tables.values()], axis=0)
        prior = np.maximum(total, 1.0) / np.maximum(total, 1.0).sum()
        for i, node in enumerate(leaves):
            own = np.mean([t[i].sum(axis=0) for t in tables.values()], axis=0)
            self.chances_[node] = smoothed(own, prior, noise)
            if node in self.tree_.splits or self._depth(node) < level:
                continue  # was not worth splitting before
            best = max((best_split(t[i], noise) + (name,) for name, t in tables.items()), key=lambda found: found[0])
            gain, left, name = best
            if gain <= 0:
                continue
            self.tree_.split(node, name, left)
            inside = np.isin(np.arange(len(tables[name][i])), left)
            for child, part in zip(self.tree_.splits[node].children, (inside, ~inside), strict=True):
                self.chances_[child] = smoothed(tables[name][i][part].sum(axis=0), self.chances_[node], noise)

    def _depth(self, node: int) -> int:
        parents = {child: parent for parent, split in self.tree_.splits.items() for child in split.children}
        depth = 0
        while node in parents:
            node, depth = parents[node], depth + 1
        return depth

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        leaf = self.tree_.leaf({name: bins.key(columns[name]) for name, bins in self.bins_.items()})
        best = {node: int(np.argmax(self.chances_[node])) for node in leaf_labels(leaf)}
        return Recode(leaf, tuple((Lit.of(str(node)), Lit.of(i)) for node, i in best.items()), 0)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each class, for public rows."""
        codes, n = self._codes(X)
        places = self.tree_.places(codes, n)
        table = np.array([self.chances_[node] for node in range(self.tree_.size)])
        return table[places]


def _is(leaf: Expr, node: int) -> Expr:
    return Compare("==", leaf, Lit.of(str(node)))


def candidates(bins: dict[Any, Bins]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """The splits to choose from: each cut of ordered bins, each category against the others."""
    for name, each in bins.items():
        if each.ordered:
            yield from ((name, tuple(range(cut + 1))) for cut in range(each.size - 1))
        elif each.size > 1:
            yield from ((name, (code,)) for code in range(each.size if each.size > 2 else 1))


def scores(rows: Rows, keys: dict[Any, Expr], target: Expr, tests: list[Any], chances: Any) -> Value:
    """For each split (and class): by how many rows one side has more of a class than its share of the leaf.

    One row moves a score by less than 1: it counts as 1 less the share of its class, or as minus that share. Each
    column is added up once, by bin, and the sides of its splits are sums of bins: a row is in one bin, so such a sum
    moves no further than one of them.
    """
    labels = classes_of(target)
    found: list[Value] = []
    for place in range(1, len(labels)):
        share = min(max(round(float(chances[place]) * FINE), 1), FINE - 1) / FINE
        images = tuple((Lit.of(label), Lit.of(float(i == place) - share)) for i, label in enumerate(labels))
        more = Recode(target, images, 0)
        sides: dict[Any, Value] = {}  # a side of a split is the one before it and one bin more, or a bin alone
        for name, left in tests:
            last: Value = Element(Tally(rows, (keys[name],), more), left[-1])
            sides[name, left] = last if len(left) == 1 else Add(sides[name, left[:-1]], last)
            found.append(Absolute(sides[name, left]))
    return Stack(tuple(found), tuple(range(len(found))))


def best_split(counts: Any, noise: float) -> tuple[float, tuple[int, ...]]:
    """The split of bins into two sets with the fewest expected errors (Gini), less what noise would gain.

    For two classes the best sets are a prefix of the bins in the order of their chances (Breiman et al. 1984).
    """
    held = np.maximum(counts, 0)
    if held.sum() <= 0 or len(held) < 2:
        return 0.0, ()
    order = np.argsort(smoothed(held, held.sum(axis=0) / max(held.sum(), 1.0), noise)[:, -1])
    running = np.cumsum(held[order], axis=0)
    total = running[-1]
    left, right = running[:-1], total - running[:-1]
    pure = (left**2).sum(axis=1) / np.maximum(left.sum(axis=1), 1) + (right**2).sum(axis=1) / np.maximum(
        right.sum(axis=1), 1
    )
    at = int(np.argmax(pure))
    gain = float(pure[at] - (total**2).sum() / max(total.sum(), 1.0)) - 2 * noise
    return gain, tuple(int(code) for code in sorted(order[: at + 1]))


class RandomForestClassifier(TreeModel):
    """Trees whose splits are drawn from the bins alone, without data; only the counts of their leaves are asked for.

    ``random_state`` seeds the public splits, never the noise.

    >>> model = learn.RandomForestClassifier(n_estimators=3).fit(df[["age", "ward"]], df["sex"], eps=1)
    """

    def __init__(self, n_estimators: int = 10, max_depth: int = 8, bins: int = 16, random_state: int = 0) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.bins = bins
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, eps: Any = None, delta: Any = None, rho: Any = None) -> Self:  # noqa: N803
        """Fit to a private table and a private column of classes, for eps, for eps and delta, or for rho."""
        rows, keys, target = self._prepare(X, y)
        spending = Spending.of(eps, delta, rho, rows)
        self.trees_ = [self._drawn(i) for i in range(self.n_estimators)]
        tallies = [Tally(rows, (self._leaf(tests, keys), target), None) for tests in self.trees_]
        found, noise = spending.release_all(tallies, 1, "counts by leaf and class")
        counts = [np.reshape(a, (-1, len(self.classes_))) for a in found]
        total = np.maximum(np.mean([c.sum(axis=0) for c in counts], axis=0), 1.0)
        self.chances_ = [smoothed(held, total / total.sum(), noise) for held in counts]
        self.bill = spending.bill
        return self

    def _drawn(self, number: int) -> list[tuple[Any, tuple[int, ...]]]:
        """The tests of a tree, one for all nodes of a level: a column, and the bins for which the answer is yes.

        They depend on nothing but the tree's number, ``random_state`` and the bins.
        """
        tests = []
        for depth in range(self.max_depth):
            tests.append(drawn_test(self.bins_, self.random_state, number, depth))
        return tests

    @staticmethod
    def _leaf(tests: list[tuple[Any, tuple[int, ...]]], keys: dict[Any, Expr]) -> Expr:
        """The leaf of each private row: the answers to the tests as the digits of a binary number."""
        leaf: Expr = Constant(Lit.of(0))
        for level, (name, yes) in enumerate(tests):
            answer = Cast(IsIn(keys[name], tuple(Lit.of(str(code)) for code in yes)), "Int64")
            leaf = Arithmetic("+", leaf, Arithmetic("*", answer, Constant(Lit.of(2**level))))
        return leaf

    def _predicted(self, columns: dict[Any, Expr]) -> Expr:
        keys = {name: bins.key(columns[name]) for name, bins in self.bins_.items()}
        leaves = [self._leaf(tests, keys) for tests in self.trees_]
        scores: list[Expr] = []
        for i in range(len(self.classes_)):
            parts = [
                Recode(leaf, tuple((Lit.of(n), Lit.of(float(x))) for n, x in enumerate(np.log(table[:, i]))), 0)
                for leaf, table in zip(leaves, self.chances_, strict=True)
            ]
            scores.append(Dot(tuple(parts), (Lit.of(1.0),) * len(parts)))
        return largest(scores)

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        """The chance of each class, for public rows: the mean of the trees' log odds."""
        codes, n = self._codes(X)
        logs = []
        for tests, table in zip(self.trees_, self.chances_, strict=True):
            leaf = np.zeros(n, dtype=int)
            for level, (name, yes) in enumerate(tests):
                leaf += np.isin(codes[name], yes) * 2**level
            logs.append(np.log(table[leaf]))
        mean = np.exp(np.mean(logs, axis=0))
        return mean / mean.sum(axis=1, keepdims=True)


def drawn_test(bins: dict[Any, Bins], *place: Any) -> tuple[Any, tuple[int, ...]]:
    """A column, and the bins for which the answer is yes: a function of the bins and the place."""
    name = list(bins)[public_draw(len(bins), *place)]
    size, ordered = bins[name].size, bins[name].ordered
    ranks = {code: code if ordered else public_draw(2**32, *place, code) for code in range(size)}
    cut = 1 + public_draw(max(size - 1, 1), *place, "cut")
    return name, tuple(sorted(sorted(ranks, key=ranks.__getitem__)[:cut]))


def public_draw(n: int, *place: Any) -> int:
    """A number below n that looks random and is a function of public arguments."""
    return int.from_bytes(blake2b(repr(place).encode(), digest_size=8).digest()) % n
