"""Certificates that are forged by hand: numbers, names and domains that only look checked."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from privjail.verify.checker import check
from privjail.verify.checker.columns import Column, check_domain, row_wise_column
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.verdict import CannotCheck, Refuted

Made = dict[str, Any]
AGE = {"type": "Int64", "null": False, "range": ["0", "100"]}


def signed(made: Made) -> Made:
    told = ("columns", "unit", "population", "keys")
    for each in made["data sets"]:
        public = json.dumps({name: each[name] for name in told if name in each}, sort_keys=True)
        each["schema"] = hashlib.sha256(public.encode()).hexdigest()
    return made


def sum_of(domain: Any, sensitivity: str, kind: str = "laplace") -> Made:
    """A sum of one column, or its largest, with noise of scale 1/ε = 1."""
    rows = {"distance": "1", "factor": "1", "cap": None, "edits": "1", "most": None, "cells": [0]}
    told = {"distance": sensitivity, "size": 1, "grid": "1", "capped": False, "monotone": True, "cells": [0]}
    return signed({
        "privjail certificate": 1,
        "data sets": [{"columns": [["x", domain]], "unit": [None, 1], "notion": {"kind": "pure"}}],
        "nodes": [
            {"kind": "source", "fields": [0], "claims": rows},
            {"kind": "column", "fields": [{"node": 0}, "x"], "claims": {"domain": domain}},
            {"kind": "tally", "fields": [{"node": 0}, [], {"node": 1}], "claims": told},
        ],
        "cells": [{"data set": 0}],
        "release": {
            "value": 2, "mechanism": {"kind": kind, "epsilon": "1"}, "charges": [[0, ["1"]]],
            "noise": {"grid": "1", "scale": sensitivity, "rate": "1/200", "sigma": "1", "sensitivity": sensitivity},
        },
    })  # fmt: skip


def changed(path: str, value: Any) -> Callable[[Made], None]:
    *inner, last = [int(x) if x.isdigit() else x for x in path.split("/")]

    def change(made: Any) -> None:
        for step in inner:
            made = made[step]
        made[last] = value

    return change


ZCDP = changed("data sets/0/notion", {"kind": "zcdp"})
SILENT = changed("release/noise/scale", "0")
FREE = changed("release/charges/0/1", ["0"])
FORGED: dict[str, list[Any]] = {
    "a negative ε": ["laplace", changed("release/mechanism/epsilon", "-1"), SILENT, FREE],
    "a ρ that Laplace noise does not have": ["laplace", changed("release/mechanism/rho", "0"), ZCDP, FREE],
    "a Rényi order of 0": ["laplace", changed("data sets/0/notion", {"kind": "renyi", "order": "0"}), FREE],
    "a Rényi order below 1": ["laplace", changed("data sets/0/notion", {"kind": "renyi", "order": "-5"}), FREE],
    "the best of none": ["noisy_max", changed("release/mechanism/k", 0), SILENT],
    "the best of minus one": ["noisy_max", changed("release/mechanism/k", -1), SILENT],
    "the best of a half": ["noisy_max", changed("release/mechanism/k", 0.5), changed("release/noise/scale", "50")],
    "a negative rate": ["exponential", changed("release/noise/rate", "-1000")],
    "a negative grid": ["laplace", changed("nodes/2/claims/grid", "-1"), changed("release/noise/grid", "-1"), SILENT],
    "a unit of no rows": [
        "laplace", changed("data sets/0/unit", [None, 0]), changed("nodes/0/claims/factor", "0"),
        changed("nodes/0/claims/edits", "0"), changed("nodes/0/claims/distance", "0"),
        changed("nodes/2/claims/distance", "0"), changed("release/noise/sensitivity", "0"), SILENT,
    ],
    "(ε, δ) noised for, ρ paid": [
        "gaussian", changed("release/mechanism/delta", "1/100"), changed("release/mechanism/rho", "1/1000"), ZCDP,
        changed("release/noise/sigma", "400"), changed("release/charges/0/1", ["1/1000"]),
    ],
    "a negative σ": [
        "gaussian", changed("release/mechanism/delta", "1/100"), changed("data sets/0/notion", {"kind": "approx"}),
        changed("release/noise/sigma", "-1"), changed("release/charges/0/1", ["1", "1/100"]),
    ],
    "not a number": ["laplace", changed("release/mechanism/epsilon", float("nan"))],
    "infinite": ["laplace", changed("release/noise/scale", float("inf"))],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["laplace", "noisy_max", "exponential"])
def test_what_is_not_forged_is_ok(kind: str) -> None:
    assert check(sum_of(AGE, "100", kind)).verdict == "ok"


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_number_is_not_ok(name: str) -> None:
    kind, *changes = FORGED[name]
    made = sum_of(AGE, "100", kind)
    for change in changes:
        change(made)

    assert check(signed(made)).verdict != "ok"


HUGE: list[Any] = [
    "1e999999999",
    "-1e-999999999",
    "1E+7",
    "0x10",
    "9" * 2001,
    "1/" + "9" * 10**6,
    10**4000,
    1e308,
    "1_0",
    " 1",
]
NUMBERS = [
    "release/mechanism/epsilon", "release/noise/scale", "release/noise/sensitivity", "release/noise/grid",
    "release/charges/0/1/0", "nodes/0/claims/distance", "nodes/0/claims/factor", "nodes/0/claims/cap",
    "nodes/0/claims/edits", "nodes/2/claims/distance", "nodes/2/claims/grid", "nodes/1/claims/domain/range/1",
]  # fmt: skip


@pytest.mark.parametrize("path", NUMBERS)
def test_a_number_too_long_to_compute_with_is_refused_at_once(path: str) -> None:
    for huge in HUGE:
        made = sum_of(json.loads(json.dumps(AGE)), "100")
        changed(path, huge)(made)
        start = time.perf_counter()
        report = check(signed(made))

        assert report.verdict == "cannot check" and "digits" in report.problems[0], (huge, report)
        assert time.perf_counter() - start < 1


def test_numbers_that_grow_are_not_followed() -> None:
    """Each factor may be read; their product may not be computed for ever."""
    made = sum_of(AGE, "100")
    told = {**made["nodes"][2]["claims"], "distance": None, "grid": "1", "monotone": False}
    for i in range(2, 3000):
        made["nodes"].append({"kind": "scale", "fields": [{"node": i}, {"fraction": "7" * 1999}], "claims": told})
    start = time.perf_counter()
    report = check(made)

    assert report.verdict == "cannot check" and "too long" in report.problems[0]
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("bounds", [[10**2500, None], [-(10**18), 10**18], [None, 10**4000]])
def test_a_slice_of_huge_ends_does_not_stall(bounds: Any) -> None:
    made = sum_of(AGE, "100")
    told = {"distance": "2", "factor": "2", "cap": None, "edits": "2", "most": None, "cells": [0]}
    made["nodes"].insert(1, {"kind": "slice", "fields": [{"node": 0}, *bounds], "claims": told})
    start = time.perf_counter()

    assert check(made).verdict != "ok"
    assert time.perf_counter() - start < 1


def test_a_condition_that_is_used_twice_sixty_times_does_not_stall() -> None:
    """Each column looks at the one before twice: 2**60 paths, 60 columns."""
    made = sum_of(AGE, "100")
    truth = {"type": "boolean", "null": False}
    made["nodes"].append(
        {"kind": "compare", "fields": ["==", {"node": 1}, {"literal": ["int", "3"]}], "claims": {"domain": truth}}
    )
    for i in range(3, 63):
        made["nodes"].append({"kind": "logic", "fields": ["&", {"node": i}, {"node": i}], "claims": {"domain": truth}})
    made["cells"].append({"of": 0, "base": 0, "by": 63, "key": ["bool", "True"]})
    told = {**made["nodes"][0]["claims"], "cells": [1]}
    made["nodes"].append({"kind": "filter", "fields": [{"node": 0}, {"node": 63}], "claims": told})
    made["nodes"].append(
        {
            "kind": "tally",
            "fields": [{"node": 64}, [], {"node": 1}],
            "claims": {**made["nodes"][2]["claims"], "cells": [1]},
        }
    )
    made["release"] |= {"value": 65, "charges": [[1, ["1"]]]}
    start = time.perf_counter()

    assert check(made).verdict == "ok", check(made).problems
    assert time.perf_counter() - start < 2


def test_an_empty_range_is_not_ok() -> None:
    assert check(sum_of({**AGE, "range": ["1", "-1"]}, "-1")).verdict != "ok"


@pytest.mark.parametrize(("before", "after"), [(-1, 0), (0, -1), ({"fraction": "-1/2"}, 0)])
def test_a_window_of_a_negative_number_of_rows_is_not_ok(before: Any, after: Any) -> None:
    made = sum_of(AGE, "0")
    window = {"distance": "0", "factor": "0", "cap": None, "edits": "0", "most": None, "cells": [0]}
    carried = {"kind": "carried", "fields": [{"node": 2}, {"node": 1}], "claims": {"domain": AGE}}
    made["nodes"][2:2] = [{"kind": "window", "fields": [{"node": 0}, before, after], "claims": window}, carried]
    made["nodes"][4]["fields"] = [{"node": 2}, [], {"node": 3}]
    made["release"]["value"] = 4

    assert check(made).verdict != "ok"


def test_a_look_at_other_rows_needs_a_window() -> None:
    """A slice has two whole numbers as well; but its distance does not count what a look at other rows moves."""
    made = sum_of(AGE, "200")
    head = {"distance": "2", "factor": "2", "cap": None, "edits": "2", "most": None, "cells": [0]}
    lag = {"kind": "lag", "fields": [{"node": 2}, {"node": 1}, 1], "claims": {"domain": {**AGE, "null": True}}}
    made["nodes"][2:2] = [{"kind": "slice", "fields": [{"node": 0}, 1, 9], "claims": head}, lag]
    made["nodes"][4]["fields"] = [{"node": 2}, [], {"node": 3}]
    made["nodes"][4]["claims"]["monotone"] = False
    made["release"]["value"] = 4

    assert check(made).problems[0].startswith("node 3 (lag)")


def column(type_: str, lo: Any = -inf, hi: Any = inf, null: bool = False, labels: Any = ()) -> Column:
    return Column(0, "column", [], Domain(type_, null, lo, hi, tuple(labels)), 0)


def whole(lo: int, hi: int, null: bool = False) -> Domain:
    return Domain("Int64", null, lo, hi)


MANY = [f"label {i}" for i in range(5000)]
FULL, UNIT, TEXT = column("Int64", 0, 100), column("Float64", 0.0, 1.0), column("string")
NARROW: dict[str, tuple[str, list[Any], Domain]] = {
    "remainders": ("arithmetic", ["%", FULL, column("Int64", 7, 7)], whole(0, 2)),
    "remainders of other divisors": ("arithmetic", ["%", column("Int64", 10, 10), column("Int64", 3, 8)], whole(0, 3)),
    "divided by nearly nothing": ("arithmetic", ["/", UNIT, UNIT], Domain("Float64", True, 0.0, 2.0)),
    "the logarithm of nearly nothing": ("function", ["log", UNIT, 0], Domain("Float64", True, -1.0, 0.0)),
    "just before an overflow": (
        "arithmetic", ["*", column("Int64", 0, 2**40), column("Int64", 0, 2**40)], whole(0, 2**40, True)),
    "exp before it overflows": (
        "function", ["exp", column("Float64", 0.0, 1000.0), 0], Domain("Float64", True, 1.0, 3.0)),
    "a key between the ends": ("recode", [FULL, [[50, 9999]], 1], whole(0, 100)),
    "a key that is a text": ("recode", [TEXT, [["zebra", 9999]], 0], whole(0, 1, True)),
    "an interval between the ends": (
        "cut", [FULL, [10 * i for i in range(-1, 12)], [str(i) for i in range(12)], 1, 0],
        Domain("category", False, labels=("0", "10", "9"))),
    "what missing values are filled with": (
        "fillnull", [column("Int64", 0, 100, null=True), column("Int64", 500, 500)], whole(0, 100, True)),
    "what is not missing": ("fillnull", [column("Int64", 0, 100, null=True), column("Int64", 5, 5)], whole(5, 5)),
    "what is missing is not filled": (
        "fillnull", [column("Int64", 0, 100, null=True), column("Int64", 5, 5, null=True)], whole(0, 100)),
    "what is clipped to the lower bound": ("clip", [FULL, 10, 20], whole(11, 20)),
    "what is clipped to the upper bound": ("clip", [FULL, 10, 20], whole(10, 19)),
    "what is not clipped below": ("clip", [FULL, None, 20], whole(1, 20)),
    "what is not clipped above": ("clip", [FULL, 10, None], whole(10, 99)),
    "the higher interval": ("cut", [FULL, [0, 50, 100], ["low", "high"], 1, 1], Domain("category", True, labels=("low",))),
    "the lower interval": ("cut", [FULL, [0, 50, 100], ["low", "high"], 1, 1], Domain("category", True, labels=("high",))),
    "the lowest value, which is in no interval": (
        "cut", [FULL, [0, 50, 100], ["low", "high"], 1, 0], Domain("category", False, labels=("low", "high"))),
    "the highest value, which is in no interval": (
        "cut", [FULL, [0, 50, 100], ["low", "high"], 0, 0], Domain("category", False, labels=("low", "high"))),
    "a value between two edges": (
        "cut", [column("Int64", 50, 50), [0, 50, 100], ["low", "high"], 1, 0], Domain("category", False, labels=("high",))),
    "a value at the left edge": (
        "cut", [column("Int64", 50, 50), [0, 50, 100], ["low", "high"], 0, 0], Domain("category", False, labels=("low",))),
    "a label between the ends": (
        "categorise", [FULL, [0, 50], 0], Domain("category", True, labels=(0,))),
    "numbers in texts": ("cast", [TEXT, "Int64"], whole(-5, 7, True)),
    "the length of texts": ("text", ["len", TEXT, []], whole(0, 4)),
    "hours": ("part", ["hour", column("datetime64[us]", 0, 10**15)], whole(17, 23)),
    "years": ("part", ["year", column("datetime64[us]")], whole(1000, 9000, True)),
    "the last days of a year": (
        "part", ["year", column("datetime64[us]", -864_000_000_000, -864_000_000_000)], whole(1970, 1970)),
    "a part that is none": ("part", ["fold", column("datetime64[us]", 0, 10**15)], whole(0, 0)),
    "a function that is none": ("function", ["sin", column("Float64", 0.0, 0.1), 0], Domain("Float64", False, 0.0, 0.5)),
    "a comparison that is none": ("compare", [">=", FULL, 100], Domain("boolean", False)),
    "too many labels to try": (
        "recode", [column("category", labels=MANY * 5), [["label 4999", 9999]], 0], whole(0, 0, True)),
    "nothing to try": ("where", [column("category"), FULL, FULL], whole(0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_a_domain_that_is_too_narrow_is_not_ok(name: str) -> None:
    kind, fields, claim = NARROW[name]
    with pytest.raises((Refuted, CannotCheck, KeyError)):
        check_domain(row_wise_column(1, kind, fields, claim))
