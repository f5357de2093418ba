"""Only a SHA-256 hash of a token is stored: it identifies the token without revealing it."""

from __future__ import annotations

import hashlib


def token_hash(token: str) -> str:
    """The hash to store. A token has 256 random bits, so a plain hash without salt cannot be inverted by guessing."""
    return hashlib.sha256(token.encode()).hexdigest()
