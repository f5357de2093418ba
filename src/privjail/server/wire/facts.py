"""The public facts of a data set, on the wire and back."""

from __future__ import annotations

from typing import Any

from privjail.budget.notions import Notion, name_of
from privjail.ops.rows.source import Dataset, Link, Population, Unit
from privjail.plan import domain as d
from privjail.plan.node import Lit
from privjail.server.wire import decode, encode
from privjail.server.wire import privjail_pb2 as pb

DOMAINS: dict[str, type[d.Domain]] = {
    cls.dtype: cls
    for cls in (d.IntDomain, d.FloatDomain, d.BoolDomain, d.CategoryDomain, d.TextDomain, d.UntypedDomain, d.TimeDomain)
}


def to_wire(dataset: Dataset, notion: Notion) -> pb.Dataset:
    columns = [pb.Column(name=name, domain=_domain(domain)) for name, domain in dataset.columns]
    unit = dataset.unit
    return pb.Dataset(
        name=dataset.name,
        columns=columns,
        unit_column=unit.column or "",
        unit_rows=unit.most_rows or 0,
        notion=name_of(notion),
        notion_parameters=[str(x) for x in notion.parameters()],
        population="" if dataset.population is None else dataset.population.name,
        keys=dataset.keys,
        links=map(str, dataset.links),
        epoch=dataset.epoch,
    )


def _domain(domain: d.Domain) -> pb.Domain:
    message = pb.Domain(dtype=domain.dtype, nullable=domain.nullable)
    if isinstance(domain, d.Numeric):
        message.lower.CopyFrom(encode.literal(Lit.of(domain.lower)))
        message.upper.CopyFrom(encode.literal(Lit.of(domain.upper)))
    if isinstance(domain, d.CategoryDomain):
        message.categories.extend(encode.literal(Lit.of(c)) for c in domain.categories)
        message.ordered = domain.ordered
    return message


def from_wire(message: pb.Dataset) -> Dataset:
    columns = tuple((column.name, _domain_back(column.domain)) for column in message.columns)
    unit = Unit(message.unit_column, message.unit_rows or None) if message.unit_column else Unit()
    people = Population(message.population, message.population) if message.population else None
    links = tuple(Link.read(each) for each in message.links)
    return Dataset(message.name, message.name, columns, unit, people, tuple(message.keys), links, message.epoch or 1)


def _domain_back(message: pb.Domain) -> d.Domain:
    cls: Any = DOMAINS[message.dtype]
    if issubclass(cls, d.Numeric):
        made: d.Domain = cls(message.nullable, *(decode.literal(b).value for b in (message.lower, message.upper)))
        return made
    if cls is d.CategoryDomain:
        labels = tuple(decode.literal(c).value for c in message.categories)
        return d.CategoryDomain(message.nullable, labels, message.ordered)
    plain: d.Domain = cls(message.nullable)
    return plain
