"""Every obligation is proved, its mutant refuted, and docs/proofs.md says what is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from privjail.verify.report import proofs_page
from privjail.verify.proofs.symbolic import THEOREMS, Obligation, obligations, proved, refuted, vacuous

ALL = obligations()
PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"


@pytest.mark.parametrize("each", ALL, ids=lambda o: f"{o.theorem}: {o.name}")
def test_it_is_proved_and_its_mutant_is_refuted(each: Obligation) -> None:
    assert proved(each.claim) and refuted(each.mutant) and not vacuous(each.claim)


def test_every_theorem_has_obligations() -> None:
    assert {o.theorem for o in ALL} == set(THEOREMS)
    assert len({(o.theorem, o.name) for o in ALL}) == len(ALL) >= 57


def test_every_induction_has_a_start_and_noisy_max_is_coupled_for_real_noise() -> None:
    """A step without its start proves nothing; and the noise that the library draws is real, not whole."""
    names = {o.name for o in ALL}
    stepped = [o for o in ALL if "the step" in o.words.lower()]
    started = [name.removesuffix(": the start") for name in names if name.endswith(": the start")]
    shared = {"hockey-stick bounds every set", "hockey-stick is reached"}  # start together: hockey-stick sums
    shared |= {"deterministic g", "randomised, (ε, δ)", "randomised, pure"}  # all three sums
    assert {o.name for o in stepped} - shared == set(started) - {"hockey-stick sums", "all three sums"}
    for kind in ("counts (all move one way)", "scores (each moves either way)"):
        for sort in ("whole", "real"):
            assert f"the rivals' best, {kind}, {sort} noise" in names
            assert f"the winning noise, {kind}, {sort} noise" in names


def test_false_claims_and_contradictory_hypotheses_are_noticed() -> None:
    x_ = z3.Real("x_")
    assert vacuous(z3.Implies(z3.And(x_ > 1, x_ < 0), x_ == 5))
    assert vacuous(z3.Implies(x_ > 1, z3.Implies(x_ < 0, x_ == 5)))
    assert vacuous(z3.Implies(x_ > 1, z3.And(x_ > 0, z3.Implies(x_ < 0, x_ == 5))))
    assert vacuous(z3.And(x_ == x_, z3.Or(z3.Implies(z3.And(x_ > 1, x_ < 0), x_ == 5), x_ > 3)))
    assert vacuous(z3.If(x_ > 1, z3.Implies(x_ < 0, x_ == 5), x_ <= 1))
    assert not vacuous(z3.Implies(x_ > 1, z3.Implies(x_ < 3, x_ == 5)))
    assert not vacuous(z3.Implies(z3.Implies(z3.And(x_ > 1, x_ < 0), x_ == 5), x_ == x_))
    assert not proved(x_ > 0) and refuted(x_ > 0) and proved(x_ == x_)


def test_the_page_holds_every_formula() -> None:
    """`make verify` writes it; a formula that was changed since then is noticed here."""
    assert PAGE.read_text(encoding="utf-8") == proofs_page([(o, True) for o in ALL])
