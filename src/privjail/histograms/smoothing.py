"""Smoothing of noisy counts: the mean over all trees of tree.py, corrected where those trees prove too sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privjail.histograms.laws import Floats, Integers, Law
from privjail.histograms.nested import NestedSpread
from privjail.histograms.tree import (
    COMMON,
    EMPTY,
    FLAT,
    KINDS,
    ROUGHNESS,
    ROUNDS,
    SPLIT,
    Climbed,
    Message,
    Sums,
    climb,
    look,
    spread_out,
)
from privjail.simplex import nonnegative

WIDTH = 128  # bins in one tree, where there are no sums of blocks


@dataclass(frozen=True)
class Unbiased:
    """The least-squares estimate, and the exact variance of each of its ranges."""

    counts: Floats
    spread: NestedSpread

    def variances(self, starts: Integers, size: int) -> Floats:
        """Of runs of blocks that begin with these blocks and end where the next one begins."""
        ends = [*(starts[1:] * size).tolist(), len(self.counts)]
        pairs = zip((starts * size).tolist(), ends, strict=True)
        return np.array([self.spread.variance(a, b) for a, b in pairs])


@dataclass
class Smoothed:
    """Trees of bins: estimates, how unsure the trees are of each, and of the blocks that were measured."""

    counts: Floats
    variances: Floats
    block_variances: Floats


@dataclass(frozen=True)
class Measured:
    """Noisy sums of blocks of so many bins; the last block may be shorter."""

    size: int
    values: Floats
    law: Law


def smooth_blocks(
    leaves: Floats,
    leaf_law: Law,
    measured: Sequence[Measured] = (),
    unbiased: Unbiased | None = None,
    total: float | None = None,
) -> Floats:
    """Estimates from noisy counts and, where there are any, noisy sums of blocks and the known number of records.

    With sums, ``unbiased`` is the least-squares estimate of all of it without that number, and the variances of ranges.
    """
    widest = _widest(len(leaves), measured)
    bins, present = in_blocks(leaves, widest)
    sums = [_in_trees(each, bins.shape) for each in measured]
    known = total if total is not None else (measured[-1].values if measured else leaves).sum()
    top = 2.0 ** math.ceil(math.log2(max(float(known), 100.0)))
    levels = look(bins, present, leaf_law, top, sums)
    how_common = np.tile(COMMON / COMMON.sum(), (len(levels), 1))
    for _ in range(ROUNDS):
        climbed = climb(levels, how_common, sums)
        found, counted = descend(climbed, bins, leaf_law, sums, total)
        how_common = _more_common(counted)
    if unbiased is not None:
        width = sums[0].width
        shape = bins.size // width, width
        blocks = Smoothed(found.counts.reshape(shape), found.variances.reshape(shape), found.block_variances)
        there = present.reshape(shape)
        some = there.any(axis=1)
        blocks = Smoothed(blocks.counts[some], blocks.variances[some], blocks.block_variances[some])
        moved = loosen(blocks, there[some], measured[0].size, unbiased, total)
        counts = np.zeros(shape)
        counts[some] = moved.counts
        found.counts = counts.reshape(bins.shape)
    return np.asarray((found.counts * present)[:, :widest].ravel()[: len(leaves)])


def _widest(bins: int, measured: Sequence[Measured]) -> int:
    """Bins in one tree: all of them, if blocks are powers of two; else those of one block."""
    if not measured:
        return min(WIDTH, 1 << (bins - 1).bit_length())
    if any(each.size & (each.size - 1) for each in measured):
        return measured[-1].size
    return max(measured[-1].size, 1 << (bins - 1).bit_length())


def _in_trees(measured: Measured, shape: tuple[int, ...]) -> Sums:
    trees, width = shape
    if measured.size & (measured.size - 1):
        return Sums(width, measured.values[:, None], measured.law)
    values = np.zeros(trees * width // measured.size)
    values[: len(measured.values)] = measured.values
    return Sums(measured.size, values.reshape(trees, -1), measured.law)


def in_blocks(leaves: Floats, block_size: int) -> tuple[Floats, Floats]:
    """Bins as (blocks, width), width a power of two, and 1 where there is a bin, 0 where only filling."""
    blocks = -(-len(leaves) // block_size)
    width = 1 << (block_size - 1).bit_length()
    row = np.zeros(blocks * block_size)
    there = np.zeros(blocks * block_size)
    row[: len(leaves)], there[: len(leaves)] = leaves, 1.0
    bins, present = np.zeros((blocks, width)), np.zeros((blocks, width))
    bins[:, :block_size], present[:, :block_size] = row.reshape(blocks, -1), there.reshape(blocks, -1)
    return bins, present


def _more_common(counted: Floats) -> Floats:
    found = counted + COMMON
    found[0] = 0.0
    found[0, [EMPTY, FLAT]] = counted[0, [EMPTY, FLAT]] + 1.0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def descend(
    climbed: Climbed, bins: Floats, leaf_law: Law, sums: Sequence[Sums], total: float | None
) -> tuple[Smoothed, Floats]:
    """From the roots to the leaves: estimates, and how often each kind was met at each depth."""
    counted = np.zeros((len(climbed.levels), KINDS))
    message = _from_the_other_blocks(climbed, total)
    alive = np.ones_like(message.mean)
    each = Moments(np.zeros_like(bins), np.zeros_like(bins))
    size = sums[0].width if sums else bins.shape[1]
    blocks = Moments(*(np.zeros((len(bins), bins.shape[1] // size)) for _ in range(2)))
    for depth in reversed(range(len(climbed.levels))):
        level = climbed.levels[depth]
        kind, sum_mean, sum_variance = message.on(level, climbed.weighted[depth])
        weight = alive * kind
        counted[depth] = (weight * (level.lengths > 0)).sum(axis=(1, 2))
        length = np.maximum(level.lengths, 1)
        for which in [EMPTY, FLAT, *(range(2, KINDS - 1) if depth else ())]:
            own = 0.0 if which < 2 else ROUGHNESS[which - 2] ** 2 / (1 + ROUGHNESS[which - 2] ** 2)
            here = spread_out(weight[which], level.width)
            bin_mean = spread_out(sum_mean[which] / length - own * level.seen, level.width) + own * bins
            bin_variance = spread_out(sum_variance[which] / length**2, level.width) + own * leaf_law.variance
            each.add(here, bin_mean, bin_variance)
            if level.width > size:
                inside = spread_out(weight[which], level.width // size)
                part = np.minimum(1.0, size / length)
                part_mean, part_variance = sum_mean[which] * part, sum_variance[which] * part**2
                blocks.add(inside, *(spread_out(x, level.width // size) for x in (part_mean, part_variance)))
        if level.width == size:
            for which in range(KINDS):
                blocks.add(weight[which], sum_mean[which], sum_variance[which])
        for told in sums:
            if told.width == level.width:
                message = message.and_also(told.values, 1 / told.law.variance, level.lengths > 0)
        if depth:
            message = message.to_children(climbed.sums[depth - 1], climbed.variances[depth - 1])
            alive = spread_out(weight[SPLIT], 2)
    return Smoothed(each.mean, each.variance, blocks.variance.ravel()), counted


@dataclass
class Moments:
    """Mean and mean square of a mixture, as its parts are added."""

    mean: Floats
    square: Floats

    def add(self, weight: Floats, mean: Floats, variance: Floats) -> None:
        self.mean += weight * mean
        self.square += weight * (mean**2 + variance)

    @property
    def variance(self) -> Floats:
        return np.asarray(np.maximum(self.square - self.mean**2, 0.0))


def _from_the_other_blocks(climbed: Climbed, total: float | None) -> Message:
    sums, variances = climbed.sums[-1], climbed.variances[-1]
    if total is None:
        return Message(np.zeros_like(sums), np.zeros_like(sums))
    others = np.maximum(variances.sum() - variances, 1e-6)
    return Message(total - (sums.sum() - sums), 1 / others)


def loosen(found: Smoothed, present: Floats, size: int, unbiased: Unbiased, total: float | None) -> Smoothed:
    """Move blocks towards what was measured of them, as far as the trees prove too sure of themselves.

    Small errors of the trees in many blocks, all to one side, add up. So the measured sums are compared first over
    long runs of blocks, then over shorter ones, down to single blocks; bins move by their share of the variance.
    No block holds less than nothing: what is below 0 is taken from the others, again by variance.
    """
    measured = np.add.reduceat(unbiased.counts, np.arange(0, len(unbiased.counts), size))
    s = unbiased.variances(np.arange(len(measured)), size)
    sure = np.minimum(found.block_variances, s)
    block = (found.counts * present).sum(axis=1)
    variances = sure
    most = total if total is not None else max(0.0, float(measured.sum())) + 2 * math.sqrt(float(s.sum()))
    for run in _runs(len(block), whole=total is None):
        noise = unbiased.variances(run, size)
        block, variances, unsure = _towards(measured, s, noise, sure, block, variances, run, most)
    if total is not None:
        block = block + variances / max(float(variances.sum()), 1e-9) * (total - block.sum())
    block = nonnegative(block, variances)
    each = (found.variances + (unsure / present.sum(axis=1))[:, None]) * present + 1e-300
    share = each / each.sum(axis=1, keepdims=True)
    before = found.counts * present
    counts = before + share * (block - before.sum(axis=1))[:, None]
    extra = share * np.maximum(variances - sure, 0.0)[:, None]
    return Smoothed(counts, found.variances + extra, variances)


def _runs(blocks: int, whole: bool) -> list[Integers]:
    """Where runs of blocks begin, for runs of all blocks (if wanted), of half of them, of a quarter, … of one."""
    longest = max(0, (blocks - 1).bit_length() - (0 if whole else 1))
    return [np.arange(0, blocks, 2**k) for k in range(longest, -1, -1)]


def _towards(
    measured: Floats,
    s: Floats,
    noise: Floats,
    sure: Floats,
    block: Floats,
    variances: Floats,
    starts: Integers,
    most: float,
) -> tuple[Floats, Floats, Floats]:
    """Runs moved towards their measured sums.

    Where the trees are right, a run is off by its noise less what they took from it. What all runs of this
    length are off beyond that is the trees' own error, of variance e; each goes the share e / (e + s) of the way.
    Two histograms of at most `most` records are never further apart than 2 · most² in squares.
    """
    size = np.diff(np.append(starts, len(block)))
    known, gap = (np.add.reduceat(x, starts) for x in (sure, measured - block))
    known = np.minimum(known, noise)
    left = (noise - known) / noise
    weight = max(float((left**4).sum()), 1e-9)
    beyond = ((gap**2 - left * noise) * left**2).sum() / weight
    # Few runs say little about e: without this margin noise would pass for error.
    margin = math.sqrt(2 * float(((left * noise) ** 2 * left**4).sum())) / weight
    e = min(max(0.0, float(beyond) - margin), 2 * most**2 / len(starts))
    gain = np.clip(e / np.maximum(e * left + noise, 1e-9), 0.0, 1.0)
    unsure = np.repeat(e / size, size)
    share = variances + unsure + 1e-300
    share = share / np.repeat(np.add.reduceat(share, starts), size)
    wider = np.minimum(np.repeat(e * noise / (e + noise) / size, size), s)
    return block + share * np.repeat(gain * gap, size), np.minimum(np.maximum(variances, sure + wider), s), unsure
