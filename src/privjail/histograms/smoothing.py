"""Smoothing of noisy counts: the mean over all trees of tree.py, corrected where those trees prove too sure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privjail.histograms.laws import Floats, Integers, Law
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
    climb,
    look,
    spread_out,
)
from privjail.simplex import nonnegative


@dataclass
class Smoothed:
    """Blocks of bins: estimates, how unsure the trees are of each, and of the blocks."""

    counts: Floats
    variances: Floats
    block_variances: Floats


def smooth_blocks(
    leaves: Floats,
    sums: Floats | None,
    block_size: int,
    leaf_law: Law,
    sum_law: Law | None,
    total: float | None = None,
) -> Smoothed:
    """Estimates from noisy counts and, where there are any, noisy sums of blocks and the known number of records."""
    bins, present = in_blocks(leaves, block_size)
    known = total if total is not None else (sums if sums is not None else leaves).sum()
    top = 2.0 ** math.ceil(math.log2(max(float(known), 100.0)))
    levels = look(bins, present, leaf_law, top)
    how_common = np.tile(COMMON / COMMON.sum(), (len(levels), 1))
    for _ in range(ROUNDS):
        climbed = climb(levels, how_common, sums, sum_law)
        found, counted = descend(climbed, bins, leaf_law, sums, sum_law, total)
        how_common = _more_common(counted)
    if sums is not None and sum_law is not None:
        found = loosen(found, bins * present, present, sums, leaf_law, sum_law, total)
    found.counts, found.variances = found.counts * present, found.variances * present
    return found


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
    climbed: Climbed, bins: Floats, leaf_law: Law, sums: Floats | None, sum_law: Law | None, total: float | None
) -> tuple[Smoothed, Floats]:
    """From the roots to the leaves: estimates, and how often each kind was met at each depth."""
    mean, square = np.zeros_like(bins), np.zeros_like(bins)
    counted = np.zeros((len(climbed.levels), KINDS))
    message = _from_the_other_blocks(climbed, total)
    alive = np.ones_like(message.mean)
    blocks = np.zeros(len(bins))
    for depth in reversed(range(len(climbed.levels))):
        level = climbed.levels[depth]
        kind, sum_mean, sum_variance = message.on(level, climbed.weighted[depth])
        weight = alive * kind
        counted[depth] = (weight * (level.lengths > 0)).sum(axis=(1, 2))
        for which in [EMPTY, FLAT, *(range(2, KINDS - 1) if depth else ())]:
            own = 0.0 if which < 2 else ROUGHNESS[which - 2] ** 2 / (1 + ROUGHNESS[which - 2] ** 2)
            length = np.maximum(level.lengths, 1)
            here = spread_out(weight[which], level.width)
            bin_mean = spread_out(sum_mean[which] / length - own * level.seen, level.width) + own * bins
            bin_variance = spread_out(sum_variance[which] / length**2, level.width) + own * leaf_law.variance
            mean += here * bin_mean
            square += here * (bin_mean**2 + bin_variance)
        if depth == len(climbed.levels) - 1:
            middle = (kind * sum_mean).sum(axis=0)
            blocks = (kind * (sum_variance + (sum_mean - middle) ** 2)).sum(axis=0)[:, 0]
            if sums is not None and sum_law is not None:
                message = message.and_also(sums[:, None], 1 / sum_law.variance)
        if depth:
            message = message.to_children(climbed.sums[depth - 1], climbed.variances[depth - 1])
            alive = spread_out(weight[SPLIT], 2)
    variance = np.maximum(square - mean**2, 0.0)
    return Smoothed(mean, variance, blocks), counted


def _from_the_other_blocks(climbed: Climbed, total: float | None) -> Message:
    sums, variances = climbed.sums[-1], climbed.variances[-1]
    if total is None:
        return Message(np.zeros_like(sums), np.zeros_like(sums))
    others = np.maximum(variances.sum() - variances, 1e-6)
    return Message(total - (sums.sum() - sums), 1 / others)


def loosen(
    found: Smoothed, bins: Floats, present: Floats, sums: Floats, leaf_law: Law, sum_law: Law, total: float | None
) -> Smoothed:
    """Move blocks towards what was measured of them, as far as the trees prove too sure of themselves.

    Small errors of the trees in many blocks, all to one side, add up. So the measured sums are compared first over
    long runs of blocks, then over shorter ones, down to single blocks; bins move by their share of the variance.
    No block holds less than nothing: what is below 0 is taken from the others, again by variance.
    """
    noise = present.sum(axis=1) * leaf_law.variance
    s = 1 / (1 / sum_law.variance + 1 / noise)
    measured = s * (sums / sum_law.variance + bins.sum(axis=1) / noise)
    sure = np.minimum(found.block_variances, s)
    block = (found.counts * present).sum(axis=1)
    variances = sure
    most = total if total is not None else max(0.0, float(measured.sum())) + 2 * math.sqrt(float(s.sum()))
    for run in _runs(len(block), whole=total is None):
        block, variances, unsure = _towards(measured, s, sure, block, variances, run, most)
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
    measured: Floats, s: Floats, sure: Floats, block: Floats, variances: Floats, starts: Integers, most: float
) -> tuple[Floats, Floats, Floats]:
    """Runs moved towards their measured sums.

    Where the trees are right, a run is off by its noise s less what they took from it. What all runs of this
    length are off beyond that is the trees' own error, of variance e; each goes the share e / (e + s) of the way.
    Two histograms of at most `most` records are never further apart than 2 · most² in squares.
    """
    size = np.diff(np.append(starts, len(block)))
    noise, known, gap = (np.add.reduceat(x, starts) for x in (s, sure, measured - block))
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
