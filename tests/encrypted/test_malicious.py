"""One server deviates (V-57): each test plays a server that does, over TLS, and finds that it learns nothing.

Where a rule stops it, a control takes the rule away and shows what the same server learns then.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privjail.encrypted import analyst, decrypt, journal, onehot, records, release
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.numbers import P, centred, uniform
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.owner import Submitter
from privjail.encrypted.plans import plan
from privjail.encrypted.records import Sum, compute_part, packed_values, values_of
from privjail.encrypted.wire import CheckLost, RecordsMoved
from privjail.errors import DPError, PlanError

from .malicious import Computing, guessed, outcome_of, shifted
from .parties import Parties
from .refusing import BINS, encryptor, good, sent

TAKEN, LEFT = b"\x01", b"\x00"


@pytest.fixture
def cheat(parties: Parties) -> Any:
    with Computing(parties) as made:
        yield made


# -- the compute server tries to read a record, or a key, from what the check answers


def read_by_shift(cheat: Computing, record: bytes, by: int = 5) -> int | None:
    """z² - s is 2 · by · z + by² if the opening is shifted: the record's bin, or None if there is no answer."""
    found = cheat.read(record)
    reply = cheat.check(found, openings=shifted(found.opened, by))
    if reply.taken != TAKEN:
        assert not any(reply.answers)
        return None
    z = (outcome_of(found, by, reply) - by * by) * pow(2 * by, -1, P) % P
    return int(np.flatnonzero(guessed(found, BINS) == z)[0])


def test_a_shifted_opening_reads_no_record(parties, cheat):
    assert [read_by_shift(cheat, good(parties, bin)) for bin in range(BINS)] == [None] * BINS


def test_without_the_owners_promise_the_same_shift_reads_every_record(parties, cheat, monkeypatch):
    """The control: the decryption server takes any opening."""

    class Anything(bytes):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = bytes.__hash__

    monkeypatch.setattr(decrypt, "opening_hash", lambda part, opening: Anything())
    assert [read_by_shift(cheat, good(parties, bin)) for bin in range(BINS)] == list(range(BINS))


def test_nothing_but_what_the_owner_made_gets_an_answer(parties, cheat):
    """Whatever is changed in a record, and however: the answer is the same for each bin, namely none."""
    for bin in (None, 0, 7):
        record, other = good(parties, bin), good(parties, 7)
        found, foreign = cheat.read(record), cheat.read(other)
        proof = found.proofs[0]
        moved = compute_part(cheat.study.id, proof.blind, packed_values(uniform(P, BINS)), proof.masks)
        tried = [
            {"openings": shifted(found.opened, by)} for by in (1, P - 1, P // 2)
        ] + [
            {"openings": shifted(0 * found.opened, int(z))} for z in guessed(found, BINS)[:4]
        ] + [
            {"parts": moved}, {"parts": foreign.parts[0]}, {"names": foreign.proofs[0].name},
            {"envelopes": foreign.proofs[0].envelope}, {"envelopes": bytes(112)},
            {"openings": onehot.spelled(found.opened + P).tobytes()},  # the same numbers, spelled otherwise
        ]  # fmt: skip
        tried += [{"envelopes": flipped(proof.envelope, i)} for i in range(0, 112 * 8, 7)]
        for changed in tried:
            reply = cheat.check(found, **changed)
            assert (reply.taken, reply.answers) == (LEFT, bytes(8 * TESTS))
        assert cheat.check(found).taken == TAKEN  # and none of it was held against the record


def flipped(raw: bytes, bit: int) -> bytes:
    made = bytearray(raw)
    made[bit // 8] ^= 1 << bit % 8
    return bytes(made)


def test_the_same_question_gets_the_same_answer(parties, cheat):
    found = cheat.read(good(parties))
    assert cheat.check(found) == cheat.check(found)


def test_messages_that_fit_no_batch_are_refused(parties, cheat):
    found = cheat.read(good(parties))
    for changed in ({"names": b""}, {"names": bytes(33)}, {"parts": bytes(64)}, {"openings": bytes(11)}):
        with pytest.raises(PlanError, match="a check has"):
            cheat.check(found, **changed)
    with pytest.raises(DPError, match="different offers"):
        cheat.check(found, offer=bytes(32))


# -- the compute server tries to count a record more than once


def kept(cheat: Computing, *records: bytes, bits: bytes | None = None) -> bytes:
    found = cheat.read(*records)
    request = cheat.request(found)
    taken = cheat.caller.call("Check", request, pb.CheckReply).taken
    batch = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
    cheat.keep(batch, taken if bits is None else bits)
    return batch


def test_a_record_is_added_once_whatever_batch_it_comes_in(parties, cheat):
    alice, bob, eve = good(parties, 1), good(parties, 2), good(parties, 3)
    first = kept(cheat, alice)
    cheat.keep(added=[first])
    assert cheat.check(cheat.read(alice, bob)).taken == LEFT + TAKEN  # Alice was added
    assert cheat.check(cheat.read(bob, bob)).taken == TAKEN + LEFT  # twice in one batch
    with pytest.raises(PlanError, match="not taken"):
        kept(cheat, alice, bits=TAKEN)
    cheat.keep(added=[first, first])  # said again: counted once
    lost = kept(cheat, bob, eve)
    again = kept(cheat, eve)  # one of them comes again: the batch before is dropped
    with pytest.raises(DPError, match="not known here"):
        cheat.keep(added=[again, lost])
    with pytest.raises(DPError, match="not known here"):
        cheat.keep(added=[bytes(32)])
    with pytest.raises(CheckLost):
        cheat.keep(bytes(32), TAKEN)
    cheat.keep(added=[again])


def test_copies_that_are_made_to_look_new_are_no_records(parties, cheat):
    """Other values, blind or name with the same envelope: without the key there is no other envelope for them."""
    alice = good(parties, 1)
    found = cheat.read(alice)
    values = values_of(records.rows_of(alice, BINS), BINS)[0].astype(np.int64)
    for i in range(4):
        again = bytearray(alice)
        again[: 3 * BINS] = packed_values((values + i) % P)
        again[3 * BINS : 3 * BINS + 32] = bytes([i]) * 32
        assert cheat.check(cheat.read(bytes(again))).taken == LEFT
    assert cheat.check(found, names=bytes(32)).taken == LEFT


def test_which_records_count_survives_a_restart(tmp_path: Path) -> None:
    parties = Parties(tmp_path, bins=BINS)
    alice = good(parties, 1)
    with parties.in_threads(), Computing(parties) as cheat:
        cheat.keep(added=[kept(cheat, alice)])
    with parties.in_threads(), Computing(parties) as cheat:
        assert cheat.check(cheat.read(alice)).taken == LEFT


# -- the compute server sends another sum than that of the records


def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, epsilon: str) -> tuple[Any, Any]:
    """Counts, and what a compute server gets that changes the sum before it is masked."""
    parties, counts = Parties(tmp_path, bins=64, budget=100), np.random.default_rng(0).integers(0, 9, 64)
    masked = release.Release._masked

    def changed(self: Any, total: Sum) -> Any:
        return masked(self, Sum(change(total.values) % P, total.submissions, total.chain))

    monkeypatch.setattr(release.Release, "_masked", changed)
    with parties.in_threads(draw_c=lambda scale, n: [0] * n), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(np.repeat(np.arange(64), counts)))
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", epsilon)
    return counts, found.released["leaves"]


def test_a_scaled_sum_shows_no_counts(tmp_path, monkeypatch):
    """Times 20,000 at ε = 0.01 gave 64 of 64 exact counts: the decryption server took the key off whatever it got."""
    counts, leaves = published(tmp_path, monkeypatch, lambda values: 20_000 * values, "0.01")
    read = np.rint(leaves / 20_000).astype(int)
    assert (read == counts).sum() < 16  # by chance 0.3 of 64: what comes out is uniform
    assert np.abs(leaves).max() > P // 8


def test_a_shifted_sum_shows_noisy_counts(tmp_path, monkeypatch):
    """What remains is a shift by numbers that the compute server knows anyway; the noise lies on top of it."""
    counts, leaves = published(tmp_path, monkeypatch, lambda values: values + 1_000_000, "0.01")
    noise = centred(leaves - 1_000_000) - counts
    assert np.abs(noise).mean() > 30  # scale 118; the mean of 64 is below 30 with probability 1e-18
    assert np.abs(noise).max() < 118 * 40


def test_a_sum_of_other_records_is_refused(parties, cheat):
    """The decryption server knows which records it has the keys of."""
    for i in range(2):  # the second batch confirms the first
        sent(parties, (f"known to both {i}", good(parties)))
    masked = uniform(P, BINS).astype("<u4").tobytes()
    for chain in (bytes(32), b""):
        request = pb.ShareRequest(release="other", method="block_tree", epsilon="1", masked=masked, chain=chain)
        with pytest.raises(RecordsMoved):
            cheat.caller.call("Share", request, pb.ShareReply)


# -- old copies of a server's files


@pytest.mark.parametrize("server", ["cs", "ds"])
def test_a_server_on_an_old_copy_of_its_records_is_noticed(tmp_path: Path, server: str) -> None:
    parties = Parties(tmp_path, bins=BINS, budget=100)
    state, ticket = tmp_path / server / "state.sqlite", parties.tickets.operator()
    with parties.in_threads():
        sent(parties, ("early", good(parties)))
        analyst.publish(parties.study, ticket, "first", "block_tree", 1)
    shutil.copy(state, tmp_path / "old")
    with parties.in_threads():
        sent(parties, ("late", good(parties)))
        analyst.publish(parties.study, ticket, "second", "block_tree", 1)
    for each in (tmp_path / server).glob("state.sqlite*"):
        each.unlink()
    shutil.copy(tmp_path / "old", state)
    with parties.in_threads(), pytest.raises(DPError, match="old copy"):
        analyst.publish(parties.study, ticket, "third", "block_tree", 1)


# -- partition: both tests of a pair of neighbours stand on the same noisy difference


def test_the_two_shares_of_a_comparison_tell_no_more_than_one(tmp_path, monkeypatch):
    """With |d| + noise, noise + d and noise - d are shared: who opens bits of both learns 2 d, free of noise."""
    parties, of_c, of_d = Parties(tmp_path, bins=BINS), [], []
    share, to_bytes = release.Release._share, journal.to_bytes

    def noted(kept: Any) -> bytes:
        of_d.extend([kept["share"]] if "share" in kept else [])
        return to_bytes(kept)

    monkeypatch.setattr(release.Release, "_share", lambda self, masks: of_c.append(share(self, masks)) or of_c[-1])
    monkeypatch.setattr(journal, "to_bytes", noted)
    with parties.in_threads():
        sent(parties, *((f"o{i}", good(parties, i % 3)) for i in range(30)))
        analyst.publish(parties.study, parties.tickets.operator(), "r", "partition", 1)
    threshold = plan("partition", 1, parties.study.terms).threshold
    for shares, expected in ((of_d, 0), (of_c, 2 * threshold)):
        both = [(each[: BINS - 1] + each[BINS - 1 :]) % P for each in shares]
        assert both and {number for each in both for number in each.tolist()} == {expected}


# -- the decryption server tries to read a record from which of its answers are taken


class Guessing:
    """A decryption server whose answer is right only if the record is in a bin of its choice."""

    def __init__(self, bin: int, by: int = 7) -> None:
        self.bin, self.by = bin, by
        self._answers = records.answers

    def __call__(self, pad: Any, a: Any, b: Any, opened: Any, seeds: list[bytes]) -> Any:
        honest = self._answers(pad, a, b, opened, seeds).view("<u4").astype(np.int64)
        unit = np.zeros((len(seeds), pad.shape[1]), dtype=np.int64)
        unit[:, self.bin] = 1
        z, _ = onehot.sketches(unit, seeds)
        # Of z + A + by, the compute server makes (z + by)² - s. The difference from 0 is 2 · by · z + by².
        own, outcome = honest[:, :TESTS], honest[:, TESTS:]
        return onehot.spelled((own + self.by) % P, (outcome - 2 * self.by * a - 2 * self.by * z - self.by**2) % P)


@pytest.mark.parametrize("promised", [True, False])
def test_a_guess_by_the_decryption_server_tells_it_nothing(parties, monkeypatch, promised):
    """The control, without the owner's promise: a record is kept iff the guess is right."""
    guessing = Guessing(bin=3)
    monkeypatch.setattr(decrypt, "answers", guessing)
    if not promised:
        monkeypatch.setattr(records.Sketched, "passed", unpromised)
    said = sent(parties, *((f"{promised} {bin}", good(parties, bin)) for bin in range(BINS)))
    right = [status == "kept" for status, _ in said]
    assert right == [bin == guessing.bin and not promised for bin in range(BINS)]


def unpromised(found: Any, answers: Any) -> list[bool]:
    said = np.ascontiguousarray(answers).view("<u4").astype(np.int64)
    mine = onehot.outcome((found.opened + said[:, :TESTS]) % P, found.s, found.a, found.b, first=True)
    return [bool(each) for each in ((mine + said[:, TESTS:]) % P == 0).all(axis=1)]


def test_a_decryption_server_that_leaves_out_records_is_noticed_by_their_owners(parties, monkeypatch):
    monkeypatch.setattr(decrypt.Decryptor, "_key", lambda *_: None)
    assert sent(parties, ("left out", good(parties)))[0][0] == "refused"


# -- an owner who makes the proof fit


def fitted(parties: Parties, plain: Any) -> bytes:
    """A record whose B is not A², but what makes z² - s + B - A² vanish for the numbers drawn for B = A²."""
    from privjail.encrypted import envelope

    made, key, blind, masked = encryptor(parties), os.urandom(32), bytes(32), uniform(P, TESTS)
    pad, a, b = records.pads(key, BINS)
    values, name, offset = (plain + pad) % P, records.key_name(made.study, key), np.zeros(TESTS, dtype=np.int64)
    for _ in range(2):
        shares = (masked - a) % P, (masked * masked + offset - b) % P
        masks = onehot.spelled(shares[0][None], shares[1][None]).tobytes()
        part = records.compute_part(made.study, blind, packed_values(values), masks)
        seed = [records.challenge_seed(part, name)]
        z, s = onehot.sketches(plain[None] % P, seed)
        offset = (s - z * z)[0] % P
    opened = onehot.opening(onehot.sketches(values[None], seed)[0], shares[0])
    answer = records.answers(pad[None], a[None], b[None], opened, seed)
    promised = records.opening_hash(part, onehot.spelled(opened)[0])
    sealed = envelope.sealed(made.receiver, made.study, key + promised, os.urandom(32))
    return b"".join([packed_values(values), blind, name, records.answer_hash(name, answer[0]), masks, sealed])


@pytest.mark.parametrize("bound", [True, False])
def test_a_proof_cannot_be_fitted_to_the_numbers_it_is_tested_with(parties, monkeypatch, bound):
    """The control: with numbers that do not depend on the masks, fifty units pass."""
    if not bound:
        monkeypatch.setattr(records, "compute_part", lambda study, blind, values, masks: bytes(32))
    plain = np.zeros(BINS, dtype=np.int64)
    plain[4] = 50
    assert sent(parties, (f"fitted {bound}", fitted(parties, plain)))[0][0] == ("refused" if bound else "kept")
