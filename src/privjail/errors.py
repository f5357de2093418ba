"""Every error that a caller can see.

DPError                   privjail.util: anything below, and "The domain is unbounded."
├── PlanError             the program makes no sense: unknown column, wrong type, wrong argument
│   ├── RowsError         two operands do not have the same rows in the same order
│   └── EngineGap         the engine that holds the data set lacks an operation; nothing was charged
├── RefusedError          pandas offers it, but no differentially private answer exists
│   └── PrisonerError     a private value was used as if it were public (print, if, len, float, …)
├── BudgetError           an amount that is no budget (NaN, negative, …), or a notion that cannot pay
│   └── BudgetExceeded    the release would cost more than the curator allows
├── SchemaError           the schema file is wrong, or the data cannot be read with it
└── InternalError         something failed inside the jail; no details are given
    └── EngineFailed      the engine failed (a lost cluster, a full disk, …); no details are given
"""

from __future__ import annotations

import warnings

from privjail.util import DPError

__all__ = [
    "BudgetError",
    "BudgetExceeded",
    "DPError",
    "DPWarning",
    "EngineFailed",
    "EngineGap",
    "InternalError",
    "PlanError",
    "PrisonerError",
    "RefusedError",
    "RowsError",
    "SchemaError",
    "UnknownName",
    "engine_gap",
    "unbounded",
    "warn",
]


class PlanError(DPError):
    """The program makes no sense, whatever the data."""


class RowsError(PlanError):
    """Two operands do not have the same rows in the same order."""


class EngineGap(PlanError):
    """The engine that holds the data set lacks an operation of the plan. Nothing was charged."""


class RefusedError(DPError):
    """pandas offers it, but no differentially private answer exists."""


class PrisonerError(RefusedError, TypeError):
    """A private value was used where only a public one can stand."""


class UnknownName(PlanError, AttributeError):
    """A name that a private number or array does not have."""


class BudgetError(DPError, ValueError):
    """An amount that is not a valid budget, or a mechanism that the notion of privacy of a data set does not allow."""


class BudgetExceeded(BudgetError):
    """The release would cost more than the curator allows. Nothing was charged."""


class SchemaError(DPError):
    """The schema is wrong, or the data cannot be read with it."""


class InternalError(DPError):
    """Something failed inside the jail. No details are given: they may contain data."""


class EngineFailed(InternalError):
    """The engine failed: a lost cluster, a full disk. What it said is not shown, since it may contain data."""


def engine_gap(what: str, engine: str) -> EngineGap:
    """The error for an operation that an engine has no line for."""
    return EngineGap(
        f"{what} does not run on {engine}, which holds this data set",
        do="ask the curator to serve the data set with the engine polars, or write the program without it",
    )


def unbounded(plan: str | None = None) -> DPError:
    """The error for a value without finite sensitivity, in the words of the paper (section 3.2)."""
    return DPError("The domain is unbounded. Use clip().", plan=plan)


class DPWarning(UserWarning):
    """The program runs, but means something else than it seems; said from public facts only."""


def warn(what: str) -> None:
    """Tell the analyst, at her own line."""
    warnings.warn(what, DPWarning, stacklevel=_depth())


def _depth() -> int:
    """How far up the first caller outside this package is."""
    import sys

    depth = 2
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("privjail."):
        frame = frame.f_back
        depth += 1
    return depth
