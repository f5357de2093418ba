"""How the curator's commands show what they found, did, or refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privjail.budget.notions import Cost, Notion
from privjail.errors import DPError
from privjail.faults import explained
from privjail.server.ledger.events import amounts
from privjail.server.ledger.state import State

out = Console()


def quiet(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors as one message, not a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except DPError as e:
            print(f"{type(e).__name__}: {e}", file=sys.stderr)
        except (typer.Exit, typer.Abort):  # which are RuntimeErrors
            raise
        except Exception as e:
            wrong = explained(e)
            if wrong is None:
                raise
            print(f"privjail: {wrong}", file=sys.stderr)
        raise typer.Exit(1) from None

    return run


def done(what: str, rest: str) -> None:
    out.print(f"[green]{what}[/green] {escape(rest)}", soft_wrap=True)


def notes(warnings: list[str]) -> None:
    for warning in warnings:
        out.print(f"[yellow]note[/yellow]: {escape(warning)}", soft_wrap=True)


def show(title: str, columns: list[str], rows: list[list[Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], ensure_ascii=False, default=str))
        return
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*("—" if cell is None else escape(str(cell)) for cell in row))
    out.print(table)


def numbers(text: str | None) -> list[Any]:
    if text is None:
        return []
    try:
        return [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise DPError(f"{text!r} is no budget", do="write a number, or eps,delta: --budget 1.0,1e-6") from None


def shown(notion: Notion, cost: Cost | None) -> str | None:
    return None if cost is None else notion.spelled(cost)


def bar(spent: Any, limit: Any) -> str:
    if not limit or not limit[0]:
        return ""
    share = max(float(s / m) for s, m in zip(spent, limit, strict=False) if m)
    filled = round(20 * min(1.0, share))
    return "█" * filled + "░" * (20 - filled) + f" {share:.0%}"


def told(body: dict[str, Any], state: State) -> str:
    because = f" because {body['reason']}" if body.get("reason") else ""
    widened = f"; lets {', '.join(body['widens'])} spend more" if body.get("widens") else ""
    match body["type"]:
        case "charge":
            cost = "; ".join(f"{d}: {', '.join(c)}" for d, _, c in body["charges"])
            asked = "; ".join(f"{value} | {mechanism}" for value, mechanism in body.get("program", []))
            return f"{cost} for {asked}"
        case "limit":
            who = " ".join(part for part in (body["scope"], body["who"]) if part)
            limit = shown(state.datasets[body["dataset"]].notion, amounts(body["limit"]))
            return f"{who} may spend {limit} on {body['dataset']}{because}"
        case "dataset":
            return f"{body['origin']['kind']}, {body['notion']} {', '.join(body['limit'])}"
        case "user":
            return f"until {body['expires']}"
        case "revoke":
            return (f"the grant on {body['dataset']}" if body["dataset"] else "shut out") + widened
        case "group":
            return ", ".join(body["members"]) + widened
        case "given_up" | "failed" | "repeat":
            return f"request {body['request']}"
    return because.strip()
