"""Closed forms against brute force, and against the shipped samplers; and the checker against laws that are not private."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, permutations, product

import pytest

from privjail.errors import PlanError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.verify.laws import closed_forms
from privjail.verify.laws.law import Rational, check, hockey_stick, ratio
from privjail.verify.laws.neighbours import counted, histogram, tables, vectors, within_l1
from privjail.verify.laws.scripted import agrees, found_law, single, vector
from privjail.verify.laws.geometric_series import Fixed, OneSided, TwoSided, total

A = F(1, 3)


def nearly(x: F, y: F) -> bool:
    return abs(x - y) < F(1, 10**12)


@pytest.mark.parametrize("noise", [TwoSided(A), OneSided(A)])
def test_tails_are_sums_of_the_law(noise: TwoSided | OneSided) -> None:
    for k in range(-5, 6):
        assert noise.at_least(k) - noise.at_least(k + 1) == noise.pmf(k)
        assert nearly(noise.at_least(k), sum((noise.pmf(j) for j in range(k, 60)), F(0)))


def test_series_are_summed_to_the_end() -> None:
    """Against plain sums over ±60, where less than 3^−55 is left."""
    two, one = TwoSided(A), OneSided(A)
    for factors in (
        [two.equals(2)], [two.equals(0), two.at_most(3)], [two.equals(1), two.reaches(-2), two.at_most(0)],
        [one.equals(-1), one.at_most(2)], [two.equals(0), Fixed().reaches(2)], [two.equals(0), Fixed().at_most(-1)],
    ):  # fmt: skip
        plain = F(0)
        for y in range(-60, 61):
            value = F(1)
            for f in factors:
                value *= f.at(y)
            plain += value
        assert nearly(total(factors), plain)


def test_every_law_adds_up_to_one() -> None:
    for law in (
        closed_forms.geometric(2, A, 5), closed_forms.noisy_max((0, 2, 1), TwoSided(A)), closed_forms.noisy_max((3, 0, 3, 1), OneSided(A)),
        closed_forms.first_above((0, 2, 1), 1, TwoSided(A**2), TwoSided(A)), closed_forms.permute_and_flip((0, 2, 2), F(1), Rational(A)),
        closed_forms.exponential((0, 5, 1), F(1), Rational(A)), closed_forms.thresholded(2, 4, A, 9), closed_forms.randomised_response(1, 4, A),
        closed_forms.independent(closed_forms.geometric(0, A, 3), closed_forms.randomised_response(0, 3, F(1, 2))),
    ):  # fmt: skip
        assert sum(law.values()) == 1


def test_noisy_max_is_the_law_of_the_first_largest() -> None:
    """By brute force over noise within ±14."""
    scores, noise = (0, 2, 1), TwoSided(F(1, 4))
    found = dict.fromkeys(range(3), F(0))
    values = [(k, noise.pmf(k)) for k in range(-14, 15)]
    for (a, p), (b, q), (c, r) in product(values, repeat=3):
        noised = [s + e for s, e in zip(scores, (a, b, c), strict=True)]
        found[noised.index(max(noised))] += p * q * r
    stated = closed_forms.noisy_max(scores, noise)
    assert all(0 <= stated[i] - found[i] < F(1, 10**7) for i in range(3))


def test_permute_and_flip_as_published() -> None:
    """In every order, one after another."""
    for scores in ((0, 1), (2, 0, 2), (1, 0, 3, 2)):
        accept = [A ** (max(scores) - s) for s in scores]
        law = dict.fromkeys(range(len(scores)), F(0))
        orders = list(permutations(range(len(scores))))
        for order in orders:
            left = F(1, len(orders))
            for i in order:
                law[i] += left * accept[i]
                left *= 1 - accept[i]
        assert closed_forms.permute_and_flip(scores, F(1), Rational(A)) == law


def test_the_hockey_stick_is_the_best_of_all_sets() -> None:
    left, right = closed_forms.noisy_max((0, 2, 1, 1), TwoSided(A)), closed_forms.noisy_max((1, 1, 1, 2), TwoSided(A))
    for factor in (F(1), F(3, 2), F(3)):
        best = max(
            sum(left[o] - factor * right[o] for o in chosen) for n in range(5) for chosen in combinations(range(4), n)
        )
        assert hockey_stick(left, right, factor) == best
    assert hockey_stick(left, right, F(1), F(1, 7)) == hockey_stick(left, right, F(1)) + F(
        1, 7
    )  # what is lost is added


def test_the_ratio_is_infinite_where_an_outcome_is_impossible() -> None:
    assert ratio({0: F(1, 2), 1: F(1, 2)}, {0: F(1)}) is None
    assert ratio({0: F(1)}, {0: F(1, 2), 1: F(1, 2)}) == 2


def test_the_checker_refutes_what_is_not_private() -> None:
    verdict = check(lambda x: closed_forms.geometric(x, A, 4), [(0, 1), (0, 2)], 1 / A)
    assert not verdict.holds() and verdict.reached == 9 and verdict.worst == (0, 2)
    assert check(lambda x: closed_forms.geometric(x, A, 4), [(0, 1)], 1 / A).holds()
    assert not check(
        lambda x: closed_forms.geometric(x, A, 4), [(0, 1)], 1 / A - F(1, 10**30)
    ).holds()  # equality is told from excess


def test_mechanisms_have_the_stated_laws_and_not_one_off_by_a_step() -> None:
    decay = Rational(F(1, 3), 2)
    mechanism = AboveThreshold(F(2), F(1))
    found = found_law(lambda noise: mechanism.sample(vector(2, 1), [0, 2], noise), decay, 5)
    drawn = mechanism.calibrate(vector(2, 1))
    a, b = TwoSided(decay(1 / drawn.outer)), TwoSided(decay(1 / drawn.scale))
    assert agrees(found, closed_forms.first_above((0, 2), 1, a, b))
    for wrong in (((0, 2), 2, a, b), ((1, 2), 1, a, b), ((0, 2), 1, b, b), ((0, 2), 1, a, a)):
        assert not agrees(found, closed_forms.first_above(*wrong))
    flip = found_law(lambda noise: NoisyMax(F(1)).sample(vector(3, 1), [0, 2, 1], noise), decay)
    assert flip.lost == 0 and flip.law == closed_forms.permute_and_flip((0, 2, 1), F(1, 2), decay)
    assert flip.law != closed_forms.exponential((0, 2, 1), F(1, 2), decay)


def test_the_scripted_laplace_loses_what_lies_beyond_and_says_so() -> None:
    found = found_law(lambda noise: Laplace(F(1)).sample(single(1), 0, noise), Rational(A), 3)
    assert found.lost == 2 * TwoSided(A).at_least(4) and sum(found.law.values()) == 1 - found.lost


def test_a_power_that_is_no_fraction_is_refused() -> None:
    with pytest.raises(PlanError):
        Rational(A)(F(1, 2))
    with pytest.raises(PlanError):
        Rational(F(1))


def test_neighbours_are_all_there() -> None:
    assert len(set(vectors(2, 2, 1))) == 4 * 9 and len(set(vectors(2, 2, 1, one_way=True))) == 4 * 4
    assert len(list(vectors(3, 3, 1, up_to_order=True))) == 10 * 27
    assert set(within_l1(2, 1, 1)) == {((0, 0), m) for m in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
    pairs = list(tables(2, 3))
    assert all(len(right) == len(left) + 1 for left, right in pairs) and len(pairs) == 2 * (1 + 2 + 3)
    moves = {tuple(b - a for a, b in zip(x, y, strict=True)) for x, y in counted(iter(pairs), histogram(2))}
    assert moves == {(1, 0), (0, 1)}


def test_the_ratio_is_the_largest_of_all() -> None:
    left, right = closed_forms.geometric(0, A, 4), closed_forms.noisy_max((0, 2, 1), TwoSided(A))
    assert ratio(right, {k: left[k] for k in right}) == max(p / left[k] for k, p in right.items())
    rising = {k: F(1, 4) for k in range(4)}, {k: F(10 - k, 34) for k in range(4)}
    assert ratio(*rising) == F(34, 28) and ratio(*rising[::-1]) == F(40, 34)


def test_each_pair_is_checked_in_both_directions() -> None:
    table = {0: {"a": F(1, 2), "b": F(1, 2)}, 1: {"a": F(9, 10), "b": F(1, 10)}}  # 9/5 one way, 5 the other
    for pair in ((0, 1), (1, 0)):
        verdict = check(table.__getitem__, [pair], F(2))
        assert not verdict.holds() and verdict.reached == 5 and verdict.delta == F(3, 10)


def test_a_stated_law_may_not_exceed_what_was_found_by_more_than_was_lost() -> None:
    found = found_law(lambda noise: noise.exponential((3, 3), F(1)), Rational(A))
    assert found.law == {0: F(1, 2), 1: F(1, 2)} and found.lost == 0
    assert agrees(found, {0: F(1, 2), 1: F(1, 2)})
    assert not agrees(found, {0: F(1, 2), 1: F(1, 2), 2: F(1, 100)}) and not agrees(found, {0: F(1, 2), 1: F(2, 3)})


def test_mass_that_a_law_leaves_out_counts_as_delta() -> None:
    """A table that is cut off must not look private."""
    cut = {0: {"a": F(1, 2)}, 1: {"a": F(1, 2)}}
    verdict = check(cut.__getitem__, [(0, 1)], factor=F(2))

    assert not verdict.holds() and verdict.delta == F(1, 2)
    with pytest.raises(PlanError):
        check(lambda _: {"a": F(3, 2), "b": F(-1, 2)}, [(0, 1)], factor=F(2))


def test_no_neighbours_are_no_verdict() -> None:
    """An iterator that is used up would hold for everything."""
    with pytest.raises(PlanError, match="nothing was checked"):
        check(lambda _: {"a": F(1)}, iter([]), factor=F(2))
