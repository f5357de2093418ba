"""The labels of keys: how many there are, and the position of one."""

from __future__ import annotations

from typing import Any

from privjail.plan.domain import CategoryDomain
from privjail.plan.expr import Expr


def shape_of(keys: tuple[Expr, ...]) -> tuple[int, ...]:
    return tuple(len(key.domain.labels or ()) for key in keys)


def code_of(by: Expr, label: Any) -> int | None:
    """The position of a label among the groups of a key, or None if there is no such group."""
    domain = by.domain
    if isinstance(domain, CategoryDomain):
        return domain.code(label)
    labels = domain.labels
    assert labels is not None
    return labels.index(label) if label in labels else None
