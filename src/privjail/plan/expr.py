"""Expressions: one value per row of a base, computed from that row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from operator import attrgetter
from typing import Any, ClassVar

from privjail.errors import RowsError, engine_gap
from privjail.plan.domain import Domain
from privjail.plan.node import Node, inputs_first
from privjail.plan.rows import Rows


class Expr(Node):
    """A row-wise expression: its base, the domain of its values, and one line for the engine.

    Row-wise means: the value in a row depends on that row of the base only, not on other rows, nor on the
    row's position. Then a row inserted into the base inserts one value, and the distance is kept.
    """

    base: Rows | None  # None: a constant, which fits every base
    domain: Domain

    def computed_from(self, *inputs: Expr, domain: Domain) -> None:
        """Set the facts while the node is built: inputs, base and domain."""
        base: Rows | None = None
        for each in inputs:
            if each.base is not None and base is not None and each.base is not base:
                raise RowsError(
                    "these columns do not belong to the same rows", do="take all columns from one and the same table"
                )
            base = each.base if base is None else base
        self.fact(base=base, domain=domain, inputs=inputs)

    inputs: tuple[Expr, ...]

    @property
    def on_whole_columns(self) -> bool:
        """Whether the engine must be given its inputs as columns, never as constants or parts of an expression.

        Engines may compute with constants in another way than with columns, and may notice from the data that an
        expression is constant. Then the value in one row would depend on other rows.
        """
        return False

    def polars(self, *inputs: Any) -> Any:
        """The Polars expression, given those of the inputs."""
        raise TypeError(f"{type(self).__name__} has no Polars line")

    def sql(self, sql: Any, *inputs: Any) -> Any:
        """The SQL term, given the dialect (engines/sql/dialect.py) and the terms of the inputs."""
        raise engine_gap(f"the operation {self.kind!r}", sql.name)

    from_elsewhere: ClassVar[bool] = False  # its values come from other rows than those of its base: engines fetch them
    shared: ClassVar[bool] = False  # many columns are computed from it: an engine should compute it once
    sees_nulls: ClassVar[bool] = False  # the Python line is given missing values too; else they stay missing

    def of_person(self) -> tuple[Rows, Expr] | None:
        """A table with at most one row per person, and the column of it that this column says of each row's person.

        Wherever this column is not missing, the row's person has a row in that table with the same value. So rows with
        one value belong to persons of one group, in whatever table they are.
        """
        return None if not self.inputs or self.sees_nulls else _fact_of_person(self)

    def python(self, *inputs: Any) -> Any:
        """The held value of one row (engines/held.py), given those of the inputs. None is a missing value."""
        raise TypeError(f"{type(self).__name__} has no Python line")

    def text(self, *inputs: str) -> str:
        raise TypeError(f"{type(self).__name__} has no text")

    def spell_out(self) -> str:
        return self.text(*(str(each) for each in self.inputs))

    def __str__(self) -> str:
        return self.shown()


def _fact_of_person(expression: Expr) -> tuple[Rows, Expr] | None:
    """The same computation in the table that all inputs come from; each step is missing where an input is missing."""
    made: dict[Expr, Expr] = {}
    table: Rows | None = None
    for step in inputs_first((expression,), attrgetter("inputs")):
        if step.base is None:
            made[step] = step
        elif not step.inputs:
            found = step.of_person()
            if found is None or table is not None and found[0] is not table:
                return None
            table, made[step] = found
        elif step.sees_nulls:
            return None
        else:
            made[step] = type(step)(*(_replaced(each, made) for each in step.fields()))
    return None if table is None else (table, made[expression])


def _replaced(field: Any, made: dict[Expr, Expr]) -> Any:
    if isinstance(field, tuple):
        return tuple([_replaced(each, made) for each in field])
    return made.get(field, field) if isinstance(field, Expr) else field


def column_steps(expression: Expr) -> list[Expr]:
    """The steps in which a column is computed, inputs first: what it is computed from in its base, and itself."""
    return list(inputs_first((expression,), attrgetter("inputs")))


def held_at_once(order: list[Expr], size: Callable[[Expr], int] = lambda each: 1, known: Container[Expr] = ()) -> int:
    """The most columns (or bytes of a row) that are held at the same time while they are computed in this order.

    A fact of the plan: each column is dropped after its last use. What is ``known`` is not computed here.
    """
    uses = Counter(each for node in order if node not in known for each in set(node.inputs))
    held = most = 0
    for node in order:
        held += size(node)
        most = max(most, held)
        for each in set(node.inputs) if node not in known else ():
            uses[each] -= 1
            if not uses[each]:
                held -= size(each)
    return most
