"""Long tables, and tables on disk, give the same numbers as short ones."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.catalogue import disk, files
from privjail.engines import batches, polars
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
    monkeypatch.setattr(polars, "LONG", 10)
    monkeypatch.setattr(batches, "BATCH", batch)
    long = pd.from_frame(people(), "long", SCHEMA)
    assert answers(long) == short
    assert answers(long) == short  # from what was kept, and in part from positions


def test_single_questions_give_the_numbers_of_all_at_once(monkeypatch):
    together = answers(pd.from_frame(people(), "together", SCHEMA))
    monkeypatch.setattr(polars, "LONG", 10)
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
    monkeypatch.setattr(batches, "MOST", 400)
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
    monkeypatch.setattr(polars, "fill", lambda frame, tables: passes.append(len(tables)) or batches.fill(frame, tables))
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
    assert list(part.spans(1000)) == [(0, 1000), (1000, 1000), (2000, 1000), (3000, 1000), (4000, 1000), (5000, 1000), (6000, 210)]
