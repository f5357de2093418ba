"""PrivJail: run ordinary pandas programs on personal data that nobody may see."""

from __future__ import annotations

from privjail.distribution import __version__, check_alone

check_alone()  # before any file is imported that may be another package's

from privjail.answers.answer import Answer  # noqa: E402
from privjail.answers.show import error, interval, plot  # noqa: E402
from privjail.budget.notions import ZCDP, ApproxDP, PureDP, RenyiDP  # noqa: E402
from privjail.choices import (  # noqa: E402
    above_threshold,
    exponential_mechanism,
    key_threshold,
    noisy_max,
    noisy_min,
    top_k,
)
from privjail.collector import raise_gc_threshold  # noqa: E402
from privjail.errors import (  # noqa: E402
    BudgetError,
    BudgetExceeded,
    DPError,
    DPWarning,
    InternalError,
    PlanError,
    PrisonerError,
    RefusedError,
    RowsError,
    SchemaError,
)
from privjail.made_up_rows import made_up  # noqa: E402
from privjail.notebook import short_tracebacks  # noqa: E402
from privjail.numpy.arrays import clip_norm, normalize  # noqa: E402
from privjail.population import Population, population  # noqa: E402
from privjail.prisoner import Prisoner  # noqa: E402
from privjail.records import history  # noqa: E402
from privjail.rehearsals.run import rehearsal  # noqa: E402
from privjail.sensitive import (  # noqa: E402
    SensitiveFloat,
    SensitiveInt,
    gaussian_mechanism,
    laplace_mechanism,
    max,
    min,
    reveal_all,
)
from privjail.session import (  # noqa: E402
    accounting,
    budget,
    budget_left,
    connect,
    consumed_privacy_budget,
    disconnect,
)
from privjail.verify.certificate import certify  # noqa: E402

__all__ = [
    "Answer",
    "ApproxDP",
    "BudgetError",
    "BudgetExceeded",
    "DPError",
    "DPWarning",
    "InternalError",
    "PlanError",
    "Population",
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
    "__version__",
    "above_threshold",
    "accounting",
    "budget",
    "budget_left",
    "certify",
    "clip_norm",
    "connect",
    "consumed_privacy_budget",
    "disconnect",
    "error",
    "exponential_mechanism",
    "gaussian_mechanism",
    "history",
    "interval",
    "key_threshold",
    "laplace_mechanism",
    "made_up",
    "max",
    "min",
    "noisy_max",
    "noisy_min",
    "normalize",
    "plot",
    "population",
    "raise_gc_threshold",
    "rehearsal",
    "reveal_all",
    "short_tracebacks",
    "top_k",
]
