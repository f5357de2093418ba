"""An operation and a mechanism that are defined in this file alone: they pass through the whole house.

Face, wire (a jail in a process of its own), ledger, certificate, audit log, and the audit of a program. Nothing of the
library names them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.budget.amounts import amount, float_up
from privjail.budget.notions import Loss
from privjail.errors import DPError, PlanError
from privjail.mechanisms.mechanism import Calibration, Mechanism, listed, noise_grid, public_steps
from privjail.mechanisms.noise import Noise
from privjail.plan.domain import BoolDomain, IntDomain
from privjail.plan.expr import Expr
from privjail.plan.node import node
from privjail.plan.value import Value
from privjail.server.wire import decode
from privjail.verify.checker import check

if __name__ != "__main__":
    from tests.server.wire_fixtures import SCHEMA, Held, connected, make_jail, people, quick_folder
    from tests.verify.test_audit import command

# -- an operation, and the face's method for it


@node
class Divisible(Expr):
    """Whether a whole number can be divided by another one; null stays null."""

    kind = "test_divisible"
    a: Expr
    by: int

    def __post_init__(self) -> None:
        if not isinstance(self.a.domain, IntDomain) or self.by < 1:
            raise PlanError("divisible needs a column of whole numbers, and a number above 0")
        self.fact(base=self.a.base, domain=BoolDomain(self.a.domain.nullable), inputs=(self.a,))

    def polars(self, *inputs: Any) -> Any:
        return inputs[0] % self.by == 0

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.divisible({self.by})"


def divisible(column: pd.PrivSeries, by: int) -> pd.PrivSeries:
    return column._new(Divisible(column._expr, by))


# -- a mechanism, with a parameter of every type


@dataclass(frozen=True)
class Rounded(Mechanism):
    """Laplace noise, and the answer rounded down to a multiple of ``to``, at most ``most``.

    Guarantee: ε-DP. Why: Laplace noise is; what is done to its answer afterwards does not depend on the data.
    """

    kind = "test_rounded"
    norm = "l1"
    epsilon: Fraction
    to: int
    negated: bool = False
    most: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount(self.epsilon))
        if self.to < 1:
            raise PlanError("rounded needs a whole number above 0")

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, what="rounded")

    def check(self, value: Value) -> None:
        self.sensitivity(value)

    def calibrate(self, value: Value) -> Calibration:
        distance = Fraction(self.sensitivity(value))
        on = noise_grid(value.grid, distance, distance / self.epsilon, value.joint.size)
        return Calibration(on, Fraction(float_up(on.steps / self.epsilon)))

    def sample(self, value: Value, exact: Any, noise: Noise) -> Any:
        drawn = self.calibrate(value)
        elements = [drawn.on.place(x) for x in listed(exact)]
        noised = [x + e for x, e in zip(elements, noise.laplace(float(drawn.scale), len(elements)), strict=True)]
        answers = [self._rounded(x) for x in public_steps(noised, drawn.on.grid)]
        return answers if value.index else answers[0]

    def _rounded(self, x: float) -> float:
        x = float(floor(x / self.to) * self.to)
        x = x if self.most is None else min(x, float(self.most))
        return -x if self.negated else x


# -- the jail that serves them: this file, run as a program


def serve(folder: str) -> None:
    from privjail.server.server import Options, start

    decode.accept(Divisible, Rounded)
    running = start(Path(folder), Options(port=0, insecure_loopback=True))
    print(running.port, flush=True)
    sys.stdin.read()  # until the test is done
    running.stop()


@contextmanager
def jail_process(folder: Path, *, knows_them: bool) -> Iterator[Any]:
    """A jail in a process of its own."""
    command = [sys.executable, "-m", "tests.laws.test_one_file", str(folder)]
    if not knows_them:
        command = [sys.executable, "-c", PLAIN_JAIL, str(folder)]
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield SimpleNamespace(port=int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


PLAIN_JAIL = """
import sys
from pathlib import Path
from privjail.server.server import Options, start
running = start(Path(sys.argv[1]), Options(port=0, insecure_loopback=True))
print(running.port, flush=True)
sys.stdin.read()
running.stop()
"""
LARGE = Fraction(50)  # an ε at which noise is below 1, but once in 10**20 draws


def released(df: pd.PrivDataFrame) -> tuple[float, list[float]]:
    tens = df[divisible(df["age"], 10)]
    ages = tens.groupby("city").size()
    return (
        tens.shape[0].reveal(mechanism=Rounded(LARGE, 5)),
        list(ages.reveal(mechanism=Rounded(LARGE, 2, True, Fraction(7, 2)))),
    )


def expected() -> tuple[float, list[float]]:
    frame = people()
    tens = frame[frame["age"] % 10 == 0]
    cities = [int((tens["city"] == city).sum()) for city in ("Kobe", "Kyoto", "Nara", "Osaka")]
    return float(len(tens) // 5 * 5), [-min(n // 2 * 2, 3.5) for n in cities]


def test_in_process() -> None:
    """Face, ledger, audit log, and the certificate, of which the independent checker says that it cannot check it."""
    df = pd.from_frame(people(), "one_file", SCHEMA, budget=200)
    with pj.certify() as certificates:
        found = released(df)

    assert found == expected()
    assert pj.consumed_privacy_budget()["one_file"] == 100
    logged = session.jail().audit
    assert logged is not None
    assert "age.divisible(10)" in logged[-2].program
    assert logged[-2].mechanism == "Rounded(epsilon=Fraction(50, 1), to=5, negated=False, most=None)"
    stated = certificates.last["release"]
    assert stated["mechanism"] == {
        "kind": "test_rounded", "epsilon": "50", "to": 2, "negated": True, "most": "7/2",
    }  # fmt: skip
    assert stated["noise"] == {"norm": "l1", "grid": "1", "scale": str(Fraction(float_up(Fraction(1, 50)))), "sensitivity": "1"}  # fmt: skip
    assert [check(each).verdict for each in certificates.all] == ["cannot check"] * 2
    json.dumps(certificates.all)


def test_over_the_wire() -> None:
    """A jail of another process decodes both, charges the durable ledger, and writes its log."""
    with quick_folder() as folder:
        files = make_jail(folder / "jail", {"people": Held(people(), budget=(200,))})
        with jail_process(folder / "jail", knows_them=True) as running:
            session._connection = connected(running, files["ann"])
            try:
                with pj.certify() as certificates:
                    found = released(pd.read_csv("people"))
                spent = pj.consumed_privacy_budget()["people"]
            finally:
                session.disconnect()
        log = command("log", "--jail", str(folder / "jail"), "--json", cwd=folder)

    assert found == expected()
    assert spent == 100
    assert [check(each).verdict for each in certificates.all] == ["cannot check"] * 2
    assert "age.divisible(10)" in log.stdout and "Rounded(epsilon=Fraction(50, 1), to=5" in log.stdout, log.stderr


def test_a_jail_that_has_not_accepted_them_refuses_both() -> None:
    """V-27, V-34: what a client defines is nothing that a jail runs."""
    with quick_folder() as folder:
        files = make_jail(folder / "jail", {"people": Held(people(), budget=(200,))})
        with jail_process(folder / "jail", knows_them=False) as running:
            session._connection = connected(running, files["ann"])
            try:
                df = pd.read_csv("people")
                with pytest.raises(DPError, match="no such operation"):
                    df[divisible(df["age"], 10)].shape[0].reveal(eps=1)
                with pytest.raises(DPError, match="no such mechanism"):
                    df.shape[0].reveal(mechanism=Rounded(LARGE, 5))
                assert pj.consumed_privacy_budget()["people"] == 0
            finally:
                session.disconnect()


PROGRAM = """
from fractions import Fraction
from privjail import pandas as pd
from tests.laws.test_one_file import Rounded, divisible
df = pd.read_csv("people.csv", schema={"age": {"type": "Int64", "range": [0, 120]}}, budget=10)
print(df[divisible(df["age"], 10)].shape[0].reveal(mechanism=Rounded(Fraction(1), 5)))
"""


def test_the_audit_of_a_program(tmp_path: Path) -> None:
    """Its runs on neighbouring dummy data are compared as any others; it says that the claims cannot be checked."""
    (tmp_path / "program.py").write_text(PROGRAM)
    found = command("audit", "program.py", cwd=tmp_path)

    assert found.returncode == 0, found.stdout + found.stderr
    assert "no leak found" in found.stdout and "releases: 1" in found.stdout
    assert "cannot be checked" in found.stdout and "test_divisible" in found.stdout


def test_its_parameters_are_checked_before_it_is_built() -> None:
    """V-34: the types that it declares, and no others."""
    from privjail.server.wire import encode
    from privjail.server.wire import privjail_pb2 as pb

    good = encode.mechanism(Rounded(LARGE, 5, True, None))
    wrong = [
        ("number of fields", good.fields[:3]),
        ("number of fields", [*good.fields, pb.Field(none=True)]),
        ("epsilon has the wrong type", [pb.Field(none=True), *good.fields[1:]]),
        ("epsilon has the wrong type", [pb.Field(number=1), *good.fields[1:]]),
        ("epsilon is a fraction of at most", [pb.Field(fraction=f"1/{2**384}"), *good.fields[1:]]),
        ("most is a fraction of at most", [*good.fields[:3], pb.Field(fraction=str(2**384))]),
        ("to has the wrong type", [good.fields[0], pb.Field(fraction="5"), *good.fields[2:]]),
        ("negated has the wrong type", [*good.fields[:2], pb.Field(number=2), good.fields[3]]),
        ("most has the wrong type", [*good.fields[:3], pb.Field()]),
        ("not written as one", [pb.Field(fraction="1/" + "9" * 641), *good.fields[1:]]),
    ]
    decode.accept(Rounded)
    try:
        assert decode.mechanism(good) == Rounded(LARGE, 5, True, None)
        for text, fields in wrong:
            with pytest.raises(decode.Malformed, match=text):
                decode.mechanism(pb.Mechanism(kind="test_rounded", fields=fields))
    finally:
        del decode.MECHANISMS["test_rounded"]


if __name__ == "__main__":
    serve(sys.argv[1])
