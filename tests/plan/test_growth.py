"""How many rows joins make, and whether questions can be answered for some persons at a time."""

from __future__ import annotations

from privjail.ops.numbers.combine import Add
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.append import Append
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.pairs import Pairs
from privjail.ops.rows.slice import Slice
from privjail.plan.growth import Growth, growth
from privjail.plan.rows import Rows

from ..ops.people import NOTES, STAYS
from ..ops.test_filter import equals
from ..ops.test_lookup import Columns

S, N = Columns(STAYS), Columns(NOTES)


def count(rows: Rows) -> Tally:
    return Tally(rows, (), None)


def pairs(left: Rows | None = None) -> Pairs:
    """Stays with at most two notes of the same person."""
    heads = GroupHead(NOTES.source, N.who, 2)
    return Pairs(left or STAYS.source, (S.who,), heads, (heads.owner(),), "inner")


def test_what_is_needed_anywhere_below_counts() -> None:
    assert growth(count(STAYS.source)) == Growth(1, True)
    grown = growth(count(pairs()))
    assert grown.most >= 2 and grown.owned
    assert growth(Add(count(STAYS.source), count(pairs()))) == growth(Add(count(pairs()), count(STAYS.source))) == grown
    assert growth(Append(STAYS.source, STAYS.source)).most == 2


def test_rows_that_look_at_other_persons_cannot_be_answered_for_some_of_them() -> None:
    head = count(Slice(STAYS.source, None, 2))
    assert not growth(head).owned
    assert not growth(Add(head, count(STAYS.source))).owned
    assert not growth(Add(count(STAYS.source), head)).owned
    assert growth(count(Filter(STAYS.source, equals(S.stay, 1)))).owned
