"""Exact checks of noise that is added: Laplace, thresholded histograms, Gaussian, and randomised response."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from privjail.mechanisms.gaussian import FINE, Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.private_keys import PrivateKeys, calibrated
from privjail.verify.checks.row import Row, Watch, exact_row
from privjail.verify.laws import closed_forms
from privjail.verify.laws.law import Law, Rational, check
from privjail.verify.laws.neighbours import Vector, tables, within_l1
from privjail.verify.laws.scripted import found_law, single, vector

if TYPE_CHECKING:
    from privjail.local import Channel

ALPHAS = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
ONE = Fraction(1)


def laplace(fast: bool, watch: Watch) -> list[Row]:
    """Laplace noise as the library adds it: one number and vectors, on grids of several steps, Δ from 1 to 3."""
    rows = [
        _laplace_row(alpha, n, d, watch) for alpha in ALPHAS[: 1 if fast else 3] for n, d in ((1, 1), (1, 3), (2, 1))
    ]
    return [*rows, coarse_grid()]


def _laplace_row(alpha: Fraction, n: int, distance: int, watch: Watch) -> Row:
    facts = vector(n, distance) if n > 1 else single(distance)
    calibration = Laplace(ONE).calibrate(facts)
    grid, scale = calibration.on, calibration.scale
    decay = Rational(alpha, grid.steps)
    a, reach = decay(1 / Fraction(scale)), 2 + 2 * grid.steps

    def law(data: Vector) -> Law:
        each = [closed_forms.geometric(x, a, reach) for x in data]
        return each[0] if n == 1 else closed_forms.independent(*each)

    tied = all(_laplace_tied(facts, data, decay, law(data), reach) for data in ((0,) * n, (1,) * n))
    verdict = check(law, within_l1(n, 2, grid.steps), decay(-ONE), watch)
    shape = "one number" if n == 1 else f"{n} numbers"
    return exact_row(
        "Laplace", "ε-DP", f"{shape}, Δ₁ = {grid.steps} steps, e^−ε = {decay(ONE)}",
        "law as the mechanism has it on 2 inputs, 3 grids; draws: see below", verdict, decay(-ONE), tied=tied,
    )  # fmt: skip


def _laplace_tied(facts: Any, data: Vector, decay: Rational, stated: Law, reach: int) -> bool:
    """The law of Laplace.sample, all draws within ±(reach + 1) followed: outcomes that no cut can reach must agree."""
    exact = list(data) if facts.index else data[0]
    for step in (ONE, Fraction(1, 64), Fraction(1, 3)):
        on = (
            vector(len(data), facts.joint.at(0).value * step, step)
            if facts.index
            else single(facts.joint.l1 * step, step)
        )
        found = found_law(lambda noise, on=on: Laplace(ONE).sample(on, exact, noise), decay, reach + 1)  # type: ignore[misc]
        inner: Law = {}
        for outcome, p in found.law.items():
            inside = tuple(round(y / float(step)) for y in (outcome if isinstance(outcome, tuple) else (outcome,)))
            if all(abs(y) < reach for y in inside):
                inner[inside if facts.index else inside[0]] = p
        if any(p != stated[key] for key, p in inner.items()) or len(inner) != (2 * reach - 1) ** len(data):
            return False
    return True


def coarse_grid() -> Row:
    """Where the noise spans more than 2⁵⁰ steps: the exact exponent moved/scale, the rounding of the scale included."""
    worst, pairs = Fraction(0), 0
    for epsilon, step in (
        (ONE, Fraction(1, 2**60)),
        (Fraction(1, 3), Fraction(1, 2**57)),
        (Fraction(7), Fraction(1, 3**40)),
    ):
        calibration = Laplace(epsilon).calibrate(single(1, step))
        grid, scale = calibration.on, calibration.scale
        far = (1 / step).__floor__()
        for x, y in product(
            range(-2 * grid.coarser, 2 * grid.coarser, max(1, grid.coarser // 64)), (-far, 1 - far, far)
        ):
            moved = abs(grid.place(x + y) - grid.place(x))
            worst, pairs = max(worst, moved / Fraction(scale) / epsilon), pairs + 1
    how = f"exact exponents, {pairs:,} pairs; grid and scale from the mechanism itself"
    shown = f"{float(worst):.9%} of ε"
    return Row(
        "Laplace",
        "ε-DP",
        "one number, noise wider than 2⁵⁰ steps (coarser grid)",
        how,
        worst <= 1,
        shown,
        share=float(worst),
    )


def histogram(fast: bool, watch: Watch) -> list[Row]:
    """Keys by threshold: those that occur get noise, and are shown from a line on. As a law, and as it is shipped."""
    rows = [_shipped_line()]
    for alpha, line in ((Fraction(1, 2), 4), (Fraction(3, 4), 9)):
        a, reach = alpha, line + 6

        def law(table: Vector, a: Fraction = a, line: int = line, reach: int = reach) -> Law:
            return closed_forms.independent(
                *(closed_forms.thresholded(table.count(k), line, a, reach) for k in range(2))
            )

        delta = closed_forms.histogram_delta(line, a)
        most = 3 if fast else 5
        verdict = check(law, tables(2, most), 1 / a, watch)
        tied = all(_keys_tied(counts, line, Rational(a, 1), reach) for counts in ((1, 0), (1, 2), (line, 1)))
        rows.append(exact_row(
            "thresholded histogram", "(ε, δ)-DP", f"all tables of ≤ {most} rows and 2 keys, line {line}, e^−ε = {a}",
            "law as the mechanism has it on 3 inputs; draws: see below", verdict, 1 / a, delta=delta, tied=tied,
        ))  # fmt: skip
    return rows


def _keys_tied(counts: Vector, line: int, decay: Rational, reach: int) -> bool:
    """The law of PrivateKeys.sample, all draws within ±2·reach followed: outcomes that no cut can reach must agree."""
    facts = vector(2, Fraction(1, 2))  # two keys may come out, and one person moves one of them, by 1
    mechanism = PrivateKeys(ONE, Fraction(99, 100), line)  # at this δ the line is min_persons
    exact = [(key, n) for key, n in enumerate(counts) if n]
    found = found_law(lambda noise: mechanism.sample(facts, exact, noise), decay, 2 * reach)
    stated = closed_forms.independent(*(closed_forms.thresholded(n, line, decay(ONE), reach) for n in counts))
    for outcome, p in stated.items():
        assert isinstance(outcome, tuple)
        if reach in outcome:
            continue  # stands for all counts from there on
        shown = sorted(((key, float(n)) for key, n in enumerate(outcome) if n is not None), key=lambda x: (-x[1], x[0]))
        seen = found.law.get(tuple(shown), 0)
        if None not in outcome and seen != p or not seen <= p <= seen + found.lost:
            return False
    return True


def _shipped_line() -> Row:
    """The line that is drawn for an ε, δ and number of keys: its δ in intervals, and that of a line one lower."""
    from privjail.verify.laws.intervals import ball, lower, precision, upper

    worst, wasted, cases = 0.0, False, 0
    with precision():
        for epsilon, digits, keys in product((Fraction(1, 10), ONE, Fraction(5)), (1, 6, 12), (1, 3, 50)):
            delta = ball(Fraction(1, 10**digits))
            scale, line = calibrated(epsilon, Fraction(1, 10**digits), keys)
            rate = ball(1 / scale)

            def chance(at: int, rate: Any = rate) -> Any:
                return (-(at - 1) * rate).exp() / (1 + (-rate).exp())

            worst = max(worst, upper(keys * chance(line) / delta))
            wasted = wasted or lower(keys * chance(line - 1) / delta) <= 1
            cases += 1
    how = f"intervals rounded outward, {cases} cases; the count at the line counts; a line one lower fails"
    return Row(
        "thresholded histogram", "(ε, δ)-DP", "ε 0.1 to 5, δ 0.1 to 10⁻¹², 1 to 50 keys of one person", how,
        worst <= 1 and not wasted, f"{worst:.4%} of δ", share=worst,
    )  # fmt: skip


def channels() -> dict[str, Channel]:
    """One small specimen of every randomiser that a respondent runs."""
    from privjail import local

    four, numbers = local.Categories(("a", "b", "c", "d")), local.Grid.of(-1, 1, 6)
    return {
        "randomised response (yes/no)": local.Warner("3/4"),
        "randomised response (k-ary)": local.KaryResponse.of(four, 1),
        "unary encoding, symmetric": local.Unary.symmetric(four, 1),
        "unary encoding, optimised": local.Unary.optimised(four, 1),
        "local hashing": local.LocalHashing.of(four, 1),
        "Duchi's bit": local.Duchi.of(numbers, 1),
        "piecewise": local.Piecewise.of(numbers, 1),
        "Laplace on a grid (local)": local.GridLaplace.of(numbers, 1),
    }


def local(fast: bool, watch: Watch) -> list[Row]:
    """Every local randomiser: all pairs of answers are neighbours."""
    rows = []
    for name, channel in channels().items():
        if fast and name == "local hashing":  # 40,000 outputs
            continue
        size = channel.domain.size
        table: list[Law] = [{o: channel.law(o, d) for o in channel.outputs()} for d in range(size)]
        whole = all(sum(law.values()) == 1 for law in table)
        pairs = ((d, e) for d in range(size) for e in range(d))
        claimed = channel.ratio
        assert claimed is not None
        verdict = check(lambda d, table=table: table[d], pairs, claimed, watch)  # type: ignore[misc]
        tied = whole and _within(claimed, name) and (fast or _drawn_as_stated(channel, table))
        how = "law adds up to 1, e^ε as asked for" + ("" if fast else "; draws by χ², both ways")
        rows.append(exact_row(name, "ε-LDP", f"all {size} answers", how, verdict, claimed, tied=tied))
    return rows


def _within(ratio: Fraction, name: str) -> bool:
    """Specimens are built for ε = 1, Warner's for 3 to 1."""
    from privjail.verify.laws.intervals import ball, precision

    with precision():
        return ratio == 3 if "yes/no" in name else bool(ball(ratio) <= ball(1).exp())


def _drawn_as_stated(channel: Channel, table: list[Law], n: int = 40_000) -> bool:
    import numpy as np

    from privjail.verify.checks.fit import fits

    last = channel.domain.size - 1
    drawn = channel.draw(np.full(n, last, dtype=np.int64))
    codes = [channel.code(drawn[i : i + 1]) for i in range(n)]
    outputs = list(channel.outputs())
    if len(outputs) > 1000:  # local hashing: by the cell that the true answer has, and whether it was told
        least = min(table[last].values())
        cells = [int(table[last][c] > least) for c in codes]
        told = float(sum(p for p in table[last].values() if p > least))
        right, wrong = [1 - told, told], [told, 1 - told]
        return fits([cells.count(0), cells.count(1)], right) and not fits([cells.count(0), cells.count(1)], wrong)
    counts = {o: 0 for o in outputs}
    for c in codes:
        counts[c] += 1
    seen = [counts[o] for o in outputs]
    return fits(seen, [float(table[last][o]) for o in outputs]) and not fits(
        seen, [float(table[0][o]) for o in outputs]
    )


def gaussian(fast: bool, watch: Watch) -> list[Row]:
    """Gaussian noise, in intervals."""
    return [_gaussian_rho(watch), _gaussian_approx(fast, watch), _gaussian_gap(fast, watch)]


def _rho_cases() -> Iterator[tuple[Fraction, int, Fraction]]:
    orders = [
        Fraction(21, 20),
        Fraction(3, 2),
        Fraction(2),
        Fraction(7, 2),
        Fraction(8),
        Fraction(30),
        Fraction(1001, 10),
    ]
    sigmas = [Fraction(2, 5), ONE, Fraction(33, 10), Fraction(2**40), Fraction(2**54)]
    yield from product(sigmas, (1, 2, 5), orders)


def _gaussian_rho(watch: Watch) -> Row:
    """D_α ≤ α·ρ for the discrete law itself, at the widths that the library draws with and at narrow ones."""
    from privjail.verify.laws.intervals import ball, discrete_gaussian_renyi, precision, upper

    above, share, cases = 0.0, 0.0, 0
    with precision(600):  # wide noise: the claim itself is near 2⁻¹⁰⁹
        for sigma, move, order in _rho_cases():
            claim = ball(order * move * move / (2 * sigma * sigma))
            found = discrete_gaussian_renyi(sigma, move, order)
            above, share = max(above, upper(found / claim - 1)), max(share, upper(found / claim))
            cases += 1
            watch()
        rho = Fraction(1, 3)
        sigma = Gaussian(rho=rho).calibrate(single(7)).sigma
        drawn = Fraction(49, 2) / sigma**2 <= rho  # what the mechanism draws with, for Δ₂ = 7
    how = f"intervals rounded outward, {cases} cases of σ, move, order; above the claim by less than 10⁻⁶⁰"
    inputs = "σ from 0.4 to 2⁵⁴ steps, orders 1.05 to 100.1; σ from the mechanism itself"
    return Row("Gaussian", "ρ-zCDP", inputs, how, above < 1e-60 and drawn, f"{min(share, 1):.4%} of ρ", share=share)


def _gaussian_approx(fast: bool, watch: Watch) -> Row:
    """δ of the σ that is drawn with, plus the room for rounding, against the δ that is paid."""
    from privjail.verify.laws.intervals import ball, gaussian_delta, precision, upper

    worst, cases = 0.0, 0
    epsilons = [Fraction(1, 10), ONE, Fraction(5), Fraction(10), Fraction(20)]
    with precision():
        for epsilon, k, n in product(epsilons[1:3] if fast else epsilons, (1, 5, 10), (1, 1000)):
            delta = Fraction(1, 10**k)
            facts = vector(n, 1)
            unit = Gaussian(epsilon, delta).calibrate(facts).sigma / Fraction(facts.joint.l2)
            spare = n * (1 + ball(epsilon).exp()) / (12 * ball(FINE) ** 2)
            worst = max(worst, upper((gaussian_delta(unit, epsilon) + spare) / ball(delta)))
            cases += 1
            watch()
    how = f"intervals rounded outward, {cases} cases; continuous δ plus the room for rounding"
    return Row(
        "Gaussian",
        "(ε, δ)-DP",
        "ε 0.1 to 20, δ 0.1 to 10⁻¹⁰, 1 and 1000 numbers",
        how,
        worst <= 1,
        f"{worst:.4%} of δ",
        share=worst,
    )


def _gaussian_gap(fast: bool, watch: Watch) -> Row:
    """The lemma behind that room: discrete and rounded noise differ by at most 1/(12 s²)."""
    from privjail.verify.laws.intervals import (
        ball,
        discrete_gaussian_delta,
        gaussian_delta,
        precision,
        rounding_gap,
        upper,
    )

    worst, widths = 0.0, (1, 2, 5) if fast else (1, 2, 3, 5, 8, 12, 20)
    with precision():
        for s in widths:
            worst = max(worst, upper(rounding_gap(s) * 12 * s * s))
            for move, epsilon in product((1, s), (Fraction(1, 10), ONE, Fraction(3))):
                room = gaussian_delta(Fraction(s, move), epsilon) + (1 + ball(epsilon).exp()) / (12 * ball(s) ** 2)
                worst = max(worst, upper(discrete_gaussian_delta(s, move, epsilon) / room))
                watch()
    how = "intervals rounded outward: total variation, and the hockey-stick sum of the discrete law itself"
    inputs = f"widths {', '.join(map(str, widths))} steps only; wider ones by the argument in the mechanism"
    return Row("Gaussian", "discrete ≈ rounded", inputs, how, worst <= 1, f"{worst:.2%} of the room", share=worst)


CHECKS = {
    "Laplace": laplace,
    "Gaussian": gaussian,
    "thresholded histogram": histogram,
    "local randomisers": local,
}
