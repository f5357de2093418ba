"""What speaks against an estimate: the mix, the fit of the reports, a choice that depends on the answer.

Claim: if what a survey assumes is true, each finding other than ``unchecked`` comes up with probability about
``ALPHA`` or less. docs/decisions/0220-the-mix-is-collected.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privjail.local.channels.channel import Floats, SupportChannel, TableChannel
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.pbp import Strength
from privjail.local.channels.unary import Unary
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mixes import CollectedMix, mix_reach

ALPHA = 0.01
_SOME = 20_000  # hashed reports whose supported answers are counted one by one


@dataclass(frozen=True)
class Finding:
    """One assumption that the reports speak against (or that nothing could check), in words."""

    kind: str  # mix, strength, fit, dependence or unchecked
    text: str
    do: str
    p_value: float | None = None

    def __str__(self) -> str:
        return f"{self.text}\n  do: {self.do}"


def of_mix(collected: CollectedMix, stated: Mapping[str, Fraction]) -> list[Finding]:
    """The collected mix against the stated one."""
    p = collected.differs_from(stated)
    if p >= ALPHA:
        return []
    shares = ", ".join(f"{t} {s:.2f} ({float(stated[t]):.2f} stated)" for t, s in collected.fractions_shown())
    return [
        Finding(
            "mix",
            f"people did not choose as this survey says: {shares}",
            "rely on the collected mix, which this estimate uses; correct the survey before it is run again",
            p,
        )
    ]


def of_strength(promised: Sequence[Strength], found: Sequence[Strength]) -> list[Finding]:
    """Strengths under the collected mix that are worse than those promised under the stated one."""
    worse = [(a, b) for a, b in zip(promised, found, strict=True) if b.hidden > a.hidden + 0.01]
    return [
        Finding(
            "strength",
            f"under the collected mix {b.theta} has E = {b.hidden:.3f}; {a.hidden:.3f} was promised",
            f"tell its people: what holds in any case is the plain ε = {b.public:.3f}",
        )
        for a, b in worse
    ]


def unchecked(group: Group, frequencies: Floats) -> Finding:
    """A stated mix that nothing in the reports can confirm."""
    reach = mix_reach(group, frequencies, 0.1)
    return Finding(
        "unchecked",
        f"the mix is stated and not collected. If its shares are off by 0.1, a frequency is off by up to {reach:.3f}",
        "collect ballots (a survey file may hold one), or give mix_within=0.1 for intervals that allow for it",
    )


def of_fit(groups: Sequence[Group]) -> list[Finding]:
    """Reports against the law that the survey says they come from."""
    smallest = min((p for group in groups if group.count for p in _fits(group)), default=1.0)
    if smallest >= ALPHA / max(1, len(groups)):
        return []
    return [
        Finding(
            "fit",
            "these reports do not look like what this survey's channels send",
            "check that the reports belong to this survey and that its mix is right; some may be forged",
            smallest,
        )
    ]


def _fits(group: Group) -> list[float]:
    """Probabilities of something at least as unlikely, adjusted for how many were looked at."""
    channel, found = group.channel, []
    if isinstance(channel, SupportChannel):
        found.append(_impossible_frequencies(group))
    if isinstance(channel, Unary):
        found.append(_numbers_of_ones(group))
    elif isinstance(channel, LocalHashing):
        found.append(_total_support(group, channel))
    elif isinstance(channel, TableChannel) and channel.size() > channel.domain.size:
        found.append(_outputs(group))
    return [min(1.0, p * len(found)) for p in found]


def _impossible_frequencies(group: Group) -> float:
    """Counts below what a frequency of 0 gives, or above what 1 gives, over all answers."""
    from scipy.stats import binom

    p, q = sorted((float(rate) for rate in group.rates()), reverse=True)
    low = binom.cdf(group.tally, group.count, q).min()
    high = binom.sf(group.tally - 1, group.count, p).min()
    return float(min(1.0, 2 * len(group.tally) * min(low, high)))


def _numbers_of_ones(group: Group) -> float:
    """How many reports have how many ones: a law in which the answers do not occur."""
    from scipy.stats import binom, chisquare

    channel = group.channel
    assert isinstance(channel, Unary)
    k, n = channel.domain.size, group.count
    law = np.zeros(k + 1)
    for share, each in zip(group.mix, group.channels, strict=True):
        assert isinstance(each, Unary)
        rest = binom.pmf(np.arange(k), k - 1, float(each.no))
        law[1:] += float(share) * float(each.yes) * rest
        law[:-1] += float(share) * float(1 - each.yes) * rest
    ones = np.bincount(np.bitwise_count(group.reports).sum(axis=1, dtype=np.int64), minlength=k + 1)
    expected, seen = _merged(law * n, ones.astype(np.float64))
    return float(chisquare(seen, expected).pvalue) if len(seen) > 1 else 1.0


def _merged(expected: Floats, seen: Floats, least: float = 5.0) -> tuple[Floats, Floats]:
    """Neighbouring cells joined until each is expected at least so often."""
    wanted, found, w, f = [], [], 0.0, 0.0
    for e, s in zip(expected.tolist(), seen.tolist(), strict=True):
        w, f = w + e, f + s
        if w >= least:
            wanted.append(w)
            found.append(f)
            w = f = 0.0
    if wanted:
        wanted[-1] += w
        found[-1] += f
    total = sum(wanted)
    return np.array(wanted) * (sum(found) / total if total else 1.0), np.array(found)


def _total_support(group: Group, channel: LocalHashing) -> float:
    """The number of answers that a report supports, on average: p + (k − 1)·q, whatever the answers are."""
    from scipy.stats import norm

    p, q = (float(rate) for rate in group.rates())
    supported = channel.supports(group.reports[:_SOME]).sum(axis=1)
    if len(supported) < 30 or supported.std() == 0:
        return 1.0
    wanted = p + (channel.domain.size - 1) * q
    return float(2 * norm.sf(abs(supported.mean() - wanted) / (supported.std() / len(supported) ** 0.5)))


def _outputs(group: Group) -> float:
    """More outputs than answers: the part of what was seen that no frequencies explain, in its own units."""
    from scipy.stats import chi2

    law, n = group.table(), group.count
    seen = (group.counts() + 0.5) / (n + 0.5 * len(law))
    scale = 1 / np.sqrt(seen)
    left, values, _ = np.linalg.svd(law * scale[:, None], full_matrices=True)
    rank = int((values > 1e-9 * values.max()).sum())
    beside = left[:, rank:]
    statistic = n * float((beside.T @ ((group.counts() / n) * scale)) @ (beside.T @ ((group.counts() / n) * scale)))
    return float(chi2.sf(statistic, law.shape[0] - rank)) if law.shape[0] > rank else 1.0
