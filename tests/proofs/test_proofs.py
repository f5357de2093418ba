"""The proofs in proofs/: Coq checks them, nothing is assumed, every operation has a theorem, and wrong constants fail."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess

import pytest

import privjail.mechanisms
from privjail.mechanisms.mechanism import Mechanism
from privjail.ops.registry import load_all
from privjail.plan.node import registry

from .building import PROOFS, prove

load_all()
for found in pkgutil.iter_modules(privjail.mechanisms.__path__):
    importlib.import_module(f"privjail.mechanisms.{found.name}")

# These are no operations: a constant, and the names of parts of the data.
PARTS_OF_PLANS = {"literal", "cell", "partition", "draw"}
OPS = sorted(
    kind for kind, cls in registry.items() if kind not in PARTS_OF_PLANS and cls.__module__.startswith("privjail.")
)
THEOREMS = [each for name in prove.FILES for each in prove.theorems(name)]

# One wrong constant each: the file, what stands there, what is put in its place. Coq must refuse all of them.
WRONG = [
    (
        "Slices",
        "then 2 else 3) else (if to_end stop then 1 else 2)",
        "then 2 else 3) else (if to_end stop then 1 else 1)",
    ),
    (
        "Slices",
        "then 2 else 3) else (if to_end stop then 1 else 2)",
        "then 1 else 3) else (if to_end stop then 1 else 2)",
    ),
    (
        "Slices",
        "then 2 else 3) else (if to_end stop then 1 else 2)",
        "then 2 else 2) else (if to_end stop then 1 else 2)",
    ),
    ("Slices", "  | true, false => 2\n", "  | true, false => 1\n"),
    ("Blocks", "InBlock a (limit - rho) next)", "InBlock a limit next)"),
    ("Blocks", "excess (exp (r * r + 2 * r * s))", "excess (exp (r * r + r * s))"),
    ("Chains", "list_max (map (fun '(s, e) => 1 + Nat.b2n s - Nat.b2n e) found)", "1"),
    ("Chains", "(if to_end stop then [to] else [at_; to])", "[to]"),
    ("Windows", "  Within i d (shifted_up k l) (shifted_up k r).", "  Within 0 d (shifted_up k l) (shifted_up k r)."),
    (
        "Values",
        "Z.max (up * Z.of_nat i + down * Z.of_nat d) (down * Z.of_nat i + up * Z.of_nat d).",
        "up * Z.of_nat i.",
    ),
    ("Slices", "  width start stop = Some w -> Apart (2 * w)", "  width start stop = Some w -> Apart w"),
    (
        "Windows",
        "Apart ((2 * (before + 1 + after) - 1) * n) (windows l)",
        "Apart ((2 * (before + after)) * n) (windows l)",
    ),
    (
        "Windows",
        "  Within i d (shifted_down k l) (shifted_down k r).",
        "  Within 0 d (shifted_down k l) (shifted_down k r).",
    ),
    ("Groups", "Apart (2 * n) (group_head l)", "Apart n (group_head l)"),
    ("Groups", "Within 0 (min k (length", "Within 0 (min (k - 1) (length"),
    ("Groups", "Within 0 1 (aggregate l)", "Within 0 0 (aggregate l)"),
    ("Groups", "Within 0 (left * right) (join l r)", "Within 0 (left + right) (join l r)"),
    ("Rows", "Within (most * i) (most * d) (flat_map", "Within i d (flat_map"),
    ("Values", "Z.of_nat (max i d).\nProof.\n  intros i d l r", "Z.of_nat (min i d).\nProof.\n  intros i d l r"),
    ("Values", "<= Z.max below above * Z.of_nat n.", "<= Z.min below above * Z.of_nat n."),
    ("Numbers", "Moves (Qabs c * d) (c * x)", "Moves (c * d) (c * x)"),
    ("Numbers", "Moves (d + e) (x + y)", "Moves (Qmax d e) (x + y)"),
    ("Cells", "| S n' => own cs + sum_over (fun g => max_over", "| S n' => own cs + max_over (fun g => max_over"),
    ("Budget", "ledger_cost (spent ++ charges (strategy seen)) <= limit ->", "ledger_cost spent <= limit ->"),
    ("Forms", "map (fun '(a, (x, y)) => (a, Qmax x y)) terms.", "map (fun '(a, (x, y)) => (a, x)) terms."),
    ("Laws", "(both N L) (eps1 + eps2) (delta1 + delta2).", "(both N L) (eps1 + eps2) delta1."),
    ("Laplace", "(laplace b y) (IZR (Z.abs (x - y)) / b) 0.", "(laplace b y) (IZR (Z.abs (x - y)) / (2 * b)) 0."),
    ("NoisyMax", "adjacency_RNM_counting eps 0.", "adjacency_RNM_counting (eps / 2) 0."),
    (
        "NoisyMax",
        "(noisy_max (laplace_noise b) q') (IZR (2 * d) / b) 0.",
        "(noisy_max (laplace_noise b) q') (IZR d / b) 0.",
    ),
    (
        "Choices",
        "(exponential_mechanism m eps reach score') (eps * d / reach) 0.",
        "(exponential_mechanism m eps reach score') (eps * d / (2 * reach)) 0.",
    ),
    (
        "PermuteAndFlip",
        "permute_and_flip b first rest i <= exp (2 * d / b)",
        "permute_and_flip b first rest i <= exp (d / b)",
    ),
    ("AboveThreshold", "    (IZR d / b0 + IZR (2 * d) / b1) 0.", "    (IZR d / b0 + IZR d / b1) 0."),
    (
        "PrivateKeys",
        "(table (before ++ rows :: after)) (1 / b) delta.\nProof",
        "(table (before ++ rows :: after)) (1 / b) 0.\nProof",
    ),
    (
        "PrivateKeys",
        "(table counts) (INR (how_many moves) * (1 / b)) (INR (how_many moves) * delta).\nProof",
        "(table counts) (INR (how_many moves) * (1 / b)) delta.\nProof",
    ),
    ("PrivateKeys", "  <= length keys.", "  <= length keys - 1."),
    ("Composition", "(all_groups keys r) (INR n * eps) 0.", "(all_groups keys r) eps 0."),
    (
        "Gaussian",
        "<= exp (a * (a - 1) * (s * (IZR mu - IZR nu) ^ 2)).\nProof.\n  intros a mu nu answers order once.",
        "<= exp (a * (a - 1) * (s / 2 * (IZR mu - IZR nu) ^ 2)).\nProof.\n  intros a mu nu answers order once.",
    ),
    ("Gaussian", "theta t ^ 4 <= theta 0 ^ 3 * theta (2 * t).", "theta t ^ 4 <= theta 0 ^ 2 * theta (2 * t)."),
    ("Composition", "(seen [] [] program d') (Q2R limit) (Q2R limit_delta).", "(seen [] [] program d') (Q2R limit) 0."),
]


def test_every_operation_has_a_theorem():
    proved = {op for each in THEOREMS for op in each.ops}

    assert set(OPS) - proved == set(), "these operations have no theorem in proofs/ (a comment `op: name` above it)"
    assert proved - set(OPS) == set(), "these comments in proofs/ name no operation"


def test_every_mechanism_has_a_theorem():
    proved = {name for each in THEOREMS for name in each.mechanisms}
    mechanisms = {cls.__name__ for cls in Mechanism.__subclasses__() if cls.__module__.startswith("privjail.")}

    assert len(mechanisms) >= 5
    assert mechanisms - proved == set(), "these mechanisms have no theorem in proofs/"
    assert proved - mechanisms == set(), "these comments in proofs/ name no mechanism"


def test_every_file_is_checked():
    assert {path.stem for path in PROOFS.glob("*.v")} == set(prove.FILES)


@pytest.mark.parametrize("name", prove.FILES)
def test_nothing_is_assumed(name):
    assert prove.shortcuts((PROOFS / f"{name}.v").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("trick", ["Admitted.", "admit.", "Axiom a : False.", "Parameter p : 0 = 1."])
def test_a_shortcut_is_found(trick):
    assert prove.shortcuts(f"Lemma l : True. (* (* no Axiom *) here *)\n{trick}") != []


def test_axioms_are_read_from_what_coq_prints():
    said = (
        "@@ A.one\nClosed under the global context\n@@ B.two\nAxioms:\nB.cheat : 0 = 1\nClassical_Prop.classic\n  : x\n"
    )

    assert prove.read_assumptions(said) == {"A.one": (), "B.two": ("B.cheat", "Classical_Prop.classic")}


ABOUT_TABLES = {
    "Distance", "Rows", "Slices", "Chains", "Windows", "Groups", "People", "Values", "Numbers", "Vectors",  # row operations
    "Cells", "Budget", "Forms",
    "Certified",
}  # fmt: skip


def test_real_numbers_are_assumed_only_where_they_are_used():
    """Even an axiom of the standard library is refused in what is said of tables, cells, the budget and the checker."""
    assert set(prove.WITHOUT_AXIOMS) == ABOUT_TABLES
    for axiom in sorted(prove.ALLOWED_AXIOMS):
        rests_on = {f"{name}.some_theorem": (axiom,) for name in prove.FILES}
        assert set(prove.not_allowed(rests_on)) == {f"{name}.some_theorem" for name in ABOUT_TABLES}
    assert prove.not_allowed({"Laplace.some_theorem": ("Laplace.cheat",), "Rows.some_theorem": ()}) == {
        "Laplace.some_theorem": ["Laplace.cheat"]
    }


@pytest.mark.parametrize("name", sorted(ABOUT_TABLES))
def test_the_page_says_that_every_statement_about_tables_rests_on_nothing(name):
    """Another test compares the page with what Coq prints."""
    page = prove.PAGE.read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if line.startswith(f"`proofs/{name}.v`, line ")]

    assert len(told) == len(prove.theorems(name)) > 0
    assert all("Rests on: nothing." in line for line in told), told


def test_the_rule_of_every_operation_rests_on_nothing():
    page = prove.PAGE.read_text(encoding="utf-8")
    for each in THEOREMS:
        if each.ops:
            assert f"\n`proofs/{each.file}.v`, line {each.line}. Rests on: nothing." in page, each.full


@pytest.fixture(scope="module")
def copied(checked, tmp_path_factory):
    """The checked proofs in a folder where files may be changed."""
    return shutil.copytree(checked, tmp_path_factory.mktemp("copied") / "proofs")


def test_coq_checks_every_proof_and_refuses_wrong_constants(checked, copied):
    """2d → d for head, and so on: each must make the build fail."""
    page = (checked / "page.md").read_text(encoding="utf-8")
    assert page == prove.PAGE.read_text(encoding="utf-8"), "docs/machine-checked.md is old: run make prove"

    for name, right, wrong in WRONG:
        source = (PROOFS / f"{name}.v").read_text(encoding="utf-8")
        assert source.count(right) == 1, (name, right)
        (copied / f"{name}.v").write_text(source.replace(right, wrong), encoding="utf-8")
        said = prove.compile_file("coqc", copied, name)
        (copied / f"{name}.v").write_text(source, encoding="utf-8")
        assert said, f"proofs/{name}.v passes with {wrong!r}"
        assert "Syntax error" not in said, said


def test_a_false_axiom_does_not_pass(copied):
    """An axiom that hides in a file is found in what Coq prints, whatever it is called."""
    (copied / "Hidden.v").write_text(
        "Axiom cheat : 0 = 1.\nTheorem false : 1 = 0.\nProof. symmetry. exact cheat. Qed.\n", encoding="utf-8"
    )
    assert prove.compile_file("coqc", copied, "Hidden") == ""
    (copied / "Ask.v").write_text(
        'From PrivJail Require Hidden.\nGoal True. idtac "@@ Hidden.false". exact I. Qed.\n'
        "Print Assumptions Hidden.false.\n",
        encoding="utf-8",
    )
    run = ["coqc", "-Q", str(copied), "PrivJail", str(copied / "Ask.v")]
    said = subprocess.run(run, capture_output=True, text=True, timeout=300).stdout

    assert prove.not_allowed(prove.read_assumptions(said)) == {"Hidden.false": ["Hidden.cheat"]}
