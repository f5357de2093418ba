"""The laws of the shipped choices, measured on their own random bits. Nothing in this file knows the law.

A choice reads uniform numbers bit by bit. Here it reads bits that we give it. Its answer as a function of one
number, all others fixed, changes at a few points only; they are found by halving. The measure between them is
the probability, up to what was left undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import permutations, product
from math import factorial

import numpy as np

from privjail.mechanisms.noise import Noise
from privjail.mechanisms.weights import BITS, Kept
from privjail.verify.laws.intervals import as_balls, ball
from privjail.verify.laws.law import Law
from privjail.verify.laws.scripted import Found, agrees

WIDTH = 1024  # bits of a scripted number
Choose = Callable[[Noise], Hashable]
ONE = 1 << WIDTH


class Undecided(Exception):
    """A choice asks for more bits than it may read."""


class Bits(Noise):
    """Uniform numbers from a script. Draws take turns between the rows; each goes on where its row's last one ended."""

    def __init__(self, rows: Sequence[Sequence[int]], most: int) -> None:
        self.rows, self.most = rows, most
        self.taken = [0] * len(rows)
        self.draws: list[tuple[int, int]] = []

    def uniform(self, limbs: int, n: int) -> Kept:
        turn = len(self.draws) % len(self.rows)
        self.draws.append((limbs, n))
        self.taken[turn] += BITS * limbs
        if self.taken[turn] > self.most:
            raise Undecided
        kept = [(x >> (WIDTH - self.taken[turn])) % (1 << (BITS * limbs)) for x in self.rows[turn]]
        if len(kept) != n:
            raise ValueError(f"{n} numbers were asked for, and the script has {len(kept)}")
        table = [[x >> (BITS * i) & (2**BITS - 1) for x in kept] for i in range(limbs)]
        return np.array(table, dtype=np.uint32)


def answered(choose: Choose, rows: Sequence[Sequence[int]], most: int) -> Hashable:
    """The answer to these numbers, or None if more than ``most`` bits of each would be needed."""
    try:
        return choose(Bits(rows, most))
    except Undecided:
        return None


def halved(answer: Callable[[int], Hashable], depth: int) -> Found:
    """The law of an answer to one uniform number, if each answer has an interval of numbers.

    Intervals are halved until both ends have the same answer, or ``depth`` times. Points inside are looked at, too.
    What is undecided at both ends is given up early: it is lost, as all that was not found.
    """
    law: dict[Hashable, Fraction] = {}
    todo = [(0, ONE, answer(0), answer(ONE - 1))]
    while todo:
        start, end, first, last = todo.pop()
        size, middle = end - start, (start + end) // 2
        if first == last and first is not None:
            if answer(middle) != first or answer(start + size // 3) != first:
                raise ValueError("an answer has no interval of numbers")
            law[first] = law.get(first, Fraction(0)) + Fraction(size, ONE)
        elif size > ONE >> depth and (first is not None or last is not None or size > ONE >> 16):
            todo += [(start, middle, first, answer(middle - 1)), (middle, end, answer(middle), last)]
    return Found(dict(law), 1 - sum(law.values(), Fraction(0)))


def exponential_law(choose: Choose, most: int = 192, depth: int = 100) -> Found:
    """The law of a choice that reads one uniform number."""
    return halved(lambda u: answered(choose, [[u]], most), depth)


def flip_law(choose: Choose, n: int, most: int = 128, depth: int = 100) -> Found:
    """The law of a choice that reads a coin and a time for each of n options: measured coins, in every order."""
    coins = [_coin(choose, i, n, most, depth) for i in range(n)]
    law: dict[Hashable, Fraction] = {}
    for k, order in enumerate(permutations(range(n))):
        # Times that differ in their first bits, or in the last ones that are read.
        times = [rank << (WIDTH - (8 if k % 2 else most)) for rank in order]
        for ups in product((True, False), repeat=n):
            chance = Fraction(1, factorial(n))
            for up, (heads, tails) in zip(ups, coins, strict=True):
                chance *= heads if up else tails
            if chance:
                # the middle of the numbers that came up, or that did not
                thrown = [int((h if up else 2 - t) * ONE / 2) for up, (h, t) in zip(ups, coins, strict=True)]
                key = answered(choose, [thrown, times], most)
                if key is not None:
                    law[key] = law.get(key, Fraction(0)) + chance
    return Found(dict(law), 1 - sum(law.values(), Fraction(0)))


def _coin(choose: Choose, i: int, n: int, most: int, depth: int) -> tuple[Fraction, Fraction]:
    """The chances that the coin of option i surely comes up, and surely does not. Its time is the first."""
    if n == 1:
        return Fraction(1), Fraction(0)
    times = [(1 + j) << (WIDTH - 8) for j in range(n)]
    times[i] = 0

    def came_up(coin: int) -> bool | None:
        key = answered(choose, [[coin if j == i else 5 * ONE // 8 for j in range(n)], times], most)
        return None if key is None else key == i

    found = halved(came_up, depth).law
    return found.get(True, Fraction(0)), found.get(False, Fraction(0))


def agrees_with(found: Found, stated: Law) -> bool:
    """Whether a stated law of balls lies within what was measured, 2**-230 being left for the balls."""
    return agrees(Found(as_balls(found.law), ball(found.lost + Fraction(1, 2**230))), stated)
