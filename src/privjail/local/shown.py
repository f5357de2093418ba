"""What the commands of ``privjail local`` show: tables for people, records for other programs."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from privjail.local.channels.pbp import Strength
from privjail.local.estimation.estimate import Estimate
from privjail.local.estimation.mean import Mean
from privjail.local.planning.plan import Plan
from privjail.local.survey.survey import Survey


def show_estimate(screen: Console, result: Estimate | Mean) -> None:
    reach = f"one forged report moves a number by at most {result.influence:.2g}"
    table = Grid(title=f"{result.count:,} reports; {reach}")
    for name in ("answer", "estimate", "lower", "upper"):
        table.add_column(name, justify="left" if name == "answer" else "right")
    if isinstance(result, Mean):
        table.add_row("mean", f"{result.value:.6g}", f"{result.lower:.6g}", f"{result.upper:.6g}")
    else:
        rows = zip(result.labels, result.frequencies, result.lower, result.upper, strict=True)
        for label, f, low, high in rows:
            table.add_row(label, f"{f:.5f}", f"{low:.5f}", f"{high:.5f}")
    screen.print(table)


def show_strengths(screen: Console, strengths: tuple[Strength, ...]) -> None:
    table = Grid(title="Strength of each parameter (smaller is more private)")
    for name in ("parameter", "share", "E while hidden", "plain ε once known", "ε of the blend"):
        table.add_column(name, justify="right" if name != "parameter" else "left")
    for s in strengths:
        table.add_row(s.theta, str(s.share), f"{s.hidden:.4f}", f"{s.public:.4f}", f"{s.blend:.4f}")
    screen.print(table)


def show_plan(screen: Console, best: Plan, n: int) -> None:
    hidden, public = best.errors(n)
    table = Grid(title=f"Expected error of a frequency, {n:,} people (root mean square)")
    for name in ("parameters", "error", "channels"):
        table.add_column(name)
    for name, error, survey in (("hidden", hidden, best.hidden), ("public", public, best.public)):
        table.add_row(name, f"{error**0.5:.5f}", _describe(survey))
    screen.print(table)


def _describe(survey: Survey) -> str:
    return "\n".join(f"{t}: {json.dumps(_rounded(c.spec()))}" for t, c in survey.menu.items())


def _rounded(spec: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(v) for v in value]
        return round(float(Fraction(value)), 4) if isinstance(value, str) else value

    return {name: value if name == "channel" else short(value) for name, value in spec.items()}


def columns(result: Estimate | Mean) -> dict[str, Any]:
    """The numbers of an estimate, as columns of a file."""
    if isinstance(result, Mean):
        return {"mean": [result.value], "lower": [result.lower], "upper": [result.upper]}
    return {
        "answer": list(result.labels),
        "frequency": result.frequencies,
        "lower": result.lower,
        "upper": result.upper,
    }


def estimate_record(result: Estimate | Mean, out: str | None) -> dict[str, Any]:
    if isinstance(result, Mean):
        rows = [("mean", result.value, result.lower, result.upper)]
    else:
        numbers = (each.tolist() for each in (result.frequencies, result.lower, result.upper))
        rows = list(zip(result.labels, *numbers, strict=True))
    findings = [{"kind": f.kind, "text": f.text, "do": f.do, "p_value": f.p_value} for f in result.findings]
    return {
        "reports": result.count,
        "influence": finite(result.influence),
        "rows": [{"answer": a, "estimate": finite(f), "lower": finite(x), "upper": finite(y)} for a, f, x, y in rows],
        "strengths": strength_records(result.strengths),
        "findings": findings,
        "out": out,
    }


def strength_records(strengths: tuple[Strength, ...]) -> list[dict[str, Any]]:
    """Strengths as exact ratios e^ε; null: no bound."""

    def text(ratio: Fraction | None) -> str | None:
        return None if ratio is None else str(ratio)

    return [
        {
            "parameter": s.theta,
            "share": str(s.share),
            "hidden_ratio": text(s.hidden_ratio),
            "public_ratio": text(s.public_ratio),
            "blend_ratio": text(s.blend_ratio),
        }
        for s in strengths
    ]


def plan_record(best: Plan, better: Survey, n: int, written: dict[str, str | None]) -> dict[str, Any]:
    hidden, public = best.errors(n)
    return {
        "people": n,
        "hidden_error": finite(hidden**0.5),
        "public_error": finite(public**0.5),
        "better": "hidden" if better.hidden else "public",
        "survey": json.loads(better.to_json()),
        "strengths": strength_records(better.strengths()),
        "words": best.words().splitlines(),
        **written,
    }


def finite(number: float) -> float | None:
    """JSON has no number for infinity: null."""
    return float(number) if math.isfinite(number) else None
