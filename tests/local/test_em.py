"""Maximum likelihood: the right likelihood, the true maximum, a gap that is a proof."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from privjail.errors import RefusedError
from privjail.local import Categories, KaryResponse, LocalHashing, Survey, Unary, Warner
from privjail.local.estimation import likelihood as module
from privjail.local.estimation.em import _top, maximise
from privjail.local.estimation.likelihood import Dense, Group, Hashed, Packed, likelihood
from privjail.local.estimation.packed import Bits

from .channels import COUNTING, FOUR, codes

HALF = (F(1, 2), F(1, 2))
BLENDS = {
    "kary": (KaryResponse(FOUR, F(2, 5)), KaryResponse(FOUR, F(4, 5))),
    "unary": (Unary(FOUR, F(3, 5), F(2, 5)), Unary(FOUR, F(4, 5), F(1, 5))),
    "hashing": (LocalHashing(FOUR, 3, F(2, 5)), LocalHashing(FOUR, 3, F(4, 5))),
}
TRUTH = np.array([0.5, 0.3, 0.15, 0.05])


def people(n, frequencies=TRUTH, seed=1):
    return np.random.default_rng(seed).choice(len(frequencies), size=n, p=frequencies)


def plain_log_likelihood(channels, mix, outputs, frequencies):
    """Σ_i log Σ_θ Pr(θ) Σ_d π_d P_θ[z_i|d]: one person after the other, from the exact laws."""
    total = 0.0
    for z, times in zip(*np.unique(outputs, return_counts=True), strict=True):
        chance = sum(
            float(m) * f * float(c.law(int(z), d))
            for (c, m), (d, f) in product(zip(channels, mix, strict=True), enumerate(frequencies))
        )
        total += times * np.log(chance)
    return total


@pytest.mark.parametrize("name", BLENDS)
def test_the_likelihood_of_a_blend_is_the_plain_one_up_to_a_constant(name):
    channels = BLENDS[name]
    reports = channels[0].draw(people(300))
    part = likelihood(Group(channels, HALF, reports))
    outputs = codes(channels[0], reports)

    def ours(f):
        used = part.seen > 0
        return part.seen[used] @ np.log(part.forward(f)[used])

    other = np.array([0.1, 0.2, 0.3, 0.4])
    expected = plain_log_likelihood(channels, HALF, outputs, TRUTH) - plain_log_likelihood(
        channels, HALF, outputs, other
    )
    assert ours(TRUTH) - ours(other) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", BLENDS)
def test_adjoint_is_the_transpose_of_forward(name):
    part = likelihood(Group(BLENDS[name], HALF, BLENDS[name][0].draw(people(500))))
    rng = np.random.default_rng(0)
    x, y = rng.random(4), rng.random(len(part.seen))
    assert part.forward(x) @ y == pytest.approx(part.adjoint(y) @ x)


def printed(p, pi):
    """The summand of equations (15) and (16) as printed: 2pπ − π + p + 1."""
    return 2 * p * pi - pi + p + 1


def derived(p, pi):
    """docs/decisions/0202: pπ + (1 − p)(1 − π) = 2pπ − π − p + 1."""
    return 2 * p * pi - pi - p + 1


def test_the_printed_likelihoods_are_no_probabilities_and_the_derived_ones_are():
    channel = Warner("4/5")
    for pi in (0.0, 0.3, 1.0):
        for z in (0, 1):
            p = float(channel.law(z, 0))
            true = pi * p + (1 - pi) * float(channel.law(z, 1))
            assert derived(p, pi) == pytest.approx(true)
        # Over the two outputs, probabilities add up to 1; the printed terms add up to 3.
        assert sum(derived(p, pi) for p in (0.8, 0.2)) == pytest.approx(1)
        assert sum(printed(p, pi) for p in (0.8, 0.2)) == pytest.approx(3)
    # The likelihood of the hidden case sums over θ before the logarithm, not after.
    mixed = sum(0.5 * derived(p, 0.3) for p in (0.6, 0.8))
    assert np.log(mixed) != pytest.approx(sum(np.log(0.5 * derived(p, 0.3)) for p in (0.6, 0.8)))


def waterfill(counts, p, q):
    """The exact maximum for k-ary response: π_d = max(0, c_d/λ − q/(p − q)), λ from Σ π = 1."""
    c, floor = np.sort(counts)[::-1], q / (p - q)
    for m in range(len(c), 0, -1):
        scale = c[:m].sum() / (1 + m * floor)
        if c[m - 1] / scale > floor:
            return np.maximum(0, counts / scale - floor)
    raise AssertionError


@pytest.mark.parametrize(("k", "n", "eps"), [(2, 50, 1), (4, 400, 0.5), (50, 3000, 1), (200, 5000, 2)])
def test_em_finds_the_exact_maximum_of_k_ary_response(k, n, eps):
    channel = KaryResponse.of(Categories.numbered(k), eps)
    frequencies = np.random.default_rng(k).dirichlet(np.ones(k) / 2)
    reports = channel.draw(people(n, frequencies))
    part = likelihood(Group((channel,), (F(1),), reports))
    p, q = (float(r) for r in channel.rates)
    exact = waterfill(np.bincount(reports, minlength=k), p, q)

    fit = maximise([part], k, slack=1e-3 / k)
    best = part.seen @ np.log(part.forward(exact))

    assert abs(fit.frequencies.sum() - 1) < 1e-12 and fit.frequencies.min() >= 0
    assert -1e-8 <= best - part.seen @ np.log(part.forward(fit.frequencies)) <= fit.gap + 1e-8 <= 1.1e-3


def test_the_gap_bounds_how_far_any_other_point_is_better():
    channel = COUNTING["unary-symmetric"]
    part = likelihood(Group((channel,), (F(1),), channel.draw(people(3000))))
    rough = maximise([part], 4, slack=1.0)
    fine = maximise([part], 4, slack=1e-6)

    def value(fit):
        return part.seen @ np.log(part.forward(fit.frequencies))

    assert value(fine) - value(rough) <= rough.gap


@pytest.mark.parametrize("k", [4, 12, 40, 70])
def test_equal_unary_reports_are_counted_together_whatever_their_width(k):
    channel = Unary(Categories.numbered(k), F(1), F(1, 50))
    reports = channel.draw(np.arange(3000) % 3)
    part = likelihood(Group((channel,), (F(1),), reports))
    rows, seen = np.unique(channel.bits(reports), axis=0, return_counts=True)

    assert sorted(part.seen) == sorted(seen) and len(part.seen) == len(rows) < 3000
    assert sorted((part.law > 0).sum(axis=1)) == sorted(rows.sum(axis=1))


def test_the_short_form_of_k_ary_response_is_its_matrix():
    channel, f = KaryResponse(FOUR, F(3, 5)), np.array([0.4, 0.3, 0.2, 0.1])
    short = likelihood(Group((channel,), (F(1),), np.array([0, 1, 1, 2, 3, 3])))
    table = channel.table

    assert short.forward(f) == pytest.approx(table @ f)
    assert short.adjoint(f) == pytest.approx(table.T @ f)
    weights = short.seen / (table @ f) ** 2
    assert short.information(f) == pytest.approx(table.T @ np.diag(weights) @ table)


def test_counts_that_vary_more_than_any_population_explains_are_fitted_in_few_steps():
    """Each report ten times over: many answers lie at the edge, where plain EM crawls."""
    people = (400 * np.random.default_rng(1).random(100_000) ** 2).astype(np.int64)
    channel = KaryResponse.of(Categories.numbered(400), 1)
    reports = np.repeat(channel.draw(people), 10)
    steps: list[float] = []
    Survey("", {"t": channel}, {"t": 1}).estimate(reports, method="ml", progress=steps.append)
    assert len(steps) < 300


@pytest.mark.parametrize("k", [2, 9, 16, 17, 40])
def test_sums_over_packed_bits_are_those_over_bits(k):
    rng = np.random.default_rng(k)
    rows = rng.integers(0, 2, size=(300, k), dtype=np.uint8)
    bits = Bits.of(np.packbits(rows, axis=1, bitorder="little"), k)
    x, w = rng.random(k), rng.random(300)
    assert bits.dot(x) == pytest.approx(rows @ x)
    assert bits.transposed(w) == pytest.approx(w @ rows)
    assert (bits.ones() == rows.sum(axis=1)).all()


@pytest.mark.parametrize("channels", [BLENDS["unary"], (Unary(FOUR, F(1), F(1, 5)), Unary(FOUR, F(1), F(2, 5)))])
def test_reports_too_many_for_a_matrix_have_the_same_likelihood(channels, monkeypatch):
    group = Group(channels, HALF, channels[0].draw(people(500)))
    dense = likelihood(group)
    monkeypatch.setattr(module, "_ENTRIES", 40)
    monkeypatch.setattr(module, "_SHORT", 3)
    packed = likelihood(group)

    assert isinstance(dense, Dense) and isinstance(packed, Packed)
    for f in (TRUTH, np.array([0.1, 0.2, 0.3, 0.4])):
        assert packed.seen @ np.log(packed.forward(f)) == pytest.approx(dense.seen @ np.log(dense.forward(f)))
        weights = [part.seen / part.forward(f) for part in (packed, dense)]
        assert packed.adjoint(weights[0]) == pytest.approx(dense.adjoint(weights[1]))
        assert packed.bend(f) == pytest.approx(dense.bend(f))


@pytest.mark.parametrize("name", BLENDS)
def test_the_bend_is_the_information_along_the_simplex_or_its_diagonal(name):
    channels = BLENDS[name]
    part = likelihood(Group(channels, HALF, channels[0].draw(people(800))))
    columns = np.stack([part.forward(corner) for corner in np.eye(4)], axis=1)
    information = (columns * part.pull(TRUTH)[:, None]).T @ columns
    if name == "kary":  # exactly: the rest of the information vanishes where frequencies add up to 1
        step = np.array([0.3, -0.4, 0.2, -0.1])
        assert part.bend(TRUTH) @ step**2 == pytest.approx(step @ information @ step)
    else:
        apart = information[~np.eye(4, dtype=bool)].mean()
        diagonal = np.diag(information)
        assert part.bend(TRUTH) == pytest.approx(np.maximum(diagonal - apart, 1e-3 * diagonal))


def test_a_parabola_s_top_on_the_simplex_beats_every_other_point():
    rng = np.random.default_rng(3)
    for _ in range(50):
        start, slope, bend = rng.dirichlet(np.ones(6)), rng.normal(0, 20, size=6), rng.uniform(1, 50, size=6)
        top = _top(start, slope, bend)

        def height(x, start=start, slope=slope, bend=bend):
            return slope @ (x - start) - bend @ (x - start) ** 2 / 2

        assert top.min() >= 0 and abs(top.sum() - 1) < 1e-12
        assert all(height(top) >= height(0.9 * top + 0.1 * x) for x in rng.dirichlet(np.ones(6), size=50))


@pytest.mark.parametrize("build", [LocalHashing.of, Unary.optimised, KaryResponse.of])
def test_few_steps_are_enough_however_little_a_report_says(build):
    """EM alone takes hundreds: the less a report says, the smaller its steps."""
    channel = build(Categories.numbered(60), F(1, 2))
    reports = channel.draw((60 * np.random.default_rng(1).random(20_000) ** 2).astype(np.int64))
    steps: list[float] = []
    found = Survey("", {"t": channel}, {"t": 1}).estimate(reports, method="ml", progress=steps.append)
    assert len(steps) < 15 and abs(found.frequencies.sum() - 1) < 1e-9


def test_unary_reports_that_are_too_many_are_refused_with_a_number(monkeypatch):
    monkeypatch.setattr(module, "_ENTRIES", 40)
    monkeypatch.setattr(module, "_BYTES", 100)
    channel = Unary.optimised(Categories.numbered(20), 1)
    with pytest.raises(RefusedError, match="at most 33 of them"):
        likelihood(Group((channel,), (F(1),), channel.draw(np.zeros(200, dtype=np.int64))))


@pytest.mark.parametrize("truths", [("2/5", "4/5"), ("1", "1")])
def test_few_hashed_reports_of_very_many_have_the_same_likelihood(truths, monkeypatch):
    channels = tuple(LocalHashing(FOUR, 3, F(truth)) for truth in truths)
    group = Group(channels, HALF, channels[0].draw(people(400)))
    hashed = likelihood(group)
    monkeypatch.setattr(module, "_SALTED", 10)
    dense = likelihood(group)

    assert isinstance(hashed, Hashed) and isinstance(dense, Dense)
    assert hashed.seen @ np.log(hashed.forward(TRUTH)) == pytest.approx(dense.seen @ np.log(dense.forward(TRUTH)))
    assert hashed.bend(TRUTH) == pytest.approx(dense.bend(TRUTH))
    monkeypatch.setattr(module, "_ENTRIES", 100)
    with pytest.raises(RefusedError, match="at most 25 reports"):
        likelihood(group)
