"""Certificates: what a release claims, as a small JSON file that others can check.

A certificate holds public facts only: the plan, the facts that the library derived at each node, the mechanism and its
noise, and what was charged. No value of the data is in it, not even the released one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail import session
from privjail.budget.ledger import Charge
from privjail.budget.notions import Notion, RenyiDP, name_of
from privjail.errors import DPError
from privjail.mechanisms.mechanism import Mechanism
from privjail.ops.rows.source import Dataset, Source
from privjail.plan import domain as d
from privjail.plan.cells import Cell, Draw, Partition
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, children, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from privjail.release import Query, where_charged

VERSION = 1


class Certificates:
    """The certificates of the releases made in a block, in order."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.all: list[dict[str, Any]] = []

    @property
    def last(self) -> dict[str, Any]:
        if not self.all:
            raise DPError("nothing was released in this block yet")
        return self.all[-1]

    def take(self, made: list[dict[str, Any]]) -> None:
        for each in made:
            self.all.append(each)
            if self.folder is not None:
                name = f"{len(self.all):04d}-{each['release']['mechanism']['kind']}.json"
                (self.folder / name).write_text(spelled(each), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.all)

    def __repr__(self) -> str:
        return f"{len(self.all)} certificates"


@contextmanager
def certify(folder: Any = None) -> Iterator[Certificates]:
    """Keep a certificate of every release in this block; with ``folder``, write each as a JSON file there too.

    >>> import privjail as pj
    >>> with pj.certify() as certificates:
    ...     pass
    >>> certificates
    0 certificates
    """
    where = None if folder is None else Path(folder)
    if where is not None:
        where.mkdir(parents=True, exist_ok=True)
    kept = Certificates(where)

    def witness(asks: list[Query]) -> Any:
        made = [of(ask) for ask in asks]  # before the release: if this fails, nothing has been charged
        return lambda: kept.take(made)

    session.witnesses.append(witness)
    try:
        yield kept
    finally:
        session.witnesses.remove(witness)


def spelled(certificate: dict[str, Any]) -> str:
    return json.dumps(certificate, ensure_ascii=False, separators=(",", ":")) + "\n"


def of(ask: Query, notions: dict[Cell, Notion] | None = None) -> dict[str, Any]:
    """The certificate of one ask; notions of privacy are those of the session, unless given."""
    return numbered(ask, notions)[0]


def numbered(ask: Query, notions: dict[Cell, Notion] | None = None) -> tuple[dict[str, Any], dict[Any, int]]:
    """A certificate, and the number that each node has in it."""
    text, numbers = written(ask, notions)
    made: dict[str, Any] = json.loads(text)
    return made, numbers


def written(ask: Query, notions: dict[Cell, Notion] | None = None) -> tuple[str, dict[Any, int]]:
    """The same as JSON, put together from texts that were made once for each node: a jail certifies every release."""
    known = notions or {cell.root: notion for cell in ask.value.cells if (notion := _notion_of(cell.root))}
    numbers: dict[Any, int] = {}
    writer = Writer(known.get, numbers)
    release = writer.release(ask)
    members = {"privjail certificate": str(VERSION), **writer.members(), "release": to_json(release)}
    return object_of(members), numbers


def object_of(members: dict[str, str]) -> str:
    """A JSON object of members that are JSON already."""
    return "{" + ",".join([f'"{name}":{text}' for name, text in members.items()]) + "}"


def _notion_of(root: Cell) -> Notion | None:
    connected, block = session.connection(), session.current_block()
    if block is not None:
        return block.notion
    if connected is None:
        return session.jail().ledger.account(root).notion
    return connected.notions[str(root.key)]


@dataclass(frozen=True)
class Sizes:
    """How many data sets, nodes and cells a certificate has."""

    datasets: int = 0
    nodes: int = 0
    cells: int = 0


NOTHING = Sizes()


class Writer:
    """Numbers data sets, nodes and cells, inputs first, and writes those that have no number yet.

    ``notion_of``: the notion of privacy of an account, by its root cell; None if it is not known.
    ``numbers``: of what was written before; a data set's number is kept for its source and for its root cell, too.
    ``first``: how many data sets, nodes and cells these are.
    """

    def __init__(
        self,
        notion_of: Callable[[Cell], Notion | None],
        numbers: dict[Any, int] | NodeTable[int],
        first: Sizes = NOTHING,
    ) -> None:
        self._notion_of, self.numbers, self._first = notion_of, numbers, first
        self._datasets: list[str] = []
        self._nodes: list[str] = []
        self._cells: list[dict[str, Any]] = []

    @property
    def sizes(self) -> Sizes:
        """How many data sets, nodes and cells have a number."""
        before = self._first
        return Sizes(
            before.datasets + len(self._datasets), before.nodes + len(self._nodes), before.cells + len(self._cells)
        )

    def members(self) -> dict[str, str]:
        """What was written."""
        return {
            "data sets": f"[{','.join(self._datasets)}]",
            "nodes": f"[{','.join(self._nodes)}]",
            "cells": to_json(self._cells),
        }

    def release(self, ask: Query) -> dict[str, Any]:
        """What is released, how, and what it costs; no charges where the notion of privacy is not known."""
        notions = {root: self._notion_of(root) for root in {cell.root for cell in ask.value.cells}}
        known = {root: notion for root, notion in notions.items() if notion is not None}
        told = len(known) == len(notions)
        value = self.node(ask.value)
        charges: list[Charge] = where_charged(ask, known.__getitem__) if told else []
        charged = [[self.cell(cell), [str(x) for x in cost]] for cell, cost in charges]
        return {
            "value": value,
            "mechanism": _mechanism(ask.mechanism),
            "noise": ask.mechanism.certificate_noise(ask.value),
            "charges": charged if told else None,
        }

    def node(self, last: Node) -> int:
        for each in inputs_first((last,), self._needs, self.numbers.__contains__):
            pieces = _texts(each)
            if isinstance(each, Source):
                inputs = [str(self._source(each))]
            else:
                inputs = [f'{{"node":{self.numbers[c]}}}' for c in children(each) if not isinstance(c, Lit)]
            text = "".join([x for pair in zip(pieces, [*inputs, ""], strict=True) for x in pair])
            if isinstance(each, (Rows, Value)):
                text += ",".join([str(self.cell(cell)) for cell in each.cells]) + "]}}"
            self.numbers[each] = self._first.nodes + len(self._nodes)
            self._nodes.append(text)
        return self.numbers[last]

    def _needs(self, each: Node) -> list[Node]:
        """What must be numbered before a node: its inputs, and what the partitions of its cells are made of."""
        if isinstance(each, Source):
            return []
        found = [c for c in children(each) if not isinstance(c, Lit)]
        if isinstance(each, (Rows, Value)):
            for cell in each.cells:
                while cell.parent is not None and cell not in self.numbers:  # above one that has a number, all have
                    if isinstance(cell.partition, Partition):
                        found += [cell.partition.base, cell.partition.by]
                    elif isinstance(cell.partition, Draw):
                        found.append(cell.partition.rows)
                    cell = cell.parent
        return found

    def _source(self, source: Source) -> int:
        """The number of a source's data set. The first source of an account gives its root cell the number, too."""
        root = source.cells[0]
        notion = self._notion_of(root)
        number = self._first.datasets + len(self._datasets)
        name = to_json(source.dataset.name)
        self._datasets.append(f'{{"name":{name},{_described(source)},"notion":{to_json(told_of(notion))}}}')
        if root not in self.numbers:
            self._add(root, {"data set": number})
        return number

    def cell(self, cell: Cell) -> int:
        """The number of a cell; it gets one, and so do those that it lies in, if they have none."""
        lacking: list[Cell] = []
        lowest: Cell | None = cell
        while lowest is not None and lowest not in self.numbers:
            lacking.append(lowest)
            lowest = lowest.parent
        for each in reversed(lacking):
            if isinstance(each.partition, Partition):
                assert each.parent is not None
                part = each.partition
                entry: dict[str, Any] = {"of": self.numbers[each.parent], "base": self.node(part.base)}
                entry |= {"by": self.node(part.by), "key": [each.key.type_, each.key.spelling]}
            elif isinstance(each.partition, Draw):
                assert each.parent is not None
                draw = each.partition
                entry = {"of": self.numbers[each.parent], "sample": self.node(draw.rows)}
                entry |= {"rate": str(draw.rate), "tag": draw.tag}
            else:
                entry = {"data set": None}
            self._add(each, entry)
        return self.numbers[cell]

    def _add(self, cell: Cell, entry: dict[str, Any]) -> None:
        self.numbers[cell] = self._first.cells + len(self._cells)
        self._cells.append(entry)


def told_of(notion: Notion | None) -> dict[str, Any]:
    """What is told of a notion of privacy: in which numbers costs are counted."""
    order = {"order": str(notion.order)} if isinstance(notion, RenyiDP) else {}
    return {"kind": None if notion is None else name_of(notion), **order}


_TEXTS: NodeTable[tuple[str, ...]] = NodeTable()
MOST_TEXTS, LONGEST_TEXT = 8_192, 4_096  # kept: at most 32 MiB
HOLE = '{"node":null}'  # no text in a program reads so in JSON: its quotation marks have a backslash


def _texts(each: Node) -> tuple[str, ...]:
    """What certificates say of a node, cut where the numbers of its inputs stand, and before the list of its cells."""
    known = _TEXTS.get(each)
    if known is None:
        fields = [{"node": None}] if isinstance(each, Source) else [_field(f) for f in each.fields()]
        text = to_json({"kind": type(each).kind, "fields": fields, "claims": _claims(each)})
        if isinstance(each, (Rows, Value)):
            text = text.removesuffix("}}") + ',"cells":['
        known = tuple(text.split(HOLE))
        if len(text) <= LONGEST_TEXT:
            if len(_TEXTS) >= MOST_TEXTS:
                _TEXTS.clear()
            _TEXTS[each] = known
    return known


to_json = json.JSONEncoder(separators=(",", ":")).encode


def _field(value: Any) -> Any:
    """A field of a node; its number in a certificate is left open."""
    match value:
        case Lit():
            return {"literal": [value.type_, value.spelling]}
        case Node():
            return {"node": None}
        case Fraction():
            return {"fraction": str(value)}
        case tuple():
            return [_field(each) for each in value]
        case None | int() | str():
            return value
    return str(value)  # a label


def _claims(each: Node) -> dict[str, Any]:
    """The facts that the library derived; the cells are added for each certificate, as they have numbers."""
    match each:
        case Rows():
            return {
                "distance": _number(each.distance.value),
                "factor": _number(each.factor),
                "cap": _number(each.cap),
                "edits": _number(each.edits),
                "inserted": _number(each.lineage.inserted),
                "deleted": _number(each.lineage.deleted),
                "most": each.most,
            }
        case Expr():
            return {"domain": domain(each.domain)}
        case Value():
            return {
                "distance": _number(each.joint.linf),
                "size": each.joint.size,
                "grid": str(each.grid),
                "capped": bool(each.has_constant_bound),
                "monotone": bool(each.monotone),
            }
    return {}


_DESCRIBED: NodeTable[str] = NodeTable()


def _described(source: Source) -> str:
    """The public facts of a data set and their hash, as members of a JSON object."""
    text = _DESCRIBED.get(source)
    if text is None:
        public = facts(source.dataset)
        text = _DESCRIBED[source] = to_json({**public, "schema": schema_hash(public)})[1:-1]
    return text


def facts(dataset: Dataset) -> dict[str, Any]:
    """The public facts of a data set: its columns and its unit of protection."""
    columns = [[name, domain(each)] for name, each in dataset.columns]
    public: dict[str, Any] = {"columns": columns, "unit": [dataset.unit.column, dataset.unit.most_rows]}
    if dataset.population is not None:
        public["population"] = dataset.population.name
    if dataset.keys:
        public["keys"] = list(dataset.keys)
    return public


def schema_hash(public: dict[str, Any]) -> str:
    """A hash of the public facts: two certificates with the same hash speak of the same schema."""
    return hashlib.sha256(json.dumps(public, sort_keys=True).encode()).hexdigest()


def domain(each: d.Domain) -> dict[str, Any]:
    """A domain; bounds are exact fractions, labels are typed as constants are."""
    out: dict[str, Any] = {"type": each.dtype, "null": each.nullable}
    if isinstance(each, d.Numeric):
        out["range"] = [_number(bound) for bound in each.range]
    if isinstance(each, d.CategoryDomain):
        out["labels"] = [_label(label) for label in each.categories]
        out["ordered"] = each.ordered
    return out


def _label(label: Any) -> list[str]:
    lit = Lit.of(str(label) if isinstance(label, d.Interval) else label)
    return [lit.type_, lit.spelling]


def _number(x: Any) -> str | None:
    return None if x is None else str(Fraction(x))


def _mechanism(chosen: Mechanism) -> dict[str, Any]:
    """The kind of a mechanism and its parameters; fractions are text."""
    stated = {name: str(x) if isinstance(x, Fraction) else x for name, x in chosen.parameters().items()}
    return {"kind": chosen.kind, **stated}
