"""A survey as one static HTML file that randomises an answer on the respondent's own device.

Claim: the page draws from the same law as the channels here, exactly: it holds the law's fractions as
integers, draws with crypto.getRandomValues and rejection, and remembers its report. It may not connect
to anything (its content security policy forbids it); the respondent hands over the text it shows.
"""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import Any

from privjail.errors import RefusedError
from privjail.local.channels.channel import Channel, TableChannel
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.unary import Unary
from privjail.local.survey.survey import Survey


def page(survey: Survey) -> str:
    """The whole page as text."""
    template = resources.files("privjail.local.survey").joinpath("page.html").read_text(encoding="utf-8")
    data = {
        "question": survey.question,
        "hidden": survey.hidden,
        "domain": survey.domain.spec(),
        "menu": {theta: _law(channel) for theta, channel in survey.menu.items()},
        "strengths": {
            s.theta: {"hidden": round(s.hidden, 4), "public": round(s.public, 4)} for s in survey.strengths()
        },
    }
    # "<" is escaped so that no label can close the script element and smuggle in code of its own.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("__TITLE__", html.escape(survey.question)).replace("__SURVEY__", text)


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
