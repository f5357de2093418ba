"""Write docs/machine-checked.md: every proved statement, where it stands, and what it rests on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prove import Theorem

HERE = Path(__file__).resolve().parent

INTRODUCTION = """# What a machine has checked

Written by `make prove`; do not edit. Each statement below is a theorem that [Coq](https://coq.inria.fr) 8.16 has
checked, for all tables, all sizes and all ε. `make prove` checks all of them again in about a minute.

**What is assumed.** A theorem is about a definition in `proofs/`, not about the code that runs. Three things stand
between them:

- *The engine does what the definition says.* That Polars' filter, stable sort, slice, … are the functions defined
  here is tested: Coq computes the definitions on random tables, and the engine must give the same
  (`tests/proofs/test_definitions.py`, which also compares the rules of slices, the cost of the ledger and the cells
  that are charged); every operation has property tests against the true distance, and an exhaustive small world
  (`tests/ops`).
- *The samplers draw from the stated law.* Exact laws are compared with OpenDP's samplers and with ours by
  `make verify` ([verified.md](verified.md)).
- *The operating system's randomness.*

Also not proved here: which (ε, δ) one release with Gaussian noise has by itself (that it is ρ-zCDP is proved in
`Gaussian.v`; that ρ adds up within a block, and which (ε, δ) it then implies, in `Blocks.v`, for finitely many
answers), Rényi budgets, and the cost tree under ρ; that a sum of maxima is largest at a vertex; the extra step where
noise is drawn on a coarser grid; and that the ledger's incremental tree (`budget/ledger.py`) computes the formula of
`Cells.v`. That the sum of the distances of two tables below each other is stated over the cells above both is argued
in `plan/rows.py`.

**The certified checker.** `Certified.v` holds a checker of certificates and the theorem that what it accepts is right
(`accepts_is_sound`). `make prove` writes it as OCaml and compiles it; `privjail check --certified` runs it beside the
checker in Python, on the same JSON file. It covers counts and sums after filters, sorts, slices, windows and group
heads, times public factors, released with Laplace noise under pure ε: sensitivity, noise and the amount of each charge.
It takes the ranges of columns as the certificate claims them, and does not look at the cells that are charged: both are
checked in Python only. That the columns it meets belong to the rows at hand, so that they are functions of a row, is
checked where the JSON is read. It answers "cannot check" to everything else. `proofs/checker/main.ml`, which reads the
JSON, and Coq's extraction are trusted.

**What the theorems rest on.** "Nothing" means that Coq prints *Closed under the global context*. Where real numbers are
used, "the real numbers" stands for the axioms of Coq's standard library for them: `sig_forall_dec`, `sig_not_dec`,
`functional_extensionality_dep`, and `classic` where Coquelicot's series and integrals are used. A test refuses any
other axiom, and the words `Admitted`, `admit` and `Axiom`. What is said of tables, values, cells and the budget, and of
the certified checker (the files from `Distance.v` to `Forms.v`) rests on nothing: `make prove` refuses all axioms
there.

**How to read.** `Script ins del l r`: deleting the rows `del` from the table `l` and inserting the rows `ins` gives the
table `r`. `Within i d l r`: at most `i` insertions and `d` deletions lead from `l` to `r`. `Apart n l r`: at most `n`
edits. A theorem inside a `Section` also has the section's hypotheses as premises. An *Example* shows that a bound is
reached.
"""


def rests(axioms: tuple[str, ...]) -> str:
    if not axioms:
        return "nothing"
    names = ", ".join(f"`{name.rpartition('.')[2]}`" for name in axioms)
    return f"the real numbers ({names})"


def file_words(name: str) -> str:
    """The comment at the top of a file, as one paragraph for each of its paragraphs."""
    text = (HERE / f"{name}.v").read_text(encoding="utf-8")
    top = re.match(r"\(\*\*\s*(.*?)\s*\*\)", text, re.S)
    if top is None:
        return ""
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", top[1]))


def entry(each: Theorem, axioms: tuple[str, ...]) -> list[str]:
    lines = [f"### {each.name.replace('_', ' ')}", ""]
    if each.words:
        lines += [each.words, ""]
    lines += ["```text", each.statement, "```", ""]
    about = [f"Operation: `{op}`." for op in each.ops] if len(each.ops) == 1 else []
    about += [f"Mechanism: `{name}`." for name in each.mechanisms]
    lines += [" ".join([f"`proofs/{each.file}.v`, line {each.line}. Rests on: {rests(axioms)}.", *about]), ""]
    return lines


def homes(folder: str, pattern: str) -> dict[str, str]:
    """The file in which each operation or mechanism is written."""
    found = {}
    where = HERE.parent / "src" / "privjail" / folder
    for path in sorted(where.rglob("*.py")):
        for name in re.findall(pattern, path.read_text(encoding="utf-8"), re.M):
            found[name] = path.relative_to(where).with_suffix("").as_posix()
    return found


def listed(found: list[Theorem], what: str, folder: str, home: dict[str, str]) -> list[str]:
    """A table: each operation or mechanism, its theorems, and what connects them to the code."""
    about: dict[str, list[Theorem]] = {}
    for each in found:
        for name in each.ops if what == "operation" else each.mechanisms:
            about.setdefault(name, []).append(each)
    lines = [f"## By {what}", "", f"| {what} | theorems | its rule in the code | tests of the rule |"]
    lines.append("| --- | --- | --- | --- |")
    for name in sorted(about):
        names = ", ".join(f"{each.name.replace('_', ' ')} ({each.file}.v:{each.line})" for each in about[name])
        file = home.get(name, "?")
        lines.append(f"| `{name}` | {names} | `{folder}/{file}.py` | `tests/{folder}/test_{Path(file).name}.py` |")
    return [*lines, ""]


def write(page: Path, found: list[Theorem], rests_on: dict[str, tuple[str, ...]]) -> None:
    lines = [INTRODUCTION]
    lines += listed(found, "operation", "ops", homes("ops", r'^    kind = "(\w+)"'))
    lines += listed(found, "mechanism", "mechanisms", homes("mechanisms", r"^class (\w+)\(Mechanism\)"))
    for name in dict.fromkeys(each.file for each in found):
        lines += [f"## {name}.v", "", file_words(name), ""]
        for each in found:
            if each.file == name:
                lines += entry(each, rests_on[each.full])
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
