"""Every channel at once: the law adds up, gives the stated ε, and is the law that is sampled."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privjail.errors import BudgetError, PlanError, SchemaError
from privjail.local import Categories, Duchi, GridLaplace, KaryResponse, LocalHashing, Piecewise, Unary
from privjail.local.survey.survey import channel_from

from .channels import ALL, COUNTING, FOUR, NUMBERS, NUMERIC, codes, fit, ratio_by_definition

each = pytest.mark.parametrize("name", ALL)
BUILDERS = {
    "kary": lambda e: KaryResponse.of(FOUR, e),
    "unary-symmetric": lambda e: Unary.symmetric(FOUR, e),
    "unary-optimised": lambda e: Unary.optimised(FOUR, e),
    "hashing": lambda e: LocalHashing.of(FOUR, e),
    "duchi": lambda e: Duchi.of(NUMBERS, e),
    "piecewise": lambda e: Piecewise.of(NUMBERS, e),
    "laplace": lambda e: GridLaplace.of(NUMBERS, e),
}


@each
def test_the_law_adds_up_to_exactly_one_for_every_input(name):
    channel = ALL[name]
    for d in range(channel.domain.size):
        assert sum(channel.law(o, d) for o in channel.outputs()) == 1


@each
def test_the_computed_ratio_is_the_definition_over_every_output_and_pair(name):
    assert ALL[name].ratio == ratio_by_definition(ALL[name])


@pytest.mark.parametrize("name", BUILDERS)
@given(eps=st.floats(0.05, 6))
@settings(max_examples=15, deadline=None)
def test_a_wanted_epsilon_is_never_exceeded_and_nearly_reached(name, eps):
    channel = BUILDERS[name](eps)
    exact = math.log(channel.ratio)

    assert exact <= eps + 1e-15
    assert channel.epsilon <= eps or channel.epsilon == pytest.approx(eps, abs=1e-15)
    assert exact == pytest.approx(eps, abs=1e-6)


@each
def test_reports_follow_the_law(name):
    channel = ALL[name]
    n = 400_000 if name == "hashing" else 60_000
    for d in {0, channel.domain.size - 1}:
        drawn = codes(channel, channel.draw(np.full(n, d)))
        assert fit(channel, drawn, d) > 1e-6


WRONG = {
    "kary": lambda c: replace(c, truth=c.truth * F(11, 10)),
    "warner": lambda c: replace(c, truth=c.truth * F(11, 10)),
    "unary-symmetric": lambda c: replace(c, no=c.no * F(9, 10)),
    "unary-optimised": lambda c: replace(c, no=c.no * F(9, 10)),
    "duchi": lambda c: replace(c, truth=c.truth * F(11, 10)),
    "piecewise": lambda c: replace(c, favour=c.favour * F(13, 10)),
    "laplace": lambda c: replace(c, decay=c.decay * F(9, 10)),
    "table": lambda c: replace(c, rows=(c.rows[1], c.rows[0], *c.rows[2:])),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_law_that_is_slightly_off_is_caught(name):
    channel, wrong = ALL[name], WRONG[name](ALL[name])
    drawn = codes(channel, channel.draw(np.zeros(60_000, dtype=np.int64)))

    assert fit(channel, drawn, 0, law_of=wrong) < 1e-6


def test_a_hashing_law_that_is_slightly_off_is_caught_by_how_often_the_truth_is_supported():
    # 40,000 salts leave few reports for each output, so the statistic that the estimator uses is tested.
    channel = COUNTING["hashing"]
    n = 600_000
    tally = channel.tally(channel.draw(np.zeros(n, dtype=np.int64)))
    p, q = (float(r) for r in channel.rates)

    def far(count, rate):
        return abs(count - n * rate) / math.sqrt(n * rate * (1 - rate))

    assert far(tally[0], p) < 5 and far(tally[1], q) < 5
    assert far(tally[0], p * 1.03) > 5 and far(tally[1], q * 1.03) > 5


@pytest.mark.parametrize("name", [n for n in COUNTING if n != "table"])
def test_support_rates_are_those_of_the_law(name):
    """What the unbiased estimator rests on: P[report supports d | d] and P[… | d′], summed exactly."""
    channel = COUNTING[name]

    def supports(o, d):
        if name == "hashing":
            a, b, y = channel.split(o)
            return (a * d + b) % channel.prime % channel.cells == y
        return bool(o >> d & 1) if "unary" in name else o == d

    p = sum(channel.law(o, 0) for o in channel.outputs() if supports(o, 0))
    q = sum(channel.law(o, 1) for o in channel.outputs() if supports(o, 0))

    assert (p, q) == channel.rates


@pytest.mark.parametrize("name", NUMERIC)
def test_a_decoded_number_is_unbiased_exactly(name):
    channel = NUMERIC[name]
    for d in range(channel.domain.size):
        assert sum(channel.law(o, d) * channel.position(o) for o in channel.outputs()) == d


@each
def test_reports_survive_writing_and_reading(name):
    channel = ALL[name]
    reports = channel.draw(np.arange(200) % channel.domain.size)

    assert (channel.read(channel.write(reports)) == reports).all()


@each
def test_a_survey_file_gives_back_the_same_channel(name):
    channel = ALL[name]
    assert channel_from(channel.domain, channel.spec()) == channel


@each
def test_forged_reports_are_refused_without_repeating_them(name):
    """V-50: nobody can poison an estimate with a report that no channel sends; the error shows no value."""
    with pytest.raises(SchemaError) as caught:
        ALL[name].read(["forged-7731"])
    assert "7731" not in str(caught.value)


@each
def test_one_sample_is_an_output_of_the_law(name):
    channel = ALL[name]
    value = "yes" if name == "warner" else "a" if name in COUNTING else 0.5
    assert channel.law(channel.sample(value), channel.domain.index(value)) > 0


def test_an_answer_outside_the_domain_is_not_repeated_in_the_error():
    with pytest.raises(SchemaError) as caught:
        COUNTING["kary"].sample("secret-disease")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0, -1, 1e9, "x"])
def test_no_channel_is_built_from_a_senseless_epsilon(bad):
    with pytest.raises((BudgetError, PlanError)):
        KaryResponse.of(FOUR, bad)


def test_numbers_outside_the_grid_are_clamped_and_nan_is_refused():
    assert NUMBERS.index(99) == 6 and NUMBERS.index(float("-inf")) == 0
    with pytest.raises(SchemaError):
        NUMBERS.index(float("nan"))


def test_a_thousand_answers_cost_no_more_than_three():
    many = Categories.numbered(1000)
    assert KaryResponse.of(many, 1).ratio == KaryResponse.of(FOUR, 1).ratio
    assert Unary.optimised(many, 1).ratio == Unary.optimised(FOUR, 1).ratio


def test_fresh_salts_differ_between_reports_of_one_answer():
    """V-50: local hashing draws its salt anew for each report, and takes none from outside."""
    channel = LocalHashing.of(Categories.numbered(500), 2)
    salts = channel.draw(np.zeros(2000, dtype=np.int64)) // channel.cells

    assert len(np.unique(salts)) > 1980  # 253,009 salts: about 8 of 2,000 collide
    assert not {"salt", "seed", "rng"} & set(LocalHashing.draw.__annotations__)


def test_both_ways_of_tallying_hashed_reports_agree():
    channel = LocalHashing.of(Categories.numbered(37), 1.5)
    reports = channel.draw(np.arange(5000) % 37)
    assert (channel.tally(reports) == channel._tally_directly(reports)).all()
