"""Requests that were valid until something in them was changed."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from privjail.mechanisms.mechanism import declared_parameters
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.wire.decode import KINDS, MECHANISMS

STRANGE_TEXT = ["", "x" * 5000, "\0", "../../etc/passwd", "people", "Ω" * 400, "'; DROP TABLE events; --", "None", "1/0", "-0",
                "1e5", "9" * 700, "٣", "-", "1/-1", "0x10", " 1", "1/3/5", "nan", "inf"]  # fmt: skip
STRANGE_NUMBERS = [0, 1, -1, 2, 63, 64, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)]
STRANGE_REALS = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 1e-9, 0.1]


def field(r: random.Random, ids: list[int], depth: int = 0) -> pb.Field:
    """Any field at all."""
    match r.randrange(12):
        case 0:
            return pb.Field(none=True)
        case 1:
            return pb.Field(node=r.choice([*ids, 0, 999, 2**64 - 1]))
        case 2 | 3:
            return pb.Field(literal=literal(r))
        case 4:
            return pb.Field(number=r.choice(STRANGE_NUMBERS))
        case 5:
            return pb.Field(text=r.choice([*STRANGE_TEXT, "==", "+", "max", "&", "Int64", "age", "city", "lower"]))
        case 6:
            return pb.Field(fraction=r.choice([*STRANGE_TEXT, "1/2", "3", "1/" + "9" * 600, "9" * 600]))
        case 7 if depth < 6:
            return pb.Field(list=pb.Fields(items=[field(r, ids, depth + 1) for _ in range(r.choice([0, 1, 2, 3, 40]))]))
        case 8:
            return pb.Field(
                interval=pb.Interval(left=r.choice(STRANGE_REALS), right=1, closed=r.choice(["left", "", "x"]))
            )
        case 9:
            return pb.Field(reals=pb.Reals(items=r.choices(STRANGE_REALS, k=r.choice([0, 1, 2, 40]))))
        case 10:
            return pb.Field(wholes=pb.Wholes(items=r.choices(STRANGE_NUMBERS, k=r.choice([0, 1, 2, 40]))))
    return r.choice([pb.Field(), pb.Field(dataset=r.choice(["people", "secret", *STRANGE_TEXT]))])


def literal(r: random.Random) -> pb.Literal:
    return r.choice(
        [
            pb.Literal(),
            pb.Literal(none=True),
            pb.Literal(truth=True),
            pb.Literal(whole=r.choice(STRANGE_TEXT)),
            pb.Literal(whole=str(r.choice(STRANGE_NUMBERS))),
            pb.Literal(real=r.choice(STRANGE_REALS)),
            pb.Literal(text=r.choice([*STRANGE_TEXT, "Kobe"])),
            pb.Literal(time=r.choice(STRANGE_NUMBERS)),
        ]  # fmt: skip
    )


def mechanism(r: random.Random) -> pb.Mechanism:
    """Any mechanism; mostly with as many fields as it has, of their types."""
    kind = r.choice([*MECHANISMS, "", "eval"])
    declared = list(declared_parameters(MECHANISMS[kind]).values()) if kind in MECHANISMS else []
    if r.random() < 0.2:
        declared = r.choices([(Fraction, False), (int, False), (bool, True)], k=r.randrange(6))
    return pb.Mechanism(kind=kind, fields=[parameter(r, *each) for each in declared])


def parameter(r: random.Random, type_: type, optional: bool) -> pb.Field:
    if r.random() < 0.1:
        return field(r, [0, 1])
    if optional and r.random() < 0.4:
        return pb.Field(none=True)
    if type_ is bool:
        return pb.Field(number=r.choice([0, 1, 1, 2, -1]))
    if type_ is int:
        return pb.Field(number=r.choice([0, 1, 2, 5, 2**32 - 1, *STRANGE_NUMBERS]))
    usual = ["1", "1/2", "0", "-1", "1/1000", "1/1000000000", "2000000", "1/3", "1/" + "7" * 600]
    return pb.Field(fraction=r.choice([*usual, *usual, *STRANGE_TEXT]))


def leaves(node: pb.Node) -> list[pb.Field]:
    """The fields of a node that are no lists, also inside lists."""
    out, waiting = [], list(node.fields)
    while waiting:
        each = waiting.pop()
        if each.WhichOneof("value") in ("list", "each"):
            waiting.extend(getattr(each, each.WhichOneof("value")).items)
        else:
            out.append(each)
    return out


class Mutator:
    """Changes a valid request in one or a few places."""

    def __init__(self, seed: int, corpus: list[pb.ReleaseRequest], foreign: bytes) -> None:
        self.r, self.corpus, self.foreign = random.Random(seed), corpus, foreign
        self.offset = seed * 2**40

    def mutated(self, session_id: bytes) -> tuple[str, bytes]:
        """A method and a body."""
        r = self.r
        request = pb.ReleaseRequest()
        request.CopyFrom(r.choice(self.corpus))
        request.session, request.request = session_id, r.randbytes(16)
        if r.random() < 0.9:
            self.renumber(request)
        if r.random() < 0.05:
            return r.choice(["Open", "Describe", "Budget", "Close"]), self.other(session_id)
        if r.random() < 0.15:
            return "Release", self.damaged(request.SerializeToString())
        if r.random() < 0.7:
            for _ in range(r.randrange(1, 5)):
                self.gently(request)
            return "Release", request.SerializeToString()
        for _ in range(r.randrange(1, 4)):
            r.choice(
                [self.swap_fields, self.change_field, self.change_kind, self.change_ids, self.change_ask, self.change_ids,
                 self.drop, self.repeat, self.change_session, self.change_caps, self.new_node, self.change_deep,
                 self.change_count]
            )(request)  # fmt: skip
        return "Release", request.SerializeToString()

    def other(self, session_id: bytes) -> bytes:
        r = self.r
        which = r.choice([session_id, self.foreign, b"", r.randbytes(16), r.randbytes(1000)])
        if r.random() < 0.5:
            return bytes(
                pb.DescribeRequest(
                    session=which, name=r.choice(["people", "secret", *STRANGE_TEXT])
                ).SerializeToString()
            )
        if r.random() < 0.5:
            return bytes(pb.OpenRequest(version=r.choice([0, 2, 2**32 - 1])).SerializeToString())
        return r.randbytes(r.randrange(60))

    def damaged(self, body: bytes) -> bytes:
        r, out = self.r, bytearray(body)
        for _ in range(r.choice([1, 1, 2, 8])):
            match r.randrange(4):
                case 0 if out:
                    out[r.randrange(len(out))] ^= 1 << r.randrange(8)
                case 1:
                    del out[r.randrange(len(out) + 1) :]
                case 2:
                    at = r.randrange(len(out) + 1)
                    out[at:at] = r.randbytes(r.randrange(20))
                case _:
                    a, b = sorted((r.randrange(len(out) + 1), r.randrange(len(out) + 1)))
                    out[a:b] = out[a:b] * 2
        return bytes(out[: 2**20])

    def renumber(self, request: pb.ReleaseRequest) -> None:
        """Numbers that the session has not seen."""
        self.offset += 10_000
        for node in request.nodes:
            node.id += self.offset
            for each in leaves(node):
                if each.WhichOneof("value") == "node":
                    each.node += self.offset
                if each.WhichOneof("value") == "nodes":
                    each.nodes.ids[:] = [number + self.offset for number in each.nodes.ids]
        for ask in request.asks:
            ask.value += self.offset

    def gently(self, request: pb.ReleaseRequest) -> None:
        """Another value of the same type in one place: many mutants get past the types."""
        r = self.r
        places = [(node, each) for node in request.nodes for each in leaves(node)]
        if not places or r.random() < 0.2:
            return self.change_ask(request)
        node, each = r.choice(places)
        match each.WhichOneof("value"):
            case "literal":
                each.literal.CopyFrom(literal(r))
            case "number":
                each.number = r.choice([0, 1, 2, 3, -1, -2, *STRANGE_NUMBERS])
            case "fraction":
                each.fraction = r.choice(["0", "1", "-1", "1/3", "1/" + "7" * 600, "9" * 600])
            case "text":
                each.text = r.choice(["==", "<", ">", "+", "-", "*", "/", "//", "%", "&", "|", "max", "min", "Int64",
                                      "Float64", "string", "boolean", "abs", "round", "sqrt", "exp", "year", "age",
                                      "income", "city", "note", "free", "born", "upper", "len"])  # fmt: skip
            case "node":
                before = [n.id for n in request.nodes if n.id < node.id]
                each.node = r.choice(before or [each.node])
            case "nodes":
                each.nodes.ids[r.randrange(len(each.nodes.ids))] = r.choice(self.ids(request))
        return None

    def node(self, request: pb.ReleaseRequest) -> pb.Node:
        return self.r.choice(request.nodes) if request.nodes else request.nodes.add(id=5, kind="public_number")

    def ids(self, request: pb.ReleaseRequest) -> list[int]:
        return [n.id for n in request.nodes] or [1]

    def swap_fields(self, request: pb.ReleaseRequest) -> None:
        a, b = self.node(request), self.node(request)
        if a.fields and b.fields:
            x, y = self.r.choice(a.fields), self.r.choice(b.fields)
            held = pb.Field()
            held.CopyFrom(x)
            x.CopyFrom(y)
            y.CopyFrom(held)

    def change_field(self, request: pb.ReleaseRequest) -> None:
        fields = self.node(request).fields
        if fields:
            self.r.choice(fields).CopyFrom(field(self.r, self.ids(request)))

    def change_deep(self, request: pb.ReleaseRequest) -> None:
        """A constant inside a list, or the list itself."""
        lists = [f for n in request.nodes for f in n.fields if f.WhichOneof("value") == "list"]
        if lists:
            chosen = self.r.choice(lists).list
            if chosen.items and self.r.random() < 0.7:
                self.r.choice(chosen.items).CopyFrom(field(self.r, self.ids(request)))
            else:
                chosen.items.extend(field(self.r, self.ids(request)) for _ in range(self.r.choice([1, 3, 100])))

    def change_kind(self, request: pb.ReleaseRequest) -> None:
        self.node(request).kind = self.r.choice([*KINDS, "source", "cell", "partition", "literal", "eval", ""])

    def new_node(self, request: pb.ReleaseRequest) -> None:
        r = self.r
        kind = r.choice(list(KINDS))
        count = len(KINDS[kind].__match_args__)  # type: ignore[attr-defined]
        made = pb.Node(id=r.choice([10**6, 2**63, 7]), kind=kind)
        made.fields.extend(field(r, self.ids(request)) for _ in range(count + r.choice([0, 0, 0, 1])))
        request.nodes.append(made)
        if request.asks and r.random() < 0.7:
            request.asks[0].value = made.id

    def change_count(self, request: pb.ReleaseRequest) -> None:
        """Another number of nodes in one message, or of what is given for each of them."""
        r, node = self.r, self.node(request)
        if r.random() < 0.5:
            node.count = r.choice([0, 1, 2, 3, 50, 2**31, 2**32 - 1])
        for each in node.fields:
            if r.random() < 0.5:
                numbers = [
                    r.choice([*self.ids(request), 0, 2**64 - 1]) for _ in range(r.choice([0, 1, 2, node.count % 60]))
                ]
                each.nodes.ids[:] = numbers
            elif r.random() < 0.5:
                held = field(r, self.ids(request))
                each.each.items.extend([held] * r.choice([0, 1, 2, node.count % 60]))

    def change_ids(self, request: pb.ReleaseRequest) -> None:
        r, node = self.r, self.node(request)
        for each in node.fields:
            if each.WhichOneof("value") == "node" and r.random() < 0.7:
                each.node = r.choice([*self.ids(request), 0, 2**64 - 1, r.randrange(50)])
        if r.random() < 0.3:
            node.id = r.choice(self.ids(request))

    def change_ask(self, request: pb.ReleaseRequest) -> None:
        r = self.r
        if request.asks:
            ask = r.choice(request.asks)
            ask.value = r.choice([ask.value, *self.ids(request), 0, 2**64 - 1])
            if r.random() < 0.7:
                ask.mechanism.CopyFrom(mechanism(r))

    def drop(self, request: pb.ReleaseRequest) -> None:
        r = self.r
        for part in r.sample([request.nodes, request.asks, request.caps, request.forget], 2):
            if part and r.random() < 0.5:
                del part[r.randrange(len(part)) :]

    def repeat(self, request: pb.ReleaseRequest) -> None:
        request.nodes.append(self.node(request))
        request.asks.extend(list(request.asks) * self.r.choice([1, 30]))
        request.forget.extend(self.r.sample(range(100), 20))

    def change_session(self, request: pb.ReleaseRequest) -> None:
        r = self.r
        if r.random() < 0.3:
            request.session = r.choice([self.foreign, b"", r.randbytes(16), request.session[:15]])
        if r.random() < 0.3:
            request.request = r.choice([b"", b"x" * 16, r.randbytes(17)])

    def change_caps(self, request: pb.ReleaseRequest) -> None:
        r = self.r
        request.caps.add(dataset=r.choice(["people", "secret", ""]), most=r.choice(["1", "0", *STRANGE_TEXT]))
