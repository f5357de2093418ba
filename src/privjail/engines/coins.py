"""The coins of random samples: one number of 32 bits for each row of a data set and each sample.

The numbers are a keyed pseudo-random function of the sample's name and the row's position. The key is 128 bits of the
operating system's randomness, drawn when a data set is held, and is kept in memory only: nobody who asks can predict
a coin, the same sample is the same rows while the data is held, and nothing about it must be stored. Rows that are
held anew get new coins. So does every engine that is made by itself: the coins of made-up rows say nothing of real
ones. A sample that was drawn twice is charged as one whose coins are the same, which is never less."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from privjail.ops.rows.sample import BITS, Sample

if TYPE_CHECKING:
    from privjail.plan.rows import Rows

HEX = BITS // 4  # digits of one number
PER_DIGEST = 256 // BITS


class Coins:
    """Draws for the samples of some data sets. Sessions of one jail share it."""

    def __init__(self) -> None:
        self._keys: WeakKeyDictionary[Rows, bytes] = WeakKeyDictionary()

    def renew(self, source: Rows) -> None:
        """New coins for a data set whose rows are held anew."""
        self._keys[source] = secrets.token_bytes(16)

    def _key(self, sample: Sample) -> str:
        key = self._keys.get(sample.source) or self._keys.setdefault(sample.source, secrets.token_bytes(16))
        return hmac.digest(key, sample.name.encode(), "sha256")[:16].hex()

    def numbers(self, sample: Sample, size: int) -> bytes:
        """The numbers of the first rows, of four bytes each, the highest first; there may be some more."""
        start = self._key(sample) + ":"
        return b"".join([sha256(f"{start}{i}".encode()).digest() for i in range(-(-size // PER_DIGEST))])

    def number(self, sample: Sample, position: int) -> int:
        """One of them, by its definition."""
        digits = sha256(f"{self._key(sample)}:{position // PER_DIGEST}".encode()).hexdigest()
        start = position % PER_DIGEST * HEX
        return int(digits[start : start + HEX], 16)

    def term(self, sql: Any, sample: Sample, position: Any) -> Any:
        """Whether the row at a position is drawn, in SQL. Digits of equal length compare as their numbers do."""
        if sample.below == 2**BITS:
            return sql.truth(True)
        from privjail.engines.sql.term import build

        block, place = sql.toward_zero(position, sql.whole(PER_DIGEST)), sql.modulo(position, PER_DIGEST)
        before, after = sql.sha256_ends
        hashed = build(before, "concat(", sql.text(self._key(sample) + ":"), ", ", sql.as_text(block), ")", after)
        first = sql.as_code(place * sql.whole(HEX) + sql.whole(1))
        return build("substring(", hashed, ", ", first, f", {HEX:d})") < sql.text(f"{sample.below:08x}")


class AllDrawn(Coins):
    """Every row is drawn: for comparisons of neighbouring tables, whose common rows must have the same coins."""

    def numbers(self, sample: Sample, size: int) -> bytes:
        return bytes(BITS // 8 * size)
