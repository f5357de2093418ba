"""DiffPID3 with PyPI's privjail 0.1.2, isolated: run by bench/wire.py in an environment of its own.

    python wire_rival.py TRAIN SCHEMA EPS DEPTH SECONDS

Prints JSON: tree nodes that were finished, and seconds. It is stopped after SECONDS, since one tree takes minutes; what
it has done by then is what is compared, per node.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

import privjail as pj
from privjail import pandas as ppd

N_BINS, TARGET = 20, "income"
SERVE = "import privjail; privjail.serve(0, '127.0.0.1')"
started = last = 0.0
done, most = 0, 0.0


class Enough(Exception):
    """The time is over."""


def finished() -> None:
    """One more node is complete."""
    global done, last
    done, last = done + 1, time.perf_counter()
    if last - started > most:
        raise Enough


def noisy_count(df: Any, eps: float) -> float:
    return max(0, pj.laplace_mechanism(df.shape[0], eps=eps))


def quality(df: Any, attr: str) -> Any:
    total = 0
    for _, child in df.groupby(attr):
        total += child[TARGET].value_counts(sort=False).max()
    return total


def build(df: Any, attrs: list[str], depth: int, eps: float) -> None:
    t = max(len(df.domains[a].categories) for a in attrs)
    classes = len(df.domains[TARGET].categories)
    n = noisy_count(df, eps)
    if not attrs or depth == 0 or n / (t * classes) < 2**0.5 / eps:
        for _, child in df.groupby(TARGET):
            noisy_count(child, eps)
        finished()
        return
    best = attrs[pj.exponential_mechanism([quality(df, a) for a in attrs], eps=eps)]
    finished()
    for _, child in df.groupby(best):
        build(child, [a for a in attrs if a != best], depth - 1, eps)


def load(train: str, schema_file: str) -> Any:
    with open(schema_file, encoding="utf-8") as file:
        schema = json.load(file)
    df = ppd.read_csv(train, schema_file, accountant="pure").dropna()
    for column, entry in schema.items():
        if entry["type"] == "Int64":
            low, high = entry["range"]
            bins = [low + i * (high - low) / N_BINS for i in range(N_BINS + 1)]
            df[column] = ppd.cut(df[column], bins=bins, labels=list(range(N_BINS)), right=False, include_lowest=True)
    return df, schema


def main() -> None:
    global started, most
    train, schema_file, eps, depth, most_ = sys.argv[1:]
    most = float(most_)
    server = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().split(" (")[0].rpartition(":")[2])
        pj.connect("127.0.0.1", port)
        df, schema = load(train, schema_file)
        started = time.perf_counter()
        with contextlib.suppress(Enough):
            build(df, sorted(set(schema) - {TARGET}), int(depth), float(eps) / (2 * (int(depth) + 1)))
        server.kill()
        print(json.dumps({"nodes": done, "seconds": last - started}), flush=True)
        os._exit(0)  # its finalisers would each call the server, which ends now
    finally:
        server.kill()


if __name__ == "__main__":
    main()
