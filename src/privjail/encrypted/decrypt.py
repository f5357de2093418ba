"""The decryption server: holds the key to the envelopes, sees masked numbers, and adds its own noise."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privjail.encrypted import compare, keys, onehot
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.clock import now
from privjail.encrypted.envelope import Opener
from privjail.encrypted.journal import Arrays, Database, Journal
from privjail.encrypted.lock import Lock
from privjail.encrypted.numbers import P, Whole
from privjail.encrypted.onehot import TESTS
from privjail.encrypted.plans import Plan, bucket_starts, plan
from privjail.encrypted.records import (
    ANSWER_BYTES,
    ENVELOPE_BYTES,
    HASH_BYTES,
    KEY_BYTES,
    OPENING_BYTES,
    answers,
    challenge_seed,
    key_name,
    opening_hash,
    pads,
)  # fmt: skip
from privjail.encrypted.seal import Secret, slots
from privjail.encrypted.spending import Spending, opened_account
from privjail.encrypted.study import Offer, Study
from privjail.encrypted.tally import Tally
from privjail.encrypted.wire import PARSED, Call, CheckLost, RecordsMoved, Running, serve
from privjail.errors import DPError, PlanError, RefusedError
from privjail.histograms.laws import Draw
from privjail.histograms.postprocess import block_sums
from privjail.mechanisms.noise import Noise

OPEN_CHECKS = 8  # checks of records that may be under way
LARGEST_BATCH = 512
NO_BITS = b""  # kept as the answer to an Open that decrypts to something else; a real answer has sums
MOST_FAILED = 3  # releases by partition that are spoilt by bits that are none: an honest compute server spoils none


@dataclass
class _Check:
    """A check that is under way; one that a restart interrupts is begun again by the compute server."""

    names: list[bytes]
    keys: list[bytes | None]  # None for a record that is not taken
    total: Whole  # of the pads of all records that are taken


class Decryptor:
    """Answers the compute server. What leaves it is uniform, encrypted, noisy, or a bit that will be published."""

    def __init__(self, folder: Path, draw: Draw | None = None) -> None:
        self.offer = Offer.load(folder / "offer.json")
        self._draw: Draw = draw or Noise().laplace
        self._opener = Opener(keys.secret(folder, "records"), self.offer.id)
        self._slots = Secret(slots(), keys.secret(folder, "slots"))
        self._only = Lock(folder)
        self._db = Database(folder / "state.sqlite")
        self._tally = Tally(self._db, self.offer.terms.bins)
        self._spending = Spending(folder, self.offer.terms.budget, opened_account(folder, self.offer.id))
        slots().warm()
        self._checks: OrderedDict[bytes, _Check] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        self._spending.close()
        self._db.close()
        self._only.close()

    def calls(self) -> dict[str, Call]:
        return {
            "Check": Call(pb.CheckRequest, self.check),
            "Keep": Call(pb.KeepRequest, self.keep),
            "Share": Call(pb.ShareRequest, self.share),
            "Compare": Call(pb.CompareRequest, self.compare, most=4 * PARSED),  # 25 ciphertexts
            "Open": Call(pb.OpenRequest, self.open),
        }

    # -- records

    def check(self, request: Any) -> Any:
        """Answer for each record that the owner's envelope vouches for. The same question gets the same answer."""
        if request.offer != self.offer.digest:
            raise DPError(
                "the two servers hold different offers: keys or terms differ",
                do="give the compute server's folder the decryption server's own offer.json",
            )
        self.offer.terms.taking(now())
        names, parts = _split(request.names, HASH_BYTES), _split(request.parts, HASH_BYTES)
        openings, envelopes = _split(request.openings, OPENING_BYTES), _split(request.envelopes, ENVELOPE_BYTES)
        n = len(names)
        if not 0 < n <= LARGEST_BATCH or {len(parts), len(openings), len(envelopes)} != {n}:
            raise PlanError(f"a check has 1 … {LARGEST_BATCH} records")
        again = self._tally.added(names)
        found: list[bytes | None] = []
        for name, part, opening, envelope in zip(names, parts, openings, envelopes, strict=True):
            fresh = name not in again
            again.add(name)
            found.append(self._key(name, part, opening, envelope) if fresh else None)
        checked, said = self._answered(names, parts, openings, found)
        with self._lock:
            self._checks[hashlib.sha256(request.SerializeToString(deterministic=True)).digest()] = checked
            while len(self._checks) > OPEN_CHECKS:
                self._checks.popitem(last=False)
        return pb.CheckReply(taken=bytes(key is not None for key in found), answers=said)

    def _key(self, name: bytes, part: bytes, opening: bytes, envelope: bytes) -> bytes | None:
        """The key in a record's envelope, if the compute server says of the record what its owner promised."""
        content = self._opener.opened(envelope)
        if content is None or len(content) != KEY_BYTES + HASH_BYTES:
            return None
        key, promised = content[:KEY_BYTES], content[KEY_BYTES:]
        honest = key_name(self.offer.id, key) == name and opening_hash(part, opening) == promised
        return key if honest else None

    def _answered(
        self, names: list[bytes], parts: list[bytes], openings: list[bytes], found: list[bytes | None]
    ) -> tuple[_Check, bytes]:
        bins = self.offer.terms.bins
        places = [i for i, key in enumerate(found) if key is not None]
        total, said = np.zeros(bins, dtype=np.int64), np.zeros((len(names), ANSWER_BYTES), dtype=np.uint8)
        for at in range(0, len(places), onehot.FEW):
            few = places[at : at + onehot.FEW]
            pad, a, b = (np.array(each) for each in zip(*(pads(found[i] or b"", bins) for i in few), strict=True))
            opened = np.frombuffer(b"".join(openings[i] for i in few), "<u4").astype(np.int64).reshape(-1, TESTS)
            seeds = [challenge_seed(parts[i], names[i]) for i in few]
            said[few] = answers(pad, a, b, opened % P, seeds)
            total += pad.sum(axis=0)
        return _Check(names, found, total % P), said.tobytes()

    def keep(self, request: Any) -> Any:
        """Note the records of a batch that the compute server will add, and add those of batches that it added."""
        with self._lock:
            self._tally.confirm(request.added)
            if request.batch:
                found = self._checks.get(request.batch)
                if found is None:
                    raise CheckLost("this check is not known here, or no longer")
                self._tally.keep(request.batch, *self._chosen(found, list(request.kept)))
        return pb.KeepReply()

    def _chosen(self, found: _Check, kept: list[int]) -> tuple[list[bytes], Whole]:
        """Names of the records that are kept, and the sum of their pads."""
        takeable = [key is not None for key in found.keys]
        if len(kept) != len(takeable) or any(k not in (0, 1) or k > t for k, t in zip(kept, takeable, strict=True)):
            raise PlanError("records are kept that were not taken")
        total = found.total.copy()
        for key, k in zip(found.keys, kept, strict=True):
            if key is not None and not k:
                total -= pads(key, len(total))[0]
        return [name for name, k in zip(found.names, kept, strict=True) if k], total % P

    # -- releases

    def _noise(self, scale: float, n: int) -> Whole:
        return np.array(self._draw(scale, n), dtype=np.int64)

    def share(self, request: Any) -> Any:
        """Take the pads off the masked sum. `block_tree`: answer with noise on it; `partition`: with encrypted bits."""
        if len(request.masked) != 4 * self.offer.terms.bins:
            raise PlanError("the masked sum is of another study")
        masked = np.frombuffer(request.masked, dtype="<u4").astype(np.int64)
        with self._lock:
            journal, total = Journal(self._db, request.release), self._tally.total()
            made = plan(request.method, request.epsilon, self.offer.terms, total.submissions)
            if request.chain != total.chain and not journal.has("share"):
                raise RecordsMoved("the two servers have added up different records")
            if not journal.has("share"):
                self.offer.terms.publishing(now(), total.submissions)
                if made.partitioned:
                    self._still_opens()
            self._spending.charge(request.release, made, journal.mark())

            def answer() -> tuple[bytes, Arrays]:
                y = (masked - total.values) % P
                reply, kept = self._partition(made, y) if made.partitioned else self._block_tree(made, y)
                return reply.SerializeToString(), kept

            body = journal.answer("share", request.SerializeToString(), answer)
            self._spending.note(request.release, "share", _mark(body))
            if not made.partitioned:
                journal.forget()
        return pb.ShareReply.FromString(body)

    def _still_opens(self) -> None:
        """Every forged ciphertext that is opened tells a bit about the key for slots: so few are opened, ever."""
        if self._spending.failed >= MOST_FAILED:
            raise RefusedError(
                f"partition is refused: in {MOST_FAILED} releases of this study the compute server had numbers opened "
                "that are no bits, which an honest one never does",
                do="publish by block_tree; for partition, start a study with new keys",
            )

    def _block_tree(self, made: Plan, y: Whole) -> tuple[Any, Arrays]:
        sums = [block_sums(y, size) for size in made.sizes]
        noisy = [(row + self._noise(scale, len(row))) % P for row, scale in zip(sums, made.scales, strict=True)]
        return pb.ShareReply(leaves=noisy[0].tolist(), blocks=np.concatenate(noisy[1:]).tolist()), {}

    def _partition(self, made: Plan, y: Whole) -> tuple[Any, Arrays]:
        # Both tests stand on the same noisy difference: whatever is asked of the two shares is asked of d + noise.
        noisy = np.diff(y) + self._noise(made.scales[0], made.bins - 1)
        share = np.concatenate([noisy, -noisy]) % P
        bits = compare.encrypted_bits(self._slots, share)
        return pb.ShareReply(bits=bits), {"y": y, "share": share, "scale": np.array([made.scales[1]])}

    def compare(self, request: Any) -> Any:
        """Look for zeros in the blinded comparison; answer with encrypted shares of the signs."""
        journal = Journal(self._db, request.release)

        def answer() -> tuple[bytes, Arrays]:
            share = journal.read("after share")["share"]
            signs = compare.sign_share(compare.found_zero(self._slots, list(request.rows)), share)
            half = len(share) // 2
            pair = compare.encrypted_pair(self._slots, signs[:half], signs[half:])
            return pb.CompareReply(shares=pair).SerializeToString(), {}

        with self._lock:
            return pb.CompareReply.FromString(journal.answer("compare", request.SerializeToString(), answer))

    def open(self, request: Any) -> Any:
        """Open which bins are merged; answer with that and noisy sums of the buckets. Other numbers end the release."""
        journal = Journal(self._db, request.release)

        def answer() -> tuple[bytes, Arrays]:
            kept = journal.read("after share")
            journal.read("after compare")
            self._still_opens()
            merges = compare.decrypted(self._slots, request.both)[: len(kept["y"]) - 1]
            if not np.isin(merges, (0, 1)).all():
                return NO_BITS, {}  # kept like an answer: whoever could try again would ask about one bit each time
            sums = np.add.reduceat(kept["y"], bucket_starts(merges))
            noisy = (sums + self._noise(float(kept["scale"][0]), len(sums))) % P
            reply = pb.OpenReply(merges=merges.astype(np.uint8).tobytes(), sums=noisy.tolist())
            return reply.SerializeToString(), {}

        with self._lock:
            body = journal.answer("open", request.SerializeToString(), answer)
            self._spending.note(request.release, "open", _mark(body), failed=body == NO_BITS)
            journal.forget()
        if body == NO_BITS:
            raise DPError(
                f"the opened numbers of release {request.release!r} are no bits: it is over, and stays charged",
                do="find out why the compute server sent them; an honest one never does",
            )
        return pb.OpenReply.FromString(body)


def _mark(answer: bytes) -> str:
    return hashlib.sha256(answer).hexdigest()


def _split(joined: bytes, size: int) -> list[bytes]:
    """Parts of one size; a rest, which is wrong, as a part more."""
    return [joined[at : at + size] for at in range(0, len(joined), size)] + ([b""] if len(joined) % size else [])


def start(folder: Path, study: Study, listen: str | None = None, draw: Draw | None = None) -> Running:
    """Serve; only the study's compute server may call."""
    pair = keys.pair(folder)
    decryptor = Decryptor(folder, draw)
    if study.terms != decryptor.offer.terms or study.records_key != decryptor.offer.records_key:
        decryptor.close()
        raise PlanError("the study file is not of this server's offer: terms or key differ")
    peer = study.compute.certificate.encode()
    address = listen or decryptor.offer.decrypt.address
    return serve("Decrypt", decryptor.calls(), address, pair, peer, decryptor.close)
