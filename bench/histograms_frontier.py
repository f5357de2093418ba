"""How well single bins and ranges can be answered from one release: exact errors of unbiased estimates."""

from __future__ import annotations

import numpy as np

from privjail.histograms import block_tree
from privjail.histograms.nested import Nest, NestedSpread

SHARES = (0.95, 0.85, 0.75, 0.6, 0.4)
TEXT = """
## Why no release is the best at both

On data that nothing can be learnt from (each bin is as it is, whatever its neighbours are) an unbiased estimate is all
there is, and its errors are known exactly. Whoever asks single bins only spends all of ε on them; whoever asks ranges
only, on sums. Below, s of ε goes to single bins and the rest to blocks of the size that is best for ranges. Errors of
single bins are relative to those with all of ε (Identity), errors of prefixes and random ranges to `block_tree for
ranges` without smoothing. No number is computed from data. **Within 5 % of Identity on bins needs s ≥ 0.95, and then
prefixes have {worst} times the error**: among releases of bins and blocks of one size none is as good as the best of
all algorithms in both respects on rough data. So the choice is made by what will be asked: `bins`, `ranges`, or `both`
in between.

"""


def errors(bins: int, shares: dict[int, float]) -> np.ndarray:
    """Root mean squares of single bins, prefixes and random ranges at ε = 1."""
    spread = NestedSpread(Nest(bins, tuple(shares), tuple(2 / s**2 for s in shares.values())))
    ends = np.random.default_rng(0).integers(0, bins + 1, (60, 2))
    ends.sort(axis=1)
    single = [(i, i + 1) for i in range(0, bins, max(1, bins // 20))]
    prefix = [(0, b) for b in range(1, bins + 1, max(1, bins // 61))]
    return np.sqrt([np.mean([spread.variance(a, b) for a, b in each]) for each in (single, prefix, ends.tolist())])


def frontier(bins: int) -> list[tuple[str, np.ndarray]]:
    """What is relative to the best of each, for shares and for the three purposes."""
    best = errors(bins, {size: float(share) for size, share in block_tree.shares(bins, "ranges").items()})
    best[0] = np.sqrt(2.0)
    powers = [2**i for i in range(2, bins.bit_length())]
    found = []
    for s in SHARES:
        each = [errors(bins, {1: s, size: 1 - s}) for size in powers]
        found.append((f"s = {s:g}", min(each, key=lambda e: float(e[1] * e[2])) / best))
    for purpose in block_tree.PURPOSES:
        shares = {size: float(share) for size, share in block_tree.shares(bins, purpose).items()}
        told = " + ".join(f"{share:.2f} × {size}" for size, share in shares.items())
        found.append((f"{purpose} ({told})", errors(bins, shares) / best))
    return found


def section(sizes: tuple[int, ...]) -> str:
    lines = ["| bins | share | single | prefix | random |", "| --- | --- | --- | --- | --- |"]
    worst = []
    for bins in sizes:
        rows = frontier(bins)
        worst.append(rows[0][1][1])
        lines += [f"| {bins} | {name} | {' | '.join(f'{e:.2f}' for e in ratio)} |" for name, ratio in rows]
    said = f"{min(worst):.1f} to {max(worst):.1f}" if len(sizes) > 1 else f"{worst[0]:.1f}"
    return TEXT.format(worst=said) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(section((256, 1000, 4096)))
