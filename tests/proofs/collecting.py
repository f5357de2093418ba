"""The certificates that tests/verify/test_forged*.py and test_checker.py make, with what the checker in Python says."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from privjail.verify.checker import check

from ..mutations.breaking import Mutation, broken

FORGED = ("test_forged", "test_forged_claims", "test_forged_samples", "test_forged_types", "test_checker")
# These go over hundreds of random plans. Their certificates are made by `of_broken_rules` and by plans.py itself.
LONG = ("test_it_agrees_on", "test_a_broken_rule", "test_mutations_leave", "test_no_operation_is_missing",
        "test_a_bound_that_is_left_out")  # fmt: skip
LONGEST = 200_000  # characters: some certificates consist of one number of a million digits


class Judged(NamedTuple):
    """A certificate, the test that made it, and what the checker in Python said."""

    test: str
    text: str
    verdict: str
    problem: str


def forged_certificates() -> list[Judged]:
    """Run the tests of forged certificates, and keep what they let the checker in Python look at."""
    found: list[Judged] = []
    for name in FORGED:
        module = importlib.import_module(f"tests.verify.{name}")
        for test, function in inspect.getmembers(module, inspect.isfunction):
            ours = function.__module__ == module.__name__ and test.startswith("test_") and not test.startswith(LONG)
            if ours and not any(mark.name == "slow" for mark in getattr(function, "pytestmark", [])):
                found += kept_of(module, test, function)
    return found


def kept_of(module: ModuleType, test: str, function: Callable[..., None]) -> list[Judged]:
    found: list[Judged] = []

    def keeping(made: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):
            text = json.dumps(made)
            report = check(made)
            if len(text) <= LONGEST:
                found.append(Judged(test, text, report.verdict, "".join(report.problems[:1])))
            return report
        return check(made)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(module, "check", keeping)
        for given in calls(module, function):
            # Whether it passes is judged where it stands.
            with pytest.MonkeyPatch.context() as own, contextlib.suppress(AssertionError, pytest.skip.Exception):
                function(**{name: own if name == "monkeypatch" else value for name, value in given.items()})
    return found


def calls(module: ModuleType, function: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The arguments with which pytest calls a test: each combination of its parameters, and the module's fixtures.

    ``monkeypatch`` is None: each call gets one of its own.
    """
    choices = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            named = mark.args[0]
            names = [each.strip() for each in (named.split(",") if isinstance(named, str) else named)]
            several = len(names) > 1
            choices.append([dict(zip(names, each if several else (each,), strict=True)) for each in mark.args[1]])
    for chosen in itertools.product(*choices):
        given = {name: value for each in chosen for name, value in each.items()}
        for name in inspect.signature(function).parameters:
            if name not in given:
                given[name] = None if name == "monkeypatch" else inspect.unwrap(getattr(module, name))()
        yield given


def of_broken_rules(mutations: list[Mutation], make: Callable[[int], Any], seeds: range) -> list[Judged]:
    """Certificates of random releases while one rule of the library is broken."""
    found = []
    for mutation in mutations:
        with broken(mutation.wrong):
            for seed in seeds:
                try:
                    made = make(seed)
                except Exception:  # noqa: BLE001  a broken rule may break the plan
                    continue
                if made is not None:
                    report = check(made)
                    found.append(Judged(mutation.name, json.dumps(made), report.verdict, "".join(report.problems[:1])))
    return found
