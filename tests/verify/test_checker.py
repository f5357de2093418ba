"""The independent checker: it agrees with the library on random plans, and disagrees with every broken rule."""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privjail.verify.checker as checker
from privjail.budget.notions import Loss
from privjail.ops.registry import load_all
from privjail.plan.node import registry
from privjail.verify.certified import check_certified
from privjail.verify.checker import check
from tests.laws.test_registry import OPS
from tests.mutations import domains, rows, values
from tests.mutations.breaking import Mutation, always, broken, derived, result
from tests.proofs.building import already_built

from .plans import certified, kinds

SOURCE = Path(checker.__file__).parent
SHORT = range(250)
# Where the library may claim more than the checker finds: chains of slices, and bounds that are rounded outward or
# joined without a look at which values can meet; and parts of dates whose ends the tried moments miss. The library
# takes an element of a sum of vectors to move with every edit, and adds counts of which one never moves one by one.
GENEROUS = {"function", "slice", "arithmetic", "recode", "fillnull", "where", "cast", "part", "element", "add"}


def corpus(seeds: range, certified_too: Path | None) -> tuple[Counter[str], Counter[str], int]:
    """Check the plans of these seeds: operations and mechanisms seen, where more is claimed, and how many plans.

    If the certified checker is built, it sees them too, and refutes none of them.
    """
    seen: Counter[str] = Counter()
    larger: Counter[str] = Counter()
    plans, kept = 0, []
    for seed in seeds:
        made = certified(seed)
        if made is None:
            continue
        kept.append(made)
        report = check(json.loads(json.dumps(made)))
        assert report.verdict == "ok", f"seed {seed}: {report.verdict}: {report.problems}"
        plans += 1
        seen += kinds(made)
        seen[made["release"]["mechanism"]["kind"]] += 1
        larger.update(each.partition("(")[2].partition(")")[0] or each for each in own(report.larger))
    if certified_too is not None:
        assert {answer.verdict for answer in check_certified(kept, certified_too)} <= {"ok", "cannot check"}
    return seen, larger, plans


def own(larger: list[str]) -> list[str]:
    """Without the numbers made from an element or a sum that is claimed larger: they only pass it on."""
    first = next((i for i, each in enumerate(larger) if "(element)" in each or "(add)" in each), len(larger))
    return larger[: first + 1]


@pytest.fixture
def certified_too(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    return already_built(tmp_path_factory)


def test_it_agrees_on_random_plans(certified_too: Path | None) -> None:
    seen, larger, plans = corpus(SHORT, certified_too)

    assert plans >= 200
    assert set(seen) >= set(OPS), f"the corpus never saw {set(OPS) - set(seen)}"
    assert set(larger) <= GENEROUS, larger


@pytest.mark.slow
def test_it_agrees_on_five_thousand_random_plans(certified_too: Path | None) -> None:
    seen, larger, plans = corpus(range(100_000, 105_800), certified_too)

    print(f"{plans} plans, {sum(seen.values())} nodes and releases; claimed larger than needed: {dict(larger)}")
    assert plans >= 5_000
    assert min(seen[kind] for kind in OPS) >= 50
    assert set(seen) >= {"laplace", "gaussian", "exponential", "noisy_max", "above_threshold"}
    assert set(larger) <= GENEROUS, larger


def test_it_shares_no_code_with_the_library() -> None:
    allowed = {"privjail.verify.checker", "privjail.errors"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert not node.level
                names = [node.module or ""]
            for name in names:
                inside = name.startswith("privjail")
                assert not inside or any(name == a or name.startswith(a + ".") for a in allowed), f"{path.name}: {name}"


def test_it_is_plain_enough_to_be_read() -> None:
    """One idea per file, one rule per function with its reason, and no more code than can be read in an hour."""
    code = 0
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        # 290: the rules of private numbers, each with its reason, are one file
        assert text.count("\n") <= 290 and max(map(len, text.splitlines())) <= 120, path.name
        explained: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                explained |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, f"{path.name}: {node.name}"
        lines = enumerate(text.splitlines(), 1)
        code += sum(
            bool(line.strip()) and not line.lstrip().startswith("#") and i not in explained for i, line in lines
        )

    # 1,850: insertions and deletions apart, persons and what is looked up of them, samples and their one place, keys,
    # rows made from two tables
    assert code <= 1850, f"{code} lines besides docstrings, comments and blank ones"


# -- broken rules


half_noise = result(lambda noise, *_: replace(noise, scale=noise.scale / 2))


OURS = [
    Mutation("half the Laplace noise", {"mechanisms.laplace:Laplace.calibrate": half_noise}, print),
    Mutation("half the noise of noisy max", {"mechanisms.noisy_max:NoisyMax.calibrate": half_noise}, print),
    Mutation(
        "sparse vector with one noise for both",
        {"mechanisms.above_threshold:AboveThreshold.calibrate": result(lambda s, *_: replace(s, scale=s.outer))},
        print,
    ),
    Mutation(
        "Gaussian noise for half the distance",
        {"mechanisms.gaussian:Gaussian.calibrate": result(lambda s, *_: replace(s, sigma=s.sigma / 2))},
        print,
    ),
    Mutation("ε² / 2 is ε² / 8 for all", {"budget.notions:ZCDP.cost": lambda right: _eighth}, print),
    Mutation(
        "Rényi at half the order",
        {"budget.notions:RenyiDP.cost": result(lambda c, *_: tuple(x / 2 for x in c))},
        print,
    ),
    Mutation(
        "only the first cell is charged",
        {"release:charged": result(lambda cells, *_: cells[:1])},
        print,
    ),
    Mutation(
        "a capped value is charged in its groups",
        {"plan.cells:Cell.unsplit": always(lambda self: self)},
        print,
    ),
    Mutation(
        "all groups exclude each other",
        {"plan.distance:_linear_value": always(lambda terms: max(terms.values(), default=0))},
        print,
    ),
    Mutation(
        "a maximum moves like its first element",
        {"ops.numbers.combine:Extreme.__post_init__": derived(lambda s: {"joint": type(s.joint)((s.a.joint.at(0) * Fraction(1, 2),))})},
        print,
    ),
    Mutation("a Euclidean norm of halves", {"plan.value:sqrt_up": result(lambda x, *_: x / 2)}, print),
    Mutation("sorting needs no rows", {"ops.rows.sort:Sort.__post_init__": derived(lambda s: {"factor": 0})}, print),
]  # fmt: skip


def _eighth(self: Any, loss: Loss) -> Any:
    return (loss.rho if loss.rho is not None else loss.pure * loss.pure / 8,)


# Rules of the engine change no claim: the audit, the laws and the tests of operations are there for them.
ENGINE = {
    "ties in any order", "k rows per user in each cell", "null counts as true", "64 bits wrap around",
    "NaN and infinities stay", "clip leaves the values as they are", "a cast rounds down", "a cast to another width",
    "codes of another list of categories", "joined categories keep their old codes", "merged labels keep their old codes",
    "the other edge is included", "intervals found in the data", "Sunday is day 7", "isin is null for a missing value",
    "whole numbers compare as floats", "lengths of bytes", "amounts beyond the bounds",
    "a dot is everything", "a moment is a number of seconds", "a remainder by the engine's own operator",
    "a grid so fine that sums are rounded", "a missing key is the first one", "groups forget the order of rows",
    "a slice counts from one", "truncation rounds to the nearest step", "a row is scaled to a longer one",
    "a person counts in a key with each of her rows",
    "a join does not compare owners", "appended labels keep their old codes",
    "a look-up does not compare owners", "rows of persons come in the order of their names",
}  # fmt: skip
# Random plans hardly ever do what shows these: the tests of look-ups and test_two_tables.py are there for them.
RARE = {
    "partners are never missing", "a table below another lacks its own bounds",
    "a column carried into a slice is still one of persons", "any of several rows is looked up",
    "missing facts are facts about persons, too", "a fact about rows is one about persons",
}  # fmt: skip
RULES = [m for m in [*rows.MUTATIONS, *domains.MUTATIONS, *values.MUTATIONS, *OURS] if m.name not in ENGINE | RARE]


def refuted(seeds: range) -> int | None:
    """The first plan whose claims are refuted."""
    for seed in seeds:
        try:
            made = certified(seed)
        except Exception:  # noqa: BLE001  a broken rule may break the plan
            continue
        if made is not None and check(made).verdict == "refuted":
            return seed
    return None


def test_there_are_many_broken_rules() -> None:
    assert len(RULES) >= 50 and len(QUICK) >= 15
    assert {m.name for m in [*rows.MUTATIONS, *domains.MUTATIONS, *values.MUTATIONS]} >= ENGINE


QUICK = [*OURS, *(m for m in RULES if m not in OURS)][::3]


@pytest.mark.parametrize("mutation", QUICK, ids=lambda m: m.name)
def test_a_broken_rule_is_refuted(mutation: Mutation) -> None:
    with broken(mutation.wrong):
        assert refuted(range(1500)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("mutation", [m for m in RULES if m not in QUICK], ids=lambda m: m.name)
def test_every_broken_rule_is_refuted(mutation: Mutation) -> None:
    with broken(mutation.wrong):
        assert refuted(range(1500)) is not None


# -- what it does not know


def some(kind: str = "laplace") -> dict[str, Any]:
    return next(c for c in map(certified, range(1000)) if c is not None and c["release"]["mechanism"]["kind"] == kind)


def test_an_unknown_operation_is_not_ok() -> None:
    made = some()
    made["nodes"][-1]["kind"] = "sorcery"

    assert check(made).verdict == "cannot check"


def test_an_unknown_mechanism_is_not_ok() -> None:
    made = some()
    made["release"]["mechanism"]["kind"] = "sorcery"

    assert check(made).verdict != "ok"


@pytest.mark.parametrize("wrong", [None, [], {}, {"privjail certificate": 2}, {"privjail certificate": 1}, "text", 3])
def test_nonsense_is_not_ok(wrong: Any) -> None:
    assert check(wrong).verdict == "cannot check"


def test_no_operation_is_missing_from_the_corpus() -> None:
    load_all()

    assert set(OPS) <= set(registry)
    assert {kind for seed in range(40) for kind in kinds(certified(seed) or {"nodes": []})} > {"source", "tally"}


def test_a_schema_that_was_changed_is_refuted() -> None:
    made = some()
    made["data sets"][0]["columns"][1][1]["range"] = ["0", "1"]

    assert check(made).verdict == "refuted"


@pytest.mark.parametrize("seed", range(25))
def test_a_claim_made_smaller_is_refuted(seed: int) -> None:
    """Every number of a certificate that protects somebody, halved."""
    made = certified(seed)
    if made is None or not Fraction(made["release"]["noise"]["sensitivity"] or 0):
        pytest.skip("nothing to make smaller")
    for change in (_less_sensitive, _less_distant, _free):
        wrong = json.loads(json.dumps(made))
        change(wrong)
        assert check(wrong).verdict == "refuted", change.__name__


def _less_sensitive(made: dict[str, Any]) -> None:
    noise = made["release"]["noise"]
    noise["sensitivity"] = str(Fraction(noise["sensitivity"]) / 2)


def _less_distant(made: dict[str, Any]) -> None:
    claims = made["nodes"][made["release"]["value"]]["claims"]
    claims["distance"] = str(Fraction(claims["distance"]) / 2)


def _free(made: dict[str, Any]) -> None:
    made["release"]["charges"] = [[cell, ["0"] * len(cost)] for cell, cost in made["release"]["charges"]] or [
        [0, ["0"]]
    ]
    if not made["release"]["charges"][0][1]:
        raise AssertionError


def test_mutations_leave_the_library_as_it_was() -> None:
    assert replace(RULES[0]) == RULES[0]
    assert refuted(range(30)) is None


@pytest.mark.parametrize(
    "claims", [{"factor": "0", "cap": None}, {"factor": "0", "cap": "0"}, {"factor": "1", "cap": None}]
)
def test_a_bound_that_is_left_out_does_not_free_the_factor(claims: dict[str, Any]) -> None:
    """Neither the cap of a head nor its factor can be talked away."""
    tried = 0
    for seed in range(600):
        made = certified(seed)
        nodes = [] if made is None else made["nodes"]
        slices = [n for n in nodes if n["kind"] == "slice" and n["claims"]["cap"] not in (None, "0")]
        heads = [n for n in slices if nodes[n["fields"][0]["node"]]["kind"] == "source"]  # a chain may move by nothing
        if heads:
            tried += 1
            heads[-1]["claims"] |= {**claims, "distance": claims["factor"]}
            assert check(made).verdict == "refuted", seed
    assert tried >= 3
