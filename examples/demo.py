"""What `make demo` shows: a curator sets up a jail, an analyst asks in pandas, and nobody sees the data.

    python examples/demo.py

Three processes: the curator's commands, the jail, which alone reads the data, and the analyst, who has a connection
file and nothing else. The data is generated, so the true answers can stand beside the released ones. In earnest
nobody sees them. All files are in a temporary folder, which is removed at the end, also after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import census
import hospital
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import pandas

BUDGET, GRANT = 3.0, 2.0
WIDTH = None if Console().is_terminal else 110
console = Console(width=WIDTH)
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    **({"FORCE_COLOR": "1"} if WIDTH is None else {"COLUMNS": "110"}),
}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.perf_counter()
    console.print(Panel("[bold]PrivJail[/]: ordinary pandas on personal data that nobody may see", expand=False))
    with tempfile.TemporaryDirectory(prefix="privjail-") as folder, contextlib.chdir(folder):
        census.write_files(".")
        hospital.write_files(".")
        truth = pandas.read_csv("train.csv")
        heading(f"1  The curator makes a jail for {len(truth):,} people: schema, budget, and who may ask")
        curate(port := free_port())
        heading("2  The jail runs in a process of its own: only it reads the data")
        with jail(port):
            heading("3  The analyst connects, and asks in pandas")
            analyse()
        audit(truth)
    seconds = time.perf_counter() - start
    console.print(f"\nfinished in {seconds:.0f} s; jail and files of this demo are gone", style="dim")


def heading(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


# -- the curator


def privjail(*arguments: str) -> None:
    """One of the curator's commands, and what it prints."""
    console.print(Text(f"$ privjail {' '.join(arguments)}", style="bold"))
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "privjail.curator", *arguments], env=ENV, check=True)


def curate(port: int) -> None:
    privjail("init", "jail", "--port", str(port))
    add = ["dataset", "add", "census", "train.csv", "--schema", "schema.json"]
    privjail(*add, "--unit", "row", "--budget", f"{BUDGET:g}")
    privjail("user", "add", "ann", "--output", "ann.privjail")
    privjail("grant", "ann", "census", "--budget", f"{GRANT:g}")
    privjail("population", "add", "hospital", "--budget", f"{BUDGET:g}")
    for name, declared in (
        ("patients", ["--person", "patient", "--rows-per-unit", "1"]),
        ("stays", ["--person", "patient", "--key", "stay"]),
        ("diagnoses", ["--link", "stay=stays.stay"]),
    ):
        files = [f"{name}.csv", "--schema", f"{name}.json", "--population", "hospital"]
        privjail("dataset", "add", name, *files, *declared)
    privjail("grant", "ann", "hospital", "--budget", f"{GRANT:g}")


@contextlib.contextmanager
def jail(port: int) -> Iterator[None]:
    """The jail's process, from its first line to its end."""
    command = ["serve", "--port", str(port)]
    console.print(Text(f"$ privjail {' '.join(command)} &", style="bold"))
    process = subprocess.Popen(
        [sys.executable, "-m", "privjail.curator", *command], env=ENV, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        console.print(f"process {process.pid}: {process.stdout.readline().strip()}, TLS, certificate pinned")
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def analyse() -> None:
    """The analyst's process: this file again, with her connection file."""
    process = subprocess.Popen([sys.executable, __file__, "--analyst", "ann.privjail"], env=ENV)
    try:
        if process.wait(timeout=120):
            sys.exit("the analyst's program failed")
    finally:
        process.kill()
        process.wait()


def audit(truth: pandas.DataFrame) -> None:
    heading("7  What only the curator sees: budgets, and a log of questions, never of answers")
    privjail("budget")
    privjail("log", "-n", "5")
    released = json.loads(Path("released.json").read_text(encoding="utf-8"))
    women, gain = truth["gender"] == "Female", truth["capital-gain"]
    true = [len(truth), women.sum(), (truth["income"] == ">50K").sum(), gain.sum(), truth["age"].mean(),
            truth["hours-per-week"].median()]  # fmt: skip
    table = Table("typed by the analyst", "released", "true", title="and what nobody would see in earnest")
    for column in table.columns[1:]:
        column.justify = "right"
    for (typed, answer), x in zip(released, true, strict=True):
        table.add_row(Text(typed), f"{answer:,.1f}", f"{x:,.1f}")
    console.print(table)


# -- the analyst


def analyst(file: str) -> None:
    import privjail as pj
    from privjail import pandas as pd

    jail = pj.connect(file)
    console.print(f'pj.connect("{file}")  →  {jail}')
    df = pd.read_csv("census")
    console.print('df = pd.read_csv("census"); print(df)', repr(df), sep="\n", markup=False, highlight=False)
    questions(df)
    heading("4  A whole program: the decision tree of the paper's figure 2, at ε = 1")
    tree(df)
    spent = pj.consumed_privacy_budget()["census"]
    full = round(50 * spent / GRANT)
    bar = Text.assemble(("█" * full, "yellow"), ("░" * (50 - full), "dim"), f"  ε {spent:g} of {GRANT:g}")
    console.print("what Ann has spent: ", bar)
    heading("5  Several tables about the same persons: one promise, one budget")
    persons()
    heading("6  Three attacks")
    attacks(df, jail)


def questions(df: Any) -> None:
    women, rich = df["gender"] == "Female", df["income"] == ">50K"
    table = Table("typed by the analyst", "ε", "±95 %", "released")
    for column in table.columns[1:]:
        column.justify = "right"
    released = []
    for typed, value, eps in (
        ("df.shape[0]", df.shape[0], 0.05),
        ('df[df["gender"] == "Female"].shape[0]', df[women].shape[0], 0.1),
        ('(df["income"] == ">50K").sum()', rich.sum(), 0.1),
        ('df["capital-gain"].sum()', df["capital-gain"].sum(), 0.1),
    ):
        answer = value.reveal(eps=eps)
        released.append((f"{typed}.reveal(eps={eps})", answer))
        table.add_row(Text(released[-1][0]), f"{eps:g}", f"{value.error(eps=eps):,.0f}", f"{answer:,.0f}")
    for typed, answer in (
        ('df["age"].mean(eps=0.1)', df["age"].mean(eps=0.1)),
        ('df["hours-per-week"].median(eps=0.1)', df["hours-per-week"].median(eps=0.1)),
    ):
        released.append((typed, answer))
        table.add_row(Text(typed), "0.1", "", f"{answer:,.2f}")
    console.print(table)
    counts = df["education"].value_counts(sort=False).reveal(eps=0.2)
    table = Table("education", "people", "", title='df["education"].value_counts(sort=False).reveal(eps=0.2)')
    for label, count in counts.items():
        table.add_row(str(label), f"{count:,.0f}", Text("█" * max(0, round(40 * count / counts.max())), style="green"))
    console.print(table)
    Path("released.json").write_text(json.dumps(released), encoding="utf-8")


def tree(df: Any) -> None:
    import diffpid3

    schema = json.loads(Path("schema.json").read_text(encoding="utf-8"))
    start = time.perf_counter()
    with console.status("growing the tree …"):
        attributes = set(schema) - {diffpid3.TARGET}
        grown = diffpid3.DiffPID3(diffpid3.discretise(df.copy(), schema), attributes, diffpid3.TARGET, 5, 1.0)
    seconds = time.perf_counter() - start
    test = diffpid3.load_public("test.csv", schema)
    targets = [row[diffpid3.TARGET] for row in test]
    guess = max(targets.count(label) for label in set(targets)) / len(targets)
    table = Table("", "", show_header=False)
    table.add_row("accuracy on public test data", f"[bold]{diffpid3.accuracy(grown, test):.1%}[/]")
    table.add_row("always the commonest class", f"{guess:.1%}")
    table.add_row("nodes, depth", f"{grown.count()}, {grown.depth()}")
    table.add_row("time, over the wire", f"{seconds:.1f} s")
    console.print(table)
    console.print("Groups exclude each other: hundreds of noisy counts cost no more than one path from root to leaf.")


def persons() -> None:
    import privjail as pj
    from privjail import pandas as pd

    patients, stays, diagnoses = (pd.read_csv(name) for name in ("patients", "stays", "diagnoses"))
    per_patient = stays.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"))
    joined = stays.merge(patients, on="patient")
    costs = joined.groupby("patient").agg(sex=("sex", "first"), total=("cost", "sum"))
    women = costs[costs["sex"] == "F"]["total"].clip(0, 20_000)
    infected = patients["patient"].isin(diagnoses[diagnoses["code"] == "A"]["patient"])
    table = Table("typed by the analyst", "released")
    table.columns[1].justify = "right"
    for typed, answer in (
        ('per_patient = stays.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"))', None),
        ('(per_patient["n"] >= 2).mean(eps=0.5)', f"{(per_patient['n'] >= 2).mean(eps=0.5):.1%}"),
        ('joined = stays.merge(patients, on="patient")', None),
        ('costs = joined.groupby("patient").agg(sex=("sex", "first"), total=("cost", "sum"))', None),
        ('costs[costs["sex"] == "F"]["total"].clip(0, 20_000).mean(eps=0.5)', f"{women.mean(eps=0.5):,.0f}"),
        ('patients["patient"].isin(diagnoses[diagnoses["code"] == "A"]["patient"]).mean(eps=0.5)',
         f"{infected.mean(eps=0.5):.1%}"),
    ):  # fmt: skip
        table.add_row(Text(typed), answer or "")
    console.print(table)
    spent = pj.consumed_privacy_budget()["hospital"]
    console.print("A patient with 200 stays is protected like one with a single stay.")
    console.print(f"Whatever table is asked, the hospital's account pays: ε {spent:g}.")


def attacks(df: Any, jail: Any) -> None:
    import privjail as pj
    from privjail import pandas as pd
    from privjail.server.wire import privjail_pb2 as pb

    count = df[(df["age"] == 90) & (df["education"] == "Doctorate")].shape[0]

    def average() -> None:
        for _ in range(1000):
            count.reveal(eps=0.1)

    def path() -> None:
        pd.read_csv(Path("train.csv").resolve())

    def forge() -> None:
        request = pb.ReleaseRequest(session=jail._session, request=b"0123456789abcdef")
        request.nodes.add(id=10**9, kind="eval", fields=[pb.Field(text="open('train.csv').read()")])
        request.asks.add(value=10**9, mechanism=pb.Mechanism(kind="laplace", fields=[pb.Field(fraction="1/10")]))
        jail._call("Release", request, pb.ReleaseReply)

    table = Table("attack", "answer", show_lines=True)
    for typed, attempt in (
        ("ask about one old doctor again and again,\nand average the noise away", average),
        ("open the file itself, by its path", path),
        ("a hand-made message with code for the jail to run", forge),
    ):
        before = pj.consumed_privacy_budget()["census"]
        try:
            attempt()
        except pj.DPError as e:
            answer = Text.assemble((type(e).__name__, "red"), f": {str(e).partition(chr(10))[0]}")
            spent = pj.consumed_privacy_budget()["census"] - before
            paid = f"paid for what was answered before: ε {spent:g}" if spent else "nothing was charged"
            answer.append(f"\n{paid}", "green")
            table.add_row(Text(typed), answer)
        else:
            sys.exit(f"not refused: {typed}")
    console.print(table)


if __name__ == "__main__":
    try:
        analyst(sys.argv[2]) if sys.argv[1:2] == ["--analyst"] else main()
    except KeyboardInterrupt:
        sys.exit(130)
