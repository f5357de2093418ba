"""Long tables, and tables on disk, give the same numbers as short ones."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.catalogue import files
from privjail.engines.polars import disk
from privjail.ops.numbers import tally
from privjail.engines.polars import batches, columns, long_tables
from privjail.errors import DPError

SCHEMA = {
    "age": {"type": "Int64", "range": [0, 100]},
    "pay": {"type": "Float64", "range": [-3.3, 1000.7]},
    "job": {"type": "category", "categories": ["a", "b", "c"]},
    "sex": {"type": "category", "categories": ["F", "M"]},
    "who": {"type": "Int64", "range": [0, 10**12]},
}


def people(n: int = 3000) -> pl.DataFrame:
    """With missing and unknown values, values outside the ranges, NaN and infinity."""
    rng = np.random.default_rng(n)
    pay = rng.normal(300, 500, n)
    pay[rng.random(n) < 0.05] = np.nan
    pay[rng.random(n) < 0.02] = np.inf
    frame = pl.DataFrame(
        {
            "age": rng.integers(-20, 130, n),
            "pay": pay,
            "job": rng.choice(["a", "b", "c", " b ", "?"], n),
            "sex": rng.choice(["F", "M"], n),
            "who": rng.integers(0, max(1, n // 3), n),
        }
    )
    some = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(
        pl.when(~some).then(pl.col("age")).alias("age"), pl.when(~some).then(pl.col("sex")).alias("sex")
    )


def questions(df):
    """Private numbers of every kind that is counted in batches."""
    old = df[df["age"] > 40]
    rich = old[old["pay"] / 7 > 20].sort_values("pay")
    binned = df.copy()
    binned["bin"] = pd.cut(binned["pay"], bins=[-3.3, 0, 10, 500, 1000.7])
    return [
        df.shape[0],
        old.shape[0],
        rich.shape[0],
        old["pay"].sum(),
        df["age"].clip(10, 20).sum(),
        (df["pay"] * 2 - df["age"]).sum(),
        (df["job"] == "b").sum(),
        df.groupby("job").size(),
        rich.groupby(["job", "sex"])["pay"].sum(),
        df.groupby("age").size(),
        binned["bin"].value_counts(sort=False),
        pd.crosstab(old["job"], old["sex"]),
        df[(df["job"] == "a") & (df["sex"] != "F")]["age"].sum(),
        *[group.shape[0] for _, group in old.groupby("job")],
        df.head(17)["age"].sum(),
        df.sort_values("pay").head(9).groupby("sex").size(),
    ]


def answers(df) -> list:
    """The exact numbers, before any noise."""
    engine = session.jail().engine
    return engine.evaluate_all(q._value for q in questions(df))


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    people().write_parquet(path, row_group_size=700)
    return path


@pytest.mark.parametrize("batch", [1, 7, 1000, 1 << 17])
def test_a_long_table_gives_the_numbers_of_a_short_one(batch, monkeypatch):
    short = answers(pd.from_frame(people(), "short", SCHEMA))
    monkeypatch.setattr(columns, "LONG", 10)
    monkeypatch.setattr(batches, "BATCH", batch)
    long = pd.from_frame(people(), "long", SCHEMA)
    assert answers(long) == short
    assert answers(long) == short  # from what was kept, and in part from positions


def test_single_questions_give_the_numbers_of_all_at_once(monkeypatch):
    together = answers(pd.from_frame(people(), "together", SCHEMA))
    monkeypatch.setattr(columns, "LONG", 10)
    asked = list(enumerate(questions(pd.from_frame(people(), "single", SCHEMA))))
    random.Random(0).shuffle(asked)
    for i, question in asked:
        assert session.jail().engine.evaluate(question._value) == together[i]


@pytest.mark.parametrize(("unit", "most"), [(None, None), ("who", None), ("who", 2)])
def test_a_table_on_disk_gives_the_numbers_of_one_in_memory(parquet, unit, most, monkeypatch):
    given = {"unit": unit, "max_rows_per_unit": most}
    held = pd.read_parquet(parquet, SCHEMA, **given)
    expected = [session.jail().engine.evaluate(q._value) for q in questions_of(held, unit, most)]
    monkeypatch.setattr(files, "HELD_BYTES", 1000)
    monkeypatch.setattr(disk, "BATCH", 900)
    monkeypatch.setattr(batches, "ADDED_AT_ONCE", 400)
    monkeypatch.setattr(tally, "ADDED_AT_ONCE", 400)
    session.jail().engine._cache.__init__(2**30)
    left = pd.read_parquet(parquet, SCHEMA, **given)
    on_disk = [isinstance(f, disk.OnDisk) for s, f in session.jail().engine._frames.items() if s is left._rows.source]
    assert on_disk == [most is None]  # rows per owner can be bounded only where all are seen
    assert session.jail().engine.evaluate_all(q._value for q in questions_of(left, unit, most)) == expected


def questions_of(df, unit, most):
    if unit is not None and most is None:
        df = df.groupby(unit).head(3)
    return questions(df)


def test_all_that_a_release_needs_is_one_pass(parquet, monkeypatch):
    monkeypatch.setattr(files, "HELD_BYTES", 1000)
    df = pd.read_parquet(parquet, SCHEMA)
    passes = []
    monkeypatch.setattr(
        long_tables, "fill", lambda frame, tables: passes.append(len(tables)) or batches.fill(frame, tables)
    )
    pj.reveal_all([group.shape[0] for _, group in df.groupby("job")] + [df["age"].sum()], eps=1)
    assert passes == [2]  # the three groups are one table


def test_a_file_that_changed_is_not_read(parquet, monkeypatch):
    monkeypatch.setattr(files, "HELD_BYTES", 1000)
    df = pd.read_parquet(parquet, SCHEMA)
    people(2999).write_parquet(parquet)
    with pytest.raises(DPError):
        df["age"].sum().reveal(eps=1)


def test_batches_are_whole_groups_of_rows_unless_these_are_too_long():
    part = disk.Part(Path("x"), (0, 0, 0, 0), (400, 400, 400, 5000, 10))
    assert disk.BATCH > 6000 and list(part.spans(10_000)) == [(0, 6210)]
    assert list(part.spans(1000)) == [
        (0, 1000),
        (1000, 1000),
        (2000, 1000),
        (3000, 1000),
        (4000, 1000),
        (5000, 1000),
        (6000, 210),
    ]


def test_names_that_polars_takes_for_patterns_name_one_column(monkeypatch):
    frame = pl.DataFrame({"*": [1, 2, 3], "^a.*$": [4, 5, 6], "ab": [7, 8, 9]})
    schema = {name: {"type": "Int64", "range": [0, 10]} for name in frame.columns}
    monkeypatch.setattr(columns, "LONG", 1)
    df = pd.from_frame(frame, "patterns", schema)
    values = [df["*"].sum(), df["^a.*$"].sum(), df["ab"].sum(), df[df["*"] > 1]["^a.*$"].sum()]
    assert session.jail().engine.evaluate_all(v._value for v in values) == [6, 15, 24, 11]
    assert [session.jail().engine.evaluate(v._value) for v in values] == [6, 15, 24, 11]


def test_a_table_of_siblings_is_one_pass_if_asked_one_by_one(monkeypatch):
    monkeypatch.setattr(columns, "LONG", 10)
    df = pd.from_frame(people(), "siblings", SCHEMA)
    passes = []
    monkeypatch.setattr(long_tables, "fill", lambda frame, tables: passes.append(tables) or batches.fill(frame, tables))
    found = [session.jail().engine.evaluate(group.shape[0]._value) for _, group in df.groupby("job")]
    assert len(passes) == 2  # the first alone, then all of them
    assert found == session.jail().engine.evaluate(df.groupby("job").size()._value)


def test_a_file_that_changes_while_it_is_read_is_noticed(parquet, monkeypatch):
    monkeypatch.setattr(files, "HELD_BYTES", 1000)
    left = disk.OnDisk.of([parquet])
    reads = list(left.batches(["age"], 1000))
    reads[0]()
    people().reverse().write_parquet(parquet, row_group_size=700)
    with pytest.raises(DPError, match="has changed"):
        reads[1]()
    left = disk.OnDisk.of([parquet])
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda self, **_: people().write_parquet(parquet) or people())
    with pytest.raises(DPError, match="has changed"):
        left.select(["age"])


def test_batches_that_nobody_waits_for_are_not_begun(monkeypatch):
    begun = []

    def read(i):
        begun.append(i)
        if not i:
            raise ValueError
        threading.Event().wait(0.05)

    with pytest.raises(ValueError):
        list(batches._in_parallel(lambda rows: [], (lambda i=i: read(i) for i in range(100)), 100))
    threading.Event().wait(0.3)
    assert len(begun) <= 2 + (os.cpu_count() or 1)


EDGES = [
    ("int64", pl.Series("v", [-(2**63), 2**63 - 1, None, 0, -1]), {"type": "Int64", "range": [-(2**63), 2**63 - 1]}),
    (
        "lowest",
        pl.Series("v", [-(2**63), -(2**63) + 2, None, 5, -(2**63)]),
        {"type": "Int64", "range": [-(2**63), -(2**63) + 2]},
    ),
    ("one label", pl.Series("v", ["a", "b", None, "a", ""]), {"type": "category", "categories": ["a"]}),
    ("truth", pl.Series("v", [True, False, None, True, True]), {"type": "boolean"}),
    ("zero", pl.Series("v", [-0.0, 0.0, None, float("nan"), 5e-324]), {"type": "Float64", "range": [0, 5e-324]}),
    (
        "far",
        pl.Series("v", [1.7e308, -1.7e308, None, float("inf"), 3.0]),
        {"type": "Float64", "range": [-1.7e308, 1.7e308]},
    ),
    ("above", pl.Series("v", [7.25, None, None, 9.0, 1.0]), {"type": "Float64", "range": [7.1, 9.3]}),
    ("point", pl.Series("v", [7, None, 8, 7, 1]), {"type": "Int64", "range": [7, 7]}),
]


@pytest.mark.parametrize(("name", "series", "declared"), EDGES, ids=[e[0] for e in EDGES])
@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_the_ends_of_every_type_give_the_same_numbers_in_batches_and_from_disk(
    name, series, declared, rows, monkeypatch, tmp_path
):
    frame = pl.DataFrame({"v": series, "k": pl.Series([1, None, 1, 2, 3])}).head(rows)
    schema = {"v": declared, "k": {"type": "Int64", "range": [1, 2]}}
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=2)

    def asked(df):
        numbers = declared["type"] != "category"
        out = [df.shape[0], df.groupby("k").size(), df[df["v"].isna()].shape[0], df[df["k"] == 2].shape[0]]
        if declared["type"] != "Float64" and name != "int64":
            out += [df.groupby("v").size(), df.groupby(["v", "k"]).size(), *[g.shape[0] for _, g in df.groupby("v")]]
        if numbers:
            out += [df["v"].sum(), df.groupby("k")["v"].sum(), df[df["k"] == 1]["v"].sum()]
        one = df.assign(one=3)
        return [*out, one["one"].sum(), one.groupby("one").size(), one[one["one"] == 3].shape[0]]

    def answer(df):
        return session.jail().engine.evaluate_all(q._value for q in asked(df))

    short = answer(pd.from_frame(frame, f"short {name} {rows}", schema))
    monkeypatch.setattr(columns, "LONG", 0)
    monkeypatch.setattr(batches, "BATCH", 2)
    monkeypatch.setattr(batches, "BLOCK", 1)
    assert answer(pd.from_frame(frame, f"long {name} {rows}", schema)) == short
    monkeypatch.setattr(files, "HELD_BYTES", -1)
    monkeypatch.setattr(disk, "BATCH", 1)
    assert answer(pd.read_parquet(tmp_path / "t.parquet", schema)) == short
