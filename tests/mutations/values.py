"""Wrong distances of private numbers, and a wrong engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privjail.plan.distance import Distance
from privjail.plan.value import PerElement
from tests.laws import test_programs
from tests.ops import (
    test_carried,
    test_distinct,
    test_key_counts,
    test_combine,
    test_quantile_scores,
    test_tally,
    test_vector_sum,
)

from . import rows
from .breaking import (
    Mutation,
    always,
    derived,
    half,
    result,
    running_sum,
)


def constant_sum() -> None:
    test_carried.test_the_sum_of_a_constant_moves_by_it()


MUTATIONS = [
    # private numbers
    Mutation(
        "a sum moves by its upper bound",
        {"ops.numbers.tally:Tally._reach": result(lambda reach, *_: (reach[1], *reach[1:]))},
        lambda: test_tally.test_a_sum_reaches_the_larger_bound(-7, 5),
    ),
    Mutation(
        "amounts beyond the bounds",
        {"ops.numbers.tally:grid_bounds": result(lambda b, *_: (b[0] - 1, b[1] + 1))},
        constant_sum,
    ),
    Mutation(
        "a grid so fine that sums are rounded",
        {"ops.numbers.tally:SUM_BITS": always(60)},
        test_tally.test_sums_of_the_largest_amounts_are_exact,
    ),
    Mutation(
        "a running sum of floats",
        {
            "engines.polars.engine:PolarsEngine._count": running_sum,
            "ops.numbers.tally:sum_grid": always(lambda d: Fraction(1)),
        },
        test_tally.test_a_sum_does_not_depend_on_the_order_of_rows,
    ),
    Mutation(
        "a count moves by half a row",
        {"ops.numbers.tally:Tally.__post_init__": derived(half)},
        test_tally.test_the_claims_are_reached,
    ),
    Mutation(
        "groups of a head share one edit",
        {
            "ops.numbers.tally:Tally.__post_init__": derived(
                lambda s: (
                    {"joint": PerElement((Distance(1), *(Distance(),) * (s.joint.size - 1)))}
                    if s.rows.edits > 1
                    else {}
                )
            )
        },
        test_tally.test_the_claims_are_reached,
    ),
    Mutation(
        "a sum moves by what comes in",
        {"plan.rows:Rows.moved": always(property(lambda s: (s.lineage.inserted, 0)))},
        test_tally.test_sums_of_heads_in_the_small_world,
    ),
    Mutation(
        "a vector of one user moves in one direction whatever the signs",
        {"ops.numbers.tally:Tally.derive": result(lambda facts, *_: facts._replace(monotone=True))},
        test_tally.test_sums_of_heads_in_the_small_world,
    ),
    Mutation(
        "nunique moves by half a label",
        {"ops.numbers.distinct:Distinct.__post_init__": derived(half)},
        test_distinct.test_distinct_values_in_the_small_world,
    ),
    Mutation(
        "a person moves one key, however many she has",
        {
            "ops.numbers.key_counts:KeyCounts.derive": result(
                lambda facts, *_: facts._replace(joint=replace(facts.joint, whole=facts.joint.net))
            )
        },
        test_key_counts.test_all_small_tables,
    ),
    Mutation(
        "a person counts in a key with each of her rows",
        {
            "ops.numbers.key_counts:KeyCounts.polars": always(
                lambda s, keys, persons: list(Counter(x for x in keys.to_list() if x is not None).items())
            )
        },
        test_key_counts.test_all_small_tables,
    ),
    Mutation(
        "ranks move by the smaller weight",
        {"plan.rows:Rows.sum_distance": lambda right: lambda s, low, high: right(s, *[min(low, high, key=abs)] * 2)},
        test_quantile_scores.test_ranks_in_the_small_world,
    ),
    Mutation(
        "scaling keeps the distance",
        {"ops.numbers.combine:_scaled": always(lambda joint, size: joint)},
        test_combine.test_numbers_in_the_small_world,
    ),
    Mutation(
        "a sum moves like its first part",
        {"ops.numbers.combine:_added": always(lambda a, b: a)},
        test_combine.test_the_claims_are_reached,
    ),
    Mutation(
        "a stack moves like its first element",
        {
            "ops.numbers.combine:Stack.__post_init__": derived(
                lambda s: {"joint": PerElement((s.joint.at(0), *(Distance(),) * (s.joint.size - 1)))}
            )
        },
        test_combine.test_the_claims_are_reached,
    ),
    Mutation(
        "a total moves like its largest element",
        {"ops.numbers.combine:Total.__post_init__": derived(lambda s: {"joint": PerElement((s.a.joint.at(0),))})},
        test_combine.test_the_claims_are_reached,
    ),
    Mutation(
        "everything is monotone",
        {
            "ops.numbers.combine:Add.__post_init__": derived(lambda s: {"monotone": True}),
            "ops.numbers.tally:Tally.__post_init__": derived(lambda s: {"monotone": True}),
        },
        test_combine.test_numbers_in_the_small_world,
    ),
    Mutation(
        "rows are rounded to the nearest step",
        {"ops.numbers.vector_sum:on_grid": always(lambda column: True)},
        test_vector_sum.test_a_bound_is_not_claimed_for_columns_that_do_not_have_it,
    ),
    Mutation(
        "a column counts once, however often it is there",
        {"ops.numbers.vector_sum:Counter": always(set)},
        lambda: test_vector_sum.test_vector_sums_in_the_small_world(),
    ),
    Mutation(
        "a sum of blocks is as long as the longest",
        {"ops.numbers.vector_sum:added": always(lambda blocks: max(blocks))},
        test_vector_sum.test_vector_sums_in_the_small_world,
    ),
    Mutation(
        "two edits move a vector like one",
        {"plan.value:RowVectors._times": always(lambda self, norm: norm)},
        lambda: test_vector_sum.check_value(
            test_vector_sum.VectorSum(
                test_vector_sum.TWO_EACH.source,
                tuple(test_vector_sum.clipped([test_vector_sum.TWO_EACH.column("x")], 1.0)),
            ),
            [((), (("ann", 1), ("ann", 1)))],
            test_vector_sum.TWO_EACH.source,
        ),
    ),
    # the engine
    Mutation(
        "a missing key is the first one",
        {
            "engines.polars.engine:PolarsEngine._codes": lambda right: (
                lambda s, rows, by: np.where((c := right(s, rows, by)) == len(by.domain.labels), 0, c)
            )
        },
        test_programs.check_some_programs,
    ),
    Mutation(
        "groups forget the order of rows",
        {"engines.polars.engine:PolarsEngine._groups": result(lambda groups, *_: [g[::-1] for g in groups])},
        rows.order,
    ),
    Mutation(
        "a slice counts from one",
        {
            "ops.rows.slice:Slice.polars": always(
                lambda s, frame: frame[slice(None if s.start is None else s.start + 1, s.stop)]
            )
        },
        test_programs.check_some_programs,
    ),
]
