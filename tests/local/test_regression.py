"""Regression on randomised answers and power: coverage and power as promised, by simulation."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from privjail.errors import PlanError, RefusedError
from privjail.local import Categories, Grid, KaryResponse, Piecewise, Survey, Warner
from privjail.local.estimation.mixes import CollectedMix
from privjail.local.planning.power import Question, people_needed

MENU = {"careful": Warner("3/5"), "open": Warner("9/10")}
MIX = {"careful": F(1, 2), "open": F(1, 2)}
BETA = np.array([-1.0, 1.5])


def answers(rng, n):
    x = rng.random((n, 1)) * 2 - 1
    yes = rng.random(n) < 1 / (1 + np.exp(-(BETA[0] + BETA[1] * x[:, 0])))
    return x, np.where(yes, 0, 1)


def reported(rng, menu, values, careful=0.5):
    picks = rng.random(len(values)) < careful
    sent = np.where(picks, menu["careful"].draw(values), menu["open"].draw(values))
    return sent, np.where(picks, "careful", "open").tolist()


@pytest.mark.parametrize("hidden", [True, False])
def test_logistic_coefficients_are_covered(hidden):
    survey, inside = Survey("q", MENU, MIX, hidden=hidden), np.zeros(2)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        x, values = answers(rng, 6000)
        sent, thetas = reported(rng, MENU, values)
        found = survey.regress(sent, x, "yes", None if hidden else thetas)
        inside += (found.intervals[:, 0] <= BETA) & (found.intervals[:, 1] >= BETA)
    assert inside.min() >= 70  # 95 % of 80, less three standard errors


def test_leaving_the_noise_out_of_the_model_is_wrong():
    """The control: ordinary logistic regression on reports finds a slope that is far too small."""
    rng = np.random.default_rng(3)
    x, values = answers(rng, 20_000)
    sent, _ = reported(rng, MENU, values)
    naive = Survey("q", {"t": KaryResponse(Categories(("yes", "no")), F(10**9 - 1, 10**9))}, {"t": 1})
    assert naive.regress(sent, x, "yes").coefficients[1] < 0.9
    assert Survey("q", MENU, MIX).regress(sent, x, "yes").coefficients[1] == pytest.approx(1.5, abs=0.35)


def test_a_collected_mix_is_carried_into_the_coefficients():
    survey = Survey("q", MENU, {"careful": "9/10", "open": "1/10"})
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, values = answers(rng, 6000)
        sent, _ = reported(rng, MENU, values)
        mix = CollectedMix.of_choices(MENU, np.where(rng.random(200) < 0.5, "careful", "open").tolist())
        found = survey.regress(sent, x, "yes", mix=mix)
        inside += found.intervals[1, 0] <= BETA[1] <= found.intervals[1, 1]
    assert inside >= 51


def test_linear_coefficients_are_covered():
    grid = Grid.of(0, 10, 20)
    survey, inside = Survey("n?", {"t": Piecewise.of(grid, 2)}, {"t": 1}), np.zeros(2)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        x = rng.random((1500, 1))
        numbers = np.clip(3 + 4 * x[:, 0] + rng.normal(0, 0.5, 1500), 0, 10)
        found = survey.regress(survey.menu["t"].draw(grid.indices(numbers)), x, names=["age"])
        inside += (found.intervals[:, 0] <= [3, 4]) & (found.intervals[:, 1] >= [3, 4])
    assert inside.min() >= 70 and "age" in str(found)


def test_facts_that_repeat_each_other_are_refused():
    sent = MENU["open"].draw(np.arange(200) % 2)
    one = np.linspace(0, 1, 200)
    survey = Survey("q", {"t": MENU["open"]}, {"t": 1})
    with pytest.raises(RefusedError):
        survey.regress(sent, np.stack([one, one], axis=1), "yes")
    with pytest.raises(PlanError):
        survey.regress(sent, np.where(one > 0.5, np.nan, one), "yes")


@pytest.mark.parametrize("groups", [1, 2])
def test_the_promised_power_is_met_by_simulation(groups):
    survey = Survey("q", MENU, MIX)
    asked = Question("yes", 0.3, 0.08, groups)
    n, runs, noticed, alarms = people_needed(survey, asked), 300, 0, 0
    rng = np.random.default_rng(7)

    def frequency(truth):
        sent, _ = reported(rng, MENU, (rng.random(n) >= truth).astype(np.int64))
        found = survey.estimate(sent, method="unbiased")
        return found.frequencies[0], found.errors[0]

    for _ in range(runs):
        (special, s), (plain, e) = frequency(0.38), frequency(0.3)
        other, o = frequency(0.3) if groups == 2 else (0.3, 0.0)
        noticed += abs(special - other) > 1.96 * np.hypot(s, o)
        alarms += abs(plain - other) > 1.96 * np.hypot(e, o)
    assert noticed / runs == pytest.approx(0.8, abs=0.08)
    assert alarms / runs < 0.11  # 1,500 runs: 5.0 %; of 300, 33 are 4.7 deviations above that
    assert people_needed(None, asked) < n / 3


def test_a_question_without_sense_is_refused():
    for wrong in ({"frequency": 1.2}, {"difference": 0}, {"difference": 0.9}, {"chance": 1}, {"groups": 3}):
        with pytest.raises(PlanError):
            Question(**{"answer": "yes", "frequency": 0.3, "difference": 0.1, **wrong})
