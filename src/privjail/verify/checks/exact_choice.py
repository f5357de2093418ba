"""Exact checks of mechanisms that choose: exponential, noisy max, above-threshold; and of the choices themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil, log2

from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.verify.checks.row import Row, Watch, exact_row
from privjail.verify.laws import closed_forms
from privjail.verify.laws.geometric_series import TwoSided
from privjail.verify.laws.law import Law, Rational, check
from privjail.verify.laws.neighbours import Vector, vectors
from privjail.verify.laws.scripted import Found, agrees, found_law, vector

ONE = Fraction(1)
HALF = Fraction(1, 2)
EVERY_OUTCOME = "mechanism run on every outcome of its choice, which is taken to have its law"


def exponential(fast: bool, watch: Watch) -> list[Row]:
    """The exponential mechanism, its law found by running its own code on every outcome of its choice."""
    rows = []
    for alpha, n, reach in ((HALF, 2, 1), (HALF, 3, 1), (Fraction(9, 10), 3, 2), (Fraction(1, 5), 4, 1))[
        : 2 if fast else 4
    ]:
        decay = Rational(alpha, 2 * reach)

        def law(data: Vector, decay: Rational = decay, reach: int = reach) -> Law:
            facts = vector(len(data), reach)
            return found_law(lambda noise: Exponential(ONE).sample(facts, list(data), noise), decay).law

        verdict = check(law, vectors(n, 3, reach), decay(-ONE), watch)
        stated = closed_forms.exponential((0, 2, 1), Fraction(1, 2 * reach), decay)
        inputs = f"{n} options, scores 0–2, Δ = {reach}, e^−ε = {decay(ONE)}"
        rows.append(exact_row(
            "exponential mechanism (= Gumbel noisy max)", "ε-DP", inputs, EVERY_OUTCOME, verdict,
            decay(-ONE), tied=law((0, 2, 1)) == stated,
        ))  # fmt: skip
    return [*rows, _exponential_rho(fast, watch)]


def _exponential_rho(fast: bool, watch: Watch) -> Row:
    """ρ = ε²/8 at every order, in intervals."""
    from privjail.verify.laws.intervals import ball_decay, precision, zcdp

    pairs, orders, certified, share = 0, 0, True, 0.0
    for epsilon, n in product((HALF, ONE, Fraction(3)), (2,) if fast else (2, 3)):
        rho = Exponential(epsilon).loss.rho
        assert rho is not None
        for left, right in vectors(n, 2, 1):
            if left == right:
                continue
            with precision():
                two = [closed_forms.exponential(data, epsilon / 2, ball_decay) for data in (left, right)]
                found = zcdp(two[0], two[1], rho, epsilon)
            certified, pairs, orders = certified and found.certified, pairs + 1, orders + found.orders
            share = max(share, found.largest / float(rho))
            watch()
    how = f"intervals rounded outward, {pairs:,} pairs, every order ≥ 1 by {orders:,} points and monotony"
    inputs = "2 and 3 options, scores 0–1, ε = ½, 1, 3"
    return Row(
        "exponential mechanism (= Gumbel noisy max)",
        "ε²/8-zCDP",
        inputs,
        how,
        certified,
        f"{share:.3%} of ρ",
        share=share,
    )


def _permute_and_flip(alpha: Fraction, one_way: bool) -> tuple[Callable[[Vector], Law], bool]:
    """The law of noisy max, at one step a unit, and whether the mechanism has it if its choice is permute and flip."""
    decay = Rational(alpha, 1 if one_way else 2)
    gamma = ONE if one_way else HALF  # 1/scale for ε = 1

    def law(data: Vector) -> Law:
        return closed_forms.permute_and_flip(data, gamma, decay)

    def shipped(data: Vector) -> Law:
        facts = vector(len(data), 1, monotone=one_way)
        return found_law(lambda noise: NoisyMax(ONE).sample(facts, list(data), noise), decay).law

    return law, all(law(data) == shipped(data) for data in ((0, 1), (2, 0, 2), (1, 0, 3, 2), (0, 1, 1, 0, 4, 2)))


def _noise(kind: str, alpha: Fraction) -> Callable[[Vector], Law]:
    return lambda data: closed_forms.noisy_max_up_to_shift(kind, data, alpha)


def noisy_max(fast: bool, watch: Watch) -> list[Row]:
    """Report noisy max for m = 2 … 6: what the library runs, and the noises of the literature beside it."""
    rows = []
    for m in range(2, 4 if fast else 7):
        for one_way in (True, False):
            moves = "counts: all move one way" if one_way else "each moves either way"
            law, tied = _permute_and_flip(HALF, one_way)
            values = 4 if m < 5 else 3
            domain = f"m = {m}, scores 0–{values - 1}, {moves}"
            factor = 1 / HALF if one_way else 1 / HALF**2
            verdict = check(law, vectors(m, values, 1, one_way, up_to_order=True), factor, watch)
            rows.append(exact_row(
                "noisy max, exponential noise (permute and flip)", "ε-DP", domain,
                "law as the mechanism has it on 4 inputs; its sampler: see permute and flip", verdict, factor,
                tied=tied, size=m,
            ))  # fmt: skip
            rows += _noisy_max_rows(m, one_way, moves, watch)
    return [*rows, *top_k(watch)]


def _noisy_max_rows(m: int, one_way: bool, moves: str, watch: Watch) -> list[Row]:
    # 3^m·3^m pairs of m = 6 would take minutes; two values there still meet every order of moves
    values = (4 if m < 5 else 3 if m < 6 else 2) if one_way else (4 if m < 4 else 3 if m < 5 else 2)
    factor = 1 / HALF if one_way else 1 / HALF**2
    rows = []
    for kind in ("laplace", "geometric"):
        verdict = check(_noise(kind, HALF), vectors(m, values, 1, one_way), factor, watch)
        name = f"noisy max, {'discrete Laplace' if kind == 'laplace' else 'geometric'} noise, first of equals"
        inputs = f"m = {m}, scores 0–{values - 1}, {moves}"
        rows.append(exact_row(name, "ε-DP", inputs, "reference law", verdict, factor, ours=False, size=m))
    return rows


def top_k(watch: Watch) -> list[Row]:
    """The k largest, found one after another with ε/k each."""
    rows = []
    for k, one_way in product((2, 3), (True, False)):
        decay = Rational(Fraction(2, 3), k * (1 if one_way else 2))

        def law(data: Vector, k: int = k, one_way: bool = one_way, decay: Rational = decay) -> Law:
            facts = vector(len(data), 1, monotone=one_way)
            return found_law(lambda noise: NoisyMax(ONE, k=k).sample(facts, list(data), noise), decay).law

        verdict = check(law, vectors(3, 2, 1, one_way), decay(-ONE), watch)
        moves = "counts: all move one way" if one_way else "each moves either way"
        rows.append(exact_row(
            f"noisy top {k}", "ε-DP", f"m = 3, scores 0–1, {moves}", EVERY_OUTCOME, verdict, decay(-ONE),
        ))  # fmt: skip
    return rows


def above_threshold(fast: bool, watch: Watch) -> list[Row]:
    """Sparse vector: its law in closed form, tied to its code."""
    rows = []
    for alpha, n in ((HALF, 2), (HALF, 3), (Fraction(4, 5), 3), (HALF, 4))[: 2 if fast else 4]:
        mechanism = AboveThreshold(Fraction(2), ONE)
        facts = vector(n, 1)
        drawn = mechanism.calibrate(facts)
        decay = Rational(alpha, 2)  # scales 1 and 2: decays α² and α; e^ε = α^−4
        factor = decay(Fraction(-2))
        line_noise, number_noise = TwoSided(decay(1 / drawn.outer)), TwoSided(decay(1 / drawn.scale))
        low = 0 if fast else -2

        def law(data: Vector, a: TwoSided = line_noise, b: TwoSided = number_noise) -> Law:
            return closed_forms.first_above(data, 1, a, b)

        depth = 5 if fast else 9
        tied = all(
            agrees(_shipped_above(mechanism, data, decay, depth), law(data)) for data in ((0, 2), (1, 1), (3, 0))
        )
        pairs = ((_moved(left, low), _moved(right, low)) for left, right in vectors(n, 3 - low, 1))
        verdict = check(law, pairs, factor, watch)
        inputs = f"{n} numbers from {low} to 2, line 1, e^−ε = {1 / factor}"
        rows.append(
            exact_row(
                "above-threshold",
                "ε-DP",
                inputs,
                f"law as the mechanism has it on 3 inputs, run on all noise within ±{depth}",
                verdict,
                factor,
                tied=tied,
            )
        )
    return rows if fast else [*rows, _many_below(watch)]


def _shipped_above(mechanism: AboveThreshold, data: Vector, decay: Rational, depth: int) -> Found:
    return found_law(lambda noise: mechanism.sample(vector(len(data), 1), list(data), noise), decay, depth)


def _moved(data: Vector, by: int) -> Vector:
    return tuple(x + by for x in data)


def _many_below(watch: Watch) -> Row:
    """The hardest pairs: many that are below move one way, the last one the other way."""
    alpha = Fraction(1, 2)
    outer, inner = TwoSided(alpha**2), TwoSided(alpha)
    pairs = [((0,) * 30 + (last,), (step,) * 30 + (last - step,)) for last in (-8, 0, 1) for step in (1, -1)]
    verdict = check(lambda data: closed_forms.first_above(data, 1, outer, inner), pairs, 1 / alpha**4, watch)
    inputs = "31 numbers, the hardest pairs, line 1"
    return exact_row("above-threshold", "ε-DP", inputs, "closed form", verdict, 1 / alpha**4)


SCORES = ((1, 0, 3, 2), (2, 0, 2), (0, 1), (5,), (0, -40, -41), (7, 7, 7), (10**30, 0, 10**30 - 3))


def choices(fast: bool, watch: Watch) -> list[Row]:
    """The samplers that choose, on bits that are handed to them: measured laws, held against the stated ones."""
    from privjail.verify.laws.intervals import ball_decay, precision
    from privjail.verify.laws.measured import agrees_with, exponential_law, flip_law

    depth, rows = 100 if fast else 200, []  # 200 bits are more than the first pass reads: the second is looked at, too
    inputs = f"{len(SCORES)} vectors of 1 to 4 scores, up to 10³⁰ apart"
    how = f"shipped sampler run on its own bits: where the answer changes is found by halving, {depth} times"
    for name, stated in (
        ("exponential choice", closed_forms.exponential),
        ("permute and flip", closed_forms.permute_and_flip),
    ):
        good, lost = True, 0.0
        for scores in SCORES:
            if name == "exponential choice":
                found = exponential_law(lambda noise, s=scores: noise.exponential(s, HALF), 320, depth)  # type: ignore[misc]
            else:
                found = flip_law(lambda noise, s=scores: noise.noisy_max(s, 2.0), len(scores), 256, depth)  # type: ignore[misc]
            with precision():
                good &= agrees_with(found, stated(scores, HALF, ball_decay))
                wrong = stated(scores, HALF + Fraction(1, 2**90), ball_decay)
                good &= max(scores) - min(scores) not in range(1, 10) or not agrees_with(found, wrong)
            lost = max(lost, float(found.lost))
            watch()
        reached = f"undecided: less than 2^{ceil(log2(lost))}"
        rows.append(Row(name, "its law", inputs, f"{how}; a factor off by 2⁻⁹⁰ is told apart", good, reached))
    return rows


CHECKS = {
    "choices": choices,
    "exponential mechanism": exponential,
    "noisy max": noisy_max,
    "above-threshold": above_threshold,
}
