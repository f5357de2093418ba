"""Values: private numbers, and vectors of them with a public index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from privjail.errors import PlanError
from privjail.plan.cells import Cell
from privjail.plan.distance import Distance, Number, added, greatest, l1, l2_squared, sqrt_up
from privjail.plan.node import Node, inputs_first, set_frozen

ROWS_BITS = 32  # a table has fewer than 2**32 rows
TOTAL_BITS = 63  # so a sum of 30-bit amounts has fewer bits than this


class Sensitivity:
    """How far a vector can move as a whole, and each of its elements alone."""

    @property
    def size(self) -> int:
        raise TypeError

    def at(self, i: int) -> Distance:
        raise TypeError

    @property
    def l1(self) -> Number | None:
        raise TypeError

    @property
    def l2(self) -> Number | None:
        raise TypeError

    @property
    def linf(self) -> Number | None:
        raise TypeError

    def sum(self) -> Distance:
        raise TypeError

    def peak(self) -> Distance:
        raise TypeError


@dataclass(frozen=True, eq=False)
class PerElement(Sensitivity):
    """Elements with a distance each."""

    distances: tuple[Distance, ...]

    @property
    def size(self) -> int:
        return len(self.distances)

    def at(self, i: int) -> Distance:
        return self.distances[i]

    @cached_property
    def l1(self) -> Number | None:
        return l1(self.distances)

    @cached_property
    def l2(self) -> Number | None:
        square = l2_squared(self.distances)
        return None if square is None else sqrt_up(square)

    @cached_property
    def linf(self) -> Number | None:
        values = [d.value for d in self.distances]
        known = [v for v in values if v is not None]
        return max(known, default=0) if len(known) == len(values) else None

    def sum(self) -> Distance:
        return added(self.distances)

    def peak(self) -> Distance:
        return greatest(self.distances)


@dataclass(frozen=True, eq=False)
class OneMoves(Sensitivity):
    """Elements that exclude each other: one edit of the whole moves one element.

    The sum of all absolute changes is at most the whole's distance, so every norm is at most that, and
    it is reached when all edits fall on one element. ``element`` gives the distance of one alone. ``net``: how far
    any one element can move, and the sum of all: what comes in less what goes out.
    """

    length: int
    whole: Distance
    element: Any  # int -> Distance
    net: Distance

    @property
    def size(self) -> int:
        return self.length

    def at(self, i: int) -> Distance:
        found: Distance = self.element(i)
        return found

    @property
    def l1(self) -> Number | None:
        return self.whole.value

    l2 = l1

    @property
    def linf(self) -> Number | None:
        return self.net.value

    def sum(self) -> Distance:
        return self.net

    def peak(self) -> Distance:
        return self.net


@dataclass(frozen=True, eq=False)
class AllMove(Sensitivity):
    """Elements that can all move at once, each by up to the same distance."""

    length: int
    each: Distance

    @property
    def size(self) -> int:
        return self.length

    def at(self, i: int) -> Distance:
        return self.each

    @property
    def l1(self) -> Number | None:
        return None if self.each.value is None else self.each.value * self.size

    @property
    def l2(self) -> Number | None:
        return None if self.each.value is None else self.each.value * sqrt_up(self.size)

    @property
    def linf(self) -> Number | None:
        return self.each.value

    def sum(self) -> Distance:
        return self.each * self.size

    def peak(self) -> Distance:
        return self.each


@dataclass(frozen=True, eq=False)
class RowVectors(Sensitivity):
    """A sum of one vector for each row. One edit of the rows adds or removes one such vector.

    ``largest`` bounds the elements of one row's vector, ``norms`` bounds it in L1, L2 (squared) and L∞. Edits add up
    (triangle inequality), so each norm of the sum moves by at most the rows' distance times that bound.
    """

    rows: Distance
    largest: tuple[Number, ...]
    norms: tuple[Number, Number, Number]

    @property
    def size(self) -> int:
        return len(self.largest)

    def at(self, i: int) -> Distance:
        return self.rows * self.largest[i]

    def _times(self, norm: Number) -> Number | None:
        return (self.rows * norm).value

    @cached_property
    def l1(self) -> Number | None:
        return self._times(self.norms[0])

    @cached_property
    def l2(self) -> Number | None:
        return self._times(sqrt_up(self.norms[1]))

    @cached_property
    def linf(self) -> Number | None:
        return self._times(self.norms[2])

    def sum(self) -> Distance:
        return self.rows * self.norms[0]

    def peak(self) -> Distance:
        return self.rows * self.norms[2]


class Facts(NamedTuple):
    """How far a value can move, and where.

    ``cells``: the parts of the data that it depends on. ``has_constant_bound``: some part of its distance is a
    constant, not proportional to η. ``monotone``: adding a privacy unit moves all elements in the same direction
    (or none). ``single``: it moves at most one element.
    """

    joint: Sensitivity
    cells: tuple[Cell, ...]
    has_constant_bound: bool
    monotone: bool
    single: bool = False


class Value(Node):
    """Private numbers with a public shape. How far they move is derived when it is first asked for.

    What can be refused is refused when the node is built.
    """

    index: tuple[tuple[Any, ...], ...]  # () for a number, else the labels of each axis
    grid: Fraction  # every element is a whole multiple of it, whatever the data
    keyed: ClassVar[bool] = False  # which labels it has is private: only a mechanism for such values releases it
    answer_bytes: ClassVar[int] = 10  # of one element, in an answer on the wire
    _facts: ClassVar[Facts | None] = None

    def derive(self) -> Facts:
        """The facts, from those of the inputs."""
        raise TypeError(f"{type(self).__name__} has no rule for its distance")

    @property
    def facts(self) -> Facts:
        known = self._facts
        return self._derived() if known is None else known

    def _derived(self) -> Facts:
        for each in inputs_first(self.inputs, inputs_of, _has_facts):
            _need_labels(each.inputs)
            set_frozen(each, "_facts", each.derive())
        _need_labels(self.inputs)
        set_frozen(self, "_facts", self.derive())
        assert self._facts is not None
        return self._facts

    @property
    def joint(self) -> Sensitivity:
        return self.facts.joint

    @property
    def cells(self) -> tuple[Cell, ...]:
        return self.facts.cells

    @property
    def has_constant_bound(self) -> bool:
        return self.facts.has_constant_bound

    @property
    def monotone(self) -> bool:
        return self.facts.monotone

    @property
    def size(self) -> int:
        """How many numbers it is."""
        return prod(map(len, self.index))

    @property
    def whole(self) -> bool:
        """Whether the elements are whole numbers."""
        return self.grid.denominator == 1

    @property
    def distance(self) -> Distance:
        """Of a number: how far it can move. Of a vector: its largest element's."""
        return self.joint.at(0) if not self.index else self.joint.peak()

    @staticmethod
    def inherit(inputs: Sequence[Value], joint: Sensitivity) -> Facts:
        """The facts of a value that is computed from others."""
        cells: dict[Cell, None] = {}
        has_constant_bound = False
        for each in inputs:
            facts = each.facts
            cells.update(dict.fromkeys(facts.cells))
            has_constant_bound = has_constant_bound or facts.has_constant_bound
        return Facts(joint, tuple(cells), has_constant_bound, monotone=False)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that this one is computed from."""
        return ()

    def compute(self, *inputs: Any) -> Any:
        """Exact integers in units of ``grid`` (one, or a flat list), from the engine's exact inputs."""
        raise TypeError(f"{type(self).__name__} has no rule")

    filling_bytes: ClassVar[int] = 0  # for each element, while the engine fills it

    def number_bits(self, inputs: Sequence[tuple[Value, int]]) -> int:
        """How long its elements can get, in units of its grid, given its inputs and how long theirs can get.

        The default suits a sum of two numbers on the common grid, and counts and sums of an engine.
        """
        return 1 + max([bits + finer_bits(each.grid, self.grid) for each, bits in inputs]) if inputs else TOTAL_BITS

    def text(self) -> str:
        raise TypeError(f"{type(self).__name__} has no text")

    def spell_out(self) -> str:
        return self.text()

    def __str__(self) -> str:
        return self.shown()


def _need_labels(inputs: Sequence[Value]) -> None:
    """Refuse to compute with counts of private keys: nothing says which element is which."""
    if any([each.keyed for each in inputs]):
        raise PlanError("counts of private keys are released as they are, and computed with afterwards")


inputs_of, _has_facts = attrgetter("inputs"), attrgetter("_facts")  # run in C; the walk calls them at every step


def evaluation(value: Value) -> list[tuple[Value, list[Value]]]:
    """The steps in which a value is computed, inputs first; with each, the inputs that no later step uses.

    The engine drops those at once. So which values are held at the same time depends on the plan alone.
    """
    if not value.inputs:
        return [(value, [])]
    steps: list[tuple[Value, list[Value]]] = []
    used: set[Value] = set()
    for node in reversed(list(inputs_first((value,), inputs_of))):  # backwards, the first use is the last one
        free: list[Value] = []
        for each in node.inputs:
            if each not in used:
                used.add(each)
                free.append(each)
        steps.append((node, free))
    return steps[::-1]


def finer_bits(coarse: Fraction, fine: Fraction) -> int:
    """How many bits longer numbers get at most, in units of a finer grid."""
    return 0 if coarse is fine or coarse == fine else coarse.numerator.bit_length() + fine.denominator.bit_length()


def common_grid(grids: Sequence[Fraction]) -> Fraction:
    """The coarsest grid on which all given grids lie."""
    first = grids[0]
    for each in grids:
        if each is not first and each != first:
            break
    else:
        return first
    from math import gcd, lcm

    grids = list(dict.fromkeys(grids))
    bottom = lcm(*(g.denominator for g in grids))
    return Fraction(gcd(*(g.numerator * (bottom // g.denominator) for g in grids)), bottom)
