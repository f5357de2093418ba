"""What `make demo` shows: an analyst's program on data that she never sees, its price, and what is refused.

    python examples/demo.py

The data is generated, so the true answers can stand beside the released ones. In earnest nobody sees them.
"""

from __future__ import annotations

import contextlib
import json
import operator
import tempfile
import time
from pathlib import Path

import census
import diffpid3
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.session import jail

BUDGET = 2.0
console = Console(width=None if Console().is_terminal else 110)


def main() -> None:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="privjail-") as folder, contextlib.chdir(folder):
        census.write_files(".")
        truth = pandas.read_csv("train.csv")
        console.print(Panel("[bold]PrivJail[/]: ordinary pandas on personal data that nobody may see", expand=False))
        curator(truth)
        df = pd.read_csv("train.csv", schema="schema.json", budget=BUDGET)
        questions(df, truth)
        tree(df, truth)
        budget_bar()
        audit_log()
        refusals(df)
    console.print(f"\nfinished in {time.perf_counter() - start:.0f} s; all files of this demo are removed", style="dim")


def heading(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def curator(truth: pandas.DataFrame) -> None:
    heading("1  The curator declares what is known without the data, and sets a budget")
    table = Table("column", "declared domain", title=f"schema.json · {len(truth)} people (generated) · ε = {BUDGET:g}")
    for name, entry in census.SCHEMA.items():
        table.add_row(name, f"{entry['type']} {entry.get('range') or ', '.join(entry['categories'])}")
    console.print(table)


def questions(df: pd.PrivDataFrame, truth: pandas.DataFrame) -> None:
    """Each question: what the analyst types, how far off it may be, what comes out, and the truth."""
    heading("2  The analyst asks, in pandas. Every answer is paid for, and the noise is known before paying")
    women, their_truth = df[df["gender"] == "Female"], truth[truth["gender"] == "Female"]
    rich, rich_truth = df["income"] == ">50K", truth["income"] == ">50K"
    table = Table("typed by the analyst", "ε", "±95 %", "released", "true")
    for column in table.columns[1:]:
        column.justify = "right"

    def row(typed: str, eps: float, error: float | None, released: float, true: float, digits: int = 0) -> None:
        shown = "" if error is None else f"{error:,.{digits}f}"
        table.add_row(Text(typed), f"{eps:g}", shown, f"{released:,.{digits}f}", f"{true:,.{digits}f}")

    people = df.shape[0]
    row("df.shape[0]", 0.05, people.error(eps=0.05), people.reveal(eps=0.05), len(truth))
    n = women.shape[0]
    row('df[df["gender"] == "Female"].shape[0]', 0.1, n.error(eps=0.1), n.reveal(eps=0.1), len(their_truth))
    n = rich.sum()
    row('(df["income"] == ">50K").sum()', 0.1, n.error(eps=0.1), n.reveal(eps=0.1), int(rich_truth.sum()))
    gains = df["capital-gain"].sum()
    true = int(truth["capital-gain"].sum())
    row('df["capital-gain"].sum()', 0.1, gains.error(eps=0.1), gains.reveal(eps=0.1), true)
    row('df["age"].mean(eps=0.1)', 0.1, None, df["age"].mean(eps=0.1), truth["age"].mean(), 2)
    row('df["hours-per-week"].median(eps=0.1)', 0.1, None, df["hours-per-week"].median(eps=0.1),
        truth["hours-per-week"].median())  # fmt: skip
    console.print(table)

    counts = df["education"].value_counts(sort=False)
    released, true_counts = counts.reveal(eps=0.2), truth["education"].value_counts()
    table = Table("education", "released", "true", "", title='df["education"].value_counts(sort=False).reveal(eps=0.2)')
    table.columns[1].justify = table.columns[2].justify = "right"
    for label, count in released.items():
        bar = Text("█" * max(0, round(40 * count / released.max())), style="green")
        table.add_row(str(label), f"{count:,.0f}", f"{true_counts[label]:,}", bar)
    console.print(table)


def tree(df: pd.PrivDataFrame, truth: pandas.DataFrame) -> None:
    heading("3  A whole program: the decision tree of the paper's figure 2, at ε = 1")
    schema = json.loads(Path("schema.json").read_text(encoding="utf-8"))
    attributes = set(schema) - {diffpid3.TARGET}
    before = pj.consumed_privacy_budget()["train.csv"]
    start = time.perf_counter()
    with console.status("growing the tree …"):
        grown = diffpid3.DiffPID3(diffpid3.discretise(df.copy(), schema), attributes, diffpid3.TARGET, 5, 1.0)
    seconds = time.perf_counter() - start
    test = diffpid3.load_public("test.csv", schema)
    commonest = truth[diffpid3.TARGET].mode()[0]
    guess = sum(row[diffpid3.TARGET] == commonest for row in test) / len(test)
    table = Table("", "", show_header=False)
    table.add_row("accuracy on test data", f"[bold]{diffpid3.accuracy(grown, test):.1%}[/]")
    table.add_row("always the commonest class", f"{guess:.1%}")
    table.add_row("nodes, depth", f"{grown.count()}, {grown.depth()}")
    table.add_row("budget spent", f"{pj.consumed_privacy_budget()['train.csv'] - before:g}")
    table.add_row("time", f"{seconds:.1f} s")
    console.print(table)
    console.print("Groups exclude each other: hundreds of noisy counts cost no more than one path from root to leaf.")


def budget_bar() -> None:
    heading("4  The budget")
    spent = pj.consumed_privacy_budget()["train.csv"]
    full = round(60 * spent / BUDGET)
    console.print(Text.assemble(("█" * full, "yellow"), ("░" * (60 - full), "dim"), f"  ε {spent:g} of {BUDGET:g}"))
    console.print(f"pj.consumed_privacy_budget() → {pj.consumed_privacy_budget()}")


def audit_log() -> None:
    heading("5  The audit log: what was asked and charged, never an answer")
    entries = jail().audit
    table = Table("program", "mechanism", "ε", title=f"the first 6 of {len(entries)} releases")
    for entry in entries[:6]:
        name, _, _ = entry.mechanism.partition("(")
        table.add_row(Text(entry.program), name, f"{max(cost[0] for _, cost in entry.cost):g}")
    console.print(table)


def refusals(df: pd.PrivDataFrame) -> None:
    heading("6  What is refused, and what to do instead")
    count, raw = df.shape[0], pd.read_csv("test.csv")
    attempts = [
        ("df.shape[0].reveal(eps=5)", lambda: count.reveal(eps=5)),
        ('raw["age"].sum()   # no schema', lambda: raw["age"].sum()),
        ("len(df)", lambda: len(df)),
        ("if df.shape[0] > 100: …", lambda: bool(count > 100)),
        ('f"{df.shape[0]}"', lambda: f"{count}"),
        ("df.shape[0] * df.shape[0]", lambda: count * count),
        ('df["age"].cumsum()', lambda: df["age"].cumsum()),
        ('df.to_csv("loot.csv")', lambda: df.to_csv("loot.csv")),
        ("df.iloc[7]", lambda: operator.getitem(df.iloc, 7)),
    ]
    before = pj.consumed_privacy_budget()
    table = Table("tried", "answer", show_lines=True)
    for typed, attempt in attempts:
        try:
            attempt()
        except pj.DPError as e:
            answer = Text.assemble((type(e).__name__, "red"), f": {e.what}")
            if e.do:
                answer.append(f"\ndo: {e.do}", "green")
            table.add_row(Text(typed), answer)
        else:
            raise SystemExit(f"{typed} was not refused")
    if pj.consumed_privacy_budget() != before:
        raise SystemExit("a refusal was charged")
    console.print(table)
    console.print("None of these cost anything, and none depends on the data: refusals are made from public facts.")


if __name__ == "__main__":
    main()
