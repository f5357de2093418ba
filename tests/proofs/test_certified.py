"""The certified checker, extracted from proofs/Certified.v: it agrees with the one in Python, and rejects forged claims."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.budget.notions import PureDP
from privjail.mechanisms.laplace import Laplace
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.compare import Compare
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import FloatDomain, IntDomain
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.verify import certificate
from privjail.verify.certified import check_certified, program
from privjail.verify.checker import check

from ..verify.plans import certified
from ..verify.test_checker import RULES
from . import building
from .chains import small_certificate
from .collecting import Judged, forged_certificates, of_broken_rules


@pytest.fixture(scope="module", autouse=True)
def built(certified_checker: Path) -> Iterator[None]:
    """All of these ask the checker that belongs to the proofs as they are now."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRIVJAIL_CERTIFIED", str(certified_checker))
        yield


def compared(seeds: range) -> Counter[tuple[str, str]]:
    """Both verdicts on random certificates of the subset, and on each of them with one number made smaller."""
    made = [small_certificate(seed) for seed in seeds]
    forged = [lowered(each, random.Random(i)) for i, each in enumerate(made)]
    found: Counter[tuple[str, str]] = Counter()
    for what, group in (("sound", made), ("forged", forged)):
        for each, answer in zip(group, check_certified(group), strict=True):
            python = check(json.loads(json.dumps(each))).verdict
            if python == "cannot check":  # a long chain of slices, which the theorem covers
                found[what, python] += 1
                continue
            assert answer.verdict == python, f"{what}: certified {answer}, Python {python}: {json.dumps(each)}"
            found[what, python] += 1
    return found


def lowered(certificate: dict[str, Any], pick: random.Random) -> dict[str, Any]:
    """The same with too small a sensitivity, too little noise, or too small a charge.

    The sensitivity by more than a half: where rows were filtered after a slice, the library claims up to twice as much,
    so that parts can be charged side by side; the certified checker does not look at parts.
    """
    forged = deepcopy(certificate)
    release = forged["release"]
    less = Fraction(pick.choice(("1/2", "9/10", "999/1000")))
    match pick.randrange(3):
        case 0:
            release["noise"]["sensitivity"] = str(Fraction(release["noise"]["sensitivity"]) * Fraction(2, 5))
        case 1:
            release["noise"]["scale"] = str(Fraction(release["noise"]["scale"]) * less)
        case _:
            release["charges"] = [[cell, [str(Fraction(x) * less) for x in cost]] for cell, cost in release["charges"]]
    return forged


def test_it_agrees_with_the_checker_in_python():
    found = compared(range(300))

    assert found["sound", "ok"] == 300 and found["forged", "refuted"] >= 270  # the others move by nothing at all


@pytest.mark.slow
def test_it_agrees_on_a_hundred_thousand_certificates():
    found = compared(range(50_000))

    print(dict(found))
    assert found["sound", "ok"] + found["sound", "cannot check"] == 50_000
    assert found["sound", "cannot check"] <= 500 and found["forged", "refuted"] >= 45_000


def test_it_refutes_nothing_that_the_library_makes_and_says_what_it_cannot_check():
    """Certificates of all operations and mechanisms."""
    made = [each for each in map(certified, range(250)) if each is not None]
    answers = check_certified(made)

    assert {answer.verdict for answer in answers} == {"ok", "cannot check"}
    assert all(answer.reason for answer in answers if answer.verdict == "cannot check")


# Decision 0230 says what the certified checker does not look at, or takes as it is claimed.
CLAIMS = "claims of single nodes are not compared, and the sensitivity that is stated is enough"
RANGES = "the domains of columns are taken as they are claimed"
CELLS = "it does not look at cells and at where a release is charged"
LENGTH = "numbers of up to 4000 digits are read, and more noise than needed is enough"
EXPLAINED = {
    "test_each_claim_of_a_node_is_compared": CLAIMS,
    "test_the_rows_of_a_node_are_compared": CLAIMS,
    "test_the_shape_of_a_value_is_compared": CLAIMS,
    "test_a_number_too_long_to_compute_with_is_refused_at_once": LENGTH,
    "test_a_reference_from_the_end_is_not_followed": CELLS,
    "test_what_only_python_takes_for_equal_is_not_ok": RANGES,
    "test_a_sample_of_users_with_two_rows_is_no_cell": CELLS,
    # broken rules
    "a head moves by one edit": CLAIMS,
    "a window of w rows moves by w edits": CLAIMS,
    "a rolling window moves by w edits": CLAIMS,
    "a rolling window moves by 2w - 2 edits": CLAIMS,
    "a rolling window deletes nothing": CLAIMS,
    "a head deletes nothing": CLAIMS,
    "tables of w rows are w edits apart": CLAIMS,
    "groupby.head moves by one edit": CLAIMS,
    "every key is the user": CLAIMS,
    "a vector of one user moves in one direction whatever the signs": CLAIMS,
    "everything is monotone": CLAIMS,
    "a lag has no nulls": RANGES,
    "a comparison is never null": RANGES,
    "one base for all partitions": CELLS,
    "a filter keeps insertions and deletions apart": CELLS,
    "a count moves by half a row": CELLS,
}


def accepted(judged: list[Judged]) -> list[Judged]:
    """What the certified checker takes although the one in Python does not."""
    answers = check_certified([json.loads(each.text) for each in judged])
    return [each for each, answer in zip(judged, answers, strict=True) if answer.verdict == "ok" != each.verdict]


def test_it_never_accepts_what_python_refutes_but_for_what_it_says_it_does_not_look_at():
    """Certificates forged by hand, and those of a library of which one rule is broken."""
    forged, broken = forged_certificates(), of_broken_rules(RULES, small_certificate, range(20))
    taken = accepted([*forged, *broken])

    assert sum(each.verdict == "refuted" for each in forged) >= 150
    assert sum(each.verdict == "refuted" for each in broken) >= 100
    assert [each for each in taken if each.test not in EXPLAINED] == []
    assert {each.test for each in taken} == set(EXPLAINED), "an exception that is no longer needed"
    for each in taken:  # it is never the noise, the sensitivity or the amount that is charged
        assert EXPLAINED[each.test] in (CELLS, LENGTH) or each.problem.startswith("node "), each


@pytest.mark.slow
def test_it_never_accepts_what_a_broken_rule_makes_of_any_operation():
    taken = accepted(of_broken_rules(RULES, certified, range(60)))

    assert [each for each in taken if not each.problem.startswith("node ")] == []


def of_a_window() -> dict[str, Any]:
    """The certificate of a sum by key, after all row operations that the checker knows."""
    source = Source(Dataset("w", "w", (("x", IntDomain(False, 0, 3)),), Unit()))
    window = Window(source, 1, 1)
    x = Column(source, "x")
    near, above = Carried(window, x), Lag(window, x, 1)
    chosen = Sort(Filter(window, Compare("==", near, Lit.of(1))), (near,), (0,))
    heads = GroupHead(chosen, near, 2)
    value = Tally(heads, (Carried(heads, near),), Carried(heads, above))
    return certificate.of(Query(value, Laplace(Fraction(1))), {source.cells[0]: PureDP()})


COLUMN = "the column of the data set"
ELSEWHERE = [  # the last node of a kind, the place of a field, what is put there
    ("filter", 1, COLUMN), ("sort", 1, [COLUMN]), ("group_head", 1, COLUMN), ("tally", 1, [COLUMN]), ("tally", 2, COLUMN),
    ("carried", 1, COLUMN), ("compare", 2, COLUMN), ("lag", 0, {"node": 0}), ("lag", 2, 2), ("lag", 2, -2),
    ("window", 1, -1), ("window", 2, -1), ("filter", 1, {"node": 0, "literal": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "place", "field"), ELSEWHERE)
def test_columns_of_other_rows_are_not_read_as_those_of_these(kind: str, place: int, field: Any):
    """The theorem is about functions of one row. Row i of other rows, or a row that a window does not hold, is none."""
    made = of_a_window()
    assert check_certified([made])[0].verdict == "ok" == check(made).verdict
    kinds = [node["kind"] for node in made["nodes"]]
    column = {"node": kinds.index("column")}
    last = len(kinds) - 1 - kinds[::-1].index(kind)
    made["nodes"][last]["fields"][place] = column if field == COLUMN else [column] if field == [COLUMN] else field

    assert check(made).verdict != "ok"
    assert check_certified([made])[0].verdict == "cannot check"


def test_values_that_are_rounded_to_a_grid_are_not_called_wrong():
    """A float is put on the grid towards 0 before it is added, so the library may add a little less noise than this says."""
    source = Source(Dataset("f", "f", (("x", FloatDomain(False, 0.0, 0.3)),), Unit()))
    made = certificate.of(
        Query(Tally(source, (), Column(source, "x")), Laplace(Fraction(1))), {source.cells[0]: PureDP()}
    )

    assert check(made).verdict == "ok"
    assert check_certified([made]) == [("cannot check", "a rule of the library that is not in the theorem")]


def test_another_version_is_not_read():
    made = small_certificate(1)

    assert check_certified([made])[0].verdict == "ok"
    assert check_certified([made | {"privjail certificate": 2}])[0] == (
        "cannot check",
        "another version of certificates",
    )


def test_a_checker_that_could_be_built_and_was_not_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """These tests may be skipped only where Coq or OCaml is missing."""
    with pytest.raises(pytest.fail.Exception, match="was not built"):
        building.built_in(tmp_path / "proofs")
    assert building.no_tools() is None
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "ocamlfind" else f"/usr/bin/{name}")
    assert "OCaml is not installed" in (building.no_tools() or "")


def test_a_checker_that_is_older_than_its_proofs_is_not_taken(tmp_path: Path):
    old = tmp_path / "certified_checker"
    old.touch()
    assert building.up_to_date(old)
    os.utime(old, (1, 1))
    assert not building.up_to_date(old) and not building.up_to_date(tmp_path / "nothing")


def test_samples_are_not_accepted():
    """What a sample costs rests on coins, of which this checker knows nothing."""
    source = Source(Dataset("s", "s", (("x", IntDomain(False, 0, 1)),), Unit()))
    value = Tally(Sample(source, Fraction(1, 10), "one"), (), None)
    made = certificate.of(Query(value, Laplace(Fraction(1))), {source.cells[0]: PureDP()})

    assert check_certified([made]) == [("cannot check", "rows by sample")]


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "null", '{"nodes": []}', "[" * 10_000, '{"a": 1} {"a": 1}', '"' + "x" * 100]
)
def test_what_is_no_certificate_is_not_accepted(line: str):
    done = subprocess.run([program()], input=line + "\n", capture_output=True, text=True, check=True)

    assert done.stdout.startswith("cannot check")


def test_names_that_stand_twice_are_not_read_in_two_ways():
    made = json.dumps(small_certificate(1))
    twice = made.replace('"sensitivity":', '"sensitivity": "0", "sensitivity":', 1)
    done = subprocess.run([program()], input=twice + "\n", capture_output=True, text=True, check=True)

    assert done.stdout.startswith("cannot check")


def test_the_command_line_asks_it(tmp_path: Path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    made = small_certificate(2)
    good.write_text(json.dumps(made), encoding="utf-8")
    made["release"]["noise"]["scale"] = "1/1000"
    bad.write_text(json.dumps(made), encoding="utf-8")
    run = [sys.executable, "-m", "privjail.curator", "check", "--certified", "--json"]

    done = subprocess.run([*run, good], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)[0]["certified"] == "ok"
    done = subprocess.run([*run, good, bad], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and [x["certified"] for x in json.loads(done.stdout)] == ["ok", "refuted"]
