"""Is a stretch of bins empty, flat, rough, or made of two different halves? Each with its probability.

The bins of a block are the leaves of a binary tree. A node is one of: *empty* (all zero); *flat* (one level);
*rough* (a level, and bins that scatter about it by a known share of the noise); or *split* (its halves are what they
are). The answer is the mean over all such trees, weighted by how well each explains the noisy numbers: a pass from
the leaves up sums the evidence, one from the root down hands out probabilities. How common each kind is at each
depth is learnt from the noisy numbers themselves (empirical Bayes). All of this reads released numbers only.

Noisy sums of some widths are told to the nodes of that width. A wider node that is empty or flat must explain the
sums inside it too; whether a stretch is rough is asked up to the narrowest sums only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privjail.histograms.laws import Floats, Law
from privjail.histograms.levels import level_prior

EMPTY, FLAT, SPLIT = 0, 1, -1
ROUGHNESS = (0.5, 1.0, 2.0, 4.0, 8.0)  # standard deviations of rough bins about their level, in units of the noise
KINDS = 3 + len(ROUGHNESS)
COMMON = np.array([0.3, 0.3, *(0.1,) * len(ROUGHNESS), 0.3])
ROUNDS = 3
IMPOSSIBLE = -1e30
SURE = 1e-12


@dataclass(frozen=True)
class Sums:
    """Noisy sums of all nodes of one width."""

    width: int
    values: Floats  # one row for each tree
    law: Law


@dataclass
class Level:
    """All nodes of one depth: for each kind, log evidence and mean and variance of the node's sum."""

    width: int
    lengths: Floats
    seen: Floats  # the mean of the noisy counts
    evidence: Floats
    sums: Floats
    variances: Floats

    def copy(self) -> Level:
        return Level(self.width, self.lengths, self.seen, self.evidence.copy(), self.sums.copy(), self.variances.copy())


def pairs(nodes: Floats) -> Floats:
    """The sum over the two children of each node."""
    return np.asarray(nodes[..., 0::2] + nodes[..., 1::2])


def spread_out(nodes: Floats, width: int) -> Floats:
    return np.repeat(nodes, width, axis=-1)


def log_sum(terms: Floats) -> Floats:
    highest = terms.max(axis=0)
    return np.asarray(highest + np.log(np.exp(terms - highest).sum(axis=0)))


def log_normal(distance: Floats, variance: Any) -> Floats:
    return np.asarray(-0.5 * distance**2 / variance - 0.5 * np.log(2 * math.pi * variance))


@dataclass
class Inside:
    """What the sums inside a node say about one common level of its bins: -½ (fit - 2 level·pull + level²·weight)."""

    fit: Floats
    pull: Floats
    weight: Floats
    empty: Floats  # log probability of these sums if all bins are 0
    any: bool = False

    def with_sums(self, sums: Sums, lengths: Floats) -> Inside:
        b, y = sums.law.variance, sums.values
        there = lengths > 0
        fit = self.fit + there * (y**2 / b + math.log(2 * math.pi * b))
        return Inside(
            fit, self.pull + lengths * y / b, self.weight + lengths**2 / b,
            self.empty + there * sums.law.log_density(y), any=True,
        )  # fmt: skip

    def paired(self) -> Inside:
        return Inside(pairs(self.fit), pairs(self.pull), pairs(self.weight), pairs(self.empty), self.any)


def look(bins: Floats, present: Floats, law: Law, top: float, sums: Sequence[Sums] = ()) -> list[Level]:
    """What each node's own bins and the sums inside it say, from the leaves to the root.

    Bins have the shape (trees, a power of two). The noisy sum of a node itself is told to it later, by climb().
    """
    levels, width = [], 1
    totals, squares, lengths = bins * present, bins**2 * present, present
    empty = law.log_density(bins) * present
    none = np.zeros_like(bins)
    inside = Inside(none, none, none, none)
    while True:
        level = Level(width, lengths, totals / np.maximum(lengths, 1), *_nothing(totals))
        levels.append(_look_at(bins, present, law, top, level, squares, empty, inside))
        if width == bins.shape[1]:
            return levels
        for told in sums:
            if told.width == width:
                inside = inside.with_sums(told, lengths)
        width *= 2
        totals, squares, lengths, empty = pairs(totals), pairs(squares), pairs(lengths), pairs(empty)
        inside = inside.paired()


def _nothing(seen: Floats) -> tuple[Floats, Floats, Floats]:
    shape = (KINDS, *seen.shape)
    return np.full(shape, IMPOSSIBLE), np.zeros(shape), np.zeros(shape)


def _look_at(
    bins: Floats, present: Floats, law: Law, top: float, level: Level, squares: Floats, empty: Floats, inside: Inside
) -> Level:
    noise = law.variance
    level.evidence[EMPTY] = empty + inside.empty
    near = bins - spread_out(level.seen, level.width)
    fit = (law.log_density(near) * present).reshape(*level.seen.shape, level.width).sum(axis=-1)
    scatter = np.maximum(squares - level.lengths * level.seen**2, 0.0)
    for length in np.unique(level.lengths):
        here = level.lengths == length
        if length == 0:  # beyond the last bin: nothing to explain, whatever it is
            level.evidence[:, here] = 0.0
            continue
        _look_flat(level, here, noise, float(length), fit[here], top, inside)
        if level.width > 1 and not inside.any:
            for kind, rough in enumerate(ROUGHNESS, start=2):
                _look_rough(level, kind, rough, noise, here, float(length), scatter[here], top)
    return level


def _look_flat(level: Level, here: Any, noise: float, length: float, fit: Floats, top: float, inside: Inside) -> None:
    """The bins see the level as their mean, the sums inside see it too: together as one normal look at it."""
    bins, sums = length / noise, float(inside.weight[here][0])  # how precisely; the same for all nodes of a length
    mean, seen = level.seen[here], level.seen[here]
    if inside.any:
        gap = inside.pull[here] - sums * mean
        apart = inside.fit[here] - 2 * mean * inside.pull[here] + sums * mean**2 - gap**2 / (bins + sums)
        fit, seen = fit - 0.5 * apart, mean + gap / (bins + sums)
    evidence, mean, variance = level_prior(1 / math.sqrt(bins + sums), top)(seen)
    # A single bin is its own level: the law of its noise is then in the prior's normal error alone.
    own = 0.0 if level.width == 1 else fit + 0.5 * math.log(2 * math.pi / (bins + sums))
    level.evidence[FLAT, here] = evidence + own
    level.sums[FLAT, here], level.variances[FLAT, here] = length * mean, length**2 * variance


def _look_rough(
    level: Level, kind: int, rough: float, noise: float, here: Any, length: float, scatter: Floats, top: float
) -> None:
    total = noise * (1 + rough**2)
    own = rough**2 / (1 + rough**2)  # the share of a bin's deviation that is its own, not noise
    seen = level.seen[here]
    evidence, mean, variance = level_prior(math.sqrt(total / length), top)(seen)
    explained = -0.5 * scatter / total - (length - 1) / 2 * math.log(2 * math.pi * total) - 0.5 * math.log(length)
    level.evidence[kind, here] = evidence + explained
    level.sums[kind, here] = length * ((1 - own) * mean + own * seen)
    level.variances[kind, here] = length**2 * (1 - own) ** 2 * variance + length * own * noise


@dataclass
class Message:
    """What the rest of the histogram says about the sum of each node: a mean, and how precise it is."""

    mean: Floats
    precision: Floats

    def on(self, level: Level, weighted: Floats) -> tuple[Floats, Floats, Floats]:
        """Probability of each kind, mean and variance of the sum for each, with this message."""
        told = self.precision > SURE
        variance = 1 / np.maximum(self.precision, SURE)
        gap, total = self.mean - level.sums, level.variances + variance
        log_weight = np.where(told, weighted + log_normal(gap, total), weighted)
        gain = np.where(told, level.variances / total, 0.0)
        kind = np.exp(log_weight - log_sum(log_weight))
        return kind, level.sums + gain * gap, level.variances * (1 - gain)

    def and_also(self, value: Floats, precision: float, there: Any) -> Message:
        precision = precision * there
        both = self.precision + precision
        return Message((self.precision * self.mean + precision * value) / np.maximum(both, SURE), both)

    def to_children(self, sums: Floats, variances: Floats) -> Message:
        """A child's sum is its parent's less its sibling's."""
        order = np.arange(sums.shape[-1]) ^ 1
        variance = 1 / np.maximum(spread_out(self.precision, 2), SURE) + variances[..., order]
        told = spread_out(self.precision, 2) > SURE
        return Message(spread_out(self.mean, 2) - sums[..., order], np.where(told, 1 / variance, 0.0))


@dataclass
class Climbed:
    """After the way up: levels with the evidence of their splits, and each node's sum over all kinds."""

    levels: list[Level]
    weighted: list[Floats]
    sums: list[Floats]
    variances: list[Floats]


def climb(levels: list[Level], how_common: Floats, sums: Sequence[Sums] = ()) -> Climbed:
    """From the leaves to the roots; noisy sums, where there are any, are told to the nodes of their width."""
    done = Climbed([], [], [], [])
    for depth, before in enumerate(levels):
        level = before.copy()
        if depth:
            level.evidence[SPLIT] = pairs(log_sum(done.weighted[-1]))
            level.sums[SPLIT], level.variances[SPLIT] = pairs(done.sums[-1]), pairs(done.variances[-1])
        for told in sums:
            if told.width == level.width:
                _tell(level, told.values, told.law)
        weighted = level.evidence + np.log(np.maximum(how_common[depth], 1e-9))[:, None, None]
        kind = np.exp(weighted - log_sum(weighted))
        mean = (kind * level.sums).sum(axis=0)
        done.levels.append(level)
        done.weighted.append(weighted)
        done.sums.append(mean)
        done.variances.append((kind * (level.variances + (level.sums - mean) ** 2)).sum(axis=0))
    return done


def _tell(level: Level, sums: Floats, law: Law) -> None:
    there = level.lengths > 0
    level.evidence[EMPTY] += there * law.log_density(sums)
    gap, total = sums - level.sums[1:], level.variances[1:] + law.variance
    level.evidence[1:] += there * log_normal(gap, total)
    gain = there * level.variances[1:] / total
    level.sums[1:] += gain * gap
    level.variances[1:] *= 1 - gain
