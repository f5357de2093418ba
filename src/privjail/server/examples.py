"""Made-up rows that a jail hands to analysts, where its curator allows it: to write programs on, at no cost.

Rows from the schema alone hold nothing of the data: they are computed from its public facts. A synthetic table was
computed by an ordinary program from releases that were charged; whoever gets it learns nothing beyond those.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
from typing import Any

from privjail.errors import PlanError
from privjail.ops.rows.source import Dataset
from privjail.plan.domain import CategoryDomain, Domain, TimeDomain
from privjail.server.ledger.ledger import DurableLedger
from privjail.server.wire import privjail_pb2 as pb

EPOCH = datetime.datetime(1970, 1, 1)


def example(ledger: DurableLedger, dataset: Dataset) -> pb.Dataset:
    """The part of a data set's description that holds made-up rows."""
    allowed = ledger.state.examples.get(dataset.name)
    if allowed is None:
        raise PlanError(
            f"the curator has not allowed made-up rows of {dataset.name!r}",
            do="rehearse your program: with pj.rehearsal(): …, which makes rows up by itself",
        )
    if allowed.origin == "schema":
        return pb.Dataset(example=from_schema(dataset, allowed.rows), example_origin="schema")
    table = ledger.beside(allowed.seq)
    if table is None or hashlib.sha256(table).hexdigest() != allowed.sha256:
        raise PlanError("the synthetic table was lost", do="ask the curator to make it again")
    return pb.Dataset(example=table, example_origin="synthetic", example_price=[str(x) for x in allowed.price])


def from_schema(dataset: Dataset, rows: int) -> bytes:
    """Made-up rows as CSV, from public facts alone."""
    from privjail.rehearsals.rows import made_up

    columns = made_up(dataset, rows)
    spelled = [[_spelled(domain, v) for v in columns[name]] for name, domain in dataset.columns]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([name for name, _ in dataset.columns])
    table.writerows(zip(*spelled, strict=True))
    return text.getvalue().encode()


def _spelled(domain: Domain, value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(domain, CategoryDomain):
        return domain.categories[value]
    if isinstance(domain, TimeDomain):
        return (EPOCH + datetime.timedelta(microseconds=value)).isoformat()
    return value
