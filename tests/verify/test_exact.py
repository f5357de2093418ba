"""The exact checks, on small domains; noisy max over counts is ε for every m, and the checks can fail."""

from __future__ import annotations

from dataclasses import replace

from fractions import Fraction as F

import pytest

from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Calibration
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.verify.checks import exact_choice, exact_noise
from privjail.verify.laws.law import check
from privjail.verify.laws.neighbours import vectors
from privjail.verify.report import CHECKS

EXACT = {**exact_noise.CHECKS, **exact_choice.CHECKS}


def tick() -> None:
    pass


@pytest.mark.parametrize("name", EXACT)
def test_every_claim_holds(name: str) -> None:
    assert name in CHECKS
    for row in EXACT[name](True, tick):
        assert row.holds, row


@pytest.mark.parametrize("m", [2, 3, 4, 5])
@pytest.mark.parametrize("one_way", [True, False])
def test_noisy_max_costs_epsilon_for_every_m_and_reaches_it(m: int, one_way: bool) -> None:
    law, tied = exact_choice._permute_and_flip(F(1, 2), one_way)
    factor = F(2) if one_way else F(4)
    verdict = check(law, vectors(m, 2, 1, one_way, up_to_order=True), factor)
    assert tied and verdict.holds() and verdict.reached == factor < 2 ** (m if one_way else 2 * m)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_every_claim_holds_on_the_larger_domains(name: str) -> None:
    for row in EXACT[name](False, tick):
        assert row.holds, row


def halved(noise: Calibration) -> Calibration:
    return replace(noise, scale=noise.scale / 2)


def test_a_mechanism_with_less_noise_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale is taken from the shipped code: halve it there, and the rows do not hold."""
    shipped = Laplace.calibrate
    monkeypatch.setattr(Laplace, "calibrate", lambda self, value: halved(shipped(self, value)))
    assert not any(row.holds for row in exact_noise.laplace(True, tick))


def test_a_sampler_that_departs_from_its_law_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoisyMax, "sample", lambda self, value, exact, noise: exact.index(max(exact)))
    assert not exact_choice._permute_and_flip(F(1, 2), True)[1]


def test_a_rho_that_is_too_small_fails_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    from privjail.budget.notions import Loss

    monkeypatch.setattr(Exponential, "loss", property(lambda self: Loss(pure=self.epsilon, rho=self.epsilon**2 / 9)))
    assert not exact_choice._exponential_rho(True, tick).holds
