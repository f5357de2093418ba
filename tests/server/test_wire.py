"""docs/wire.md says what the code does; and what no part of the code does (V-27, V-32, V-35)."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import re
import sys
import time
import typing
import urllib.error
import urllib.request
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any

import grpc
import pytest
from .wire_fixtures import SCHEMA, Held, address, connected, make_jail, people, served

import privjail as pj
from privjail import pandas as pd
from privjail import session
from privjail.mechanisms.mechanism import declared_parameters
from privjail.server.wire import decode, encode, facts
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.limits import Limits
from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node, children
from privjail.plan.rows import Rows
from privjail.plan.value import Value

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "privjail"
PAGE = ROOT / "docs" / "wire.md"


# -- the page


def type_name(type_: Any) -> str:
    if type_ == encode.LABELS:
        return "list of labels"
    origin, inner = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Union, UnionType):
        return " or ".join(map(type_name, inner))
    if origin is tuple and inner[-1] is Ellipsis:
        return f"list of {plural(type_name(inner[0]))}"
    if origin is tuple:
        return f"pair ({', '.join(map(type_name, inner))})"
    known = {int: "number", str: "text", Fraction: "fraction", Lit: "literal", type(None): "none", Rows: "rows",
             Expr: "column", Value: "value", Source: "source"}  # fmt: skip
    return known.get(type_) or type_.kind


def plural(name: str) -> str:
    head, _, rest = name.partition(" ")
    return head + ("s " if rest else "s") + rest


def kinds_table() -> str:
    lines = ["| kind | is | fields | |", "|---|---|---|---|"]
    for cls in (Rows, Expr, Value):
        for kind, made in sorted(decode.KINDS.items()):
            if issubclass(made, cls):
                fields = ", ".join(
                    f"{name}: {type_name(type_)}"
                    for name, type_ in zip(made.__match_args__, encode.declared(made), strict=True)  # type: ignore[attr-defined]
                )
                about = (made.__doc__ or "").strip().splitlines()[0].partition(" Distance:")[0].replace("|", "\\|")
                lines.append(f"| {kind} | {type_name(cls)} | {fields} | {about.replace('``', '`')} |")
    return "\n".join(lines)


def mechanisms_table() -> str:
    lines = ["| kind | fields | value | answer | |", "|---|---|---|---|---|"]
    for kind, made in sorted(decode.MECHANISMS.items()):
        hints = typing.get_type_hints(made)
        names = {name: "number" if type_ is bool else type_name(hints[name])
                 for name, (type_, _) in declared_parameters(made).items()}  # fmt: skip
        fields = ", ".join(f"{name}: {type_}" for name, type_ in names.items())
        shape = ("number or vector", "`number` or `numbers`")
        shape = shape if made.adds_noise else ("vector", "`position`, `positions` or `nothing`")
        shape = ("`key_counts`", "`keys`; `numbers` without items if none comes out") if made.for_keys else shape
        about = inspect.cleandoc(made.__doc__ or "").splitlines()[0].replace("|", "\\|")
        lines.append(f"| {kind} | {fields} | {shape[0]} | {shape[1]} | {about} |")
    return "\n".join(lines)


def limits_table() -> str:
    lines = ["| limit | |", "|---|---|"]
    for field in dataclasses.fields(Limits):
        value = field.default
        assert isinstance(value, (int, float))
        shown = (
            f"{value / 2**20:g} MiB" if "bytes" in field.name else f"{value:,g}" if value < 1000 else f"{int(value):,}"
        )
        lines.append(f"| {field.name.replace('_', ' ')} | {shown} |")
    return "\n".join(lines)


def page_with_tables(text: str) -> str:
    for name, table in (
        ("kinds", kinds_table()),
        ("mechanisms", mechanisms_table()),
        ("limits", limits_table()),
    ):
        text = re.sub(f"<!-- {name} -->\n.*?<!-- end -->", lambda _, n=name, t=table: f"<!-- {n} -->\n{t}\n<!-- end -->", text,
                      count=1, flags=re.S)  # fmt: skip
    return text


def test_the_page_lists_every_kind_mechanism_and_limit() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert page_with_tables(text) == text, "run: python -m tests.server.test_wire"


def test_the_page_names_every_call_message_field_and_error() -> None:
    text = PAGE.read_text(encoding="utf-8")
    service = pb.DESCRIPTOR.services_by_name["Jail"]
    for method in service.methods:
        row = next(line for line in text.splitlines() if line.startswith(f"| {method.name} |"))
        for field in (*method.input_type.fields, *method.output_type.fields):
            if method.name in ("Open", "Release", "Describe") and field.name not in ("answers",) and (
                field.containing_type.name != "Dataset"
            ):  # fmt: skip
                assert f"`{field.name}`" in row, (method.name, field.name)
    for field in pb.Field.DESCRIPTOR.oneofs_by_name["value"].fields:
        assert f"`{field.name}`" in text, field.name
    for field in (*pb.Mechanism.DESCRIPTOR.fields, *pb.Answer.DESCRIPTOR.fields):
        assert f"`{field.name}`" in text or field.name == "kind", field.name
    for name in ("LimitError", "Malformed", "SessionError", "Busy", *(n for n in dir(pj) if n.endswith("Error"))):
        assert name in text or name in ("PrisonerError", "RefusedError"), name


def test_the_generated_code_is_that_of_the_proto_file() -> None:
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    out = Path(os.environ.get("TMPDIR", "/tmp")) / f"proto-{os.getpid()}"
    done = protoc.main(["", f"-I{SRC.parent}", f"--descriptor_set_out={out}", "privjail/server/wire/privjail.proto"])
    made = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    out.unlink()
    ours = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(ours)

    assert done == 0
    assert [m.name for m in ours.message_type] == [m.name for m in made.message_type]
    for left, right in zip(ours.message_type, made.message_type, strict=True):
        assert [(f.name, f.number, f.type) for f in left.field] == [(f.name, f.number, f.type) for f in right.field]


def test_the_analysts_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    sys.path.insert(0, str(ROOT / "examples"))
    import census

    files = make_jail(tmp_path / "jail", {"census": Held(census.generate(500), census.SCHEMA, budget=(2,))})
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs/guide/jail-analyst.md").read_text(), re.S))
    with served(tmp_path / "jail", insecure_loopback=False) as running:
        file = {**files["ann"], "address": f"localhost:{running.port}"}
        (tmp_path / "ann.privjail").write_text(json.dumps(file))
        names: dict[str, Any] = {}
        exec(compile(code, "guide", "exec"), names)  # noqa: S102

    assert code.count("reveal") == 3
    assert isinstance(names["women"], pd.PrivDataFrame)


# -- there and back


def test_facts_travel_unchanged(tmp_path: Path) -> None:
    """What a client knows of a data set is what the schema says (V-19), to the last bit."""
    schema = {**SCHEMA, "odd": {"type": "Float64", "range": [-5e-324, 1.7976931348623157e308]},
              "flag": {"type": "category", "categories": [True, False, 1.5, "x", -3]}}  # fmt: skip
    frame = people().assign(odd=1.0, flag="x")
    files = make_jail(tmp_path / "jail", {"people": Held(frame, schema), "loose": Held(frame, schema, ("age", None))})
    with served(tmp_path / "jail") as running:
        connection = connected(running, files["ann"])
        for name in ("people", "loose"):
            there = running.service.catalogue.source(name, "ann").dataset
            assert connection.source(name).dataset == there
            assert facts.from_wire(facts.to_wire(there, pj.PureDP())) == there
        connection.close()


def nodes_of_many_programs() -> list[Node]:
    from .programs import Program

    from privjail.plan.node import children
    from privjail.release import Query

    kept: dict[Node, None] = {}

    def collect(asks: list[Query]) -> Any:
        waiting: list[Node] = [ask.value for ask in asks]
        while waiting:
            each = waiting.pop()
            if each not in kept:
                kept[each] = None
                waiting += children(each)
        raise pj.PlanError("not released")

    frame = pd.from_frame(people(), "people", SCHEMA)
    before = session.release, pd.read_csv
    session.release, pd.read_csv = collect, lambda name: frame
    try:
        for seed in range(150):
            Program(seed, "people").run()
    finally:
        session.release, pd.read_csv = before
    return [n for n in kept if type(n).kind in decode.KINDS]


def test_nodes_come_back_as_themselves() -> None:
    nodes = nodes_of_many_programs()
    numbers = {n: i for i, n in enumerate(nodes)}
    back = dict(enumerate(nodes))
    sources = {n: 10**6 for n in {n.source for n in nodes if hasattr(n, "source")} if isinstance(n, Source)}
    back |= {i: n for n, i in sources.items()}

    def sent(group: list[Node]) -> list[Node]:
        message = encode.nodes(group, 1, lambda n: numbers.get(n, sources.get(n, 10**6)))
        cls, several = decode.nodes(pb.Node.FromString(message.SerializeToString()), back.get)
        return [decode.make(cls, values) for values in several]

    for each in nodes:
        assert sent([each]) == [each]
    kinds = {type(n) for n in nodes}
    for kind in kinds:  # several at once, too
        group = [n for n in nodes if type(n) is kind]
        assert sent(group) == group

    assert len(kinds) > 30


def test_what_was_not_sent_yet_goes_in_groups_each_after_what_it_refers_to() -> None:
    nodes = nodes_of_many_programs()
    known = {id(n) for n in nodes[::7]}
    found = encode.unsent(nodes, known)
    flat = [n for group in found for n in group]
    place = {n: i for i, n in enumerate(flat)}

    assert all(len({type(n) for n in group}) == 1 for group in found)
    assert len(place) == len(flat) and not known & set(map(id, flat))
    assert {n for n in nodes if id(n) not in known} <= set(flat)
    for each in flat:
        needed = [child for child in children(each) if not isinstance(child, Lit) and id(child) not in known]
        assert all(place[child] < place[each] for child in needed)
    assert len(found) < len(flat) / 5


# -- time, logs and metrics


@pytest.mark.parametrize("quantum", [0.25])
def test_answers_leave_on_a_fixed_clock(tmp_path: Path, quantum: float) -> None:
    """V-28: successes and refusals of users alike, near a whole multiple of the quantum after they came in."""
    files = make_jail(tmp_path / "jail", {"people": Held(people(), budget=(3,))})
    times = []
    with served(tmp_path / "jail", time_quantum=quantum) as running:
        session._connection = connected(running, files["ann"])
        df = pd.read_csv("people")
        work = [
            lambda: df.shape[0].reveal(eps=1),
            lambda: df.groupby("age").size().reveal(eps=1),
            lambda: df.shape[0].reveal(eps=50),
            lambda: pd.read_csv("nosuch"),
            lambda: pj.consumed_privacy_budget(),
        ]
        for each in work:
            start = time.monotonic()
            try:
                each()
            except pj.DPError:
                pass
            times.append(time.monotonic() - start)
        session.disconnect()

    for took in times:
        assert took >= quantum * 0.99
        assert took % quantum < 0.6 * quantum or os.getloadavg()[0] > 2, times


def test_metrics_count_and_nothing_else(tmp_path: Path) -> None:
    """V-29."""
    files = make_jail(tmp_path / "jail", {"people": Held(people(), budget=(3,))})
    with served(tmp_path / "jail", metrics_port=0) as running:
        port = running.metrics.server_address[1]
        session._connection = connected(running, files["ann"])
        df = pd.read_csv("people")
        df.shape[0].reveal(eps=1)
        with pytest.raises(pj.BudgetExceeded):
            df.shape[0].reveal(eps=50)
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/jail.key")
        session.disconnect()

    lines = [line for line in text.splitlines() if not line.startswith("#")]
    # A name, public labels (a data set, a kind of refusal, the edge of a bucket), and a number.
    shape = r'privjail_[a-z_]+(\{[a-z]+="[\w.+:-]*"(,[a-z]+="[\w.+:-]*")*\})? [\d.e+-]+'
    assert [line for line in lines if not re.fullmatch(shape, line)] == []
    assert (
        "privjail_releases_total 1" in lines and "privjail_refused_total 1" in lines and "privjail_sessions 1" in lines
    )


# -- what is not there


def calls_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Call):
            names.add(ast.unparse(each.func))
        if isinstance(each, ast.Import):
            names |= {f"import {a.name}" for a in each.names}
        if isinstance(each, ast.ImportFrom):
            names.add(f"import {each.module}")
    return names


BANNED = {
    "eval", "exec", "compile", "__import__", "import pickle", "import marshal", "import shelve", "import dill",
    "import cloudpickle", "import joblib", "os.system", "os.popen", "import subprocess", "import code", "import runpy",
}  # fmt: skip


#: What a curator runs on programs that she was sent, on dummy data, before she grants anything; what runs published
#: packages in environments of their own, to judge them; and what runs an analyst's own program in her process, on
#: made-up rows. Not part of a jail. And the curator's own command, from the jail's settings, that sends an alert.
AUDIT = {
    SRC / "server" / "alerts.py",
    *(SRC / "verify" / f"{name}.py" for name in ("audit/auditor", "audit/run", "audit/taps", "checks/published")),
    SRC / "verify" / "checks" / "published_draws.py",  # runs there, with the adapter that a tester names
    SRC / "verify" / "certified.py",  # runs the checker that was extracted from the proofs
    SRC / "rehearsals" / "run.py",
}


@pytest.mark.parametrize("path", sorted({*SRC.rglob("*.py")} - AUDIT), ids=lambda p: str(p.relative_to(SRC)))
def test_no_code_is_run_that_was_not_written_here(path: Path) -> None:
    """V-27, V-32, V-35: no pickle, no eval, no sandbox to escape from; operations are sent, never code."""
    assert calls_in(path) & BANNED == set()


def test_the_ban_would_catch_something(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import pickle\nfrom marshal import loads\neval('1')\n")

    assert calls_in(tmp_path / "x.py") & BANNED == {"import pickle", "import marshal", "eval"}


def test_the_path_of_a_request_opens_no_file() -> None:
    """V-33: files are opened by the catalogue alone, at the places that the ledger names."""
    for name in (
        "wire/decode",
        "wire/encode",
        "wire/facts",
        "service",
        "sessions",
        "weigh",
        "ledger/charging",
        "deadline",
        "limits",
        "metrics",
    ):
        found = calls_in(SRC / "server" / f"{name}.py")
        assert not {c for c in found if c in ("open", "Path") or c.endswith((".open", ".read_text", ".read_bytes"))} - {
            "self.sessions.open"
        }, name


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
