"""Programs of this library on two neighbouring tables, for the sequential auditor: what broke others, tried here.

Each goes the whole way, from a pandas face to the released value. The same program runs on both tables; its claim is
the ε that it is asked to spend. Tables are opened once, without a limit, so that a program can run thousands of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NAN, INF = float("nan"), float("inf")
FLOAT = {"x": {"type": "float", "range": [0, 10]}}
BIG = 2**61
Program = Callable[[Any], Any]


@dataclass(frozen=True)
class Replay:
    """A program, two neighbouring tables as columns, and what is claimed; ``options`` of opening."""

    name: str
    about: str
    left: dict[str, list[Any]]
    right: dict[str, list[Any]]
    schema: dict[str, Any]
    program: Program
    epsilon: float = 1.0
    delta: float = 0.0
    options: tuple[tuple[str, Any], ...] = ()
    rounds: int = 4_000

    def releases(self) -> list[Callable[[], Any]]:
        """The program on each of the two tables."""
        import pandas
        from privjail import pandas as pd

        def run(columns: dict[str, list[Any]]) -> Callable[[], Any]:
            frame = pandas.DataFrame(columns)
            table = pd.from_frame(frame, self.name, schema=self.schema, **dict(self.options))
            return lambda: plain(self.program(table))

        return [run(self.left), run(self.right)]


def plain(answer: Any) -> Any:
    """Numbers and lists of what was released."""
    if hasattr(answer, "tolist") or hasattr(answer, "to_numpy"):
        return answer.to_numpy().tolist() if hasattr(answer, "to_numpy") else answer.tolist()
    return tuple(map(plain, answer)) if isinstance(answer, tuple) else float(answer)


def column(*values: Any) -> dict[str, list[Any]]:
    return {"x": list(values)}


def _two(table: Any) -> Any:
    return table.shape[0].reveal(eps=0.5), table["x"].sum().reveal(eps=0.5)


def _assigned(table: Any) -> Any:
    changed = table.assign(x=1000.0)
    return changed["x"].sum().reveal(eps=1)


def _codes(table: Any) -> Any:
    from privjail import pandas as pd

    return pd.cut(table["x"], bins=[0, 5, 10], labels=["low", "high"]).value_counts(sort=False).reveal(eps=1)


def replays() -> list[Replay]:
    """Neighbours differ in one row, or where it is said in one person."""
    keyed = {"g": {"type": "category", "categories": ["a", "b", "c"]}, **FLOAT}
    owned = {"who": {"type": "string"}, **FLOAT}
    whole = {"x": {"type": "int", "range": [0, BIG]}}
    near = {"x": {"type": "float", "range": [2.0**50, 2.0**50 + 1]}}
    far = 2.0**50
    person = (("unit", "who"), ("max_rows_per_unit", 2))
    rows = [1.0] * 5
    return [
        Replay("count", "laws", column(1.0), column(1.0, 1.0), FLOAT, lambda t: t.shape[0].reveal(eps=1)),
        Replay("sum of floats", "floating point", column(0.0), column(0.0, 10.0), FLOAT,
               lambda t: t["x"].sum().reveal(eps=1)),
        Replay("sum of values near 2⁵⁰", "floating point", column(*[far + 0.25] * 300),
               column(*[far + 0.25] * 300, far + 0.5), near, lambda t: t["x"].sum().reveal(eps=1)),
        Replay("sum, a missing value", "missing values", column(1.0), column(1.0, NAN), FLOAT,
               lambda t: t["x"].sum().reveal(eps=1)),
        Replay("mean, a missing value", "missing values", column(1.0, 2.0), column(1.0, 2.0, NAN), FLOAT,
               lambda t: t["x"].mean(eps=1)),
        Replay("sum, an infinite value", "overflow and bounds", column(1.0), column(1.0, INF), FLOAT,
               lambda t: t["x"].sum().reveal(eps=1)),
        Replay("sum beyond 64 bits", "overflow and bounds", column(*[BIG] * 3), column(*[BIG] * 4), whole,
               lambda t: t["x"].sum().reveal(eps=1)),
        Replay("another value is assigned", "overflow and bounds", column(0.0), column(0.0, 1.0), FLOAT, _assigned),
        Replay("counts of absent groups", "groups", {"g": ["a"], "x": [1.0]}, {"g": ["a", "c"], "x": [1.0, 1.0]}, keyed,
               lambda t: t["g"].value_counts(sort=False).reveal(eps=1)),
        Replay("mean of an empty group", "groups", {"g": ["a"], "x": [1.0]}, {"g": ["a", "c"], "x": [1.0, 9.0]}, keyed,
               lambda t: t.groupby("g")["x"].mean(eps=1), rounds=400),  # 20 ms each
        Replay("mean of nothing", "groups", column(), column(5.0), FLOAT, lambda t: t["x"].mean(eps=1)),
        Replay("sum after head", "order", column(*rows), column(10.0, *rows), FLOAT,
               lambda t: t.head(3)["x"].sum().reveal(eps=1)),
        Replay("sum of differences", "order", column(*rows), column(*rows[:2], 10.0, *rows[2:]), FLOAT,
               lambda t: t["x"].diff().sum().reveal(eps=1)),
        Replay("counts of intervals", "order", column(*rows), column(9.0, *rows), FLOAT, _codes),
        Replay("a person of fifty rows", "truncation", {"who": ["p"], "x": [1.0]},
               {"who": ["p"] + ["q"] * 50, "x": [1.0] + [10.0] * 50}, owned, lambda t: t["x"].sum().reveal(eps=1),
               options=person),
        Replay("two rows of each person", "truncation", {"who": ["p"], "x": [1.0]},
               {"who": ["p", "q", "q"], "x": [1.0] * 3}, owned,
               lambda t: t.groupby("who").head(1).shape[0].reveal(eps=1), options=person),
        Replay("a count and a sum", "composition", column(1.0), column(1.0, 10.0), FLOAT, _two),
    ]  # fmt: skip
