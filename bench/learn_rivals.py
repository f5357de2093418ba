"""Models of other libraries, run by bench/learn_accuracy.py in environments of their own.

Jobs come as lines of JSON on standard input, results leave as lines of JSON. Every library gets the same rows, the same
public ranges and categories, and its own defaults. Where it cannot take categories, they are one-hot encoded.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version

import numpy

import pandas


def read(job: dict) -> tuple:
    with open(job["schema"], encoding="utf-8") as file:
        schema = json.load(file)
    train, test = (pandas.read_csv(job[part], na_values="?") for part in ("train", "test"))
    return train, test, schema


def is_number(column: dict) -> bool:
    return column["type"] != "category"


def matrix(table, schema: dict, target: str, only_numbers: bool):
    """Numbers from -1 to 1 over their public ranges, and categories one-hot (a missing one is all zeros)."""
    columns = []
    for name, column in schema.items():
        if name == target:
            continue
        if is_number(column):
            low, high = column["range"]
            columns.append(2 * (table[name].to_numpy(float) - low) / (high - low) - 1)
        elif not only_numbers:
            columns += [(table[name] == label).to_numpy(float) for label in column["categories"]]
    return numpy.column_stack(columns)


def bounds(schema: dict, target: str, only_numbers: bool):
    low, norm = [], 0
    for name, column in schema.items():
        if name == target:
            continue
        if is_number(column):
            low, norm = [*low, -1.0], norm + 1
        elif not only_numbers:
            low, norm = low + [0.0] * len(column["categories"]), norm + 1
    return (numpy.array(low), numpy.ones(len(low))), norm**0.5


# -- scores on the rows to test, the same for every library


def accuracy(predicted, truth) -> float:
    return float(numpy.mean(numpy.asarray(predicted) == numpy.asarray(truth)))


def r_squared(predicted, truth) -> float:
    return float(1 - numpy.sum((truth - predicted) ** 2) / numpy.sum((truth - truth.mean()) ** 2))


def captured(components, points) -> float:
    """The share of the test rows' variance that lies in the space of the components."""
    centred = points - points.mean(axis=0)
    basis = numpy.linalg.qr(numpy.asarray(components).T)[0]
    return float(((centred @ basis) ** 2).sum() / (centred**2).sum())


def scatter(centres, points) -> float:
    """The mean squared distance to the nearest centre."""
    far = ((points[:, None, :] - numpy.asarray(centres)[None]) ** 2).sum(axis=2)
    return float(far.min(axis=1).mean())


def off_scale(mean, scale, points) -> float:
    """How wrong a scaler is: the mean over columns of |error of the mean| / s.d. and |log of the ratio of s.d.|."""
    true, spread = points.mean(axis=0), numpy.maximum(points.std(axis=0), 1e-9)
    wrong = numpy.abs(numpy.log(numpy.maximum(numpy.asarray(scale), 1e-9) / spread))
    return float(numpy.mean(numpy.abs(numpy.asarray(mean) - true) / spread + wrong))


SCORES = {  # the score's name, and whether more is better
    "LinearRegression": ("R²", True), "PCA": ("variance captured", True), "KMeans": ("mean squared distance", False),
    "StandardScaler": ("error of mean and s.d.", False),
}  # fmt: skip
COMPONENTS = 2


def clusters(schema: dict, target: str) -> int:
    column = schema[target]
    return len(column["categories"]) if column["type"] == "category" and len(column["categories"]) > 2 else 8


def diffprivlib(job: dict) -> float:
    from diffprivlib import models

    train, test, schema = read(job)
    name, eps, target, seed = job["model"], job["eps"], job["target"], job["seed"]
    only = name in ("LinearRegression", "PCA", "KMeans", "StandardScaler")
    x, z = (matrix(t, schema, target, only) for t in (train, test))
    (low, high), norm = bounds(schema, target, only)
    made = getattr(models, name)
    same = {"epsilon": eps, "random_state": seed}
    if name == "LogisticRegression":
        return accuracy(made(data_norm=norm, max_iter=1000, **same).fit(x, train[target]).predict(z), test[target])
    if name == "GaussianNB":
        return accuracy(made(bounds=(low, high), **same).fit(x, train[target]).predict(z), test[target])
    if name in ("RandomForestClassifier", "DecisionTreeClassifier"):
        # it takes whole numbers as classes
        labels = schema[target]["categories"]
        codes = train[target].map(labels.index).to_numpy()
        model = made(bounds=(low, high), classes=list(range(len(labels))), **same).fit(x, codes)
        return accuracy(model.predict(z), test[target].map(labels.index).to_numpy())
    if name == "LinearRegression":
        a, b = schema[target]["range"]
        model = made(bounds_X=(low, high), bounds_y=(a, b), **same).fit(x, train[target].to_numpy())
        return r_squared(model.predict(z), test[target].to_numpy())
    if name == "PCA":
        return captured(made(COMPONENTS, data_norm=norm, bounds=(low, high), **same).fit(x).components_, z)
    if name == "KMeans":
        return scatter(made(clusters(schema, target), bounds=(low, high), **same).fit(x).cluster_centers_, z)
    model = made(bounds=(low, high), **same).fit(x)
    return off_scale(model.mean_, model.scale_, z)


def interpret(job: dict) -> float:
    from interpret.privacy import DPExplainableBoostingClassifier

    train, test, schema = read(job)
    target = job["target"]
    names = [name for name in schema if name != target]
    kinds = ["continuous" if is_number(schema[name]) else "nominal" for name in names]
    public = {i: tuple(schema[name]["range"]) for i, name in enumerate(names) if is_number(schema[name])}
    model = DPExplainableBoostingClassifier(
        feature_names=names, feature_types=kinds, epsilon=job["eps"], delta=job["delta"] or 1e-5, privacy_bounds=public,
        random_state=job["seed"], n_jobs=1,
    )  # fmt: skip
    # It takes no missing values: a missing category is a category of its own.
    texts = [n for n in names if not is_number(schema[n])]
    clean = [t[names].assign(**{n: t[n].astype(object).where(t[n].notna(), "?") for n in texts}) for t in (train, test)]
    return accuracy(model.fit(clean[0], train[target]).predict(clean[1]), test[target])


LIBRARIES = {"diffprivlib": diffprivlib, "interpret": interpret}
PACKAGES = {"diffprivlib": ("diffprivlib", "scikit-learn", "numpy"), "interpret": ("interpret-core", "numpy")}


def main() -> None:
    warnings.simplefilter("ignore")
    library = sys.argv[1]
    versions = {name: version(name) for name in PACKAGES[library]}
    for line in sys.stdin:
        job = json.loads(line)
        start = time.perf_counter()
        try:
            found = {"value": LIBRARIES[library](job)}
        except Exception as problem:  # a rival's failure is a result
            found = {"value": None, "problem": f"{type(problem).__name__}: {problem}"[:200]}
        print(json.dumps({**job, **found, "seconds": time.perf_counter() - start, "versions": versions}), flush=True)


if __name__ == "__main__":
    main()
