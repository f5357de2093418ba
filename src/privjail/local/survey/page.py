"""A survey as one HTML page that randomises answers on the respondent's own device.

Claim: the page draws from the same law as the channels here, exactly: it holds the law's fractions as integers, draws
with crypto.getRandomValues and rejection, and remembers what it drew before anything is sent. A static page may not
connect to anything (its content security policy forbids it); a served one only to the server it came from. It names
no ε: people see, for each strength, how many of 20 with their answer and of 20 with another send a report that points
to it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from privjail.errors import RefusedError
from privjail.local.channels.channel import Channel, SupportChannel, TableChannel
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.unary import Unary
from privjail.local.survey.questionnaire import Questionnaire
from privjail.local.survey.survey import Survey


def page(
    survey: Survey | Questionnaire,
    *,
    send: bool = False,
    choices: bool = False,
    translations: Mapping[str, Any] | None = None,
) -> str:
    """The whole page as text.

    ``send``: it is served by a collector and may send to it. ``choices``: it also sends the chosen parameter by
    itself, for an anonymous mix. ``translations``: {"ja": {"questions": [{"question": …, "answers": […]}], "menu":
    {name: …}}}.
    """
    files = resources.files("privjail.local.survey")
    template = files.joinpath("page.html").read_text(encoding="utf-8")
    asked = Questionnaire.of(survey)
    data = {
        "questions": [_question(each) for each in asked.questions],
        "send": send,
        "choices": choices,
        "translations": dict(translations or {}),
        "words": json.loads(files.joinpath("page_words.json").read_text(encoding="utf-8")),
    }
    # "<" is escaped so that no label can close the script element and smuggle in code of its own.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    title = html.escape(" · ".join(each.question for each in asked.questions))
    filled = template.replace("__CONNECT__", "'self'" if send else "'none'").replace("__TITLE__", title)
    return filled.replace("__SURVEY__", text)


def _question(survey: Survey) -> dict[str, Any]:
    return {
        "question": survey.question,
        "hidden": survey.hidden,
        "domain": survey.domain.spec(),
        "menu": {theta: _law(channel) for theta, channel in survey.menu.items()},
        "ballot": None if survey.ballot is None else _law(survey.ballot),
        "pictures": {theta: picture(channel) for theta, channel in survey.menu.items()},
    }


def picture(channel: Channel) -> tuple[float, float]:
    """How often a report points to an answer, among people who have it and among people who have another.

    For channels without support, a report points to an answer if it is more likely from it than from the others.
    """
    if isinstance(channel, SupportChannel):
        return float(channel.rates[0]), float(channel.rates[1])
    if not isinstance(channel, TableChannel):
        raise RefusedError(f"no page is known for {type(channel).__name__}")
    law, k = channel.table, channel.domain.size
    mine = others = 0.0
    for d in range(k):
        rest = (law.sum(axis=1) - law[:, d]) / (k - 1)
        points = law[:, d] > rest
        mine, others = mine + float(law[points, d].sum()) / k, others + float(rest[points].sum()) / k
    return float(np.clip(mine, 0, 1)), float(np.clip(others, 0, 1))


def _law(channel: Channel) -> dict[str, Any]:
    """Fractions as pairs of decimal strings, which BigInt reads without rounding."""
    if isinstance(channel, KaryResponse):
        return {"kind": "kary", "truth": _pair(channel.truth)}
    if isinstance(channel, Unary):
        return {"kind": "unary", "yes": _pair(channel.yes), "no": _pair(channel.no)}
    if isinstance(channel, LocalHashing):
        return {
            "kind": "hashing",
            "truth": _pair(channel.truth),
            "cells": channel.cells,
            "prime": channel.prime,
        }
    if isinstance(channel, TableChannel):
        return {"kind": "table", "columns": [_column(channel, d) for d in range(channel.domain.size)]}
    raise RefusedError(f"no page is known for {type(channel).__name__}")


def _pair(chance: Any) -> list[str]:
    return [str(chance.numerator), str(chance.denominator)]


def _column(channel: TableChannel, value: int) -> dict[str, Any]:
    """One input's law over a common denominator: integers that add up to ``whole``."""
    from math import lcm

    chances = [channel.law(o, value) for o in channel.outputs()]
    whole = lcm(*(p.denominator for p in chances))
    return {"whole": str(whole), "parts": [str(int(p * whole)) for p in chances]}
