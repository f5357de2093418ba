"""The curator's floor of noise: no release more precise than she allows, whatever the budget is."""

from __future__ import annotations

from fractions import Fraction

from privjail.budget.notions import Loss
from privjail.errors import BudgetExceeded
from privjail.release import Query
from privjail.server.ledger.rules import shown
from privjail.server.ledger.state import State


def check_noise(state: State, user: str, asks: list[Query]) -> None:
    """Refuse a request with a release whose noise is below a rule's floor. It depends on public facts only.

    Noise is measured by its standard deviation, in multiples of what one unit of protection can change. Laplace noise
    of ε has √2/ε of them, Gaussian noise of ρ has 1/√(2ρ). A choice (noisy max, quantile) has the ε of Laplace noise.
    """
    if not state.rules:
        return
    groups = state.groups_of(user)
    for ask in asks:
        for dataset in {str(cell.root.partition) for cell in ask.value.cells}:
            for scope in state.scopes(user, dataset, groups):
                rule = state.rules.get(scope)
                if rule is not None and rule.noise is not None and squared(ask.mechanism.loss) < rule.noise**2:
                    raise BudgetExceeded(
                        f"releases of {dataset!r} must have noise of at least {shown(rule.noise)} times what one unit "
                        "of protection can change, and this one has less; nothing was charged",
                        do="use a smaller eps",
                    )


def squared(loss: Loss) -> Fraction:
    """The variance of the noise, in squares of what one unit can change: exact, since √2 is not."""
    if loss.pure:
        return 2 / loss.pure**2
    return 1 / (2 * loss.rho) if loss.rho else Fraction(0)
