"""Schema files: for each column its type, range, categories and marks for missing values.

    {"age":    {"type": "Int64", "range": [0, 120], "na_value": "?"},
     "gender": {"type": "category", "categories": ["Female", "Male"]}}

The same in TOML: one table per column. Keys: ``type`` (Int64, Float64, category, string, boolean, datetime),
``range`` [lower, upper], ``outside`` ("clip" or "null": what happens to numbers outside the range),
``categories``, ``ordered``, ``na_value`` (one mark or a list), ``fill`` (what replaces missing values).
"""

from __future__ import annotations

import datetime
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.errors import SchemaError
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    FloatDomain,
    IntDomain,
    TextDomain,
    TimeDomain,
    UntypedDomain,
)
from privjail.plan.node import micros

TYPES: dict[str, type[Domain]] = {
    "int64": IntDomain, "int": IntDomain, "integer": IntDomain,
    "float64": FloatDomain, "float": FloatDomain,
    "category": CategoryDomain, "categorical": CategoryDomain,
    "string": TextDomain, "str": TextDomain, "text": TextDomain,
    "boolean": BoolDomain, "bool": BoolDomain,
    "datetime": TimeDomain, "date": TimeDomain, "datetime64[us]": TimeDomain,
}  # fmt: skip
#: which keys mean something for which types only
FITS: dict[str, tuple[type[Domain], ...]] = {
    "range": (IntDomain, FloatDomain, TimeDomain), "outside": (IntDomain, FloatDomain, TimeDomain),
    "categories": (CategoryDomain,), "ordered": (CategoryDomain,),
}  # fmt: skip
KEYS = {"type", "range", "outside", "categories", "ordered", "na_value", "fill"}


@dataclass(frozen=True)
class ColumnSchema:
    """What the curator promises, and enforces, of one column."""

    domain: Domain
    missing: tuple[str, ...] = ()
    outside: str = "clip"
    fill: Any = None
    names: bool = False  # it says whose row it is, or which: loading must not make one value of two


Schema = dict[str, ColumnSchema]


def read_schema(given: str | Path | Mapping[str, Any] | None) -> Schema:
    """A schema from a file (JSON, or TOML by its ending) or a dictionary."""
    if given is None:
        return {}
    if isinstance(given, (str, Path)):
        given = _load(Path(given))
    if not isinstance(given, Mapping):
        raise SchemaError("a schema must be a table of columns")
    return {str(name): _column(str(name), entry) for name, entry in given.items()}


def _load(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as e:
        raise SchemaError(f"the schema {path.name!r} cannot be read: {e.strerror}", do="check the path") from None
    except UnicodeDecodeError:
        raise SchemaError(f"the schema {path.name!r} is no text in UTF-8", do="save it as UTF-8") from None
    if path.suffix != ".toml":
        return from_json(text, f"the schema {path.name!r}")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as e:
        raise SchemaError(f"the schema {path.name!r} is not valid TOML: {e}") from None


def from_json(text: str, what: str) -> Any:
    """What a curator wrote as JSON. ``what``: the words for it, should it be none."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as e:  # also a number of thousands of digits, and brackets without end
        raise SchemaError(f"{what} is not valid JSON: {e}", do="look for a missing comma") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON. Of two entries with one name the reader would drop the first, as if nobody had written it."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} stands twice in one table")
        found[name] = value
    return found


def _column(name: str, entry: Any) -> ColumnSchema:
    if not isinstance(entry, Mapping):
        raise SchemaError(f"column {name!r}: expected a table with a type, got {type(entry).__name__}")
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise SchemaError(f"column {name!r}: unknown keys {unknown}", do=f"use {', '.join(sorted(KEYS))}")
    kind = TYPES.get(str(entry.get("type", "")).lower())
    if kind is None:
        raise SchemaError(f"column {name!r}: unknown type {entry.get('type')!r}", do=f"use one of {_names()}")
    outside = entry.get("outside", "clip")
    if outside not in ("clip", "null"):
        raise SchemaError(f"column {name!r}: outside must be 'clip' or 'null', got {outside!r}")
    for key, fits in FITS.items():
        if key in entry and not issubclass(kind, fits):
            raise SchemaError(f"column {name!r}: a {kind.dtype} column has no {key}")
    marks = entry.get("na_value", [])
    marks = marks if isinstance(marks, list) else [marks]
    if any(not isinstance(mark, (str, int, float)) for mark in marks):
        raise SchemaError(f"column {name!r}: na_value must be text, a number or true/false, or a list of these")
    marks = tuple(str(mark) for mark in marks)
    fill = entry.get("fill")
    domain = _domain(name, kind, entry, nullable=fill is None)
    fill = _checked_fill(name, domain, fill)
    return ColumnSchema(domain, marks, outside, fill)


def _names() -> str:
    return "Int64, Float64, category, string, boolean, datetime"


def _domain(name: str, kind: type[Domain], entry: Mapping[str, Any], nullable: bool) -> Domain:
    if kind is CategoryDomain:
        labels = entry.get("categories")
        if not isinstance(labels, list) or not labels:
            raise SchemaError(f"column {name!r}: a category column needs a list of categories")
        texts = [str(label) for label in labels]
        if len(set(texts)) != len(texts):
            raise SchemaError(f"column {name!r}: two categories are written the same")
        if any(not isinstance(label, (str, int, float, bool)) or label != label for label in labels):
            raise SchemaError(f"column {name!r}: categories must be text, numbers or true/false")
        ordered = entry.get("ordered", False)
        if not isinstance(ordered, bool):
            raise SchemaError(f"column {name!r}: ordered must be true or false, got {ordered!r}")
        return CategoryDomain(nullable, tuple(labels), ordered)
    if kind in (IntDomain, FloatDomain, TimeDomain):
        low, high = _range(name, kind, entry.get("range"))
        return kind(nullable, low, high)
    return kind(nullable)


def _range(name: str, kind: type[Domain], bounds: Any) -> tuple[Any, Any]:
    if bounds is None:
        return None, None
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise SchemaError(f"column {name!r}: range must be [lower, upper]; use null for an open end")
    low, high = (_bound(name, kind, b) for b in bounds)
    if low is not None and high is not None and low > high:
        raise SchemaError(f"column {name!r}: range must be [lower, upper] with lower ≤ upper")
    return low, high


def _bound(name: str, kind: type[Domain], bound: Any) -> Any:
    return None if bound is None else _constant(name, kind, bound, "range")


def _constant(name: str, kind: type[Domain], value: Any, key: str) -> Any:
    """A number or a date of the schema, as a column of this kind holds it: exactly, or not at all."""
    if kind is TimeDomain:
        return _moment(name, value, key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
        raise SchemaError(f"column {name!r}: {key} needs finite numbers, got {value!r}")
    if kind is FloatDomain:
        try:
            return float(value)
        except OverflowError:
            raise SchemaError(f"column {name!r}: {key} needs numbers that a Float64 can hold") from None
    if value != int(value) or not -(2**63) <= value < 2**63:
        raise SchemaError(f"column {name!r}: {key} of an Int64 column needs whole numbers of 64 bits, got {value!r}")
    return int(value)


def _moment(name: str, value: Any, key: str) -> int:
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.date):
            return micros(value)
    except (ValueError, OverflowError):
        raise SchemaError(f"column {name!r}: {key}: {value!r} is no date", do="write it as 2026-01-31") from None
    raise SchemaError(f"column {name!r}: {key} of a datetime column needs dates, got {value!r}")


def _checked_fill(name: str, domain: Domain, fill: Any) -> Any:
    if fill is None:
        return None
    if isinstance(domain, (IntDomain, FloatDomain, TimeDomain)):
        fill = _constant(name, type(domain), fill, "fill")
        below = domain.lower is not None and fill < domain.lower
        if below or (domain.upper is not None and fill > domain.upper):
            raise SchemaError(f"column {name!r}: fill lies outside the range")
        return fill
    scalar = isinstance(fill, (str, int, float))
    known = not isinstance(domain, CategoryDomain) or (scalar and domain.code(fill) is not None)
    if not scalar or not domain.accepts(fill) or not known:
        raise SchemaError(f"column {name!r}: fill = {fill!r} does not fit the column")
    return fill


UNDECLARED = ColumnSchema(UntypedDomain(True))
