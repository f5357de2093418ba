"""An analyst who tries everything, prints whatever she gets, and then waits while her memory is searched."""

from __future__ import annotations

import copy
import gc
import logging
import operator
import pickle
import sys
import traceback
from typing import Any

from programs import Program

import privjail as pj
from privjail import pandas as pd


def told(e: BaseException | None) -> str:
    """An exception with all that hangs on it: causes, contexts, notes, frames."""
    parts = []
    while e is not None:
        parts += [repr(e), str(e), repr(e.args), repr(vars(e)), "".join(traceback.format_exception(e))]
        for frame, _ in traceback.walk_tb(e.__traceback__):
            parts.append(repr({k: type(v) for k, v in frame.f_locals.items()}))
        e = e.__cause__ or e.__context__
    return "\n".join(parts)


def attempts(df: Any) -> list[Any]:
    """Everything that Python may do to a value on its own, and every attribute that it has."""
    targets = [df, df["age"], df["note"], df.shape[0], df.groupby("city"), df.groupby("city").size(), df["note"].str]
    plain = [
        repr, str, len, list, bool, int, float, hash, iter, next, reversed, dir, vars, bytes, abs, round, complex,
        pickle.dumps, copy.copy, copy.deepcopy, operator.index, format, sorted, sum, set, dict, tuple, max, min, print,
        lambda x: f"{x}", lambda x: "%s" % x, lambda x: x == 1, lambda x: x in [1, 2], lambda x: 1 in x,
        lambda x: x[0], lambda x: x.__array__(), lambda x: x.__dataframe__(), lambda x: [*x], lambda x: x.iloc[0],
        lambda x: x.values, lambda x: x.to_numpy(), lambda x: x._repr_html_(), lambda x: x.__reduce_ex__(2),
        lambda x: x.__dict__, lambda x: x.apply(print), lambda x: x.to_csv(), lambda x: x.to_dict(), lambda x: x.describe(),
    ]  # fmt: skip
    tries: list[Any] = [(t, f) for t in targets for f in plain]
    for t in targets:
        tries += [(t, lambda x, n=n: getattr(x, n)) for n in dir(t)]
        tries += [(t, lambda x, n=n: getattr(x, n)()) for n in dir(t) if not n.startswith("_")]
    return tries


def main() -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
    pj.connect(sys.argv[1])
    for seed in range(int(sys.argv[2])):
        print("\n".join(Program(seed, "people").run()))
    df = pd.read_csv("people")
    for target, attempt in attempts(df):
        try:
            print(attempt(target))
        except BaseException as e:  # noqa: B036  whatever it is, it is looked at
            print(told(e))
    for name in ("/etc/passwd", "../people.csv", "nosuch"):
        try:
            pd.read_csv(name)
        except pj.DPError as e:
            print(told(e))
    print(df["salary"].clip(0, 10**16).sum().reveal(eps=1), pj.consumed_privacy_budget())
    gc.collect()
    print("READY", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
