"""How tokens are kept: by a hash that tells them, and that they cannot be told from."""

from __future__ import annotations

import hashlib


def token_hash(token: str) -> str:
    """Tokens are 256 random bits, so that one plain hash is enough to keep them by."""
    return hashlib.sha256(token.encode()).hexdigest()
