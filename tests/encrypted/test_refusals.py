"""What owners may not do: each wrong record is refused with a reason, and the rest of its batch is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privjail.encrypted import analyst
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.compute import NOT_ONE
from privjail.encrypted.numbers import P
from privjail.encrypted.owner import Record, Submitter, submission
from privjail.encrypted.records import packed_values, size_of
from privjail.encrypted.wire import Caller, framed
from privjail.errors import DPError, PlanError

from .parties import Parties
from .refusing import BINS, good, holding, sent


def test_malformed_records_are_refused_and_the_rest_is_kept(parties):
    whole = good(parties)
    high = bytearray(good(parties))
    high[: 3 * BINS] = b"\xff" * (3 * BINS)
    results = sent(parties, ("m1", whole), ("m2", good(parties)[:-1]), ("m3", b""), ("m4", bytes(high)),
                   ("m5", whole), ("m1", good(parties)), ("m6", good(parties, None)))  # fmt: skip

    assert [status for status, _ in results] == ["kept", "refused", "refused", "refused", "refused", "known", "kept"]
    assert "cut off" in results[1][1] and "out of range" in results[3][1] and "submitted before" in results[4][1]


def test_what_is_refused_is_not_added(tmp_path):
    """Every way to be refused in one batch; what is published without noise are the others."""
    parties = Parties(tmp_path, bins=BINS, budget=100)
    wide, copied = bytearray(good(parties, 1)), good(parties, 2)
    wide[: 3 * BINS] = b"\xff" * (3 * BINS)
    with parties.in_threads(lambda scale, n: [0] * n, lambda scale, n: [0] * n):
        came = [("a", good(parties, 3)), ("b", bytes(wide)), ("c", copied), ("d", copied), ("e", copied[:-1]),
                ("f", holding(parties, {5: 1, 4: 1})), ("a", good(parties, 4)), ("g", good(parties, 3)), ("h", b"")]  # fmt: skip
        assert [status for status, _ in sent(parties, *came)] == [
            "kept",
            "refused",
            "kept",
            *["refused"] * 3,
            "known",
            "kept",
            "refused",
        ]
        assert sent(parties, ("b", good(parties, 7))) == [("kept", "")]  # what was no ciphertext was no try
        assert "one try" in sent(parties, ("f", good(parties, 7)))[0][1]
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 1)
    assert found.released["leaves"].tolist() == [0, 0, 1, 2, 0, 0, 0, 1, *[0] * 8]


def test_nobody_is_told_that_a_record_is_there_which_was_refused_in_the_same_batch(parties):
    wide, other = bytearray(good(parties)), good(parties)
    wide[: 3 * BINS] = b"\xff" * (3 * BINS)
    results = sent(parties, ("v1", bytes(wide)), ("v1", good(parties)), ("v2", bytes(wide)), ("v3", holding(parties, {1: 3})),
                   ("v3", good(parties)), ("v4", other), ("v4", good(parties)))  # fmt: skip
    assert [status for status, _ in results] == [*["refused"] * 5, "kept", "known"]
    assert all("the first of this" in results[i][1] for i in (1, 2, 4)) and "out of range" in results[1][1]
    assert sent(parties, ("v1", good(parties)), ("v2", good(parties))) == [("kept", "")] * 2


def test_a_batch_that_is_cut_off_is_refused_as_a_whole(parties):
    whole = submission(parties.study, [("u1", parties.tickets.owner("u1"))], [good(parties)])
    with Submitter(parties.study) as submitter:
        for body, says in (
            (whole[:-8], "batch is cut off"), (whole[:60], "message is cut off"), (b"", "message is cut off"),
            (b"\xff" * 64, "message is cut off"), ((8).to_bytes(8, "little") + b"\xff" * 8, "cannot be read"),
        ):  # fmt: skip
            with pytest.raises(PlanError, match=says):
                submitter.caller.call("Submit", body, pb.SubmitReply)
        lying = pb.SubmitRequest(study=parties.study.id, key=parties.study.key, owners=[pb.Owner()], sizes=[2**32 - 1])
        with pytest.raises(PlanError, match="batch is cut off"):
            submitter.caller.call("Submit", framed(lying, []), pb.SubmitReply)
    assert sent(parties, ("u1", good(parties))) == [("kept", "")]


def test_a_record_counts_once_also_later(parties):
    record = good(parties)
    assert sent(parties, ("r1", record)) == [("kept", "")]
    assert sent(parties, ("r1", good(parties)))[0][0] == "known"
    assert sent(parties, ("r2", record))[0][0] == "refused"
    altered = bytearray(record)
    altered[0] ^= 1  # other values under the same name are still a copy
    assert "submitted before" in sent(parties, ("r3", bytes(altered)))[0][1]


def test_tickets_are_personal(parties):
    assert "ticket" in sent(parties, ("t1", good(parties)), ticket=parties.tickets.owner("t2"))[0][1]
    assert sent(parties, ("t3", good(parties))) == [("kept", "")]
    owners = [pb.Owner(name="t3", ticket=b""), pb.Owner(name="t3", ticket=parties.tickets.owner("t3"))]
    with Submitter(parties.study) as submitter:
        for owner, missing in zip(owners, (True, False), strict=True):  # a wrong ticket does not learn who is there
            request = pb.MissingRequest(study=parties.study.id, owners=[owner])
            assert list(submitter.caller.call("Missing", request, pb.MissingReply).missing) == [missing]


def test_one_wrong_ticket_or_refusal_does_not_stop_a_file(parties):
    assert sent(parties, ("w1", holding(parties, {3: 2})))[0][0] == "refused"
    people = [parties.record("w0", 1), parties.record("w1", 1), Record("w2", b"of another", 1), parties.record("w3", 1)]
    with Submitter(parties.study) as submitter:
        first, again = submitter.submit(people), submitter.submit(people)

    assert (first.kept, again.known) == (2, 2)
    for report in (first, again):  # who was refused is told so each time, and never counted as "there before"
        assert "refused before" in report.refused["w1"] and "ticket" in report.refused["w2"]


def test_another_key_or_study_is_refused(parties, tmp_path):
    other = Parties(tmp_path, bins=BINS)
    with pytest.raises(PlanError, match="another study"):
        sent(parties, ("k1", good(other)), study=other.study)
    request = framed(pb.SubmitRequest(study=parties.study.id, key=other.study.key), [])
    with Submitter(parties.study) as submitter, pytest.raises(PlanError, match="another key"):
        submitter.caller.call("Submit", request, pb.SubmitReply)
    # And who claims the right key but used another one is found by the check.
    assert "not encrypted for the study" in sent(parties, ("k2", good(other)), ("k3", good(parties)))[0][1]
    assert analyst.status(parties.study, parties.tickets.operator()).refused >= 1


@pytest.mark.parametrize(
    "counts",
    [{3: 2}, {3: 1, 2: 1}, {1: P - 1}, {0: P // 2}, {0: (P + 1) // 2}, {1: 1, 0: 1}, {5: 1, 4: P - 1},
     # in the square of bins: in one row, in one column, and four corners whose products cancel
     {0: 1, 3: 1}, {1: 1, 13: 1}, {0: 1, 5: 1, 1: P - 1, 4: 1}],
)  # fmt: skip
def test_more_or_less_than_one_unit_is_refused(parties, counts):
    results = sent(
        parties,
        (f"a{counts}", holding(parties, counts)),
        (f"b{counts}", good(parties)),
        (f"c{counts}", holding(parties, {7: 1})),
    )
    assert [status for status, _ in results] == ["refused", "kept", "kept"]
    assert sent(parties, (f"a{counts}", good(parties)))[0][0] == "refused"  # one attempt for each identity


def test_a_bad_record_costs_no_message_more(parties, monkeypatch):
    asked: list[str] = []
    call = Caller.call

    def listening(caller: Any, method: str, *more: Any, **named: Any) -> Any:
        asked.append(method)
        return call(caller, method, *more, **named)

    monkeypatch.setattr(Caller, "call", listening)
    together = ["Submit", "Check", "Keep"]
    assert {status for status, _ in sent(parties, *((f"f{i}", good(parties, i % 5 or None)) for i in range(20)))} == {
        "kept"
    }
    assert asked == together
    bad = [("g3", holding(parties, {3: 2})), ("g7", holding(parties, {4: 1, 3: 1}))]
    mixed = [(f"g{i}", good(parties)) if i not in (3, 7) else bad[i == 7] for i in range(20)]
    before = analyst.status(parties.study, parties.tickets.operator()).submissions
    asked.clear()
    results = sent(parties, *mixed)
    assert asked == together
    assert [i for i, (status, _) in enumerate(results) if status == "refused"] == [3, 7]
    assert {status for i, (status, _) in enumerate(results) if i not in (3, 7)} == {"kept"}
    assert analyst.status(parties.study, parties.tickets.operator()).submissions == before + 18


def test_random_bytes_are_refused(parties):
    values = packed_values(np.random.default_rng(0).integers(0, P, BINS))
    noise = values + np.random.default_rng(1).bytes(size_of(BINS) - len(values))
    noise = bytearray(noise)
    noise[3 * BINS + 96 : 3 * BINS + 120] = bytes(24)  # masks in range
    assert sent(parties, ("n1", bytes(noise)))[0] == ("refused", NOT_ONE)


def test_a_record_of_which_any_part_was_changed_is_refused(parties):
    """A bit in each part: values, blind, name, what is expected, masks, the envelope's key, content and tag."""
    for at in (0, 2 * BINS, *(3 * BINS + i for i in (0, 32, 64, 96, 108, 120, 160, 200, 231))):
        record = bytearray(good(parties))
        record[at] ^= 1
        assert sent(parties, (f"changed {at}", bytes(record)))[0] == ("refused", NOT_ONE)


def test_parts_of_two_records_are_no_record(parties):
    ends = np.cumsum([0, 3 * BINS, 32, 32, 32, 24, 112])
    for a, b in zip(ends[:-1], ends[1:], strict=True):
        one, other = good(parties, 1), good(parties, 1)
        assert sent(parties, (f"mixed {a}", one[:a] + other[a:b] + one[b:]))[0] == ("refused", NOT_ONE)


def test_many_honest_records_are_kept(parties):
    names = [f"honest {i}" for i in range(300)]
    results = sent(parties, *((name, good(parties, None if i % 17 == 16 else i % 16)) for i, name in enumerate(names)))
    assert {status for status, _ in results} == {"kept"}


def test_servers_with_different_offers_refuse_to_work_and_not_the_records(tmp_path):
    import json

    parties, other = Parties(tmp_path / "a", bins=BINS), Parties(tmp_path / "b", bins=BINS)
    file = parties.where / "cs" / "offer.json"
    right, wrong = file.read_text(), json.loads((other.where / "cs" / "offer.json").read_text())
    file.write_text(json.dumps(json.loads(right) | {"slots_key": wrong["slots_key"]}))
    with parties.in_threads(), pytest.raises(DPError, match="different offers"):
        sent(parties, ("a", good(parties)))
    file.write_text(right)
    with parties.in_threads():
        assert sent(parties, ("a", good(parties))) == [("kept", "")]
