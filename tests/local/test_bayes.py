"""The paper's equation (6), and its estimator by equations (17) to (19)."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privjail.errors import PlanError
from privjail.local import Categories, KaryResponse, Survey, Warner, strengths
from privjail.local.channels.bayes import belief
from privjail.local.estimation.paper import best_of_three, variance

MENU = {"s": Warner("3/5"), "w": Warner("4/5")}
HALF = {"s": F(1, 2), "w": F(1, 2)}


@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 4), st.integers(1, 9), st.integers(1, 9), st.data())
@settings(max_examples=60, deadline=None)
def test_no_prior_moves_the_odds_by_more_than_e(a, b, k, share, other, data):
    domain = Categories.numbered(k)
    menu = {"s": KaryResponse(domain, F(a, 10)), "w": KaryResponse(domain, F(b, 10))}
    mix = {"s": F(share, share + other), "w": F(other, share + other)}
    weights = data.draw(st.lists(st.integers(1, 9), min_size=k, max_size=k))
    prior = [F(w, sum(weights)) for w in weights]
    found = strengths(menu, mix)
    shifts = {t: max(belief(menu, mix, prior, o).shift_ratio(t) for o in range(k)) for t in menu}
    assert all(shifts[t] == found[t].hidden_ratio for t in menu)  # reached, too: E is exactly the worst report


def test_the_odds_of_the_answer_alone_move_by_the_blend():
    """The paper's careful group: E = log 3/2, but the odds of yes move by log 7/3."""
    after = belief(MENU, HALF, ["1/2", "1/2"], 0)
    assert after.answer(0) / after.answer(1) == F(7, 3)
    assert strengths(MENU, HALF)["s"].hidden_ratio == F(3, 2)


def test_a_prior_without_sense_is_refused():
    for wrong in (["1/2"], ["0", "1"], ["1/2", "1/3"]):
        with pytest.raises(PlanError):
            belief(MENU, HALF, wrong, 0)


def test_the_paper_s_variance_is_that_of_its_estimator():
    rng, n, p, truth = np.random.default_rng(1), 400, 0.7, 0.3
    said = rng.binomial(n, p * truth + (1 - p) * (1 - truth), size=20_000)
    found = (p - 1) / (2 * p - 1) + said / n / (2 * p - 1)
    assert found.mean() == pytest.approx(truth, abs=0.002)
    assert np.var(found) == pytest.approx(variance(truth, p, n), rel=0.05)


def test_the_best_of_three_is_worse_than_weighing_all():
    survey = Survey("q", {"s": Warner("3/5"), "w": Warner("3/4")}, HALF, hidden=False)
    ours, theirs = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values, picks = (rng.random(1000) >= 0.5).astype(np.int64), rng.random(1000) < 0.5
        sent = np.where(picks, survey.menu["s"].draw(values), survey.menu["w"].draw(values))
        names = np.where(picks, "s", "w").tolist()
        theirs.append(best_of_three(survey.groups(sent, names)).frequencies[0])
        ours.append(survey.estimate(sent, names, method="unbiased").frequencies[0])
    ratio = np.mean((np.array(theirs) - 0.5) ** 2) / np.mean((np.array(ours) - 0.5) ** 2)
    assert 1.0 < ratio < 1.6
    assert np.mean(theirs) == pytest.approx(0.5, abs=0.01)
