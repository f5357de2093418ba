"""Wrong claims are refuted exactly: at least twelve variants, wrong Gaussians, a borrowed ρ; and OpenDP is told right."""

from __future__ import annotations

import pytest

from privjail.verify.checks.broken import BROKEN, Broken
from privjail.verify.checks.refuted import (
    exactly, flip_with_rho, laws_followed, narrow_gaussian, opendp_noisy_max, opendp_row, textbook_gaussian,
)  # fmt: skip

EXACT = [b for b in BROKEN if b.law is not None]


@pytest.mark.parametrize("broken", EXACT, ids=lambda b: b.name)
def test_the_exact_law_refutes_it(broken: Broken) -> None:
    assert broken.law is not None
    for data in broken.pair:
        assert sum(broken.law(data).values()) == 1
    assert exactly(broken)[0]


def test_there_are_enough_and_most_are_for_both() -> None:
    assert len(BROKEN) >= 12 and len({b.name for b in BROKEN}) == len(BROKEN)
    assert sum(b.law is not None and b.draw is not None for b in BROKEN) > len(BROKEN) * 0.8


def test_wrong_gaussians_v14() -> None:
    """V-14."""
    assert textbook_gaussian().exact and narrow_gaussian().exact


def test_the_claim_of_opendp_issue_2911_is_refuted_v12() -> None:
    """V-12: permute and flip with the ρ that OpenDP's noisy max states under zCDP."""
    found = flip_with_rho()
    assert found.exact and "D₂ ≥ 1.37" in found.exact_found


def test_opendp_runs_gumbel_noise_under_zcdp_so_its_rho_is_true_v12() -> None:
    """V-12: the tool tells the two mechanisms apart by their draws. Under pure DP the same function runs the other one."""
    assert opendp_row(True, lambda: None)[0].holds
    assert laws_followed(opendp_noisy_max("max_divergence")) == {"permute and flip"}
