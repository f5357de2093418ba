"""The certified checker, extracted from proofs/Certified.v: it agrees with the one in Python, and rejects forged claims."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail.budget.notions import PureDP
from privjail.errors import DPError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.source import Dataset, Source, Unit
from privjail.plan.domain import IntDomain
from privjail.release import Query
from privjail.verify import certificate
from privjail.verify.certified import check_certified, program
from privjail.verify.checker import check

from ..verify.plans import certified
from .chains import small_certificate


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    try:
        program()
    except DPError:
        pytest.skip("the certified checker is not built: make prove")


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


def test_it_never_accepts_what_python_refutes_and_says_what_it_cannot_check():
    """Certificates of all operations and mechanisms."""
    made = [each for each in map(certified, range(60)) if each is not None]
    answers = check_certified(made)

    assert {answer.verdict for answer in answers} <= {"ok", "cannot check"}
    assert all(answer.reason for answer in answers if answer.verdict == "cannot check")


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
