"""One server deviates while a release is made (V-57): played over TLS, each with a control that takes the rule away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privjail.encrypted import analyst, compare, decrypt, journal, release, spending
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.numbers import BITS, P, Whole, centred
from privjail.encrypted.owner import Submitter
from privjail.encrypted.records import Sketched, Sum
from privjail.errors import BudgetExceeded, DPError, RefusedError

from .malicious import Publishing
from .parties import Parties
from .refusing import good, holding, sent
from .test_views import Drawn

BINS = 64
COUNTS = np.random.default_rng(3).integers(0, 4, BINS)


class Study:
    """A decryption server, a compute server that deviates, and the sum of honest records."""

    def __init__(self, where: Path, budget: int = 1000, **terms: Any) -> None:
        self.parties = Parties(where, bins=BINS, budget=budget, **terms)
        self.state, self.noise = where / "ds" / "state.sqlite", Drawn()
        with self.served() as cheat:
            self.total = cheat.added(Sum.empty(BINS), *self.records(COUNTS))

    def records(self, counts: Any) -> list[bytes]:
        return [good(self.parties, int(bin)) for bin in np.repeat(np.arange(BINS), counts)]

    @contextmanager
    def served(self) -> Iterator[Publishing]:
        """The real decryption server, started anew."""
        server = decrypt.start(self.parties.where / "ds", self.parties.study, draw=self.noise)
        try:
            with Publishing(self.parties) as cheat:
                yield cheat
        finally:
            server.stop()

    def copied(self) -> Path:
        """A copy of the decryption server's state, as a backup makes one."""
        return Path(shutil.copy(self.state, self.state.with_name("copy")))

    def put_back(self, copy: Path) -> None:
        for each in self.state.parent.glob("state.sqlite*"):
            each.unlink()
        shutil.copy(copy, self.state)

    @property
    def differences(self) -> Whole:
        """d + the decryption server's noise: all that it ever compares."""
        return np.diff(COUNTS) + next(z for z in self.noise.drawn.values() if len(z) == BINS - 1)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


# -- the compute server opens bits of its own


def parities(cheat: Publishing, total: Sum, name: str = "r") -> Any:
    """Bit 1 of one share ⊕ bit 1 of the other, for each pair of neighbours, instead of whether bins are merged.

    The outcome of a comparison is bit 0 of 2 Y ⊕ whether the first row is 0; a row of bit 0 + bit 2 - 1 makes it bit 2.
    """
    bits = list(cheat.share(name, "partition", 1, total).bits)
    ones = np.ones(2 * (BINS - 1), dtype=np.int64)
    a, b, ab = cheat.compare(name, cheat.rows(cheat.forged([bits[0], bits[2]], [ones, ones], -ones)))
    few = ones[: BINS - 1]
    opened = cheat.open(name, cheat.forged([a, b, ab], [few, few, -2 * few], 0 * few))
    return np.frombuffer(opened.merges, np.uint8).astype(np.int64)


def test_bits_of_its_own_tell_the_compute_server_the_noisy_differences_only(study):
    with study.served() as cheat:
        read = parities(cheat, study.total)
    assert read.tolist() == (study.differences & 1).tolist()  # a bit of d + noise …
    assert read.tolist() != (np.diff(COUNTS) & 1).tolist()  # … which says nothing about d: equal with chance 2**-63


def test_with_the_thesis_test_the_same_bits_are_free_of_noise(study, monkeypatch):
    """The control: |d| + noise. The shares are noise + d and noise - d, and bit 1 of both together is d mod 2."""

    def thesis(self: Any, made: Any, y: Any) -> Any:
        d, z = np.diff(y), self._noise(made.scales[0], made.bins - 1)
        share = np.concatenate([z + d, z - d]) % P
        kept = {"y": y, "share": share, "scale": np.array([made.scales[1]])}
        return pb.ShareReply(bits=compare.encrypted_bits(self._slots, share)), kept

    monkeypatch.setattr(decrypt.Decryptor, "_partition", thesis)
    with study.served() as cheat:
        assert parities(cheat, study.total).tolist() == (np.diff(COUNTS) & 1).tolist()


# -- the compute server asks again and again: what is no bit tells it something, too


def asked_bit(cheat: Publishing, name: str, bits: list[bytes], place: int) -> int:
    """A bit of the first share: twice that bit is opened, which is no bit iff it is 1."""
    try:
        cheat.open(name, cheat.forged([bits[place]], [[2]], [0]))
    except DPError as e:
        assert "no bits" in str(e)
        return 1
    return 0


def begun(cheat: Publishing, total: Sum, name: str) -> list[bytes]:
    bits = list(cheat.share(name, "partition", 1, total).bits)
    cheat.nothing_compared(name)
    return bits


def test_a_forged_open_ends_the_release(study):
    with study.served() as cheat:
        bits = begun(cheat, study.total, "r")
        for place in range(4):  # whatever these bits are, one question is answered
            said = "no bits" if place == 0 else "with another message"
            with pytest.raises(DPError, match=said):
                cheat.open("r", cheat.forged([bits[place]], [[2]], [2]))
        with pytest.raises(DPError, match="with another message"):
            cheat.compare("r", cheat.rows(cheat.forged([], [], [0])))
    assert len(study.noise.drawn) == 1  # no noise was drawn for sums that nobody gets


def test_without_an_end_the_compute_server_reads_a_whole_share(study, monkeypatch):
    """The control: what is no bit is refused, and not kept. One share is read, bit by bit; it is d + noise, even so."""
    answer = journal.Journal.answer

    def forgetful(self: Any, step: str, asked: bytes, make: Any) -> bytes:
        if step == "open" and make()[0] == b"":
            raise DPError("no bits")
        return answer(self, step, asked, make) if step != "open" else make()[0]

    monkeypatch.setattr(journal.Journal, "answer", forgetful)
    monkeypatch.setattr(journal.Journal, "forget", lambda self: None)
    monkeypatch.setattr(spending.Spending, "note", lambda *_, **__: None)
    with study.served() as cheat:
        bits = begun(cheat, study.total, "r")
        read = sum(asked_bit(cheat, "r", bits, place) << place for place in range(BITS))
    assert centred(read * pow(2, -1, P)) == study.differences[0]


def test_failures_are_few_for_the_whole_study_whatever_is_restarted_or_put_back(study):
    names = [f"r{i}" for i in range(decrypt.MOST_FAILED + 1)]
    with study.served() as cheat:
        for name in names:
            begun(cheat, study.total, name)  # all of them before the first one fails
        forged = cheat.forged([], [], [2])
    copy = study.copied()
    for name in names[:-1]:
        with study.served() as cheat, pytest.raises(DPError, match="no bits"):  # each by a server that was restarted
            cheat.open(name, forged)
    for old in (False, True):
        if old:
            study.put_back(copy)
        with study.served() as cheat:
            with pytest.raises(RefusedError, match="partition is refused: in 3 releases"):
                cheat.open(names[-1], forged)
            with pytest.raises(RefusedError, match="partition is refused: in 3 releases"):
                cheat.share("new", "partition", 1, study.total)
    with study.served() as cheat:
        assert cheat.share("sums", "block_tree", 1, study.total).leaves  # which needs no key for slots


def test_an_honest_compute_server_never_fails(tmp_path):
    parties = Parties(tmp_path, bins=4, budget=1000)
    with parties.in_threads(), Submitter(parties.study) as submitter:
        submitter.submit(parties.records([0, 1, 1, 3]))
        for i in range(decrypt.MOST_FAILED + 2):
            analyst.publish(parties.study, parties.tickets.operator(), f"r{i}", "partition", 1)


# -- old copies from the middle of a release: the compute server can make that time as long as it likes


def reopened(study: Study) -> tuple[Any, Any]:
    """The sums of an Open, and those of the same Open to a server on a copy of its state from before it."""
    with study.served() as cheat:
        begun(cheat, study.total, "r")
    copy = study.copied()
    with study.served() as cheat:
        both = cheat.forged([], [], [0])
        first = cheat.open("r", both).sums
    study.put_back(copy)
    with study.served() as cheat:
        return first, cheat.open("r", both).sums


def test_an_old_copy_from_the_middle_of_a_release_draws_no_second_noise(study):
    with pytest.raises(DPError, match="an old copy"):
        reopened(study)


def test_without_the_note_in_the_ledger_such_a_copy_draws_again(study, monkeypatch):
    """The control: the same sums under noise that is drawn twice, for one charge."""
    monkeypatch.setattr(spending.Spending, "note", lambda *_, **__: None)
    first, second = reopened(study)
    assert len(first) == len(second) == BINS and list(first) != list(second)


@pytest.mark.parametrize("noted", [True, False])
def test_a_copy_from_between_charge_and_answer_draws_no_second_noise(study, monkeypatch, noted):
    """The charge and its mark are there, the answer is not: as when a backup is made just then."""
    if not noted:
        monkeypatch.setattr(spending.Spending, "note", lambda *_, **__: None)
    with monkeypatch.context() as patch:
        patch.setattr(decrypt.Decryptor, "_block_tree", stopped)
        with study.served() as cheat, pytest.raises(DPError, match="stopped"):
            cheat.share("r", "block_tree", 1, study.total)
    copy = study.copied()
    with study.served() as cheat:
        first = cheat.share("r", "block_tree", 1, study.total)
    study.put_back(copy)
    with study.served() as cheat:
        if noted:
            with pytest.raises(DPError, match="an old copy"):
                cheat.share("r", "block_tree", 1, study.total)
        else:
            assert cheat.share("r", "block_tree", 1, study.total) != first


def test_a_whole_folder_that_is_put_back_has_forgotten_what_it_spent(tmp_path):
    """A limit, stated in KNOWN_LIMITS: state, ledger and anchors of the same earlier moment agree with each other."""
    study, folder, copy = Study(tmp_path, budget=1), tmp_path / "ds", tmp_path / "whole copy"
    shutil.copytree(folder, copy)
    with study.served() as cheat:
        cheat.share("r", "block_tree", 1, study.total)
        with pytest.raises(BudgetExceeded):
            cheat.share("s", "block_tree", 1, study.total)
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    with study.served() as cheat:
        assert cheat.share("s", "block_tree", 1, study.total).leaves


@pytest.mark.parametrize("method", ["block_tree", "partition"])
@pytest.mark.parametrize("noted", [True, False])
def test_the_compute_server_on_such_a_copy_publishes_no_second_noise(tmp_path, monkeypatch, method, noted):
    """The decryption server stops a release in the middle; a copy of the compute server's state is made then."""
    parties, state = Parties(tmp_path, bins=BINS, budget=100), tmp_path / "cs" / "state.sqlite"
    if not noted:
        monkeypatch.setattr(spending.Spending, "note", lambda *_, **__: None)

    def publish() -> Any:
        released = analyst.publish(parties.study, parties.tickets.operator(), "r", method, 1).released
        return {name: each.tolist() for name, each in released.items()}

    with monkeypatch.context() as patch:
        patch.setattr(decrypt.Decryptor, "share" if method == "block_tree" else "open", stopped)
        with parties.in_threads(), Submitter(parties.study) as submitter:
            submitter.submit(parties.records(np.repeat(np.arange(BINS), COUNTS)))
            with pytest.raises(DPError, match="stopped"):
                publish()
    shutil.copy(state, tmp_path / "copy")
    with parties.in_threads():
        once = publish()
    for each in state.parent.glob("state.sqlite*"):
        each.unlink()
    shutil.copy(tmp_path / "copy", state)
    with parties.in_threads():
        if noted:
            with pytest.raises(DPError, match="an old copy"):
                publish()
        else:
            assert publish() != once


def stopped(*_: Any) -> None:
    raise DPError("stopped")


# -- the compute server has other sets of records released, one after the other


def one_more(study: Study, cheat: Publishing, times: int) -> list[int]:
    """What releases with Alice tell more than releases without her: which bin she is in, if noise can be averaged."""
    without = [np.array(cheat.share(f"without {i}", "block_tree", 1, study.total).leaves) for i in range(times)]
    total = cheat.added(study.total, good(study.parties, 5))
    having = [np.array(cheat.share(f"with {i}", "block_tree", 1, total).leaves) for i in range(times)]
    gained = np.mean([centred(each) for each in having], axis=0) - np.mean([centred(each) for each in without], axis=0)
    return np.rint(gained).astype(int).tolist()


def test_other_sets_are_paid_for_one_by_one(tmp_path):
    study = Study(tmp_path, budget=2)
    with study.served() as cheat:
        with pytest.raises(BudgetExceeded):
            one_more(study, cheat, 3)
        total = cheat.added(study.total, good(study.parties, 5))
        with pytest.raises(BudgetExceeded):  # another set is no other budget
            cheat.share("with her", "block_tree", "1/100", total)
    with study.served() as cheat, pytest.raises(BudgetExceeded):
        cheat.share("after a restart", "block_tree", "1/100", total)


def test_without_the_ledger_other_sets_show_a_person(tmp_path, monkeypatch):
    """The control: 200 releases of each set average the noise away."""
    monkeypatch.setattr(spending.Spending, "charge", lambda *_: None)
    study = Study(tmp_path, budget=2)
    with study.served() as cheat:
        found = one_more(study, cheat, 200)
        assert found[5] == 1 and max(found) == 1 and sum(map(abs, found)) <= 3, "her bin, and what little noise is left"


# -- the decryption server answers a release with numbers of its own


@pytest.mark.parametrize("before", [True, False])
def test_numbers_of_the_decryption_servers_own_carry_the_other_noise(tmp_path, monkeypatch, before):
    """It shifts counts to the edge of the range: more than 1 wraps. The control adds noise after reducing modulo P."""
    edge, noise = P // 2 - 1, Drawn()
    honest, centring = decrypt.Decryptor._block_tree, release.Release._block_tree

    def shifted(self: Any, made: Any, y: Any) -> Any:
        reply, kept = honest(self, made, y)
        return pb.ShareReply(leaves=((y + edge) % P).tolist(), blocks=reply.blocks), kept

    def late(self: Any, masks: Any, reply: Any) -> Any:
        rows = centring(self, masks, reply)  # draws and keeps the noise
        z = self._noise("first", self.plan.scales[0], len(masks))
        return centred(reply["leaves"] - masks) + z, *rows[1:]

    monkeypatch.setattr(decrypt.Decryptor, "_block_tree", shifted)
    if not before:
        monkeypatch.setattr(release.Release, "_block_tree", late)
    parties = Parties(tmp_path, bins=BINS, budget=100)
    with parties.in_threads(draw_c=noise), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(np.repeat(np.arange(BINS), COUNTS)))
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", "1/2")
    wrapped = found.released["leaves"] < 0
    z = next(each for each in noise.drawn.values() if len(each) == BINS)
    assert wrapped.tolist() == ((COUNTS + z if before else COUNTS) > 1).tolist()
    assert (wrapped == (COUNTS > 1)).all() == (not before)


# -- the check of records is switched off at one of the servers


def test_with_the_check_off_at_the_compute_server_noise_covers_every_record(tmp_path, monkeypatch):
    """It takes whatever it gets. A false record spoils the sum; about the others nothing is shown but noisy counts."""
    monkeypatch.setattr(Sketched, "passed", lambda self, answers: [True] * len(self.proofs))
    parties, d, c = Parties(tmp_path, bins=BINS, budget=100), Drawn(), Drawn()
    with parties.in_threads(d, c), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(np.repeat(np.arange(BINS), COUNTS)))
        assert sent(parties, ("mallory", holding(parties, {4: 50})))[0][0] == "kept"
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 1)
    scale = next(scale for scale, each in d.drawn.items() if len(each) == BINS)
    spoilt = COUNTS + 50 * (np.arange(BINS) == 4)
    assert (found.released["leaves"] == spoilt + d.drawn[scale] + c.drawn[scale]).all()
    assert d.drawn[scale].any() and c.drawn[scale].any()


@pytest.mark.parametrize("answers", ["its own", "whatever"])
def test_with_the_check_off_at_the_decryption_server_records_are_still_checked(tmp_path, monkeypatch, answers):
    """It opens an envelope and looks at nothing in it. The compute server still refuses false records."""

    def opened(self: Any, name: bytes, part: bytes, opening: bytes, envelope: bytes) -> bytes:
        return (self._opener.opened(envelope) or bytes(64))[:32]

    monkeypatch.setattr(decrypt.Decryptor, "_key", opened)
    if answers == "whatever":
        monkeypatch.setattr(decrypt, "answers", lambda pad, *_: np.zeros((len(pad), 24), dtype=np.uint8))
    parties = Parties(tmp_path, bins=BINS)
    with parties.in_threads():
        said = sent(parties, ("mallory", holding(parties, {4: 50})), ("alice", good(parties)))
    assert [status for status, _ in said] == ["refused", "kept" if answers == "its own" else "refused"]
