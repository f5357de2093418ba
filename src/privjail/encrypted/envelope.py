"""An envelope that only the decryption server can open: what an owner sends to it through the compute server.

X25519 with a fresh key for each envelope, HKDF-SHA256, AES-256-GCM: what every browser has, too. A changed envelope,
or one that was made for another study, is unreadable. Nobody who lacks its content can make another one with the same
content.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
OVERHEAD = KEY_BYTES + 16  # the sender's public key, and the tag
NONCE = bytes(12)  # each key is used once


def new_keys() -> tuple[bytes, bytes]:
    """A public key and its secret key."""
    secret = X25519PrivateKey.generate()
    return secret.public_key().public_bytes_raw(), secret.private_bytes_raw()


def _cipher(shared: bytes, sender: bytes, receiver: bytes, study: bytes) -> AESGCM:
    info = b"privjail envelope 2" + study + sender + receiver
    return AESGCM(HKDF(SHA256(), KEY_BYTES, None, info).derive(shared))


def sealed(receiver: bytes, study: bytes, content: bytes, once: bytes) -> bytes:
    """The envelope: the sender's one-time public key, then the encrypted content. Its secret key serves this once."""
    own = X25519PrivateKey.from_private_bytes(once)
    sender = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(receiver))
    return sender + _cipher(shared, sender, receiver, study).encrypt(NONCE, content, None)


class Opener:
    """The decryption server's side."""

    def __init__(self, secret: bytes, study: bytes) -> None:
        self._secret = X25519PrivateKey.from_private_bytes(secret)
        self._public, self._study = self._secret.public_key().public_bytes_raw(), study

    def opened(self, envelope: bytes) -> bytes | None:
        """The content; None if this is no envelope for this server and study."""
        sender = envelope[:KEY_BYTES]
        try:
            shared = self._secret.exchange(X25519PublicKey.from_public_bytes(sender))
            return _cipher(shared, sender, self._public, self._study).decrypt(NONCE, envelope[KEY_BYTES:], None)
        except (InvalidTag, ValueError):  # ValueError: too short, or a point whose shared secret is always 0
            return None
