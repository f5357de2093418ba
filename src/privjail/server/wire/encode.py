"""Encodes nodes as messages."""

from __future__ import annotations

import typing
from collections.abc import Callable, Container, Iterable
from fractions import Fraction
from functools import cache
from typing import Any

from privjail.budget.blocks import Block
from privjail.errors import PlanError
from privjail.mechanisms.mechanism import Mechanism
from privjail.ops.rows.source import Source
from privjail.plan.domain import INT_MAX, INT_MIN
from privjail.plan.node import Lit, Node, children, inputs_first, micros
from privjail.server.wire import privjail_pb2 as pb

Ids = Callable[[Any], int]  # the number of a node
LABELS = tuple[Any, ...]  # the declared type of a vector's public labels
IN_ONE_PIECE = 200_000  # numbers in one packed list: 8 bytes on the wire become hundreds in memory


@cache
def declared(cls: type[Node]) -> tuple[Any, ...]:
    """The declared types of a node's fields, in order."""
    hints = typing.get_type_hints(cls)
    return tuple(hints[name] for name in cls.__match_args__)  # type: ignore[attr-defined]


def literal(lit: Lit) -> pb.Literal:
    match lit.type_:
        case "none":
            return pb.Literal(none=True)
        case "bool":
            return pb.Literal(truth=lit.value)
        case "int":
            return pb.Literal(whole=lit.spelling)
        case "float":
            return pb.Literal(real=lit.value)
        case "text":
            return pb.Literal(text=lit.value)
    return pb.Literal(time=micros(lit.value))


def field(value: Any, ids: Ids) -> pb.Field:
    """A field; ``ids`` gives the number of a node."""
    match value:
        case None:
            return pb.Field(none=True)
        case Lit():
            return pb.Field(literal=literal(value))
        case Node():
            return pb.Field(node=ids(value))
        case bool() | int():
            return pb.Field(number=int(value))
        case str():
            return pb.Field(text=value)
        case Fraction():
            return pb.Field(fraction=f"{value.numerator}/{value.denominator}")
        case tuple():
            return pb.Field(list=pb.Fields(items=[field(each, ids) for each in value]))
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def label(value: Any) -> pb.Field:
    """A public label of a vector: a constant, an interval (ours or pandas'), or a tuple of labels."""
    if isinstance(value, tuple):
        return pb.Field(list=pb.Fields(items=[label(each) for each in value]))
    if type(value).__name__ == "Interval":
        return pb.Field(interval=pb.Interval(left=value.left, right=value.right, closed=value.closed))
    try:
        lit = Lit.of(value)
    except TypeError:
        lit = None
    if lit is None or lit.type_ == "time":
        raise PlanError(f"a label must be text, a number or true/false, not {type(value).__name__}")
    return pb.Field(literal=literal(lit))


def nodes(several: list[Node], first: int, ids: Ids) -> pb.Node:
    """A message for nodes of one kind, numbered from ``first``."""
    cls = type(several[0])
    if isinstance(several[0], Source):
        known = [pb.Field(dataset=several[0].dataset.name), pb.Field(text=several[0].timeless().hex())]
        return pb.Node(id=first, kind=cls.kind, fields=known)
    columns = zip(*[each.fields() for each in several], strict=True)
    fields = [
        _column(values, ids) if type_ != LABELS else _labels(values)
        for values, type_ in zip(columns, declared(cls), strict=True)
    ]
    return pb.Node(id=first, kind=cls.kind, fields=fields, count=len(several))


def _in_one_piece(value: Any, ids: Ids) -> pb.Field:
    """A field of a single node. Numbers of one type are packed into one field, which is far faster."""
    if not isinstance(value, tuple) or not 0 < len(value) <= IN_ONE_PIECE:
        return field(value, ids)
    types = {each.type_ if type(each) is Lit else None for each in value}
    if types == {"float"}:
        return pb.Field(reals=pb.Reals(items=[each.value for each in value]))
    if types == {"int"} and all([INT_MIN <= each.value <= INT_MAX for each in value]):
        return pb.Field(wholes=pb.Wholes(items=[each.value for each in value]))
    return field(value, ids)


def _column(values: tuple[Any, ...], ids: Ids) -> pb.Field:
    """One field of several nodes: one value for all, or one for each."""
    first = values[0]
    if values.count(first) == len(values):  # nodes are compared by identity
        return _in_one_piece(first, ids)
    if all([isinstance(value, Node) and not isinstance(value, Lit) for value in values]):
        return pb.Field(nodes=pb.Numbered(ids=list(map(ids, values))))
    return pb.Field(each=pb.Fields(items=[_in_one_piece(value, ids) for value in values]))


def _labels(values: tuple[Any, ...]) -> pb.Field:
    if len(values) == 1:
        return label(values[0])
    return pb.Field(each=pb.Fields(items=[label(value) for value in values]))


def unsent(asked: Iterable[Node], known: Container[int]) -> list[list[Node]]:
    """The given nodes and all below them that the jail does not know yet, in groups of one kind, inputs first.

    ``known`` holds the id() of each known node. Constants are sent inside the nodes that use them. A node is put into a
    group of its kind right after the group of its last input, or into the same group if that has the same kind.
    """
    places: dict[Node, int] = {}
    groups: dict[tuple[int, type[Node], int], list[Node]] = {}

    def below(each: Node) -> list[Node]:
        return [child for child in children(each) if id(child) not in known and type(child) is not Lit]

    wanted = [each for each in asked if id(each) not in known]
    for each in inputs_first(wanted, below, places.__contains__):
        cls, place = type(each), 0
        for child in children(each):
            after = places.get(child, -1) + (type(child) is not cls)
            if after > place:
                place = after
        places[each] = place
        alone = id(each) if cls is Source else 0  # a message names one data set
        groups.setdefault((place, cls, alone), []).append(each)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def mechanism(chosen: Mechanism) -> pb.Mechanism:
    parameters = chosen.parameters()
    for name, value in parameters.items():
        if type(value) is int and not INT_MIN <= value <= INT_MAX:
            raise PlanError(f"{name} = {value} is more than a jail takes", do="use a smaller number")
    return pb.Mechanism(kind=chosen.kind, fields=[_parameter(value) for value in parameters.values()])


def block(chosen: Block) -> pb.Block:
    """A block of accounting; parameters that it does not have are empty."""
    eps, delta, rho = ("" if x is None else str(x) for x in (chosen.eps, chosen.delta, chosen.rho))
    return pb.Block(notion=chosen.kind, eps=eps, delta=delta, rho=rho, id=bytes.fromhex(chosen.id))


def _parameter(value: Fraction | int | None) -> pb.Field:
    if value is None:
        return pb.Field(none=True)
    if isinstance(value, int):
        return pb.Field(number=int(value))  # True and False are 1 and 0
    return pb.Field(fraction=f"{value.numerator}/{value.denominator}")
