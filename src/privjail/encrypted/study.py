"""What all parties agree on: bins, promise, budget, keys and where the servers are. All of it is public."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail.budget.amounts import amount
from privjail.encrypted.attributes import Attribute, attributes_of, bins_of
from privjail.encrypted.envelope import KEY_BYTES
from privjail.encrypted.numbers import MOST_BINS, MOST_RECORDS
from privjail.errors import PlanError, RefusedError
from privjail.histograms.relation import RELATIONS

KIND = "privjail encrypted study"
FORMAT = f"{KIND} 5"  # of the files, of records, and of what the servers tell each other
AMOUNT = re.compile(r"\d{1,40}(\.\d{0,40})?([eE][+-]?\d{1,2})?|\.\d{1,40}|\d{1,40}/\d{1,40}", re.ASCII)
FINGERPRINT = 32  # hexadecimal digits


def moment(text: str) -> datetime:
    """A point in time with its offset from UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise PlanError(f"{text[:50]!r} is no time with an offset", do="write 2027-01-31T18:00:00+00:00")
    return found


def parse_amount(text: str) -> Fraction:
    """An amount as somebody wrote it. Without limits, Fraction("1e999999999") would not end."""
    try:
        if AMOUNT.fullmatch(text.strip()):
            return Fraction(text.strip())
    except ZeroDivisionError:
        pass
    raise PlanError(f"{text[:100]!r} is no amount", do="write 0.5 or 1/2")


@dataclass(frozen=True)
class Terms:
    """The promise. Both servers hold to it, each by its own ledger and its own clock."""

    bins: int
    neighbours: str
    budget: Fraction
    least: int = 1  # submissions before anything is published
    opens: str = ""  # when records are taken, in ISO 8601 with an offset; empty: from the start
    closes: str = ""  # until when; nothing is published before. Empty: there is no end
    attributes: tuple[Attribute, ...] = ()  # what the bins mean: one bin for each combination of their labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", attributes_of(self.attributes))
        if self.attributes and self.bins != bins_of(self.attributes):
            raise PlanError(f"these attributes have {bins_of(self.attributes)} combinations, not {self.bins}")
        if type(self.least) is not int or not 1 <= self.least <= MOST_RECORDS:
            raise PlanError(f"a study is published with 1 … {MOST_RECORDS} submissions or more")
        if self.opens and self.closes and moment(self.opens) >= moment(self.closes):
            raise PlanError("a study opens before it closes")
        if type(self.bins) is not int or not 2 <= self.bins <= MOST_BINS:
            raise PlanError(f"a study has 2 … {MOST_BINS} bins, not {self.bins}")
        if self.neighbours not in RELATIONS:
            raise PlanError(f"neighbours are {' or '.join(RELATIONS)}, not {self.neighbours!r}")
        object.__setattr__(self, "budget", amount(self.budget, "the budget"))

    @property
    def distance(self) -> int:
        """How far one person moves the counts, in all."""
        return 1 if self.neighbours == "add-remove" else 2

    def taking(self, now: datetime) -> None:
        """Refuse records outside of the collection period."""
        if self.opens and now < moment(self.opens):
            raise RefusedError(f"this study takes records from {self.opens}", do="submit then")
        if self.closes and now >= moment(self.closes):
            raise RefusedError(f"this study took records until {self.closes}", do="ask for the next period's study")

    def publishing(self, now: datetime, submissions: int) -> None:
        """Refuse to publish before the period has ended, or with too few submissions."""
        if self.closes and now < moment(self.closes):
            raise RefusedError(f"this study is published after {self.closes}, when its period ends", do="wait")
        if submissions < self.least:
            raise RefusedError(
                f"this study promised its owners at least {self.least} submissions; there are {submissions}",
                do="collect more",
            )

    @property
    def promise(self) -> str:
        if self.neighbours == "add-remove":
            return (
                "Nobody learns whether you took part, as long as people who do not take part send an encryption of "
                "nothing: the compute server sees who sends."
            )
        return "Nobody learns your value. That you took part is not hidden."


@dataclass(frozen=True)
class Server:
    """Where a server is, and the certificate that it must show."""

    address: str
    certificate: str


@dataclass(frozen=True)
class Offer:
    """What the decryption server publishes: terms, public keys, address."""

    terms: Terms
    records_key: bytes
    slots_key: bytes
    decrypt: Server

    @property
    def id(self) -> bytes:
        """The name of the study."""
        return _id(self.terms, self.records_key)

    @property
    def fingerprint(self) -> str:
        """Of terms and key: a study file with another one does not come from this server."""
        return self.id.hex()[:FINGERPRINT]

    @property
    def digest(self) -> bytes:
        """Of terms and all keys: servers that hold different ones cannot work together."""
        return hashlib.sha256(self.id + hashlib.sha256(self.slots_key).digest()).digest()

    def save(self, path: Path) -> None:
        terms = asdict(self.terms) | {"budget": str(self.terms.budget)}
        keys = {name: _text(getattr(self, name)) for name in ("records_key", "slots_key")}
        _write(path, {"terms": terms, **keys, "decrypt": asdict(self.decrypt)})

    @classmethod
    def load(cls, path: Path) -> Offer:
        found = _read(path)
        try:
            terms = Terms(**found["terms"] | {"budget": parse_amount(found["terms"]["budget"])})
            keys = {name: _bytes(found[name]) for name in ("records_key", "slots_key")}
            return cls(terms, _key(keys["records_key"]), keys["slots_key"], Server(**found["decrypt"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PlanError(f"{path.name!r} is no offer of a decryption server") from None


@dataclass(frozen=True)
class Study:
    """What owners and analysts need: terms, the key to encrypt with, the compute server."""

    terms: Terms
    records_key: bytes
    compute: Server

    @property
    def key(self) -> bytes:
        """The name of the key that records are encrypted with."""
        return hashlib.sha256(self.records_key).digest()

    @property
    def id(self) -> bytes:
        """The name of the study: another promise is another study."""
        return _id(self.terms, self.records_key)

    @property
    def fingerprint(self) -> str:
        """What owners compare with what the decryption server's operator tells them."""
        return self.id.hex()[:FINGERPRINT]

    def save(self, path: Path) -> None:
        terms = asdict(self.terms) | {"budget": str(self.terms.budget)}
        _write(path, {"terms": terms, "records_key": _text(self.records_key), "compute": asdict(self.compute)})

    @classmethod
    def load(cls, path: Path) -> Study:
        found = _read(path)
        try:
            terms = Terms(**found["terms"] | {"budget": parse_amount(found["terms"]["budget"])})
            return cls(terms, _key(_bytes(found["records_key"])), Server(**found["compute"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise PlanError(f"{path.name!r} is no study") from None


def _id(terms: Terms, records_key: bytes) -> bytes:
    spelled = json.dumps({"format": FORMAT, **asdict(terms)}, sort_keys=True, default=str)
    return hashlib.sha256(spelled.encode() + hashlib.sha256(records_key).digest()).digest()


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _key(raw: bytes) -> bytes:
    if len(raw) != KEY_BYTES:
        raise ValueError
    return raw


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps({"format": FORMAT, **content}, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise PlanError(f"{path.name!r} cannot be read: {e.strerror}") from None
    except ValueError:
        raise PlanError(f"{path.name!r} is no JSON file") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise PlanError(f"{path.name!r} is not of the format {FORMAT!r}", do="use the same privjail as the others")
    return found
