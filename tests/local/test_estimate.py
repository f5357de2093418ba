"""Estimates from simulated surveys: unbiased, covered, as exact as promised, for every channel."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from privjail.errors import PlanError, RefusedError, SchemaError
from privjail.local import (
    Categories,
    Duchi,
    GridLaplace,
    KaryResponse,
    LocalHashing,
    Piecewise,
    Survey,
    Unary,
)
from privjail.local.planning.accuracy import expected_error
from privjail.local.estimation.estimate import likely, unbiased
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mean import mean

from .channels import COUNTING, FOUR, NUMBERS, NUMERIC
from .test_em import BLENDS, HALF, TRUTH

NUMERIC_BLENDS = {
    "duchi": (NUMERIC["duchi"], Duchi.of(NUMBERS, 3)),
    "piecewise": (NUMERIC["piecewise"], Piecewise.of(NUMBERS, 3, NUMERIC["piecewise"].window)),
    "laplace": (NUMERIC["laplace"], GridLaplace.of(NUMBERS, 3)),
}


def truth_for(channel):
    return TRUTH if channel.domain.size == 4 else np.array([0.7, 0.3])


def surveys(channel, frequencies, n, times, seed=3):
    """Many surveys of n people each, with fresh people drawn from the population."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        yield channel.draw(rng.choice(len(frequencies), size=n, p=frequencies))


@pytest.mark.parametrize("name", COUNTING)
def test_one_public_parameter_unbiased_covered_and_as_exact_as_promised(name):
    channel, times, n = COUNTING[name], 400, 1500
    frequencies = truth_for(channel)
    found = [unbiased([Group((channel,), (F(1),), r)], 0.9) for r in surveys(channel, frequencies, n, times)]
    centres = np.array([e.frequencies for e in found])
    covered = np.mean([(e.lower <= frequencies) & (frequencies <= e.upper) for e in found], axis=0)
    promised = expected_error(Survey("", {"t": channel}, {"t": 1}, hidden=False), n, frequencies)

    spread = centres.std(axis=0) / np.sqrt(times)
    assert (np.abs(centres.mean(axis=0) - frequencies) < 4.5 * spread).all()
    assert (np.abs(covered - 0.9) < 4.5 * np.sqrt(0.09 / times)).all()
    assert ((centres - frequencies) ** 2).mean() == pytest.approx(promised, rel=0.2)


@pytest.mark.parametrize("name", BLENDS)
def test_hidden_parameters_unbiased_and_covered(name):
    channels, times, n = BLENDS[name], 300, 2000
    rng = np.random.default_rng(5)
    found = []
    for _ in range(times):
        values = rng.choice(4, size=n, p=TRUTH)
        mine = rng.random(n) < 0.5
        reports = np.concatenate([channels[0].draw(values[mine]), channels[1].draw(values[~mine])])
        found.append(unbiased([Group(channels, HALF, reports)], 0.9))
    centres = np.array([e.frequencies for e in found])
    covered = np.mean([(e.lower <= TRUTH) & (e.upper >= TRUTH) for e in found], axis=0)

    assert (np.abs(centres.mean(axis=0) - TRUTH) < 4.5 * centres.std(axis=0) / np.sqrt(times)).all()
    assert (np.abs(covered - 0.9) < 4.5 * np.sqrt(0.09 / times)).all()


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("name", ["kary", "unary"])
def test_maximum_likelihood_intervals_cover_and_beat_the_unbiased_ones(name, hidden):
    channels, times, n = BLENDS[name], 150, 3000
    frequencies = np.array([0.4, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(7)
    errors, linear, covered = [], [], []
    for _ in range(times):
        values = rng.choice(4, size=n, p=frequencies)
        parts = [c.draw(values[i::2]) for i, c in enumerate(channels)]
        if hidden:
            groups = [Group(channels, HALF, np.concatenate(parts))]
        else:
            groups = [Group((c,), (F(1),), r) for c, r in zip(channels, parts, strict=True)]
        found = likely(groups, 0.9, slack=1e-4)
        errors.append((found.frequencies - frequencies) ** 2)
        linear.append((unbiased(groups).frequencies - frequencies) ** 2)
        covered.append((found.lower <= frequencies) & (frequencies <= found.upper))

    assert np.abs(np.mean(covered) - 0.9) < 4.5 * np.sqrt(0.09 / times / 2)  # four dependent answers
    assert np.mean(errors) < 1.1 * np.mean(linear)


def test_weights_ignore_the_reports_so_public_groups_stay_unbiased():
    channels = (KaryResponse(FOUR, F(2, 5)), KaryResponse(FOUR, F(4, 5)))
    survey = Survey("", dict(zip("sw", channels, strict=True)), {"s": "1/2", "w": "1/2"}, hidden=False)
    rng, found = np.random.default_rng(11), []
    for _ in range(600):
        values = rng.choice(4, size=400, p=TRUTH)
        reports = np.concatenate([channels[0].draw(values[:200]), channels[1].draw(values[200:])])
        found.append(survey.estimate(reports, ["s"] * 200 + ["w"] * 200, method="unbiased").frequencies)
    centres = np.array(found)

    assert (np.abs(centres.mean(axis=0) - TRUTH) < 4.5 * centres.std(axis=0) / np.sqrt(600)).all()
    promised = expected_error(survey, 400, TRUTH)
    assert ((centres - TRUTH) ** 2).mean() == pytest.approx(promised, rel=0.15)


def test_public_groups_are_combined_linearly_so_no_report_chooses_the_weights():
    """Exchanging one group's reports between two surveys leaves the sum of the estimates as it was."""
    first, second = (KaryResponse(FOUR, F(2, 5)), KaryResponse(FOUR, F(4, 5)))
    rng = np.random.default_rng(1)
    a, b = (first.draw(rng.choice(4, size=200, p=p)) for p in (TRUTH, TRUTH[::-1]))
    c, d = (second.draw(rng.choice(4, size=300, p=p)) for p in (TRUTH, TRUTH[::-1]))

    def found(x, y):
        return unbiased([Group((first,), (F(1),), x), Group((second,), (F(1),), y)]).frequencies

    assert found(a, c) + found(b, d) == pytest.approx(found(a, d) + found(b, c))


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("name", NUMERIC)
def test_means_are_unbiased_and_covered(name, hidden):
    channels = NUMERIC_BLENDS[name] if hidden else (NUMERIC[name],)
    share = tuple(F(1, len(channels)) for _ in channels)
    rng, found = np.random.default_rng(13), []
    weights = np.array([4, 3, 2, 2, 1, 1, 1]) / 14
    truth = float(weights @ np.linspace(-1, 1, 7))
    for _ in range(400):
        values = rng.choice(7, size=1000, p=weights)
        pick = rng.integers(0, len(channels), size=1000)
        reports = np.concatenate([c.draw(values[pick == i]) for i, c in enumerate(channels)])
        found.append(mean([Group(channels, share, reports)], 0.9))
    centres = np.array([m.value for m in found])
    covered = np.mean([m.lower <= truth <= m.upper for m in found])

    assert abs(centres.mean() - truth) < 4.5 * centres.std() / 20
    assert abs(covered - 0.9) < 4.5 * 0.3 / 20


def test_a_wrong_mix_is_noticed_by_the_test_above():
    """The other direction: decode with a mix that is not the true one, and the bias is far outside."""
    channels = BLENDS["kary"]
    same = np.zeros(20_000, dtype=np.int64)
    reports = np.concatenate([channel.draw(same) for channel in channels])
    right = unbiased([Group(channels, HALF, reports)])
    wrong = unbiased([Group(channels, (F(1, 3), F(2, 3)), reports)])

    assert abs(right.frequencies[0] - 1) < 5 * right.errors[0] < abs(wrong.frequencies[0] - 1)


@pytest.mark.parametrize("name", [n for n in COUNTING if n != "table"])
def test_one_forged_report_moves_no_frequency_by_more_than_the_stated_influence(name):
    """V-50 poisoning: a liar has the influence of 1/(n(p − q)), and the estimate says so."""
    channel = COUNTING[name]
    reports = channel.draw(np.arange(300) % channel.domain.size)
    base = unbiased([Group((channel,), (F(1),), reports)])
    for forged in channel.draw(np.arange(60) % channel.domain.size):
        changed = reports.copy()
        changed[0] = forged
        moved = unbiased([Group((channel,), (F(1),), changed)])
        assert np.abs(moved.frequencies - base.frequencies).max() <= base.influence + 1e-12


def test_every_estimate_carries_both_strengths_of_every_parameter():
    survey = Survey("", dict(zip("sw", BLENDS["kary"], strict=True)), {"s": "1/2", "w": "1/2"})
    result = survey.estimate(BLENDS["kary"][0].draw(np.arange(100) % 4))

    assert [s.theta for s in result.strengths] == ["s", "w"]
    assert all(s.hidden <= s.public for s in result.strengths)
    assert "once known" in str(result)


def test_frequencies_that_reports_cannot_tell_apart_are_refused():
    group = Group((NUMERIC["duchi"],), (F(1),), NUMERIC["duchi"].draw(np.zeros(10, dtype=np.int64)))
    with pytest.raises(RefusedError):
        likely([group])
    with pytest.raises(RefusedError):
        mean([Group((COUNTING["kary"],), (F(1),), np.zeros(3, dtype=np.int64))])


def test_a_blend_that_says_nothing_is_refused():
    blend = (KaryResponse(FOUR, F(0)), KaryResponse(FOUR, F(1, 2)))
    with pytest.raises(RefusedError):
        unbiased([Group(blend, HALF, np.zeros(5, dtype=np.int64))])


def test_no_reports_no_estimate():
    with pytest.raises(PlanError):
        unbiased([Group((COUNTING["kary"],), (F(1),), np.zeros(0, dtype=np.int64))])


def test_public_parameters_need_a_theta_for_each_report():
    survey = Survey("", dict(zip("sw", BLENDS["kary"], strict=True)), {"s": "1/2", "w": "1/2"}, hidden=False)
    with pytest.raises(SchemaError):
        survey.estimate(np.zeros(3, dtype=np.int64))
    with pytest.raises(SchemaError):
        survey.estimate(np.zeros(1, dtype=np.int64), ["nobody"])


@pytest.mark.parametrize("build", [KaryResponse.of, Unary.optimised, LocalHashing.of])
def test_a_thousand_answers_have_the_error_of_theory(build):
    k, n = 1000, 20_000
    channel = build(Categories.numbered(k), 2)
    frequencies = np.arange(k, 0, -1) / (k * (k + 1) / 2)
    reports = next(surveys(channel, frequencies, n, 1))
    found = unbiased([Group((channel,), (F(1),), reports)])
    standard = (found.frequencies - frequencies) / found.errors

    assert standard.std() == pytest.approx(1, abs=0.12)
    assert np.mean(np.abs(standard) < 1.96) == pytest.approx(0.95, abs=0.03)
