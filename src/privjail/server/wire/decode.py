"""Decodes nodes from messages. Every field is checked against the type that the operation declares."""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache, lru_cache
from itertools import repeat
from types import UnionType
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from privjail.budget.blocks import Block
from privjail.errors import DPError, PlanError
from privjail.mechanisms import mechanism as mechanisms
from privjail.mechanisms.mechanism import Mechanism, declared_parameters
from privjail.mechanisms.registry import load_all as load_all_mechanisms
from privjail.ops.registry import load_all
from privjail.plan.domain import Interval
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, registry
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.wire.encode import IN_ONE_PIECE, LABELS, declared

DIGITS = 640  # digits of a whole number, or of each part of a fraction: the smallest float has 324
PARAMETER_BITS = 384  # bits of each part of a charged parameter (eps, delta, rho), all of which the ledger adds up
NO_PARAMETER = object()
TEXT_BYTES = 1024  # bytes of one text: a column may hold it in every row
NESTED = 3  # lists within lists
LISTS = ("list", "reals", "wholes")  # kinds of fields that are a list
REPEATED = 1_000_000  # items of the lists that several nodes share, times the number of nodes
load_all()
load_all_mechanisms()
Known = Callable[[int], Node | None]

# What a jail builds for its clients: operations of this package, and those that the serving process has accepted.
KINDS: dict[str, type[Node]] = {}
MECHANISMS: dict[str, type[Mechanism]] = {}


def accept(*classes: type[Node] | type[Mechanism]) -> None:
    """Allow clients to use these operations and mechanisms. Only the serving program can call this."""
    for cls in classes:
        if issubclass(cls, Mechanism):
            declared_parameters(cls)  # raises if it cannot be sent
            MECHANISMS[cls.kind] = cls
        elif issubclass(cls, (Rows, Expr, Value)):
            KINDS[cls.kind] = cls
        else:
            raise TypeError(f"{cls.__name__} is neither an operation nor a mechanism")


accept(*[cls for kind, cls in registry.items() if cls.__module__.startswith("privjail.ops.") and kind != "source"])
accept(*[cls for cls in mechanisms.registry.values() if cls.__module__.startswith("privjail.mechanisms.")])


class Malformed(PlanError):
    """A message that our own client never sends."""


def parse(message: Any, body: bytes) -> Any:
    """A message from its bytes."""
    try:
        return message.FromString(body)
    except (DecodeError, RecursionError):
        raise Malformed("the message cannot be read") from None


def text(given: str) -> str:
    if len(given.encode()) > TEXT_BYTES:
        raise Malformed(f"a text has more than {TEXT_BYTES} bytes")
    return given


def literal(message: pb.Literal) -> Lit:
    match message.WhichOneof("value"):
        case "none":
            return Lit("none", "")
        case "truth":
            return Lit.of(message.truth)
        case "whole":
            return Lit("int", str(_whole(message.whole)))
        case "real":
            return Lit.of(message.real)
        case "text":
            return Lit.of(text(message.text))
        case "time":
            lit = Lit("time", str(message.time))
            try:
                lit.value  # noqa: B018  a moment outside the calendar is no moment
            except OverflowError:
                raise Malformed("a time lies outside the calendar") from None
            return lit
    raise Malformed("a constant without a value")


def _whole(spelled: str) -> int:
    digits = spelled.removeprefix("-")
    if not 0 < len(digits) <= DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise Malformed("a whole number is not written as one")
    return int(spelled)


def fraction(spelled: str) -> Fraction:
    top, _, bottom = spelled.partition("/")
    below = _whole(bottom) if bottom else 1
    if below <= 0:
        raise Malformed("a fraction needs a positive denominator")
    return Fraction(_whole(top), below)


def nodes(message: pb.Node, known: Known) -> tuple[type[Node], Iterator[tuple[Any, ...]]]:
    """The operation that a message names, and the fields of each of its nodes, of the types that it declares.

    The fields are decoded one node at a time: a node may refer to earlier ones in the same message.
    """
    cls = KINDS.get(message.kind)
    if cls is None:
        raise Malformed("there is no such operation")
    readers = _readers(cls)
    if len(readers) != len(message.fields):
        raise Malformed(f"{message.kind}: the number of fields is wrong")
    count = message.count or 1
    if count == 1:
        return cls, iter([tuple([each.one(sent, known) for sent, each in zip(message.fields, readers, strict=True)])])
    _check_several(message, count)
    columns = [each.column(sent, count, known) for sent, each in zip(message.fields, readers, strict=True)]
    return cls, zip(*columns, strict=True)


def _check_several(message: pb.Node, count: int) -> None:
    """Refuse a short message that would cause more work than a long one could."""
    which = [sent.WhichOneof("value") for sent in message.fields]
    if not {"nodes", "each"} & set(which):
        raise Malformed(f"{message.kind}: several nodes need a field that is given for each of them")
    if message.id + count > 2**64:
        raise Malformed("a node's number has more than 64 bits")
    lists = [(sent, value) for sent, value in zip(message.fields, which, strict=True) if value in LISTS]
    items = sum([len(getattr(sent, value).items) for sent, value in lists])
    if items * count > REPEATED:
        raise Malformed(f"{message.kind}: a list of {items} is given for {count} nodes at once")


class Reader:
    """Reads one field of an operation, and checks its type."""

    def __init__(self, kind: str, type_: Any) -> None:
        self._kind, self._is_label = kind, type_ == LABELS
        self._fits = _fitting(type_)
        self._good: set[type] = set()  # node types that were found to fit

    def column(self, sent: pb.Field, count: int, known: Known) -> Iterator[Any]:
        """One field, for each of several nodes."""
        which = sent.WhichOneof("value")
        if which not in ("nodes", "each"):
            return repeat(self.read(sent, known), count)
        if len(sent.nodes.ids if which == "nodes" else sent.each.items) != count:
            raise Malformed(f"{self._kind}: a field is not given for each node")
        if which == "nodes":
            return self._nodes(sent.nodes.ids, known)
        return (self.read(item, known) for item in sent.each.items)

    def _nodes(self, numbers: Iterable[int], known: Known) -> Iterator[Node]:
        good = self._good
        for number in numbers:
            found = _found(number, known)
            if type(found) not in good:
                self._check(found)
                good.add(type(found))
            yield found

    def one(self, sent: pb.Field, known: Known) -> Any:
        """One field, for a single node."""
        match sent.WhichOneof("value"):
            case "node":
                return next(self._nodes((sent.node,), known))
            case "nodes" | "each":
                return next(self.column(sent, 1, known))
        return self.read(sent, known)

    def read(self, sent: pb.Field, known: Known) -> Any:
        value = _label(sent) if self._is_label else _field(sent, known)
        self._check(value)
        return value

    def _check(self, value: Any) -> None:
        if not self._fits(value):
            raise Malformed(f"{self._kind}: a field has the wrong type")


@cache
def _readers(cls: type[Node]) -> list[Reader]:
    return [Reader(cls.kind, type_) for type_ in declared(cls)]


def make(cls: Any, values: tuple[Any, ...]) -> Any:
    """Build a node or mechanism. It derives its own facts, and refuses fields that make no sense."""
    try:
        made = cls(*values)
    except DPError:
        raise
    except RecursionError:
        raise Malformed(f"{cls.kind}: the plan is too deep") from None
    except (TypeError, ValueError, AttributeError, OverflowError, ArithmeticError, IndexError, KeyError):
        raise Malformed(f"{cls.kind}: the fields do not fit together") from None
    return made


def _found(number: int, known: Known) -> Node:
    found = known(number)
    if found is None:
        raise Malformed("a node refers to one that was not sent")
    return found


def _field(message: pb.Field, known: Known, depth: int = 0) -> Any:
    match message.WhichOneof("value"):
        case "none":
            return None
        case "node":
            return _found(message.node, known)
        case "literal":
            return literal(message.literal)
        case "number":
            return int(message.number)
        case "text":
            return text(message.text)
        case "fraction":
            return fraction(message.fraction)
        case "list" if depth < NESTED:
            return tuple(_field(item, known, depth + 1) for item in message.list.items)
        case "reals" if depth == 0:
            return _numbers(message.reals.items)
        case "wholes" if depth == 0:
            return _numbers(message.wholes.items)
    raise Malformed("a field without a value")


def _numbers(items: Any) -> tuple[Lit, ...]:
    """A list of numbers that was sent as one packed field."""
    if len(items) > IN_ONE_PIECE:
        raise Malformed(f"more than {IN_ONE_PIECE} numbers in one piece")
    return tuple(map(Lit.of, items))


def _label(message: pb.Field, depth: int = 0) -> Any:
    """A public label, or a list of them as a tuple."""
    match message.WhichOneof("value"):
        case "literal" if message.literal.WhichOneof("value") != "time":
            return literal(message.literal).value
        case "interval":
            given = message.interval
            if given.closed not in ("left", "right", "both") or not all(map(math.isfinite, (given.left, given.right))):
                raise Malformed("an interval has two finite edges, and is closed left, right or on both sides")
            return Interval(given.left, given.right, given.closed)
        case "list" if depth < NESTED:
            return tuple(_label(item, depth + 1) for item in message.list.items)
    raise Malformed("a label is a constant, an interval or a list of labels")


def _fitting(type_: Any) -> Callable[[Any], bool]:
    """A function that checks whether a value is of a declared type. It is built once for each type."""
    origin, inner = typing.get_origin(type_), typing.get_args(type_)
    if type_ == LABELS:
        return lambda value: isinstance(value, tuple)
    if origin in (typing.Union, UnionType):
        choices = [_fitting(each) for each in inner]
        return lambda value: any(fits(value) for fits in choices)
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        fits_one = _fitting(inner[0])
        return lambda value: isinstance(value, tuple) and all(map(fits_one, value))
    if origin is tuple:
        each_fits = [_fitting(each) for each in inner]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(each_fits)
            and all(fits(part) for fits, part in zip(each_fits, value, strict=True))
        )
    if type_ is type(None):
        return lambda value: value is None
    if type_ is int:
        return lambda value: type(value) is int  # True is no number here
    return lambda value: isinstance(value, type_)


def block(request: pb.ReleaseRequest) -> Block | None:
    """The block of accounting that a request is charged to, if it names one; it checks its parameters itself."""
    if not request.HasField("block"):
        return None
    sent = request.block
    if len(sent.id) != 16:
        raise Malformed("the id of a block has 16 bytes")
    given = [fraction(x) if x else None for x in (sent.eps, sent.delta, sent.rho)]
    if any(x is not None and _bits(x) > PARAMETER_BITS for x in given):
        raise Malformed(f"a block's parameters are fractions of at most {PARAMETER_BITS} bits")
    eps, delta, rho = given
    return Block.of(text(sent.notion), eps, delta, rho, sent.id.hex())


def mechanism(message: pb.Mechanism) -> Mechanism:
    """A mechanism: its parameters have the declared types, and it checks them itself."""
    cls = MECHANISMS.get(message.kind)
    if cls is None:
        raise Malformed("there is no such mechanism")
    declared = declared_parameters(cls)
    if len(declared) != len(message.fields):
        raise Malformed(f"{cls.kind}: the number of fields is wrong")
    values = []
    for sent, (name, (type_, optional)) in zip(message.fields, declared.items(), strict=True):
        value = _parameter(sent, type_, optional)
        if value is NO_PARAMETER:
            raise Malformed(f"{cls.kind}: {name} has the wrong type")
        if type_ is Fraction and value is not None and name not in cls.not_charged and _bits(value) > PARAMETER_BITS:
            raise Malformed(f"{cls.kind}: {name} is a fraction of at most {PARAMETER_BITS} bits")
        values.append(value)
    made: Mechanism = make(cls, tuple(values))
    return made


def _parameter(sent: pb.Field, type_: type, optional: bool) -> Any:
    """A parameter of the declared type, or NO_PARAMETER."""
    match sent.WhichOneof("value"):
        case "none" if optional:
            return None
        case "fraction" if type_ is Fraction:
            return _fraction(sent.fraction)
        case "number" if type_ is int:
            return int(sent.number)
        case "number" if type_ is bool and sent.number in (0, 1):
            return sent.number == 1
    return NO_PARAMETER


@lru_cache(maxsize=1024)  # the strings are short: longer ones were refused before
def _fraction(spelled: str) -> Fraction:
    return fraction(spelled)


def _bits(x: Fraction) -> int:
    return max(abs(x.numerator), x.denominator).bit_length()
