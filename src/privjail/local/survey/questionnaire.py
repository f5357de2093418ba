"""Several questions at once: one choice of strength, one submission, one sum of ε.

Claim: ``Questionnaire.plain`` bounds what all reports of one person tell together once her choice is known: plain ε
adds up over questions, whatever the answers have to do with each other (the paper's theorem 2 for r mechanisms).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Floats, Reports, SupportChannel
from privjail.local.channels.exact import log_up
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.unary import Unary
from privjail.local.survey.survey import Survey


@dataclass(frozen=True)
class Questionnaire:
    """Questions that are answered together. All offer the same parameters, and a person picks one for all of them."""

    questions: tuple[Survey, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "questions", tuple(self.questions))
        first = self.questions[0] if self.questions else None
        if first is None or len({survey.question for survey in self.questions}) != len(self.questions):
            raise PlanError("a questionnaire needs questions, each in other words", do="list each question once")
        for survey in self.questions:
            if tuple(survey.menu) != tuple(first.menu) or survey.hidden != first.hidden or survey.mix != first.mix:
                raise PlanError(
                    "all questions must offer the same parameters at the same mix, all hidden or all public",
                    do="give them the same menu names and mix",
                )
        if sum(survey.ballot is not None for survey in self.questions) > 1:
            raise PlanError("one ballot tells the mix of all questions", do="give a ballot to one question only")

    @staticmethod
    def of(asked: Survey | Questionnaire) -> Questionnaire:
        return asked if isinstance(asked, Questionnaire) else Questionnaire((asked,))

    def plain(self) -> dict[str, float]:
        """Plain ε of everything that a person of each parameter sends."""
        found = {}
        for theta in self.questions[0].menu:
            total: Fraction | None = Fraction(1)
            for survey in self.questions:
                ratio = survey.menu[theta].ratio
                total = None if total is None or ratio is None else total * ratio
            found[theta] = log_up(total)
        return found

    def to_json(self) -> str:
        return json.dumps(
            {"questions": [json.loads(s.to_json()) for s in self.questions]}, indent=2, ensure_ascii=False
        )

    @staticmethod
    def load(path: str | Path) -> Questionnaire:
        """A file with a list of questions, or the file of a single survey."""
        try:
            text = Path(path).read_text(encoding="utf-8")
            spec = json.loads(text)
        except (OSError, ValueError):
            raise SchemaError("the survey file cannot be read, or is not JSON", do="check its name") from None
        if isinstance(spec, dict) and isinstance(spec.get("questions"), list):
            return Questionnaire(tuple(Survey.from_json(json.dumps(each)) for each in spec["questions"]))
        return Questionnaire((Survey.from_json(text),))


@dataclass(frozen=True)
class CrossTable:
    """Joint frequencies of the answers to two questions, with standard errors."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    frequencies: Floats
    errors: Floats
    count: int


def cross_table(
    first: Survey, second: Survey, reports: Sequence[Reports], thetas: Sequence[str] | None = None
) -> CrossTable:
    """How often each pair of answers occurs, from both reports of each person.

    Claim: unbiased if θ is independent of the answers. Why: a report of θ decodes to D_θ with E[D_θ | d] = the unit
    vector of d, and given θ both reports of a person draw independent noise, so the product of both decodes to the
    pair. With hidden θ the noise of both reports shares θ: then the pair's blended law is decoded, not the product of
    blends.
    """
    for survey in (first, second):
        if not all(isinstance(c, SupportChannel) for c in survey.menu.values()):
            raise PlanError("a cross table needs questions with a list of answers", do="estimate each question alone")
    left, right = (_supports(s, r) for s, r in zip((first, second), reports, strict=True))
    if len(left) != len(right) or len(left) == 0:
        raise SchemaError("a cross table needs both reports of each person", do="keep both in one table")
    law = _pair_moments(first, second)
    if first.hidden:
        return _hidden_pairs(first, second, left, right, law)
    total, squares = _public_pairs(first, second, left, right, list(thetas or []))
    n = len(left)
    return _cross(first, second, total / n, (squares / n - (total / n) ** 2) / n, n)


def _supports(survey: Survey, reports: Reports) -> Floats:
    """Which answers each report supports, as 0 and 1."""
    channel = next(iter(survey.menu.values()))
    checked = channel.checked(reports)
    if isinstance(channel, KaryResponse):
        return np.eye(channel.domain.size)[checked]
    if isinstance(channel, Unary):
        return channel.bits(checked).astype(np.float64)
    assert isinstance(channel, LocalHashing)
    return channel.supports(checked).astype(np.float64)


def _rates(survey: Survey, theta: str) -> tuple[float, float]:
    channel = survey.menu[theta]
    assert isinstance(channel, SupportChannel)
    return float(channel.rates[0]), float(channel.rates[1])


Moments = Mapping[str, float]


def _pair_moments(first: Survey, second: Survey) -> Moments:
    """Of x = q + g·a and y = q′ + g′·b (a, b: whether the answers are these), means over θ of each product."""
    sums = dict.fromkeys(("one", "a", "b", "ab"), 0.0)
    for theta, share in first.mix.items():
        (p, q), (r, s) = _rates(first, theta), _rates(second, theta)
        w = float(share)
        sums["one"] += w * q * s
        sums["a"] += w * (p - q) * s
        sums["b"] += w * q * (r - s)
        sums["ab"] += w * (p - q) * (r - s)
    return sums


def _hidden_pairs(first: Survey, second: Survey, left: Floats, right: Floats, law: Moments) -> CrossTable:
    # E[x·y] = one + a·A + b·B + ab·AB, with A and B the frequencies of either answer, decoded from either report alone.
    n = len(left)
    (p, q), (r, s) = _blend(first), _blend(second)
    alone, beside = (left - q) / (p - q), (right - s) / (r - s)
    seen = left.T @ right / n
    centre = (seen - law["one"] - law["a"] * alone.mean(axis=0)[:, None] - law["b"] * beside.mean(axis=0)[None]) / law[
        "ab"
    ]
    variances = np.empty_like(centre)
    for i in range(centre.shape[0]):  # one row at a time: n × columns numbers
        each = left[:, [i]] * right - law["a"] * alone[:, [i]] - law["b"] * beside
        variances[i] = each.var(axis=0) / law["ab"] ** 2 / n
    return _cross(first, second, centre, variances, n)


def _blend(survey: Survey) -> tuple[float, float]:
    pairs = [(float(share), *_rates(survey, theta)) for theta, share in survey.mix.items()]
    return sum(w * p for w, p, _ in pairs), sum(w * q for w, _, q in pairs)


def _public_pairs(
    first: Survey, second: Survey, left: Floats, right: Floats, thetas: list[str]
) -> tuple[Floats, Floats]:
    if len(thetas) != len(left):
        raise SchemaError("parameters are public, but not every report says its own", do="give one θ for each person")
    names, total, squares = np.asarray(thetas), np.zeros(()), np.zeros(())
    for theta in first.menu:
        rows = names == theta
        (p, q), (r, s) = _rates(first, theta), _rates(second, theta)
        x, y = (left[rows] - q) / (p - q), (right[rows] - s) / (r - s)
        total, squares = total + x.T @ y, squares + (x**2).T @ (y**2)
    return np.asarray(total), np.asarray(squares)


def _cross(first: Survey, second: Survey, centre: Floats, variances: Floats, n: int) -> CrossTable:
    labels = [getattr(s.domain, "labels", ()) for s in (first, second)]
    return CrossTable(labels[0], labels[1], centre, np.sqrt(np.maximum(variances, 0)), n)
