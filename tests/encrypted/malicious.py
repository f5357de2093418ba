"""Servers that deviate: real messages over TLS, with the certificate of the server that they play."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted import compare, keys, onehot
from privjail.encrypted.numbers import SLOTS, P
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.records import Proof, Sketched, Sum, rows_of, sketched, values_of
from privjail.encrypted.seal import Public, slots
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


class Publishing(Computing):
    """The same server in a release: it sends a sum, rows and bits of its own making."""

    def added(self, total: Sum, *records: bytes) -> Sum:
        """Submit records as one batch; the sum that both servers hold then."""
        found = self.read(*records)
        request = self.request(found)
        taken = self.caller.call("Check", request, pb.CheckReply).taken
        batch = hashlib.sha256(request.SerializeToString(deterministic=True)).digest()
        self.keep(batch, taken)
        self.keep(added=[batch])
        values = values_of(rows_of(b"".join(records), self.bins), self.bins).sum(axis=0, dtype=np.int64)
        return total.plus(values % P, len(records), batch)

    def share(self, release: str, method: str, epsilon: Any, total: Sum) -> Any:
        """The sum without any mask: what comes back is the decryption server's noise on the counts, and no more."""
        masked = total.values.astype("<u4").tobytes()
        request = pb.ShareRequest(
            release=release, method=method, epsilon=str(epsilon), masked=masked, chain=total.chain
        )
        return self.caller.call("Share", request, pb.ShareReply)

    def compare(self, release: str, rows: list[bytes]) -> list[bytes]:
        request = pb.CompareRequest(release=release, rows=rows)
        return list(self.caller.call("Compare", request, pb.CompareReply).shares)

    def open(self, release: str, both: bytes) -> Any:
        return self.caller.call("Open", pb.OpenRequest(release=release, both=both), pb.OpenReply)

    def forged(self, received: list[bytes], factors: Any, constants: Any) -> bytes:
        """Σ factors[j] · received[j] + constants, slot by slot, encrypted."""
        public = Public(slots(), self.offer.slots_key)
        inputs = [public.scheme.loaded(public.scheme.seal.Ciphertext(), each) for each in received]
        for each in inputs:
            public.scheme.evaluator.transform_to_ntt_inplace(each)
        wide = np.array([compare.in_slots(np.asarray(row) % P) for row in factors]).reshape(len(inputs), SLOTS)
        total = compare.combined(public.scheme, inputs, wide)
        return compare.flooded(public, total, compare.in_slots(np.asarray(constants) % P))

    def rows(self, first: bytes) -> list[bytes]:
        """A comparison whose outcome is whether the first row is 0: the other rows are never 0."""
        never = self.forged([], [], np.ones(SLOTS, dtype=np.int64))
        return [first] + [never] * (compare.ROWS - 1)

    def nothing_compared(self, release: str) -> list[bytes]:
        return self.compare(release, self.rows(self.forged([], [], np.ones(SLOTS, dtype=np.int64))))
