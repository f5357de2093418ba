"""Fits of the additive and the logistic model through a served jail (TLS, ledger on disk): accuracy and seconds.

    python bench/learn_served.py --runs 20

Adult, official split, at (1, 10⁻⁵): a zCDP budget. Each run is one line of JSON in build/learn_served.jsonl; runs that
are there already are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
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
MODELS = ("AdditiveClassifier", "LogisticRegression")
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def fits(file: Path, runs: int, test: pandas.DataFrame) -> None:
    done = [json.loads(line)["model"] for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    todo = [name for i in range(runs) for name in MODELS if done.count(name) <= i]
    pj.connect(file)
    df = pd.read_csv("adult")
    X, y = df.drop(columns=["income"]), df["income"]
    try:
        with RESULTS.open("a", encoding="utf-8") as out:
            for name in track(todo, "fits"):
                start = time.perf_counter()
                model = getattr(learn, name)().fit(X, y, eps=1, delta=1e-5)
                took = time.perf_counter() - start
                found = {"model": name, "accuracy": model.score(test, test["income"]), "seconds": took}
                out.write(json.dumps(found) + "\n")
                out.flush()
    finally:
        pj.disconnect()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=20)
    runs = options.parse_args().runs
    files = adult.files()
    if files is None:
        raise SystemExit(adult.MISSING)
    RESULTS.parent.mkdir(exist_ok=True)
    test = pandas.read_csv(files[1], na_values="?")
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT / "build") as name:
        where = Path(name)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{port}", None)
        schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
        folder.add_dataset("adult", files[0], schema, [100], "zcdp", (None, 1))
        (where / "ann.privjail").write_text(json.dumps(folder.add_user("ann", 1)), encoding="utf-8")
        folder.grant("ann", "adult", [100], False, None)
        folder.ledger.close()
        command = ["-m", "privjail.curator", "serve", "--jail", str(where / "jail"), "--port", str(port)]
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=ENV)
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("serving on")
            fits(where / "ann.privjail", runs, test)
        finally:
            process.terminate()
            process.wait(20)
    found = pandas.DataFrame([json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()])
    for name, group in found.groupby("model"):
        accuracy, seconds = group["accuracy"].to_numpy(), group["seconds"].to_numpy()
        print(
            f"{name}: {len(group)} runs, {accuracy.mean():.2%} ± {accuracy.std():.2%}, "
            f"seconds: median {numpy.median(seconds):.2f}, least {seconds.min():.2f}"
        )


if __name__ == "__main__":
    main()
