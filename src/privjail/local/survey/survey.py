"""A survey: one question, a menu of parameters, their public mix, whether they are hidden, and a ballot on the mix."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Channel, Reports
from privjail.local.channels.domain import Categories, Domain, Grid, domain_from
from privjail.local.channels.duchi import Duchi
from privjail.local.channels.entropy import Ints
from privjail.local.channels.exact import Rational, fraction
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.laplace import GridLaplace
from privjail.local.channels.pbp import Strength, check_shape, shares, strengths
from privjail.local.channels.piecewise import Piecewise
from privjail.local.channels.table import Table
from privjail.local.channels.unary import Unary
from privjail.local.estimation.estimate import Estimate
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mean import Mean
from privjail.local.estimation.mixes import CollectedMix
from privjail.local.estimation.regression import Regression, linear, logistic
from privjail.local.survey.estimating import Asked, estimate


@dataclass(frozen=True)
class Survey:
    """What is public before anybody answers. With ``hidden``, nobody sends θ; the mix must be known."""

    question: str
    menu: Mapping[str, Channel]
    mix: Mapping[str, Fraction]
    hidden: bool = True
    ballot: KaryResponse | None = None  # θ itself, randomised, sent with the report: how the mix is collected

    def __post_init__(self) -> None:
        if not self.menu:
            raise PlanError("a survey needs at least one parameter on its menu", do="add a channel to the menu")
        if len({channel.domain for channel in self.menu.values()}) != 1:
            raise PlanError("all parameters of a survey must share one domain", do="write one survey for each")
        if self.hidden:
            check_shape(self.menu)
        object.__setattr__(self, "mix", shares(self.mix, self.menu))
        self._check_ballot()

    def _check_ballot(self) -> None:
        if self.ballot is None:
            return
        if not self.hidden or len(self.menu) < 2:
            raise PlanError("a ballot is for hidden parameters, at least two of them", do="leave the ballot out")
        if self.ballot.domain.labels != tuple(self.menu) or self.ballot.ratio is None or self.ballot.ratio == 1:
            raise PlanError(
                "a ballot must be about this menu, say something, and not tell θ for certain",
                do='give it a strength, e.g. "ballot": {"epsilon": 1}',
            )

    def with_ballot(self, epsilon: Rational) -> Survey:
        """The same survey that also asks for θ, at this ε for the choice itself."""
        return replace(self, ballot=KaryResponse.of(Categories(tuple(self.menu)), epsilon))

    @property
    def domain(self) -> Domain:
        return next(iter(self.menu.values())).domain

    def strengths(self) -> tuple[Strength, ...]:
        """Both strengths of each parameter; with public parameters all are the plain ε."""
        if self.hidden and len(self.menu) > 1:  # a menu of one hides nothing: all three are its plain ε
            return tuple(strengths(self.menu, self.mix, self.ballot).values())
        # A public parameter that depends on the answer may tell it outright: then no ε holds.
        return tuple(
            Strength(t, self.mix[t], c.ratio, c.ratio, c.ratio, c.ratio if len(self.menu) == 1 else None)
            for t, c in self.menu.items()
        )

    def channel(self, theta: str) -> Channel:
        if theta not in self.menu:
            raise PlanError("this parameter is not on the menu", do=f"pick from: {', '.join(self.menu)}")
        return self.menu[theta]

    def groups(
        self, reports: Reports, thetas: Sequence[str] | None = None, mix: CollectedMix | None = None
    ) -> list[Group]:
        """Reports sorted by the law that made them: one blend if θ is hidden, else one group for each θ."""
        reports = next(iter(self.menu.values())).checked(reports)
        if self.hidden:
            used = self.mix if mix is None else mix.fractions
            shares_ = tuple(used[t] for t in self.menu)
            return [Group(tuple(self.menu.values()), shares_, reports, None if mix is None else mix.covariance)]
        if thetas is None and len(self.menu) > 1:
            raise SchemaError("parameters are public, but no report says its own", do="add a theta column")
        names = np.asarray(thetas if thetas is not None else [next(iter(self.menu))] * len(reports))
        if names.shape != (len(reports),):
            raise SchemaError(f"{len(reports)} reports, but {names.size} parameters", do="give one for each report")
        if not set(names.tolist()) <= set(self.menu):
            raise SchemaError(
                "some reports name a parameter that is not on the menu",
                do=f"the menu has: {', '.join(self.menu)}",
            )
        one = (Fraction(1),)
        return [Group((channel,), one, reports[names == theta]) for theta, channel in self.menu.items()]

    def estimate(
        self,
        reports: Reports,
        thetas: Sequence[str] | None = None,
        *,
        ballots: Ints | None = None,
        mix: CollectedMix | None = None,
        mix_within: Rational | None = None,
        independent: bool = True,
        method: str | None = None,
        level: float = 0.95,
        progress: Callable[[float], None] | None = None,
    ) -> Estimate | Mean:
        """What the reports say about everybody, with E and plain ε of every parameter, and what speaks against it.

        ``ballots``: the ballot of each report; ``mix``: a mix that was collected without a link to reports. Either
        replaces the stated mix, and its uncertainty widens the intervals. ``mix_within``: intervals that hold if the
        stated shares are off by at most this. ``independent=False``: do not assume that people chose θ without regard
        to their answer. Without a method: "smooth" where reports support single answers, "ml" for all other channels.
        """
        asked = Asked(ballots, mix, mix_within, independent, method, level, progress)
        return estimate(self, reports, thetas, asked)

    def regress(
        self,
        reports: Reports,
        facts: npt.ArrayLike,
        answer: str | None = None,
        thetas: Sequence[str] | None = None,
        *,
        mix: CollectedMix | None = None,
        names: Sequence[str] = (),
        level: float = 0.95,
    ) -> Regression:
        """What public facts (a row for each report) have to do with an answer (logistic) or a number (linear)."""
        groups = self.groups(reports, thetas, mix)
        given = np.asarray(facts, dtype=np.float64).reshape(len(reports), -1)
        if self.hidden or thetas is None:
            parts = [given]
        else:
            chosen = np.asarray(thetas)
            parts = [given[chosen == theta] for theta in self.menu]
        if answer is None:
            return linear(groups, parts, names, level)
        return logistic(groups, parts, self.domain.index(answer), names, level)

    def to_json(self) -> str:
        return json.dumps(
            {
                "question": self.question,
                "domain": self.domain.spec(),
                "parameters": "hidden" if self.hidden else "public",
                "menu": {theta: channel.spec() for theta, channel in self.menu.items()},
                "mix": {theta: str(share) for theta, share in self.mix.items()},
                **({"ballot": {"truth": str(self.ballot.truth)}} if self.ballot is not None else {}),
            },
            indent=2,
            ensure_ascii=False,
        )

    @staticmethod
    def load(path: str | Path) -> Survey:
        try:
            return Survey.from_json(Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise SchemaError("the survey file cannot be read", do="check its name") from None

    @staticmethod
    def from_json(text: str) -> Survey:
        try:
            spec = json.loads(text)
            domain = domain_from(spec["domain"])
            menu = {str(t): channel_from(domain, c) for t, c in spec["menu"].items()}
            mix = {str(t): fraction(s, "a share") for t, s in spec["mix"].items()}
            hidden = {"hidden": True, "public": False}[spec.get("parameters", "hidden")]
            ballot = _ballot(menu, spec["ballot"]) if "ballot" in spec else None
            return Survey(str(spec.get("question", "")), menu, mix, hidden, ballot)
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            raise SchemaError(
                f"the survey file is incomplete or not JSON ({type(wrong).__name__}: {wrong})",
                do="see the example in docs/local.md",
            ) from None


def _ballot(menu: Mapping[str, Channel], spec: Mapping[str, Any]) -> KaryResponse:
    choices = Categories(tuple(menu))
    if "epsilon" in spec:
        return KaryResponse.of(choices, spec["epsilon"])
    return KaryResponse(choices, fraction(spec["truth"], "truth"))


def channel_from(domain: Domain, spec: Mapping[str, Any]) -> Channel:
    """The channel that a survey file describes: by its exact law, or by a wanted ``epsilon``."""
    name = spec["channel"]
    builders = _numbers if isinstance(domain, Grid) else _answers
    if name == "table":
        return Table.of(domain, spec["rows"])
    if name not in builders:
        known = ", ".join([*builders, "table"])
        raise SchemaError(f"there is no channel {name!r} for this domain", do=f"use: {known}")
    return builders[name](cast(Any, domain), spec)


_answers: dict[str, Callable[[Categories, Mapping[str, Any]], Channel]] = {
    "kary": lambda d, s: (
        KaryResponse.of(d, s["epsilon"]) if "epsilon" in s else KaryResponse(d, fraction(s["truth"], "truth"))
    ),
    "unary": lambda d, s: Unary(d, fraction(s["yes"], "yes"), fraction(s["no"], "no")),
    "symmetric-unary": lambda d, s: Unary.symmetric(d, s["epsilon"]),
    "optimised-unary": lambda d, s: Unary.optimised(d, s["epsilon"]),
    "hashing": lambda d, s: (
        LocalHashing.of(d, s["epsilon"])
        if "epsilon" in s
        else LocalHashing(d, int(s["cells"]), fraction(s["truth"], "truth"))
    ),
}
_numbers: dict[str, Callable[[Grid, Mapping[str, Any]], Channel]] = {
    "duchi": lambda d, s: Duchi.of(d, s["epsilon"]) if "epsilon" in s else Duchi(d, fraction(s["truth"], "truth")),
    "piecewise": lambda d, s: (
        Piecewise.of(d, s["epsilon"], s.get("window"))
        if "epsilon" in s
        else Piecewise(d, fraction(s["favour"], "favour"), int(s["window"]))
    ),
    "laplace": lambda d, s: (
        GridLaplace.of(d, s["epsilon"]) if "epsilon" in s else GridLaplace(d, fraction(s["decay"], "decay"))
    ),
}
