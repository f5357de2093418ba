"""The tables of a certificate: data sets, cells, and the nodes that were checked so far.

{"privjail certificate": 1,
 "data sets": [{"columns": [[name, domain], …], "unit": [column, most rows], "schema": hash, "notion": {…}}, …],
 "nodes":     [{"kind": …, "fields": [{"node": 0}, {"literal": [type, spelling]}, …], "claims": {…}}, …],   inputs first
 "cells":     [{"data set": 0}, {"of": cell, "base": node, "by": node, "key": [type, spelling]}, …,
               {"of": cell, "sample": node, "rate": fraction, "tag": text}],
 "release":   {"value": node, "mechanism": {…}, "noise": {…}, "charges": [[cell, [cost, …]], …]}}
"""

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

from privjail.verify.checker.cells import Cell, Drawn, Step
from privjail.verify.checker.columns import Column
from privjail.verify.checker.domains import Domain, read_domain
from privjail.verify.checker.numbers import Numbers
from privjail.verify.checker.reading import constant, number, place_in, whole_number
from privjail.verify.checker.rows import Rows
from privjail.verify.checker.verdict import CannotCheck, Number, Refuted

Checked = Rows | Column | Numbers


@dataclass(frozen=True)
class DataSet:
    """What the curator published about a data set."""

    columns: list[list[Any]]  # a name and a domain each
    unit_column: str | None  # the column that says whose row it is; None: each row is its own unit
    unit_rows: Number  # the most rows of one privacy unit
    notion: dict[str, Any]
    population: str | None = None  # tables of one population are about the same persons
    keys: tuple[str, ...] = ()  # columns that have another value in each row of one person

    def domain(self, name: Any) -> Domain:
        found = [domain for known, domain in self.columns if known == name]
        if len(found) != 1:
            raise CannotCheck("a column that the schema does not have, or has twice")
        return read_domain(found[0])


@dataclass
class Certificate:
    """A certificate that is being checked: ``checked`` grows by one node after another."""

    data_sets: list[DataSet]
    written_cells: list[dict[str, Any]]
    checked: list[Checked] = field(default_factory=list)

    def root(self, index: Any) -> int:
        """The data set that stands for all tables of its population: the first of them."""
        population = self.data_sets[place_in(self.data_sets, index)].population
        known = [each.population for each in self.data_sets]
        return int(index) if population is None else known.index(population)

    def node(self, index: Any) -> Checked:
        """A node that was checked before: no node can rest on a later one, or on itself."""
        return self.checked[place_in(self.checked, index)]

    def rows(self, index: Any) -> Rows:
        """Rows that were checked before."""
        found = self.node(index)
        if not isinstance(found, Rows):
            raise CannotCheck("a reference to rows that are none")
        return found

    def cell(self, index: Any) -> Cell:
        """A cell, with the path that leads to it."""
        written = self.written_cells[place_in(self.written_cells, index)]
        if "of" not in written:
            return Cell(self.root(written["data set"]))
        if "sample" in written:
            return self.cell(written["of"]).extended(self.drawn(written))
        base, by = self.rows(written["base"]).node, place_in(self.checked, written["by"])
        return self.cell(written["of"]).extended(Step(base, by, constant(written["key"])))

    def drawn(self, written: dict[str, Any]) -> Drawn:
        """A sample as a part of a cell; see cells.py for why a unit may have one row at most."""
        drawn_from = self.rows(written["sample"])
        if drawn_from.edits > 1 or self.rows(drawn_from.base).kind != "source":
            raise Refuted("a sample is a cell of its own only if a privacy unit has at most one row in its table")
        return Drawn(drawn_from.node, number(written["rate"]), str(written["tag"]))

    def cells(self, indices: list[Any]) -> tuple[Cell, ...]:
        return tuple(dict.fromkeys(self.cell(index) for index in indices))

    def field(self, written: Any) -> Any:
        """A field of a node: an earlier node, a constant, a fraction, a list of fields, or a plain JSON value."""
        if isinstance(written, list):
            return [self.field(each) for each in written]
        if not isinstance(written, dict):
            return written
        if "node" in written:
            return self.node(written["node"])
        return constant(written["literal"]) if "literal" in written else number(written["fraction"])


def read_certificate(given: Any) -> Certificate:
    """The tables of a certificate of this version, with schemas that are those of their hashes."""
    if given["privjail certificate"] != 1:
        raise CannotCheck("another version of certificates")
    certificate = Certificate([read_data_set(each) for each in given["data sets"]], given["cells"])
    for i, each in enumerate(certificate.data_sets):
        if each.notion != certificate.data_sets[certificate.root(i)].notion:
            raise Refuted("two tables of one population are counted in different ways")
    return certificate


def read_data_set(given: dict[str, Any]) -> DataSet:
    told = ("columns", "unit", "population", "keys")
    public = json.dumps({name: given[name] for name in told if name in given}, sort_keys=True)
    if hashlib.sha256(public.encode()).hexdigest() != given["schema"]:
        raise Refuted("the schema is not the one of its hash")
    if not all(type(name) is str for name, _ in given["columns"]):
        raise CannotCheck("a column without a name")
    (column, most), population, keys = given["unit"], given.get("population"), given.get("keys", [])
    if population is not None and (type(population) is not str or column is None):
        raise CannotCheck("a population without a name, or a table of it without persons")
    rows = inf if most is None else Fraction(whole_number(most, 1))
    return DataSet(given["columns"], column, rows, given["notion"], population, tuple(keys))
