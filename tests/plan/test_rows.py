"""The text of rows, and the names of their cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.numbers.tally import Tally
from privjail.ops.columns.compare import Compare
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.window import Window
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Logic, Not, joined
from privjail.ops.numbers.combine import Add, Extreme, Offset
from privjail.plan.domain import IntDomain
from privjail.plan.node import LONGEST, Lit
from privjail.plan.rows import STEPS_ROOM, Rows

PEOPLE = Source(Dataset("people", "people", (("age", IntDomain(False, 0, 120)),), Unit()))
AGE = Column(PEOPLE, "age")


def chain(steps: int) -> Rows:
    rows: Rows = PEOPLE
    for i in range(steps):
        rows = Filter(rows, Compare("==", AGE, Lit.of(i)))
    return rows


def test_of_a_long_chain_the_source_and_the_last_steps_are_shown() -> None:
    for steps in range(60):
        words = [PEOPLE.shown(), *(chain(i).shown() for i in range(1, steps + 1))]
        shown = str(chain(steps)).split(" | ")
        whole = " | ".join(words[1:])
        if len(whole) <= STEPS_ROOM:
            assert shown == words
            continue
        assert shown[0] == words[0] and "…" in shown[1] and words[-len(shown[2:]) :] == shown[2:]
        assert STEPS_ROOM - 3 <= len(" | ".join(shown[1:])) <= STEPS_ROOM + 4  # as much as there is room for


def test_a_long_text_says_of_which_data_and_what_of_which_part_was_asked() -> None:
    """What an audit log is read for, also if a name or a step is long."""
    source = Source(Dataset("x" * 60, "x" * 60, (("age", IntDomain(False, 0, 120)),), Unit()))
    age = Column(source, "age")
    rows: Rows = Filter(source, joined("|", [Compare(">", age, Lit.of(i)) for i in range(60)]))
    for i in range(12):
        rows = Filter(rows, Compare("==", age, Lit.of(i)))
    parts = [Filter(rows, Compare("==", age, Lit.of(i))) for i in (100, 101)]
    asked = [Tally(part, keys, value) for part in parts for keys in ((), (age,)) for value in (None, age)]
    texts = [str(each) for each in asked]

    assert len(set(texts)) == len(asked) and {len(text) for text in texts} == {LONGEST}
    for text in texts:
        assert text.startswith("x" * 60) and "filter((age == 10" in text and text.endswith((" | count", " | sum(age)"))
    assert str(Add(asked[0], asked[1])).endswith(" + …)") and str(Add(Tally(PEOPLE, (), None), asked[1])).endswith(")")


def test_missing_values_are_dropped_in_few_words() -> None:
    def dropped(*conditions: Any) -> str:
        return str(Filter(PEOPLE, Not(joined("|", conditions))))

    missing = [IsNull(Compare(">", AGE, Lit.of(i))) for i in range(7)]
    shown = [f"(age > {i})" for i in range(7)]
    assert dropped(*missing) == f"people | dropna({', '.join(shown[:4])}, … 3 more)"
    assert dropped(*missing[:2]) == f"people | dropna({shown[0]}, {shown[1]})"
    assert dropped(missing[0]) == f"people | filter(~{missing[0]})"
    assert "dropna" not in dropped(missing[0], Compare(">", AGE, Lit.of(1)))
    assert "dropna" not in str(Filter(PEOPLE, Not(joined("&", missing))))
    twice: Any = missing[0]
    for _ in range(60):
        twice = Logic("|", twice, twice)
    assert dropped(twice) == f"people | dropna({shown[0]})"


def test_an_address_is_the_path_whichever_cell_is_asked_first() -> None:
    for asked in ((5, 2), (2, 5), (0, 5), (5, 5)):
        kept = [chain(i) for i in range(6)]  # nodes that nobody holds are gone, and what they know of themselves too
        for steps in asked:
            address = kept[steps].cells[0].address

            assert [key for _, key in address] == [f"int:{i}" for i in range(steps)]
            assert {name for name, _ in address} <= {kept[1].cells[0].address[0][0]}


def test_names_stay_what_they_are() -> None:
    """A ledger holds them: whoever changes them forgets which cells were charged."""
    count = Tally(chain(2), (AGE,), None)

    assert AGE.name == "409da3978c047aca9486e9e0276fcb574692824f105e6bed6708b30cde12883a"
    assert (
        Add(Extreme("max", count), Offset(Extreme("min", count), Fraction(1, 3))).name
        == "0a03e60d21c17a0359fc6d478e4d54084e130c5a431ac7cfcbb89c35eb2cc219"
    )


def test_a_sum_over_windows_of_a_person_without_a_limit_is_unbounded() -> None:
    """Any number of rows may come, and any number may go: no error, and no bound."""
    owned = (("who", IntDomain(False, 0, 9)), ("x", IntDomain(False, -3, 5)))
    windows = Window(Source(Dataset("any", "any", owned, Unit("who", None))), 2, 0)

    assert windows.moved == (None, None)
    assert all(windows.sum_distance(low, high).value is None for low, high in ((0, 1), (-1, 0), (-1, 1)))
    assert windows.sum_distance(0, 0).value == 0


def test_a_sum_over_windows_moves_by_what_comes_and_what_goes() -> None:
    """A row that comes in stands in three windows, and parts two: no more than five times what one row adds."""
    windows = Window(PEOPLE, 2, 0)

    assert windows.moved == (3, 2)
    for low, high, most in ((0, 5, 15), (-5, 0, 15), (-1, 5, 17), (-5, 5, 25), (0, 0, 0)):
        assert windows.sum_distance(low, high).value == windows.sum_distance(-high, -low).value == most
