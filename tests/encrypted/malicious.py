"""Servers that deviate: real messages over TLS, with the certificate of the server that they play."""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted import keys, onehot
from privjail.encrypted.numbers import P
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.records import Proof, Sketched, rows_of, sketched
from privjail.encrypted.study import Offer
from privjail.encrypted.wire import Caller

from .parties import Parties


class Computing:
    """Whoever holds the compute server's folder, and sends what it likes."""

    def __init__(self, parties: Parties) -> None:
        self.study, self.bins = parties.study, parties.study.terms.bins
        self.offer = Offer.load(parties.where / "cs" / "offer.json")
        self.caller = Caller("Decrypt", self.offer.decrypt, keys.pair(parties.where / "cs"))

    def __enter__(self) -> Computing:
        return self

    def __exit__(self, *_: Any) -> None:
        self.caller.close()

    def read(self, *records: bytes) -> Sketched:
        return sketched(rows_of(b"".join(records), self.bins), self.bins, self.study.id)[0]

    def request(self, found: Sketched, **changed: bytes) -> Any:
        honest = {
            "names": b"".join(proof.name for proof in found.proofs),
            "parts": b"".join(found.parts),
            "openings": onehot.spelled(found.opened).tobytes(),
            "envelopes": b"".join(proof.envelope for proof in found.proofs),
            "offer": self.offer.digest,
        }
        return pb.CheckRequest(**honest | changed)

    def check(self, found: Sketched, **changed: bytes) -> Any:
        return self.caller.call("Check", self.request(found, **changed), pb.CheckReply)

    def keep(self, batch: bytes = b"", kept: Any = (), added: Any = ()) -> Any:
        return self.caller.call("Keep", pb.KeepRequest(batch=batch, kept=bytes(kept), added=list(added)), pb.KeepReply)


def parts(record: bytes, bins: int) -> tuple[bytes, Proof]:
    return record[: 3 * bins], Proof.read(record, bins)


def shifted(numbers: Any, by: int) -> bytes:
    return onehot.spelled((numbers + by) % P).tobytes()


def guessed(found: Sketched, bins: int) -> Any:
    """z of a record in each bin, for the first test of the first record."""
    from privjail.encrypted.records import challenge_seed

    seed = challenge_seed(found.parts[0], found.proofs[0].name)
    z, _ = onehot.sketches(np.eye(bins, dtype=np.int64), [seed] * bins)
    return z[:, 0]


def outcome_of(found: Sketched, by: int, reply: Any) -> int:
    """z² - s of the first test after the opening was shifted, as the compute server gets it."""
    said = np.frombuffer(reply.answers, "<u4").astype(np.int64).reshape(-1, 2 * TESTS)
    total = (found.opened + by + said[:, :TESTS]) % P
    mine = onehot.outcome(total, found.s, found.a, found.b, first=True)
    return int((mine + said[:, TESTS:])[0, 0] % P)
