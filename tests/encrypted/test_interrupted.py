"""A batch is added by both servers or by neither, wherever one of them stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privjail.encrypted import analyst, compute, decrypt
from privjail.encrypted.owner import Submitter
from privjail.encrypted.wire import Caller, CheckLost
from privjail.errors import DPError

from .parties import Parties
from .refusing import BINS, good, sent


class Stopped(Exception):
    """A server was killed here."""


def counts(parties: Parties, name: str) -> Any:
    """What is published without noise."""
    found = analyst.publish(parties.study, parties.tickets.operator(), name, "block_tree", 1)
    return found.released["leaves"].tolist()


def silent(scale: float, n: int) -> list[int]:
    return [0] * n


@pytest.fixture
def study(tmp_path):
    return Parties(tmp_path, bins=BINS, budget=100)


def test_a_check_that_is_lost_in_between_is_made_again(study, monkeypatch):
    asked: list[str] = []
    call = Caller.call

    def losing(self: Any, method: str, *args: Any, **named: Any) -> Any:
        asked.append(method)
        return call(self, method, *args, **named)

    chosen, lost = decrypt.Decryptor.keep, []

    def keep(self: Any, request: Any) -> Any:
        if not lost:
            lost.append(True)
            self._checks.clear()  # as after a restart
        return chosen(self, request)

    monkeypatch.setattr(Caller, "call", losing)
    monkeypatch.setattr(decrypt.Decryptor, "keep", keep)
    with study.in_threads(silent, silent):
        assert sent(study, ("a", good(study, 2))) == [("kept", "")]
        assert asked == ["Submit", "Check", "Keep", "Check", "Keep"]
        assert counts(study, "r")[2] == 1


def test_a_check_that_is_lost_each_time_keeps_nothing(study, monkeypatch):
    def gone(*_: Any) -> None:
        raise CheckLost("gone")

    with study.in_threads(silent, silent):
        with monkeypatch.context() as patch:
            patch.setattr(decrypt.Tally, "keep", gone)
            with Submitter(study.study) as submitter, pytest.raises(DPError):
                submitter.submit([study.record("lost", 1)])
        assert sent(study, ("lost", good(study, 1))) == [("kept", "")]
        assert counts(study, "r")[1] == 1


@pytest.mark.parametrize("same", [True, False])
def test_a_batch_that_the_compute_server_lost_is_added_when_it_comes_again(study, monkeypatch, same):
    """The decryption server noted it; the compute server was killed before it did. It comes again, or a part of it."""
    records = [("a", good(study, 2)), ("b", good(study, 3))]

    def killed(*_: Any) -> None:
        raise Stopped

    with study.in_threads(silent, silent):
        sent(study, ("before", good(study, 0)))
        with monkeypatch.context() as patch:
            patch.setattr(compute.Computer, "_keep", killed)
            with pytest.raises(DPError):
                sent(study, *records)
    with study.in_threads(silent, silent):
        again = records if same else [records[1], ("c", good(study, 4))]
        assert sent(study, *again) == [("kept", "")] * 2
        assert counts(study, "r")[:5] == ([1, 0, 1, 1, 0] if same else [1, 0, 0, 1, 1])


def test_a_confirmation_that_is_lost_is_said_again(study, monkeypatch):
    forget = compute.Computer._confirmed

    def forgetting(self: Any, *args: Any) -> None:
        waiting = self._db.rows("SELECT seq, batch FROM unconfirmed")
        forget(self, *args)
        with self._db.writing() as db:  # as if it was killed before it noted the answer
            db.executemany("INSERT OR IGNORE INTO unconfirmed VALUES (?, ?)", waiting)

    monkeypatch.setattr(compute.Computer, "_confirmed", forgetting)
    with study.in_threads(silent, silent):
        for i in range(3):
            assert sent(study, (f"{i}", good(study, i))) == [("kept", "")]
        assert counts(study, "r")[:4] == [1, 1, 1, 0]


def test_records_that_come_while_a_release_waits_are_in_it_or_in_the_next(study, monkeypatch):
    """The decryption server is not there; meanwhile the sum moves on. The old masked sum fits no keys any more."""
    share, down = decrypt.Decryptor.share, [True]

    def failing(self: Any, request: Any) -> Any:
        if down.pop() if down else False:
            raise DPError("down")
        return share(self, request)

    monkeypatch.setattr(decrypt.Decryptor, "share", failing)
    with study.in_threads(silent, silent):
        sent(study, ("early", good(study, 1)))
        with pytest.raises(DPError, match="down"):
            counts(study, "r")
        sent(study, ("late", good(study, 2)))
        assert counts(study, "r")[:4] == [0, 1, 1, 0]
        assert counts(study, "r")[:4] == [0, 1, 1, 0]  # and stays so


def test_an_answer_that_was_lost_is_that_of_the_sum_it_was_asked_for(study, monkeypatch):
    from privjail.encrypted import release

    shared, lost = release.Release._shared, [True]

    def losing(self: Any, kept: Any) -> Any:
        reply = shared(self, kept)
        if down := bool(lost):
            lost.clear()
        if down:
            raise DPError("the answer was lost")
        return reply

    monkeypatch.setattr(release.Release, "_shared", losing)
    with study.in_threads(silent, silent):
        sent(study, ("early", good(study, 1)))
        with pytest.raises(DPError, match="lost"):
            counts(study, "r")
        sent(study, ("late", good(study, 2)))
        assert counts(study, "r")[:4] == [0, 1, 0, 0]
        assert counts(study, "s")[:4] == [0, 1, 1, 0]
        assert np.sum(counts(study, "s")) == 2
