"""Certificates: one for the jail, made at init and pinned by clients; optionally one for each user."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from pathlib import Path
from typing import Any

from privjail.errors import DPError

#: A name of a host: letters, digits, - and _ between dots; the first part may stand for any.
NAME = re.compile(r"(\*\.)?\w([\w-]{0,61}\w)?(\.\w([\w-]{0,61}\w)?)*\.?", re.ASCII)


def _crypto() -> Any:
    try:
        from cryptography import x509
    except ImportError:
        raise DPError("certificates need another package", do="pip install 'privjail-dp[jail]'") from None
    return x509


def _key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization as s

    made: bytes = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())
    return made


def _certificate(name: str, key: Any, issuer: tuple[Any, Any] | None, hosts: list[str], days: int, ca: bool) -> Any:
    x509 = _crypto()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    return _signed(subject, key.public_key(), issuer or (None, key), hosts, days, ca)


def _signed(subject: Any, public: Any, issuer: tuple[Any, Any], hosts: list[str], days: int, ca: bool) -> Any:
    """A certificate for a public key, by an issuer: (its certificate, its key); without a certificate, by itself."""
    x509 = _crypto()
    from cryptography.hazmat.primitives import hashes

    authority, signer = issuer
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(x509, h) for h in hosts]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _host(x509: Any, host: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    if len(host) > 253 or not NAME.fullmatch(host):
        raise DPError(
            f"{host[:100]!r} is no host name",
            do="give a name or an address alone, without port or https://; international names as xn--…",
        )
    return x509.DNSName(host)


def _write(path: Path, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as f:
        f.write(content)


def make_certificates(folder: Path, hosts: list[str], days: int = 3650) -> None:
    """The jail's certificate, and an authority that signs users' certificates."""
    from cryptography.hazmat.primitives.serialization import Encoding

    for name, people in (("jail", hosts), ("users", [])):
        key = _key()
        cert = _certificate(f"privjail {name}", key, None, people, days, ca=True)
        _write(folder / f"{name}.key", _pem(key))
        _write(folder / f"{name}.crt", cert.public_bytes(Encoding.PEM))
    from privjail.server.rotation import rotate_certificate

    rotate_certificate(folder, hosts=hosts)


def user_certificate(folder: Path, user: str, days: int = 365) -> tuple[bytes, bytes]:
    """A key and certificate for a user, signed by the jail's authority."""
    x509 = _crypto()
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    authority = x509.load_pem_x509_certificate((folder / "users.crt").read_bytes())  # the first: the newest
    signer = load_pem_private_key((folder / "users.key").read_bytes(), None)
    key = _key()
    cert = _certificate(user, key, (authority, signer), [], days, ca=False)
    return _pem(key), cert.public_bytes(Encoding.PEM)
