"""``privjail local``: randomise on a device, estimate at the collector's, plan before either."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

import numpy as np
from privjail.errors import PlanError
from privjail.local.channels.domain import Categories
from privjail.local.channels.pbp import Strength
from privjail.local.estimation.estimate import Estimate
from privjail.local.estimation.mean import Mean
from privjail.local.planning.plan import Plan, plan_binary, plan_kary, plan_unary
from privjail.local.planning.plots import error_of_plan
from privjail.local.survey.formats import column, read_table, write_table, writing
from privjail.local.survey.page import page as make_page
from privjail.local.survey.respondent import Memory, Respondent
from privjail.local.survey.survey import Survey
from privjail.terminal import errors_as_messages

app = typer.Typer(
    name="local",
    help="Data that people randomise themselves, with strengths that they pick and may keep secret.",
    no_args_is_help=True,
)
screen, notes = Console(), Console(stderr=True)
_errors = partial(errors_as_messages, notes)
PLANNERS = {"kary": plan_kary, "binary": plan_binary, "unary": plan_unary}

SurveyFile = Annotated[Path, typer.Option("--survey", "-s", help="The survey as JSON: domain, menu, mix.")]
Input = Annotated[str, typer.Argument(help="CSV, JSON lines or Parquet; - for standard input.")]
Output = Annotated[str, typer.Option("--out", "-o", help="CSV, JSON lines or Parquet; - for the screen.")]


@app.command()
def randomise(
    answers: Input,
    survey: SurveyFile,
    out: Output = "-",
    theta: Annotated[str | None, typer.Option(help="One parameter for all rows, if no theta column.")] = None,
    memory: Annotated[
        Path | None, typer.Option(help="Remember reports here; rows with the same id keep their report.")
    ] = None,
) -> None:
    """Turn answers (column value) into reports. Run it where the answers live, not at the collector's."""
    with _errors():
        asked = Survey.load(survey)
        table = read_table(answers)
        values = column(table, "value")
        thetas = column(table, "theta") if theta is None else [theta] * len(values)
        if memory is not None:
            people = zip(column(table, "id"), thetas, values, strict=True)
            texts, thetas = _remembered(asked, list(people), Memory(memory))
        else:
            texts = _fresh(asked, thetas, values)
        result: dict[str, Any] = {"report": texts}
        if not asked.hidden:
            result["theta"] = thetas
        import pandas as pd

        write_table(pd.DataFrame(result), out)


def _fresh(survey: Survey, thetas: list[str], values: list[str]) -> list[str]:
    texts = np.empty(len(values), dtype=object)
    positions, names = survey.domain.indices(values), np.asarray(thetas, dtype=object)
    with _progress("randomising") as step:
        for theta in dict.fromkeys(thetas):
            rows = names == theta
            channel = survey.channel(theta)
            texts[rows] = channel.write(channel.draw(positions[rows]))
            step(float(rows.sum()))
    return list(texts)


def _remembered(survey: Survey, people: list[tuple[str, str, str]], memory: Memory) -> tuple[list[str], list[str]]:
    """Reports, and the parameters they were made with, which a second run may not change."""
    sent = []
    with memory.together():
        for name, theta, value in people:
            person = Respondent(survey, theta, memory, name=name)
            sent.append((person.report(value), person.theta))
    return [text for text, _ in sent], [theta for _, theta in sent]


@app.command()
def estimate(
    reports: Input,
    survey: SurveyFile,
    method: Annotated[
        str | None, typer.Option(help="smooth (for answers, the default), ml, unbiased; mean for numbers.")
    ] = None,
    level: Annotated[float, typer.Option(help="How often intervals shall hold the truth.")] = 0.95,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Also write the result here.")] = None,
) -> None:
    """Frequencies or a mean from reports, with intervals and both strengths of every parameter."""
    with _errors():
        asked = Survey.load(survey)
        table = read_table(reports)
        texts = column(table, "report")
        thetas = None if asked.hidden else column(table, "theta")
        with _progress("estimating") as step:
            result = asked.estimate(_read(asked, texts, thetas), thetas, method=method, level=level, progress=step)
        _show(result)
        _show_strengths(result.strengths)
        if out is not None:
            import pandas as pd

            write_table(pd.DataFrame(_records(result)), out)


def _read(survey: Survey, texts: list[str], thetas: list[str] | None) -> Any:
    if thetas is None or len({c.shape for c in survey.menu.values()}) == 1:
        return next(iter(survey.menu.values())).read(texts)
    raise PlanError("reports of different kinds cannot share a file", do="write one survey for each kind")


def _records(result: Estimate | Mean) -> dict[str, Any]:
    if isinstance(result, Mean):
        return {"mean": [result.value], "lower": [result.lower], "upper": [result.upper]}
    return {
        "answer": list(result.labels),
        "frequency": result.frequencies,
        "lower": result.lower,
        "upper": result.upper,
    }


@app.command()
def plan(
    mix: Annotated[list[str], typer.Option(help="A parameter and its share, e.g. careful=1/2. Repeat.")],
    epsilon: Annotated[list[str], typer.Option(help="A parameter and its wanted strength: careful=0.4.")],
    answer: Annotated[list[str], typer.Option(help="A possible answer. Repeat for each.")],
    n: Annotated[int, typer.Option(help="How many people will answer.")] = 1000,
    kind: Annotated[str, typer.Option(help="kary, binary (any yes/no channel) or unary.")] = "kary",
    question: Annotated[str, typer.Option(help="The question that people read.")] = "",
    out: Annotated[Path | None, typer.Option(help="Write the better survey here, as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw errors over the number of people.")] = None,
) -> None:
    """The most accurate channels at wanted strengths, hidden and public side by side."""
    with _errors():
        if kind not in PLANNERS:
            raise PlanError(f"there is no kind {kind!r}", do=f"use one of: {', '.join(PLANNERS)}")
        make: Callable[..., Plan] = PLANNERS[kind]
        with _progress("planning"):
            best = make(Categories(tuple(answer)), _pairs(mix), _pairs(epsilon), question=question)
        hidden, public = best.errors(n)
        table = Grid(title=f"Expected error of a frequency, {n:,} people (root mean square)")
        for name in ("parameters", "error", "channels"):
            table.add_column(name)
        for name, error, survey in (("hidden", hidden, best.hidden), ("public", public, best.public)):
            table.add_row(name, f"{error**0.5:.5f}", _describe(survey))
        screen.print(table)
        better = best.hidden if hidden < public else best.public
        verdict = f"{best.gain:.3f} times the squared error with public parameters as with hidden ones"
        screen.print(f"{'Hide' if hidden < public else 'Publish'} the parameters: {verdict}.")
        _show_strengths(better.strengths())
        if out is not None:
            with writing(out):
                out.write_text(better.to_json() + "\n", encoding="utf-8")
        if plot is not None:
            with writing(plot):
                error_of_plan(best, [10**i for i in range(2, 7)], plot)


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if any(not (name and value) for name, _, value in pairs):
        raise PlanError("write a parameter and its number with = between", do="e.g. --mix careful=1/2")
    return {name: value for name, _, value in pairs}


def _describe(survey: Survey) -> str:
    return "\n".join(f"{t}: {json.dumps(_rounded(c.spec()))}" for t, c in survey.menu.items())


def _rounded(spec: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(v) for v in value]
        return round(float(Fraction(value)), 4) if isinstance(value, str) else value

    return {name: value if name == "channel" else short(value) for name, value in spec.items()}


@app.command()
def page(
    survey: SurveyFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
) -> None:
    """One static HTML file that randomises an answer on the respondent's own device."""
    with _errors():
        text = make_page(Survey.load(survey))
        with writing(out):
            out.write_text(text, encoding="utf-8")


def _show(result: Estimate | Mean) -> None:
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


def _show_strengths(strengths: tuple[Strength, ...]) -> None:
    table = Grid(title="Strength of each parameter (smaller is more private)")
    for name in ("parameter", "share", "E while hidden", "plain ε once known", "ε of the blend"):
        table.add_column(name, justify="right" if name != "parameter" else "left")
    for s in strengths:
        table.add_row(s.theta, str(s.share), f"{s.hidden:.4f}", f"{s.public:.4f}", f"{s.blend:.4f}")
    screen.print(table)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None]]:
    """A line that moves while work takes long; on standard error, so that pipes stay clean."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda amount: bar.update(task, description=f"{what} ({amount:.3g})")


if __name__ == "__main__":
    app()
