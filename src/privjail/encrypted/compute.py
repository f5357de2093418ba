"""The compute server: adds up encrypted records, and publishes with the decryption server's help."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted import keys, onehot
from privjail.encrypted.journal import Database
from privjail.encrypted.numbers import DEGREE, MOST_RECORDS, P, Words, uniform
from privjail.encrypted.plans import plan
from privjail.encrypted.records import RecordError, Sum, fingerprint, read_record
from privjail.encrypted.release import Release
from privjail.encrypted.seal import Public, slots
from privjail.encrypted.spending import Spending
from privjail.encrypted.study import Offer, Study
from privjail.encrypted.wire import Call, Caller, Running, serve
from privjail.errors import DPError, PlanError, RefusedError
from privjail.histograms.laws import Draw
from privjail.mechanisms.noise import Noise

LARGEST_BATCH = 512


class Computer:
    """Everything the compute server does; its state lives in one folder."""

    def __init__(self, folder: Path, draw: Draw | None = None) -> None:
        self.offer, self.study = Offer.load(folder / "offer.json"), Study.load(folder / "study.json")
        self.terms = self.offer.terms
        self._tickets = keys.Tickets(folder)
        self._draw: Draw = draw or Noise().laplace
        self._db = Database(folder / "state.sqlite")
        self._spending = Spending(folder, self.terms.budget)
        self._slots = Public(slots(), self.offer.slots_key)
        self._peer = Caller("Decrypt", self.offer.decrypt, keys.pair(folder))
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._sum = self._read_sum()

    def _read_sum(self) -> Sum:
        found = self._db.rows("SELECT words, submissions FROM total")
        if not found:
            return Sum.empty(self.terms.bins)
        return Sum(self.terms.bins, np.frombuffer(found[0][0], dtype="<u8").astype(np.uint64), found[0][1])

    def close(self) -> None:
        self._peer.close()
        self._spending.close()
        self._db.close()

    def calls(self) -> dict[str, Call]:
        return {
            "Missing": Call(pb.MissingRequest, self.missing),
            "Submit": Call(pb.SubmitRequest, self.submit),
            "Publish": Call(pb.PublishRequest, self.publish, parts=True),
            "Histogram": Call(pb.HistogramRequest, self.histogram),
            "Status": Call(pb.StatusRequest, self.status),
        }

    # -- submissions

    def _owner(self, owner: Any) -> None:
        if not self._tickets.is_owner(owner.name, owner.ticket):
            raise RecordError("the ticket is not this owner's")

    def _this_study(self, study: bytes) -> None:
        if study != self.study.id:
            raise PlanError("this is for another study", do="use the newest study file")

    def missing(self, request: Any) -> Any:
        """Whose record is not there yet. Asked by owners before they encrypt, so that a stopped run goes on."""
        self._this_study(request.study)
        for owner in request.owners:
            self._owner(owner)
        return pb.MissingReply(missing=[not self._known(owner.name) for owner in request.owners])

    def _known(self, name: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM owners WHERE name = ?", name))

    def submit(self, request: Any) -> Any:
        """Take a batch: what is wrong is refused one by one, the rest is added and kept before this returns."""
        self._this_study(request.study)
        if request.key != self.study.key:
            raise PlanError("these records are encrypted with another key", do="use the newest study file")
        if len(request.submissions) > LARGEST_BATCH:
            raise PlanError(f"a batch has at most {LARGEST_BATCH} records")
        with self._lock:
            results, good = self._sorted_out(request.submissions)
            passed = self._checked([words for _, _, _, words in good])
            self._keep(good, passed, results)
        return pb.SubmitReply(results=results)

    def _sorted_out(self, submissions: Any) -> tuple[list[Any], list[tuple[int, str, bytes, Words]]]:
        """One result for each submission, and those that can be records: place, owner, fingerprint, words."""
        results: list[Any] = []
        good: list[tuple[int, str, bytes, Words]] = []
        seen: set[Any] = set()
        for place, each in enumerate(submissions):
            name, mark = each.owner.name, fingerprint(each.record)
            try:
                self._owner(each.owner)
                if name in seen or self._known(name):
                    results.append(pb.Result(status="known", why="this owner's record was taken before, and counts once"))
                    continue
                if mark in seen or self._db.rows("SELECT 1 FROM owners WHERE fingerprint = ?", mark):
                    raise RecordError("this ciphertext was submitted before: a copy of another's record is no record")
                good.append((place, name, mark, read_record(each.record, self.terms.bins)))
                results.append(pb.Result(status="kept"))
                seen |= {name, mark}
            except RecordError as e:
                results.append(pb.Result(status="refused", why=e.what))
        if self._sum.submissions + len(good) > MOST_RECORDS:
            raise RefusedError(f"a study has at most {MOST_RECORDS} records")
        return results, good

    def _keep(self, good: list[tuple[int, str, bytes, Words]], passed: list[bool], results: list[Any]) -> None:
        """Owners and the new sum, in one transaction: a record counts iff its owner is known."""
        total = self._sum.plus([words for (*_, words), ok in zip(good, passed, strict=True) if ok])
        with self._db.writing() as db:
            db.executemany(
                "INSERT INTO owners VALUES (?, ?, ?)",
                [(name, mark, int(ok)) for (_, name, mark, _), ok in zip(good, passed, strict=True)],
            )
            row = (total.words.astype("<u8").tobytes(), total.submissions)
            db.execute("INSERT OR REPLACE INTO total VALUES (0, ?, ?)", row)
        self._sum = total
        for (place, *_), ok in zip(good, passed, strict=True):
            if not ok:
                results[place] = pb.Result(
                    status="refused", why="this is not one record in one bin, or not encrypted with the study's key"
                )

    def _checked(self, words: list[Words]) -> list[bool]:
        """Which records are one unit or nothing, found out together with the decryption server."""
        if not words or not self.terms.check:
            return [True] * len(words)
        for last in (False, True):
            try:
                return self._check(np.array(words))
            except DPError as e:
                if last or "not known here" not in e.what:
                    raise
        return []

    def _check(self, words: Words) -> list[bool]:
        from privjail.encrypted.records import pack

        name, bins = uniform(256, 16).astype(np.uint8).tobytes(), self.terms.bins
        c1 = [pack(each[:DEGREE]) for each in words]
        seed = self._peer.call("Check", pb.CheckRequest(check=name, c1=c1), pb.CheckReply, patience=2.0).seed
        masks = uniform(P, len(words), 4)
        halves = onehot.masked_halves(words[:, DEGREE : DEGREE + bins], seed, bins, masks)
        request = pb.HalvesRequest(check=name, halves=[x for row in halves for x in row])
        shares = self._peer.call("Halves", request, pb.HalvesReply).shares
        tested = onehot.tested(self._slots, list(shares), masks)
        reply = self._peer.call("Verdict", pb.VerdictRequest(check=name, tested=tested), pb.VerdictReply)
        if len(reply.passed) != len(words):
            raise DPError("the decryption server answered for other records")
        return list(reply.passed)

    # -- releases

    def _operator(self, ticket: bytes) -> None:
        if not self._tickets.is_operator(ticket):
            raise RefusedError("only the study's operator may do this", do="use the operator's ticket")

    def publish(self, request: Any) -> Iterator[Any]:
        """Make a release, or go on with one that was interrupted. Tells how far it is."""
        self._operator(request.ticket)
        if not 0 < len(request.release) <= 100:
            raise PlanError("a release needs a name of at most 100 characters")
        made = plan(request.method, request.epsilon, self.terms)
        with self._publishing:
            self._spending.charge(request.release, made)
            done = self._published(request.release)
            if done is None:
                release = Release(request.release, made, self.terms, self._db, self._peer, self._slots, self._draw)
                with self._lock:
                    total = self._sum
                for step, doing in enumerate(release.run(total)):
                    yield pb.Progress(done=step, of=release.steps, doing=doing)
                done = release.publish()
            yield pb.Progress(done=1, of=1, doing="published", histogram=done)

    def _published(self, release: str) -> str | None:
        found = self._db.rows("SELECT body FROM published WHERE release = ?", release)
        return found[0][0] if found else None

    def histogram(self, request: Any) -> Any:
        """A published histogram: public, so anybody may have it."""
        query = "SELECT release, body FROM published WHERE ? IN ('', release) ORDER BY seq DESC LIMIT 1"
        found = self._db.rows(query, request.release)
        if not found:
            raise PlanError("nothing of this name was published", do="ask the study's operator")
        return pb.HistogramReply(release=found[0][0], histogram=found[0][1])

    def status(self, request: Any) -> Any:
        self._operator(request.ticket)
        return pb.StatusReply(
            submissions=self._sum.submissions,
            refused=self._db.rows("SELECT count(*) FROM owners WHERE kept = 0")[0][0],
            spent=str(self._spending.spent),
            budget=str(self._spending.budget),
            releases=[name for (name,) in self._db.rows("SELECT release FROM published ORDER BY seq")],
        )


def start(folder: Path, listen: str | None = None, draw: Draw | None = None) -> Running:
    """Serve owners, the operator and analysts."""
    pair = keys.pair(folder)
    computer = Computer(folder, draw)
    address = listen or computer.study.compute.address
    return serve("Compute", computer.calls(), address, pair, None, computer.close)
