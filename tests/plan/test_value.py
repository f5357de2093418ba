"""How far vectors move as a whole: what is not bounded in one element is not bounded at all."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.plan.distance import UNBOUNDED, Distance
from privjail.plan.value import Joint, Listed, Shared, Together, common_grid


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("others", [Distance(), Distance(1), Distance(Fraction(7, 2))])
def test_one_element_without_a_bound_leaves_the_vector_without_one(at: int, others: Distance) -> None:
    """V-11: the largest of the known ones is no bound for the unknown one."""
    joint = Listed(tuple(UNBOUNDED if i == at else others for i in range(3)))

    assert joint.linf is joint.l1 is joint.l2 is None
    assert joint.sum().value is joint.peak().value is None
    assert [joint.at(i).value for i in range(3)] == [None if i == at else others.value for i in range(3)]


def test_a_single_element_without_a_bound() -> None:
    for joint in (Listed((UNBOUNDED,)), Together(2, UNBOUNDED), Shared(2, UNBOUNDED, lambda i: UNBOUNDED)):
        assert joint.linf is joint.l1 is joint.l2 is None
        assert joint.sum().value is joint.peak().value is joint.at(0).value is None


@pytest.mark.parametrize(
    "joint, l1, l2, linf",
    [
        (Listed(()), 0, 0, 0),
        (Listed((Distance(3), Distance(4))), 7, 5, 4),
        (Listed((Distance(4), Distance(3))), 7, 5, 4),
        (Listed((Distance(), Distance(2))), 2, 2, 2),
        (Together(4, Distance(3)), 12, 6, 3),
        (Together(0, Distance(3)), 0, 0, 3),
        (Shared(4, Distance(3), lambda i: Distance(1)), 3, 3, 3),
    ],
)
def test_norms(joint: Joint, l1: int, l2: int, linf: int) -> None:
    assert (joint.l1, joint.linf) == (l1, linf)
    assert joint.l2 is not None and l2 <= joint.l2 <= l2 * (1 + 2**-20)
    assert (joint.sum().value, joint.peak().value) == (l1, linf)


@pytest.mark.parametrize(
    "grids, common",
    [
        ([Fraction(1), Fraction(1)], Fraction(1)),
        ([Fraction(1, 2), Fraction(1, 3)], Fraction(1, 6)),
        ([Fraction(3, 2), Fraction(1)], Fraction(1, 2)),
        ([Fraction(4), Fraction(6)], Fraction(2)),
        ([Fraction(2, 3), Fraction(2, 3), Fraction(4, 3)], Fraction(2, 3)),
    ],
)
def test_every_grid_lies_on_the_common_one_and_no_coarser_one_has_all(grids: list[Fraction], common: Fraction) -> None:
    assert common_grid(grids) == common
    assert all((g / common).denominator == 1 for g in grids)
