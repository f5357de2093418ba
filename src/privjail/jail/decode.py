"""From the wire to nodes: every field is checked against the type that the operation declares."""

from __future__ import annotations

import typing
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import Any

from privjail.errors import DPError, PlanError
from privjail.jail import privjail_pb2 as pb
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.gaussian import Gaussian
from privjail.mechanisms.laplace import Laplace
from privjail.mechanisms.mechanism import Mechanism
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.ops import everything
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, registry
from privjail.plan.rows import Rows
from privjail.plan.value import Value

DIGITS = 2000  # of a whole number or a fraction's parts
everything.load()
KINDS = {kind: cls for kind, cls in registry.items() if issubclass(cls, (Rows, Expr, Value)) and kind != "source"}


class Malformed(PlanError):
    """A message that no client of ours sends."""


def literal(message: pb.Literal) -> Lit:
    which = message.WhichOneof("value")
    match which:
        case "none":
            return Lit("none", "")
        case "truth":
            return Lit.of(message.truth)
        case "whole":
            return Lit("int", str(_whole(message.whole)))
        case "real":
            return Lit.of(message.real)
        case "text":
            return Lit.of(message.text)
        case "time":
            lit = Lit("time", str(message.time))
            try:
                lit.value  # noqa: B018  a moment outside the calendar is no moment
            except OverflowError:
                raise Malformed("a time lies outside the calendar") from None
            return lit
    raise Malformed("a constant without a value")


def _whole(text: str) -> int:
    if not text or len(text) > DIGITS or not text.lstrip("-").isdecimal() or not text.isascii():
        raise Malformed("a whole number is not written as one")
    try:
        return int(text)
    except ValueError:
        raise Malformed("a whole number is not written as one") from None


def fraction(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    below = _whole(bottom) if bottom else 1
    if below <= 0:
        raise Malformed("a fraction needs a positive denominator")
    return Fraction(_whole(top), below)


@cache
def _types(cls: type[Node]) -> tuple[Any, ...]:
    """The declared types of a node's fields, in order."""
    hints = typing.get_type_hints(cls)
    return tuple(hints[name] for name in cls.__match_args__)  # type: ignore[attr-defined]


def build(message: pb.Node, known: dict[int, Node], source: Any) -> Node:
    """One node from its message. ``source`` opens a data set by name, for this user."""
    if message.kind == "source":
        if len(message.fields) != 1 or message.fields[0].WhichOneof("value") != "dataset":
            raise Malformed("a source is a data set's name")
        opened: Node = source(message.fields[0].dataset)
        return opened
    cls = KINDS.get(message.kind)
    if cls is None:
        raise Malformed("there is no such operation")
    declared = _types(cls)
    if len(declared) != len(message.fields):
        raise Malformed(f"{message.kind}: the number of fields is wrong")
    values = [_field(f, known) for f in message.fields]
    for value, type_ in zip(values, declared, strict=True):
        if not _fits(value, type_):
            raise Malformed(f"{message.kind}: a field has the wrong type")
    try:
        made: Node = cls(*values)
    except DPError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError, ArithmeticError, IndexError, KeyError):
        raise Malformed(f"{message.kind}: the fields do not fit together") from None
    return made


def _field(message: pb.Field, known: dict[int, Node], depth: int = 0) -> Any:
    match message.WhichOneof("value"):
        case "none":
            return None
        case "node":
            found = known.get(message.node)
            if found is None:
                raise Malformed("a node refers to one that was not sent")
            return found
        case "literal":
            return literal(message.literal)
        case "number":
            return int(message.number)
        case "text":
            return message.text
        case "fraction":
            return fraction(message.fraction)
        case "list" if depth < 4:
            return tuple(_field(item, known, depth + 1) for item in message.list.items)
    raise Malformed("a field without a value")


def _fits(value: Any, type_: Any) -> bool:
    origin = typing.get_origin(type_)
    if type_ is Any:
        return isinstance(value, (str, int)) and not isinstance(value, bool)
    if origin in (typing.Union, UnionType):
        return any(_fits(value, each) for each in typing.get_args(type_))
    if origin is tuple:
        inner = typing.get_args(type_)
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(_fits(each, inner[0]) for each in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if type_ is type(None):
        return value is None
    if type_ is int:
        return type(value) is int
    return isinstance(value, type_)


def mechanism(message: pb.Mechanism) -> Mechanism:
    """A mechanism, which checks its own parameters."""

    def given(text: str) -> Fraction | None:
        return fraction(text) if text else None

    eps = given(message.epsilon)
    if message.kind == "gaussian":
        return Gaussian(eps, given(message.delta), given(message.rho))
    if eps is None:
        raise Malformed("a mechanism without eps")
    match message.kind:
        case "laplace":
            return Laplace(eps)
        case "exponential":
            return Exponential(eps)
        case "noisy_max":
            return NoisyMax(eps, message.smallest, message.k or 1)
        case "above_threshold":
            return AboveThreshold(eps, fraction(message.threshold))
    raise Malformed("there is no such mechanism")
