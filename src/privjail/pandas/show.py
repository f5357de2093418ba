"""The repr of private objects: public facts, no data."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from privjail.ops.rows.source import Source
from privjail.plan.expr import Expr
from privjail.plan.rows import Rows


def facts(head: str, rows: Rows, columns: Mapping[Any, Expr]) -> str:
    """The facts of a private table as text."""
    width = max((len(str(name)) for name in columns), default=0)
    lines = [head, f"  unit of protection: {_unit(rows)}", f"  cell: {_cells(rows)}"]
    lines += [f"  {str(name).ljust(width)}  {expr.domain}" for name, expr in columns.items()]
    return "\n".join(lines)


def facts_html(head: str, rows: Rows, columns: Mapping[Any, Expr]) -> str:
    """The same for notebooks."""
    body = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{escape(str(expr.domain))}</td></tr>" for name, expr in columns.items()
    )
    return (
        f"<div><code>{escape(head)}</code><br>unit of protection: {escape(_unit(rows))}<br>"
        f"cell: {escape(_cells(rows))}<table><thead><tr><th>column</th><th>domain</th></tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _unit(rows: Rows) -> str:
    return str(rows.source.dataset.unit) if isinstance(rows.source, Source) else "?"


def _cells(rows: Rows) -> str:
    shown = " | ".join(map(str, rows.cells[:3])) or "none: no row can be here"
    return shown + (f" | … {len(rows.cells) - 3} more" if len(rows.cells) > 3 else "")
