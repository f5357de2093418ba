"""Arithmetic on private numbers and vectors: what keeps a known distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import add
from typing import Any

from privjail.errors import PlanError
from privjail.plan.distance import Distance, Number, show
from privjail.plan.node import LONGEST, Node, node, set_frozen
from privjail.plan.value import AllMove, Facts, OneMoves, PerElement, RowVectors, Sensitivity, Value, common_grid

SHOWN = 4  # elements of a vector, in its text


def _same_shape(first: Value, *values: Value) -> None:
    index = first.index
    for each in values:
        if each.index is not index and each.index != index:
            raise PlanError("private vectors are combined only if they have the same index")


@node
class Add(Value):
    """a + b. Distance: the sum, element by element (not the sum of the maxima: cells are shared)."""

    kind = "add"
    a: Value
    b: Value

    def __post_init__(self) -> None:
        _same_shape(self.a, self.b)
        set_frozen(self, "index", self.a.index)
        set_frozen(self, "grid", common_grid((self.a.grid, self.b.grid)))

    def derive(self) -> Facts:
        return self.inherit((self.a, self.b), _added(self.a.joint, self.b.joint))

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a, self.b)

    def compute(self, *inputs: Any) -> Any:
        left, right = _on(inputs[0], self.a.grid, self.grid), _on(inputs[1], self.b.grid, self.grid)
        if isinstance(left, list):
            return [x + y for x, y in zip(left, right, strict=True)]
        return left + right

    def text(self) -> str:
        first = str(self.a)
        return f"({first} + {'…' if len(first) >= LONGEST else self.b})"

    def quotes(self) -> Iterator[Node]:
        yield self.a
        if len(self.a.shown()) < LONGEST:
            yield self.b


@node
class Scale(Value):
    """a·c for a public c. Distance: |c| times as far."""

    kind = "scale"
    a: Value
    c: Fraction

    def __post_init__(self) -> None:
        if max(abs(self.c.numerator), self.c.denominator).bit_length() > 2100:
            raise PlanError("the factor is too large or too fine")
        self.fact(index=self.a.index, grid=self.a.grid * abs(self.c) if self.c else Fraction(1))

    def derive(self) -> Facts:
        return self.a.facts._replace(joint=_scaled(self.a.joint, abs(self.c)))

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        sign = (self.c > 0) - (self.c < 0)
        return [x * sign for x in inputs[0]] if isinstance(inputs[0], list) else inputs[0] * sign

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return inputs[0][1]

    def text(self) -> str:
        return f"({self.a} * {show(self.c)})"


@node
class Offset(Value):
    """a + c for a public number c. Distance: kept."""

    kind = "offset"
    a: Value
    c: Fraction

    def __post_init__(self) -> None:
        if max(abs(self.c.numerator), self.c.denominator).bit_length() > 2100:
            raise PlanError("the number is too large or too fine")
        self.fact(index=self.a.index, grid=common_grid((self.a.grid, self.c)) if self.c else self.a.grid)

    def derive(self) -> Facts:
        return self.a.facts

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        moved = _on(inputs[0], self.a.grid, self.grid)
        step = int(self.c / self.grid)
        return [x + step for x in moved] if isinstance(moved, list) else moved + step

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return max(super().number_bits(inputs), 1 + self.c.numerator.bit_length() + self.grid.denominator.bit_length())

    def text(self) -> str:
        return f"({self.a} + {show(self.c)})"


@node
class Absolute(Value):
    """|a|. Distance: kept (||x| - |y|| ≤ |x - y|). Monotone if at most one element moves.

    What is known of the sum of all elements is not kept: where one element falls and another rises, their sum moves by
    the difference, but both absolute values may fall.
    """

    kind = "absolute"
    a: Value

    def __post_init__(self) -> None:
        self.fact(index=self.a.index, grid=self.a.grid)

    def derive(self) -> Facts:
        joint = self.a.facts.joint
        if isinstance(joint, OneMoves):
            joint = replace(joint, net=joint.whole)
        return self.a.facts._replace(joint=joint, monotone=self.a.facts.single)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        return [abs(x) for x in inputs[0]] if isinstance(inputs[0], list) else abs(inputs[0])

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return inputs[0][1]

    def text(self) -> str:
        return f"abs({self.a})"


@node
class Element(Value):
    """One element of a vector."""

    kind = "element"
    a: Value
    i: int

    def __post_init__(self) -> None:
        need_vector(self.a)
        if not 0 <= self.i < self.a.size:
            raise PlanError("no such element")
        self.fact(index=(), grid=self.a.grid)

    def derive(self) -> Facts:
        a = self.a.facts
        alone = a.joint.at(self.i)
        return a._replace(joint=PerElement((alone,)), cells=a.cells if a.has_constant_bound else tuple(alone.cells()))

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        return inputs[0][self.i]

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return inputs[0][1]

    def text(self) -> str:
        return f"{self.a}[{self.i}]"


@node
class Stack(Value):
    """Several private numbers as one vector with public labels."""

    kind = "stack"
    elements: tuple[Value, ...]
    labels: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.elements or len(self.labels) != len(self.elements):
            raise PlanError("a vector needs at least one element, and a label for each")
        if any(v.index for v in self.elements):
            raise PlanError("a vector is made of private numbers, not of vectors")
        self.fact(index=(self.labels,), grid=common_grid([v.grid for v in self.elements]))

    def derive(self) -> Facts:
        return self.inherit(self.elements, PerElement(tuple([v.joint.at(0) for v in self.elements])))

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.elements

    def compute(self, *inputs: Any) -> Any:
        return [_on(v, each.grid, self.grid) for v, each in zip(inputs, self.elements, strict=True)]

    def text(self) -> str:
        return _listed(self.elements)

    def quotes(self) -> Iterator[Node]:
        return iter(self.elements[:SHOWN])


@node
class ColumnStack(Value):
    """Several vectors with the same index as the columns of one table. Distance: of all elements together."""

    kind = "column_stack"
    vectors: tuple[Value, ...]
    labels: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.vectors or len(self.labels) != len(self.vectors):
            raise PlanError("a table needs at least one column, and a label for each")
        need_vector(self.vectors[0])
        _same_shape(*self.vectors)
        index = (*self.vectors[0].index, self.labels)
        self.fact(index=index, grid=common_grid([v.grid for v in self.vectors]))

    def derive(self) -> Facts:
        joints, rows = [v.joint for v in self.vectors], range(self.vectors[0].size)
        return self.inherit(self.vectors, PerElement(tuple([joint.at(i) for i in rows for joint in joints])))

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.vectors

    def compute(self, *inputs: Any) -> Any:
        columns = [_on(v, each.grid, self.grid) for v, each in zip(inputs, self.vectors, strict=True)]
        return [x for row in zip(*columns, strict=True) for x in row]

    def text(self) -> str:
        return _listed(self.vectors)

    def quotes(self) -> Iterator[Node]:
        return iter(self.vectors[:SHOWN])


@node
class Total(Value):
    """The sum of a vector's elements. Distance: that of all elements together."""

    kind = "total"
    a: Value

    def __post_init__(self) -> None:
        need_vector(self.a)
        self.fact(index=(), grid=self.a.grid)

    def derive(self) -> Facts:
        joint, cells, has_constant_bound, monotone, _ = self.a.facts
        return Facts(PerElement((joint.sum(),)), cells, has_constant_bound, monotone)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        return sum(inputs[0])

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return inputs[0][1] + self.a.size.bit_length()

    def text(self) -> str:
        return f"{self.a}.sum()"


@node
class Extreme(Value):
    """The largest or smallest element. Distance: the largest of the elements' distances."""

    kind = "extreme"
    which: str
    a: Value

    def __post_init__(self) -> None:
        if self.which not in ("max", "min") or not self.a.index or not all(self.a.index):
            raise PlanError(f"no {self.which} of this")
        set_frozen(self, "index", ())
        set_frozen(self, "grid", self.a.grid)

    def derive(self) -> Facts:
        joint, cells, has_constant_bound, monotone, _ = self.a.facts
        return Facts(PerElement((joint.peak(),)), cells, has_constant_bound, monotone)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return (self.a,)

    def compute(self, *inputs: Any) -> Any:
        return (max if self.which == "max" else min)(inputs[0])

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return inputs[0][1]

    def text(self) -> str:
        return f"{self.a}.{self.which}()"


@node
class PublicNumber(Value):
    """A public number among private ones. Distance: none."""

    kind = "public_number"
    c: Fraction

    def __post_init__(self) -> None:
        self.fact(index=(), grid=abs(self.c) or Fraction(1))

    def derive(self) -> Facts:
        return Facts(PerElement((Distance(),)), cells=(), has_constant_bound=False, monotone=True)

    def compute(self, *inputs: Any) -> Any:
        return (self.c > 0) - (self.c < 0)

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        return 1

    def text(self) -> str:
        return f"{show(self.c)}"


def need_vector(value: Value) -> None:
    """Refuse, before anything is charged, what only a vector has."""
    if not value.index:
        raise PlanError("a single private number has no elements", do="use the number itself")


def _listed(values: tuple[Value, ...]) -> str:
    """The first few by their texts: a longer text would be cut anyway."""
    shown = ", ".join(map(str, values[:SHOWN]))
    return f"[{shown}]" if len(values) <= SHOWN else f"[{shown}, … {len(values) - SHOWN} more]"


def _on(amount: Any, grid: Fraction, finer: Fraction) -> Any:
    """Whole numbers in units of one grid, in units of a finer one."""
    if grid is finer:
        return amount
    step = int(grid / finer)
    return [x * step for x in amount] if isinstance(amount, list) else amount * step


def _scaled(joint: Sensitivity, size: Fraction) -> Sensitivity:
    match joint:
        case OneMoves(n, whole, element, net):
            return OneMoves(n, whole * size, lambda i: element(i) * size, net * size)
        case AllMove(n, each):
            return AllMove(n, each * size)
        case RowVectors(rows, largest, norms):
            return RowVectors(rows, tuple(x * size for x in largest), _norms_times(norms, size))
    return PerElement(tuple(joint.at(i) * size for i in range(joint.size)))


def _norms_times(norms: tuple[Number, Number, Number], size: Number) -> tuple[Number, Number, Number]:
    """Of L1, L2 squared and L∞."""
    return norms[0] * size, norms[1] * size * size, norms[2] * size


def _added(a: Sensitivity, b: Sensitivity) -> Sensitivity:
    if isinstance(a, PerElement) and isinstance(b, PerElement):
        return PerElement(tuple(map(add, a.distances, b.distances)))
    if isinstance(a, OneMoves) and isinstance(b, OneMoves) and _same_terms(a.whole, b.whole):
        whole = a.whole + b.whole
        net = whole if a.net is a.whole and b.net is b.whole else a.net + b.net
        return OneMoves(a.size, whole, lambda i: a.at(i) + b.at(i), net)
    if isinstance(a, AllMove) and isinstance(b, AllMove):
        return AllMove(a.size, a.each + b.each)
    return PerElement(tuple(a.at(i) + b.at(i) for i in range(a.size)))


def _same_terms(a: Distance, b: Distance) -> bool:
    return a.terms.keys() == b.terms.keys() and not a.maxima and not b.maxima
