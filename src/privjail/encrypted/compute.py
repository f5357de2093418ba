"""The compute server: adds up encrypted records, and publishes with the decryption server's help."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted import keys, onehot
from privjail.encrypted.clock import now
from privjail.encrypted.journal import Database, Journal
from privjail.encrypted.lock import Lock
from privjail.encrypted.numbers import MOST_RECORDS, P, Whole
from privjail.encrypted.plans import plan
from privjail.encrypted.records import (
    ANSWER_BYTES,
    OUT_OF_RANGE,
    Rows,
    Sketched,
    Sum,
    name_of,
    rows_of,
    size_of,
    sketched,
    values_of,
    wrong_size,
)
from privjail.encrypted.release import Release
from privjail.encrypted.seal import Public, slots
from privjail.encrypted.spending import Spending, opened_account
from privjail.encrypted.study import Offer, Study
from privjail.encrypted.tally import read_sum, write_sum
from privjail.encrypted.wire import Call, Caller, CheckLost, Running, serve
from privjail.errors import DPError, PlanError, RefusedError
from privjail.histograms.laws import Draw
from privjail.mechanisms.noise import Noise

LARGEST_BATCH = 512


def _refused(why: str) -> Any:
    return pb.Result(status="refused", why=why)


KEPT = pb.Result(status="kept")
KNOWN = pb.Result(status="known", why="this owner's record was taken before, and counts once")
REFUSED_BEFORE = _refused("this owner's record was refused before, and each owner has one try")
COPY = _refused("this record was submitted before: a copy of another's record is no record")
NOT_ONE = "this is not one record in one bin, or not encrypted for the study"


@dataclass(slots=True)
class _Candidate:
    """A submission that may become a record."""

    place: int
    owner: str
    mark: bytes
    record: memoryview
    whole: bool = True  # else it is no ciphertext, and the owner may try again
    why: str = ""  # it is refused
    again: tuple[int, ...] = ()  # places of the same owner's or ciphertext's later in the batch


class Computer:
    """Everything the compute server does; its state lives in one folder."""

    def __init__(self, folder: Path, draw: Draw | None = None) -> None:
        self.offer, self.study = Offer.load(folder / "offer.json"), Study.load(folder / "study.json")
        self.terms = self.offer.terms
        self._tickets = keys.Tickets(folder)
        self._only = Lock(folder)
        self._draw: Draw = draw or Noise().laplace
        self._db = Database(folder / "state.sqlite")
        self._spending = Spending(folder, self.terms.budget, opened_account(folder, self.offer.id))
        self._slots = Public(slots(), self.offer.slots_key)
        self._peer = Caller("Decrypt", self.offer.decrypt, keys.pair(folder))
        self._lock, self._publishing = threading.Lock(), threading.Lock()
        self._sum, self._seconds = read_sum(self._db, self.terms.bins), 0.0
        slots().warm()

    def close(self) -> None:
        self._peer.close()
        self._spending.close()
        self._db.close()
        self._only.close()

    def calls(self) -> dict[str, Call]:
        return {
            "Missing": Call(pb.MissingRequest, self.missing),
            "Submit": Call(pb.SubmitRequest, self.submit, framed=True),
            "Publish": Call(pb.PublishRequest, self.publish, parts=True),
            "Histogram": Call(pb.HistogramRequest, self.histogram),
            "Status": Call(pb.StatusRequest, self.status),
        }

    # -- submissions

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
        known = self._names(names)
        return pb.MissingReply(missing=[not known.get(owner.name, False) for owner in request.owners])

    def _names(self, names: list[str]) -> dict[str, bool]:
        """Which of these owners are known, and whether their record was kept."""
        places = ", ".join("?" * len(names))
        rows = self._db.rows(f"SELECT name, kept FROM owners WHERE name IN ({places})", *names)
        return {name: bool(kept) for name, kept in rows}

    def _marks(self, marks: list[bytes]) -> set[bytes]:
        """Those of these fingerprints that are there already."""
        places = ", ".join("?" * len(marks))
        rows = self._db.rows(f"SELECT fingerprint FROM owners WHERE fingerprint IN ({places})", *marks)
        return {mark for (mark,) in rows}

    def submit(self, request: Any, behind: memoryview) -> Any:
        """Take a batch: what is wrong is refused one by one, the rest is added and kept before this returns."""
        self._this_study(request.study)
        self.terms.taking(now())
        if request.key != self.study.key:
            raise PlanError("these records are encrypted with another key", do="use the newest study file")
        if len(request.owners) > LARGEST_BATCH:
            raise PlanError(f"a batch has at most {LARGEST_BATCH} records")
        if len(request.sizes) != len(request.owners) or sum(request.sizes) != len(behind):
            raise PlanError("the batch is cut off")
        begun = time.thread_time()
        with self._lock:
            results, candidates = self._sorted_out(request, behind)
            self._keep(candidates, *self._checked(candidates, behind))
            for each in candidates:
                if each.why:
                    results[each.place] = _refused(each.why)
                    for place in each.again:
                        why = f"the first of this owner or ciphertext in the batch was refused: {each.why}"
                        results[place] = _refused(why)
            self._seconds += time.thread_time() - begun
        return pb.SubmitReply(results=results)

    def _sorted_out(self, request: Any, behind: memoryview) -> tuple[list[Any], list[_Candidate]]:
        """One result for each submission, and those that can be records."""
        results: list[Any] = [KEPT] * len(request.owners)
        found: list[_Candidate] = []
        owners = [(owner.name, owner.ticket) for owner in request.owners]
        records = [behind[end - size : end] for size, end in zip(request.sizes, accumulate(request.sizes), strict=True)]
        marks = [name_of(record, self.terms.bins) for record in records]
        known, seen, size = self._names([name for name, _ in owners]), self._marks(marks), size_of(self.terms.bins)
        first: dict[str | bytes, _Candidate] = {}
        for place, ((name, ticket), record, mark) in enumerate(zip(owners, records, marks, strict=True)):
            if not self._tickets.is_owner(name, ticket):
                results[place] = _refused("the ticket is not this owner's")
            elif name in known:
                if name in first:
                    first[name].again += (place,)
                results[place] = KNOWN if known[name] else REFUSED_BEFORE
            elif len(record) != size:
                results[place] = _refused(wrong_size(record, self.terms.bins))
            elif mark in seen:
                if mark in first:
                    first[mark].again += (place,)
                results[place] = COPY
            else:
                found.append(_Candidate(place, name, mark, record))
                first[name] = first[mark] = found[-1]
                known[name] = True
                seen.add(mark)
        if self._sum.submissions + len(found) > MOST_RECORDS:
            raise RefusedError(f"a study has at most {MOST_RECORDS} records")
        return results, found

    def _keep(self, candidates: list[_Candidate], added: Whole, batch: bytes) -> None:
        """Owners and the new sum, in one transaction: a record counts iff its owner is known."""
        n = sum(not each.why for each in candidates)
        total = self._sum.plus(added, n, batch) if n else self._sum
        with self._db.writing() as db:
            rows = [(each.owner, each.mark, int(not each.why)) for each in candidates if each.whole]
            db.executemany("INSERT INTO owners VALUES (?, ?, ?)", rows)
            if n:
                db.execute("INSERT INTO unconfirmed (batch) VALUES (?)", (batch,))
                write_sum(db, total)
        self._sum = total

    def _checked(self, candidates: list[_Candidate], behind: memoryview) -> tuple[Whole, bytes]:
        """The sum of the records that are one unit or nothing, and the batch that the decryption server noted."""
        bins = self.terms.bins
        same = len(candidates) * size_of(bins) == len(behind)  # nobody was refused: nothing needs to be copied
        rows = rows_of(behind if same else b"".join(each.record for each in candidates), bins)
        left = list(range(len(candidates)))
        while left:
            found, total, inside = sketched(rows[left], bins, self.study.id)
            if inside.all():
                break
            for place, ok in zip(left, inside, strict=True):
                if not ok:
                    candidates[place].why, candidates[place].whole = OUT_OF_RANGE, False
            left = [place for place in left if not candidates[place].why]
        if not left:
            return np.zeros(bins, dtype=np.int64), b""
        passed, batch = self._asked(found)
        for place, ok in zip(left, passed, strict=True):
            if not ok:
                candidates[place].why = NOT_ONE
        if not all(passed):
            refused = values_of(rows[[place for place in left if candidates[place].why]], bins)
            total = (total - refused.sum(axis=0, dtype=np.int64)) % P
        return total, batch

    def _asked(self, found: Sketched) -> tuple[list[bool], bytes]:
        """Which records passed, and the batch: the decryption server has noted those that did."""
        check = pb.CheckRequest(
            names=b"".join(proof.name for proof in found.proofs), parts=b"".join(found.parts),
            openings=onehot.spelled(found.opened).tobytes(),
            envelopes=b"".join(proof.envelope for proof in found.proofs), offer=self.offer.digest,
        )  # fmt: skip
        batch = hashlib.sha256(check.SerializeToString(deterministic=True)).digest()
        for last in (False, True):
            reply = self._peer.call("Check", check, pb.CheckReply, patience=2.0)
            passed = self._passed(found, reply)
            if not any(passed):
                return passed, b""
            try:
                self._confirmed(batch, passed)
                return passed, batch
            except CheckLost:  # the decryption server was restarted in between
                if last:
                    raise
        raise DPError("the decryption server does not note records")

    @staticmethod
    def _passed(found: Sketched, reply: Any) -> list[bool]:
        n = len(found.proofs)
        if len(reply.taken) != n or len(reply.answers) != n * ANSWER_BYTES:
            raise DPError("the decryption server answered for other records")
        answers: Rows = np.frombuffer(reply.answers, dtype=np.uint8).reshape(n, ANSWER_BYTES)
        return [bool(taken and ok) for taken, ok in zip(reply.taken, found.passed(answers), strict=True)]

    def _confirmed(self, batch: bytes = b"", kept: list[bool] | None = None) -> None:
        """Tell the decryption server which batches were added here, and which one is to come."""
        waiting = self._db.rows("SELECT seq, batch FROM unconfirmed ORDER BY seq")
        request = pb.KeepRequest(batch=batch, kept=bytes(kept or ()), added=[name for _, name in waiting])
        self._peer.call("Keep", request, pb.KeepReply)
        if waiting:
            with self._db.writing() as db:
                db.execute("DELETE FROM unconfirmed WHERE seq <= ?", (waiting[-1][0],))

    # -- releases

    def _operator(self, ticket: bytes) -> None:
        if not self._tickets.is_operator(ticket):
            raise RefusedError("only the study's operator may do this", do="use the operator's ticket")

    def publish(self, request: Any) -> Iterator[Any]:
        """Make a release, or go on with one that was interrupted. Tells how far it is."""
        self._operator(request.ticket)
        if not 0 < len(request.release) <= 100:
            raise PlanError("a release needs a name of at most 100 characters")
        made = plan(request.method, request.epsilon, self.terms, self._sum.submissions)
        with self._publishing:
            if self._published(request.release) is None:
                self.terms.publishing(now(), self._sum.submissions)
            self._spending.charge(request.release, made, Journal(self._db, request.release).mark())
            done = self._published(request.release)
            if done is None:
                release = Release(
                    request.release, made, self.terms, self._db, self._peer, self._slots, self._draw, self._spending
                )
                for step, doing in enumerate(release.run(self._latest)):
                    yield pb.Progress(done=step, of=release.steps, doing=doing)
                done = release.publish()
            yield pb.Progress(done=1, of=1, doing="published", histogram=done)

    @contextmanager
    def _latest(self) -> Iterator[Sum]:
        """The sum, and the decryption server knows all that is in it. Nothing is added meanwhile."""
        with self._lock:
            if self._db.rows("SELECT 1 FROM unconfirmed LIMIT 1"):
                self._confirmed()
            yield self._sum

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
