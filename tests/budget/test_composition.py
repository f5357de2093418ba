"""What programs cost: the figure of the paper (§5), groups in every way to reach them, tables that can change twice."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas
import pytest

import privjail as pj
from privjail.pandas import from_frame

from .people import SCHEMA, TENTH, People


def _reveal(*numbers: Any, eps: float = 0.1) -> None:
    for x in numbers:
        x.reveal(eps=eps)


def test_the_figure_of_the_paper() -> None:
    """000 §5, figure 3: n1 unsplit, n2 and n3 in one group each, n4 in two, n5 from an unsplit and a split table."""
    people = People()
    df = people.df
    groups = dict(df.groupby("region"))
    n1, n2, n3 = df.shape[0], groups["a"].shape[0], groups["b"].shape[0]
    n4 = groups["b"].shape[0] + groups["c"].shape[0]
    n5 = df.shape[0] + groups["a"].shape[0]
    _reveal(n1)
    assert people.cost() == TENTH
    _reveal(n2)
    assert people.cost() == 2 * TENTH
    _reveal(n3)
    assert people.cost() == 2 * TENTH  # beside n2
    _reveal(n4)
    assert people.cost() == 3 * TENTH  # b: n3 and n4
    n2.reveal(eps=0.1)
    assert people.cost() == 3 * TENTH  # a: n2 twice, as much as b
    _reveal(n5)
    assert people.cost() == 4 * TENTH  # at the root, not in a
    n3.reveal(eps=0.1)
    assert people.cost() == 5 * TENTH


@pytest.mark.parametrize("way", ["sums of counts", "isin", "or", "unequal", "elements", "separate groupbys"])
def test_three_unions_of_two_groups_cost_two(way: str) -> None:
    """D1∪D2, D2∪D3, D3∪D1 at ε each: 2ε (000 §5 and appendix B; V-41)."""
    people = People()
    df = people.df
    for first, second, third in ("abc", "bca", "cab"):
        match way:
            case "sums of counts":
                n = df[df.region == first].shape[0] + df[df.region == second].shape[0]
            case "isin":
                n = df[df.region.isin([first, second])].shape[0]
            case "or":
                n = df[(df.region == first) | (df.region == second)].shape[0]
            case "unequal":
                n = df[df.region.fillna("a") != third].shape[0]
            case "elements":
                counts = df.region.value_counts(sort=False)
                n = counts[first] + counts[second]
            case _:
                n = df.groupby("region").get_group(first).shape[0] + dict(df.groupby("region"))[second].shape[0]
        n.reveal(eps=0.1)
    assert people.cost() == 2 * TENTH


def test_a_missing_value_is_unequal_to_every_group_and_pays_each_time() -> None:
    """As in pandas: rows without a region are in all three of the unions."""
    people = People()
    for third in "abc":
        people.df[people.df.region != third].shape[0].reveal(eps=0.1)
    assert people.cost() == 3 * TENTH


def test_groups_that_exclude_each_other_cost_the_largest() -> None:
    people = People()
    df = people.df
    df[df.sex == "F"].shape[0].reveal(eps=0.1)
    df[df.sex == "M"].shape[0].reveal(eps=0.2)
    assert people.cost() == 2 * TENTH
    df[df.sex != "F"].income.sum().reveal(eps=0.1)  # M again
    assert people.cost() == 3 * TENTH
    dict(df.groupby("sex"))["F"].shape[0].reveal(eps=0.2)
    assert people.cost() == 3 * TENTH
    df[df.region == "a"].shape[0].reveal(eps=0.1)  # another partition: it may be the same row
    assert people.cost() == 4 * TENTH
    assert people.reported() == 0.4


def test_a_condition_and_its_complement_exclude_each_other() -> None:
    people = People()
    df = people.df
    _reveal(df[df.age > 40].shape[0], df[df.age <= 40].shape[0])
    assert people.cost() == TENTH
    _reveal(df[~(df.age > 40)].shape[0])
    assert people.cost() == 2 * TENTH
    _reveal(df[df.age > 41].shape[0])  # overlaps: another partition
    assert people.cost() == 3 * TENTH


def test_groups_inside_groups() -> None:
    people = People()
    df = people.df
    for _, women in df.groupby("sex"):
        for _, few in women.groupby("region"):
            few.shape[0].reveal(eps=0.1)
        women[women.age > 40].shape[0].reveal(eps=0.1)
        women[women.age <= 40].shape[0].reveal(eps=0.1)
    assert people.cost() == 2 * TENTH  # in each sex: one region, one side of 40


def test_overlapping_parts_of_different_depth_are_charged_above_both_v41() -> None:
    """V-41: an expression over a group and a group of it is charged at the upper one, once."""
    people = People()
    df = people.df
    women = df[df.sex == "F"]
    (women.shape[0] + women[women.region == "a"].shape[0]).reveal(eps=0.1)
    assert people.cost() == TENTH
    women[women.region == "b"].shape[0].reveal(eps=0.1)
    assert people.cost() == 2 * TENTH
    (women[women.age > 40].shape[0] + women[women.region == "a"].shape[0]).reveal(eps=0.1)  # two partitions: at women
    assert people.cost() == 3 * TENTH
    df[df.sex == "M"].shape[0].reveal(eps=0.3)
    assert people.cost() == 3 * TENTH


def test_a_whole_vector_of_groups_costs_once() -> None:
    people = People()
    people.df.region.value_counts(sort=False).reveal(eps=0.1)
    assert people.cost() == TENTH


def test_exact_arithmetic() -> None:
    people = People(budget=1)
    for _ in range(10):
        people.df.shape[0].reveal(eps=0.1)
    assert people.cost() == 1 and people.reported() == 1.0
    with pytest.raises(pj.BudgetExceeded):
        people.df.shape[0].reveal(eps=1e-9)
    twelve = People(budget=1)
    for _ in range(12):
        twelve.df.shape[0].reveal(eps=1 / 12)
    assert twelve.cost() == 1


def test_a_table_that_can_change_twice_keeps_the_rule_for_proportional_losses() -> None:
    """After head one row comes and one goes, maybe in two groups. Laplace at half the distance costs half."""
    people = People()
    first = people.df.head(6)
    for _, group in first.groupby("region"):
        assert group.shape[0].distance.value == 2
        group.shape[0].reveal(eps=0.1)
    assert people.cost() == TENTH


def test_gaussian_noise_under_epsilon_and_delta_is_charged_above_groups_that_can_change_together() -> None:
    people = People(budget=pj.ApproxDP(10, 0.1))
    for _, group in people.df.groupby("region"):  # one row is in one group: side by side
        group.shape[0].reveal(eps=0.1, delta=1e-6)
    assert people.cost() == (TENTH, Fraction(1, 10**6))
    for _, group in people.df.head(6).groupby("region"):  # two rows, maybe in two groups: one after another
        group.shape[0].reveal(eps=0.1, delta=1e-6)
    assert people.cost() == (4 * TENTH, Fraction(4, 10**6))
    for _, group in people.df.head(6).groupby("sex"):  # Laplace beside it is proportional
        group.shape[0].reveal(eps=0.1)
    assert people.cost() == (5 * TENTH, Fraction(4, 10**6))


def test_such_a_charge_stays_inside_the_groups_above_the_head() -> None:
    people = People(budget=pj.ApproxDP(10, 0.1))
    for _, women in people.df.groupby("sex"):
        for _, group in women.head(3).groupby("region"):
            group.shape[0].reveal(eps=0.1, delta=1e-6)
    assert people.cost() == (3 * TENTH, Fraction(3, 10**6))  # three regions, but not times two sexes


def test_gaussian_noise_under_rho_is_proportional_enough() -> None:
    people = People(budget=pj.ZCDP(10))
    for _, group in people.df.head(6).groupby("region"):
        group.shape[0].reveal(rho=0.1)
    assert people.cost() == TENTH


def test_rows_of_one_user_in_several_groups() -> None:
    people = People(budget=pj.ApproxDP(10, 0.1), unit="who", max_rows_per_unit=4)
    for _, group in people.df.groupby("region"):
        assert group.shape[0].distance.value == 4
        group.shape[0].reveal(eps=0.1)
    assert people.cost() == (TENTH, 0)
    for _, group in people.df.groupby("region"):
        group.shape[0].reveal(eps=0.1, delta=1e-6)
    assert people.cost() == (4 * TENTH, Fraction(3, 10**6))


def test_one_row_of_each_user_is_in_one_group() -> None:
    people = People(budget=pj.ApproxDP(10, 0.1), unit="who")
    once = people.df.groupby("who").head(1)
    for _, group in once.groupby("region"):
        assert group.shape[0].distance.value == 1
        group.shape[0].reveal(eps=0.1, delta=1e-6)
    assert people.cost() == (TENTH, Fraction(1, 10**6))


def test_a_bound_that_comes_from_the_size_of_a_slice_is_charged_whole() -> None:
    """A user with any number of rows: head(3) is at most 3 rows in and 3 out, whichever groups they fall in."""
    people = People(unit="who")
    few = people.df.head(3)
    assert few.max_distance == 6 and few.shape[0].distance.value == 3
    for _, group in few.groupby("region"):
        group.shape[0].reveal(eps=0.1)
    assert people.cost() == 3 * TENTH
    counts = few.region.value_counts(sort=False)
    counts.reveal(eps=0.1)
    assert people.cost() == 4 * TENTH
    counts["a"].reveal(eps=0.1)
    counts["b"].reveal(eps=0.1)
    assert people.cost() == 6 * TENTH


def test_several_data_sets_are_charged_each() -> None:
    left, right = People(), People()
    (left.df.shape[0] + right.df.shape[0]).reveal(eps=0.1)
    assert left.cost() == right.cost() == TENTH
    poor = People(budget=0.05)
    with pytest.raises(pj.BudgetExceeded):
        (left.df.shape[0] + poor.df.shape[0]).reveal(eps=0.1)
    assert left.cost() == TENTH and poor.cost() == 0


def test_sub_limits_inside_each_other() -> None:
    people, other = People(budget=1), People()
    n = people.df.shape[0]
    with pj.budget(0.3):
        n.reveal(eps=0.1)
        with pj.budget(0.15, people.name):
            n.reveal(eps=0.1)
            with pytest.raises(pj.BudgetExceeded):
                n.reveal(eps=0.1)
            other.df.shape[0].reveal(eps=0.3)
        n.reveal(eps=0.1)
        with pytest.raises(pj.BudgetExceeded):
            n.reveal(eps=0.1)
    n.reveal(eps=0.7)
    assert people.cost() == 1
    with pytest.raises(pj.BudgetExceeded):
        n.reveal(eps=0.1)
    assert people.cost() == 1


def test_noise_on_a_coarser_grid_is_charged_above_groups_that_can_change_together() -> None:
    """Rounding to a coarser grid moves each group by a step however little it changed: see test_grids.py."""
    people = People()
    for _, group in people.df.head(6).groupby("region"):
        group.income.sum().reveal(eps=1e-7)
    assert people.cost() == Fraction(3, 10**7)
    again = People()
    for _, group in again.df.groupby("region"):
        group.income.sum().reveal(eps=1e-7)
    assert again.cost() == Fraction(1, 10**7)


def test_groups_of_a_wide_table_without_missing_values_exclude_each_other() -> None:
    """dropna() is one partition, however many columns it looks at: cells have a greatest depth."""
    columns = [f"x{i}" for i in range(70)]
    schema = {name: {"type": "Int64", "range": [0, 9]} for name in columns} | {"sex": SCHEMA["sex"]}
    wide = from_frame(pandas.DataFrame({name: [1] for name in columns} | {"sex": ["F"]}), "a wide table", schema)
    complete = wide.dropna()
    _reveal(*(group.shape[0] for _, group in complete.groupby("sex")))
    assert pj.consumed_privacy_budget()["a wide table"] == 0.1


def test_what_dropna_excludes() -> None:
    """Its complement as a whole; of one column, also the rows in which that column is missing."""
    one, all_ = People(), People()
    _reveal(one.df.dropna(subset=["age"]).shape[0], one.df[one.df["age"].isna()].shape[0])
    _reveal(all_.df.dropna().shape[0], all_.df[all_.df["age"].isna()].shape[0])
    assert one.cost() == TENTH and all_.cost() == 2 * TENTH
