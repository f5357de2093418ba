"""Distances against linear programming, vertex enumeration and random points."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privjail.ops.rows.source import Unit
from privjail.plan import distance as module
from privjail.plan.cells import Cell
from privjail.plan.distance import UNBOUNDED, Distance, few_vertices, greatest, l1, l2_squared, sqrt_up

from .trees import at, brute, inside, lp, new_source, random_form, random_tree, vertices


@pytest.mark.parametrize("seed", range(10))
def test_a_linear_form_is_worth_what_the_linear_programme_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        cells = random_tree(rng)
        form = random_form(rng, cells, 8)
        assert float(form.value) == pytest.approx(lp(form.terms, cells), abs=1e-9)


def test_forms_over_several_data_sets_add_up() -> None:
    rng = random.Random(1)
    for _ in range(150):
        cells = [c for _ in range(rng.randrange(2, 4)) for c in random_tree(rng, most=6)]
        form = random_form(rng, cells, 8)
        assert float(form.value) == pytest.approx(lp(form.terms, cells), abs=1e-9)


def _random_peaks(rng: random.Random, cells: list[Cell]) -> Distance:
    total = random_form(rng, cells, 2) + Distance(rng.choice([0, 0, 2]))
    for _ in range(rng.randrange(1, 3)):
        forms = [random_form(rng, cells, 3) for _ in range(rng.randrange(2, 4))]
        if rng.random() < 0.3:  # a maximum of maxima
            forms.append(greatest([random_form(rng, cells, 2), random_form(rng, cells, 2)]))
        total = total + greatest(forms) * rng.choice([1, 2, Fraction(1, 2)])
    return total


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_maxima_are_exact_where_the_vertices_are_few(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        cells = [c for _ in range(rng.choice([1, 1, 2])) for c in random_tree(rng, most=8)]
        d = _random_peaks(rng, cells)
        assert few_vertices(d.cells()) is not None
        assert float(d.value) == pytest.approx(brute(d, cells), abs=1e-9)


def test_sums_of_maxima_are_never_too_small_where_the_vertices_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VERTICES", 0)
    rng, looser = random.Random(3), 0
    for _ in range(80):
        cells = random_tree(rng, most=8)
        d = _random_peaks(rng, cells)
        true = brute(d, cells)
        assert float(d.value) >= true - 1e-9
        looser += float(d.value) > true + 1e-9
    assert looser  # so the fallback was really the one that ran


@pytest.mark.parametrize("seed", range(4))
def test_norms_are_those_of_the_worst_vertex(seed: int) -> None:
    """Against all vertices, found from the constraints; a rule that took elements one by one would fail."""
    rng = random.Random(seed)
    for _ in range(12):
        cells = random_tree(rng, most=5)
        corners = [dict(zip(cells, point, strict=True)) for point in vertices(cells)]
        simple = [random_form(rng, cells, 1) for _ in range(rng.randrange(1, 6))]
        mixed = [*simple, random_form(rng, cells, 3), _random_peaks(rng, cells)]
        for forms in (simple, mixed):
            assert float(l1(forms)) == pytest.approx(max(sum(at(d, eta) for d in forms) for eta in corners))
            squares = max(sum(at(d, eta) ** 2 for d in forms) for eta in corners)
            assert float(l2_squared(forms)) == pytest.approx(squares)


@pytest.mark.parametrize("limit", [4096, 0])
def test_no_point_of_the_polytope_is_further_than_claimed(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(module, "VERTICES", limit)
    rng = random.Random(9)
    for _ in range(150):
        cells = [c for _ in range(rng.choice([1, 2])) for c in random_tree(rng, most=10)]
        forms = [random_form(rng, cells, 3) for _ in range(3)] + [_random_peaks(rng, cells)]
        sums, squares = float(l1(forms)), float(l2_squared(forms))
        for _ in range(10):
            eta = inside(rng, cells)
            changes = [at(d, eta) for d in forms]
            assert sum(changes) <= sums + 1e-9
            assert sum(x * x for x in changes) <= squares + 1e-6
            assert all(x <= float(d.value) + 1e-9 for x, d in zip(changes, forms, strict=True))


def test_vertices_are_the_leaves_of_one_chain_and_the_products_of_several() -> None:
    source = new_source()
    root = source.cells[0]
    rng = random.Random(2)
    for _ in range(40):
        cells = random_tree(rng, most=6)
        true = {frozenset(c for c, x in zip(cells, p, strict=True) if x > 0.5) for p in vertices(cells)}
        ours = set(few_vertices(set(cells)) or [])
        # Only vertices that no other exceeds matter, because coefficients are ≥ 0.
        assert ours == {v for v in true if not any(v < w for w in true)}
    assert few_vertices({root}) == [frozenset({root})]


def test_too_many_vertices_are_not_listed() -> None:
    source = new_source(13)
    root = source.cells[0]
    from privjail.ops.rows.source import Column
    from privjail.plan.cells import Partition
    from privjail.plan.node import Lit

    def cells(n: int) -> set[Cell]:
        return {Cell(root, Partition(source, Column(source, f"c{i}")), Lit.of(k)) for i in range(n) for k in (0, 1)}

    assert len(few_vertices(cells(12)) or []) == 4096
    assert few_vertices(cells(13)) is None


def test_constants_and_the_unbounded() -> None:
    root = new_source().cells[0]
    assert Distance(4).value == 4
    assert (Distance(4) + Distance(0, {root: 2})).value == 6
    assert UNBOUNDED.value is None and (UNBOUNDED + Distance(1)).value is None
    assert (UNBOUNDED * 0).value == 0 and (UNBOUNDED * 3).value is None
    assert greatest([Distance(1), UNBOUNDED]).value is None
    assert l1([Distance(1), UNBOUNDED]) is None and l2_squared([UNBOUNDED]) is None
    assert greatest([]).value == 0 and l1([]) == 0 and l2_squared([]) == 0
    assert l2_squared([Distance(3), Distance(0, {root: 4})]) == 25
    with pytest.raises(ValueError):
        Distance(1) * -1


def test_a_user_with_many_rows_counts_that_often() -> None:
    assert new_source(unit=Unit("c0", 5)).distance.value == 5
    assert new_source(unit=Unit("c0", None)).distance.value is None


@given(st.fractions(min_value=0, max_value=10**9), st.integers(-200, 200))
def test_square_roots_are_rounded_up_and_by_little(x: Fraction, exponent: int) -> None:
    x = x * Fraction(2) ** exponent
    root = sqrt_up(x)
    assert root * root >= x
    assert root * root <= x * (1 + Fraction(1, 2**60))  # a root rounded at a fixed place fails this for small x


@given(st.fractions(min_value=0, max_value=10**6))
def test_rational_square_roots_are_exact(x: Fraction) -> None:
    assert sqrt_up(x * x) == x
