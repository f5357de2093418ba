"""The black-box auditor finds planted bugs, clears what is right, and its bounds are bounds; also over the wire."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privjail.errors import PlanError
from privjail.verify.checks.blackbox import clopper_pearson, lower_bound, worst_bound
from privjail.verify.checks.broken import BROKEN, Broken, added
from privjail.verify.checks.events import Seen, fraction_bits
from privjail.verify.checks.refuted import statistically
from privjail.verify.checks.sound import Sound, audited, cases

from ..server.jails import SCHEMA, make_jail, serving

#: Those whose samplers are quick; the others run under `make verify` and `make test-all`.
QUICK = [
    b
    for b in BROKEN
    if not b.name.startswith(("noisy max, noise", "noisy top", "sparse vector that", "sparse vector, noise"))
]


@pytest.mark.parametrize("broken", QUICK, ids=lambda b: b.name)
def test_it_finds_the_planted_bug(broken: Broken) -> None:
    """Noise 30 % too small, a scale off by 2, noisy values, sparse vectors, floats by their grid (V-1, V-2, V-44)."""
    assert statistically(broken, min(broken.samples, 8_000)).epsilon > broken.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("broken", [b for b in BROKEN if b not in QUICK], ids=lambda b: b.name)
def test_it_finds_the_slower_ones_too(broken: Broken) -> None:
    assert statistically(broken).epsilon > broken.epsilon


def test_floating_point_noise_is_found_by_its_grid() -> None:
    broken = next(b for b in BROKEN if b.name == "Laplace, in floating point")
    found = statistically(broken, 6000)
    assert "binary digit" in found.event and found.epsilon > 3
    assert [fraction_bits(x) for x in (0.0, 3.0, 0.5, -0.375, 2.0**-53, math.inf)] == [0, 0, 1, 3, 53, 0]


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_it_clears_what_is_right(case: Sound) -> None:
    found = audited(case, 800)
    assert found.epsilon <= case.epsilon and found.delta <= case.delta


def test_the_bound_is_near_the_truth_when_samples_are_many() -> None:
    found = lower_bound(added(1.0), 0, 1, samples=30_000, many=True)
    assert 0.88 < found.epsilon <= 1.0
    assert lower_bound(added(1.0), 0, 1, samples=10_000, many=True, claimed=0.5).delta > 0.05  # δ(½) = 0.164…


def test_the_bound_errs_as_rarely_as_it_says() -> None:
    """At 60 % confidence, over 100 audits of a coin whose ε is known: wrong far less often than in 40 %."""

    def coin(p: float, n: int) -> list[int]:
        return rng.binomial(1, p, n).tolist()

    rng = np.random.default_rng(5)
    truth = math.log(0.75 / 0.25)
    wrong = sum(
        lower_bound(coin, 0.75, 0.25, samples=400, confidence=0.6, many=True).epsilon > truth for _ in range(100)
    )
    assert wrong < 100 * 0.4


def test_equal_laws_show_nothing() -> None:
    """Continuous outputs that are never seen twice: nothing is learned from chance."""
    rng = np.random.default_rng(6)
    found = lower_bound(lambda _, n: rng.normal(size=n).tolist(), 0, 1, samples=4000, many=True)
    assert found.epsilon < 0.2 and found.delta < 0.05


def test_an_event_is_not_tested_on_what_it_was_learned_from() -> None:
    """60 equally likely outputs, whatever the input: a bound above 0 is wrong, and rare even at 60 % confidence."""
    rng = np.random.default_rng(7)
    wrong = sum(
        lower_bound(
            lambda _, n: rng.integers(60, size=n).tolist(), 0, 1, samples=600, confidence=0.6, many=True
        ).epsilon
        > 0
        for _ in range(60)
    )
    assert wrong < 60 * 0.4


def test_outputs_that_never_repeat_are_told_apart_by_their_size() -> None:
    """Continuous noise: sets of single outputs fit the learning half by chance; a cut is chosen instead."""
    rng = np.random.default_rng(8)
    found = lower_bound(lambda x, n: (x + rng.laplace(size=n)).round(9).tolist(), 0, 1, samples=8000, many=True)
    assert 0.6 < found.epsilon <= 1


def test_clopper_pearson() -> None:
    """Against the defining tails of the binomial law."""
    low, high = clopper_pearson(7, 50, 0.01)
    tail = sum(math.comb(50, k) * low**k * (1 - low) ** (50 - k) for k in range(7, 51))
    other = sum(math.comb(50, k) * high**k * (1 - high) ** (50 - k) for k in range(8))
    assert tail == pytest.approx(0.01) and other == pytest.approx(0.01)
    assert clopper_pearson(0, 50, 0.01)[0] == 0 and clopper_pearson(50, 50, 0.01)[1] == 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, 1), ("a", "b"), ((1, None), (1, 2.5)), ([1.0, math.nan], [1.0, 2.0]), ({"a": 1}, {"b": 1}),
        ((), (1,)), (np.array([1, 2]), np.array([1, 3])), (True, False), (math.inf, -math.inf), ({1}, {2}), (10**400, 0),
    ],
)  # fmt: skip
def test_outputs_of_any_kind(left: Any, right: Any) -> None:
    """A release that gives its input away is found whatever it returns."""
    found = lower_bound(lambda x: x, left, right, samples=400)
    assert found.epsilon > 2 and found.hits == (200, 0) and Seen.of(left) != Seen.of(right)


def test_the_worst_of_several_pairs() -> None:
    found = worst_bound(added(1.0), [(0, 0), (0, 1), (0, 3)], samples=6000, many=True)
    assert found.epsilon > 1.5 and set(found.pair) == {0, 3} and "confidence" in str(found)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(PlanError):
        lower_bound(lambda x: x, 0, 1, samples=99)


def test_over_the_wire(tmp_path: Path) -> None:
    """An analyst's program against a real jail that holds two neighbouring tables: cleared; at eight times the ε: found."""
    import privjail as pj
    from privjail import pandas as pd

    folder = make_jail(tmp_path, budget=10**5, grant=10**5)
    lines = (tmp_path / "census.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "less.csv").write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    folder.add_dataset("less", str(tmp_path / "less.csv"), SCHEMA, [10**5], "pure", (None, 1))
    folder.grant("ann", "less", [10**5], False, None)
    folder.ledger.close()
    with serving(tmp_path):
        pj.connect(tmp_path / "ann.privjail")
        try:
            right, wrong = (
                lower_bound(lambda name, eps=eps: pd.read_csv(name).shape[0].reveal(eps=eps), "census", "less",
                            samples=120, confidence=0.99)
                for eps in (1, 8)
            )  # fmt: skip
        finally:
            pj.disconnect()
    assert right.epsilon <= 1 < wrong.epsilon


def test_missing_outputs_are_refused() -> None:
    """Fewer outputs on one side would look like a small probability."""
    with pytest.raises(PlanError, match="400 outputs were asked for, 100 came"):
        lower_bound(lambda x, n: [0] * (n if x else 100), 0, 1, samples=400, many=True)
