"""The compute server: adds up encrypted records, and publishes with the decryption server's help."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted import keys, onehot
from privjail.encrypted.journal import Database, Journal
from privjail.encrypted.lock import Lock
from privjail.encrypted.numbers import MOST_RECORDS, P, uniform
from privjail.encrypted.plans import plan
from privjail.encrypted.records import Batch, RecordError, Sum
from privjail.encrypted.release import Release
from privjail.encrypted.seal import Public, slots
from privjail.encrypted.spending import Spending
from privjail.encrypted.study import Offer, Study
from privjail.encrypted.wire import Call, Caller, CheckLost, Running, serve, with_bytes
from privjail.errors import DPError, PlanError, RefusedError
from privjail.histograms.laws import Draw
from privjail.mechanisms.noise import Noise

LARGEST_BATCH = 512


@dataclass
class _Candidate:
    """A submission that may become a record."""

    place: int
    owner: str
    mark: bytes
    passed: bool = True


class Computer:
    """Everything the compute server does; its state lives in one folder."""

    def __init__(self, folder: Path, draw: Draw | None = None) -> None:
        self.offer, self.study = Offer.load(folder / "offer.json"), Study.load(folder / "study.json")
        self.terms = self.offer.terms
        self._tickets = keys.Tickets(folder)
        self._only = Lock(folder)
        self._draw: Draw = draw or Noise().laplace
        self._db = Database(folder / "state.sqlite")
        self._spending = Spending(folder, self.terms.budget)
        self._slots = Public(slots(), self.offer.slots_key)
        self._peer = Caller("Decrypt", self.offer.decrypt, keys.pair(folder))
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._sum, self._seconds = self._read_sum(), 0.0
        self._batch = Batch(self.terms.bins, LARGEST_BATCH)
        slots().warm()

    def _read_sum(self) -> Sum:
        found = self._db.rows("SELECT words, submissions FROM total")
        if not found:
            return Sum.empty(self.terms.bins)
        return Sum(self.terms.bins, np.frombuffer(found[0][0], dtype="<u8").astype(np.uint64), found[0][1])

    def close(self) -> None:
        self._peer.close()
        self._spending.close()
        self._db.close()
        self._only.close()

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
        """Whose record is not there yet. Asked by owners before they encrypt, so that a stopped run goes on.

        A wrong ticket learns nothing, and is refused with a reason when the record comes; so is who was refused before.
        """
        self._this_study(request.study)
        if len(request.owners) > LARGEST_BATCH:
            raise PlanError(f"a batch has at most {LARGEST_BATCH} records")
        names = [owner.name for owner in request.owners if self._tickets.is_owner(owner.name, owner.ticket)]
        there = self._known("name", names) - self._refused(names)
        return pb.MissingReply(missing=[owner.name not in there for owner in request.owners])

    def _known(self, column: str, values: list[Any]) -> set[Any]:
        """Those of these names, or fingerprints, that are there already."""
        places = ", ".join("?" * len(values))
        return {x for (x,) in self._db.rows(f"SELECT {column} FROM owners WHERE {column} IN ({places})", *values)}

    def _refused(self, names: list[str]) -> set[str]:
        """Those of these owners whose record failed the check."""
        places = ", ".join("?" * len(names))
        return {x for (x,) in self._db.rows(f"SELECT name FROM owners WHERE kept = 0 AND name IN ({places})", *names)}

    def submit(self, request: Any) -> Any:
        """Take a batch: what is wrong is refused one by one, the rest is added and kept before this returns."""
        self._this_study(request.study)
        if request.key != self.study.key:
            raise PlanError("these records are encrypted with another key", do="use the newest study file")
        if len(request.submissions) > LARGEST_BATCH:
            raise PlanError(f"a batch has at most {LARGEST_BATCH} records")
        begun = time.thread_time()
        with self._lock:
            results, candidates = self._sorted_out(request.submissions)
            self._check(candidates)
            self._keep(candidates)
            self._seconds += time.thread_time() - begun
        for each in candidates:
            if not each.passed:
                why = "this is not one record in one bin, or not encrypted with the study's key"
                results[each.place] = pb.Result(status="refused", why=why)
        return pb.SubmitReply(results=results)

    def _sorted_out(self, submissions: Any) -> tuple[list[Any], list[_Candidate]]:
        """One result for each submission, and those that can be records."""
        results: list[Any] = []
        found: list[_Candidate] = []
        wrong = self._batch.read(each.record for each in submissions)
        prints = [self._batch.fingerprint(place) for place in range(len(wrong))]
        names = [each.owner.name for each in submissions]
        refused = self._refused(names)
        seen = self._known("name", names) | self._known("fingerprint", prints)
        for place, (each, mark) in enumerate(zip(submissions, prints, strict=True)):
            name = each.owner.name
            try:
                self._owner(each.owner)
                if name in refused:
                    raise RecordError("this owner's record was refused before, and each owner has one try")
                if name in seen:
                    why = "this owner's record was taken before, and counts once"
                    results.append(pb.Result(status="known", why=why))
                    continue
                if wrong[place]:
                    raise RecordError(wrong[place])
                if mark in seen:
                    raise RecordError("this ciphertext was submitted before: a copy of another's record is no record")
                found.append(_Candidate(place, name, mark))
                results.append(pb.Result(status="kept"))
                seen.update((name, mark))
            except RecordError as e:
                results.append(pb.Result(status="refused", why=e.what))
        if self._sum.submissions + len(found) > MOST_RECORDS:
            raise RefusedError(f"a study has at most {MOST_RECORDS} records")
        return results, found

    def _keep(self, candidates: list[_Candidate]) -> None:
        """Owners and the new sum, in one transaction: a record counts iff its owner is known."""
        total = self._sum.plus(*self._batch.rows([each.place for each in candidates if each.passed]))
        with self._db.writing() as db:
            rows = [(each.owner, each.mark, int(each.passed)) for each in candidates]
            db.executemany("INSERT INTO owners VALUES (?, ?, ?)", rows)
            row = (total.words.astype("<u8").tobytes(), total.submissions)
            db.execute("INSERT OR REPLACE INTO total VALUES (0, ?, ?)", row)
        self._sum = total

    def _check(self, candidates: list[_Candidate]) -> None:
        """Which records are one unit or nothing, found out together with the decryption server."""
        if not candidates or not self.terms.check:
            return
        places = [each.place for each in candidates]
        try:
            passed = self._asked(places)
        except CheckLost:
            passed = self._asked(places)  # the decryption server was restarted in between
        if len(passed) != len(candidates):
            raise DPError("the decryption server answered for other records")
        for each, ok in zip(candidates, passed, strict=True):
            each.passed = ok

    def _asked(self, places: list[int]) -> list[bool]:
        """All records are tested at once; only if that fails, each by itself."""
        name, bins = uniform(256, 16).astype(np.uint8).tobytes(), self.terms.bins
        request = with_bytes(pb.CheckRequest(check=name), "c1", self._batch.c1(places))
        seed = self._peer.call("Check", request, pb.CheckReply, patience=2.0).seed
        masks = uniform(P, len(places), 4)
        halves = onehot.masked_halves(self._batch.rows(places)[1], seed, bins, masks)
        numbers = pb.HalvesRequest(check=name, halves=halves.ravel().tolist())
        shares = self._peer.call("Halves", numbers, pb.HalvesReply).shares
        if len(shares) != 1:
            raise DPError(f"a check has 1 ciphertext, not {len(shares)}")
        tested = pb.VerdictRequest(check=name, tested=onehot.tested_batch(self._slots, shares[0], masks))
        if self._peer.call("Verdict", tested, pb.VerdictReply).passed:
            return [True] * len(places)
        shares = self._peer.call("Each", pb.EachRequest(check=name), pb.HalvesReply).shares
        tested = pb.VerdictRequest(check=name, tested=onehot.tested(self._slots, list(shares), masks))
        return list(self._peer.call("Verdicts", tested, pb.VerdictsReply).passed)

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
            self._spending.charge(request.release, made, Journal(self._db, request.release).mark())
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
            seconds=self._seconds,
        )


def start(folder: Path, listen: str | None = None, draw: Draw | None = None) -> Running:
    """Serve owners, the operator and analysts."""
    pair = keys.pair(folder)
    computer = Computer(folder, draw)
    address = listen or computer.study.compute.address
    return serve("Compute", computer.calls(), address, pair, None, computer.close)
