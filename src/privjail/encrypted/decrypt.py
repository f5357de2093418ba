"""The decryption server: holds the keys, sees masked numbers, adds its own noise before anything leaves it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privjail.encrypted import compare, keys, onehot, shares
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.journal import Arrays, Database, Journal
from privjail.encrypted.lock import Lock
from privjail.encrypted.numbers import DEGREE, P, Q, Whole
from privjail.encrypted.plans import Plan, bucket_starts, plan
from privjail.encrypted.records import C1_BYTES
from privjail.encrypted.seal import Secret, records, slots, tests
from privjail.encrypted.spending import Spending
from privjail.encrypted.study import Offer, Study
from privjail.encrypted.wire import PARSED, Call, CheckLost, Running, log, serve
from privjail.errors import DPError, PlanError, RefusedError
from privjail.histograms.laws import Draw
from privjail.histograms.postprocess import block_sums
from privjail.mechanisms.noise import Noise

OPEN_CHECKS = 8  # checks of one-hot records that may be under way
FAILURES = 100  # records that may fail the check: each can tell its owner of the key. Argued in decision 0302


@dataclass
class _Check:
    """A check that is under way; one that a restart interrupts is begun again by the compute server."""

    first: Whole  # D's shares of the two products
    second: Whole
    whole: npt.NDArray[np.bool_]  # records that are near whole numbers


class Decryptor:
    """Answers the compute server. Everything that leaves is encrypted, noisy, or a bit that will be published."""

    def __init__(self, folder: Path, draw: Draw | None = None, failures: int = FAILURES) -> None:
        self.offer = Offer.load(folder / "offer.json")
        self._draw: Draw = draw or Noise().laplace
        self._records = Secret(records(), keys.secret(folder, "records"))
        self._slots = Secret(slots(), keys.secret(folder, "slots"))
        self._test = Secret(tests(), keys.secret(folder, "test"))
        self._only = Lock(folder)
        self._db = Database(folder / "state.sqlite")
        self._spending = Spending(folder, self.offer.terms.budget)
        self._key = onehot.key_vector(self._records)
        slots().warm()
        tests().warm()
        self._mark, self._failures = self.offer.digest, failures
        self._checks: OrderedDict[bytes, _Check] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        self._spending.close()
        self._db.close()
        self._only.close()

    def calls(self) -> dict[str, Call]:
        return {
            "Share": Call(pb.ShareRequest, self.share),
            "Compare": Call(pb.CompareRequest, self.compare, most=4 * PARSED),  # 25 ciphertexts
            "Open": Call(pb.OpenRequest, self.open),
            "Check": Call(pb.CheckRequest, self.check, framed=True),
            "Verdict": Call(pb.VerdictRequest, self.verdict),
            "Each": Call(pb.EachRequest, self.each),
            "Verdicts": Call(pb.VerdictRequest, self.verdicts),
        }

    # -- releases

    def _noise(self, scale: float, n: int) -> Whole:
        return np.array(self._draw(scale, n), dtype=np.int64)

    def share(self, request: Any) -> Any:
        """Decrypt the masked sum; for `ours`, answer with noise on it, for `partition`, with encrypted bits."""
        made = plan(request.method, request.epsilon, self.offer.terms)
        message = np.frombuffer(request.masked, dtype="<u8")
        if message.shape != (DEGREE + made.bins,) or int(message.max()) >= Q:
            raise PlanError("the masked sum is no ciphertext of this study")
        with self._lock:
            journal = Journal(self._db, request.release)
            self._spending.charge(request.release, made, journal.mark())

            def answer() -> tuple[bytes, Arrays]:
                y = shares.opened(self._records, message)
                reply, kept = self._ours(made, y) if made.method == "ours" else self._partition(made, y)
                return reply.SerializeToString(), kept

            body = journal.answer("share", request.SerializeToString(), answer)
            if made.method == "ours":
                journal.forget()
        return pb.ShareReply.FromString(body)

    def _ours(self, made: Plan, y: Whole) -> tuple[Any, Arrays]:
        sums = block_sums(y)
        leaves = (y + self._noise(made.first, made.bins)) % P
        blocks = (sums + self._noise(made.second, len(sums))) % P
        return pb.ShareReply(leaves=leaves.tolist(), blocks=blocks.tolist()), {}

    def _partition(self, made: Plan, y: Whole) -> tuple[Any, Arrays]:
        d, noise = np.diff(y), self._noise(made.first, made.bins - 1)
        share = np.concatenate([d + noise, noise - d]) % P
        bits = compare.encrypted_bits(self._slots, share)
        return pb.ShareReply(bits=bits), {"y": y, "share": share, "scale": np.array([made.second])}

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
        """Open which bins are merged; answer with that and noisy sums of the buckets."""
        journal = Journal(self._db, request.release)

        def answer() -> tuple[bytes, Arrays]:
            kept = journal.read("after share")
            journal.read("after compare")
            merges = compare.decrypted(self._slots, request.both)[: len(kept["y"]) - 1]
            if not np.isin(merges, (0, 1)).all():
                raise DPError("the opened bits are no bits")
            sums = np.add.reduceat(kept["y"], bucket_starts(merges))
            noisy = (sums + self._noise(float(kept["scale"][0]), len(sums))) % P
            reply = pb.OpenReply(merges=merges.astype(np.uint8).tobytes(), sums=noisy.tolist())
            return reply.SerializeToString(), {}

        with self._lock:
            reply = pb.OpenReply.FromString(journal.answer("open", request.SerializeToString(), answer))
            journal.forget()
        return reply

    # -- the check that records are one unit each

    def check(self, request: Any, c1: memoryview) -> Any:
        """Shares of the two products for each record, returned encrypted."""
        if request.offer != self._mark:  # honest records would fail, and never be taken again
            raise DPError(
                "the two servers hold different offers: keys or terms differ",
                do="give the compute server's folder the decryption server's own offer.json",
            )
        self._not_stopped()
        n, rest = divmod(len(c1), C1_BYTES)
        most, rows = onehot.MOST_CHECKED, onehot.ROWS
        if rest or not 0 < n <= most or len(request.halves) != 8 * rows * n:
            raise PlanError(f"a check has 1 … {most} records of this study, and {rows} numbers for each")
        theirs = np.frombuffer(request.halves, dtype="<u8")
        if int(theirs.max()) >= Q:
            raise PlanError("a number of this check is out of range")
        mine = onehot.halves(self._key, c1, request.seed, self.offer.terms.bins)
        begun = _Check(*onehot.rounded(mine, theirs.reshape(-1, rows)))
        with self._lock:
            self._checks[request.check] = begun
            while len(self._checks) > OPEN_CHECKS:
                self._checks.popitem(last=False)
        return pb.CheckReply(shares=[onehot.encrypted_batch(self._test, begun.first, begun.second)])

    def _under_way(self, name: bytes) -> _Check:
        with self._lock:
            found = self._checks.get(name)
        if found is None:
            raise CheckLost("this check is not known here, or no longer")
        return found

    def _over(self, name: bytes) -> None:
        with self._lock:
            self._checks.pop(name, None)

    def _failed(self, check: bytes, n: int) -> None:
        """Count records that failed, before anybody is told; a check that is made again counts once."""
        with self._db.writing() as db:
            into = "INSERT INTO failed VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = max(n, excluded.n)"
            db.execute(into, (check, n))
        log.warning("records that failed the check: %d, of at most %d", self._so_far(), self._failures)
        self._not_stopped()

    def _so_far(self) -> int:
        return int(self._db.rows("SELECT coalesce(sum(n), 0) FROM failed")[0][0])

    def _not_stopped(self) -> None:
        if self._so_far() > self._failures:
            raise RefusedError(
                f"no more records are checked: more than {self._failures} failed, and each may tell of the key",
                do="tell the study's operators: they look who sent them, and start the decryption server with more "
                "--failures, or a study with new keys",
            )

    def verdict(self, request: Any) -> Any:
        """Whether all records passed. If not, the compute server goes on to ask which."""
        whole = self._under_way(request.check).whole
        passed = onehot.passed_batch(self._test, request.tested) and bool(whole.all())
        if passed:
            self._over(request.check)
        else:
            self._failed(request.check, 1)
        return pb.VerdictReply(passed=passed)

    def each(self, request: Any) -> Any:
        """The same shares, in slots of two ciphertexts."""
        found = self._under_way(request.check)
        return pb.CheckReply(shares=onehot.encrypted_shares(self._slots, found.first, found.second))

    def verdicts(self, request: Any) -> Any:
        """Which records passed."""
        whole = self._under_way(request.check).whole
        passed = onehot.passed(self._slots, request.tested, len(whole)) & whole
        self._failed(request.check, len(passed) - int(passed.sum()))
        self._over(request.check)
        return pb.VerdictsReply(passed=passed.tolist())


def start(
    folder: Path, study: Study, listen: str | None = None, draw: Draw | None = None, failures: int = FAILURES
) -> Running:
    """Serve; only the study's compute server may call."""
    pair = keys.pair(folder)
    decryptor = Decryptor(folder, draw, failures)
    if study.terms != decryptor.offer.terms or study.records_key != decryptor.offer.records_key:
        decryptor.close()
        raise PlanError("the study file is not of this server's offer: terms or key differ")
    peer = study.compute.certificate.encode()
    address = listen or decryptor.offer.decrypt.address
    return serve("Decrypt", decryptor.calls(), address, pair, peer, decryptor.close)
