"""The text of rows, and the names of their cells."""

from __future__ import annotations

from fractions import Fraction

from privjail.ops.source import Column, Dataset, Source, Unit
from privjail.ops.tally import Tally
from privjail.ops.compare import Compare
from privjail.ops.filter import Filter
from privjail.ops.logic import joined
from privjail.ops.numbers import Add, Extreme, Offset
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit
from privjail.plan.rows import ROOM, Rows

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
        if len(whole) <= ROOM:
            assert shown == words
            continue
        assert shown[0] == words[0] and "…" in shown[1] and words[-len(shown[2:]):] == shown[2:]
        assert ROOM - 3 <= len(" | ".join(shown[1:])) <= ROOM + 4  # as much as there is room for


def test_a_long_step_does_not_hide_those_after_it() -> None:
    """What an audit log is read for: which part of the data was asked about."""
    everyone = Compare("==", AGE, Lit.of(7))
    long = Filter(PEOPLE, joined("|", [Compare(">", AGE, Lit.of(i)) for i in range(60)]))
    shown = str(Tally(Filter(long, everyone), (), None))

    assert shown.startswith("people | filter(") and shown.endswith("… | filter((age == 7)) | count")
    assert str(long).endswith("…")


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

    assert AGE.name == "bd40623c7a7b2daf5e6e8158e3f1f37d"
    assert (
        Add(Extreme("max", count), Offset(Extreme("min", count), Fraction(1, 3))).name
        == "742d353ee7e4298a5c5c67c82759dce7"
    )
