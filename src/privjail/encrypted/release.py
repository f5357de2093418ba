"""One release, as the compute server makes it: each step is kept before the next one depends on it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import numpy as np

from privjail.encrypted import compare, publication
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.journal import FORGET, Arrays, Database, Journal
from privjail.encrypted.numbers import P, Whole, centred, uniform
from privjail.encrypted.plans import Plan, bucket_starts, plan
from privjail.encrypted.records import Sum
from privjail.encrypted.seal import Public
from privjail.encrypted.spending import Spending
from privjail.encrypted.study import Terms
from privjail.encrypted.wire import Caller, RecordsMoved
from privjail.errors import DPError
from privjail.histograms.laws import Draw
from privjail.histograms.postprocess import block_sums

NOISE_STEPS = ("first", "second", "third")  # names of this server's noise in the journal


class Release:
    """Asks the decryption server, removes the masks, adds its own noise, publishes."""

    def __init__(
        self, name: str, made: Plan, terms: Terms, database: Database, peer: Caller, public: Public, draw: Draw,
        spending: Spending,
    ) -> None:  # fmt: skip
        self.name, self.plan, self.terms = name, made, terms
        self._db, self._peer, self._public, self._draw = database, peer, public, draw
        self._journal, self._spending = Journal(database, name), spending
        self.steps = 4 if made.partitioned else 2
        self._noisy: tuple[Whole, ...] | None = None

    def run(self, latest: Callable[[], AbstractContextManager[Sum]]) -> Iterator[str]:
        """Do it, step by step; each step's name is told before it begins.

        `latest` gives the sum, and no record is added to it meanwhile.
        """
        yield "masking the encrypted histogram"
        with latest() as total:
            self._journal.once("masked", lambda: self._masked(total))
        yield "waiting for the decryption server"
        with latest() as total:
            kept, reply = self._exchanged(total)
        self._submissions = int(kept["submissions"][0])
        self.plan = plan(self.plan.method, self.plan.epsilon, self.terms, self._submissions)
        if not self.plan.partitioned:
            self._noisy = self._block_tree(kept["masks"], reply)
            return
        yield "comparing neighbouring bins on ciphertexts"
        blind = self._journal.once("blinded", lambda: self._blinded(kept, reply))
        pair = self._journal.once("compared", lambda: self._compared(blind))
        yield "opening which bins are merged"
        both = self._journal.once("both", lambda: self._both(kept, blind, pair))
        opened = self._journal.once("opened", lambda: self._opened(both["message"]))
        self._noisy = self._sums(kept["masks"], opened)

    def publish(self) -> str:
        """Keep the histogram, and forget all that led to it."""
        if self._noisy is None:
            raise DPError("this release is not finished")
        text = publication.histogram(self.plan, self.terms, self._submissions, *self._noisy).to_json()
        with self._db.writing() as db:
            db.execute("INSERT INTO published (release, body) VALUES (?, ?)", (self.name, text))
            db.execute(FORGET, (self.name,))
        self._db.empty_log()
        return text

    def _noise(self, step: str, scale: float, n: int) -> Whole:
        """This server's noise of a step, drawn once: the ledger knows the mark that was drawn with it."""

        def drawn() -> Arrays:
            return {"noise": np.array(self._draw(scale, n), dtype=np.int64), "mark": _bytes(secrets.token_bytes(16))}

        made = self._journal.once(step, drawn)
        self._spending.note(self.name, step, made["mark"].tobytes().hex())
        return made["noise"]

    def _exchanged(self, total: Sum) -> tuple[Arrays, Arrays]:
        """The masked sum, and what the decryption server answered to it.

        If records were added since it was masked, and the decryption server has not answered yet, it is masked anew.
        """
        kept = self._journal.once("masked", lambda: self._masked(total))
        try:
            return kept, self._journal.once("shared", lambda: self._shared(kept))
        except RecordsMoved:
            if bytes(kept["chain"]) == total.chain:
                raise DPError(
                    "the two servers do not hold the same records: one of them runs on an old copy of its state",
                    do="put the newest state.sqlite of both servers back",
                ) from None
        self._journal.redo("masked")
        return self._exchanged(total)

    def _masked(self, total: Sum) -> Arrays:
        """One mask for each bin, uniform modulo P."""
        masks = uniform(P, self.plan.bins)
        return {
            "masks": masks, "message": (total.values + masks) % P, "submissions": np.array([total.submissions]),
            "chain": _bytes(total.chain),
        }  # fmt: skip

    def _shared(self, kept: Arrays) -> Arrays:
        request = pb.ShareRequest(
            release=self.name, method=self.plan.method, epsilon=str(self.plan.epsilon),
            masked=kept["message"].astype("<u4").tobytes(), chain=kept["chain"].tobytes(),
        )  # fmt: skip
        reply = self._peer.call("Share", request, pb.ShareReply)
        if self.plan.partitioned:
            return {f"bits{i:02}": _bytes(each) for i, each in enumerate(reply.bits)}
        return {"leaves": np.array(reply.leaves, dtype=np.int64), "blocks": np.array(reply.blocks, dtype=np.int64)}

    # -- block_tree

    def _block_tree(self, masks: Whole, reply: Arrays) -> tuple[Whole, ...]:
        """What was answered, for each size of sums, without the masks and with this server's noise."""
        hidden = [block_sums(masks, size) for size in self.plan.sizes]
        answered = np.concatenate([reply["leaves"], reply["blocks"]])
        if len(reply["leaves"]) != len(masks) or len(answered) != sum(map(len, hidden)):
            raise DPError("the decryption server answered for another histogram")
        # This noise is added before numbers are reduced modulo P. After it, a decryption server that shifts a count to
        # the edge of the range would see, free of noise, on which side it falls.
        rows = np.split(answered, np.cumsum([len(row) for row in hidden])[:-1])
        steps = zip(NOISE_STEPS[: len(rows)], self.plan.scales, rows, hidden, strict=True)
        return tuple(centred(row - mask + self._noise(step, scale, len(row))) for step, scale, row, mask in steps)

    # -- partition

    def _share(self, masks: Whole) -> Whole:
        """This server's share of both tests: v = Y - share for v = ±(d + noise) - threshold."""
        # As with the decryption server's share: both tests stand on the same noise, with opposite signs.
        d = np.diff(masks) - self._noise("first", self.plan.scales[0], len(masks) - 1)
        return np.concatenate([d, -d]) + self.plan.threshold

    def _blinded(self, kept: Arrays, reply: Arrays) -> Arrays:
        blinding = compare.Blinding()
        received = [reply[name].tobytes() for name in sorted(reply)]
        rows = compare.blinded(self._public, received, self._share(kept["masks"]) % P, blinding)
        return {"coins": blinding.coins, "rows": np.array([_bytes(row) for row in rows])}

    def _compared(self, blind: Arrays) -> Arrays:
        request = pb.CompareRequest(release=self.name, rows=[row.tobytes() for row in blind["rows"]])
        reply = self._peer.call("Compare", request, pb.CompareReply)
        return {f"pair{i}": _bytes(each) for i, each in enumerate(reply.shares)}

    def _both(self, kept: Arrays, blind: Arrays, pair: Arrays) -> Arrays:
        share = self._share(kept["masks"]) % P
        signs = compare.sign_share(blind["coins"], share)
        half = len(share) // 2
        received = [pair[name].tobytes() for name in sorted(pair)]
        return {"message": _bytes(compare.both(self._public, received, signs[:half], signs[half:]))}

    def _opened(self, message: Whole) -> Arrays:
        reply = self._peer.call("Open", pb.OpenRequest(release=self.name, both=message.tobytes()), pb.OpenReply)
        return {"merges": _bytes(reply.merges), "sums": np.array(reply.sums, dtype=np.int64)}

    def _sums(self, masks: Whole, opened: Arrays) -> tuple[Whole, Whole]:
        merges = opened["merges"].astype(np.int64)
        if len(merges) != len(masks) - 1:
            raise DPError("the decryption server answered for another histogram")
        hidden = np.add.reduceat(masks, bucket_starts(merges))
        if opened["sums"].shape != hidden.shape:
            raise DPError("the decryption server answered for other buckets")
        return merges, centred(opened["sums"] - hidden + self._noise("second", self.plan.scales[1], len(hidden)))


def _bytes(raw: bytes) -> Whole:
    return np.frombuffer(raw, dtype=np.uint8)
