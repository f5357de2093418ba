"""``privjail local``: randomise on a device, estimate at the collector's, plan before either."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from privjail.errors import PlanError
from privjail.local.channels.domain import Categories
from privjail.local.channels.pbp import Strength
from privjail.local.estimation.estimate import Estimate
from privjail.local.estimation.mean import Mean
from privjail.local.planning.plan import Plan, plan_binary, plan_kary, plan_unary
from privjail.local.planning.plots import error_of_plan
from privjail.local.planning.power import Question, people_needed
from privjail.local.survey.collector import Collector, Store
from privjail.local.survey.collector import export as export_store
from privjail.local.survey.formats import column, read_json, read_table, write_table, writing
from privjail.local.survey.page import page as make_page
from privjail.local.survey.questionnaire import Questionnaire
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
            texts, thetas, ballots = _remembered(asked, list(people), Memory(memory))
        else:
            texts = _fresh(asked, thetas, values)
            ballots = _ballots(asked, thetas)
        result: dict[str, Any] = {"report": texts}
        if not asked.hidden:
            result["theta"] = thetas
        if ballots is not None:
            result["ballot"] = ballots
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


def _ballots(survey: Survey, thetas: list[str]) -> list[str] | None:
    if survey.ballot is None:
        return None
    return survey.ballot.write(survey.ballot.draw(survey.ballot.domain.indices(thetas)))


def _remembered(
    survey: Survey, people: list[tuple[str, str, str]], memory: Memory
) -> tuple[list[str], list[str], list[str] | None]:
    """Reports, and the parameters they were made with, which a second run may not change; and ballots."""
    sent = []
    with memory.together():
        for name, theta, value in people:
            person = Respondent(survey, theta, memory, name=name)
            sent.append((person.report(value), person.theta, person.ballot() if survey.ballot is not None else ""))
    ballots = [ballot for _, _, ballot in sent] if survey.ballot is not None else None
    return [text for text, _, _ in sent], [theta for _, theta, _ in sent], ballots


@app.command()
def estimate(
    reports: Input,
    survey: SurveyFile,
    method: Annotated[
        str | None, typer.Option(help="smooth (for answers, the default), ml, unbiased; mean for numbers.")
    ] = None,
    level: Annotated[float, typer.Option(help="How often intervals shall hold the truth.")] = 0.95,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Also write the result here.")] = None,
    mix_within: Annotated[
        str | None, typer.Option(help="Intervals that hold if the stated shares are off by at most this.")
    ] = None,
    any_choice: Annotated[
        bool, typer.Option(help="Do not assume that people chose θ without regard to their answer.")
    ] = False,
) -> None:
    """Frequencies or a mean from reports, with intervals and both strengths of every parameter."""
    with _errors():
        asked = Survey.load(survey)
        table = read_table(reports)
        texts = column(table, "report")
        thetas = None if asked.hidden else column(table, "theta")
        ballots = None
        if asked.ballot is not None and "ballot" in table.columns:
            ballots = asked.ballot.read(column(table, "ballot"))
        with _progress("estimating") as step:
            result = asked.estimate(
                _read(asked, texts, thetas),
                thetas,
                ballots=ballots,
                mix_within=mix_within,
                independent=not any_choice,
                method=method,
                level=level,
                progress=step,
            )
        _show(result)
        for finding in result.findings:
            notes.print(f"[bold]Warning:[/bold] {finding}", soft_wrap=True)
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
    plain_may_rise: Annotated[
        bool, typer.Option(help="Let ε rise above the wanted one for people whose choice becomes known.")
    ] = False,
    ballot: Annotated[str | None, typer.Option(help="Collect the mix, too: ε of the choice itself.")] = None,
) -> None:
    """The most accurate channels at wanted strengths, hidden and public side by side."""
    with _errors():
        if kind not in PLANNERS:
            raise PlanError(f"there is no kind {kind!r}", do=f"use one of: {', '.join(PLANNERS)}")
        make: Callable[..., Plan] = PLANNERS[kind]
        with _progress("planning"):
            best = make(
                Categories(tuple(answer)),
                _pairs(mix),
                _pairs(epsilon),
                question=question,
                plain_may_rise=plain_may_rise,
            )
        hidden, public = best.errors(n)
        table = Grid(title=f"Expected error of a frequency, {n:,} people (root mean square)")
        for name in ("parameters", "error", "channels"):
            table.add_column(name)
        for name, error, survey in (("hidden", hidden, best.hidden), ("public", public, best.public)):
            table.add_row(name, f"{error**0.5:.5f}", _describe(survey))
        screen.print(table)
        better = best.better
        if ballot is not None and better.hidden:
            better = better.with_ballot(ballot)
        screen.print(best.words(), soft_wrap=True)
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


Translations = Annotated[Path | None, typer.Option(help="Questions and answers in other languages, as JSON.")]


@app.command()
def page(
    survey: SurveyFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    translations: Translations = None,
) -> None:
    """One static HTML file that randomises answers on the respondent's own device and can send nothing."""
    with _errors():
        text = make_page(Questionnaire.load(survey), translations=read_json(translations))
        with writing(out):
            out.write_text(text, encoding="utf-8")


@app.command()
def collect(
    survey: SurveyFile,
    store: Annotated[Path, typer.Option(help="The file that keeps what people send.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8080,
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: the certificate, PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="For HTTPS: its key, PEM.")] = None,
    choices: Annotated[bool, typer.Option(help="Also collect choices by themselves, for an anonymous mix.")] = False,
    translations: Translations = None,
) -> None:
    """Serve the respondents' page and store what they send, durably; no addresses, times or order."""
    with _errors():
        asked = Questionnaire.load(survey)
        kept = Store(store, asked)
        text = make_page(asked, send=True, choices=choices, translations=read_json(translations))
        pair = (certificate, private_key) if certificate is not None and private_key is not None else None
        if pair is None and host not in ("127.0.0.1", "localhost", "::1"):
            notes.print("Without a certificate use this only behind a proxy that speaks HTTPS.")
        with writing(store):
            collector = Collector(kept, text, (host, port), certificate=pair)
        print(f"http{'s' if pair else ''}://{host}:{collector.port}/ (stop with Ctrl-C)", flush=True)
        try:
            collector.serve_forever()
        except KeyboardInterrupt:
            kept.close()


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="The file that a collector wrote.")],
    survey: SurveyFile,
    out: Output = "-",
) -> None:
    """What people sent, as a table: report, and ballot or theta; numbered by question if there are several."""
    with _errors():
        import pandas as pd

        write_table(pd.DataFrame(export_store(store, Questionnaire.load(survey))), out)


@app.command()
def power(
    survey: SurveyFile,
    answer: Annotated[str, typer.Option(help="The answer whose frequency is in question.")],
    frequency: Annotated[float, typer.Option(help="Its frequency if nothing is special.")],
    difference: Annotated[float, typer.Option(help="The difference that shall be noticed.")],
    groups: Annotated[int, typer.Option(help="1: against a known frequency; 2: between two groups.")] = 1,
    chance: Annotated[float, typer.Option(help="How often it shall be noticed.")] = 0.8,
    level: Annotated[float, typer.Option(help="1 less the rate of false alarms.")] = 0.95,
) -> None:
    """How many people a survey needs, beside the number without any noise."""
    with _errors():
        asked = Survey.load(survey)
        wanted = Question(answer, frequency, difference, groups, chance, level)
        needed, plain = people_needed(asked, wanted), people_needed(None, wanted)
        each = "" if groups == 1 else " in each group"
        screen.print(f"{needed:,} people{each}; without any noise {plain:,}.")


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
