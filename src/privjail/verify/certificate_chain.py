"""Certificates of a session's releases, each written as what the ones before it do not say yet.

The releases of a session share most of their plan. So a *link* holds only the data sets, nodes and cells that no
earlier link of its chain holds, and the number of the ledger's entry that has the link before it. Numbers go on from
link to link. ``whole`` puts the links together again and gives certificates that stand alone, as ``privjail.certify``
writes them.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from privjail.budget.notions import Notion
from privjail.plan.node import Lit, Node, children, inputs_first
from privjail.plan.node_table import NodeTable
from privjail.release import Query
from privjail.verify.certificate import NOTHING, VERSION, Writer, object_of, to_json, told_of

LINKS = 256  # in a chain: reading a certificate reads all links before it
CHAIN_NODES = 4_000  # numbered in a chain; then a new one begins
CHAIN_BYTES = 2**22  # of its links, where domains have many labels; a reader takes 64 MiB, the last link included
CHAIN_SECONDS = 86_400.0  # from its first link to its last: what removes a link ends all later ones of its chain
REQUEST_NODES, REQUEST_RELEASES = 2_000, 100  # new in one link: of larger requests no certificate is kept


class CertificateChain:
    """Writes the links of one session.

    What was given a number counts only once its link is stored: ``settle`` says whether it was. If it was not, or if a
    deadline interrupted the work in between, the next link begins a new chain.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self, counted: Any = None) -> None:
        self._open = True  # first: what a deadline leaves half done here is begun again
        self._numbers: NodeTable[int] = NodeTable()
        self._sizes, self._links, self._bytes = NOTHING, 0, 0
        self._last: int | None = None  # the entry that has the newest link
        self._begun = time.monotonic()
        self._counted = counted  # the notion of a block of accounting, if the releases were made in one
        self._open = False  # a link was begun, and it is not known whether it was stored

    def link(self, asks: list[Query], notion: Callable[[str], Notion], block: Notion | None = None) -> str | None:
        """The next link, for the releases of one request; None if they are too large.

        ``notion``: of each account. ``block``: that of the block of accounting, if the request is made in one. Its
        releases are counted in it, so what a chain says of data sets holds inside, or outside, of blocks only.
        """
        if len(asks) > REQUEST_RELEASES:
            return None
        counted = None if block is None else told_of(block)
        full = self._links >= LINKS or self._sizes.nodes > CHAIN_NODES or self._bytes > CHAIN_BYTES
        old = time.monotonic() - self._begun > CHAIN_SECONDS
        if self._open or full or old or counted != self._counted:
            self._begin(counted)
        values: list[Node] = [ask.value for ask in asks]
        new = itertools.islice(inputs_first(values, self._new_inputs), REQUEST_NODES + 1)
        if sum(1 for _ in new) > REQUEST_NODES:  # to write them would take long
            return None
        self._open = True
        # Also of data sets that are read here and charged by a later link only.
        notion_of = (lambda root: notion(str(root.partition))) if block is None else (lambda _: block)
        writer = Writer(notion_of, self._numbers, self._sizes)
        releases = []
        for ask in asks:
            releases.append(writer.release(ask))
            if writer.sizes.nodes - self._sizes.nodes > REQUEST_NODES:
                return None
        after = {"after": to_json(self._last), **writer.members(), "releases": to_json(releases)}
        text = object_of(after)
        self._sizes, self._bytes = writer.sizes, self._bytes + len(text)
        return text

    def _new_inputs(self, node: Node) -> list[Node]:
        return [each for each in children(node) if not isinstance(each, Lit) and each not in self._numbers]

    def settle(self, entry: int | None) -> None:
        """The link was stored with this entry; or it was not."""
        if entry is None:
            self._begin()
        else:
            self._last, self._links, self._open = entry, self._links + 1, False


def whole(links: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The certificates of the last of some links, which are all links of its chain up to there, in order.

    One by one: each of them holds the plan that all of them share.
    """
    parts: dict[str, list[Any]] = {"data sets": [], "nodes": [], "cells": []}
    releases: list[dict[str, Any]] = []
    for link in links:
        for name, known in parts.items():
            known.extend(link[name])
        releases = link["releases"]
    return (_alone(parts, release) for release in releases)


def _alone(parts: dict[str, list[Any]], release: dict[str, Any]) -> dict[str, Any]:
    """One release with what it rests on, numbered from 0."""
    nodes, cells = _needed(parts, release)
    datasets = {parts["nodes"][n]["fields"][0] for n in nodes if parts["nodes"][n]["kind"] == "source"}
    new = {
        "data sets": {old: i for i, old in enumerate(sorted(datasets))},
        "nodes": {old: i for i, old in enumerate(sorted(nodes))},
        "cells": {old: i for i, old in enumerate(sorted(cells))},
    }
    charges = release["charges"]
    return {
        "privjail certificate": VERSION,
        "data sets": [parts["data sets"][old] for old in new["data sets"]],
        "nodes": [_node(parts["nodes"][old], new) for old in new["nodes"]],
        "cells": [_cell(parts["cells"][old], new, parts["data sets"]) for old in new["cells"]],
        "release": {
            **release,
            "value": new["nodes"][release["value"]],
            "charges": None if charges is None else [[new["cells"][cell], cost] for cell, cost in charges],
        },
    }


def _needed(parts: dict[str, list[Any]], release: dict[str, Any]) -> tuple[set[int], set[int]]:
    """The nodes and cells that a release rests on."""
    nodes: set[int] = set()
    cells: set[int] = set()
    ahead = [("node", release["value"]), *(("cell", cell) for cell, _ in release["charges"] or ())]
    while ahead:
        what, number = ahead.pop()
        if number in (nodes if what == "node" else cells):
            continue
        if what == "node":
            nodes.add(number)
            node = parts["nodes"][number]
            if node["kind"] != "source":
                ahead += [("node", each) for each in _inputs(node["fields"])]
            ahead += [("cell", each) for each in node["claims"].get("cells", ())]
        else:
            cells.add(number)
            cell = parts["cells"][number]
            ahead += [("node", cell[name]) for name in ("base", "by", "sample") if name in cell]
            ahead += [("cell", cell["of"])] if "of" in cell else []
    return nodes, cells


def _inputs(field: Any) -> Iterator[int]:
    """The numbers of the nodes in a field."""
    if isinstance(field, list):
        for each in field:
            yield from _inputs(each)
    elif isinstance(field, dict) and "node" in field:
        yield field["node"]


def _renumbered(field: Any, numbers: dict[int, int]) -> Any:
    if isinstance(field, list):
        return [_renumbered(each, numbers) for each in field]
    if isinstance(field, dict) and "node" in field:
        return {"node": numbers[field["node"]]}
    return field


def _node(node: dict[str, Any], new: dict[str, dict[int, int]]) -> dict[str, Any]:
    source, claims = node["kind"] == "source", node["claims"]
    fields = [new["data sets"][node["fields"][0]]] if source else _renumbered(node["fields"], new["nodes"])
    if "cells" in claims:
        claims = {**claims, "cells": [new["cells"][cell] for cell in claims["cells"]]}
    return {**node, "fields": fields, "claims": claims}


def _cell(cell: dict[str, Any], new: dict[str, dict[int, int]], datasets: list[Any]) -> dict[str, Any]:
    kinds = {"of": "cells", "base": "nodes", "by": "nodes", "sample": "nodes"}
    changed = {name: new[kind][cell[name]] for name, kind in kinds.items() if name in cell}
    if cell.get("data set") is not None:  # the first table of a population may be one that this release does not read
        account = _account(datasets[cell["data set"]])
        changed["data set"] = next(i for old, i in new["data sets"].items() if _account(datasets[old]) == account)
    return {**cell, **changed}


def _account(dataset: dict[str, Any]) -> tuple[bool, str]:
    """Who pays for a data set: the population that it is about, or itself."""
    people = dataset.get("population")
    return (False, dataset["name"]) if people is None else (True, people)
