"""Loading a data set once, when a curator adds or updates it: does it fit, and whose rows are they?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.curator.intakes import check_entered
from privjail.engines.choice import stored_bytes
from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Dataset, Unit
from privjail.plan.domain import CategoryDomain, Domain
from privjail.server.ledger.entries import Intake
from privjail.server.ledger.state import DatasetEntry

Progress = Callable[[int], None]
WHOLE = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]+)(\.0*)?")  # a whole number, however it is written


@dataclass(frozen=True)
class Trial:
    """What loading found. The numbers of rows and the persons are for the curator's folder only."""

    columns: list[str]  # their names, which are public
    notes: list[str]
    rows: int
    persons: list[str] | None  # each once; None: rows name no persons


def tried(
    jail: Path, origin: dict[str, Any], mark: str, schema: dict[str, Any], unit: tuple[str | None, int | None],
    progress: Progress = lambda rows: None, intake: Intake | None = None,
) -> Trial:  # fmt: skip
    """Load the rows of a data set of its own. A large CSV file is copied into the jail's folder on the way."""
    from privjail.catalogue.held_copy import held_copy, is_copied
    from privjail.catalogue.ingest import domains_of
    from privjail.catalogue.load import enforce
    from privjail.catalogue.origins import fetch
    from privjail.catalogue.schema import read_schema
    from privjail.engines.files import HeldFiles, in_polars

    rows: Any
    whose = Unit(*unit)
    if origin["kind"] == "held" or is_copied(origin):
        if origin["kind"] == "held":
            files = HeldFiles.read(Path(origin["place"]))
        else:
            files = held_copy(jail, origin, mark, schema, whose, progress)
        domains = domains_of(files)
        rows = in_polars(files, Dataset("", "", tuple(domains.items()), whose))
    else:
        rows, domains = enforce(fetch(origin, jail, mark), read_schema(schema), whose)
    if intake is not None and intake.column not in domains:
        raise PlanError(f"there is no column {intake.column!r} that says when a person entered")
    check_entered("the data", rows, domains, intake)
    notes = [] if origin["kind"] == "held" else untyped(domains)
    return Trial(list(domains), notes, rows.height, persons(rows, domains, whose.column))


def tried_table(
    entry: DatasetEntry, datasets: Mapping[str, DatasetEntry], jail: Path, known: dict[str, Any],
    reading: Callable[[str], None] = lambda name: None,
) -> Trial:  # fmt: skip
    """Load the rows of a table of a population, with the keys of the tables that it links to."""
    from privjail.server.tables import load_table

    rows, dataset = load_table(entry, datasets, jail, known, reading)
    domains = dict(dataset.columns)
    check_entered(entry.name, rows, domains, datasets[dataset.account.name].intake)
    return Trial(list(domains), untyped(domains), rows.height, persons(rows, domains, dataset.unit.column))


def untyped(domains: Mapping[str, Domain]) -> list[str]:
    loose = [name for name, domain in domains.items() if domain.dtype == "untyped"]
    return [f"columns without a schema are untyped and unbounded: {', '.join(loose)}"] if loose else []


def persons(rows: Any, domains: Mapping[str, Domain], column: str | None) -> list[str] | None:
    """The persons that rows name, each once, in one spelling whatever the column's type."""
    if column is None:
        return None
    from privjail.ops.polars_types import named

    found = rows.lazy().select(named(column).unique()).collect().to_series().drop_nulls().to_list()
    domain = domains[column]
    if isinstance(domain, CategoryDomain):
        found = [domain.categories[code] for code in found]
    return sorted({_spelling(str(each)) for each in found})


def _spelling(person: str) -> str:
    """One spelling of a person: files write the same number as 7, 007 or 7.0, and é as one letter or as two."""
    text = unicodedata.normalize("NFC", person.strip())
    number = WHOLE.fullmatch(text)
    return text if number is None else number["sign"].replace("+", "") + number["digits"]


def ingested(
    origin: dict[str, Any], schema: dict[str, Any] | None, unit: tuple[str | None, int | None]
) -> dict[str, Any]:
    """The schema of ingested data, which was enforced already; notes its size. The files are read and compared."""
    from privjail.engines.files import HeldFiles

    files = HeldFiles.read(Path(origin["place"]))
    if tuple(unit) != files.unit or schema is not None and schema != files.schema:
        raise SchemaError(
            "the data was ingested with another schema or unit of protection",
            do="leave out --schema and give the same --unit, or ingest the data again",
        )
    files.verify(files.digest)
    origin["bytes"] = stored_bytes(files.rows, len(files.types))
    return files.schema
