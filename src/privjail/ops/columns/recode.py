"""map and replace: a public dictionary applied to each value."""

from __future__ import annotations

from typing import Any

from privjail.errors import PlanError
from privjail.ops.columns.carried import held_value
from privjail.ops.columns.compare import check_constant, held_constant, held_keys
from privjail.ops.columns.where import as_held, converted
from privjail.ops.polars_types import dtype_of
from privjail.plan.domain import CategoryDomain, Domain, IntDomain, domain_of, join
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_PAIRS = 100_000


@node
class Recode(Expr):
    """Each value that is a key becomes what the dictionary says; the rest is null (map) or kept (replace).

    Domain: the values that can come out: for a column with finitely many values just the images of
    those, else all values of the dictionary, joined with the input's domain if the rest is kept.
    """

    kind = "recode"
    a: Expr
    pairs: tuple[tuple[Lit, Lit], ...]
    keep: int

    def __post_init__(self) -> None:
        if len(self.pairs) > MOST_PAIRS:
            raise PlanError(f"a dictionary of more than {MOST_PAIRS} entries is not taken")
        for key, _ in self.pairs:
            check_constant(self.a.domain, key.value, "==")
        self.computed_from(self.a, domain=self._domain())

    def _domain(self) -> Domain:
        before = self.a.domain
        if isinstance(before, CategoryDomain):
            images = [image for image in self._images(before) if image is not None]
            nullable = before.nullable or len(images) < len(before.categories)
        else:
            images = [image.value for _, image in self.pairs if image.value is not None]
            nullable = before.nullable or not self.keep or any(v.value is None for _, v in self.pairs)
        if not images:
            return (before if self.keep else IntDomain(True, 0, 0)).with_nulls(True)
        domain = _joined(images)
        if self.keep and not isinstance(before, CategoryDomain):
            domain = join(before, domain)
        return domain.with_nulls(nullable)

    def _images(self, before: CategoryDomain) -> list[Any]:
        """What each category becomes."""
        table = {before.code(key.value): image.value for key, image in self.pairs}
        labels = before.categories
        return [table.get(i, label if self.keep else None) for i, label in enumerate(labels)]

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        before, after = self.a.domain, self.domain
        if isinstance(before, CategoryDomain):
            old: Any = list(range(len(before.categories)))
            new = [_held(v, after) for v in self._images(before)]
        else:
            held = held_keys(before, [key.value for key, _ in self.pairs])
            old = pl.Series(list(held), dtype=dtype_of(before))
            new = [_held(self.pairs[i][1].value, after) for i in held.values()]
        images = pl.Series(new, dtype=dtype_of(after), strict=False)
        if self.keep and not isinstance(before, CategoryDomain):
            rest = as_held(inputs[0], before, after)
            if not len(old):
                return rest
            hit = inputs[0].is_in(old.implode()).fill_null(False)
            mapped = inputs[0].replace_strict(old, images, default=None, return_dtype=dtype_of(after))
            return pl.when(hit).then(mapped).otherwise(rest)
        if not len(old):
            return pl.when(inputs[0].is_null() & inputs[0].is_not_null()).then(pl.lit(None, dtype=dtype_of(after)))
        return inputs[0].replace_strict(old, images, default=None, return_dtype=dtype_of(after))

    def python(self, *inputs: Any) -> Any:
        (x,), before, after = inputs, self.a.domain, self.domain
        if isinstance(before, CategoryDomain):
            image = self._images(before)[x]
        else:
            place = held_keys(before, [held_constant(key.value, before) for key, _ in self.pairs]).get(x)
            if place is None:
                return converted(x, before, after) if self.keep else None
            image = self.pairs[place][1].value
        return None if image is None else held_value(image, after)

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.{'replace' if self.keep else 'map'}({{{len(self.pairs)} pairs}})"


def _joined(values: list[Any]) -> Domain:
    domain = domain_of(values[0])
    if isinstance(domain, CategoryDomain):
        if not all(isinstance(v, str) for v in values):
            raise PlanError("a dictionary must not mix text with numbers")
        return CategoryDomain(False, tuple(dict.fromkeys(values)))
    for value in values[1:]:
        domain = join(domain, domain_of(value))
    return domain


def _held(value: Any, domain: Domain) -> Any:
    return domain.code(value) if isinstance(domain, CategoryDomain) and value is not None else value
