"""The curator's decisions about made-up rows: none, from the schema alone, or a synthetic table bought with a budget.

A synthetic table is made by `privjail.synth` as any analyst's program would: by a user of its own, with a grant of just
that price, through a jail that is served for it on the loopback address. So the ledger charges it to the data set like
every other release, and what is handed out is computed from released numbers alone.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privjail.budget.notions import name_of
from privjail.curator.checks import check_open, need_reason
from privjail.curator.folder import JailFolder
from privjail.curator.given import limit_under
from privjail.errors import PlanError
from privjail.plan.domain import BoolDomain, CategoryDomain, FloatDomain, IntDomain
from privjail.server.ledger.events import texts
from privjail.server.ledger.state import State

MOST_ROWS, MOST_BYTES = 100_000, 4 * 2**20  # of a table; it goes to an analyst in one message
PAYER = "example."  # the users that buy synthetic tables are called after the data set


def allow_schema(folder: JailFolder, dataset: str, rows: int) -> None:
    """Let analysts have rows that are made up from the schema alone."""
    _enter(folder, dataset, "schema", rows, ())


def forbid(folder: JailFolder, dataset: str) -> None:
    """No made-up rows from now on. What analysts have got, they keep."""
    _enter(folder, dataset, None, 0, ())


def buy(folder: JailFolder, dataset: str, budget: list[Any], rows: int, reason: str | None) -> None:
    """Make a synthetic table, charge it to the data set, and let analysts have it."""
    need_reason(reason or folder.reason, "buying a synthetic table")
    entry = check_open(folder.state, dataset)
    _check_rows(rows)
    names = {"pure": ("eps",), "approx": ("eps", "delta"), "renyi": ("eps", "delta"), "zcdp": ("rho",)}
    price = dict(zip(names[name_of(entry.notion)], budget, strict=False))
    if len(price) != len(names[name_of(entry.notion)]):
        raise PlanError(f"a price under {entry.notion} is {' and '.join(names[name_of(entry.notion)])}")
    cost = limit_under(entry.notion, budget)
    with payer(folder, dataset) as (name, token):
        account = entry.population or dataset
        folder.grant(name, account, budget, False, reason or folder.reason)
        # It is several releases: what would refuse the last of them must refuse all. This is tried, and taken back.
        folder.state.spend(name, [(account, (), cost)], {}, datetime.datetime.now(datetime.UTC).isoformat())()
        with served(folder, token) as connection:
            table = _synthesized(connection, dataset, price, rows)
    _enter(folder, dataset, "synthetic", rows, cost, table, reason)


@contextmanager
def payer(folder: JailFolder, dataset: str) -> Iterator[tuple[str, str]]:
    """A user for one purchase, who is revoked afterwards: her name and token."""
    earlier = sum(name.startswith(f"{PAYER}{dataset}.") for name in folder.state.users)
    name = f"{PAYER}{dataset}.{earlier + 1}"
    token = folder.add_user(name, 1)["token"]
    try:
        yield name, token
    finally:
        folder.revoke(name, None)


@contextmanager
def served(folder: JailFolder, token: str) -> Iterator[Any]:
    """A connection to this jail, served for it alone."""
    from privjail import session
    from privjail.server.server import Options, start

    running = start(folder.path, Options(port=0, insecure_loopback=True, ledger_url=folder.config.get("ledger_url")))
    try:
        session.connect(f"127.0.0.1:{running.port}", token=token, insecure_loopback=True)
        yield session.connection()
    finally:
        session.disconnect()
        running.stop()


def _synthesized(connection: Any, dataset: str, price: dict[str, Any], rows: int) -> bytes:
    from privjail import pandas as face
    from privjail.synth import Synthesizer

    private = face.read_csv(dataset)
    facts = connection.source(dataset).dataset
    known = [name for name, domain in facts.columns if name != facts.unit.column and _finite(domain)]
    if len(known) < 2:
        raise PlanError(
            "a synthetic table needs two columns with categories or ranges", do="allow rows from the schema: --schema"
        )
    text = Synthesizer().fit(private[known], **price).sample(rows).to_csv(index=False).encode()
    if len(text) > MOST_BYTES:
        raise PlanError("the table is too large to be handed out", do="ask for fewer rows")
    return bytes(text)


def _finite(domain: Any) -> bool:
    """Whether a column can be counted in bins: dates cannot yet."""
    ranged = isinstance(domain, (IntDomain, FloatDomain)) and domain.bounded
    return ranged or isinstance(domain, (BoolDomain, CategoryDomain))


def _check_rows(rows: int) -> None:
    if not 1 <= rows <= MOST_ROWS:
        raise PlanError(f"{rows} is no number of rows", do=f"write one from 1 to {MOST_ROWS}")


def _enter(
    folder: JailFolder, dataset: str, origin: str | None, rows: int, price: tuple[Any, ...],
    table: bytes | None = None, reason: str | None = None,
) -> None:  # fmt: skip
    if origin is not None:
        _check_rows(rows)
    digest = None if table is None else hashlib.sha256(table).hexdigest()

    def make(state: State) -> dict[str, Any]:
        if check_open(state, dataset).is_population:
            raise PlanError(f"{dataset!r} is a population: it has no rows of its own", do="name one of its tables")
        return {"type": "example", "dataset": dataset, "origin": origin, "rows": rows, "price": texts(price),
                "sha256": digest, "reason": reason}  # fmt: skip

    folder._decide(make, beside=table)
