"""The data sets of bench/learn_accuracy.py, as files: a table to fit, a table to test, and a public schema.

Adult is the one that choices were made on (on its rows to fit). Ranges are those that scikit-learn's descriptions
state, or those by which the data is generated.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy
from sklearn import datasets

import pandas

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import adult  # noqa: E402

CLASSIFIERS = (
    "LogisticRegression", "GaussianNB", "RandomForestClassifier", "DecisionTreeClassifier", "AdditiveClassifier",
    "CategoricalNB",
)  # fmt: skip
NUMBERS = ("StandardScaler", "PCA", "KMeans")
MODELS = {  # which models are measured on which data
    "adult": (*CLASSIFIERS, *NUMBERS),
    "breast cancer": (*CLASSIFIERS, "StandardScaler", "PCA"),
    "digits, odd or even": (*CLASSIFIERS, "PCA", "KMeans"),
    "moons": CLASSIFIERS,
    "mixture": (*CLASSIFIERS, "StandardScaler", "PCA"),
    "diabetes": ("LinearRegression",),
    "slopes": ("LinearRegression",),
    "blobs": ("KMeans", "StandardScaler"),
}
CHOSEN_ON = ("adult",)


def numbers(columns: list[str], low, high) -> dict:
    low, high = numpy.broadcast_to(low, len(columns)), numpy.broadcast_to(high, len(columns))
    return {
        name: {"type": "Float64", "range": [float(a), float(b)]} for name, a, b in zip(columns, low, high, strict=True)
    }


def split(values, columns: list[str], schema: dict, target: str, y, seed: int):
    """Two thirds to fit, one third to test; values outside the public ranges go to their ends."""
    table = pandas.DataFrame(values, columns=columns)
    for name in columns:
        table[name] = table[name].clip(*schema[name]["range"])
    table[target] = y
    chosen = numpy.random.default_rng(seed).permutation(len(table))
    cut = 2 * len(table) // 3
    return table.iloc[chosen[:cut]], table.iloc[chosen[cut:]], schema, target


def classes(names: list[str]) -> dict:
    return {"type": "category", "categories": names}


def breast_cancer(seed: int):
    found = datasets.load_breast_cancer()
    columns = [str(name) for name in found.feature_names]
    high = numpy.ceil(found.data.max(axis=0) * 1.05 * 100) / 100
    schema = numbers(columns, 0, high) | {"kind": classes(["malignant", "benign"])}
    return split(found.data, columns, schema, "kind", found.target_names[found.target], seed)


def digits(seed: int):
    found = datasets.load_digits()
    columns = [f"p{i}" for i in range(64)]
    schema = numbers(columns, 0, 16) | {"odd": classes(["even", "odd"])}
    return split(found.data, columns, schema, "odd", numpy.where(found.target % 2, "odd", "even"), seed)


def moons(seed: int):
    points, which = datasets.make_moons(12_000, noise=0.25, random_state=100 + seed)
    schema = numbers(["a", "b"], [-2, -2], [3, 2]) | {"moon": classes(["upper", "lower"])}
    return split(points, ["a", "b"], schema, "moon", numpy.where(which, "lower", "upper"), seed)


def mixture(seed: int):
    points, which = datasets.make_classification(
        24_000, n_features=10, n_informative=6, n_redundant=2, flip_y=0.05, random_state=200 + seed
    )
    columns = [f"x{i}" for i in range(10)]
    schema = numbers(columns, -6, 6) | {"y": classes(["no", "yes"])}
    return split(points, columns, schema, "y", numpy.where(which, "yes", "no"), seed)


def diabetes(seed: int):
    found = datasets.load_diabetes()
    columns = [str(name) for name in found.feature_names]
    schema = numbers(columns, -0.2, 0.2) | {"progress": {"type": "Float64", "range": [25.0, 346.0]}}  # as described
    return split(found.data, columns, schema, "progress", found.target, seed)


def slopes(seed: int):
    dice = numpy.random.default_rng(300 + seed)
    points = dice.uniform(-1, 1, (24_000, 6))
    y = numpy.clip(points @ dice.normal(0, 2, 6) + dice.normal(0, 1, len(points)), -15, 15)
    columns = [f"x{i}" for i in range(6)]
    schema = numbers(columns, -1, 1) | {"y": {"type": "Float64", "range": [-15.0, 15.0]}}
    return split(points, columns, schema, "y", y, seed)


def blobs(seed: int):
    points, which = datasets.make_blobs(15_000, 4, centers=5, center_box=(-8, 8), random_state=400 + seed)
    columns = [f"x{i}" for i in range(4)]
    return split(points, columns, numbers(columns, -12, 12) | {"y": classes(list("abcde"))}, "y",
                 numpy.array(list("abcde"))[which], seed)  # fmt: skip


MADE = {
    "breast cancer": breast_cancer, "digits, odd or even": digits, "moons": moons, "mixture": mixture,
    "diabetes": diabetes, "slopes": slopes, "blobs": blobs,
}  # fmt: skip


def written(name: str, seed: int, folder: Path) -> dict:
    """The files of a data set: train, test and schema, with the name of the target."""
    if name == "adult":
        files = adult.files()
        if files is None:
            raise SystemExit(adult.MISSING)
        return {"train": files[0], "test": files[1], "schema": files[2], "target": "income"}
    where = folder / f"{name.split(',')[0].replace(' ', '_')}-{seed}"
    where.mkdir(parents=True, exist_ok=True)
    paths = {part: str(where / part) for part in ("train.csv", "test.csv", "schema.json")}
    train, test, schema, target = MADE[name](seed)
    train.to_csv(paths["train.csv"], index=False)
    test.to_csv(paths["test.csv"], index=False)
    Path(paths["schema.json"]).write_text(json.dumps(schema), encoding="utf-8")
    return {"train": paths["train.csv"], "test": paths["test.csv"], "schema": paths["schema.json"], "target": target}
