"""Lines typed by habit, and what becomes of them.

``programs/*.txt`` hold programs in the style of public notebooks: a title, the columns of a made-up table, and lines
that are run one after the other. A line that is refused may be followed by what the error told the analyst to type:

    -> a rename: the same line with another name or one more argument
    => advice: another way to the same answer

Both count only if the error names every word that is new in them, and if they run.
"""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import pandas
import privjail as pj
from privjail import pandas as pd
from privjail.errors import DPError

FOLDER = Path(__file__).parent / "programs"
ROWS = 400
OUTCOMES = ("works", "rename", "advice", "dead end", "raw error", "wrong")
_numbers = itertools.count(1)


@dataclass
class Line:
    typed: str
    rename: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    outcome: str = ""
    said: str = ""


@dataclass
class Program:
    name: str
    title: str
    schema: dict[str, Any]
    frame: pandas.DataFrame
    lines: list[Line]


def programs() -> list[Program]:
    return [_read(path) for path in sorted(FOLDER.glob("*.txt"))]


def _read(path: Path) -> Program:
    title, columns, lines = "", [], []
    for raw in path.read_text(encoding="utf-8").splitlines():
        if raw.startswith("title: "):
            title = raw.removeprefix("title: ")
        elif raw.startswith("column: "):
            columns.append(raw.removeprefix("column: "))
        elif raw.strip().startswith("-> "):
            lines[-1].rename.append(raw.strip()[3:])
        elif raw.strip().startswith("=> "):
            lines[-1].advice.append(raw.strip()[3:])
        elif raw.strip():
            lines.append(Line(raw))
    rng = np.random.default_rng(len(path.stem))
    made = [_column(text, rng) for text in columns]
    return Program(path.stem, title, {n: s for n, s, _ in made}, pandas.DataFrame({n: v for n, _, v in made}), lines)


def _column(text: str, rng: np.random.Generator) -> tuple[str, dict[str, Any], Any]:
    missing = text.endswith(" missing")
    name, kind, *rest = text.removesuffix(" missing").split(" ", 2)
    given = rest[0] if rest else ""
    schema: dict[str, Any] = {"type": kind}
    values: list[Any]
    if kind in ("Int64", "Float64"):
        low, high = (int(x) for x in given.split(".."))
        schema["range"] = [low, high] if kind == "Int64" else [float(low), float(high)]
        drawn = rng.integers(low, high + 1, ROWS) if kind == "Int64" else rng.uniform(low, high, ROWS).round(2)
        values = drawn.tolist()
    elif kind == "datetime":
        low, high = (pandas.Timestamp(x) for x in given.split(".."))
        schema["range"] = [str(low.date()), str(high.date())]
        seconds = rng.integers(0, int((high - low).total_seconds()), ROWS)
        values = [low + pandas.Timedelta(seconds=int(s)) for s in seconds]
    elif kind == "boolean":
        values = (rng.random(ROWS) < 0.4).tolist()
    else:
        labels = given.split("|")
        if kind == "category":
            schema["categories"] = labels
        values = rng.choice(labels, ROWS).tolist()
    dtype = {"datetime": "datetime64[us]", "category": "object"}.get(kind, kind)
    if missing:
        values = [None if rng.random() < 0.1 else v for v in values]
    elif kind in ("Int64", "Float64", "boolean", "category", "datetime"):
        schema["fill"] = (
            False if kind == "boolean" else schema["categories"][0] if kind == "category" else (schema["range"][0])
        )  # a column without missing values
    return name, schema, pandas.Series(values, dtype=dtype)


def run(program: Program) -> list[Line]:
    """Run the lines one after the other; each gets its outcome."""
    space = {
        "pd": pd, "np": np, "pj": pj,
        "df": pd.from_frame(program.frame, f"{program.name} {next(_numbers)}", program.schema),
        "regions": pandas.DataFrame({"city": ["Paris", "Lyon", "Nice"], "region": ["north", "east", "south"]}),
    }  # fmt: skip
    for line in program.lines:
        line.outcome, line.said = _outcome(line, space)
    return program.lines


def _outcome(line: Line, space: dict[str, Any]) -> tuple[str, str]:
    error = _typed(line.typed, space)
    if error is None:
        return "works", ""
    said = str(error)
    if not isinstance(error, DPError):
        return "raw error", f"{type(error).__name__}: {said}"
    for kind, after in (("rename", line.rename), ("advice", line.advice)):
        told = after and all(_told(line.typed, said, text) for text in after)
        if told and all(_typed(text, space) is None for text in after):
            return kind, said
    return "dead end", said


def _typed(text: str, space: dict[str, Any]) -> BaseException | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<typed>", "exec"), space)  # noqa: S102
        except Exception as error:
            return error
    return None


def _told(typed: str, said: str, after: str) -> bool:
    """Whether the error names every method and argument that is new in what was typed next."""
    words = set(re.findall(r"[A-Za-z_]+(?=\(|=|\b)", _code(after))) - set(re.findall(r"[A-Za-z_]+", typed))
    known = set(re.findall(r"[A-Za-z_]+", said)) | {"df", "pd", "pj", "True", "False", "x", "for", "in", "lambda"}
    return words <= known


def _code(text: str) -> str:
    return re.sub(r"\"[^\"]*\"|'[^']*'", "", text)
