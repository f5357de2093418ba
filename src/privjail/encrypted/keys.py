"""Folders of the two servers. Each makes its own, on its own machine, and hands over only what is public.

The decryption server makes the keys and an offer. The compute server takes the offer and makes the study file, which
owners, analysts and the decryption server get.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from privjail.encrypted import envelope, seal
from privjail.encrypted.study import Offer, Server, Study, Terms
from privjail.errors import PlanError
from privjail.server.tls import make_certificates

LONGEST_NAME = 200
KEY_BYTES = 32


def _new(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise PlanError(f"{folder.name!r} exists and was left as it is", do="choose another folder") from None


def _secret(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
        f.write(content)


def _server(folder: Path, address: str) -> Server:
    host = address.rpartition(":")[0].strip("[]")
    if not host or not address.rpartition(":")[2].isdigit():
        raise PlanError(f"{address!r} is no address", do="write host:port")
    make_certificates(folder, [host])
    return Server(address, (folder / "jail.crt").read_text())


def make_decrypt(folder: Path, terms: Terms, address: str) -> Offer:
    """The decryption server's folder: secret keys, certificate, and the offer to hand over."""
    _new(folder)
    public = {}
    for name, make in (("records", envelope.new_keys), ("slots", seal.slots().new_keys)):
        public[name], secret = make()
        _secret(folder / f"{name}.key", secret)
    offer = Offer(terms, public["records"], public["slots"], _server(folder, address))
    offer.save(folder / "offer.json")
    return offer


def make_compute(folder: Path, offer: Offer, address: str) -> Study:
    """The compute server's folder: certificate, the secret behind tickets, and the study file to hand out."""
    _new(folder)
    _secret(folder / "tickets.key", secrets.token_bytes(KEY_BYTES))
    offer.save(folder / "offer.json")
    study = Study(offer.terms, offer.records_key, _server(folder, address))
    study.save(folder / "study.json")
    return study


def pair(folder: Path) -> tuple[bytes, bytes]:
    """A server's TLS key and certificate."""
    try:
        return (folder / "jail.key").read_bytes(), (folder / "jail.crt").read_bytes()
    except OSError:
        raise PlanError(f"{folder.name!r} is no server's folder", do="make one with: privjail encrypted keys") from None


def secret(folder: Path, name: str) -> bytes:
    """One of the decryption server's secret keys."""
    try:
        return (folder / f"{name}.key").read_bytes()
    except OSError:
        raise PlanError(f"{folder.name!r} is no decryption server's folder: {name}.key is not there") from None


class Tickets:
    """What owners show: an HMAC of their name, so that nobody can submit in another's name or twice."""

    def __init__(self, folder: Path) -> None:
        try:
            key = (folder / "tickets.key").read_bytes()
        except OSError:
            raise PlanError(f"{folder.name!r} is no compute server's folder") from None
        if len(key) != KEY_BYTES:  # cut off, or empty: everybody could make tickets
            raise PlanError(f"tickets.key of {folder.name!r} is damaged", do="put the whole file back")
        key = key.ljust(64, b"\0")
        # HMAC-SHA256, begun once: hmac.digest takes twice as long for a name.
        self._inner, self._outer = (hashlib.sha256(bytes(b ^ pad for b in key)) for pad in (0x36, 0x5C))

    def _mac(self, text: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return outer.digest()

    def owner(self, name: str) -> bytes:
        if not 0 < len(name) <= LONGEST_NAME:
            raise PlanError(f"an owner's name has 1 … {LONGEST_NAME} characters, this one {len(name)}")
        return self._mac(b"owner\0" + name.encode())

    def operator(self) -> bytes:
        """What the study's operator shows to publish."""
        return self._mac(b"operator\0")

    def is_owner(self, name: str, ticket: bytes) -> bool:
        return 0 < len(name) <= LONGEST_NAME and secrets.compare_digest(self.owner(name), ticket)

    def is_operator(self, ticket: bytes) -> bool:
        return secrets.compare_digest(self.operator(), ticket)
