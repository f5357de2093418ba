"""The estimator of least squared error: a distribution, the true posterior mean, and not chasing noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from privjail.errors import RefusedError
from privjail.local import Categories, Grid, KaryResponse, LocalHashing, Piecewise, Survey, Table, Unary
from privjail.local.estimation.prior import Prior, priors
from privjail.simplex import nearest_on_simplex
from privjail.local.estimation.smooth import Counts, _cells, _posterior, caution, posterior_mean

points = st.lists(st.floats(-2, 2), min_size=2, max_size=8).map(np.array)


@given(points)
def test_the_projection_is_the_nearest_point_of_the_simplex(point):
    found = nearest_on_simplex(point)
    assert found.min() >= 0 and abs(found.sum() - 1) < 1e-9
    # Variational inequality: no direction into the simplex makes an acute angle with the rest.
    for corner in np.eye(len(point)):
        assert (point - found) @ (corner - found) <= 1e-9


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=7), st.sampled_from([(0.5, 0.27), (0.9, 0.01), (1.0, 0.0)]))
def test_the_result_is_a_distribution_whatever_was_reported(tally, rates):
    found = posterior_mean([Counts(np.array(tally, dtype=float), 1000, *rates, exclusive=False)])
    assert np.isfinite(found).all() and found.min() >= 0 and abs(found.sum() - 1) < 1e-9


@pytest.mark.parametrize("prior", priors(50), ids=str)
def test_each_prior_has_the_mass_mean_and_variance_that_it_claims(prior):
    edges = np.concatenate([[0.0], np.geomspace(1e-12, 100, 40_001)])
    at, mass = prior.nodes(edges)
    assert abs(mass.sum() - 1) < 1e-9
    assert abs((mass * at).sum() - 1 / 50) < 1e-9
    assert (mass * at**2).sum() - 1 / 2500 == pytest.approx(prior.variance, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("prior", priors(50), ids=str)
def test_coarse_cells_keep_the_mean(prior):
    at, mass = prior.nodes(np.array([0.0, 0.001, 0.02, 0.05, 0.3, 1e3]))
    assert (mass * at).sum() == pytest.approx(1 / 50, abs=1e-9)


@pytest.mark.parametrize("evenness", [0.3, 1.0, 30.0])
def test_the_posterior_mean_is_the_exact_one_of_a_dirichlet(evenness):
    """k-ary response without noise under a gamma prior: the exact answer is (count + α)/(n + kα)."""
    tally = np.array([50.0, 30.0, 15.0, 5.0, 0.0])
    counts = [Counts(tally, 100, 1.0, 0.0, exclusive=True)]
    found, _ = _posterior(_cells(counts, np.ones(5)), counts, Prior(5, evenness))
    assert found == pytest.approx((tally + evenness) / (100 + 5 * evenness), abs=0.004)


def test_the_evidence_is_the_exact_one_of_a_dirichlet():
    """k-ary response without noise: how likely each evenness makes these counts is known in closed form."""
    tally = np.array([30.0, 22, 14, 9, 7, 5, 4, 3, 2, 2, 1, 1, 0, 0, 0, 0])
    k, n = len(tally), tally.sum()
    counts = [Counts(tally, int(n), 1.0, 0.0, exclusive=True)]

    def exact(a):
        return gammaln(k * a) - gammaln(n + k * a) + (gammaln(tally + a) - gammaln(a)).sum()

    def found(a):
        return _posterior(_cells(counts, np.ones(k)), counts, Prior(k, a))[1]

    for a in (0.1, 0.3, 3.0, 30.0, 1e3):
        assert found(a) - found(1.0) == pytest.approx(exact(a) - exact(1.0), abs=0.35)


def test_each_prior_counts_by_its_evidence_and_its_trust():
    rng = np.random.default_rng(9)
    counts = [Counts(rng.binomial(4000, 0.2 + 0.3 * rng.dirichlet(np.ones(12))).astype(float), 4000, 0.5, 0.2, False)]
    every = priors(12, caution(counts))
    parts = [_posterior(_cells(counts, np.ones(12)), counts, prior) for prior in every]
    weights = np.array([prior.weight * np.exp(e - parts[0][1]) for prior, (_, e) in zip(every, parts, strict=True)])
    mean = weights @ np.array([centre for centre, _ in parts]) / weights.sum()
    assert 0.05 < (weights / weights.sum()).max() < 0.95  # several count, so a wrong weight shows
    assert posterior_mean(counts) == pytest.approx(mean / mean.sum(), abs=1e-9)


def test_evidence_prefers_the_prior_that_made_the_frequencies():
    rng = np.random.default_rng(2)
    for evenness, truth in ((1e3, np.full(60, 1 / 60)), (0.1, rng.dirichlet(np.full(60, 0.1)))):
        tally = rng.binomial(20_000, 0.1 + 0.4 * truth).astype(float)
        counts = [Counts(tally, 20_000, 0.5, 0.1, exclusive=False)]
        weights = {a: _posterior(_cells(counts, np.ones(60)), counts, Prior(60, a))[1] for a in (0.1, 1.0, 1e3)}
        assert max(weights, key=weights.__getitem__) == evenness


def test_two_groups_of_equal_design_count_as_one():
    tally = np.array([400.0, 300.0, 280.0, 260.0])
    one = posterior_mean([Counts(tally, 1000, 0.5, 0.25, exclusive=False)])
    half = Counts(tally / 2, 500, 0.5, 0.25, exclusive=False)
    assert posterior_mean([half, half]) == pytest.approx(one, abs=2e-3)


@pytest.mark.parametrize("build", [KaryResponse.of, LocalHashing.of, Unary.optimised])
@pytest.mark.parametrize("even", [True, False])
def test_noise_is_not_chased_and_signal_is_kept(build, even):
    k, n, rng = 64, 3000, np.random.default_rng(4)
    weights = np.ones(k) if even else 0.5 ** np.arange(k)
    truth = weights / weights.sum()
    survey = Survey("", {"t": build(Categories.numbered(k), 1 if even else 3)}, {"t": 1})
    errors: dict[str, list[float]] = {"smooth": [], "unbiased": []}
    for _ in range(12):
        reports = survey.menu["t"].draw(rng.choice(k, size=n, p=truth))
        for method in errors:
            found = survey.estimate(reports, method=method).frequencies
            errors[method].append(float(((nearest_on_simplex(found) - truth) ** 2).mean()))
    # The unbiased one is projected. Where all is even it is five to fifty times worse, except in the odd round in which
    # chance looks like signal; where there is signal the two are close, and a smoother that loses it is far off.
    if even:
        assert np.median(errors["smooth"]) < 0.3 * np.median(errors["unbiased"])
    else:
        assert np.mean(errors["smooth"]) < 1.3 * np.mean(errors["unbiased"])


def test_it_is_the_default_for_answers_and_likelihood_is_the_default_for_the_rest():
    rng = np.random.default_rng(5)
    answers = Survey("", {"t": Unary.optimised(Categories.numbered(6), 1)}, {"t": 1})
    reports = answers.menu["t"].draw(rng.integers(0, 6, size=500))
    found, plain = answers.estimate(reports), answers.estimate(reports, method="unbiased")
    assert found.method == "smooth" and (found.lower == plain.lower).all() and (found.upper == plain.upper).all()
    numbers = Survey("", {"t": Piecewise.of(Grid.of(0, 1, 4), 1)}, {"t": 1})
    assert numbers.estimate(numbers.menu["t"].draw(rng.integers(0, 5, size=500))).method == "maximum likelihood"


def test_few_answers_are_left_to_maximum_likelihood():
    survey = Survey("", {"t": KaryResponse.of(Categories.numbered(3), 1)}, {"t": 1})
    reports = survey.menu["t"].draw(np.random.default_rng(6).integers(0, 3, size=300))
    found, likely = survey.estimate(reports), survey.estimate(reports, method="ml")
    assert found.frequencies == pytest.approx(likely.frequencies, abs=0.1 * likely.errors.min())
    assert found.errors == pytest.approx(likely.errors, rel=0.02)


@pytest.mark.parametrize("yes", [0, 1, 250, 262, 268, 269, 270, 300, 500, 735, 999, 1000])
def test_with_two_answers_it_is_the_clipped_share_also_at_the_edge(yes):
    """Truth 0.7311, lie 0.2689: with 268 of 1,000 the unbiased frequency is just below 0."""
    survey = Survey("", {"t": KaryResponse.of(Categories.numbered(2), 1)}, {"t": 1})
    reports = np.repeat([0, 1], [yes, 1000 - yes])
    plain = survey.estimate(reports, method="unbiased").frequencies
    assert survey.estimate(reports).frequencies == pytest.approx(np.clip(plain, 0, 1), abs=5e-4)


def test_laws_without_single_answers_are_refused():
    law = [["1/4"] * 4, ["3/4"] * 4]
    survey = Survey("", {"t": Table.of(Categories.numbered(4), law)}, {"t": 1})
    with pytest.raises(RefusedError, match="support single answers"):
        survey.estimate(np.array([0, 1, 1]), method="smooth")


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize(
    "menu",
    [
        {"s": KaryResponse(Categories.numbered(5), "1/10"), "w": KaryResponse(Categories.numbered(5), 0)},
        {"s": KaryResponse(Categories.numbered(5), 1), "w": KaryResponse(Categories.numbered(5), "1/2")},
        {"s": Unary(Categories.numbered(5), "1/2", "1/4"), "w": Unary(Categories.numbered(5), "9/10", "1/4")},
        {"s": LocalHashing(Categories.numbered(5), 3, "1/2"), "w": LocalHashing(Categories.numbered(5), 3, "9/10")},
    ],
    ids=["mostly lies", "some honest", "unary", "hashing"],
)
def test_mixes_of_parameters_are_estimated_too(menu, hidden):
    rng, n = np.random.default_rng(8), 20_000
    truth = np.array([0.5, 0.3, 0.1, 0.1, 0.0])
    survey = Survey("", menu, {"s": "1/4", "w": "3/4"}, hidden)
    people, theta = rng.choice(5, size=n, p=truth), rng.choice(["s", "w"], size=n, p=[0.25, 0.75])
    drawn = {t: channel.draw(people[theta == t]) for t, channel in menu.items()}
    reports = np.empty((n, *drawn["s"].shape[1:]), dtype=drawn["s"].dtype)
    for t, part in drawn.items():
        reports[theta == t] = part
    found = survey.estimate(reports, None if hidden else theta.tolist())
    assert found.method == "smooth"
    assert np.abs(found.frequencies - truth).max() < 5 * found.errors.max()
