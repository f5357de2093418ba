"""Rows that joins made, computed for some persons at a time: the same numbers, however persons are divided (V-53)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.engines.polars import by_person
from privjail.engines.polars.by_person import ByPerson
from privjail.engines.polars.engine import PolarsEngine
from privjail.errors import DPWarning
from privjail.ops.numbers.key_counts import KeyCounts
from privjail.ops.numbers.tally import Tally
from privjail.plan.growth import growth
from privjail.server import work
from privjail.session import jail

SCHEMAS: dict[str, dict[str, Any]] = {
    "visits": {"who": {"type": "string"}, "x": {"type": "Int64", "range": [0, 9]}},
    "notes": {"who": {"type": "string"}, "code": {"type": "category", "categories": ["a", "b"]}, "text": {"type": "string"}},
}  # fmt: skip


def tables(name: str) -> tuple[Any, Any]:
    """Visits and notes of 40 persons, some of whom have none of either; a person has up to twelve visits."""
    who = [f"p{i * i % 40}" for i in range(200)]
    people = pj.population(name)
    visits = pl.DataFrame({"who": who, "x": [i * 7 % 10 for i in range(200)]})
    notes = pl.DataFrame({"who": who[20:120] + [f"q{i}" for i in range(5)], "code": [["a", "b", None][i % 3] for i in range(105)],
                          "text": [f"t{i % 4}" for i in range(105)]})  # fmt: skip
    return tuple(
        pd.from_frame(frame, f"{name} {each}", SCHEMAS[each], population=people, unit="who")
        for each, frame in (("visits", visits), ("notes", notes))
    )  # type: ignore[return-value]


def questions(name: str) -> dict[str, Any]:
    """Values over joined rows, chains of joins, appended tables, and what is made of them."""
    visits, notes = tables(name)
    few = visits.groupby("who").head(5)
    met = few.merge(notes.groupby("who").head(3), on="who", how="left")
    inner = visits.merge(notes.groupby("who").head(3), on="who")
    each = inner.groupby("who").agg(n=("x", "size"), last=("code", "last"), kinds=("text", "nunique"))
    each["kinds"] = each["kinds"].clip(0, 3)
    again = met.merge(few[few["x"] > 2], on="who", suffixes=("", "_there"))
    both = pd.concat([met[["who", "x"]], few[["who", "x"]]])
    with pytest.warns(DPWarning, match="costs as much as all rows do"):
        some = visits.sample(frac=0.5, random_state=3)
    drawn = some.merge(notes.groupby("who").head(3), on="who")
    found = {
        "count": met.shape[0],
        "sum": met["x"].sum(),
        "by code": met[met["x"] > 1].groupby("code").size(),
        "one code": met[met["code"] == "b"]["x"].sum(),
        "sorted": met.sort_values("x")[met.sort_values("x")["x"] < 7].shape[0],
        "of persons": each["n"].clip(0, 20).sum(),
        "kinds of persons": each.groupby("last")["kinds"].sum(),
        "chain": again["x_there"].sum(),
        "appended": both["x"].sum(),
        "first of appended": both.groupby("who").head(2)["x"].sum(),
        "looked up": few.merge(each, on="who")["n"].clip(0, 20).sum(),
        "sampled": drawn.groupby("who").head(4)["x"].sum(),
    }
    values = {key: each._value for key, each in found.items()}
    rows = met._rows
    values["keys"] = KeyCounts(rows, met["text"]._expr, rows.base.owner(), 2, 100)
    return values


def answers(
    values: dict[str, Any], held: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[str, Any], dict[str, int]]:
    """All answers, where joined rows may take so many bytes; and into how many parts persons were divided."""
    monkeypatch.setattr(by_person, "HELD", held)
    engine = PolarsEngine(2**14, dict(jail().engine._frames), jail().engine.coins)
    parts = {name: max(engine._by_person.parts([v]) for v in _leaves(value)) for name, value in values.items()}
    found = dict(zip(values, engine.evaluate_all(values.values()), strict=True))
    found["keys"] = sorted(found["keys"])
    return found, parts


def _leaves(value: Any) -> list[Any]:
    return [value] if not value.inputs else [leaf for each in value.inputs for leaf in _leaves(each)]


def test_the_same_numbers_however_persons_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    values = questions("divided")
    whole, none = answers(values, 2**30, monkeypatch)
    found, parts = answers(values, 60_000, monkeypatch)
    engine = PolarsEngine(2**14, dict(jail().engine._frames), jail().engine.coins)
    alone = {name: engine.evaluate(values[name]) for name in ("one code", "appended")}  # not filled in one pass

    assert found == whole and set(none.values()) == {1} and all(whole[name] == x for name, x in alone.items())
    assert all(n > 1 for name, n in parts.items() if name != "count")


def test_quantiles_of_joined_rows_are_the_same_too(monkeypatch: pytest.MonkeyPatch) -> None:
    visits, notes = tables("quantiles")
    met = visits.groupby("who").head(5).merge(notes.groupby("who").head(3), on="who")
    asked: list[Any] = []
    evaluate = PolarsEngine.rank
    monkeypatch.setattr(PolarsEngine, "rank", lambda self, scores: asked.append(scores) or evaluate(self, scores))
    met["x"].median(eps=1)
    scores = asked[0]
    frames = dict(jail().engine._frames)
    whole = evaluate(PolarsEngine(0, frames), scores)
    monkeypatch.setattr(by_person, "HELD", 5_000)
    divided = PolarsEngine(0, frames)

    assert divided._by_person.parts([scores]) > 10 and evaluate(divided, scores) == whole and whole.values > 100


def test_rows_are_held_for_a_part_of_the_persons_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most rows of any part, not measured bytes."""
    values = questions("small")
    seen: list[int] = []
    parts: list[Any] = []
    made = ByPerson.each

    def watched(self: ByPerson, *given: Any) -> Any:
        for engine in made(self, *given):
            seen.append(max(frame.height for frame in engine._frames.values()))
            parts.append(engine)
            yield engine
        for engine in parts:
            assert engine.cache.used == 0 and not engine._frames  # freed at once

    monkeypatch.setattr(ByPerson, "each", watched)
    answers({"count": values["count"], "keys": values["keys"]}, 10_000, monkeypatch)

    assert len(seen) >= 10 and max(seen) <= 100  # of 200: a person with all visits may share a part with others


def test_what_looks_at_rows_of_others_is_not_divided_and_is_known_beforehand() -> None:
    visits, notes = tables("others")
    met = visits.groupby("who").head(5).merge(notes.groupby("who").head(3), on="who")
    top, before = met.head(10)["x"].sum()._value, met["x"].shift(1).sum()._value
    hidden = visits.head(5)["x"].sum()._value

    assert growth(met["x"].sum()._value) == (3, True) and work.held_growth(met["x"].sum()._value) == 1
    assert [growth(each) for each in (top, before, hidden)] == [(3, False), (3, False), (1, False)]
    assert [work.held_growth(each) for each in (top, before, hidden)] == [3, 3, 1]
    assert PolarsEngine(0, dict(jail().engine._frames))._by_person.parts([top]) == 1


def test_growth_behind_a_looked_up_column_is_known() -> None:
    visits, notes = tables("behind")
    each = visits.merge(notes.groupby("who").head(3), on="who").groupby("who").agg(n=("x", "size"))
    found = visits.groupby("who").head(2).merge(each, on="who")

    assert growth(Tally(found._rows, (), None)).most == 3
