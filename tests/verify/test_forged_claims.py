"""Certificates of which one claim is forged: each must be refuted by itself, and be ok without the forgery."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import e, inf, log
from typing import Any

import pytest

from privjail.verify.checker import check
from privjail.verify.checker.columns import check_domain, row_wise_column
from privjail.verify.checker.domains import Domain
from privjail.verify.checker.slices import Bounds, stability

from .test_forged import AGE, FULL, Made, signed, sum_of, whole

SIGNED = {**AGE, "range": ["-100", "100"]}
HEAD = {"distance": "2", "factor": "2", "cap": None, "edits": "2", "most": 9, "cells": [0]}


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
    """Two rows of a user come in: one group below 0 rises, another one above 0 too, and their sizes part."""
    made["data sets"][0]["unit"] = [None, 2]
    made["nodes"][0]["claims"] |= {"distance": "2", "factor": "2", "edits": "2", "inserted": "2", "deleted": "0"}
    made["nodes"][2]["claims"]["distance"] = "200"
    made["release"]["noise"] |= {"sensitivity": "200", "scale": "200"}
    made = signed(made)
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
    made["nodes"][2] = {"kind": "quantile_scores", "fields": fields, "claims": told}
    made["release"]["noise"] |= {"sensitivity": "1/2", "scale": "1", "grid": "1/2"}
    return made


MOVING = [of_a_head, of_a_user, of_an_absolute, of_a_sum, of_a_stack, of_ranks]


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


@pytest.mark.parametrize("domain", [AGE, {**AGE, "range": ["-100", "0"]}, SIGNED])
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


@pytest.mark.parametrize("k, inside", [(-3, False), (-2, True), (1, True), (2, False)])
def test_a_look_at_rows_that_are_not_in_the_window_is_refuted(k: int, inside: bool) -> None:
    """V-23: the window counts how far the rows move that are in it, and nothing counts the others."""
    made = sum_of(AGE, "700")
    window = {"distance": "7", "factor": "7", "cap": None, "edits": "7", "most": None, "cells": [0]}
    lag = {"kind": "lag", "fields": [{"node": 2}, {"node": 1}, k], "claims": {"domain": {**AGE, "null": True}}}
    told = {**made["nodes"][2], "fields": [{"node": 2}, [], {"node": 3}]}
    told["claims"]["monotone"] = False
    made["nodes"][2:] = [{"kind": "window", "fields": [{"node": 0}, 1, 2], "claims": window}, lag, told]
    made["release"]["value"] = 4
    report = check(made)

    assert report.verdict == ("ok" if inside else "refuted"), report
    assert inside or "outside of its window" in report.problems[0]


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


def tried(chain: list[Bounds]) -> tuple[tuple[int, int], int]:
    """What comes in and goes out of a chain of slices, and its most rows: tables up to 24 rows, each place for a row."""
    came, went, most = 0, 0, 0
    for n in range(24):
        for at in range(n + 1):
            old, new = list(range(n)), [*range(at), "new", *range(at, n)]
            for start, stop in chain:
                old, new = old[start:stop], new[start:stop]
            most = max(most, len(new))
            # rows are all different, and stand in the same order: what both have is their longest common part
            came, went = max(came, len({*new} - {*old})), max(went, len({*old} - {*new}))
    return (came, went), most


ENDS = (None, 0, 1, 3, -1, -3)
CHAINS: list[list[Bounds]] = [[(a, b)] for a in ENDS for b in ENDS]
CHAINS += [[(a, None), (None, b)] for a in ENDS for b in ENDS] + [[(-4, 5), (a, b)] for a in ENDS for b in ENDS]
CHAINS += [[(a, b), (-2, 4)] for a in ENDS for b in ENDS] + [[(1, None), (-6, 4), (None, -1)]]


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_the_checker_knows_how_far_a_chain_of_slices_moves(chain: list[Bounds]) -> None:
    """V-23: without the library's own rules."""
    moved, most = stability(chain)
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
    "exponential, half of ε": (
        {"kind": "exponential", "epsilon": "1/2"}, {"rate": "1/400"}, {"kind": "pure"}, ["1/2"]),
    "noisy max, half of ε": ({"kind": "noisy_max", "epsilon": "1/2"}, {"scale": "200"}, {"kind": "pure"}, ["1/2"]),
    "above threshold, half of ε": (
        {"kind": "above_threshold", "epsilon": "1/2"}, {"scale": "800", "outer": "400"}, {"kind": "pure"}, ["1/2"]),
    "gaussian by a smaller ρ": ({"kind": "gaussian", "rho": "1/8"}, {"sigma": "200"}, {"kind": "zcdp"}, ["1/8"]),
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


def test_a_charge_where_none_is_due_is_remarked_on() -> None:
    made = sum_of(AGE, "100")
    made["nodes"][0]["claims"] |= {"inserted": "1", "deleted": "0"}
    assert check(made).larger == []
    made["data sets"].append(json.loads(json.dumps(made["data sets"][0])))
    made["cells"].append({"data set": 1})
    made["release"]["charges"].append([1, ["1"]])
    report = check(made)

    assert (report.verdict, report.larger) == ("ok", ["release: charges"])


@pytest.mark.parametrize(
    "claim", [([FULL, 10, 20], whole(10, 20)), ([FULL, None, 20], whole(0, 20)), ([FULL, 10, None], whole(10, 100))]
)
def test_a_clip_that_is_claimed_as_it_is_is_ok(claim: tuple[list[Any], Domain]) -> None:
    fields, domain = claim
    assert check_domain(row_wise_column(1, "clip", fields, domain))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("has_constant_bound", [False, True])
def test_one_part_with_a_constant_distance_makes_the_whole_so(first: int, has_constant_bound: bool) -> None:
    """V-11: a constant is not shared out among groups, so such a release is charged above them."""
    made = sum_of(AGE, "100")
    made["data sets"][0]["unit"] = [None, 5]
    made["nodes"][0]["claims"] |= {"distance": "5", "factor": "5", "edits": "5"}
    head = {"distance": "2", "factor": "10", "cap": "2", "edits": "2", "most": 1, "cells": [0]}
    told = {"size": 1, "grid": "1", "monotone": False, "cells": [0]}
    order = [{"node": 4}, {"node": 5}] if first else [{"node": 5}, {"node": 4}]
    made["nodes"][2:] = [
        {"kind": "slice", "fields": [{"node": 0}, None, 1], "claims": head},
        {"kind": "carried", "fields": [{"node": 2}, {"node": 1}], "claims": {"domain": AGE}},
        {
            "kind": "tally",
            "fields": [{"node": 2}, [], {"node": 3}],
            "claims": told | {"distance": "200", "capped": True},
        },
        {
            "kind": "tally",
            "fields": [{"node": 0}, [], {"node": 1}],
            "claims": told | {"distance": "500", "capped": False},
        },
        {"kind": "add", "fields": order, "claims": told | {"distance": "700", "capped": has_constant_bound}},
    ]
    made["release"] |= {"value": 6}
    made["release"]["noise"] |= {"sensitivity": "700", "scale": "700"}
    report = check(signed(made))

    assert report.verdict == ("ok" if has_constant_bound else "refuted"), report


NORMS = {  # two sums that move by 100 at once: in all by 200, at most by 100, and by 141.4 as a Euclidean norm
    "laplace": ({"kind": "laplace", "epsilon": "1"}, {"scale": "1000"}, {"kind": "pure"}, ["1"], "200", "199"),
    "exponential": ({"kind": "exponential", "epsilon": "1"}, {"rate": "1/1000"}, {"kind": "pure"}, ["1"], "100", "99"),
    "noisy max": ({"kind": "noisy_max", "epsilon": "1"}, {"scale": "1000"}, {"kind": "pure"}, ["1"], "100", "99"),
    "gaussian": ({"kind": "gaussian", "rho": "1/2"}, {"sigma": "1000"}, {"kind": "zcdp"}, ["1/2"], "142", "141"),
}


@pytest.mark.parametrize("name", NORMS)
def test_the_sensitivity_is_that_of_the_mechanisms_norm(name: str) -> None:
    """V-11: with noise to spare, only the sensitivity that it is said to be made for is wrong."""
    mechanism, noise, notion, cost, right, wrong = NORMS[name]
    for sensitivity, verdict in ((right, "ok"), (wrong, "refuted"), ("0", "refuted")):
        made = of_a_stack(sum_of(AGE, "100"))
        made["nodes"][3]["claims"]["monotone"] = False
        made["data sets"][0]["notion"] = notion
        made["release"] |= {"mechanism": mechanism, "charges": [[0, cost]]}
        made["release"]["noise"] = {"grid": "1", "sensitivity": sensitivity, **noise}
        report = check(signed(made))
        assert report.verdict == verdict and (verdict == "ok" or "sensitivity" in report.problems[0]), report


@pytest.mark.parametrize("node, what, words", [(0, "distance", "the distance"), (0, "factor", "the factor"),
                                               (0, "edits", "the number of edits"), (2, "distance", "the distance")])  # fmt: skip
def test_each_claim_of_a_node_is_compared(node: int, what: str, words: str) -> None:
    made = sum_of(AGE, "100")
    made["nodes"][node]["claims"][what] = str(Fraction(made["nodes"][node]["claims"][what]) * Fraction(99, 100))
    report = check(made)
    assert report.verdict == "refuted" and words in report.problems[0], report


@pytest.mark.parametrize("what, forged", [("size", 2), ("cells", []), ("grid", "2"), ("grid", "3/2")])
def test_the_shape_of_a_value_is_compared(what: str, forged: Any) -> None:
    made = sum_of(AGE, "100")
    made["nodes"][2]["claims"][what] = forged
    assert check(made).verdict == "refuted"


def test_the_rows_of_a_node_are_compared() -> None:
    made = sum_of(AGE, "100")
    for what, forged in (("most", 5), ("cells", [])):
        one = json.loads(json.dumps(made))
        one["nodes"][0]["claims"][what] = forged
        report = check(one)
        assert report.verdict == "refuted" and "outside of the claimed cells" in report.problems[0], report
