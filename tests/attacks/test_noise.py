"""THREATS.md, section A: attempts to read the data off the noise."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privjail
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noise import Noise
from privjail.release import Entry

from ..budget.people import People
from ..mechanisms.laws import single, vector

SOURCE = Path(privjail.__file__).parent
MANY = 20_000

MECHANISMS: dict[str, Mechanism] = {
    "laplace": Laplace(Fraction(1)),
    "laplace, small eps": Laplace(Fraction(1, 100)),
    "gaussian": Gaussian(Fraction(1), Fraction(1, 10**6)),
    "gaussian, rho": Gaussian(rho=Fraction(1, 2)),
}
GRIDS: dict[str, Fraction] = {
    "counts": Fraction(1),
    "sums of floats": Fraction(1, 2**23),
    "thirds": Fraction(1, 3),
    "huge steps": Fraction(2**70),
}


def _releases(mechanism: Mechanism, grid: Fraction, value: int) -> list[float]:
    """Many releases of one number: as elements of vectors of that many equal numbers at the distance of one."""
    # A vector of n elements of which one can move has the same distance as that one alone.
    facts = vector(MANY, Fraction(1, MANY))
    facts.joint = _Alone(MANY, max(Fraction(1), grid))
    facts.grid = grid
    return list(mechanism.sample(facts, [value] * MANY, Noise()))


@dataclasses.dataclass(frozen=True)
class _Alone:
    size: int
    distance: Fraction

    @property
    def l1(self) -> Fraction:
        return self.distance

    l2 = linf = l1


def _off_grid(answers: list[float], step: Fraction) -> float:
    """The share of answers near 0 that are no multiples of a step: what gives away porous floats."""
    near = [y for y in answers if abs(y) < 0.25 * max(1.0, float(step))]
    return sum((Fraction(y) / step).denominator != 1 for y in near) / max(1, len(near))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("kind", MECHANISMS)
def test_neighbours_have_the_same_support_v1_v2(kind: str, grid: str) -> None:
    """V-1, V-2: 20 000 releases of 0 and of its neighbour lie on one and the same grid; so does every float."""
    mechanism, step = MECHANISMS[kind], GRIDS[grid]
    move = max(1, int(1 / step))
    left, right = _releases(mechanism, step, 0), _releases(mechanism, step, move)
    if grid == "thirds":  # not a binary fraction: compare with the nearest floats of the grid's points
        fine = step if "laplace" in kind else None
        for answers in (left, right):
            if fine is not None:
                assert all(float(round(Fraction(y) / fine) * fine) == y for y in answers)
    else:
        finest = step if "laplace" in kind else step / 2**64
        for answers in (left, right):
            assert all((Fraction(y) / finest).denominator == 1 for y in answers)
    if kind == "laplace" and grid == "counts":
        common = {float(x) for x in range(-5, 7)}
        assert common <= set(left) and common <= set(right)


@pytest.mark.parametrize("kind", MECHANISMS)
def test_no_precision_tells_neighbours_apart_v2(kind: str) -> None:
    """V-2, and for Gaussian noise V-3: P[off the 2⁻⁵³ grid | |y| < ¼] for 0 and for 1. diffprivlib: 0.66 against 0.00."""
    for grid in (Fraction(1), Fraction(1, 2**23)):
        left, right = (_releases(MECHANISMS[kind], grid, int(x / grid)) for x in (0, 1))
        assert _off_grid(left, Fraction(1, 2**53)) == _off_grid(right, Fraction(1, 2**53)) == 0


def test_porous_noise_would_be_caught_v2() -> None:
    """The same statistic on textbook float noise."""
    import numpy as np

    rng = np.random.default_rng(1)
    left, right = (list(x + rng.laplace(size=MANY)) for x in (0.0, 1.0))
    assert _off_grid(left, Fraction(1, 2**53)) > 0.5 and _off_grid(right, Fraction(1, 2**53)) < 0.1


def test_whole_programs_answer_on_the_grid_v1() -> None:
    """V-1, through the public door: counts, sums of floats, and scaled numbers."""
    people = People()
    df = people.df
    for value, step in (
        (df.shape[0], Fraction(1)),
        (df.income.sum(), df.income.sum()._value.grid),
        (df.shape[0] / 4 + 0.5, Fraction(1, 4)),
    ):
        answers = [value.reveal(eps=1.0) for _ in range(60)]
        assert all((Fraction(y) / step).denominator == 1 for y in answers)
        assert len(set(answers)) > 3


def test_no_seedable_generator_in_the_source_v4() -> None:
    """V-4: neither numpy's nor Python's generator, and no parameter that a client could seed."""
    banned = re.compile(
        r"np\.random|numpy\.random|default_rng|RandomState|random_state|Mersenne"
        r"|^\s*(import random\b|from random import|from numpy import random)|\bseeds?\s*[=(:]",
        re.MULTILINE,
    )
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 50
    found = [f"{path.relative_to(SOURCE)}: {m.group()}" for path in files for m in banned.finditer(path.read_text())]
    # In encrypted/ a seed is the public challenge of a record's check, a hash of what the owner sent. An audit makes dummy
    # data, and takes chance out of the program that it runs on them. In learn/ random_state is scikit-learn's: an ordinary
    # program at the client, over what was released. In sample() it names a sample, whose coins nobody can predict; in synth/ a seed
    # picks made-up rows from what was released. The conformance suite shows an adapter of a mechanism that is wrong.
    # Joined rows are counted in parts, by hashes of persons with a fixed seed: the parts add up to the same counts.
    # None of them draws noise.
    no_noise = re.compile(
        r"encrypted/(compute|decrypt|onehot|records)\.py: seeds?\s*[=(:]|verify/audit/(data|people|trace)\.py: "
        r"|learn/\w+\.py: random_state|(pandas/(frame|series)|numpy/arrays|samples)\.py: random_state"
        r"|synth/synthesizer\.py: (seed( =|:)|random_state)|engines/polars/by_person\.py: seed=|verify/conformance\.py: import random"
    )
    assert not [each for each in found if not no_noise.match(each)]
    assert banned.search("import random\n") and banned.search("x = np.random.laplace()") and banned.search("f(seed=1)")


def test_no_name_under_privjail_takes_a_seed_v4() -> None:
    """V-4."""
    for thing in (*vars(privjail).values(), *vars(Noise).values()):
        if inspect.isfunction(thing):
            assert not {"seed", "rng", "random_state", "noise"} & set(inspect.signature(thing).parameters)


FORK = """
import json, os
from privjail.mechanisms.noise import Noise
noise = Noise()

def draw():
    return [noise.laplace(1e9, 4), noise.laplace(1e9, 1), noise.gaussian(1e9, 4), noise.uniform(2, 1).tolist(),
            [noise.noisy_max([0] * 64, 1.0) for _ in range(8)]]

draw()
out = []
for _ in range(2):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, json.dumps(draw()).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        out.append(json.loads(pipe.read()))
    os.waitpid(child, 0)
out.append(draw())
print(json.dumps(out))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_workers_draw_differently_v4() -> None:
    """V-4: state that is copied by fork would make both children, and the parent, draw the same."""
    path = str(SOURCE.parent)
    ran = subprocess.run(
        [sys.executable, "-c", FORK],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    first, second, parent = json.loads(ran.stdout)
    for kind in range(5):
        assert len({json.dumps(draws[kind]) for draws in (first, second, parent)}) == 3


def test_nothing_that_leaves_tells_how_long_drawing_took_v6() -> None:
    """V-6: rejection samplers take longer for some draws. Nothing of ours measures or shows it; a caller with a
    clock of her own can (KNOWN_LIMITS), which is why the sparse vector draws for all its numbers at once."""
    assert {f.name for f in dataclasses.fields(Entry)} == {"at", "program", "used", "charges"}
    for name in ("mechanisms", "budget"):
        for path in (SOURCE / name).glob("*.py"):
            assert not re.search(r"perf_counter|monotonic\(|import time\b", path.read_text())
    returns = {
        name: inspect.signature(method).return_annotation
        for name, method in vars(Noise).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    assert returns == {
        "laplace": "list[int]", "gaussian": "list[int]", "noisy_max": "int", "exponential": "int",
        "uniform": "Kept", "prepare": "None",
    }  # fmt: skip


def test_the_audit_log_is_written_before_the_noise_is_drawn_v6() -> None:
    """V-6: its time stamp does not depend on the draws."""
    from privjail import session

    people = People()
    before = len(session.jail().audit)
    seen: list[int] = []

    class Late(Laplace):
        def sample(self, value: Any, exact: Any, noise: Noise) -> Any:
            seen.append(len(session.jail().audit))
            return super().sample(value, exact, noise)

    from privjail.release import Query

    session.release([Query(people.df.shape[0]._value, Late(Fraction(1)))])
    assert seen == [before + 1]


def test_single_numbers_and_vectors_use_the_same_scale() -> None:
    for mechanism in (Laplace(Fraction(1, 3)), Laplace(Fraction(2))):
        one, many = mechanism.calibrate(single(3)), mechanism.calibrate(vector(3, 1))
        assert one == many
