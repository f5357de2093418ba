"""The PostgreSQL server of the tests of the ledger, for those of the curator, too."""

from __future__ import annotations

from tests.server.conftest import postgres

__all__ = ["postgres"]
