"""Every mechanism: its file, its test file, its argument; the wire and the certificate that follow from its fields."""

from __future__ import annotations

import ast
import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privjail import pandas as pd
from privjail.budget.notions import Loss
from privjail.errors import PlanError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Calibration, Mechanism, declared_parameters, registry
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.mechanisms.private_keys import PrivateKeys
from privjail.mechanisms.registry import load_all
from privjail.server.wire import decode, encode
from privjail.server.wire import privjail_pb2 as pb
from privjail.verify import certificate
from tests.mechanisms.laws import vector
from tests.server.wire_fixtures import SCHEMA, people

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "privjail"
load_all()
KINDS = sorted(kind for kind, cls in registry.items() if cls.__module__.startswith("privjail."))
COUNTS = vector(3, 2, Fraction(1, 4))
THIRD = Fraction(1, 3)
#: (mechanism, its parameters in a certificate, its noise there) for a vector of 3 numbers that move by 2 each, on a
#: grid of 1/4: 8 steps each, 24 in all
STATED: list[tuple[Mechanism, dict[str, Any], dict[str, Any]]] = [
    (Laplace(THIRD), {"kind": "laplace", "epsilon": "1/3"},
     {"norm": "l1", "grid": "1/4", "scale": "72", "sensitivity": "6"}),
    (Exponential(THIRD), {"kind": "exponential", "epsilon": "1/3"},
     {"norm": "linf", "rate": "1/12", "sensitivity": "2"}),
    (NoisyMax(THIRD), {"kind": "noisy_max", "epsilon": "1/3", "smallest": False, "k": 1},
     {"norm": "linf", "grid": "1/4", "scale": "48", "sensitivity": "2"}),
    (NoisyMax(THIRD, True, 2), {"kind": "noisy_max", "epsilon": "1/3", "smallest": True, "k": 2},
     {"norm": "linf", "grid": "1/4", "scale": "96", "sensitivity": "2"}),
    (AboveThreshold(THIRD, Fraction(7, 2)), {"kind": "above_threshold", "epsilon": "1/3", "threshold": "7/2"},
     {"norm": "linf", "grid": "1/4", "outer": "48", "scale": "96", "sensitivity": "2"}),
    (PrivateKeys(THIRD, Fraction(1, 1000), 4), {"kind": "private_keys", "epsilon": "1/3", "delta": "1/1000", "min_persons": 4},
     {"norm": "l1", "grid": "1", "scale": "18", "threshold": "146", "sensitivity": "6"}),
    (Gaussian(rho=Fraction(1, 8)), {"kind": "gaussian", "epsilon": None, "delta": None, "rho": "1/8"},
     {"norm": "l2", "sigma": "63901395939770060407/9223372036854775808", "sensitivity": "63901395939770060407/18446744073709551616"}),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_mechanism_has_its_file_its_test_and_its_argument(kind: str) -> None:
    cls = registry[kind]
    home = cls.__module__.rpartition(".")[2]
    about = inspect.getdoc(cls) or ""

    assert home == kind
    assert (ROOT / "tests" / "mechanisms" / f"test_{home}.py").is_file()
    assert all(word in about for word in ("Guarantee: ", "Why: ", "Source: ")), kind
    assert kind in {type(mechanism).kind for mechanism, _, _ in STATED}


@pytest.mark.parametrize(("mechanism", "parameters", "noise"), STATED, ids=lambda x: getattr(x, "kind", ""))
def test_a_certificate_states_its_fields_and_the_noise_that_is_drawn(
    mechanism: Mechanism, parameters: dict[str, Any], noise: dict[str, Any]
) -> None:
    """To the letter and in this order: the independent checker reads them, and a file has one spelling."""
    stated = certificate._mechanism(mechanism), mechanism.certificate_noise(COUNTS)

    assert [list(each.items()) for each in stated] == [list(parameters.items()), list(noise.items())]


@pytest.mark.parametrize(("mechanism", "parameters", "noise"), STATED, ids=lambda x: getattr(x, "kind", ""))
def test_mechanisms_come_back_as_themselves(mechanism: Mechanism, parameters: Any, noise: Any) -> None:
    sent = encode.mechanism(mechanism).SerializeToString()

    assert decode.mechanism(pb.Mechanism.FromString(sent)) == mechanism


def test_only_what_is_not_charged_may_be_long() -> None:
    """V-25: the ledger adds up what is charged for ever, so its fractions are short."""
    long = Fraction(1, 2**400)

    assert decode.mechanism(encode.mechanism(AboveThreshold(Fraction(1), long))) == AboveThreshold(Fraction(1), long)
    for mechanism in (Laplace(1 + long), Gaussian(rho=1 + long), AboveThreshold(1 + long, Fraction(1))):
        with pytest.raises(decode.Malformed, match="at most 384 bits"):
            decode.mechanism(encode.mechanism(mechanism))


def test_fields_are_of_types_that_can_be_sent() -> None:
    for kind in KINDS:
        assert declared_parameters(registry[kind])
    wrong = type("Wrong", (Mechanism,), {"__annotations__": {"name": str}, "__match_args__": ("name",)})
    with pytest.raises(TypeError, match="must be declared as"):
        declared_parameters(wrong)


def test_two_mechanisms_of_one_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="two mechanisms are called 'laplace'"):
        type("Other", (Mechanism,), {"kind": "laplace"})


def test_what_lacks_an_answer_cannot_be_built() -> None:
    class Half(Mechanism):
        @property
        def loss(self) -> Loss:
            return Loss(pure=Fraction(1))

        def calibrate(self, value: Any) -> Calibration:
            raise TypeError

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


GENERIC = ["release.py", "session.py", "client.py", "verify/certificate.py", *(
    str(path.relative_to(SOURCE)) for path in sorted((SOURCE / "server").rglob("*.py")))]  # fmt: skip


@pytest.mark.parametrize("name", GENERIC)
def test_what_carries_mechanisms_knows_none_of_them(name: str) -> None:
    """Release, server and certificate import what all mechanisms share, and no single one."""
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    modules = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}
    homes = {registry[kind].__module__ for kind in KINDS}

    assert not modules & homes


def test_reveal_takes_a_mechanism_that_adds_noise_and_no_second_price() -> None:
    df = pd.from_frame(people(), "revealed by a mechanism", SCHEMA)
    ages = df["age"].value_counts(sort=False)

    assert abs(df.shape[0].reveal(mechanism=Laplace(Fraction(100))) - 60) < 1
    assert df.shape[0].error(mechanism=Laplace(Fraction(1, 10))) == df.shape[0].error(eps=0.1)
    with pytest.raises(PlanError, match="parameters of its own"):
        df.shape[0].reveal(mechanism=Laplace(Fraction(1)), eps=1)
    with pytest.raises(PlanError, match="noisy_max chooses among elements"):
        ages.reveal(mechanism=NoisyMax(Fraction(1)))


def test_the_estimate_of_memory_asks_each_value_and_names_none() -> None:
    """How long the numbers of a new operation get is said in its own file (``number_bits``, ``filling_bytes``)."""
    tree = ast.parse((SOURCE / "server" / "work.py").read_text(encoding="utf-8"))
    modules = {each.module or "" for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)}

    assert not [name for name in modules if name.startswith("privjail.ops.numbers")]
