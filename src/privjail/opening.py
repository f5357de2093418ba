"""Opening data sets: in this process from a file or a frame, or by name from a jail."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path
from typing import Any, NamedTuple

from privjail import session
from privjail.budget.notions import Notion, PureDP
from privjail.catalogue.schema import UNDECLARED, read_schema
from privjail.errors import PlanError, SchemaError
from privjail.ops.rows.source import Column, Dataset, Source, Unit
from privjail.plan.domain import Domain
from privjail.population import Population

_frame_numbers = itertools.count(1)


class Tables(NamedTuple):
    """What read_csv was told about a table of a population."""

    population: Population
    name: str
    person: str | None
    most: int | None
    key: Any
    link: Any


_editions: dict[str, list[tuple[int, ...]]] = {}  # what each opened file looked like, one after another
_held_files: dict[str, int] = {}  # open handles: no other file can get the inode of one that was deleted meanwhile


def of_population(path: Any, unit: str | None, most: int | None, people: tuple[Any, ...]) -> Tables | None:
    """What was told about a population: (population, name, key, link). Without one, key and link make no sense."""
    population, name, key, link = people
    if population is None:
        if name is not None or key is not None or link is not None:
            raise PlanError(
                "name=, key= and link= belong to a population", do="give population=, from pj.population(…)"
            )
        return None
    if not isinstance(population, Population):
        raise PlanError("population= takes what pj.population(…) gives")
    return Tables(population, Path(str(path)).stem if name is None else str(name), unit, most, key, link)


def open_csv(
    path: Any, sep: str, schema: Any, budget: Any, unit: str | None, most: int | None, tables: Tables | None = None
) -> Source:
    """A CSV file, or with a connection the data set of that name."""
    remote = _remote(path, schema, budget, unit, most, tables)
    if remote is not None:
        return remote
    if session.rehearsing() is not None:
        return _rehearsed(path, sep, schema, budget, unit, most, tables)
    from privjail.catalogue.files import read_csv_text

    before = _looks(path)
    frame = read_csv_text(Path(path), sep)
    identity = _file_identity(path)
    edition = _edition(identity, path, before)
    return open_here(identity, str(path), frame, schema, budget, unit, most, tables, edition)


def open_parquet(
    path: Any, schema: Any, budget: Any, unit: str | None, most: int | None, tables: Tables | None = None
) -> Source:
    """A Parquet file, or with a connection the data set of that name."""
    remote = _remote(path, schema, budget, unit, most, tables)
    if remote is not None:
        return remote
    if session.rehearsing() is not None:
        return _rehearsed(path, None, schema, budget, unit, most, tables)
    from privjail.catalogue import files

    before = _looks(path)
    frame = files.open_parquet(Path(path))
    identity = _file_identity(path)
    edition = _edition(identity, path, before)
    return open_here(identity, str(path), frame, schema, budget, unit, most, tables, edition)


def open_frame(
    frame: Any, name: str, schema: Any, budget: Any, unit: str | None, most: int | None, tables: Tables | None = None
) -> Source:
    """A pandas or Polars frame; each is a data set of its own."""
    if session.connection() is not None:
        raise PlanError("a jail opens only data sets that its curator added", do="pd.read_csv(name)")
    from privjail.catalogue.files import frame_of

    identity = f"frame:{next(_frame_numbers)}"
    return open_here(identity, str(name), frame_of(frame), schema, budget, unit, most, tables)


def columns_of(source: Source) -> dict[str, Column]:
    """The columns of a data set, by name."""
    return {name: Column(source, name) for name, _ in source.dataset.columns}


def open_here(
    identity: str, name: str, frame: Any, schema: Any, budget: Any, unit: str | None, most: int | None,
    tables: Tables | None = None, edition: int = 1,
) -> Source:  # fmt: skip
    """Enforce the schema and hand the data set to the jail of this process. ``edition``: of a file that has changed."""
    from privjail.catalogue.load import enforce

    rehearsal = session.rehearsing()
    if rehearsal is not None:
        frame = frame.lazy().head(0).collect()  # only the types of its columns count
    if tables is None:
        whose = _unit(unit, most)
        held, domains = enforce(frame, read_schema(schema), whose)
        dataset = Dataset(identity, name, tuple(domains.items()), whose, epoch=edition)
        notion = _notion(budget)
    else:
        if edition > 1:
            raise PlanError(f"{Path(name).name!r} has changed since it was opened", do="start a new process for it")
        held, dataset, notion = _of_population(identity, frame, schema, budget, tables)
    if rehearsal is not None:
        return rehearsal.open(dataset, notion)
    return session.open_frame(dataset, held, notion)


def _of_population(
    identity: str, frame: Any, schema: Any, budget: Any, tables: Tables
) -> tuple[Any, Dataset, Notion | None]:
    """A table of a population. Its account is the population's."""
    population = tables.population
    if budget is not None:
        raise PlanError("the budget is the population's", do="give it to pj.population(name, budget=…)")
    membership = population.membership(tables.person, tables.most, tables.key, tables.link)
    rehearsed = session.rehearsing() is not None
    held, domains, unit = population.enforce(identity, tables.name, frame, read_schema(schema), membership, rehearsed)
    dataset = Dataset(
        identity, tables.name, tuple(domains.items()), unit, population.persons,
        membership.keys, membership.links,
    )  # fmt: skip
    return held, dataset, population.notion


def _unit(unit: str | None, most: int | None) -> Unit:
    if most is not None and (unit is None or type(most) is not int or most < 1):
        raise PlanError("max_rows_per_unit needs unit= a column, and a whole number ≥ 1")
    return Unit() if unit is None else Unit(unit, most)


def _rehearsed(
    path: Any, sep: str | None, schema: Any, budget: Any, unit: str | None, most: int | None, tables: Tables | None
) -> Source:  # fmt: skip
    """A file in a rehearsal: its columns come from the schema, and it is not opened.

    Without a schema the names of the columns are read from the header of a CSV file, which is public.
    """
    rehearsal = session.rehearsing()
    assert rehearsal is not None
    declared = read_schema(schema)
    domains: dict[str, Domain] = {name: column.domain for name, column in declared.items()}
    if not declared:
        if sep is None:
            raise SchemaError("a rehearsal knows the columns of this file from a schema only", do="give schema=")
        domains = dict.fromkeys(_header(Path(path), sep), UNDECLARED.domain)
    if unit is not None and unit not in domains:
        domains[unit] = UNDECLARED.domain
    try:
        stat = os.stat(path)
        identity = _identity(stat.st_dev, stat.st_ino)
    except OSError:
        identity = f"rehearsal:{os.path.realpath(path)}"
    if tables is not None:
        return open_here(identity, str(path), _no_rows([*domains], tables), schema, budget, unit, most, tables)
    return rehearsal.open(Dataset(identity, str(path), tuple(domains.items()), _unit(unit, most)), _notion(budget))


def _no_rows(columns: list[str], tables: Tables) -> Any:
    """A table of a population without its rows: text in all columns, also in keys and links that no schema declares."""
    import polars as pl

    told = tables.population.membership(tables.person, tables.most, tables.key, tables.link)
    names = dict.fromkeys([*columns, *told.keys, *(link.column for link in told.links)])
    return pl.DataFrame(schema=dict.fromkeys(names, pl.String()))


def _header(path: Path, sep: str) -> list[str]:
    import csv

    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return next(csv.reader(file, delimiter=sep), [])
    except OSError:
        raise SchemaError(f"there is no file {path.name!r}, and no schema", do="give schema=") from None


def _remote(path: Any, *given: Any) -> Source | None:
    """With a connection: the data set of that name. Paths, schemas and budgets are the curator's."""
    connection = session.connection()
    if connection is None:
        return None
    if any(each is not None for each in given):
        raise PlanError(
            "schema, budget and unit are set by the curator of the jail", do="pd.read_csv(name) and nothing more"
        )
    return connection.source(str(path))


def _file_identity(path: Any) -> str:
    """One file is one data set, by whatever path it is reached."""
    real = os.path.realpath(path)
    try:
        handle = os.open(real, os.O_RDONLY)
    except OSError:
        raise SchemaError(f"there is no file {Path(path).name!r}") from None
    stat = os.fstat(handle)
    identity = _identity(stat.st_dev, stat.st_ino)
    if _held_files.setdefault(identity, handle) != handle:
        os.close(handle)
    return identity


def _looks(path: Any) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None  # others say so
    return found.st_size, found.st_mtime_ns


def _edition(identity: str, path: Any, before: tuple[int, ...] | None) -> int:
    """How often a file has changed since it was first opened here, and once for the first: the epoch of its rows.

    Its groups exclude each other in one edition only: somebody may be in another one after a correction.
    """
    now = _looks(path)
    if now is None or now != before:
        raise SchemaError(f"{Path(path).name!r} changed while it was read", do="try again when it is complete")
    known = _editions.setdefault(identity, [now])
    if known[-1] != now:
        known.append(now)
    return len(known)


def _identity(device: int, inode: int) -> str:
    return "file:" + hashlib.sha256(f"{device}:{inode}".encode()).hexdigest()


def _notion(budget: Any) -> Notion | None:
    return budget if budget is None or isinstance(budget, Notion) else PureDP(budget)
