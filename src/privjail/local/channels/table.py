"""Any finite channel, written out: for other designs, for several rounds, for refuting claims."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from privjail.errors import PlanError
from privjail.local.channels.channel import Channel, TableChannel
from privjail.local.channels.domain import Domain
from privjail.local.channels.exact import Rational, probability


@dataclass(frozen=True)
class Table(TableChannel):
    """rows[o][d] = P[o | d].

    Guarantee: the largest ratio within a row.
    Why: that is the definition.
    Source: paper, equation (12).
    """

    domain: Domain
    rows: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        rows = tuple(tuple(probability(p, "a law's entry") for p in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)
        if not rows or any(len(row) != self.domain.size for row in rows):
            raise PlanError("a law needs one row for each output, one column for each answer", do="rows[o][d] = P[o|d]")
        if any(sum(column) != 1 for column in zip(*rows, strict=True)):
            raise PlanError("each column of a law must add up to exactly 1", do='write chances as "1/3"')

    @staticmethod
    def of(domain: Domain, rows: Sequence[Sequence[Rational]]) -> Table:
        return Table(domain, tuple(tuple(probability(p, "a law's entry") for p in row) for row in rows))

    @property
    def shape(self) -> Hashable:
        return ("table", self.domain, len(self.rows))

    def size(self) -> int:
        return len(self.rows)

    def law(self, output: int, value: int) -> Fraction:
        return self.rows[output][value]

    def spec(self) -> dict[str, Any]:
        return {"channel": "table", "rows": [[str(p) for p in row] for row in self.rows]}


def rounds(*channels: Channel) -> Table:
    """The same answer sent through each channel once, with fresh randomness: what averaging attacks."""
    domain = channels[0].domain
    if any(c.domain != domain for c in channels):
        raise PlanError("rounds of one survey must ask about the same domain")
    rows = []
    for outputs in product(*(list(c.outputs()) for c in channels)):
        row = [Fraction(1)] * domain.size
        for channel, output in zip(channels, outputs, strict=True):
            row = [p * channel.law(output, d) for d, p in enumerate(row)]
        rows.append(tuple(row))
    return Table(domain, tuple(rows))


def processed(channel: Channel, rule: Callable[[int], int]) -> Table:
    """The channel whose outputs are merged by a public rule."""
    merged: dict[int, list[Fraction]] = {}
    for output in channel.outputs():
        row = merged.setdefault(rule(output), [Fraction(0)] * channel.domain.size)
        for d in range(channel.domain.size):
            row[d] += channel.law(output, d)
    return Table(channel.domain, tuple(tuple(merged[key]) for key in sorted(merged)))
