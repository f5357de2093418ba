"""The paper's figures 3 and 4: where hidden parameters beat public ones, and where they do not."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

import pytest

from privjail.local import Warner, strengths

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from local_paper import constant_strength, errors  # noqa: E402


@pytest.mark.parametrize("percent", [30, 45, 50, 55, 60, 61, 70])
def test_both_surveys_have_the_same_strengths_at_every_mix(percent):
    setting = constant_strength(F(percent, 100))
    menu = {t: Warner(p) for t, p in zip("sw", setting.hidden, strict=True)}
    found = strengths(menu, {"s": F(100 - percent, 100), "w": F(percent, 100)})

    assert found["s"].hidden == pytest.approx(Warner(0.6).epsilon, abs=1e-9)
    assert found["w"].hidden == pytest.approx(Warner(0.75).epsilon, abs=1e-9)


def information(setting):
    """1/(n·variance) at π = ½ for the likelihood: hidden pools first, public adds up the groups."""
    shares = (1 - setting.share, setting.share)
    hidden = sum(m * (2 * p - 1) for m, p in zip(shares, setting.hidden, strict=True)) ** 2
    public = sum(m * (2 * p - 1) ** 2 for m, p in zip(shares, setting.public, strict=True))
    return hidden, public


def test_figure_3_hidden_beats_public_from_0_48_to_0_60_and_nowhere_else():
    wins = {i for i in range(1, 100) if (h := information(constant_strength(F(i, 100))))[0] > h[1]}
    assert wins == set(range(48, 61))


@pytest.mark.parametrize(("percent", "wins"), [(35, False), (45, False), (50, True), (58, True), (63, False)])
@pytest.mark.parametrize("n", [100, 1000, 10000])
def test_figure_3_in_simulation(n, percent, wins):
    found = errors(constant_strength(F(percent, 100)), n, 0.5, runs=20_000)
    assert (found["hidden, likelihood"] < found["public, likelihood"]) is wins


@pytest.mark.parametrize("n", [100, 1000, 10000])
@pytest.mark.parametrize("pi", [0, 0.1, 0.5, 0.8, 1])
def test_figure_4_hidden_beats_public_for_every_population_at_an_even_mix(n, pi):
    found = errors(constant_strength(F(1, 2)), n, pi, runs=20_000)

    assert found["hidden, likelihood"] < found["public, likelihood"]
    assert found["hidden, unbiased"] < found["public, unbiased"]


def test_figure_2_hiding_helps_the_weak_only_and_only_in_the_middle():
    menu = {"s": Warner("3/5"), "w": Warner("4/5")}
    found = {i: strengths(menu, {"s": F(100 - i, 100), "w": F(i, 100)}) for i in range(1, 100)}

    assert all(f["s"].hidden == f["s"].public for f in found.values())
    # 3(1 − w)/w < 4 from w > 3/7 on, and 2w/(1 − w) < 4 up to w < 2/3
    assert {i for i, f in found.items() if f["w"].hidden < f["w"].public} == set(range(43, 67))


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_one_script_draws_every_figure(tmp_path, every):
    script = [sys.executable, str(ROOT / "examples" / "local_figures.py")]
    given = ["--out", str(tmp_path), "--runs", "200", "--every", str(every)]
    done = subprocess.run([*script, *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in (ROOT / "docs" / "figures").glob("local-*")}
    assert {"local-figure-2.svg", "local-figure-3.svg", "local-figure-4.svg"} <= drawn
