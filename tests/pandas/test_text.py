"""Text: every method compared with pandas' own, on free text and on categories."""

from __future__ import annotations

import re

import numpy as np
import pytest

import pandas
from privjail import pandas as pd
from privjail.errors import DPError

from .seen import opened, same, seen, without_noise

WORDS = ["Braund, Mr. Owen", "O'Dwyer, Miss. Ellen", "  padded ", "", "a,b,c", "C85", "x1y22", "ÉCOLE dé", "_7²", "a\nb",
         "007", "+5", "Aa aA", "end\n"]  # fmt: skip
SCHEMA = {"s": {"type": "string"}, "c": {"type": "category", "categories": WORDS}, "n": {"type": "Int64", "range": [0, 3]},
          "d": {"type": "category", "categories": ["u", "v"]}}  # fmt: skip


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(5)
    words = [None if rng.random() < 0.15 else w for w in rng.choice(WORDS, 80).tolist()]
    public = pandas.DataFrame(
        {
            "s": pandas.array(words, dtype="string"),
            "c": pandas.Categorical(words, categories=WORDS),
            "n": pandas.array(rng.integers(0, 4, 80).tolist(), dtype="Int64"),
            "d": pandas.Categorical(rng.choice(["u", "v"], 80)),
        }
    )
    return public, opened(public, SCHEMA)


def listed(series):
    """Values with None for all that is missing, numbers and truths as Python's own."""
    found = [None if pandas.isna(x) else x for x in series.astype(object)]
    return [x.item() if hasattr(x, "item") else x for x in found]


LINES = {
    "lower": lambda s: s.str.lower(),
    "upper": lambda s: s.str.upper(),
    "strip": lambda s: s.str.strip(),
    "strip chars": lambda s: s.str.strip(" a"),
    "lstrip": lambda s: s.str.lstrip("0"),
    "rstrip": lambda s: s.str.rstrip(),
    "len": lambda s: s.str.len(),
    "zfill": lambda s: s.str.zfill(5),
    "pad": lambda s: s.str.pad(6, side="right", fillchar="_"),
    "repeat": lambda s: s.str.repeat(2),
    "startswith": lambda s: s.str.startswith("C"),
    "startswith several": lambda s: s.str.startswith(("C", "a")),
    "endswith": lambda s: s.str.endswith("c"),
    "contains": lambda s: s.str.contains("Mr"),
    "contains pattern": lambda s: s.str.contains(r"M(?:r|iss)\."),
    "contains no case": lambda s: s.str.contains("MR", case=False),
    "contains flags": lambda s: s.str.contains("m[rI]", flags=re.IGNORECASE),
    "contains plain": lambda s: s.str.contains(".", regex=False),
    "contains end": lambda s: s.str.contains("d$"),
    "contains filled": lambda s: s.str.contains("a", na=False),
    "match": lambda s: s.str.match("[A-Z]"),
    "fullmatch": lambda s: s.str.fullmatch("[A-Z][0-9]+"),
    "isdigit": lambda s: s.str.isdigit(),
    "isdecimal": lambda s: s.str.isdecimal(),
    "isalnum": lambda s: s.str.isalnum(),
    "isspace": lambda s: s.str.isspace(),
    "count": lambda s: s.str.count("[ab]"),
    "slice": lambda s: s.str.slice(1, 3),
    "slice from": lambda s: s.str[2:],
    "slice last": lambda s: s.str[-3:],
    "slice but last": lambda s: s.str[:-2],
    "slice inner": lambda s: s.str[1:-1],
    "slice end": lambda s: s.str[-3:-1],
    "get": lambda s: s.str[0],
    "get last": lambda s: s.str.get(-1),
    "get beyond": lambda s: s.str.get(5),
    "replace": lambda s: s.str.replace("a", "<$0>"),
    "replace pattern": lambda s: s.str.replace(r"[^A-Za-z]+", "", regex=True),
    "replace groups": lambda s: s.str.replace(r"(\w+), (\w+)", r"\2 \1", regex=True),
    "replace no case": lambda s: s.str.replace("a", "-", case=False, regex=True),
    "removeprefix": lambda s: s.str.removeprefix("C"),
    "removesuffix": lambda s: s.str.removesuffix("c"),
    "extract": lambda s: s.str.extract(r" ([A-Za-z]+)\.", expand=False),
    "extract number": lambda s: s.str.extract(r"(\d+)", expand=False),
    "extract end": lambda s: s.str.extract(r"(\w+)$", expand=False),
    "split first": lambda s: s.str.split(",").str[0],
    "split second": lambda s: s.str.split(",").str[1],
    "split last": lambda s: s.str.split(",").str.get(-1),
    "split once": lambda s: s.str.split(",", n=1).str[1],
    "split words": lambda s: s.str.split().str[0],
    "split last word": lambda s: s.str.split().str[-1],
    "split third word": lambda s: s.str.split().str[2],
    "split length": lambda s: s.str.split(",").str.len(),
    "chain": lambda s: s.str.strip().str.lower().str.replace(" ", "_"),
    "add": lambda s: s + "!",
    "radd": lambda s: "Dr. " + s,
}


@pytest.mark.parametrize("line", LINES)
def test_free_text_and_categories_are_as_in_pandas(both, line):
    public, private = both
    want = listed(LINES[line](public["s"]))
    assert listed(seen(LINES[line](private["s"]))) == want
    assert listed(seen(LINES[line](private["c"]))) == want


BY_LABEL = {
    "title": lambda s: s.str.title(),
    "capitalize": lambda s: s.str.capitalize(),
    "swapcase": lambda s: s.str.swapcase(),
    "find": lambda s: s.str.find("a"),
    "isalpha": lambda s: s.str.isalpha(),
    "isnumeric": lambda s: s.str.isnumeric(),
    "islower": lambda s: s.str.islower(),
    "center": lambda s: s.str.center(8),
    "look around": lambda s: s.str.contains(r"(?<=M)r"),
    "reference": lambda s: s.str.replace(r"(\d)\1", "?", regex=True),
    "boundary": lambda s: s.str.replace(r"\b[a-z]", "*", regex=True),
    "function": lambda s: s.str.replace(r"\d", lambda m: str(9 - int(m[0])), regex=True),
    "rsplit": lambda s: s.str.rsplit(",", n=1).str[-1],
}


@pytest.mark.parametrize("line", BY_LABEL)
def test_labels_of_categories_know_all_of_pandas(both, line):
    public, private = both
    assert listed(seen(BY_LABEL[line](private["c"]))) == listed(BY_LABEL[line](public["s"].astype(object)))
    with pytest.raises(DPError):
        BY_LABEL[line](private["s"])


def test_tables_of_parts(both):
    public, private = both
    for pattern in (r"(?P<last>[^,]*), (?P<title>\w+)\.", r"(\d)(\d)?"):
        want = public["s"].str.extract(pattern)
        for column in ("s", "c"):
            found = private[column].str.extract(pattern)
            assert list(found.columns) == list(want.columns)
            assert [listed(seen(found[n])) for n in want.columns] == [listed(want[n]) for n in want.columns]
    want = public["s"].str.split(",", n=1, expand=True)
    for column in ("s", "c"):
        found = private[column].str.split(",", n=1, expand=True)
        assert [listed(seen(found[n])) for n in (0, 1)] == [listed(want[n]) for n in (0, 1)]
    parts = private["c"].str.partition(",")
    assert [listed(seen(parts[n])) for n in range(3)] == [listed(x) for _, x in public["s"].str.partition(",").items()]


def test_joined_columns(both):
    public, private = both
    want = listed(public["s"] + "-" + public["d"].astype("string"))
    assert listed(seen(private["s"] + "-" + private["d"])) == want
    assert listed(seen(private["c"] + "-" + private["d"])) == want
    assert listed(seen(private["s"].str.cat(private["d"], sep="-"))) == want
    assert listed(seen(private["c"].str.cat([private["d"], private["d"]], sep="-", na_rep="?"))) == [
        f"{a}-{b}-{b}" for a, b in zip(public["s"].fillna("?"), public["d"], strict=True)
    ]
    pairs = private["d"] + private["d"]
    assert pairs.domain.categories == ("uu", "uv", "vu", "vv")
    with without_noise():
        assert private.groupby(pairs).size().reveal(eps=1).sum() == 80
    assert listed(seen(private["d"] + private["n"].astype("string"))) == [
        a + str(b) for a, b in zip(public["d"], public["n"], strict=True)
    ]


def test_titles_of_passengers_in_one_line(both):
    """The line of every notebook on the Titanic, on categories: the result is finite, so it can be counted."""
    public, private = both
    titles = private["c"].str.extract(r" ([A-Za-z]+)\.", expand=False)
    assert titles.domain.categories == ("Mr", "Miss")
    with without_noise():
        found = titles.value_counts(sort=False).reveal(eps=1)
    assert found.to_dict() == public["s"].str.extract(r" ([A-Za-z]+)\.", expand=False).value_counts().to_dict()


@pytest.mark.parametrize(
    "line",
    [
        lambda d: d.n.str.lower(), lambda d: d.s.str.findall("a"), lambda d: d.s.str.extractall("(a)"),
        lambda d: d.s.str.split(",", expand=True), lambda d: d.s.str.split("[,;]"), lambda d: d.s.str.cat(sep=","),
        lambda d: d.s.str.extract("a"), lambda d: d.c.str.extract("a"), lambda d: d.s.str.contains("(?=a)"),
        lambda d: d.s.str.contains("a", flags=re.DOTALL), lambda d: d.s.str.replace("a", lambda m: "b", regex=True),
        lambda d: d.s.str.get("a"), lambda d: d.s.str["a"], lambda d: d.s.str[::2], lambda d: d.s.str.lowr(),
        lambda d: d.s + 1, lambda d: d.n + "a", lambda d: d.s + d.n, lambda d: d.n.cat.codes, lambda d: d.s.str.split(",").lower,
        lambda d: d.c.str.contains("("), lambda d: d.s.str.repeat(1000), lambda d: d.s.str.join("-"),
        lambda d: d.s.str.get_dummies(), lambda d: d.s.str.slice(-3, 1), lambda d: d.s.str.contains(5),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused_in_our_words(both, line):
    with pytest.raises(DPError) as caught:
        line(both[1])
    assert (
        caught.value.do or "taken" in str(caught.value) or "takes" in str(caught.value) or ".str." in str(caught.value)
    )


def test_text_columns_have_no_dates_and_the_error_says_so(both):
    with pytest.raises(AttributeError, match="holds no dates"):
        both[1].s.dt  # noqa: B018
    assert not hasattr(both[1].n, "str") and hasattr(both[1].s, "str")


def test_patterns_run_in_the_jail_on_filters(both):
    public, private = both
    with without_noise():
        found = private[private.s.str.contains(r"M(r|iss)\.", na=False)].shape[0].reveal(eps=1)
    assert found == public.s.str.contains(r"M(?:r|iss)\.", na=False).sum()
    same(private.s.str.len() > 3, public.s.str.len() > 3)
    assert isinstance(private.s.str.split(",", n=1, expand=True), pd.PrivDataFrame)
