"""Error control of the tests, by simulation: nominal coverage, nominal false-positive rate, and power."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import stats
from privjail.errors import PlanError
from privjail.stats.chi2 import independence
from privjail.stats.compare import compare_means, compare_rates

RUNS = 400
AB = ("a", "b")
# Of 400 runs at 5 %: four standard deviations above is 9.4 %.
MOST_FALSE = 0.05 + 4 * (0.05 * 0.95 / RUNS) ** 0.5


def rates(rng, p, n, scale):
    cells = []
    for each, size in zip(p, n, strict=True):
        hits = rng.binomial(size, each)
        cells.append([hits + rng.laplace(0, scale), size - hits + rng.laplace(0, scale)])
    return cells


def means(rng, centres, n, scales):
    found = []
    for centre, size in zip(centres, n, strict=True):
        x = np.clip(rng.normal(centre, 0.3, size), -1, 1)
        exact = (size, x.sum(), (x * x).sum())
        found.append([e + rng.laplace(0, s) for e, s in zip(exact, scales, strict=True)])
    return found


@pytest.mark.parametrize(("p", "n", "scale"), [(0.3, (400, 600), 1), (0.1, (300, 300), 20), (0.5, (5000, 900), 5)])
def test_rates_have_nominal_coverage_and_false_positives(p, n, scale):
    rng = np.random.default_rng(1)
    found = [compare_rates(rates(rng, (p, p), n, scale), scale, 0.95, AB, "x") for _ in range(RUNS)]

    false = sum(r.pvalue <= 0.05 for r in found) / RUNS
    missed = sum(not r.interval[0] <= 0 <= r.interval[1] for r in found) / RUNS
    assert max(false, missed) <= MOST_FALSE
    assert sum(r.reliable for r in found) / RUNS > 0.95


def test_intervals_cover_true_differences_and_are_not_all_that_is_possible():
    rng = np.random.default_rng(2)
    found = [compare_rates(rates(rng, (0.3, 0.5), (800, 800), 5), 5, 0.95, AB, "x") for _ in range(RUNS)]

    covered = sum(r.interval[0] <= 0.2 <= r.interval[1] for r in found) / RUNS
    assert 1 - MOST_FALSE <= covered <= 0.99
    assert np.mean([r.interval[1] - r.interval[0] for r in found]) < 0.15
    assert sum(r.pvalue <= 0.05 for r in found) / RUNS > 0.95


def test_forgetting_the_noise_is_noticed():
    """What the checks above would say if the noise of the release were left out of the error."""
    rng = np.random.default_rng(3)
    found = [compare_rates(rates(rng, (0.1, 0.1), (300, 300), 20), 1e-9, 0.95, AB, "x") for _ in range(RUNS)]

    assert sum(r.pvalue <= 0.05 for r in found) / RUNS > 2 * MOST_FALSE


@pytest.mark.parametrize(
    ("n", "scales"), [((500, 500), (1, 1, 1)), ((400, 2000), (20, 20, 20)), ((200, 200), (3, 9, 9))]
)
def test_means_have_nominal_coverage_and_false_positives(n, scales):
    rng = np.random.default_rng(4)
    found = [compare_means(means(rng, (0.2, 0.2), n, scales), list(scales), 0.95, AB, "x") for _ in range(RUNS)]

    false = sum(r.pvalue <= 0.05 for r in found) / RUNS
    missed = sum(not r.interval[0] <= 0 <= r.interval[1] for r in found) / RUNS
    assert max(false, missed) <= MOST_FALSE


def test_means_that_differ_are_found():
    rng = np.random.default_rng(5)
    found = [
        compare_means(means(rng, (0.0, 0.1), (800, 800), (3, 3, 3)), [3, 3, 3], 0.95, AB, "x") for _ in range(RUNS)
    ]

    assert sum(r.pvalue <= 0.05 for r in found) / RUNS > 0.95
    assert sum(r.interval[0] <= 0.1 <= r.interval[1] for r in found) / RUNS >= 1 - MOST_FALSE


def tables(rng, p, n, scale):
    return rng.multinomial(n, p.ravel()).reshape(p.shape) + rng.laplace(0, scale, p.shape)


@pytest.mark.parametrize(("n", "scale"), [(1000, 1), (1500, 20), (5000, 50)])
def test_independence_has_a_nominal_false_positive_rate(n, scale):
    rng = np.random.default_rng(6)
    p = np.outer([0.3, 0.7], [0.2, 0.3, 0.5])
    found = [independence(tables(rng, p, n, scale), scale) for _ in range(RUNS)]

    assert sum(r.pvalue <= 0.05 for r in found) / RUNS <= MOST_FALSE
    assert sum(r.reliable for r in found) / RUNS > 0.9


def test_dependence_is_found_and_forgetting_the_noise_would_find_it_everywhere():
    rng = np.random.default_rng(7)
    p = np.array([[0.3, 0.1], [0.2, 0.4]])
    assert sum(independence(tables(rng, p, 1000, 5), 5).pvalue <= 0.05 for _ in range(100)) > 95
    q = np.outer([0.3, 0.7], [0.4, 0.6])
    forgot = [independence(tables(rng, q, 1500, 20), 1e-9) for _ in range(100)]
    assert sum(r.pvalue <= 0.05 for r in forgot) > 20


def test_too_few_rows_are_said_to_be_too_few():
    few = compare_rates([[3, 2], [2, 4]], 10, 0.95, AB, "x")
    assert not few.reliable and few.pvalue == 1 and few.interval == (-1, 1)
    assert "unreliable" in repr(few)
    assert independence(np.ones((2, 2)), 10).pvalue == 1


# -- through the jail

SCHEMA = {
    "group": {"type": "category", "categories": ["control", "new"]},
    "bought": {"type": "boolean"},
    "spent": {"type": "Float64", "range": [0, 100]},
}


@pytest.fixture
def shop(request):
    rng = np.random.default_rng(8)
    new = np.arange(3000) % 2 == 1
    frame = pandas.DataFrame({"group": np.where(new, "new", "control"), "bought": rng.random(3000) < 0.2 + 0.1 * new,
                              "spent": np.clip(rng.normal(30 + 5 * new, 10), 0, 100)})  # fmt: skip
    return pd.from_frame(frame, request.node.name, SCHEMA, budget=3)


def test_an_ab_test_through_the_jail(shop, request):
    found = stats.ab_test(shop, "bought", by="group", eps=1)

    assert found.pvalue < 0.01 and found.interval[0] < 0.1 < found.interval[1]
    assert "rate of bought: new less control" in repr(found)
    assert pj.budget_left()[request.node.name] == 2


def test_a_t_test_through_the_jail(shop, request):
    found = stats.ttest(shop, "spent", by="group", eps=1)

    assert found.pvalue < 0.01 and found.interval[0] < 5 < found.interval[1]
    assert found.means[0] == pytest.approx(30, abs=2)
    assert pj.budget_left()[request.node.name] == pytest.approx(2)


def test_a_chi_square_test_through_the_jail(shop, request):
    assert stats.chi2_test(shop, "group", "bought", eps=1).pvalue < 0.01
    assert pj.budget_left()[request.node.name] == 2


def test_mistakes_cost_nothing(shop, request):
    with pytest.raises(PlanError, match="true/false"):
        stats.ab_test(shop, "spent", by="group", eps=1)
    with pytest.raises(PlanError, match="two groups"):
        stats.ttest(shop, "spent", by="group", eps=1, groups=("control",))
    with pytest.raises(PlanError, match="confidence"):
        stats.ttest(shop, "spent", by="group", eps=1, confidence=2)
    assert pj.budget_left()[request.node.name] == 3
