"""PrivJail: run ordinary pandas programs on personal data that nobody may see."""

from __future__ import annotations

from privjail.budget.notions import ZCDP, ApproxDP, PureDP, RenyiDP
from privjail.errors import (
    BudgetError,
    BudgetExceeded,
    DPError,
    InternalError,
    PlanError,
    PrisonerError,
    RefusedError,
    RowsError,
    SchemaError,
)
from privjail.prisoner import Prisoner
from privjail.sensitive import (
    SensitiveFloat,
    SensitiveInt,
    above_threshold,
    exponential_mechanism,
    gaussian_mechanism,
    laplace_mechanism,
    max,
    min,
    noisy_max,
    noisy_min,
    reveal_all,
    top_k,
)
from privjail.session import budget, connect, consumed_privacy_budget, disconnect
from privjail.verify.certificate import certify

__all__ = [
    "ApproxDP",
    "BudgetError",
    "BudgetExceeded",
    "DPError",
    "InternalError",
    "PlanError",
    "Prisoner",
    "PrisonerError",
    "PureDP",
    "RefusedError",
    "RenyiDP",
    "RowsError",
    "SchemaError",
    "SensitiveFloat",
    "SensitiveInt",
    "ZCDP",
    "above_threshold",
    "budget",
    "certify",
    "connect",
    "consumed_privacy_budget",
    "disconnect",
    "exponential_mechanism",
    "gaussian_mechanism",
    "laplace_mechanism",
    "max",
    "min",
    "noisy_max",
    "noisy_min",
    "reveal_all",
    "top_k",
]
