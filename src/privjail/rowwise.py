"""Row-wise expressions from what an analyst wrote: constants, types, and operands brought onto the same rows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from privjail.errors import PlanError, RowsError, warn
from privjail.ops.columns.arithmetic import Arithmetic
from privjail.ops.columns.carried import Carried, Constant
from privjail.ops.columns.cast import Cast
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.logic import negation
from privjail.ops.columns.where import FillNull
from privjail.ops.rows.window import Lag, Window
from privjail.plan.domain import (
    BoolDomain,
    CategoryDomain,
    Domain,
    OrdinalDomain,
    TextDomain,
    TimeDomain,
    UntypedDomain,
    type_name,
)
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, Node
from privjail.plan.rows import Rows
from privjail.prisoner import Prisoner

PLAIN = (float, int, str)


def literal(value: Any) -> Lit:
    """A public constant that an analyst wrote."""
    if type(value) in PLAIN:
        return Lit.of(value)
    if value is not None and type(value).__name__ in ("NAType", "NaTType"):
        value = None
    if isinstance(value, Prisoner):
        raise PlanError("a public constant is needed, not a private value", do="release the private value first")
    if getattr(value, "ndim", 0) or isinstance(value, (list, tuple, dict, set)):
        raise RowsError(
            f"a public {type(value).__name__} cannot meet a private column: which row comes where is private",
            do="use one constant, or join a public table on a key with .merge(…)",
        )
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, str) and type(value) is not str:
        value = str(value)
    try:
        return Lit.of(value)
    except TypeError as e:
        raise PlanError(str(e)) from None


def is_missing(value: Any) -> bool:
    """Whether a public argument stands for a missing value: None, NA, NaT or NaN."""
    if isinstance(value, Prisoner):
        return False
    lit = literal(value)
    return lit.value is None or lit.value != lit.value


def typed(expr: Expr, other: Any = None) -> Expr:
    """An untyped column, read as what it is compared or computed with."""
    if not isinstance(expr.domain, UntypedDomain):
        return expr
    if other is None or (isinstance(other, (int, float)) and not isinstance(other, bool)):
        return Cast(expr, "Float64")
    return expr


def numeric(expr: Expr) -> Expr:
    """A column as numbers: untyped text is parsed, true/false counts as 1 and 0."""
    if isinstance(expr.domain, (TimeDomain, OrdinalDomain)):
        raise PlanError(
            f"{type_name(expr.domain)} values are no numbers",
            do="take numbers of them: .dt.days, .dt.total_seconds(), .dt.year; count them by groupby or value_counts",
        )
    if isinstance(expr.domain, UntypedDomain):
        return Cast(expr, "Float64")
    return Cast(expr, "Int64") if isinstance(expr.domain, BoolDomain) else expr


def constant_like(value: Any) -> Expr:
    """A public constant as a column."""
    if is_missing(value):
        raise PlanError("a missing value is no constant", do="use .mask(…) to make values missing")
    return Constant(literal(value))


def same_rows(*operands: tuple[Rows, Expr]) -> tuple[Rows, list[Expr]]:
    """Operands on the same rows; shifted columns bring the others along into one common window."""
    rows = [r for r, _ in operands]
    if all(r is rows[0] for r in rows):
        return rows[0], [e for _, e in operands]
    plain = {r.rows if isinstance(r, Window) else r for r in rows}
    if len(plain) != 1:
        raise RowsError(
            "the operands do not have the same rows in the same order",
            plan=" and ".join(dict.fromkeys(str(r) for r in rows)),
            do="take both from the same table: filter, sort or slice the table, not its columns",
        )
    windows = [r for r in rows if isinstance(r, Window)]
    own = [0] if len(windows) < len(rows) else []  # a column that is not shifted sees its own row
    before, after = max(own + [w.before for w in windows]), max(own + [w.after for w in windows])
    wide = Window(plain.pop(), before, after)
    return wide, [into_window(r, e, wide) for r, e in operands]


def into_window(rows: Rows, expr: Expr, wide: Window) -> Expr:
    """The same column, as rows of a wider window see it."""
    if rows is wide or expr.base is None:
        return expr
    return _rebased(expr, rows, wide) if isinstance(rows, Window) else Carried(wide, expr)


def _rebased(expr: Expr, old: Window, new: Window) -> Expr:
    if isinstance(expr, Carried) and expr.into is old:
        return Carried(new, expr.inner)
    if isinstance(expr, Lag) and expr.window is old:
        return Lag(new, expr.inner, expr.k)
    fields = [_moved(field, old, new) for field in expr.fields()]
    rebuilt: Expr = type(expr)(*fields)
    return rebuilt


def _moved(field: Any, old: Window, new: Window) -> Any:
    if isinstance(field, tuple):
        return tuple(_moved(each, old, new) for each in field)
    return _rebased(field, old, new) if isinstance(field, Expr) else field


def compared(op: str, a: Expr, b: Expr | Any) -> Expr:
    """a op b, where != and ≤ and ≥ are negations of ==, > and <.

    As in pandas: a missing number, or truth value, makes the result missing; a missing category, text or date
    compares as false, and as true for !=.
    """
    if not isinstance(b, Node):
        value = literal(b)
        a, right = typed(a, value.value), value
        _warn_of_no_category(a.domain, value.value)
    else:
        a, right = _both_typed(a, b)  # type: ignore[arg-type, assignment]
    if isinstance(a.domain, BoolDomain) and op in ("<", ">", "<=", ">="):
        raise PlanError("true/false columns can only be tested for equality")
    if _false_if_missing(a, right):
        return _never_missing(op, a, right)
    return _compared(op, a, right)


def _compared(op: str, a: Expr, right: Expr | Lit) -> Expr:
    if op in ("==", "<", ">"):
        return Compare(op, a, right)
    return negation(Compare({"!=": "==", "<=": ">", ">=": "<"}[op], a, right))


def _false_if_missing(a: Expr, right: Expr | Lit) -> bool:
    nullable = a.domain.nullable or (not isinstance(right, Lit) and right.domain.nullable)
    return nullable and isinstance(a.domain, (CategoryDomain, TextDomain, TimeDomain, OrdinalDomain))


def _never_missing(op: str, a: Expr, right: Expr | Lit) -> Expr:
    """The comparison, false where an operand is missing; a != b is true there, as the negation of a == b."""
    if op == "!=":
        return negation(_never_missing("==", a, right))
    plain = _compared(op, a, right)  # which checks the operands, too
    if op == "==" and isinstance(right, Lit) and not isinstance(a.domain, OrdinalDomain):
        return IsIn(a, (right,))  # decides the same cells as ==
    return FillNull(plain, Constant(Lit.of(False)))


def _warn_of_no_category(domain: Domain, value: Any) -> None:
    """A text that is none of the column's categories is equal to no row: mostly a misspelling."""
    if not isinstance(domain, CategoryDomain) or not isinstance(value, str) or domain.code(value) is not None:
        return
    labels = [label for label in domain.categories if isinstance(label, str)]
    if not labels:
        return
    near = get_close_matches(value.lower(), [label.lower() for label in labels], 1)
    nearest = next((label for label in labels if near and label.lower() == near[0]), None)
    shown = f"did you mean {nearest!r}?" if nearest else f"the categories are {', '.join(map(repr, labels[:10]))}"
    warn(f"{value!r} is no category of this column, so it equals no row; {shown}")


def _both_typed(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    loose = [isinstance(e.domain, UntypedDomain) for e in (a, b)]
    if all(loose):
        return a, b
    if any(loose):
        other = b if loose[0] else a
        if not isinstance(other.domain, TextDomain):
            return numeric(a), numeric(b)
    return a, b


def computed(op: str, a: Expr, b: Expr) -> Expr:
    return Arithmetic(op, numeric(a), numeric(b))
