"""Regression on randomised answers: what public facts about people have to do with what they answered.

Claim: ``logistic`` maximises the likelihood of the reports, Pr[report supports the answer | x] = q + (p −
q)·logit⁻¹(x·β); its errors are those of Fisher's information. ``linear`` regresses decoded numbers, whose expectation
is the number itself, with errors that hold whatever the noise (White 1980). With a collected mix its uncertainty is
added to both. The facts x are public, or at least known to the collector; only the answer is randomised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privjail.errors import PlanError, RefusedError
from privjail.local.channels.channel import Floats, SupportChannel, TableChannel
from privjail.local.channels.kary import KaryResponse
from privjail.local.channels.numeric import NumericChannel
from privjail.local.channels.unary import Unary
from privjail.local.estimation.estimate import quantile
from privjail.local.estimation.likelihood import Group
from privjail.local.estimation.mean import guesses

_STEPS = 100


@dataclass(frozen=True)
class Regression:
    """Coefficients, the intercept first, with their covariance."""

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    count: int
    level: float = 0.95

    @property
    def errors(self) -> Floats:
        return np.asarray(np.sqrt(np.diag(self.covariance)), dtype=np.float64)

    @property
    def intervals(self) -> Floats:
        """Lower and upper end for each coefficient."""
        reach = quantile(self.level) * self.errors
        return np.stack([self.coefficients - reach, self.coefficients + reach], axis=1)

    def __str__(self) -> str:
        rows = zip(self.names, self.coefficients, self.intervals, strict=True)
        return "\n".join(f"{name}: {b:.4f} [{low:.4f}, {high:.4f}]" for name, b, (low, high) in rows)


def logistic(
    groups: Sequence[Group],
    facts: Sequence[npt.ArrayLike],
    answer: int,
    names: Sequence[str] = (),
    level: float = 0.95,
) -> Regression:
    """The log odds of one answer as a linear function of facts; one array of facts for each group of reports."""
    xs, ys, rates = [], [], []
    for group, given in zip(groups, facts, strict=True):
        if group.count:
            xs.append(_design(given, group.count))
            ys.append(_supported(group, answer))
            rates.append(np.tile([float(rate) for rate in group.rates()], (group.count, 1)))
    x, y, rate = np.concatenate(xs), np.concatenate(ys), np.concatenate(rates)
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        chance, slope = _chance(x @ beta, rate)
        weight = slope**2 / (chance * (1 - chance))
        information = (x * weight[:, None]).T @ x
        step = _solve(information, x.T @ (slope * (y - chance) / (chance * (1 - chance))))
        # With noisy answers a full step may leave where the likelihood is known; long ones are cut.
        step *= min(1.0, 2.0 / max(float(np.abs(x @ step).max()), 1e-12))
        beta = beta + step
        if float(np.abs(step).max()) < 1e-9:
            break
    else:
        raise RefusedError("the regression does not converge: the reports do not determine it", do="use fewer facts")
    covariance = _solve(information, np.eye(len(beta)))
    covariance = covariance + _mix_part(groups, x, beta, weight, slope, covariance)
    return Regression(_names(names, len(beta)), beta, covariance, len(y), level)


def _chance(linear: Floats, rate: Floats) -> tuple[Floats, Floats]:
    """Pr[report supports the answer], and its derivative by x·β."""
    yes = 1 / (1 + np.exp(-np.clip(linear, -30, 30)))
    gap = rate[:, 0] - rate[:, 1]
    return rate[:, 1] + gap * yes, np.asarray(gap * yes * (1 - yes))


def _mix_part(
    groups: Sequence[Group], x: Floats, beta: Floats, weight: Floats, slope: Floats, inverse: Floats
) -> Floats:
    """What the uncertainty of a collected mix adds: β moves by −I⁻¹·X′(w/slope)·∂chance/∂share."""
    group = groups[0]
    if len(groups) != 1 or group.mix_covariance is None:
        return np.zeros_like(inverse)
    yes = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
    moves = []
    for channel in group.channels:
        assert isinstance(channel, SupportChannel)
        p, q = (float(rate) for rate in channel.rates)
        moves.append(inverse @ (x.T @ (weight / np.where(slope == 0, 1, slope) * (q + (p - q) * yes))))
    m = np.array(moves)
    return np.asarray(m.T @ group.mix_covariance @ m, dtype=np.float64)


def linear(
    groups: Sequence[Group], facts: Sequence[npt.ArrayLike], names: Sequence[str] = (), level: float = 0.95
) -> Regression:
    """A number as a linear function of facts, from decoded reports."""
    xs, ys, shifts = [], [], []
    for group, given in zip(groups, facts, strict=True):
        if not isinstance(group.channel, NumericChannel):
            raise RefusedError("a linear regression needs a question about numbers", do="use logistic")
        if group.count:
            guess = guesses(group)
            xs.append(_design(given, group.count))
            ys.append(guess[group.reports])
            shifts.append(guess)
    x, y = np.concatenate(xs), np.concatenate(ys)
    inverse = _solve(x.T @ x, np.eye(x.shape[1]))
    beta = inverse @ (x.T @ y)
    scores = x * (y - x @ beta)[:, None]
    n, k = x.shape
    covariance = inverse @ (scores.T @ scores) @ inverse * (n / max(n - k, 1))
    group = groups[0]
    if len(groups) == 1 and group.mix_covariance is not None:
        # A decoded report of θ has expectation guess·P_θ at the person's number, here that of the fitted line.
        grid = group.channel.domain
        numbers = np.array([float(grid.number(d)) for d in range(grid.size)])  # type: ignore[union-attr, arg-type]
        fitted = np.clip(x @ beta, numbers[0], numbers[-1])
        tables = [c.table for c in group.channels if isinstance(c, TableChannel)]
        moves = np.array([inverse @ (x.T @ np.interp(fitted, numbers, shifts[0] @ t)) for t in tables])
        covariance = covariance + moves.T @ group.mix_covariance @ moves
    return Regression(_names(names, k), beta, np.asarray(covariance), n, level)


def _design(facts: npt.ArrayLike, n: int) -> Floats:
    given = np.asarray(facts, dtype=np.float64).reshape(n, -1) if np.size(facts) else np.empty((n, 0))
    if not np.isfinite(given).all():
        raise PlanError("facts must be finite numbers", do="fill or drop missing ones")
    return np.concatenate([np.ones((n, 1)), given], axis=1)


def _supported(group: Group, answer: int) -> Floats:
    channel = group.channel
    if isinstance(channel, KaryResponse):
        return np.asarray(group.reports == answer, dtype=np.float64)
    if isinstance(channel, Unary):
        return np.asarray(channel.bits(group.reports)[:, answer], dtype=np.float64)
    raise RefusedError("this channel's reports do not say whether they support one answer", do="use k-ary or unary")


def _solve(matrix: Floats, right: Floats) -> Floats:
    if np.linalg.cond(matrix) > 1e12:
        raise RefusedError("these facts repeat each other, so no coefficient is determined", do="leave some out")
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _names(names: Sequence[str], k: int) -> tuple[str, ...]:
    given = tuple(names) or tuple(f"x{i}" for i in range(1, k))
    if len(given) != k - 1:
        raise PlanError(f"{k - 1} facts, but {len(given)} names", do="name each fact once")
    return ("intercept", *given)
