"""A differentially private decision tree: figure 2 of the PrivJail paper, on UCI Adult or generated data.

The functions DiffPID3, build_DiffPID3, noisy_count and quality_fn are the paper's listing, word for word, comments
included; imports, the two node classes and the loading of data are added. One line stands further right than in the
text of the paper that we have: `return LeafNode(best_class)` belongs to the `if`, or nothing below it would ever run.

    python examples/diffpid3.py --eps 1.0 --depth 5 \\
        --train adult_train.csv --test adult_test.csv --schema adult.schema.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from pathlib import Path

import census

import pandas
import privjail as pj
from privjail import pandas as pd

N_BINS = 20
TARGET = "income"


class LeafNode:
    def __init__(self, label):
        self.label = label

    def classify(self, row):
        return self.label

    def count(self):
        return 1

    def depth(self):
        return 0


class InnerNode:
    def __init__(self, attr):
        self.attr = attr
        self.children = {}

    def add_child(self, category, child):
        self.children[category] = child

    def classify(self, row):
        return self.children[row[self.attr]].classify(row)

    def count(self):
        return 1 + sum(child.count() for child in self.children.values())

    def depth(self):
        return 1 + max(child.depth() for child in self.children.values())


# fmt: off
def DiffPID3(df, attrs, class_attr, d, B):
    # df      : 入力のPrivDataFrame (すべてカテゴリ値)
    # attrs   : 説明変数の属性名 (カラム名) の集合
    # class_attr : 目的変数の属性名 (カラム名)
    # d       : 決定木の深さの最大値
    # B       : 全体のプライバシー予算
    eps = B / (2*(d+1))
    return build_DiffPID3(df, attrs, class_attr, d, eps)

def build_DiffPID3(df, attrs, class_attr, d, eps):
    t = max([len(df.domains[a].categories) for a in attrs])
    C = len(df.domains[class_attr].categories)
    N = noisy_count(df, eps)

    if len(attrs) == 0 or d == 0 or N/(t*C) < (2**0.5)/eps:
        # 葉ノードにclass_attr属性の最頻値を記録
        class_counts = {c: noisy_count(df_c, eps) \
                        for c, df_c in df.groupby(class_attr)}
        best_class = max(class_counts, key=class_counts.get)
        return LeafNode(best_class)

    # 最良の分割を与える属性 (best_attr) を選択
    qs = {a: quality_fn(df, a, class_attr) for a in attrs}
    best_attr = pj.exponential_mechanism(qs, eps=eps)

    # best_attr属性の値に応じてデータを分割し、再帰的に木を生成
    node = InnerNode(best_attr)
    for category, df_child in df.groupby(best_attr):
        child_node = build_DiffPID3(df_child, \
                                      attrs - {best_attr}, class_attr, d - 1, eps)
        node.add_child(category, child_node)
    return node

# PrivDataFrameの行数にノイズを加えた0以上の実数を出力
def noisy_count(df, eps):
    return max(0, pj.laplace_mechanism(df.shape[0], eps=eps))

# Quality functionとしてMax operatorを実装
def quality_fn(df, split_attr, class_attr):
    s = 0
    for _, df_c in df.groupby(split_attr):
        s += df_c[class_attr].value_counts(sort=False).max()
    return s
# fmt: on


def edges(schema, column):
    low, high = schema[column]["range"]
    return [low + i * (high - low) / N_BINS for i in range(N_BINS + 1)]


def discretise(df, schema):
    """Every column of numbers in 20 intervals of equal width, as in the paper's section 8."""
    for column, entry in schema.items():
        if entry["type"] == "Int64":
            bins = edges(schema, column)
            df[column] = pd.cut(df[column], bins=bins, labels=list(range(N_BINS)), right=False, include_lowest=True)
    return df


def load_private(train, schema, budget=None):
    return discretise(pd.read_csv(train, schema=schema, budget=budget).dropna(), schema)


def load_public(test, schema):
    """The test set is public here: it measures the tree."""
    frame = pandas.read_csv(test, na_values=["?"]).dropna()
    for column, entry in schema.items():
        if entry["type"] == "Int64":
            bins = edges(schema, column)
            frame[column] = pandas.cut(frame[column], bins=bins, labels=list(range(N_BINS)), right=False)
    return frame.to_dict("records")


def accuracy(tree, rows):
    return sum(tree.classify(row) == row[TARGET] for row in rows) / len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--train", help="CSV file of the private data (default: generated)")
    parser.add_argument("--test", help="CSV file of public test data")
    parser.add_argument("--schema", help="JSON schema of both")
    a = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if a.train is None:
            a.train, a.test, a.schema = census.write_files(stack.enter_context(tempfile.TemporaryDirectory()))
        print(json.dumps(measure(a.train, a.test, a.schema, a.eps, a.depth)))


def measure(train, test, schema_file, eps, depth):
    """Grow a tree; what it cost, its shape, and its accuracy on public data."""
    schema = json.loads(Path(schema_file).read_text(encoding="utf-8"))
    df = load_private(train, schema)
    before = pj.consumed_privacy_budget()[str(train)]
    start = time.perf_counter()
    tree = DiffPID3(df, set(schema) - {TARGET}, TARGET, depth, eps)
    seconds = time.perf_counter() - start
    spent = pj.consumed_privacy_budget()[str(train)] - before
    measured = None if test is None else round(accuracy(tree, load_public(test, schema)), 4)
    return {"eps": eps, "spent": spent, "depth": tree.depth(), "nodes": tree.count(), "train_s": round(seconds, 3),
            "accuracy": measured}  # fmt: skip


if __name__ == "__main__":
    main()
