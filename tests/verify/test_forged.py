"""Certificates that are forged by hand: numbers, names and domains that only look checked."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from fractions import Fraction
from math import e, inf, log
from typing import Any

import pytest

from privjail.verify.checker import check
from privjail.verify.checker.columns import Col, Dom, Wrong
from privjail.verify.checker.tables import window

Made = dict[str, Any]
AGE = {"type": "Int64", "null": False, "range": ["0", "100"]}


def signed(made: Made) -> Made:
    for each in made["data sets"]:
        public = json.dumps({"columns": each["columns"], "unit": each["unit"]}, sort_keys=True)
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


def column(type_: str, lo: Any = -inf, hi: Any = inf, null: bool = False, labels: Any = ()) -> Col:
    return Col(0, "column", [], [], {}, Dom(type_, null, lo, hi, tuple(labels)), 0)


def whole(lo: int, hi: int, null: bool = False) -> Dom:
    return Dom("Int64", null, lo, hi)


MANY = [f"label {i}" for i in range(5000)]
FULL, UNIT, TEXT = column("Int64", 0, 100), column("Float64", 0.0, 1.0), column("string")
NARROW: dict[str, tuple[str, list[Any], Dom]] = {
    "remainders": ("arithmetic", ["%", FULL, column("Int64", 7, 7)], whole(0, 2)),
    "remainders of other divisors": ("arithmetic", ["%", column("Int64", 10, 10), column("Int64", 3, 8)], whole(0, 3)),
    "divided by nearly nothing": ("arithmetic", ["/", UNIT, UNIT], Dom("Float64", True, 0.0, 2.0)),
    "the logarithm of nearly nothing": ("function", ["log", UNIT, 0], Dom("Float64", True, -1.0, 0.0)),
    "just before an overflow": (
        "arithmetic", ["*", column("Int64", 0, 2**40), column("Int64", 0, 2**40)], whole(0, 2**40, True)),
    "exp before it overflows": (
        "function", ["exp", column("Float64", 0.0, 1000.0), 0], Dom("Float64", True, 1.0, 3.0)),
    "a key between the ends": ("recode", [FULL, [[50, 9999]], 1], whole(0, 100)),
    "a key that is a text": ("recode", [TEXT, [["zebra", 9999]], 0], whole(0, 1, True)),
    "an interval between the ends": (
        "cut", [FULL, [10 * i for i in range(-1, 12)], [str(i) for i in range(12)], 1, 0],
        Dom("category", False, labels=("0", "10", "9"))),
    "what missing values are filled with": (
        "fillnull", [column("Int64", 0, 100, null=True), column("Int64", 500, 500)], whole(0, 100)),
    "what is not missing": ("fillnull", [column("Int64", 0, 100, null=True), column("Int64", 5, 5)], whole(5, 5)),
    "what is missing is not filled": (
        "fillnull", [column("Int64", 0, 100, null=True), column("Int64", 5, 5, null=True)], whole(0, 100)),
    "the higher interval": ("cut", [FULL, [0, 50, 100], ["low", "high"], 1, 1], Dom("category", True, labels=("low",))),
    "the lower interval": ("cut", [FULL, [0, 50, 100], ["low", "high"], 1, 1], Dom("category", True, labels=("high",))),
    "the lowest value, which is in no interval": (
        "cut", [FULL, [0, 50, 100], ["low", "high"], 1, 0], Dom("category", False, labels=("low", "high"))),
    "the highest value, which is in no interval": (
        "cut", [FULL, [0, 50, 100], ["low", "high"], 0, 0], Dom("category", False, labels=("low", "high"))),
    "a value between two edges": (
        "cut", [column("Int64", 50, 50), [0, 50, 100], ["low", "high"], 1, 0], Dom("category", False, labels=("high",))),
    "a value at the left edge": (
        "cut", [column("Int64", 50, 50), [0, 50, 100], ["low", "high"], 0, 0], Dom("category", False, labels=("low",))),
    "a label between the ends": (
        "categorise", [FULL, [0, 50], 0], Dom("category", True, labels=(0,))),
    "numbers in texts": ("cast", [TEXT, "Int64"], whole(-5, 7, True)),
    "the length of texts": ("text", ["len", TEXT, []], whole(0, 4)),
    "hours": ("part", ["hour", column("datetime64[us]", 0, 10**15)], whole(17, 23)),
    "years": ("part", ["year", column("datetime64[us]")], whole(1000, 9000, True)),
    "a part that is none": ("part", ["fold", column("datetime64[us]", 0, 10**15)], whole(0, 0)),
    "a function that is none": ("function", ["sin", column("Float64", 0.0, 0.1), 0], Dom("Float64", False, 0.0, 0.5)),
    "a comparison that is none": ("compare", [">=", FULL, 100], Dom("boolean", False)),
    "too many labels to try": (
        "recode", [column("category", labels=MANY * 5), [["label 4999", 9999]], 0], whole(0, 0, True)),
    "nothing to try": ("where", [column("category"), FULL, FULL], whole(0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_a_domain_that_is_too_narrow_is_not_ok(name: str) -> None:
    kind, fields, claim = NARROW[name]
    with pytest.raises((Wrong, NotImplementedError, KeyError)):
        Col(1, kind, fields, [x for x in fields if isinstance(x, Col)], {}, claim, 0).checked()


SIGNED = {**AGE, "range": ["-100", "100"]}
HEAD = {"distance": "2", "factor": "2", "cap": None, "edits": "2", "most": 9, "cells": [0]}


def of_signs(made: Made) -> Made:
    """A column of both signs: a row can raise or lower the sum."""
    return sum_of(SIGNED, "100", "noisy_max")


def of_a_head(made: Made) -> Made:
    """One row comes in, another one goes out: two groups move in two directions."""
    carried = {"kind": "carried", "fields": [{"node": 2}, {"node": 1}], "claims": {"domain": AGE}}
    made["nodes"][2:2] = [{"kind": "slice", "fields": [{"node": 0}, None, 9], "claims": HEAD}, carried]
    made["nodes"][4] = {**made["nodes"][4], "fields": [{"node": 2}, [], {"node": 3}]}
    made["nodes"][4]["claims"]["distance"] = "200"
    made["release"]["value"] = 4
    made["release"]["noise"] |= {"sensitivity": "200", "scale": "200"}
    return made


def of_a_user(made: Made) -> Made:
    """A user of two rows: one can be new, and the other be gone."""
    made["data sets"][0]["unit"] = [None, 2]
    made["nodes"][0]["claims"] |= {"distance": "2", "factor": "2", "edits": "2"}
    made["nodes"][2]["claims"]["distance"] = "200"
    made["release"]["noise"] |= {"sensitivity": "200", "scale": "200"}
    return signed(made)


def of_an_absolute(made: Made) -> Made:
    told = {**made["nodes"][2]["claims"]}
    made["nodes"].append({"kind": "absolute", "fields": [{"node": 2}], "claims": told})
    made["release"]["value"] = 3
    return made


def of_a_sum(made: Made) -> Made:
    told = {**made["nodes"][2]["claims"], "distance": "200"}
    made["nodes"].append({"kind": "add", "fields": [{"node": 2}, {"node": 2}], "claims": told})
    made["release"]["value"] = 3
    made["release"]["noise"] |= {"sensitivity": "200", "scale": "200"}
    return made


def of_a_stack(made: Made) -> Made:
    told = {**made["nodes"][2]["claims"], "size": 2}
    made["nodes"].append({"kind": "stack", "fields": [[{"node": 2}, {"node": 2}], [0, 1]], "claims": told})
    made["release"]["value"] = 3
    return made


def of_ranks(made: Made) -> Made:
    told = {**made["nodes"][2]["claims"], "distance": "1/2", "size": 2, "grid": "1/2"}
    fields = [{"node": 0}, {"node": 1}, [{"literal": ["int", str(x)]} for x in (1, 2)],
              *({"fraction": x} for x in ("1/2", "1/2", "0"))]  # fmt: skip
    made["nodes"][2] = {"kind": "ranks", "fields": fields, "claims": told}
    made["release"]["noise"] |= {"sensitivity": "1/2", "scale": "1", "grid": "1/2"}
    return made


MOVING = [of_signs, of_a_head, of_a_user, of_an_absolute, of_a_sum, of_a_stack, of_ranks]


@pytest.mark.parametrize("of", MOVING)
def test_a_forged_direction_is_refuted(of: Callable[[Made], Made]) -> None:
    """Whoever calls a value monotone adds half of the noise that a noisy maximum needs."""
    made = of(sum_of(AGE, "100", "noisy_max"))
    report = check(json.loads(json.dumps(made)))
    assert report.verdict == "refuted" and "direction" in report.problems[0], report

    made["nodes"][-1]["claims"]["monotone"] = False
    report = check(json.loads(json.dumps(made)))
    assert report.verdict == "refuted" and "noise is too small" in report.problems[0], report

    scale = made["release"]["noise"]["scale"]
    made["release"]["noise"]["scale"] = str(2 * int(scale))
    assert check(json.loads(json.dumps(made))).verdict == "ok", check(made)
    made["release"]["noise"]["scale"] = str(2 * int(scale) - 1)
    assert check(made).verdict == "refuted"


@pytest.mark.parametrize("domain", [AGE, {**AGE, "range": ["-100", "0"]}])
def test_a_direction_that_is_true_is_taken(domain: Any) -> None:
    assert check(sum_of(domain, "100", "noisy_max")).verdict == "ok"


@pytest.mark.parametrize("k, null", [(-1, False), (1, False)])
def test_a_look_at_other_rows_may_find_none(k: int, null: bool) -> None:
    made = sum_of(AGE, "300")
    window = {"distance": "5", "factor": "5", "cap": None, "edits": "5", "most": None, "cells": [0]}
    for told in (True, False):
        lag = {"kind": "lag", "fields": [{"node": 2}, {"node": 1}, k], "claims": {"domain": {**AGE, "null": told}}}
        made["nodes"][2:] = [{"kind": "window", "fields": [{"node": 0}, 1, 1], "claims": window}, lag]
        made["release"]["value"] = 0
        refused = [p for p in check(json.loads(json.dumps(made))).problems if "node 3 (lag)" in p]
        assert bool(refused) is not told


@pytest.mark.parametrize("wide", [0, 1])
def test_columns_of_different_rows_are_not_put_together(wide: int) -> None:
    """V-17: a column of the data set beside one of its first rows would pair rows that do not belong together."""
    made = sum_of(AGE, "100")
    carried = {"kind": "carried", "fields": [{"node": 2}, {"node": 1}], "claims": {"domain": AGE}}
    larger = {"domain": {**AGE, "range": ["0", "200"]}}
    made["nodes"][2:] = [
        {"kind": "slice", "fields": [{"node": 0}, None, 9], "claims": HEAD}, carried,
        {"kind": "arithmetic", "fields": ["+", {"node": 3}, {"node": 1 if wide else 3}], "claims": larger},
        {"kind": "tally", "fields": [{"node": 2}, [], {"node": 4}],
         "claims": {"distance": "400", "size": 1, "grid": "1", "capped": False, "monotone": False, "cells": [0]}},
    ]  # fmt: skip
    made["release"] |= {"value": 5}
    made["release"]["noise"] |= {"sensitivity": "400", "scale": "400"}
    report = check(made)

    assert report.verdict == ("refuted" if wide else "ok"), report
    assert not wide or "different rows" in report.problems[0]


def test_the_column_of_other_rows_is_not_summed() -> None:
    made = sum_of(AGE, "100")
    made["nodes"][2:2] = [{"kind": "slice", "fields": [{"node": 0}, None, 9], "claims": HEAD}]
    made["nodes"][3] |= {"fields": [{"node": 2}, [], {"node": 1}]}
    made["nodes"][3]["claims"] |= {"distance": "200", "monotone": False}
    made["release"] |= {"value": 3}

    assert "different rows" in check(made).problems[0]


@pytest.mark.parametrize("moved, grid, verdict", [("1/3", "1/3", "ok"), ("1/3", "1/6", "ok"), ("1/3", "1", "refuted"),
                                                  ("3/2", "1/2", "ok"), ("3/2", "3/2", "refuted"), ("2", "2", "refuted"),
                                                  ("2", "1", "ok")])  # fmt: skip
def test_the_grid_of_a_moved_number_is_one_that_both_lie_on(moved: str, grid: str, verdict: str) -> None:
    """V-8: noise on a grid that the value does not lie on shows which of its points it lies between."""
    made = sum_of(AGE, "100")
    told = {**made["nodes"][2]["claims"], "grid": grid}
    made["nodes"].append({"kind": "offset", "fields": [{"node": 2}, {"fraction": moved}], "claims": told})
    made["release"] |= {"value": 3}
    made["release"]["noise"] |= {"grid": grid, "scale": "1000"}

    assert check(made).verdict == verdict, check(made)


def tried(chain: list[list[int | None]]) -> tuple[int, int]:
    """How far a chain of slices moves, and its most rows: every table up to 24 rows, every place for one row more."""
    moved, most = 0, 0
    for n in range(24):
        for at in range(n + 1):
            old, new = list(range(n)), [*range(at), "new", *range(at, n)]
            for start, stop in chain:
                old, new = old[start:stop], new[start:stop]
            most = max(most, len(new))
            # rows are all different, and stand in the same order: what both have is their longest common part
            moved = max(moved, len(old) + len(new) - 2 * len({*old} & {*new}))
    return moved, most


ENDS = (None, 0, 1, 3, -1, -3)
CHAINS = [[[a, b]] for a in ENDS for b in ENDS]
CHAINS += [[[a, None], [None, b]] for a in ENDS for b in ENDS] + [[[-4, 5], [a, b]] for a in ENDS for b in ENDS]
CHAINS += [[[a, b], [-2, 4]] for a in ENDS for b in ENDS] + [[[1, None], [-6, 4], [None, -1]]]


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_the_checker_knows_how_far_a_chain_of_slices_moves(chain: list[list[int | None]]) -> None:
    """V-23: without the library's own rules."""
    moved, most = window(chain)
    true, widest = tried(chain)

    assert moved == true and (most == widest or (most == inf and widest >= 15))


# Just enough noise for a sum that moves by 100, and what it costs: a mechanism, its parameters, noise, notion and charge.
ENOUGH: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str], list[str]]] = {
    "laplace": ({"kind": "laplace", "epsilon": "1"}, {"scale": "100"}, {"kind": "pure"}, ["1"]),
    "laplace, half of ε": ({"kind": "laplace", "epsilon": "1/2"}, {"scale": "200"}, {"kind": "pure"}, ["1/2"]),
    "laplace under (ε, δ)": ({"kind": "laplace", "epsilon": "1"}, {"scale": "100"}, {"kind": "approx"}, ["1", "0"]),
    "laplace under ρ": ({"kind": "laplace", "epsilon": "1"}, {"scale": "100"}, {"kind": "zcdp"}, ["1/2"]),
    "exponential": ({"kind": "exponential", "epsilon": "1"}, {"rate": "1/200"}, {"kind": "pure"}, ["1"]),
    "exponential under ρ": ({"kind": "exponential", "epsilon": "1"}, {"rate": "1/200"}, {"kind": "zcdp"}, ["1/8"]),
    "noisy max": ({"kind": "noisy_max", "epsilon": "1"}, {"scale": "100"}, {"kind": "pure"}, ["1"]),
    "above threshold": (
        {"kind": "above_threshold", "epsilon": "1"}, {"scale": "400", "outer": "200"}, {"kind": "pure"}, ["1"]),
    "gaussian by ρ": ({"kind": "gaussian", "rho": "1/2"}, {"sigma": "100"}, {"kind": "zcdp"}, ["1/2"]),
    "gaussian by (ε, δ)": (
        {"kind": "gaussian", "epsilon": "1", "delta": "1/100"}, {"sigma": "187.8"}, {"kind": "approx"}, ["1", "1/100"]),
}  # fmt: skip


def released(name: str) -> Made:
    mechanism, noise, notion, cost = ENOUGH[name]
    made = sum_of(AGE, "100")
    made["data sets"][0]["notion"] = notion
    made["release"] |= {"mechanism": {**mechanism}, "charges": [[0, list(cost)]]}
    made["release"]["noise"] = {"grid": "1", "sensitivity": "100", **{k: str(Fraction(x)) for k, x in noise.items()}}
    return signed(made)


@pytest.mark.parametrize("name", ENOUGH)
def test_just_enough_noise_is_ok_and_a_thousandth_less_is_refuted(name: str) -> None:
    assert check(released(name)).verdict == "ok", check(released(name))
    for what in ENOUGH[name][1]:
        made = released(name)
        enough = Fraction(made["release"]["noise"][what])
        factor = Fraction(1001, 1000) if what == "rate" else Fraction(999, 1000)
        made["release"]["noise"][what] = str(enough * factor)
        report = check(made)
        assert report.verdict == "refuted" and "noise is too small" in report.problems[0], (what, report)


@pytest.mark.parametrize("name", ENOUGH)
def test_every_part_of_the_cost_is_compared_v56(name: str) -> None:
    """V-56: ε and δ are two numbers, and each must be paid."""
    for i, each in enumerate(ENOUGH[name][3]):
        made = released(name)
        if Fraction(each):
            made["release"]["charges"][0][1][i] = str(Fraction(each) * Fraction(999, 1000))
            report = check(made)
            assert report.verdict == "refuted" and "the cost" in report.problems[0], report


def test_a_renyi_budget_is_charged_what_the_noise_costs_at_its_order() -> None:
    for mechanism, noise, rho in (("laplace", {"scale": "100"}, 0.5), ("exponential", {"rate": "1/200"}, 0.125)):
        made = released(mechanism)
        made["data sets"][0]["notion"] = {"kind": "renyi", "order": "2"}
        made["release"]["noise"] |= noise
        randomised = log((e**2 + e**-1) / (1 + e))  # of randomised response with ε = 1 at order 2
        due = Fraction(min(2 * rho, randomised))
        for share, verdict in ((Fraction(10**6 + 1, 10**6), "ok"), (Fraction(999, 1000), "refuted")):
            made["release"]["charges"] = [[0, [str(due * share)]]]
            assert check(signed(made)).verdict == verdict, (mechanism, share, check(made))


def test_what_is_not_charged_at_all_is_refuted() -> None:
    made = sum_of(AGE, "100")
    made["release"]["charges"] = []
    assert "not charged" in check(made).problems[0]
