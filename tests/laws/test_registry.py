"""Every operation has its test file, its three kinds of test, and its section in the docs."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from privjail.ops.registry import load_all
from privjail.plan.expr import Expr
from privjail.plan.node import registry
from privjail.plan.rows import Rows
from privjail.plan.value import Value
from tests.ops.checking import WHAT

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")

load_all()

# These are no operations: a constant, and the names of parts of the data.
PARTS_OF_PLANS = {"literal", "cell", "partition", "draw"}
OPS = sorted(
    kind for kind, cls in registry.items() if kind not in PARTS_OF_PLANS and cls.__module__.startswith("privjail.")
)


def home(kind: str) -> str:
    return registry[kind].__module__.rpartition(".")[2]


def covered(name: str) -> dict[tuple[str, str], str]:
    """(operation, kind of test) → the test in this file that says so."""
    module = importlib.import_module(f"tests.ops.test_{name}")
    tests = {n: f for n, f in inspect.getmembers(module, inspect.isfunction) if n.startswith("test_")}
    return {pair: n for n, f in tests.items() for pair in getattr(f, "covers", ())}


def test_the_registry_holds_operations_and_nothing_unexpected():
    assert set(registry) >= PARTS_OF_PLANS
    assert len(OPS) >= 37
    for kind in OPS:
        assert issubclass(registry[kind], (Rows, Expr, Value)), kind
        assert registry[kind].__module__.startswith("privjail.ops."), kind


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("kind", OPS)
def test_every_operation_is_tested(kind, what):
    """A property test of its claim, a witness that reaches it, a run through the small world: in its own file."""
    assert (kind, what) in covered(home(kind)), f"tests/ops/test_{home(kind)}.py has no {what} of {kind!r}"


@pytest.mark.parametrize("kind", OPS)
def test_every_operation_is_documented(kind):
    lines = [line for line in DOCS.splitlines() if line.startswith("### ")]

    assert any(f"`{kind}`" in line for line in lines), f"docs/ops.md has no section for `{kind}`"


@pytest.mark.parametrize("kind", OPS)
def test_every_operation_says_why_its_claim_is_true(kind):
    assert inspect.getdoc(registry[kind]), kind


def test_the_docs_name_no_operation_that_does_not_exist():
    named = {part for line in DOCS.splitlines() if line.startswith("### ") for part in line.split("`")[1::2]}

    assert named == set(OPS)


def test_a_mark_without_a_check_fails():
    """The marks are no mere words: a test that never checks the operation fails."""
    from tests.ops.checking import covers

    @covers("witness", "slice")
    def nothing() -> None:
        pass

    with pytest.raises(AssertionError):
        nothing()


def test_files_and_functions_stay_small():
    for path in sorted((ROOT / "src" / "privjail" / "ops").rglob("*.py")):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path.name
