"""How to break a rule of the library for a moment.

Plans built before are forgotten meanwhile: equal nodes are one object, and would keep the facts of the right rule.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest

from privjail.plan import node
from privjail.plan.rows import Lineage
from privjail.plan.value import Facts, PerElement


@dataclass(frozen=True)
class Mutation:
    """What is broken, and the test that must notice it."""

    name: str
    wrong: dict[str, Any]  # "module:name" or "module:Class.name" → the wrong one, given the right one
    check: Callable[[], Any]


@contextmanager
def broken(wrong: dict[str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(node, "_alive", {}))
        for place, make in wrong.items():
            where, _, name = place.partition(":")
            target: Any = importlib.import_module(f"privjail.{where}")
            *inside, last = name.split(".")
            for each in inside:
                target = getattr(target, each)
            right = getattr(target, last, None)
            if isinstance(target, type) and last in vars(target):
                right = vars(target)[last]
            stack.enter_context(mock.patch.object(target, last, make(right), create=True))
        yield


def derived(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A __post_init__ whose facts, also those of a lineage or a value, are changed afterwards."""

    def make(right: Any) -> Any:
        def wrong(self: Any) -> None:
            right(self)
            facts = change(self)
            for whole, part in (("lineage", Lineage), ("_facts", Facts)):
                mine = {name: facts.pop(name) for name in part._fields if name in facts}
                if mine:
                    self.fact(**{whole: getattr(self, whole.strip("_"))._replace(**mine)})
            self.fact(**facts)

        return wrong

    return make


def caught(check: Callable[[], Any]) -> bool:
    """Whether a test fails, or the engine itself sees a type that no rule allows (V-10)."""
    try:
        check()
    except (AssertionError, pytest.fail.Exception):
        return True
    except TypeError as error:
        return "another type than the rule" in str(error)
    return False


def nowhere(self: Any) -> dict[str, Any]:
    """Claims that no null can come out."""
    return {"domain": self.domain.with_nulls(False)}


def always(value: Any) -> Callable[[Any], Any]:
    return lambda right: value


def result(change: Callable[..., Any]) -> Callable[[Any], Any]:
    """The right result, changed."""
    return lambda right: lambda *args: change(right(*args), *args)


def tied(right: Any) -> Any:
    """A sort that puts ties in an order that depends on how many rows there are."""

    def wrong(self: Any, frame: Any, *columns: Any) -> Any:
        return right(self, frame.reverse() if frame.height % 2 else frame, *columns)

    return wrong


def wrapping(right: Any) -> Any:
    def wrong(self: Any, a: Any, b: Any) -> Any:
        if self.op not in ("+", "-", "*"):
            return right(self, a, b)
        return {"+": operator.add, "-": operator.sub, "*": operator.mul}[self.op](a, b)

    return wrong


def running_sum(right: Any) -> Any:
    def wrong(self: Any, table: Any) -> Any:
        if table.value is None or table.keys:
            return right(self, table)
        column = self._column(table.value, self._size(table.rows.base)).fill_null(0).to_numpy()
        return np.asarray(int(np.add.accumulate(column)[-1])) if len(column) else np.asarray(0)

    return wrong


def half(self: Any) -> dict[str, Any]:
    return {"joint": PerElement(tuple(self.joint.at(i) * Fraction(1, 2) for i in range(self.joint.size)))}


def sloppy_bounds(right: Any) -> Any:
    def wrong(op: str, a: Any, b: Any) -> Any:
        if op != "//":
            return right(op, a, b)
        corners = [x // y for x in (a.lower, a.upper) for y in (b.lower, b.upper) if y]
        return min(corners), max(corners)

    return wrong


def no_missing_key(right: Any) -> Any:
    def wrong(condition: Any) -> Any:
        found = right(condition)
        return None if found is None else (found[0], tuple(k for k in found[1] if k.value is not None))

    return wrong
