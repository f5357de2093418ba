"""Known bugs of published packages are found again by running the packages; what is right in them is not refuted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from privjail.errors import PlanError
from privjail.verify.checks import published
from privjail.verify.checks.published import CASES, OPENDP, Case, Finding, environment, judged
from privjail.verify.report import Findings, verified_page

BY_NAME = {case.draws: case for case in CASES}


def run(case: Case, seconds: float) -> Finding:
    found = judged(case, seconds)
    if found.judged is None:
        pytest.skip(f"{case.package}: {found.reason}")
    return found


def test_the_delta_of_opendps_thresholding_is_refuted_v13() -> None:
    """V-13: by the exact law and by draws. It needs no other environment if this one has that version."""
    found = run(BY_NAME["opendp_threshold"], 30)

    assert found.judged is not None and found.judged.refuted, found.judged
    assert "δ ≥ 0.0989, claimed 0.0364" in found.judged.found


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.draws)
def test_every_known_bug_is_found_again_and_no_control(case: Case) -> None:
    """V-1, V-2, V-11, V-12, V-13, V-14, V-16, V-17."""
    found = run(case, 600)

    assert found.good, found.judged


def test_there_are_bugs_of_several_packages_and_controls() -> None:
    wrong = Counter(case.package.split("=")[0].split(" ")[0].split("[")[0] for case in CASES if case.wrong)

    assert sum(wrong.values()) >= 5 and len(wrong) >= 3
    assert sum(not case.wrong for case in CASES) >= 3


def test_a_judge_can_say_no() -> None:
    """Outputs that keep the claim are not refuted, whichever judge looks at them."""
    fair = [[i % 7 for i in range(3000)], [(i + 3) % 7 for i in range(3000)]]
    honest = [["shown" if i % 1000 < 5 else None for i in range(20_000)], [None] * 20_000]
    wide = [[3.0 * (-1) ** i for i in range(100)]] * 2
    flips = [[0] * 2900 + [1] * 50 + [2] * 50, [1] * 1500 + [2] * 1500]

    assert not published.black_box({"epsilon": 1.0, "samples": 3000, "rounds": zip(*fair, strict=True)}).refuted
    assert not published.threshold({"epsilon": 1.0, "delta": 0.0049, "rounds": zip(*honest, strict=True)}).refuted
    assert not published.gaussian(
        {"epsilon": 10.0, "delta": 1e-5, "sigma": 3.0, "rounds": zip(*wide, strict=True)}
    ).refuted
    assert published.noisy_max({"rho": 0.5, "rounds": zip(*flips, strict=True)}).refuted  # it follows neither law


def test_the_auditor_reads_no_further_than_it_must() -> None:
    rounds = iter([(i % 2, 2 + i % 2) for i in range(6000)])  # never the same output on both inputs

    assert published.black_box({"epsilon": 1.0, "samples": 6000, "rounds": rounds}).refuted
    assert len(list(rounds)) > 4500


def test_a_package_that_ends_too_early_is_not_cleared() -> None:
    with pytest.raises(PlanError, match="came"):
        published.black_box({"epsilon": 1.0, "samples": 6000, "rounds": iter([(0, 0)] * 3000)})


def test_what_cannot_be_installed_is_said_and_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVJAIL_PUBLISHED", str(tmp_path))
    monkeypatch.setattr(published, "_run", _refuse)
    python, reason = environment(("no-such-package==1",), 30)
    found = Finding(BY_NAME["opendp_cut"], None, reason)

    assert python is None and "no such" in reason
    assert found.good and not Findings(published=[found]).problems
    assert "could not be run" in verified_page(Findings(published=[found]), 1)


def _refuse(command: list[str], seconds: float) -> str:
    raise published.subprocess.CalledProcessError(1, command, stderr="looking\nno such package")


def test_a_bug_that_is_not_found_and_a_control_that_is_refuted_are_problems() -> None:
    bug, control = BY_NAME["opendp_threshold"], BY_NAME["opendp_laplace"]
    missed = Finding(bug, published.Judged(False, ""))
    accused = Finding(control, published.Judged(True, ""))

    assert len(Findings(published=[missed, accused]).problems) == 2


def test_the_reported_claim_on_noisy_max_is_not_what_opendp_runs_v12() -> None:
    """V-12: were permute and flip drawn with that ρ, the judge would refute it."""
    from privjail.verify.laws import closed_forms
    from privjail.verify.laws.intervals import ball_decay, precision
    from privjail.verify.checks.refuted import GAMMA, SCORES

    outputs = []
    with precision():
        for scores in SCORES:
            law = closed_forms.permute_and_flip(scores, GAMMA, ball_decay)
            outputs.append([i for i, p in law.items() for _ in range(round(3000 * float(p)))])
    least = min(map(len, outputs))
    found = published.noisy_max(
        {"rho": float(Fraction(1, 2)), "rounds": zip(*(x[-least:] for x in outputs), strict=True)}
    )

    assert found.refuted and "permute and flip" in found.found
    assert OPENDP[0].startswith("opendp==")
