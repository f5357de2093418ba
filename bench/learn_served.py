"""Fits through a served jail (TLS, ledger on disk) on Adult: accuracy, AUC and seconds, over many runs.

    python bench/learn_served.py --runs 20          # runs what is missing, then writes the page
    python bench/learn_served.py --runs 20 --page   # writes the page from what was measured

The official split, at the settings below; each run is one line of JSON in build/learn_served.jsonl, and runs that are
there already are not made again. The section "Through a served jail" of docs/learn-accuracy.md (and of
bench/learn_notes.md, which that page ends with) is replaced by the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "src")]

import adult  # noqa: E402
import numpy  # noqa: E402
from rich.progress import track  # noqa: E402

import pandas  # noqa: E402
import privjail as pj  # noqa: E402
from privjail import learn  # noqa: E402
from privjail import pandas as pd  # noqa: E402
from privjail.curator.folder import JailFolder  # noqa: E402

RESULTS = ROOT / "build" / "learn_served.jsonl"
PAGES = (ROOT / "docs" / "learn-accuracy.md", ROOT / "bench" / "learn_notes.md")
HEADING = "## Through a served jail"
#: model, data set (and so the kind of budget), price, and the least accuracy that was aimed at
SETTINGS = (
    ("AdditiveClassifier", "zcdp", {"eps": 1, "delta": 1e-5}, 0.853),
    ("AdditiveClassifier", "pure", {"eps": 1}, 0.847),
    ("AdditiveClassifier", "approx", {"eps": 0.1, "delta": 1e-5}, 0.834),
    ("LogisticRegression", "zcdp", {"eps": 1, "delta": 1e-5}, 0.846),
    ("LogisticRegression", "approx", {"eps": 0.1, "delta": 1e-5}, 0.840),
)
BUDGETS = {"zcdp": [100], "pure": [1000], "approx": [100, 0.1]}
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def measured() -> list[dict]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def auc(scores, positive) -> float:
    """The chance that a positive row has a higher score than a negative one; ties count half."""
    ranks = pandas.Series(scores).rank().to_numpy()
    n = positive.sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(ranks) - n)))


def fits(file: Path, runs: int, test: pandas.DataFrame) -> None:
    done = [(each["model"], each["price"]) for each in measured()]
    todo = [each for i in range(runs) for each in SETTINGS if done.count((each[0], each[2])) <= i]
    pj.connect(file)
    positive = (test["income"] == ">50K").to_numpy()
    try:
        tables = {name: pd.read_csv(f"adult-{name}") for name in BUDGETS}
        with RESULTS.open("a", encoding="utf-8") as out:
            for name, budget, price, _ in track(todo, "fits"):
                df = tables[budget]
                X, y = df.drop(columns=["income"]), df["income"]
                start = time.perf_counter()
                model = getattr(learn, name)().fit(X, y, **price)
                took = time.perf_counter() - start
                found = {"model": name, "price": price, "accuracy": model.score(test, test["income"]),
                         "auc": auc(model.decision_function(test), positive), "seconds": took}  # fmt: skip
                out.write(json.dumps(found) + "\n")
                out.flush()
    finally:
        pj.disconnect()


def serve_and_fit(runs: int, files: tuple[str, str, str]) -> None:
    test = pandas.read_csv(files[1], na_values="?")
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT / "build") as name:
        where = Path(name)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{port}", None)
        schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
        (where / "ann.privjail").write_text(json.dumps(folder.add_user("ann", 1)), encoding="utf-8")
        for notion, limit in BUDGETS.items():
            folder.add_dataset(
                f"adult-{notion}", files[0], schema, limit, notion, (None, 1), overlap_reason="a benchmark"
            )
            folder.grant("ann", f"adult-{notion}", limit, False, None)
        folder.ledger.close()
        command = ["-m", "privjail.curator", "serve", "--jail", str(where / "jail"), "--port", str(port)]
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=ENV)
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("serving on")
            fits(where / "ann.privjail", runs, test)
        finally:
            process.terminate()
            process.wait(20)


def section() -> str:
    """The table, from all runs."""
    found = measured()
    lines = [
        HEADING, "",
        "`bench/learn_served.py`: TLS, ledger on disk, client and jail on one machine, official split. (1, 10⁻⁵)",
        "is paid from a zCDP budget, (0.1, 10⁻⁵) from an (ε, δ) budget.",
        "",
        "| model | price | runs | accuracy | aimed at | AUC | seconds: median | least |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, _, price, goal in SETTINGS:
        group = [each for each in found if each["model"] == name and each["price"] == price]
        if group:
            accuracy, area, seconds = (numpy.array([each[k] for each in group]) for k in ("accuracy", "auc", "seconds"))
            paid = ", ".join(f"{ {'eps': 'ε', 'delta': 'δ'}[k] } = {v:g}" for k, v in price.items())
            lines.append(
                f"| {name} | {paid} | {len(group)} | {accuracy.mean():.2%} ± {100 * accuracy.std():.2f} | {goal:.1%} "
                f"| {area.mean():.3f} | {numpy.median(seconds):.2f} | {seconds.min():.2f} |"
            )
    return "\n".join(lines) + "\n"


def write() -> None:
    made = section()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(rf"{HEADING}\n.*?(?=\n## |\Z)", lambda _: made, text, flags=re.S), encoding="utf-8")
    print(made)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--page", action="store_true", help="only write the page, from what was measured before")
    given = options.parse_args()
    files = adult.files()
    if files is None:
        raise SystemExit(adult.MISSING)
    RESULTS.parent.mkdir(exist_ok=True)
    if not given.page:
        serve_and_fit(given.runs, files)
    write()


if __name__ == "__main__":
    main()
