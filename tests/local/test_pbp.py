"""Parameter Blending Privacy: the paper's numbers, its theorems, and what it does not promise."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privjail.errors import PlanError, RefusedError
from privjail.local import (
    Categories,
    KaryResponse,
    LocalHashing,
    Table,
    Unary,
    Warner,
    processed,
    rounds,
    strengths,
)

from .channels import FOUR

THREE = Categories.numbered(3)
TWO = Categories(("d0", "d1"))
HALF = {"s": F(1, 2), "w": F(1, 2)}
PAPER = {"s": Table.of(TWO, [[0.6, 0.4], [0.4, 0.6]]), "w": Table.of(TWO, [[0.8, 0.2], [0.2, 0.8]])}


def by_definition(menu, mix, theta):
    """E(θ) as written in the issue, over every d, d′, o and θ′, in floats."""

    def loss(a, b):
        if a == b == 0:
            return 0.0
        return math.inf if a == 0 or b == 0 else abs(math.log(a / b))

    mine, worst = menu[theta], 0.0
    answers = range(mine.domain.size)
    # Outputs with equal probabilities throughout give the same maximum: each kind is looked at once.
    kinds = {tuple(tuple(mix[t] * menu[t].law(o, d) for d in answers) for t in menu) for o in mine.outputs()}
    for kind in kinds:
        joint = dict(zip(menu, kind, strict=True))
        for d, e in product(answers, repeat=2):
            worst = max(worst, min(loss(joint[theta][d], joint[t][e]) for t in menu))
    return worst


def test_the_paper_s_example_is_reproduced():
    found = strengths(PAPER, HALF)

    assert found["s"].hidden == pytest.approx(math.log(1.5), abs=1e-12)
    assert found["w"].hidden == pytest.approx(math.log(3), abs=1e-12)
    assert found["s"].public == pytest.approx(math.log(1.5), abs=1e-12)
    assert found["w"].public == pytest.approx(math.log(4), abs=1e-12)
    assert (found["s"].hidden_ratio, found["w"].hidden_ratio) == (F(3, 2), 3)


@st.composite
def menus(draw, outputs=3, inputs=2, zeros=False):
    def column():
        parts = [draw(st.integers(0 if zeros else 1, 6)) for _ in range(outputs)]
        parts[0] += not sum(parts)
        return [F(p, sum(parts)) for p in parts]

    names = "abc"[: draw(st.integers(1, 3))]
    domain = Categories.numbered(inputs)
    menu = {t: Table(domain, tuple(zip(*(column() for _ in range(inputs)), strict=True))) for t in names}
    weights = [draw(st.integers(1, 5)) for _ in names]
    return menu, {t: F(w, sum(weights)) for t, w in zip(names, weights, strict=True)}


@given(menus(zeros=True))
@settings(max_examples=150, deadline=None)
def test_e_is_the_definition_for_any_finite_channels(case):
    menu, mix = case
    for theta, s in strengths(menu, mix).items():
        assert s.hidden == pytest.approx(by_definition(menu, mix, theta), abs=1e-12)


@pytest.mark.parametrize(
    "menu",
    [
        {"s": KaryResponse(FOUR, F(2, 5)), "w": KaryResponse(FOUR, F(4, 5))},
        {"s": Unary(FOUR, F(3, 5), F(2, 5)), "w": Unary(FOUR, F(4, 5), F(1, 5))},
        {"s": Unary(FOUR, F(2, 5), F(1, 4)), "w": Unary(FOUR, F(2, 3), F(1, 4))},
        {"s": LocalHashing(THREE, 2, F(3, 5)), "w": LocalHashing(THREE, 2, F(4, 5))},
    ],
    ids=["kary", "unary", "unary, same no", "hashing"],
)
def test_symmetry_gives_the_same_e_as_every_output(menu):
    mix = {"s": F(2, 5), "w": F(3, 5)}
    for theta, s in strengths(menu, mix).items():
        assert s.hidden == pytest.approx(by_definition(menu, mix, theta), abs=1e-12)


@given(menus(zeros=True))
@settings(max_examples=100, deadline=None)
def test_theorem_1_hiding_never_weakens(case):
    for s in strengths(*case).values():
        assert s.hidden <= s.public


@given(menus(zeros=True))
@settings(max_examples=50, deadline=None)
def test_a_public_parameter_is_a_menu_of_one_and_e_is_then_plain_epsilon(case):
    for channel in case[0].values():
        s = strengths({"only": channel}, {"only": 1})["only"]
        assert s.hidden_ratio == s.public_ratio == s.blend_ratio == channel.ratio


@given(menus(), menus())
@settings(max_examples=60, deadline=None)
def test_theorem_2_rounds_are_bounded_by_the_sum_of_public_strengths(first, second):
    names = [t for t in first[0] if t in second[0]]
    total = sum(first[1][t] for t in names)
    mix = {t: first[1][t] / total for t in names}
    both = {t: rounds(first[0][t], second[0][t]) for t in names}

    for theta, s in strengths(both, mix).items():
        assert s.hidden_ratio <= first[0][theta].ratio * second[0][theta].ratio


def test_theorem_2_is_reached():
    s = strengths({"s": rounds(PAPER["s"], PAPER["s"]), "w": rounds(PAPER["w"], PAPER["w"])}, HALF)["s"]
    assert s.hidden_ratio == F(3, 2) ** 2


def test_e_itself_does_not_add_up_over_rounds():
    """k = 2, two rounds at the best mix Pr(w)/Pr(s) = √1.5: E(θ_w) = 1.994 > 2 × 0.896."""
    share = F(math.isqrt(15 * 10**23), 10**12)  # √1.5 to twelve digits
    mix = {"s": 1 / (1 + share), "w": share / (1 + share)}
    once = strengths(PAPER, mix)["w"].hidden
    twice = strengths({t: rounds(c, c) for t, c in PAPER.items()}, mix)["w"]

    assert once == pytest.approx(0.896, abs=5e-4)
    assert twice.hidden == pytest.approx(1.994, abs=5e-4)
    assert 2 * once < twice.hidden <= twice.public == pytest.approx(2 * math.log(4), abs=1e-9)


def test_that_mix_is_the_best_one():
    def e(w):
        return strengths(PAPER, {"s": 1 - w, "w": w})["w"].hidden

    best = min((e(F(i, 200)), F(i, 200)) for i in range(1, 200))
    assert best[0] == pytest.approx(math.log(6) / 2, abs=0.02) and abs(best[1] - F(11, 20)) <= F(1, 200)


def test_post_processing_can_raise_e():
    """Merging two outputs, which tells the collector less, raises E(θ_s) from log 8/5 to log 5/2."""
    menu = {
        "s": Table.of(TWO, [["4/5", "1/2"], ["1/10", "1/10"], ["1/10", "2/5"]]),
        "w": Table.of(TWO, [["1/10", "1/10"], ["2/5", "4/5"], ["1/2", "1/10"]]),
    }
    merged = {t: processed(c, lambda o: min(o, 1)) for t, c in menu.items()}
    before, after = strengths(menu, HALF)["s"], strengths(merged, HALF)["s"]

    assert (before.hidden_ratio, after.hidden_ratio) == (F(8, 5), F(5, 2))
    assert after.public_ratio <= before.public_ratio  # plain local privacy is closed under it


def test_splitting_a_parameter_in_two_can_change_e():
    """The same people with the same channels; only the name of half of the careful ones changes."""
    split = {"s1": PAPER["s"], "s2": PAPER["s"], "w": PAPER["w"]}
    after = strengths(split, {"s1": F(1, 4), "s2": F(1, 4), "w": F(1, 2)})["w"]
    before = strengths(PAPER, HALF)["w"]

    assert (before.hidden_ratio, after.hidden_ratio) == (3, 4)
    assert before.public_ratio == after.public_ratio and before.blend_ratio == after.blend_ratio


def test_e_can_lie_below_what_a_collector_who_knows_only_the_mix_learns():
    careful = strengths(PAPER, HALF)["s"]
    assert careful.hidden_ratio == F(3, 2) < careful.blend_ratio == F(7, 3)


def test_an_honest_group_is_not_protected_by_e_however_many_lie():
    """Example 1's honest group: 99 % truth loses more than 100 % would if impossible outputs were ignored."""
    random_half = Warner("1/2")
    assert strengths({"s": random_half, "w": Warner(1)}, HALF)["w"].hidden == math.inf
    assert strengths({"s": random_half, "w": Warner("99/100")}, HALF)["w"].hidden_ratio == 50


def test_channels_whose_reports_look_different_cannot_hide_each_other():
    with pytest.raises(RefusedError):
        strengths({"s": LocalHashing.of(FOUR, 1), "w": LocalHashing.of(FOUR, 3)}, HALF)
    with pytest.raises(RefusedError):
        strengths({"s": KaryResponse.of(FOUR, 1), "w": Unary.optimised(FOUR, 1)}, HALF)


@pytest.mark.parametrize("mix", [{"s": "1/2"}, {"s": 0, "w": 1}, {"s": "1/2", "w": "1/3"}, {"s": 2, "w": -1}])
def test_a_mix_that_is_none_is_refused(mix):
    with pytest.raises(PlanError):
        strengths(PAPER, mix)


def test_plain_epsilon_always_stands_beside_e():
    text = str(strengths(PAPER, HALF)["w"])
    assert "E = 1.098612 while hidden" in text and "ε = 1.386294 once known" in text
