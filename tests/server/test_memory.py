"""Memory of a real jail under an address-space limit: what costs far more than it looks (V-53)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from privjail.curator.folder import JailFolder
from privjail.server.wire import privjail_pb2 as pb

from .jails import ENV, free_port
from .raw import Analyst, Plan, listed, number, ref, text, whole

ROWS = 200_000  # twice as many are counted in batches
ROOM = 300  # MiB of address space that a jail gets on top of what it takes to answer a count
SCHEMA = {
    "a": {"type": "Int64", "range": [0, 3161]},
    "b": {"type": "Int64", "range": [0, 3161]},
    "x": {"type": "Float64", "range": [0, 1]},
}
JAIL = """
import resource, sys
from privjail.curator.__main__ import main
most = int(sys.argv.pop(1))
if most:
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
main()
"""


def make(where: Path, rows: int) -> dict[str, Any]:
    """A jail with one data set, and the connection file of its user."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.integers(0, 3162, rows), "b": rng.integers(0, 3162, rows), "x": rng.random(rows)})
    frame.write_parquet(where / "people.parquet")
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    folder.add_dataset("people", str(where / "people.parquet"), SCHEMA, [1000], "pure", (None, 1))
    file = folder.add_user("ann", 30)
    folder.grant("ann", "people", [1000], False, None)
    folder.ledger.close()
    return file


@contextlib.contextmanager
def serving(where: Path, file: dict[str, Any], most: int, *options: str) -> Iterator[tuple[Analyst, int]]:
    """The jail, served by a process of its own that has no more than this much address space (0: any)."""
    args = ["serve", "--jail", str(where / "jail"), "--insecure-loopback", *options]
    env = {**ENV, "MALLOC_ARENA_MAX": "2", "POLARS_MAX_THREADS": "2"}
    process = subprocess.Popen(
        [sys.executable, "-c", JAIL, str(most), *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line.startswith("serving on"), process.stderr.read()
        yield Analyst(SimpleNamespace(port=file["address"].rpartition(":")[2]), file["token"]), process.pid
    finally:
        process.kill()
        process.communicate()


def address_space(pid: int, what: str = "VmPeak") -> int:
    """Bytes."""
    return 1024 * int(re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])  # type: ignore[index]


def honest(first: int = 10**6) -> Plan:
    plan = Plan(first)
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(plan.column("x"))))


def offsets(rows: Callable[[Plan], int], steps: int) -> Plan:
    """One element of ten million counts, after some numbers were added to all of them."""
    plan = Plan()
    table = plan.count(rows(plan), plan.column("a"), plan.column("b"))
    for i in range(steps):
        table = plan.add("offset", ref(table), pb.Field(fraction=str(1000 + i)))
    return plan.ask(plan.add("element", ref(table), number(5)))


def everybody(plan: Plan) -> int:
    return plan.source


def nobody(plan: Plan) -> int:
    none = plan.add("isin", ref(plan.column("a")), listed())
    return plan.add("filter", ref(plan.source), ref(none))


def columns_all_needed_at_once(n: int) -> Plan:
    """n columns, all of which are added up in one order and then in another: none can be dropped in between."""
    plan = Plan()
    x = plan.column("x")
    parts = [plan.add("clip", ref(x), pb.Field(literal=pb.Literal(real=i / 10_000)), one()) for i in range(n)]
    total = parts[0]
    for each in (*parts[1:], *parts):
        total = plan.add("clip", ref(plan.add("arithmetic", text("+"), ref(total), ref(each))), zero(), one())
    return plan.ask(plan.add("tally", ref(plan.source), listed(), ref(total)))


def many_tables(n: int) -> Plan:
    """n tables of 3,162 sums each, every one of another column."""
    plan = Plan()
    x, a = plan.column("x"), plan.column("a")
    for i in range(n):
        part = plan.add("clip", ref(x), pb.Field(literal=pb.Literal(real=i / 10_000)), one())
        plan.ask(plan.add("tally", ref(plan.source), listed(ref(a)), ref(part)), epsilon="1/1000")
    return plan


def zero() -> pb.Field:
    return pb.Field(literal=pb.Literal(real=0.0))


def one() -> pb.Field:
    return pb.Field(literal=pb.Literal(real=1.0))


@pytest.fixture(
    scope="module", params=[pytest.param(ROWS, id="short"), pytest.param(2 * ROWS, id="long", marks=pytest.mark.slow)]
)
def jail(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], int]:
    """A jail's folder, the file of its user, and the address space that it needs to answer a count."""
    where = tmp_path_factory.mktemp("memory")
    file = make(where, request.param)
    with serving(where, file, 0) as (ann, pid):
        answer = ann.send(honest())
        assert len(answer) == 1, answer
        return where, file, address_space(pid)


BOMBS = {
    "2 offsets": (lambda: offsets(everybody, 2), "memory for the values of one request"),
    "6 offsets": (lambda: offsets(everybody, 6), "memory for the values of one request"),
    "6 offsets for nothing": (lambda: offsets(nobody, 6), "memory for the values of one request"),
    "250 columns": (lambda: columns_all_needed_at_once(250), None),
    "20 tables": (lambda: many_tables(20), None),
    "2000 columns": (lambda: columns_all_needed_at_once(2000), "columns that a request needs at the same time"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_stays_within_the_memory_of_the_jail_v53(jail: tuple[Path, dict[str, Any], int], bomb: str) -> None:
    """V-53: refused from public facts before the charge, or computed; an honest release is answered after it."""
    where, file, needed = jail
    make_plan, refusal = BOMBS[bomb]
    with serving(where, file, needed + ROOM * 2**20) as (ann, pid):
        assert len(ann.send(honest())) == 1
        before, plan = spent(ann), make_plan()
        answer = ann.send(plan)
        if refusal is None:
            assert not isinstance(answer, tuple), answer
            assert len(answer) == len(plan.request.asks) and spent(ann) > before
        else:
            code, details = answer
            assert code == "FAILED_PRECONDITION" and json.loads(details)[0] == "LimitError" and refusal in details
            assert spent(ann) == before
        assert len(ann.send(honest(2 * 10**6))) == 1
        print(f"{bomb}: {(address_space(pid) - needed) >> 20} MiB more than a count")


def test_the_limit_that_the_curator_sets_is_the_one_that_holds(jail: tuple[Path, dict[str, Any], int]) -> None:
    where, file, needed = jail

    def by_a(first: int, most: int) -> Plan:
        plan = Plan(first)
        few = plan.add("clip", ref(plan.column("b")), whole(0), whole(most))
        return plan.ask(plan.count(None, plan.column("a"), few))

    with serving(where, file, needed + ROOM * 2**20, "--memory", "256M") as (ann, _):
        assert "over this jail's limit of 16777216" in ann.send(by_a(1, 99))[1]
        assert len(ann.send(by_a(100, 9))) == 1


def spent(ann: Analyst) -> Fraction:
    reply = pb.BudgetReply.FromString(ann.call("Budget", pb.BudgetRequest(session=ann.session)))
    return Fraction(reply.balances[0].spent[0])
