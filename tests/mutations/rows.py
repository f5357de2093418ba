"""Wrong rules of rows and their cells."""

from __future__ import annotations

import polars as pl

from privjail.plan.domain import IntDomain
from tests.ops import (
    test_append,
    test_filter,
    test_group_head,
    test_lookup,
    test_pairs,
    test_per_person,
    test_slice,
    test_sort,
    test_source,
    test_tally,
    test_window,
)

from .breaking import (
    Mutation,
    always,
    derived,
    no_missing_key,
    result,
    tied,
)


def both_ends() -> None:
    test_slice.check_rows(test_slice.Slice(test_slice.NUMBERS.source, -2, 2), test_slice.NUMBERS.pairs(3))


def order() -> None:
    world = test_filter.SQUARE
    rows = test_filter.Filter(world.source, test_filter.equals(world.column("x"), "a"))
    data = (("a", 1), ("b", 1), ("a", -1))
    assert test_filter.table(rows, test_filter.seen(rows), data) == (("a", 1), ("a", -1))


def by_name(self: object, rows: object, *columns: object) -> object:
    """Persons numbered by their names; as Polars and as plain Python."""
    if isinstance(rows, pl.DataFrame):
        return rows.select(columns[0].rank("dense") - 1).to_series()  # type: ignore[attr-defined]
    names = sorted(set(columns[0]))  # type: ignore[call-overload]
    return [names.index(x) for x in columns[0]]  # type: ignore[attr-defined]


def first_row(self: object, mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.Series:
    return pl.Series([0 if theirs.height else None] * mine.height, dtype=pl.Int64())


def first_row_plain(self: object, keys: object, known: dict[object, int], column: list[object]) -> object:
    return column[next(iter(known.values()))] if known else None


def all_meet(self: object, mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    sides = [pl.DataFrame({name: range(f.height)}) for name, f in (("left", mine), ("right", theirs))]
    return sides[0].join(sides[1], how="cross")


def all_meet_plain(self: object, mine: list[object], theirs: list[object]) -> list[tuple[int, int]]:
    return [(i, j) for i in range(len(mine)) for j in range(len(theirs))]


MUTATIONS = [
    # two tables
    Mutation(
        "a join moves as far as its rows",
        {"ops.rows.pairs:Pairs.__post_init__": derived(lambda s: {"factor": s.rows.factor, "edits": s.rows.edits})},
        lambda: test_pairs.test_the_product_of_the_bounds_is_reached("inner"),
    ),
    Mutation(
        "every row has one partner at most",
        {"ops.rows.pairs:most_partners": always(lambda other, keys: 1)},
        test_pairs.test_all_small_databases,
    ),
    Mutation(
        "a join does not compare owners",
        {"ops.rows.pairs:Pairs.polars": always(all_meet), "ops.rows.pairs:Pairs.python": always(all_meet_plain)},
        test_pairs.test_all_small_databases,
    ),
    Mutation(
        "partners are never missing",
        {"ops.rows.pairs:Paired.__post_init__": derived(lambda s: {"domain": s.inner.domain})},
        test_pairs.test_all_small_databases,
    ),
    Mutation(
        "appended tables move like the larger one",
        {
            "ops.rows.append:Append.__post_init__": derived(
                lambda s: {"factor": max(s.rows.factor or 0, s.other.factor or 0)} if s.cap is None else {}
            )
        },
        test_append.test_the_sum_of_the_distances_is_reached,
    ),
    Mutation(
        "appended tables lie in the cells of the first",
        {"ops.rows.append:Append.__post_init__": lambda right: lambda s: (right(s), s.fact(cells=s.rows.cells))},
        test_append.test_parts_that_exclude_each_other_cost_the_larger_one,
    ),
    Mutation(
        "appended slices delete nothing",
        {"ops.rows.append:Append.__post_init__": derived(lambda s: {"deleted": 0})},
        test_append.test_all_small_databases,
    ),
    Mutation(
        "appended labels keep their old codes",
        {"ops.rows.append:as_held": always(lambda column, before, after: column)},
        test_append.test_labels_of_both_tables,
    ),
    Mutation(
        "a table below another lacks its own bounds",
        {"ops.rows.append:join": always(lambda a, b: a)},
        test_append.test_all_small_databases,
    ),
    # persons
    Mutation(
        "a person's row is charged in the group of one of her rows",
        {"plan.rows:Rows.start_owned_base": lambda right: lambda s, p, m: (right(s, p, m), s.fact(cells=p.cells))},
        test_per_person.test_a_person_in_several_groups_pays_in_the_whole,
    ),
    Mutation(
        "rows of persons come in the order of their names",
        {
            "ops.rows.per_person:PerPerson.python": always(by_name),
            "ops.rows.per_person:PerPerson.polars": always(by_name),
        },
        test_per_person.test_values_are_those_of_the_person_alone,
    ),
    Mutation(
        "one row for each value of any column",
        {"ops.rows.source:Source.owner": always(lambda s: test_per_person.ANY_EACH.column("x"))},
        test_per_person.check_persons_of_nobody,
    ),
    Mutation(
        "a look-up does not compare owners",
        {"ops.rows.lookup:Lookup.polars": always(first_row), "ops.rows.lookup:Lookup.python": always(first_row_plain)},
        test_lookup.test_all_small_databases,
    ),
    Mutation(
        "any of several rows is looked up",
        {"ops.rows.lookup:at_most_one": always(lambda other, keys: True)},
        test_lookup.test_several_rows_cannot_be_looked_up,
    ),
    Mutation(
        "missing facts are facts about persons, too",
        {"plan.rows:NO_VALUE": always(())},
        test_lookup.test_persons_without_a_row_there_are_in_no_known_cell,
    ),
    Mutation(
        "a column carried into a slice is still one of persons",
        {"ops.columns.carried:Carried.of_person": always(lambda s: s.inner.of_person())},
        test_lookup.test_after_a_slice_nothing_is_known_of_persons,
    ),
    Mutation(
        "a fact about rows is one about persons",
        {"ops.rows.lookup:Lookup.of_person": always(lambda s: (s.other.base, s.inner))},
        test_lookup.test_a_fact_about_rows_stays_one_about_rows,
    ),
    Mutation(
        "a slice has an owner",
        {"ops.rows.slice:Slice.owner": lambda _: lambda s: test_group_head.carried(s, s.source.owner())},
        test_per_person.test_only_by_the_owner,
    ),
    # rows: constants
    Mutation(
        "a head moves by one edit",
        {"ops.rows.slice:goes_out": always(lambda ends: 0)},
        test_slice.test_slices_in_the_small_world,
    ),
    Mutation("iloc[-a:b] moves by two edits", {"ops.rows.slice:goes_out": result(lambda n, *_: min(1, n))}, both_ends),
    Mutation(
        "a chain of slices is its last one",
        {"ops.rows.slice:ends_of_chain": lambda right: lambda chain: right(chain[-1:])},
        lambda: test_slice.test_the_three_of_a_chain_is_reached(((-4, 5), (0, None))),
    ),
    Mutation(
        "a window of w rows moves by w edits",
        {"ops.rows.slice:width": result(lambda w, *_: w and w // 2)},
        test_slice.test_slices_in_the_small_world,
    ),
    Mutation(
        "a rolling window moves by w edits",
        {"ops.rows.window:Window.__post_init__": derived(lambda s: {"factor": s.before + s.after + 1})},
        test_window.test_windows_in_the_small_world,
    ),
    Mutation(
        "a rolling window moves by 2w - 2 edits",
        {"ops.rows.window:Window.__post_init__": derived(lambda s: {"factor": max(1, s.factor - 1)})},
        test_window.test_windows_in_the_small_world,
    ),
    Mutation(
        "a rolling window deletes nothing",
        {"ops.rows.window:Window.__post_init__": derived(lambda s: {"deleted": 0})},
        test_window.test_windows_in_the_small_world,
    ),
    Mutation(
        "a head deletes nothing",
        {"ops.rows.slice:Slice.__post_init__": derived(lambda s: {"deleted": 0})},
        test_slice.test_slices_in_the_small_world,
    ),
    Mutation(
        "tables of w rows are w edits apart",
        {"plan.rows:Rows._bound_by_rows": lambda right: lambda s: (right(s), s.change(cap=s.cap and s.cap // 2))},
        test_window.test_the_bound_by_the_number_of_rows_is_reached,
    ),
    Mutation(
        "a row always sees itself",
        {"ops.rows.window:Window.sees_itself": always(property(lambda s: True))},
        test_window.test_a_row_that_does_not_see_itself_brings_no_column_along,
    ),
    Mutation(
        "a filter keeps insertions and deletions apart",
        {"plan.rows:Rows.moved": always(property(lambda s: (s.lineage.inserted, s.lineage.deleted)))},
        test_tally.test_after_a_head_one_group_can_gain_what_another_loses,
    ),
    Mutation(
        "a lag has no nulls",
        {"ops.rows.window:Lag.__post_init__": derived(lambda s: {"domain": IntDomain(False, 0, 1)})},
        test_window.test_lags_and_differences_in_the_small_world,
    ),
    Mutation("ties in any order", {"ops.rows.sort:Sort.polars": tied}, test_sort.test_sorts_in_the_small_world),
    Mutation(
        "groupby.head moves by one edit",
        {"ops.rows.group_head:GroupHead.__post_init__": derived(lambda s: {"factor": 1})},
        test_group_head.test_group_heads_in_the_small_world,
    ),
    Mutation(
        "every key is the user",
        {"ops.rows.group_head:GroupHead._by_owner": always(lambda self: True)},
        test_group_head.test_group_heads_in_the_small_world,
    ),
    Mutation(
        "k rows per user in each cell",
        {
            "ops.rows.group_head:GroupHead.polars": always(
                lambda s, frame, key: frame.filter(pl.int_range(pl.len()).over(key) <= s.k)
            )
        },
        test_group_head.test_group_heads_in_the_small_world,
    ),
    Mutation(
        "a user is a row",
        {"ops.rows.source:Source.__post_init__": derived(lambda s: {"factor": 1, "edits": 1})},
        test_source.test_sources_and_columns_in_the_small_world,
    ),
    # rows: cells
    Mutation(
        "null counts as true",
        {"ops.rows.filter:Filter.kept": always(staticmethod(lambda column: column.fill_null(True)))},
        test_filter.test_filters_in_the_small_world,
    ),
    Mutation(
        "missing values are in no cell",
        {"ops.rows.filter:single_key": no_missing_key},
        test_filter.test_filters_in_the_small_world,
    ),
    Mutation(
        "a list of labels cut short",
        {"ops.rows.deciding:_other_labels": result(lambda keys, *_: keys[:1])},
        lambda: test_filter.test_complements_in_wide_columns_keep_their_rows_in_their_cells(3),
    ),
    Mutation(
        "all filters exclude each other",
        {"ops.rows.filter:_where": always(lambda rows, c: rows.cells[:0])},
        test_filter.test_filters_in_the_small_world,
    ),
    Mutation(
        "one base for all partitions",
        {"ops.rows.slice:Slice.__post_init__": derived(lambda s: {"factor": s.rows.factor, "cap": None})},
        test_filter.test_filters_of_slices_sorts_and_windows_in_the_small_world,
    ),
]
