"""Several nodes of one kind in one message of the wire."""

from __future__ import annotations

import queue
import secrets
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from .raw import LIMITS, Analyst, Plan, laplace, listed, reals, ref, session_of, text, whole, wholes

from privjail.mechanisms.laplace import Laplace
from privjail.server.wire import decode
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.server import Handler, Options, Periodic, Sweeper
from privjail.server.sessions import PIECE, Session


def several(kind: str, first: int, count: int, *fields: pb.Field) -> pb.Node:
    return pb.Node(id=first, kind=kind, fields=fields, count=count)


def numbered(*ids: int) -> pb.Field:
    return pb.Field(nodes=pb.Numbered(ids=ids))


def test_several_nodes_in_one_message_refer_to_each_other_in_their_order(ann: Analyst) -> None:
    plan = Plan()
    count = plan.count()
    plan.request.nodes.append(several("add", 10, 3, numbered(count, 10, 11), ref(count)))  # 2, 3 and 4 times as much
    plan.ask(12, epsilon="100")
    answers = ann.send(plan)

    assert answers[0].number == pytest.approx(4 * 2_000, abs=1)
    twice = Plan()
    twice.request.nodes.append(several("scale", 20, 2, ref(twice.count()), pb.Field(each=pb.Fields(
        items=[pb.Field(fraction="2"), pb.Field(fraction="3")]))))  # fmt: skip
    assert ann.send(twice.ask(21, epsilon="100"))[0].number == pytest.approx(3 * 2_000, abs=1)
    alone = Plan()
    alone.request.nodes.append(several("add", 30, 1, numbered(alone.count()), pb.Field(each=pb.Fields(items=[ref(2)]))))
    assert ann.send(alone.ask(30, epsilon="100"))[0].number == pytest.approx(2 * 2_000, abs=1)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (several("add", 10, 2, numbered(2), ref(2)), "not given for each node"),
        (several("add", 10, 2, pb.Field(each=pb.Fields(items=[ref(2)])), ref(2)), "not given for each node"),
        (several("add", 10, 2, numbered(2, 11), ref(2)), "was not sent"),
        (several("add", 10, 2, numbered(2, 1), ref(2)), "wrong type"),
        (several("add", 10, 2, ref(2), pb.Field(each=pb.Fields(items=[ref(2), text("x")]))), "wrong type"),
        (several("add", 1, 2, numbered(2, 2), ref(2)), "was used before"),
        (several("add", 10, 2, ref(2), ref(2)), "given for each of them"),
        (several("add", 2**64 - 1, 2, numbered(2, 2), ref(2)), "more than 64 bits"),
        (several("isin", 10, 2_000, numbered(*[2] * 2_000), listed(*[whole(1)] * 501)), "for 2000 nodes at once"),
        (several("isin", 10, 2_000, numbered(*[2] * 2_000), reals(*[1.0] * 501)), "for 2000 nodes at once"),
        (several("isin", 10, 2_000, numbered(*[2] * 2_000), wholes(*[1] * 501)), "for 2000 nodes at once"),
        (several("source", 10, 2, pb.Field(dataset="people")), "a source is"),
        (several("add", 10, 2**32 - 1, ref(2), ref(2)), "nodes in one request"),
        (several("add", 10, 1, numbered(2, 2), ref(2)), "not given for each node"),
        (several("add", 10, 1, pb.Field(each=pb.Fields()), ref(2)), "not given for each node"),
        (several("add", 10, 1, ref(1), ref(2)), "wrong type"),
        (several("add", 10, 1, ref(11), ref(2)), "was not sent"),
        (pb.Node(id=10, kind="stack", fields=[listed(numbered(2)), listed(whole(1))]), "without a value"),
    ],
)
def test_nodes_that_do_not_fit_into_one_message_are_refused(ann: Analyst, message: pb.Node, says: str) -> None:
    plan, before = Plan(), ann.spent()
    plan.ask(plan.count())
    plan.request.nodes.append(message)
    code, details = ann.send(plan)

    assert says in details
    assert ann.nodes() == 0 and ann.spent() == before


def test_a_node_that_is_too_deep_to_be_built_is_refused() -> None:
    class Deep:
        kind = "deep"

        def __init__(self, *fields: Any) -> None:
            raise RecursionError

    with pytest.raises(decode.Malformed, match="deep: the plan is too deep"):
        decode.make(Deep, ())


LONG = 2**decode.PARAMETER_BITS  # one bit more than a parameter may have


@pytest.mark.parametrize("spelled, long", [(f"{LONG}", True), (f"1/{LONG}", True), (f"{LONG}/{LONG - 1}", True),
                                           (f"{LONG - 1}/{LONG}", True), (f"{LONG - 2}/{LONG - 1}", False)])  # fmt: skip
def test_what_is_charged_has_short_parameters(spelled: str, long: bool) -> None:
    """V-25: a numerator and a denominator alike, since the ledger adds them up for ever."""
    if long:
        with pytest.raises(decode.Malformed, match="at most 384 bits"):
            decode.mechanism(laplace(spelled))
    else:
        assert decode.mechanism(laplace(spelled)) == Laplace(Fraction(spelled))


@pytest.mark.parametrize("name", ["eps", "delta", "rho"])
def test_each_parameter_of_a_block_is_short(name: str) -> None:
    """V-25: the others are not long, or not there."""
    short = {"rho": "1/2"} if name == "rho" else {"eps": "1", "delta": "1/1000000"}
    blocks = [pb.Block(id=bytes(16), notion="zcdp", **given) for given in (short, short | {name: f"1/{LONG}"})]

    assert decode.block(pb.ReleaseRequest(block=blocks[0])) is not None
    with pytest.raises(decode.Malformed, match="at most 384 bits"):
        decode.block(pb.ReleaseRequest(block=blocks[1]))


def test_numbers_for_one_and_the_same_node_are_limited_too(ann: Analyst) -> None:
    """A short message can give a node very many numbers."""
    ann.running.service.sessions._open[ann.session].limits = replace(LIMITS, nodes_per_session=5_000)
    plan = Plan()
    plan.ask(plan.count())
    plan.request.nodes.append(several("add", 10, 4_000, numbered(*[2] * 4_000), ref(2)))
    assert len(ann.send(plan)) == 1
    more = pb.ReleaseRequest(request=secrets.token_bytes(16), asks=plan.request.asks)
    more.nodes.append(several("add", 10_000, 4_000, numbered(*[2] * 4_000), ref(2)))
    _, details = ann.send(more)

    assert "numbers in the session" in details
    assert ann.nodes() == 4_002


def forgetting(ann: Analyst, column: str, sums: int = 0) -> pb.ReleaseRequest:
    """A request that uses its numbers only once."""
    plan = Plan()
    value = plan.count()
    for _ in range(sums):
        value = plan.add("add", ref(value), ref(value))
    plan.ask(plan.count(None, plan.column(column)))
    plan.request.session = ann.session
    plan.request.forget.extend([*range(1, plan.next), 1, 10**6])
    return plan.request


def test_numbers_that_will_not_be_used_again_are_free_at_once_and_their_nodes_after_the_answer(ann: Analyst) -> None:
    """Over a call of its own and over a stream, also one that breaks off; or at last when the session pauses."""
    service, session = ann.running.service, ann.running.service.sessions._open[ann.session]

    def gone() -> bool:
        deadline = time.monotonic() + 10
        while session.pending_free and time.monotonic() < deadline:
            time.sleep(0.01)  # the answer goes first
        return not session.pending_free and not service._to_free

    assert len(ann.send(forgetting(ann, "city"))) == 1
    assert session.nodes == {} and gone()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stream = ann.channel.stream_stream("/privjail.v1.Jail/Releases")(iter(requests.get, None), metadata=ann.metadata)
    for column in ("city", "grade"):  # the same numbers for other nodes
        requests.put(forgetting(ann, column).SerializeToString())
        assert pb.Released.FromString(next(stream)).HasField("reply")
        assert gone()
    requests.put(None)

    service.release(forgetting(ann, "city"), "ann")
    assert session.nodes == {} and session.pending_free and service._to_free
    with session.lock:
        service.sessions.free_some()
        service.free_some()
        assert session.pending_free  # somebody works with it
    service.sessions.free_some()
    assert gone()


def test_a_large_plan_goes_in_pieces(ann: Analyst) -> None:
    """All of it at once would hold up the next release."""
    service, session = ann.running.service, ann.running.service.sessions._open[ann.session]
    service.release(forgetting(ann, "city", sums=3 * PIECE), "ann")
    before, left = len(session.pending_free), []
    for _ in range(3):
        service._to_free.append(session)
        service.free_some()
        left.append(len(session.pending_free))
    service.release(forgetting(ann, "city"), "ann")

    assert left == [before - PIECE, before - 2 * PIECE, before - 3 * PIECE]
    assert service._to_free.pop() is session  # what is left goes after the next answer
    session._make_room(0)
    assert not session.pending_free  # where room is needed, at once


class Context:
    """What gRPC says of a call."""

    def __init__(self, metadata: Any) -> None:
        self.metadata = metadata

    def invocation_metadata(self) -> Any:
        return self.metadata

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"


def test_on_a_stream_the_answer_goes_first_also_if_it_breaks_off_then(ann: Analyst) -> None:
    service, session = ann.running.service, ann.running.service.sessions._open[ann.session]
    handler = Handler(service, Options())
    for last in (False, True):
        bodies = [forgetting(ann, "city").SerializeToString()] * 2
        call = handler.calls.admit("ann")
        assert call is not None
        stream = handler._stream(call, iter(bodies), Context(ann.metadata))
        assert next(stream).HasField("reply")
        assert session.pending_free
        stream.close() if last else next(stream)
        assert bool(session.pending_free) is not last
        stream.close()
    assert not service._to_free and not len(handler.calls)


def test_what_is_left_of_a_large_plan_goes_after_later_answers_too(ann: Analyst) -> None:
    service, session = ann.running.service, ann.running.service.sessions._open[ann.session]
    service.release(forgetting(ann, "city", sums=20 * PIECE), "ann")
    before = len(session.pending_free)
    service.free_some()
    assert len(session.pending_free) == before - before // 10  # more at once where there is more
    later = forgetting(ann, "city")
    del later.forget[:]
    left = len(session.pending_free)
    service.release(later, "ann")
    service.free_some()
    assert len(session.pending_free) < left


def test_a_session_that_pauses_keeps_nothing_that_it_forgot(raw_jail: Any) -> None:
    running, _ = raw_jail
    sweeper = Periodic(0.1, Sweeper(running.service.sessions, running.handler.streams).sweep)
    with session_of(raw_jail, "ann") as ann:
        session = running.service.sessions._open[ann.session]
        running.service.release(forgetting(ann, "city", sums=3 * PIECE), "ann")
        deadline = time.monotonic() + 10
        while session.pending_free and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not session.pending_free
    sweeper.stop()


def test_nodes_that_leave_are_no_more_than_a_session_may_have(ann: Analyst) -> None:
    """One node may have had many numbers, and there may never be the time to tidy."""
    session = Session("ann", lambda: None, replace(LIMITS, nodes_per_session=500))
    (node,) = [ann.running.service.catalogue.source("people", "ann")]
    for _ in range(20):
        session.nodes.update(dict.fromkeys(range(400), node))
        session.leave(range(400))
        assert not session.nodes and len(session.pending_free) <= 2 * 500


def test_on_a_clock_all_work_of_a_request_is_done_before_its_answer(ann: Analyst) -> None:
    session = ann.running.service.sessions._open[ann.session]
    handler = Handler(ann.running.service, Options(time_quantum=0.001))
    call = handler.calls.admit("ann")
    assert call is not None
    stream = handler._stream(call, iter([forgetting(ann, "city").SerializeToString()]), Context(ann.metadata))
    assert next(stream).HasField("reply")
    assert not session.pending_free
    stream.close()
