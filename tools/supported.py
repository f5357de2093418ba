"""Which names of pandas work on private data: a page for the documentation, made from the library itself."""

from __future__ import annotations

import inspect
import typing
import warnings
from dataclasses import dataclass
from typing import Any

from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

import pandas as plain
from privjail import pandas as pd
from privjail.errors import RefusedError
from privjail.pandas.keywords import ANY, KEYWORDS

SUPPORTED, WITH_EPS, REFUSED, PUBLIC = "supported", "supported with eps", "refused", "pandas' own"

HEAD = """# Supported pandas names

Every public name of pandas, and what it does on private data. This page is made from the library itself.

- **supported**: works as in pandas. Counts and sums are private numbers, which you release with `.reveal(eps=…)`.
- **supported with eps**: releases something at once, so it takes `eps=`.
- **refused**: the reason, and what to do instead. The error says the same.
- **pandas' own**: handed on from pandas, for public values.
"""
#: Names in the module that are not part of pandas' interface.
NOT_PANDAS = {"annotations", "pandas", "test"}


@dataclass(frozen=True)
class Name:
    """One name of pandas."""

    name: str
    status: str
    note: str


def _private() -> pd.PrivDataFrame:
    """A private table without a row: which names it has does not depend on data."""
    frame = plain.DataFrame({"number of days": [0], "ward of stay": ["a"]})
    schema = {"number of days": {"type": "Int64", "range": [0, 9]},
              "ward of stay": {"type": "category", "categories": ["a", "b"]}}  # fmt: skip
    return pd.from_frame(frame.head(0), "supported names", schema, budget=1)


def owners() -> dict[str, tuple[Any, Any]]:
    """Section → what pandas offers, and the private object in its place."""
    df = _private()
    groups = df.groupby("ward of stay")
    return {
        "DataFrame": (plain.DataFrame, df),
        "Series": (plain.Series, df["number of days"]),
        "DataFrameGroupBy": (DataFrameGroupBy, groups),
        "SeriesGroupBy": (SeriesGroupBy, groups["number of days"]),
    }


def names_of(owner: Any) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_") and name not in NOT_PANDAS]


def looked_up(owner: Any, name: str) -> Name:
    """What a private object makes of a name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(owner, name)
    except RefusedError as e:
        reason = e.what.partition(": ")[2] or e.what
        return Name(name, REFUSED, f"{reason}. Instead: {e.do}" if e.do else reason)
    member = inspect.getattr_static(type(owner), name, found)
    function = inspect.unwrap(member.fget if isinstance(member, property) and member.fget else member)
    said = (inspect.getdoc(function) or "").partition("\n")[0]
    if not callable(function) or inspect.isclass(function):
        return Name(name, SUPPORTED, said if inspect.isclass(function) else "")
    if _never_returns(function):
        return Name(name, REFUSED, said)
    return Name(name, WITH_EPS if "eps" in inspect.signature(function).parameters else SUPPORTED, said)


def _never_returns(function: Any) -> bool:
    return function.__annotations__.get("return") in ("NoReturn", typing.NoReturn)


def top_level() -> list[Name]:
    """The functions and classes of the module itself."""
    out = []
    for name in names_of(plain):
        found = looked_up(pd, name)
        handed_on = found.status != REFUSED and name not in pd.__all__
        out.append(Name(name, PUBLIC, "") if handed_on else found)
    return out


def table() -> dict[str, list[Name]]:
    """Everything, by section."""
    sections = {title: [looked_up(o, n) for n in names_of(of)] for title, (of, o) in owners().items()}
    return {**sections, "pandas": top_level()}


def page() -> str:
    """The page, as Markdown."""
    parts = [HEAD]
    for title, names in table().items():
        count = {status: sum(n.status == status for n in names) for status in (SUPPORTED, WITH_EPS, REFUSED, PUBLIC)}
        parts.append(f"## {title}\n\n" + ", ".join(f"{n} {status}" for status, n in count.items() if n) + ".\n")
        rows = [f"| `{n.name}` | {n.status} | {n.note.replace('|', chr(92) + '|')} |" for n in names]
        parts.append("\n".join(["| name | status | note |", "| --- | --- | --- |", *rows]) + "\n")
    return "\n".join([*parts, arguments()])


def arguments() -> str:
    """Arguments that pandas takes and our methods do not: what is accepted without effect, and why the rest is not."""
    rows = ["| argument | taken | otherwise |", "| --- | --- | --- |"]
    for name, rule in sorted(KEYWORDS.items()):
        free = ANY in rule.accepted
        taken = "any value, without effect" if free else ", ".join(f"`{value!r}`" for value in rule.accepted) or "–"
        other = f"{rule.why[0].upper()}{rule.why[1:]}." + ("" if free else f" Instead: {rule.instead}")
        rows.append(f"| `{name}` | {taken} | {other.replace('|', chr(92) + '|')} |")
    said = "Every argument of pandas that a method here does not take itself; `method.argument` is about one method."
    return f"## Arguments\n\n{said}\n\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(page())
