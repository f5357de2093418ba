"""Tables of a population in a jail: loaded with the keys of the tables that they link to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privjail.errors import SchemaError
from privjail.ops.rows.source import Dataset, Link, Population
from privjail.server.ledger.state import DatasetEntry

if TYPE_CHECKING:
    from privjail.catalogue.people import Keys

Reading = Callable[[str], None]


def load_table(
    entry: DatasetEntry, datasets: Mapping[str, DatasetEntry], folder: Path, known: dict[str, Keys],
    reading: Reading = lambda name: None,
) -> tuple[Any, Dataset]:  # fmt: skip
    """The rows of a table that have a person; ``known`` gets the keys of this table and of those that it links to.

    ``reading`` is called with the name of each table before its rows are read.
    """
    from privjail.catalogue.origins import fetch
    from privjail.catalogue.people import Membership, enforce_membership
    from privjail.catalogue.schema import read_schema

    links = tuple(map(Link.read, entry.links))
    for link in links:
        target = datasets.get(link.table)
        if target is None or target.population != entry.population or target.name == entry.name:
            raise SchemaError(
                f"the link {link} points to no table of the population", do=f"add {link.table!r} to it first"
            )
        if link.table not in known:
            load_table(target, datasets, folder, known, reading)
    reading(entry.name)
    membership = Membership(entry.unit.column, entry.unit.most_rows, entry.keys, links)
    rows, domains, unit, keys = enforce_membership(
        fetch(entry.origin, folder, entry.fingerprint), read_schema(entry.schema), membership, known
    )
    known[entry.name] = keys
    assert entry.population is not None
    people = Population(entry.population, entry.population)
    return rows, Dataset(entry.name, entry.name, tuple(domains.items()), unit, people, entry.keys, links, entry.epoch)
