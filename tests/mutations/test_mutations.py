"""Rules broken on purpose: each must turn a test red."""

from __future__ import annotations

import pytest

from . import blocks, domains, rows, samples, values
from .breaking import broken, caught

MUTATIONS = [*rows.MUTATIONS, *domains.MUTATIONS, *values.MUTATIONS, *samples.MUTATIONS, *blocks.MUTATIONS]
CHECKS = [
    *blocks.CHECKS,
    samples.one_sample,
    samples.twice,
    samples.beside_its_table,
    rows.both_ends,
    rows.order,
    domains.division_by_zero,
    domains.overflow,
    domains.rounding,
    values.constant_sum,
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_wrong_rule_is_caught(mutation):
    with broken(mutation.wrong):
        assert caught(mutation.check)


@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_pass_with_the_right_rules(check):
    with broken({}):
        check()


def test_the_list_is_long_and_each_mutation_has_its_name():
    assert len(MUTATIONS) >= 20
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)
