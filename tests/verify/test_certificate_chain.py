"""Links of certificates, put together again, say what a certificate by itself says."""

from __future__ import annotations

import hashlib
import json
import random
import time
from fractions import Fraction
from typing import Any

import pytest

from privjail.budget.notions import PureDP
from privjail.curator.certificates import MOST_BYTES
from privjail.errors import DPError
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.combine import Add
from privjail.ops.numbers.tally import Tally
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.recode import Recode
from privjail.ops.numbers.distinct import Distinct
from privjail.ops.rows.filter import keep
from privjail.ops.rows.source import Column, Dataset, Population, Source, Unit
from privjail.plan.domain import CategoryDomain, IntDomain
from privjail.plan.node import Lit
from privjail.release import Query
from privjail.verify import certificate, certificate_chain
from privjail.verify.certificate_chain import CertificateChain, whole
from privjail.verify.checker import check
from tests.verify.plans import Plans


class Log:
    """Stores links as a ledger does: each with a number, and only some of them."""

    def __init__(self) -> None:
        self.chain, self.stored = CertificateChain(), dict[int, dict[str, Any]]()

    def enter(self, asks: list[Query], notion: Any, stored: bool = True) -> int | None:
        text = self.chain.link(asks, lambda _: notion)
        if text is None:
            return None
        entry = 3 * len(self.stored) + 1 if stored else None
        if entry is not None:
            self.stored[entry] = json.loads(text)
        self.chain.settle(entry)
        return entry

    def read(self, entry: int) -> list[dict[str, Any]]:
        links: list[dict[str, Any]] = []
        while entry is not None:
            links.append(self.stored[entry])
            entry = links[-1]["after"]
        return list(whole(reversed(links)))


def meaning(made: dict[str, Any]) -> str:
    """What a certificate says, in whatever order its nodes and cells have numbers."""
    known: dict[tuple[str, int], str] = {}

    def named(what: str, number: int) -> str:
        if (what, number) not in known:
            item = made["nodes" if what == "node" else "cells"][number]
            known[what, number] = digest(said_of_node(item) if what == "node" else said_of_cell(item))
        return known[what, number]

    def inside(field: Any) -> Any:
        if isinstance(field, list):
            return [inside(each) for each in field]
        return named("node", field["node"]) if isinstance(field, dict) and "node" in field else field

    def said_of_node(node: dict[str, Any]) -> Any:
        claims = {**node["claims"]}
        cells = [named("cell", each) for each in claims.pop("cells", ())]
        source = node["kind"] == "source"
        return [node["kind"], made["data sets"][node["fields"][0]] if source else inside(node["fields"]), claims, cells]

    def said_of_cell(cell: dict[str, Any]) -> Any:
        if "of" not in cell:
            dataset = made["data sets"][cell["data set"]]
            return dataset.get("population") or dataset["name"]
        parts = {name: named("node", cell[name]) for name in ("base", "by", "sample") if name in cell}
        return [named("cell", cell["of"]), {**cell, "of": None, **parts}]

    release = made["release"]
    charges = release["charges"] and [[named("cell", cell), cost] for cell, cost in release["charges"]]
    return digest([release | {"value": named("node", release["value"]), "charges": charges}, len(made["nodes"])])


def digest(said: Any) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def several(plans: Plans, most: int) -> list[Query]:
    return [ask for ask in (plans.ask() for _ in range(most)) if ask is not None]


def alone(ask: Query, plans: Plans) -> dict[str, Any] | None:
    """Its certificate, written by itself; None where this analyst may not ask it."""
    try:
        return certificate.of(ask, plans.notions)
    except DPError:
        return None


def test_links_of_random_sessions_say_what_certificates_by_themselves_say() -> None:
    compared = shared = 0
    for seed in range(150):
        plans, pick, log = Plans(seed), random.Random(seed), Log()
        notion = next(iter(plans.notions.values()))
        wanted: dict[int, list[dict[str, Any]]] = {}
        for _ in range(4):
            asks = several(plans, pick.randint(1, 3))
            made = [alone(ask, plans) for ask in asks]
            if not asks or None in made:
                continue
            entry = log.enter(asks, notion, stored=pick.random() < 0.8)
            if entry is not None:
                wanted[entry] = made  # type: ignore[assignment]
        for entry, made in wanted.items():
            found = log.read(entry)
            assert list(map(meaning, found)) == list(map(meaning, made)), seed
            assert [check(each).verdict for each in found] == [check(each).verdict for each in made], seed
            compared += len(found)
            shared += log.stored[entry]["after"] is not None
    assert compared > 400 and shared > 100


def test_meaning_sees_a_changed_claim_and_a_changed_price() -> None:
    """So that the comparison above can fail."""
    plans = Plans(3)
    [ask] = several(plans, 1)
    made = alone(ask, plans)
    assert made is not None
    cheaper = json.loads(json.dumps(made))
    cheaper["release"]["charges"][0][1] = ["1/1000"]
    closer = json.loads(json.dumps(made))
    closer["nodes"][-1]["claims"]["distance"] = "1/2"
    assert len({meaning(made), meaning(cheaper), meaning(closer)}) == 3


def asked(seed: int) -> tuple[Query, Any]:
    plans = Plans(seed)
    [ask] = several(plans, 1)
    return ask, next(iter(plans.notions.values()))


def test_what_was_said_is_not_said_again() -> None:
    (ask, notion), log = asked(3), Log()
    first, again = log.enter([ask], notion), log.enter([ask], notion)
    assert first is not None and again is not None
    assert log.stored[first]["nodes"] and not log.stored[again]["nodes"] and not log.stored[again]["data sets"]
    assert log.read(first) == log.read(again)


def test_a_population_is_named_by_a_table_that_the_release_reads() -> None:
    people, columns = Population("p", "people"), (("i", IntDomain(True, -3, 5)),)
    other = Source(Dataset("shops", "shops", columns, Unit()))
    stays, visits = (Source(Dataset(name, name, columns, Unit("i", 1), people)) for name in ("stays", "visits"))
    log = Log()
    entry = log.enter([Query(Tally(stays, (), None), Laplace(Fraction(1)))], PureDP())
    both = Query(Add(Tally(other, (), None), Tally(visits, (), None)), Laplace(Fraction(1)))
    entry = log.enter([both], PureDP())
    assert entry is not None
    [found] = log.read(entry)
    assert [each["name"] for each in found["data sets"]] == ["shops", "visits"]
    assert [each for each in found["cells"] if "of" not in each] == [{"data set": 1}, {"data set": 0}]
    assert check(found).verdict == "ok"


def test_the_notion_of_a_data_set_is_told_though_the_link_that_brought_it_charged_it_nothing() -> None:
    paid, other = (Source(Dataset(name, name, (("i", IntDomain(False, 0, 5)),), Unit())) for name in ("paid", "other"))
    nobody = keep(other, IsIn(Column(other, "i"), ()))
    log = Log()
    log.enter([Query(Add(Tally(paid, (), None), Tally(nobody, (), None)), Laplace(Fraction(1)))], PureDP())
    entry = log.enter([Query(Tally(other, (), None), Laplace(Fraction(1)))], PureDP())
    assert entry is not None
    [found] = log.read(entry)
    assert found["data sets"][0]["notion"] == {"kind": "pure"} and check(found).verdict == "ok"


@pytest.mark.parametrize("settled", [True, False])
def test_after_one_that_was_not_stored_a_new_chain_begins(settled: bool) -> None:
    (ask, notion), log = asked(3), Log()
    if settled:
        log.enter([ask], notion, stored=False)
    else:
        log.chain.link([ask], lambda _: notion)  # a deadline interrupted the request
    entry = log.enter([ask], notion)
    assert entry is not None and log.stored[entry]["after"] is None and log.stored[entry]["nodes"]


class TimeUp(BaseException):
    pass


class Interrupted(CertificateChain):
    """A deadline interrupts it where it is about to set one of its attributes."""

    left = 0  # so many are set before; 0: it is not interrupted

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "left" and self.left:
            self.left -= 1
            if not self.left:
                raise TimeUp
        super().__setattr__(name, value)


@pytest.mark.parametrize("stored", [True, False])
def test_wherever_a_deadline_interrupts_later_links_say_what_they_should(
    stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while a new chain begins, because the last one is full or its link was not stored."""
    monkeypatch.setattr(certificate_chain, "LINKS", 2)
    plans, interrupted = Plans(3), True
    asks = [ask for ask in several(plans, 40) if alone(ask, plans) is not None][:5]
    notion, stop = next(iter(plans.notions.values())), 0
    while interrupted:
        log, stop = Log(), stop + 1
        log.chain = chain = Interrupted()
        log.enter([asks[0]], notion)
        log.enter([asks[1]], notion)
        chain.left = stop
        try:
            log.enter([asks[2]], notion, stored)
        except TimeUp:
            pass
        else:
            interrupted, chain.left = False, 0
        for ask in asks[3:]:
            entry = log.enter([ask], notion)
            assert entry is not None
            assert [*map(meaning, log.read(entry))] == [meaning(certificate.of(ask, plans.notions))], stop
    assert stop > 10


def test_a_chain_ends_after_some_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate_chain, "LINKS", 3)
    (ask, notion), log = asked(3), Log()
    entries = [log.enter([ask], notion) for _ in range(4)]
    assert [log.stored[entry]["after"] for entry in entries if entry is not None] == [None, 1, 4, None]


def test_a_chain_ends_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an answer and certificate that a curator removes as too old ends none that is much newer."""
    (ask, notion), now = asked(3), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    log, found = Log(), []
    for now[0] in (0.0, 43_200.0, 86_400.0, 86_401.0, 172_000.0):
        entry = log.enter([ask], notion)
        assert entry is not None
        found.append(log.stored[entry]["after"])
    assert found == [None, 1, 4, None, 10]


def test_a_chain_of_long_links_ends_before_it_is_too_large_to_be_read() -> None:
    labels = tuple(f"a label of some length, number {i}" for i in range(10_000))
    source = Source(Dataset("codes", "codes", (("code", CategoryDomain(False, labels)),), Unit()))
    log, kept, longest = Log(), [], 0
    for i in range(24):
        recoded = Recode(Column(source, "code"), ((Lit.of(labels[0]), Lit.of(f"new {i}")),), 1)
        kept.append(Distinct(source, recoded))  # as a session does: its nodes are alive
        entry = log.enter([Query(kept[-1], Laplace(Fraction(1)))], PureDP())
        size = 0
        while entry is not None:
            size += len(json.dumps(log.stored[entry]))
            entry = log.stored[entry]["after"]
        longest = max(longest, size)
    assert 2**21 < longest < MOST_BYTES / 8


def test_of_large_requests_none_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written of them, which would take long, and the chain goes on."""
    (ask, notion), log = asked(3), Log()
    first = log.enter([ask], notion)
    assert log.enter([ask] * 101, notion) is None
    larger, written = several(Plans(4), 1), []
    monkeypatch.setattr(certificate, "_texts", written.append)
    monkeypatch.setattr(certificate_chain, "REQUEST_NODES", 3)
    assert log.enter(larger, notion) is None and not written
    entry = log.enter([ask], notion)
    assert entry is not None and log.stored[entry]["after"] == first and not log.stored[entry]["nodes"]
