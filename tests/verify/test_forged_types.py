"""Certificates that use what Python takes for equal or true: -1 for yes, True for 1, a range on a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from privjail.plan.domain import IntDomain
from privjail.verify.checker import check
from privjail.verify.checker.columns import check_domain, row_wise_column
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.reading import constant
from privjail.verify.checker.reading import whole_number
from privjail.verify.checker.verdict import CannotCheck, Refuted

from .test_forged import AGE, Made, column, signed, sum_of, whole
from .test_forged_claims import of_an_absolute

COUNT = {"distance": "1", "size": 1, "grid": "1", "capped": False, "monotone": True, "cells": [0]}


def count_on_a_coarse_grid() -> Made:
    """A count that is said to be even: on the grid of 2 it moves by floor(1/2) = 0 steps, so no noise is needed."""
    made = sum_of(AGE, "1")
    made["nodes"][2] = {"kind": "tally", "fields": [{"node": 0}, [], None], "claims": COUNT | {"grid": "2"}}
    made["release"]["noise"] |= {"grid": "2", "scale": "0"}
    return made


def direction_of_minus_one() -> Made:
    """-1 is less than False, so it was no larger claim; but it is true, so it halved the noise of a noisy maximum."""
    made = of_an_absolute(sum_of(AGE, "100", "noisy_max"))
    made["nodes"][3]["claims"]["monotone"] = -1
    return made


def nulls_that_are_not_tried() -> Made:
    """A column that is "-1 nullable" held null, but null was not tried: what it is filled with was not counted."""
    odd = {**AGE, "null": -1}
    made = sum_of(odd, "100")
    more = {"type": "Int64", "null": False, "range": ["5000", "5000"]}
    made["nodes"][2:2] = [
        {"kind": "constant", "fields": [{"literal": ["int", "5000"]}], "claims": {"domain": more}},
        {"kind": "fillnull", "fields": [{"node": 1}, {"node": 2}], "claims": {"domain": AGE}},
    ]
    made["nodes"][4]["fields"] = [{"node": 0}, [], {"node": 3}]
    made["release"]["value"] = 4
    return made


def sum_of_labels() -> Made:
    """A category has no range: with one, its sum was said to move by 0."""
    labels = {"type": "category", "null": False, "labels": [["int", "1"], ["int", "99"]], "range": ["0", "0"]}
    return sum_of({**labels, "ordered": False}, "0")


def sum_of_texts() -> Made:
    return sum_of({"type": "string", "null": False, "range": ["0", "0"]}, "0")


def sum_of_an_unknown_type() -> Made:
    return sum_of({"type": "complex128", "null": False, "range": ["0", "1"]}, "1")


def label_true_for_label_one() -> Made:
    """The label 1 claimed as True: the filter x == 1 then seemed to keep nothing, and nothing was charged."""
    real = {"type": "category", "null": False, "labels": [["int", "1"], ["int", "2"]], "ordered": False}
    forged = {**real, "labels": [["bool", "True"], ["int", "2"]]}
    truth = {"domain": {"type": "boolean", "null": False}}
    made = sum_of(real, "0")
    made["nodes"][1]["claims"]["domain"] = forged
    kept = {"distance": "0", "factor": "1", "cap": None, "edits": "1", "most": None, "cells": []}
    told = COUNT | {"distance": "0", "cells": []}
    made["nodes"][2:] = [
        {"kind": "compare", "fields": ["==", {"node": 1}, {"literal": ["int", "1"]}], "claims": truth},
        {"kind": "filter", "fields": [{"node": 0}, {"node": 2}], "claims": kept},
        {"kind": "tally", "fields": [{"node": 3}, [], None], "claims": told},
    ]
    made["release"] |= {"value": 4, "charges": []}
    return made


FORGED = [
    count_on_a_coarse_grid, direction_of_minus_one, nulls_that_are_not_tried, sum_of_labels, sum_of_texts,
    sum_of_an_unknown_type, label_true_for_label_one,
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED)
def test_what_only_python_takes_for_equal_is_not_ok(forged: Callable[[], Made]) -> None:
    """V-11: each of these was ok for an earlier checker, and hid a sensitivity."""
    assert check(signed(json.loads(json.dumps(forged())))).verdict != "ok"


@pytest.mark.parametrize(
    "path", [("nodes", 2, "fields", 0, "node"), ("release", "value"), ("release", "charges", 0, 0)]
)
def test_a_reference_from_the_end_is_not_followed(path: tuple[Any, ...]) -> None:
    made: Any = sum_of(AGE, "100")
    *inner, last = path
    at = made
    for step in inner:
        at = at[step]
    at[last] = {"node": -2, "value": -1}.get(last, -1)

    assert check(made).verdict == "cannot check"


NARROW = {
    "a remainder of floats": (
        "arithmetic", ["%", column("Float64", 0.0, 100.0), column("Float64", 7.0, 7.0)], Domain("Float64", False, 0.0, 6.0)),
    "a remainder of a whole number and a float": (
        "arithmetic", ["%", column("Int64", 0, 100), column("Float64", 7.0, 7.0)], Domain("Float64", False, 0.0, 6.0)),
    "a remainder by a label": (
        "arithmetic", ["%", column("Int64", 0, 100), column("category", labels=(0.37,))], Domain("Float64", False, -1.0, 0.3)),
    "a remainder by a label below 0": (
        "arithmetic", ["%", column("Int64", 0, 100), column("category", labels=(-0.37,))], Domain("Float64", False, -0.3, 1.0)),
    "edges that fall": (
        "cut", [column("Int64", 0, 100), [100, 50, 0], ["a", "b"], 1, 0], Domain("category", True, labels=("a", "b"))),
    "one label for two intervals": (
        "cut", [column("Int64", 0, 100), [0, 50, 100], ["a", "a"], 1, 0], Domain("category", True, labels=("a",))),
    "an hour beyond the calendar": ("part", ["hour", column("datetime64[us]")], whole(0, 23)),
    "a year beyond the calendar": ("part", ["year", column("datetime64[us]")], whole(-250_000, 250_000, null=True)),
    "a year at the end of 64 bits": ("part", ["year", column("datetime64[us]", 0, 2**63 - 1)], whole(1970, 9999, null=True)),
    "an hour at the end of 64 bits": ("part", ["hour", column("datetime64[us]", 0, 2**63 - 1)], whole(0, 23)),
    "a day beyond the calendar": ("part", ["day", column("datetime64[us]", -(2**63) + 5, 0)], whole(1, 31)),
    "a moment later than any tried": (
        "fillnull", [column("datetime64[us]", null=True), column("datetime64[us]", 5, 5)],
        Domain("datetime64[us]", False, -(2**63), 10**18)),
    "a moment earlier than any tried": (
        "where", [column("boolean"), column("datetime64[us]"), column("datetime64[us]", 5, 5)],
        Domain("datetime64[us]", False, -(10**18), 2**63 - 1)),
    "the number after a key that goes": ("recode", [column("Int64", 10, 100), [[10, 50]], 1], whole(12, 100)),
    "the number before a key that goes": ("recode", [column("Int64", 10, 100), [[100, 50]], 1], whole(10, 98)),
    "divided by zero": (
        "arithmetic", ["/", column("Int64", 1, 100), column("Int64", -10, 10)], Domain("Float64", False, -100.0, 100.0)),
    "divided by minus one": (
        "arithmetic", ["/", column("Int64", 1, 100), column("Int64", -10, 10)], Domain("Float64", True, -50.0, 100.0)),
    "a text that is neither true nor false": ("cast", [column("string"), "boolean"], Domain("boolean", False)),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_a_domain_that_an_earlier_checker_took_is_not_ok(name: str) -> None:
    kind, fields, claim = NARROW[name]
    with pytest.raises((Refuted, CannotCheck)):
        check_domain(row_wise_column(1, kind, fields, claim))


def test_a_moment_without_a_bound_can_be_any_of_64_bits() -> None:
    """A date that is filled in where one is missing; and the parts of a date are null beyond every calendar."""
    moments = column("datetime64[us]", null=True)
    filled = ("fillnull", [moments, column("datetime64[us]", 5, 5)])

    check_domain(row_wise_column(1, *filled, Domain("datetime64[us]", False)))
    check_domain(row_wise_column(1, *filled, Domain("datetime64[us]", False, -(2**63), 2**63 - 1)))
    check_domain(row_wise_column(1, "part", ["year", moments], Domain("Int64", True)))
    check_domain(row_wise_column(1, "compare", ["<", moments, 5], Domain("boolean", True)))


@pytest.mark.parametrize(
    "given, read", [(3, True), (2, True), (1, False), (-3, False), (True, False), (3.0, False), ("3", False)]
)
def test_a_whole_number_is_no_other_number_and_not_too_small(given: Any, read: bool) -> None:
    if read:
        assert whole_number(given, 2) == given
    else:
        with pytest.raises(Refuted):
            whole_number(given, 2)
    with pytest.raises(Refuted):
        whole_number(True, 1)


@pytest.mark.parametrize("size, finite", [(99_999, True), (100_000, True), (100_001, False)])
def test_whole_numbers_are_a_list_of_groups_as_long_as_in_the_library(size: int, finite: bool) -> None:
    """Or the cells of a sample's rows would follow from its filters in two ways."""
    ours, theirs = whole(1, size).keys(), IntDomain(False, 1, size).labels

    assert (len(ours) == size) is finite is (theirs is not None) and bool(ours) is finite


def test_another_version_is_not_read() -> None:
    assert check(sum_of(AGE, "100") | {"privjail certificate": 2}).verdict == "cannot check"


@pytest.mark.parametrize("node", [0, 1])
def test_only_private_numbers_are_released(node: int) -> None:
    made = sum_of(AGE, "100")
    made["release"]["value"] = node
    report = check(made)

    assert (report.verdict, report.problems) == ("refuted", ["release: only private numbers are released"])


@pytest.mark.parametrize(
    "kind, fields, says",
    [
        ("sort", [3], "rows by sort"),
        ("filter", [{"node": 0}, {"node": 0}], "rows by filter"),
        ("scale", [{"node": 0}, {"fraction": "2"}], "numbers by scale"),
        ("carried", [{"node": 0}, {"node": 1}], "a column by carried"),
        ("lookup", [{"node": 0}], "a column by lookup"),
    ],
)
def test_a_node_with_fields_that_no_rule_knows_cannot_be_checked(kind: str, fields: list[Any], says: str) -> None:
    made = sum_of(AGE, "100")
    claims = {**made["nodes"][0]["claims"], **made["nodes"][1]["claims"], **made["nodes"][2]["claims"]}
    made["nodes"].insert(2, {"kind": kind, "fields": fields, "claims": claims})
    report = check(made)

    assert report.verdict == "cannot check" and says in report.problems[0], report


@pytest.mark.parametrize("kind, fields", [("logic", ["&", column("boolean"), column("Int64", 0, 1)]),
                                          ("logic", ["|", column("string"), column("boolean")]),
                                          ("not", [column("Int64", 0, 1)])])  # fmt: skip
def test_logic_is_about_true_and_false_only(kind: str, fields: list[Any]) -> None:
    with pytest.raises(CannotCheck):
        check_domain(row_wise_column(1, kind, fields, Domain("boolean", True)))


@pytest.mark.parametrize(
    "written", [["bool", True], ["bool", "yes"], ["bool", []], ["text", 5], ["int", 5], ["float", "nan"]]
)
def test_a_constant_is_spelled_as_text(written: Any) -> None:
    with pytest.raises(CannotCheck):
        constant(written)


@pytest.mark.parametrize("paid", [[0, 1], [0], [1], []])
def test_each_data_set_is_charged_by_itself(paid: list[int]) -> None:
    """V-56: a value that depends on two data sets is paid from both budgets."""
    made = sum_of(AGE, "100")
    made["data sets"].append(json.loads(json.dumps(made["data sets"][0])))
    made["cells"].append({"data set": 1})
    second = json.loads(json.dumps(made["nodes"]))
    second[0] |= {"fields": [1], "claims": {**second[0]["claims"], "cells": [1]}}
    second[1]["fields"] = [{"node": 3}, "x"]
    second[2] |= {"fields": [{"node": 3}, [], {"node": 4}], "claims": {**second[2]["claims"], "cells": [1]}}
    told = {**made["nodes"][2]["claims"], "distance": "200", "monotone": False, "cells": [0, 1]}
    made["nodes"] += [*second, {"kind": "add", "fields": [{"node": 2}, {"node": 5}], "claims": told}]
    made["release"] |= {"value": 6, "charges": [[cell, ["1"]] for cell in paid]}
    made["release"]["noise"] |= {"sensitivity": "200", "scale": "200"}
    report = check(signed(made))

    assert report.verdict == ("ok" if paid == [0, 1] else "refuted"), report


def of_group_heads(key: int) -> Made:
    """At most 3 rows of each value of a key, of users with up to 5 rows; node 1 says whose row it is."""
    made = sum_of(AGE, "3")
    made["data sets"][0] |= {"columns": [["x", AGE], ["who", AGE]], "unit": ["who", 5]}
    made["nodes"][0]["claims"] |= {"distance": "5", "factor": "5", "edits": "5"}
    head = {"distance": "3", "factor": "3", "cap": None, "edits": "3", "most": None, "cells": [0]}
    low = {"type": "Int64", "null": False, "range": ["0", "50"]}
    bounds = [{"literal": ["int", "0"]}, {"literal": ["int", "50"]}]
    made["nodes"][1:] = [
        {"kind": "column", "fields": [{"node": 0}, "who"], "claims": {"domain": AGE}},
        {"kind": "column", "fields": [{"node": 0}, "x"], "claims": {"domain": AGE}},
        {"kind": "clip", "fields": [{"node": 1}, *bounds], "claims": {"domain": low}},
        {"kind": "group_head", "fields": [{"node": 0}, {"node": key}, 3], "claims": head},
        {
            "kind": "tally",
            "fields": [{"node": 4}, [], None],
            "claims": COUNT | {"distance": "3", "monotone": False},
        },
    ]
    made["release"]["value"] = 5
    return signed(made)


@pytest.mark.parametrize("key, verdict", [(1, "ok"), (2, "refuted"), (3, "refuted")])
def test_only_the_column_of_owners_bounds_the_rows_of_a_unit(key: int, verdict: str) -> None:
    """V-23: a key that is another column, or computed from the owner, may put a unit's rows into several groups."""
    report = check(of_group_heads(key))

    assert report.verdict == verdict and (verdict == "ok" or "node 4 (group_head)" in report.problems[0]), report


@pytest.mark.parametrize("least, most", [(0, 2**63 - 1), (-(2**63), 0)])
def test_results_reach_the_ends_of_64_bits_and_are_null_beyond(least: int, most: int) -> None:
    factor = column("Int64", 0, 2**40)
    other = column("Int64", *sorted((0, 2**40 if most else -(2**40))))

    assert check_domain(row_wise_column(1, "arithmetic", ["*", factor, other], whole(least, most, null=True)))
