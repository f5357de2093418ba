"""The accuracy of privjail.learn and of other libraries, in one run: writes docs/learn-accuracy.md and its plot.

    python bench/learn_accuracy.py --seeds 5            # resumes: what was measured before is kept
    python bench/learn_accuracy.py --seeds 5 --page     # writes the page from what was measured

Every library gets the same rows, the same public ranges and the same price. A seed draws the split (Adult has its
official one), the generated data and the rivals' noise; our noise has no seed. Hyperparameters are defaults: ours were
chosen by cross-validation on Adult's rows to fit, never on rows to test. Earlier versions of our models had been scored
on Adult's test rows; the other data sets were used for no choice. Rivals live in build/rivals/ (a virtual environment
each, made when it is missing). Results are lines of JSON in build/learn_accuracy.jsonl.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench"), str(ROOT / "src")]

import learn_data  # noqa: E402
import learn_page  # noqa: E402
import learn_rivals as scores  # noqa: E402
from rich.progress import Progress  # noqa: E402

import pandas  # noqa: E402
import privjail as pj  # noqa: E402
from privjail import learn  # noqa: E402
from privjail import pandas as pd  # noqa: E402
from privjail.session import jail  # noqa: E402

RESULTS = ROOT / "build" / "learn_accuracy.jsonl"
RIVALS = {  # where, what is installed, which of our models it has a rival for
    "diffprivlib": ("dpl", ["diffprivlib==0.6.6", "scikit-learn==1.5.2", "numpy<2.3", "scipy<1.16", "pandas<3"]),
    "interpret": ("ebm", ["interpret-core", "scikit-learn==1.6.1", "numpy<2.3", "pandas<3", "joblib"]),
}
HAS = {
    "diffprivlib": {
        "LogisticRegression", "GaussianNB", "RandomForestClassifier", "DecisionTreeClassifier", "LinearRegression",
        "KMeans", "PCA", "StandardScaler",
    },
    "interpret": {"AdditiveClassifier"},
}  # fmt: skip
EPS = {"adult": (0.1, 0.3, 1.0, 3.0)}  # of the plot; other data sets: ε = 1


def environment(library: str) -> Path:
    """The Python of a rival, in an environment of its own; made when it is missing."""
    folder, packages = RIVALS[library]
    python = ROOT / "build" / "rivals" / folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return python


def jobs(names: list[str], seeds: range, libraries: list[str]) -> list[dict]:
    found = []
    for seed in seeds:
        for name in names:
            files = learn_data.written(name, seed, ROOT / "build" / "learn_data")
            for model in learn_data.MODELS[name]:
                for eps in EPS.get(name, (1.0,)) if model in learn_data.CLASSIFIERS else (1.0,):
                    for library in libraries:
                        for delta in (None, 1e-5) if library != "diffprivlib" else (None,):
                            if library != "privjail" and model not in HAS[library]:
                                continue
                            if library == "interpret" and delta is None or delta and eps == 0.3:
                                continue
                            found.append({"library": library, "data": name, "model": model, "eps": eps, "delta": delta,
                                          "seed": seed, **files})  # fmt: skip
    return found


KEY = ("library", "data", "model", "eps", "delta", "seed")


def budget(eps, delta=None):
    """A budget of just this price, in the notion that suits it: rounds need zCDP, a single release (ε, δ) alone."""
    if delta is None:
        return pj.PureDP(eps)
    return pj.ApproxDP(eps, delta) if eps < 0.3 else pj.ZCDP(float(learn.rho_for(eps, delta)) * 1.000001)


def ours(job: dict) -> dict:
    jail.cache_clear()
    price = {"eps": job["eps"]} | ({"delta": job["delta"]} if job["delta"] else {})
    schema = json.loads(Path(job["schema"]).read_text(encoding="utf-8"))
    df = pd.read_csv(job["train"], schema=schema, budget=budget(**price))
    test, name, target = pandas.read_csv(job["test"], na_values="?"), job["model"], job["target"]
    numbers = [c for c in schema if c != target and scores.is_number(schema[c])]
    start = time.perf_counter()
    if name in learn_data.CLASSIFIERS:
        model = getattr(learn, name)().fit(df.drop(columns=[target]), df[target], **price)
        took = time.perf_counter() - start
        return {"value": scores.accuracy(model.predict(test), test[target]), "seconds": took}
    if name == "LinearRegression":
        model = learn.LinearRegression().fit(df[numbers], df[target], **price)
        return {"value": model.score(test, test[target]), "seconds": time.perf_counter() - start}
    points = scores.matrix(test, schema, target, True)
    if name == "PCA":
        model = learn.PCA(n_components=scores.COMPONENTS).fit(df[numbers], **price)
        return {"value": scores.captured(model.components_, points), "seconds": time.perf_counter() - start}
    low, high = (pandas.Series({c: schema[c]["range"][i] for c in numbers}).to_numpy(float) for i in (0, 1))
    half, middle = (high - low) / 2, (high + low) / 2
    if name == "KMeans":
        model = learn.KMeans(n_clusters=scores.clusters(schema, target)).fit(df[numbers], **price)
        value = scores.scatter((model.cluster_centers_ - middle) / half, points)
    else:
        model = learn.StandardScaler().fit(df[numbers], **price)
        value = scores.off_scale((model.mean_ - middle) / half, model.scale_ / half, points)
    return {"value": value, "seconds": time.perf_counter() - start}


class Rival:
    """A rival's process, which takes jobs and gives results, one line each."""

    def __init__(self, library: str) -> None:
        command = [str(environment(library)), str(ROOT / "bench" / "learn_rivals.py"), library]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, job: dict) -> dict:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def measure(todo: list[dict]) -> None:
    versions = {name: version(name) for name in ("numpy", "polars", "opendp")} | {"privjail": pj.__version__}
    rivals: dict[str, Rival] = {}
    with contextlib.ExitStack() as stack, Progress() as progress, RESULTS.open("a", encoding="utf-8") as out:
        shown = progress.add_task("fits", total=len(todo))
        for job in todo:
            progress.update(shown, description=f"{job['library']} {job['model']}, {job['data']}, seed {job['seed']}")
            if job["library"] == "privjail":
                found = {**job, **ours(job), "versions": versions}
            else:
                if job["library"] not in rivals:
                    rivals[job["library"]] = Rival(job["library"])
                    stack.callback(rivals[job["library"]].close)
                found = rivals[job["library"]].run(job)
            out.write(json.dumps(found) + "\n")
            out.flush()
            progress.advance(shown)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--data", nargs="*", default=list(learn_data.MODELS))
    options.add_argument("--libraries", nargs="*", default=["privjail", *RIVALS])
    options.add_argument("--models", nargs="*")
    options.add_argument("--page", action="store_true", help="only write the page, from what was measured before")
    given = options.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    known = {tuple(each[k] for k in KEY) for each in map(json.loads, lines)}
    if not given.page:
        found = jobs(given.data, range(given.seeds), given.libraries)
        wanted = [each for each in found if not given.models or each["model"] in given.models]
        measure([each for each in wanted if tuple(each[k] for k in KEY) not in known])
    learn_page.write([json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()], ROOT)


if __name__ == "__main__":
    main()
