"""New certificates for a jail, so that no connection file breaks.

Connection files pin the jail's *authority*, ``jail.crt``. What the jail shows is a certificate that the authority
signed (``server.pem``: key, certificate, and what leads from it to older authorities). So

- a new server certificate changes nothing for anybody;
- a new authority is signed by the old one, too. Who pins the old one follows that signature, until the old one ends;
  who gets a connection file from now on pins the new one;
- a new authority for users' certificates is put before the old one, and both are accepted.

A jail that runs takes a new ``server.pem`` with the next handshake.
"""

from __future__ import annotations

import datetime
import logging
import os
import secrets
from pathlib import Path
from typing import Any

from privjail.server.tls import _certificate, _crypto, _key, _pem, _signed, _write

log = logging.getLogger("privjail.jail")
DAYS, AUTHORITY_DAYS = 398, 3650
PAIR, CHAIN = "server.pem", "chain.pem"


def _load(folder: Path, name: str) -> tuple[Any, Any]:
    """A certificate and its key."""
    x509 = _crypto()
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    certificate = x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
    return certificate, load_pem_private_key((folder / f"{name}.key").read_bytes(), None)


def _text(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    made: bytes = certificate.public_bytes(Encoding.PEM)
    return made


def _replace(path: Path, content: bytes) -> None:
    """All of it or nothing: a jail may read it at any moment."""
    other = path.with_name(path.name + ".new")
    _write(other, content)
    os.replace(other, path)


def hosts_of(folder: Path) -> list[str]:
    """The names that the jail's certificate was made for."""
    x509 = _crypto()
    shown = (folder / PAIR).read_bytes() if (folder / PAIR).is_file() else (folder / "jail.crt").read_bytes()
    certificate = x509.load_pem_x509_certificates(shown)[0]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(each.value) for each in names]


def rotate_certificate(folder: Path, days: int = DAYS, hosts: list[str] | None = None) -> datetime.datetime:
    """A new key and certificate for the jail, signed by its authority; returns until when it is valid."""
    names = hosts or hosts_of(folder)
    key = _key()
    certificate = _certificate("privjail server", key, _load(folder, "jail"), names, days, ca=False)
    _replace(folder / PAIR, _pem(key) + _text(certificate) + _chain(folder))
    ends: datetime.datetime = certificate.not_valid_after_utc
    return ends


def _chain(folder: Path) -> bytes:
    """Certificates of this authority by older ones, which have not ended."""
    x509 = _crypto()
    if not (folder / CHAIN).is_file():
        return b""
    now = datetime.datetime.now(datetime.UTC)
    found = x509.load_pem_x509_certificates((folder / CHAIN).read_bytes())
    return b"".join(_text(each) for each in found if each.not_valid_after_utc > now)


def rotate_authority(folder: Path, days: int = AUTHORITY_DAYS) -> datetime.datetime:
    """A new authority, which the old one signs, and a new server certificate. The old authority's key is deleted."""
    names, (old, signer) = hosts_of(folder), _load(folder, "jail")
    x509 = _crypto()
    key = _key()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"privjail authority {secrets.token_hex(4)}")])
    new = _signed(subject, key.public_key(), (None, key), names, days, ca=True)
    left = max(1, (old.not_valid_after_utc - datetime.datetime.now(datetime.UTC)).days)
    across = _signed(subject, key.public_key(), (old, signer), [], min(days, left), ca=True)
    _replace(folder / CHAIN, _text(across) + _chain(folder))
    _replace(folder / "jail.key", _pem(key))
    _replace(folder / "jail.crt", _text(new))
    return rotate_certificate(folder, hosts=names)


def rotate_users(folder: Path, days: int = AUTHORITY_DAYS) -> None:
    """A new authority for users' certificates. Certificates by the old ones are accepted until they end."""
    key = _key()
    new = _certificate(f"privjail users {secrets.token_hex(4)}", key, None, [], days, ca=True)
    before = (folder / "users.crt").read_bytes()
    _replace(folder / "users.crt", _text(new) + before)
    _replace(folder / "users.key", _pem(key))


def pair(folder: Path) -> tuple[bytes, bytes]:
    """The key and the certificates that the jail shows."""
    if not (folder / PAIR).is_file():
        return (folder / "jail.key").read_bytes(), (folder / "jail.crt").read_bytes()
    whole = (folder / PAIR).read_bytes()
    end = b"-----END PRIVATE KEY-----\n"
    cut = whole.index(end) + len(end)
    return whole[:cut], whole[cut:]


def mark(folder: Path) -> tuple[Any, ...]:
    """Changes when one of the files does."""
    found = []
    for name in (PAIR, "jail.crt", "users.crt"):
        try:
            state = (folder / name).stat()
            found.append((state.st_mtime_ns, state.st_ino, state.st_size))
        except FileNotFoundError:
            found.append((0, 0, 0))
    return tuple(found)


def ends(folder: Path) -> datetime.datetime:
    """When the first of the certificates ends that the jail shows, or that clients pin."""
    x509 = _crypto()
    found = x509.load_pem_x509_certificates(pair(folder)[1])[:1]
    found += x509.load_pem_x509_certificates((folder / "jail.crt").read_bytes())
    first: datetime.datetime = min(each.not_valid_after_utc for each in found)
    return first


def credentials(folder: Path, mutual: bool) -> Any:
    """TLS with the jail's certificate, which is read again when its file has changed."""
    from privjail.server.wire.rpc import grpc

    read = mark(folder)

    def configuration() -> Any:
        users = (folder / "users.crt").read_bytes() if mutual else None
        return grpc.ssl_server_certificate_configuration([pair(folder)], users)

    def changed() -> Any:
        nonlocal read
        try:
            now = mark(folder)
            if now == read:
                return None
            fresh = configuration()
        except (OSError, ValueError) as e:  # half of it is written: the old one is shown until the next handshake
            log.error("the certificate could not be read again: %s", type(e).__name__)
            return None
        read = now
        return fresh

    return grpc.dynamic_ssl_server_credentials(configuration(), changed, mutual)
