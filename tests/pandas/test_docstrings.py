"""Every name that an analyst can call explains itself, with an example that runs and types that an editor knows."""

from __future__ import annotations

import doctest
import inspect
import re
import sys
import typing
import warnings
from pathlib import Path

import pytest

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.pandas.accessors import Categories, DateTimes, Strings
from privjail.pandas.persons import PersonColumn, PersonGroups
from privjail.pandas.rolling import Rolling

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from patients import SCHEMA, generate  # noqa: E402

CLASSES = [
    pd.PrivDataFrame, pd.PrivSeries, pd.PrivDataFrameGroupBy, pd.PrivSeriesGroupBy, pd.SensitiveSeries,
    pd.SensitiveDataFrame, pj.SensitiveInt, pj.SensitiveFloat, Strings, DateTimes, Categories, Rolling,
    PersonGroups, PersonColumn,
]  # fmt: skip
FUNCTIONS = [
    *(getattr(pd, name) for name in pd.__all__ if inspect.isfunction(getattr(pd, name))),
    *(getattr(pj, name) for name in pj.__all__ if inspect.isfunction(getattr(pj, name))),
]
#: These open data or connect: the guides run them, with files and servers.
ELSEWHERE = {
    "read_csv",
    "read_parquet",
    "from_frame",
    "connect",
    "disconnect",
    "budget",
    "consumed_privacy_budget",
    "certify",
}
PROPERTIES_OF_EVERY_PRISONER = {"distance", "max_distance"}


def methods():
    for cls in CLASSES:
        for name, member in inspect.getmembers(cls):
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and inspect.isfunction(function) and name not in PROPERTIES_OF_EVERY_PRISONER:
                yield pytest.param(function, id=f"{cls.__name__}.{name}")


class Approximate(doctest.OutputChecker):
    """Expected output that begins with ≈ matches any number within a tenth of it: releases are noisy."""

    def check_output(self, want, got, optionflags):
        if not want.startswith("≈"):
            return super().check_output(want, got, optionflags)
        return abs(float(got) - float(want[1:])) <= max(3.0, 0.15 * float(want[1:]))


@pytest.fixture(scope="module")
def names():
    rows = generate(2_000)
    df = pd.from_frame(rows, "patients", SCHEMA, budget=1e6)
    zcdp_df = pd.from_frame(rows, "patients_zcdp", SCHEMA, budget=pj.ZCDP(1e3))
    approx_df = pd.from_frame(rows, "patients_approx", SCHEMA, budget=pj.ApproxDP(1e3, 0.1))
    visits = pd.from_frame(rows.assign(patient=range(len(rows))), "visits", SCHEMA, unit="patient", budget=1e6)
    return {
        "visits": visits,
        "df": df,
        "zcdp_df": zcdp_df,
        "approx_df": approx_df,
        "pd": pd,
        "pj": pj,
        "pandas": pandas,
        "warnings": warnings,
    }


def run(function, names):
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
    test = doctest.DocTest(examples, dict(names), function.__qualname__, None, None, None)
    said: list[str] = []
    doctest.DocTestRunner(Approximate(), verbose=False).run(test, out=said.append)
    return examples, "".join(said)


@pytest.mark.parametrize("method", list(methods()))
def test_a_method_has_an_example_that_runs(method, names):
    examples, failures = run(method, names)

    assert examples, "an example is missing"
    assert not failures, failures


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_has_an_example_that_runs(function, names):
    examples, failures = run(function, names)

    assert examples or function.__name__ in ELSEWHERE, "an example is missing"
    assert not failures, failures


def returned(function):
    """What a function says it returns; of several spellings each."""
    spellings = typing.get_overloads(inspect.unwrap(function)) or [inspect.unwrap(function)]
    return [str(each.__annotations__.get("return")) for each in spellings]


@pytest.mark.parametrize("function", [*methods(), *FUNCTIONS], ids=lambda f: getattr(f, "__qualname__", None))
def test_nothing_public_returns_any(function):
    assert not [each for each in returned(function) if re.fullmatch(r"(typing\.)?Any|None", each) and each != "None"]


def test_an_approximate_example_can_fail():
    checker = Approximate()

    assert checker.check_output("≈ 2000\n", "2011.0\n", 0)
    assert not checker.check_output("≈ 2000\n", "2500.0\n", 0)
