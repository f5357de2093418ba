"""Wrong domains of columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import polars as pl

from privjail.ops.columns.carried import Constant
from privjail.plan.domain import BoolDomain, FloatDomain, IntDomain, TimeDomain
from privjail.plan.node import Lit
from tests.ops import (
    test_arithmetic,
    test_carried,
    test_cast,
    test_clip,
    test_compare,
    test_cut,
    test_function,
    test_isin,
    test_logic,
    test_norms,
    test_datetime_part,
    test_recode,
    test_text,
    test_where,
)

from .breaking import (
    Mutation,
    always,
    derived,
    nowhere,
    result,
    sloppy_bounds,
    wrapping,
)


def injected_nan() -> None:
    test_carried.test_nan_infinity_and_overlong_numbers_are_no_constants()


def division_by_zero() -> None:
    test_arithmetic.check_row_wise(
        test_arithmetic.Arithmetic("/", Constant(Lit.of(0.0)), test_arithmetic.PAIRS.column("y")),
        test_arithmetic.PAIRS.pairs(1),
    )


def overflow() -> None:
    world = test_arithmetic.World((("x", IntDomain(False, 0, 2**62)), ("y", IntDomain(False, 0, 2**62))), ())
    data = ((2**62, 2**62),)
    for op in ("+", "*"):
        test_arithmetic.check_row_wise(test_arithmetic.apply(op, world), [((), data)])
        assert test_arithmetic.table(world.source, (test_arithmetic.apply(op, world),), data) == ((None,),)


def rounding() -> None:
    world = test_function.World((("x", FloatDomain(False, 0.0, 1.06)),), ())
    test_function.check_row_wise(test_function.Function("round", world.column("x"), 1), [((), ((1.06,),))])


MUTATIONS = [
    # domains
    Mutation(
        "floor division only at the corners",
        {"ops.columns.arithmetic:exact_bounds": sloppy_bounds},
        lambda: test_arithmetic.test_the_bounds_are_reached("//", (-7, 7), (-2, 3), -7, 7),
    ),
    Mutation(
        "a remainder is never negative",
        {"ops.columns.arithmetic:exact_bounds": result(lambda b, op, *_: (0, b[1]) if op == "%" else b)},
        test_arithmetic.test_arithmetic_in_the_small_world,
    ),
    Mutation(
        "x / 0 is no null",
        {"ops.columns.arithmetic:result_domain": result(lambda d, *_: d.with_nulls(False))},
        division_by_zero,
    ),
    Mutation("64 bits wrap around", {"ops.columns.arithmetic:Arithmetic._whole": wrapping}, overflow),
    Mutation(
        "NaN and infinities stay", {"ops.columns.arithmetic:finite": always(lambda column: column)}, division_by_zero
    ),
    Mutation(
        "a product takes the first corner only",
        {
            "ops.columns.arithmetic:exact_bounds": result(
                lambda b, op, x, y: (x.lower * y.lower, b[1]) if op == "*" else b
            )
        },
        test_arithmetic.test_arithmetic_in_the_small_world,
    ),
    Mutation(
        "|x| is at least the smaller bound",
        {
            "ops.columns.function:_result": result(
                lambda d, f, x, _: replace(d, lower=min(abs(x.lower), abs(x.upper))) if f == "abs" else d
            )
        },
        lambda: test_function.test_the_bounds_are_reached("abs", (-3, 2, 0), 0, 3),
    ),
    Mutation(
        "round keeps the bounds",
        {"ops.columns.function:_result": result(lambda d, f, x, _: x if f == "round" else d)},
        rounding,
    ),
    Mutation(
        "√ of a negative number is no null",
        {"ops.columns.function:_result": result(lambda d, *_: d.with_nulls(False))},
        test_function.test_functions_in_the_small_world,
    ),
    Mutation(
        "clip leaves the values as they are",
        {"ops.columns.clip:Clip.polars": always(lambda self, column: column)},
        test_clip.test_the_bounds_are_reached,
    ),
    Mutation(
        "a cast rounds down",
        {
            "ops.columns.cast:Cast.polars": lambda right: (
                lambda s, c: (
                    c.floor().cast(pl.Int64())
                    if s.to == "Int64" and isinstance(s.a.domain, FloatDomain)
                    else right(s, c)
                )
            )
        },
        test_cast.test_casts_in_the_small_world,
    ),
    Mutation(
        "all texts are numbers",
        {"ops.columns.cast:Cast.__post_init__": derived(nowhere)},
        test_cast.test_casts_in_the_small_world,
    ),
    Mutation(
        "a cast to another width",
        {"ops.columns.cast:Cast.polars": result(lambda c, *_: c.cast(pl.Float32()) if _[0].to == "Float64" else c)},
        test_cast.test_the_bounds_are_reached,
    ),
    Mutation(
        "a text without a match is no null",
        {"ops.columns.text:Text.__post_init__": derived(nowhere)},
        test_text.test_a_part_or_match_that_is_not_there_is_null,
    ),
    Mutation(
        "joined texts are never null",
        {"ops.columns.text:Concat.__post_init__": derived(nowhere)},
        test_text.test_joined_texts_can_be_null,
    ),
    Mutation(
        "a dot is everything",
        {"ops.columns.pattern:Tree.spelled": always(lambda self, dialect, extract: "." if dialect == "rust" else "a")},
        test_text.test_a_part_or_match_that_is_not_there_is_null,
    ),
    Mutation(
        "a moment is a number of seconds",
        {
            "ops.columns.cast:Cast.polars": lambda right: (
                lambda s, c: right(s, c) // 10**6 if isinstance(s.a.domain, TimeDomain) else right(s, c)
            )
        },
        test_cast.test_the_bounds_are_reached,
    ),
    Mutation(
        "a remainder by the engine's own operator",
        {
            "ops.columns.arithmetic:_remainders": always(
                lambda both: both.struct.field("a") - both.struct.field("b") * 2.0
            )
        },
        test_arithmetic.test_the_remainder_of_a_tiny_negative_number_is_the_divisor_itself,
    ),
    Mutation(
        "an infinite edge is like any other",
        {"ops.columns.cut:Cut._inside": always(lambda self, x: True)},
        test_cut.test_infinite_edges_leave_nothing_outside,
    ),
    Mutation(
        "codes of another list of categories",
        {"ops.columns.cast:Categorise.polars": always(lambda self, column: column)},
        test_cast.test_every_label_occurs,
    ),
    Mutation(
        "a constant does not widen a range",
        {"ops.columns.where:join": always(lambda a, b: a if type(a) is type(b) else b)},
        test_where.test_the_bounds_are_reached,
    ),
    Mutation(
        "fillna always fills",
        {"ops.columns.where:FillNull.__post_init__": derived(nowhere)},
        lambda: test_where.check_row_wise(
            test_where.FillNull(test_where.CHOICE.column("x"), test_where.CHOICE.column("x")),
            test_where.CHOICE.pairs(2),
        ),
    ),
    Mutation(
        "mask makes no nulls",
        {"ops.columns.where:NullWhere.__post_init__": derived(nowhere)},
        test_where.test_choices_in_the_small_world,
    ),
    Mutation(
        "joined categories keep their old codes",
        {"ops.columns.where:recoded": always(lambda column, old, new: column)},
        test_where.test_the_bounds_are_reached,
    ),
    Mutation(
        "map knows all values",
        {"ops.columns.recode:Recode.__post_init__": derived(nowhere)},
        test_recode.test_dictionaries_in_the_small_world,
    ),
    Mutation(
        "merged labels keep their old codes",
        {"ops.columns.recode:_held": always(lambda value, domain: 1 if isinstance(value, str) else value)},
        test_recode.test_labels_that_merge_or_vanish_keep_their_positions,
    ),
    Mutation(
        "the other edge is included",
        {
            "ops.columns.cut:Cut._codes": lambda right: (
                lambda s, c: right(
                    type("Turned", (), {"edges": s.edges, "right": not s.right, "lowest": s.lowest})(), c
                )
            )
        },
        test_cut.test_every_interval_occurs_and_only_where_it_can_a_null,
    ),
    Mutation(
        "every number is in an interval",
        {"ops.columns.cut:Cut._inside": always(lambda self, x: True)},
        test_cut.test_a_whole_number_beside_an_edge_is_where_its_float_is,
    ),
    Mutation(
        "intervals found in the data",
        {"ops.columns.cut:Cut.polars": always(lambda s, c: c.rank("dense").cast(pl.Int32()) - 1)},
        test_cut.test_cuts_in_the_small_world,
    ),
    Mutation(
        "Sunday is day 7",
        {"ops.columns.datetime_part:Part.polars": result(lambda c, s, *_: c + 1 if s.part == "dayofweek" else c)},
        lambda: test_datetime_part.check_row_wise(
            test_datetime_part.Part("dayofweek", test_datetime_part.MOMENTS.column("x")),
            [((), ((datetime(2024, 12, 29),),))],
        ),
    ),
    Mutation(
        "years since 1970",
        {
            "ops.columns.datetime_part:Part.__post_init__": derived(
                lambda s: {"domain": IntDomain(True, 1970, 2024) if s.part == "year" else s.domain}
            )
        },
        test_datetime_part.test_parts_in_the_small_world,
    ),
    Mutation(
        "isin is null for a missing value",
        {"ops.columns.isin:IsIn.polars": result(lambda c, s, x: pl.when(x.is_not_null()).then(c))},
        test_isin.test_membership_in_the_small_world,
    ),
    Mutation(
        "a comparison is never null",
        {"ops.columns.compare:Compare.__post_init__": derived(lambda s: {"domain": BoolDomain(False)})},
        test_compare.test_comparisons_in_the_small_world,
    ),
    Mutation(
        "whole numbers compare as floats",
        {
            "ops.columns.compare:Compare.polars": lambda right: (
                lambda s, *c: (
                    (c[0].cast(pl.Float64()) == s.b.value)
                    if isinstance(s.b, Lit) and isinstance(s.a.domain, IntDomain)
                    else right(s, *c)
                )
            )
        },
        test_compare.test_a_large_whole_number_equals_itself_only,
    ),
    Mutation(
        "logic is never null",
        {"ops.columns.logic:Logic.__post_init__": derived(nowhere)},
        test_logic.test_logic_in_the_small_world,
    ),
    Mutation(
        "lengths of bytes",
        {"ops.columns.text:Text.polars": lambda right: lambda s, c: c.str.len_bytes() if s.f == "len" else right(s, c)},
        lambda: test_text.test_text_functions_in_the_small_world("polars"),
    ),
    Mutation(
        "a row is scaled to a longer one",
        {"ops.columns.norms:RowScale.aimed": always(property(lambda s: s.bound.value * (1 + 2.0**-39)))},
        lambda: test_norms.check_scaled_to_the_bound((3.0, 4.0), 1.0),
    ),
    Mutation(
        "truncation rounds to the nearest step",
        {
            "ops.columns.norms:Truncate.polars": always(lambda s, c: (c / s.grid).round() * s.grid),
            "ops.columns.norms:Truncate.python": always(lambda s, x: round(x / s.grid) * s.grid),
        },
        test_norms.test_truncation_moves_by_almost_a_step,
    ),
    Mutation(
        "a weighted sum is as large as its first column",
        {"ops.columns.norms:Dot._range": always(lambda s, nullable: FloatDomain(nullable, -6.0, 8.0))},
        test_norms.test_a_weighted_sum_reaches_both_ends,
    ),
    Mutation(
        "NaN is a constant",
        {"ops.columns.carried:domain_of": always(lambda value: FloatDomain(False, 0.0, 0.0))},
        injected_nan,
    ),
]
