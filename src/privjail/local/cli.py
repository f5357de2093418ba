"""``privjail local``: randomise on a device, estimate at the collector's, plan before either."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from privjail.errors import PlanError
from privjail.local.channels.domain import Categories
from privjail.local.planning.plan import Plan, plan_binary, plan_kary, plan_unary
from privjail.local.planning.plots import error_of_plan
from privjail.local.planning.power import Question, people_needed
from privjail.local.shown import (
    columns,
    estimate_record,
    plan_record,
    show_estimate,
    show_plan,
    show_strengths,
)
from privjail.local.survey.collector import Store
from privjail.local.survey.collector import collector as make_collector
from privjail.local.survey.collector import export as export_store
from privjail.local.survey.formats import column, read_json, read_table, write_table, writing
from privjail.local.survey.page import page as make_page
from privjail.local.survey.questionnaire import Questionnaire
from privjail.local.survey.respondent import Memory, Respondent
from privjail.local.survey.survey import Survey
from privjail.terminal import Json, errors_as_messages, print_done

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
    as_json: Json = False,
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
        _write(result, out, "randomised" if as_json else None)


def _write(result: Any, out: str, done: str | None) -> None:
    """A table to a file or the screen. ``done``: say so as JSON, with the rows if no file is named."""
    import pandas as pd

    table = pd.DataFrame(result)
    if done is None or out != "-":
        write_table(table, out)
    if done is not None:
        rows = None if out != "-" else table.to_dict("records")
        print_done(done, reports=len(table), out=None if out == "-" else out, rows=rows)


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
    as_json: Json = False,
) -> None:
    """Frequencies or a mean from reports, with intervals and both strengths of every parameter."""
    with _errors():
        asked = Survey.load(survey)
        table = read_table(reports)
        texts = column(table, "report")
        thetas = None if asked.hidden else column(table, "theta")
        with _progress("estimating") as step:
            result = asked.estimate(
                _read(asked, texts, thetas),
                thetas,
                ballots=_ballots_in(asked, table),
                mix_within=mix_within,
                independent=not any_choice,
                method=method,
                level=level,
                progress=step,
            )
        if out is not None:
            import pandas as pd

            write_table(pd.DataFrame(columns(result)), out)
        if as_json:
            print_done("estimated", **estimate_record(result, out))
            return
        show_estimate(screen, result)
        for finding in result.findings:
            notes.print(f"[bold]Warning:[/bold] {finding}", soft_wrap=True)
        show_strengths(screen, result.strengths)


def _ballots_in(survey: Survey, table: Any) -> Any:
    if survey.ballot is None or "ballot" not in table.columns:
        return None
    return survey.ballot.read(column(table, "ballot"))


def _read(survey: Survey, texts: list[str], thetas: list[str] | None) -> Any:
    if thetas is None or len({c.shape for c in survey.menu.values()}) == 1:
        return next(iter(survey.menu.values())).read(texts)
    raise PlanError("reports of different kinds cannot share a file", do="write one survey for each kind")


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
    as_json: Json = False,
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
        better = best.better
        if ballot is not None and better.hidden:
            better = better.with_ballot(ballot)
        if out is not None:
            with writing(out):
                out.write_text(better.to_json() + "\n", encoding="utf-8")
        if plot is not None:
            with writing(plot):
                error_of_plan(best, [10**i for i in range(2, 7)], plot)
        if as_json:
            written = {"out": None if out is None else str(out), "plot": None if plot is None else str(plot)}
            print_done("planned", **plan_record(best, better, n, written))
            return
        show_plan(screen, best, n)
        screen.print(best.words(), soft_wrap=True)
        show_strengths(screen, better.strengths())


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    if any(not (name and value) for name, _, value in pairs):
        raise PlanError("write a parameter and its number with = between", do="e.g. --mix careful=1/2")
    return {name: value for name, _, value in pairs}


Translations = Annotated[Path | None, typer.Option(help="Questions and answers in other languages, as JSON.")]


@app.command()
def page(
    survey: SurveyFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    translations: Translations = None,
    as_json: Json = False,
) -> None:
    """One static HTML file that randomises answers on the respondent's own device and can send nothing."""
    with _errors():
        text = make_page(Questionnaire.load(survey), translations=read_json(translations))
        with writing(out):
            out.write_text(text, encoding="utf-8")
        if as_json:
            print_done("written", out=str(out), sha256=hashlib.sha256(text.encode()).hexdigest())


@app.command()
def collect(
    survey: SurveyFile,
    store: Annotated[Path, typer.Option(help="The file that keeps what people send.")],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8080,
    certificate: Annotated[Path | None, typer.Option(help="For HTTPS: the certificate, PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="For HTTPS: its key, PEM.")] = None,
    choices: Annotated[bool, typer.Option(help="Also collect choices by themselves; do not link them.")] = False,
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
            collector = make_collector(kept, text, (host, port), certificate=pair)
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
    as_json: Json = False,
) -> None:
    """What people sent, as a table: report, and ballot or theta; numbered by question if there are several."""
    with _errors():
        _write(export_store(store, Questionnaire.load(survey)), out, "exported" if as_json else None)


@app.command()
def power(
    survey: SurveyFile,
    answer: Annotated[str, typer.Option(help="The answer whose frequency is in question.")],
    frequency: Annotated[float, typer.Option(help="Its frequency if nothing is special.")],
    difference: Annotated[float, typer.Option(help="The difference that shall be noticed.")],
    groups: Annotated[int, typer.Option(help="1: against a known frequency; 2: between two groups.")] = 1,
    chance: Annotated[float, typer.Option(help="How often it shall be noticed.")] = 0.8,
    level: Annotated[float, typer.Option(help="1 less the rate of false alarms.")] = 0.95,
    as_json: Json = False,
) -> None:
    """How many people a survey needs, beside the number without any noise."""
    with _errors():
        asked = Survey.load(survey)
        wanted = Question(answer, frequency, difference, groups, chance, level)
        needed, plain = people_needed(asked, wanted), people_needed(None, wanted)
        if as_json:
            print_done("counted", people=needed, without_noise=plain, groups=groups)
            return
        each = "" if groups == 1 else " in each group"
        screen.print(f"{needed:,} people{each}; without any noise {plain:,}.")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None]]:
    """A line that moves while work takes long; on standard error, so that pipes stay clean."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notes, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda amount: bar.update(task, description=f"{what} ({amount:.3g})")


if __name__ == "__main__":
    app()
