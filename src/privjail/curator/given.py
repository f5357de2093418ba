"""What a curator gives, as the ledger stores it: budgets and schemas."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from privjail.budget.notions import NOTIONS, Cost, Notion, RenyiDP, name_of
from privjail.errors import BudgetError, DPError, SchemaError

#: A number, or a fraction: of few digits, since 1e9999999 has ten million of them.
PLAIN = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?|\d{1,40}/\d{1,40}")


def table_query(table: str | None, query: str | None) -> str | None:
    """What --table and --query say: a query."""
    if table is None:
        return query
    if query is not None:
        raise DPError("--table and --query exclude each other")
    if not table.replace("_", "").replace(".", "").isalnum():
        raise DPError(f"{table!r} is no table name", do="use --query")
    return f"SELECT * FROM {table}"  # noqa: S608  the curator's own database


def whole(text: str) -> int | None:
    """A whole number of at most 18 plain digits; None for anything else (² is a digit to Python, but no number)."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def numbers(text: str | None) -> list[Any]:
    """A budget that was typed as an option: one number, or eps,delta."""
    if text is None:
        return []
    try:
        if not all(PLAIN.fullmatch(part.strip()) for part in text.split(",")):
            raise ValueError
        return [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise DPError(f"{text!r} is no budget", do="write a number, or eps,delta: --budget 1.0,1e-6") from None


def new_limit(notion: str, budget: list[Any]) -> Cost:
    """The numbers of a new data set's budget as the ledger stores them: ε; ε and δ; or ρ."""
    needs = 2 if notion in ("approx", "renyi") else 1
    if len(budget) != needs:
        wanted = "eps,delta" if needs == 2 else "one number"
        raise BudgetError(f"a {notion} budget is {wanted}, got {len(budget)} numbers", do="e.g. --budget 1.0,1e-6")
    NOTIONS[notion](*budget)
    return tuple(Fraction(b) for b in budget)


def limit_under(notion: Notion, budget: list[Any]) -> Cost:
    """A limit on a data set whose notion is already fixed."""
    if isinstance(notion, RenyiDP) and len(budget) == 2:
        # The Rényi order is fixed: the limit is the divergence at that order that ε and δ allow.
        return notion.room(*budget)
    if len(budget) != len(notion.zero()) or isinstance(notion, RenyiDP):
        wanted = "eps,delta" if isinstance(notion, RenyiDP) or len(notion.zero()) == 2 else "one number"
        raise BudgetError(f"a budget under {notion} is {wanted}, got {len(budget)} numbers")
    limit = NOTIONS[name_of(notion)](*budget).limit
    assert limit is not None
    return limit


def schema_dict(schema: Any) -> dict[str, Any]:
    """A schema file as a plain dictionary that the ledger can hold."""
    from privjail.catalogue.schema import _load, read_schema

    if schema is None:
        return {}
    loaded = _load(Path(schema))
    read_schema(loaded)
    if not isinstance(loaded, dict):
        raise SchemaError("a schema must be a table of columns")
    out: dict[str, Any] = json.loads(json.dumps(loaded, default=str))
    return out
