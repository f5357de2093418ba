"""The owners' side: encrypt on the owner's machine, submit in batches, go on where a stopped run ended."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.attributes import Attribute, bin_of
from privjail.encrypted.records import Encryptor
from privjail.encrypted.study import Study
from privjail.encrypted.wire import Caller, framed
from privjail.errors import DPError, PlanError

BATCH = 512


@dataclass(frozen=True)
class Record:
    """Whose it is, what proves that, and the bin; None for an owner who takes no part."""

    owner: str
    ticket: bytes
    bin: int | None


@dataclass
class Report:
    """What became of the records."""

    kept: int = 0
    known: int = 0
    refused: dict[str, str] = field(default_factory=dict)  # owner → why


def read_csv(path: Path, tickets: Path | None = None, attributes: tuple[Attribute, ...] = ()) -> Iterator[Record]:
    """Records from a file with the columns owner and bin, and ticket there or in a second file. No bin: absent.

    A study with attributes takes a column for each of them in place of bin; all empty: absent.
    """
    known = {row["owner"]: row["ticket"] for row in _rows(tickets, "owner", "ticket")} if tickets else None
    columns = [each.name for each in attributes] or ["bin"]
    for row in _rows(path, "owner", *columns, *(() if known is not None else ("ticket",))):
        try:
            ticket = bytes.fromhex(known[row["owner"]] if known is not None else row["ticket"])
            texts = {name: row[name].strip() for name in columns}
            if not any(texts.values()):
                yield Record(row["owner"], ticket, None)
            elif attributes:
                yield Record(row["owner"], ticket, bin_of(attributes, texts))
            else:
                yield Record(row["owner"], ticket, int(texts["bin"]))
        except KeyError:
            raise PlanError(f"there is no ticket for {row['owner']!r}") from None
        except PlanError as e:
            do = e.do or "see: privjail encrypted explain"
            raise PlanError(f"the line of {row['owner']!r} holds a label that the study does not have", do=do) from None
        except ValueError:
            do = "bins are whole numbers, tickets are as they were handed out"
            raise PlanError(f"the line of {row['owner']!r} cannot be read", do=do) from None


def _rows(path: Path, *needed: str) -> Iterator[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as f:
            reader = csv.DictReader(f)
            lacking = [name for name in needed if name not in (reader.fieldnames or ())]
            if lacking:
                raise PlanError(f"{path.name!r} has no column {lacking[0]!r}", do=f"it needs: {', '.join(needed)}")
            for row in reader:
                if any(row[name] is None for name in needed):  # who takes no part has an empty bin, not none
                    at = f"line {reader.line_num} of {path.name!r}"
                    raise PlanError(f"{at} is cut off", do=f"it needs: {', '.join(needed)}")
                yield row
    except OSError as e:
        raise PlanError(f"{path.name!r} cannot be read: {e.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise PlanError(f"{path.name!r} is no CSV file in UTF-8") from None


def submission(study: Study, owners: list[tuple[str, bytes]], records: list[bytes]) -> bytes:
    """What is sent: names and tickets, and the records behind them."""
    people = [pb.Owner(name=name, ticket=ticket) for name, ticket in owners]
    sizes = [len(record) for record in records]
    return framed(pb.SubmitRequest(study=study.id, key=study.key, owners=people, sizes=sizes), records)


def _as_many(answers: Any, people: list[Record]) -> None:
    if len(answers) != len(people):
        raise DPError("the compute server answered for other records", do="ask the study's operators")


class Submitter:
    """A connection to the compute server, and the public key."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._encryptor = Encryptor(study.id, study.records_key, study.terms.bins)
        self.caller = Caller("Compute", study.compute)

    def __enter__(self) -> Submitter:
        return self

    def __exit__(self, *_: Any) -> None:
        self.caller.close()

    def submit(
        self, people: Iterable[Record], told: Callable[[int], None] = lambda n: None, batch: int = BATCH
    ) -> Report:
        """Submit all records that are not there yet. The next batch is encrypted while one is on its way."""
        report, waiting = Report(), iter(people)
        with ThreadPoolExecutor(1) as sender:
            under_way: tuple[Future[Any], list[Record]] | None = None
            while chunk := list(islice(waiting, batch)):
                missing = self._missing(chunk)
                report.known += len(chunk) - len(missing)
                request = self._encrypted(missing)
                if under_way is not None:
                    self._take(under_way, report, told)
                under_way = (sender.submit(self.caller.call, "Submit", request, pb.SubmitReply), missing)
                told(len(chunk) - len(missing))
            if under_way is not None:
                self._take(under_way, report, told)
        return report

    def _missing(self, chunk: list[Record]) -> list[Record]:
        owners = [pb.Owner(name=each.owner, ticket=each.ticket) for each in chunk]
        asked = pb.MissingRequest(study=self._study.id, owners=owners)
        reply = self.caller.call("Missing", asked, pb.MissingReply)
        _as_many(reply.missing, chunk)
        return [each for each, missing in zip(chunk, reply.missing, strict=True) if missing]

    def _encrypted(self, people: list[Record]) -> bytes:
        bins = self._study.terms.bins
        if self._study.terms.neighbours == "replace" and any(each.bin is None for each in people):
            raise PlanError("this study does not hide who takes part", do="leave out people who take no part")
        outside = [each.owner for each in people if each.bin is not None and not 0 <= each.bin < bins]
        if outside:
            raise PlanError(f"the record of {outside[0]!r} lies in none of the study's bins", do=f"use 0 … {bins - 1}")
        records = [self._encryptor.record(each.bin) for each in people]
        return submission(self._study, [(each.owner, each.ticket) for each in people], records)

    @staticmethod
    def _take(under_way: tuple[Future[Any], list[Record]], report: Report, told: Callable[[int], None]) -> None:
        future, people = under_way
        results = future.result().results
        _as_many(results, people)
        for each, result in zip(people, results, strict=True):
            if result.status == "kept":
                report.kept += 1
            elif result.status == "known":
                report.known += 1
            else:
                report.refused[each.owner] = result.why
        told(len(people))
