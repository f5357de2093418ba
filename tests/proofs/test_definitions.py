"""The definitions that the theorems are about, run inside Coq and compared with the code that is shipped.

A theorem about another function would prove nothing. So the definitions of proofs/ are computed by Coq on random inputs,
and must give what the engine, ops/rows/slice.py, plan/cells.py, budget/ledger.py and tests/tables.py give.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
from fractions import Fraction

import pytest

from privjail.budget.ledger import CostTree
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.carried import Carried
from privjail.ops.columns.isin import IsNull
from privjail.ops.columns.logic import Not
from privjail.ops.numbers.quantile_scores import QuantileScores
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.filter import Filter
from privjail.ops.rows.group_head import GroupHead
from privjail.ops.rows.lookup import Lookup
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.sample import Sample
from privjail.ops.rows.slice import Slice, ends_of_chain, goes_out, width
from privjail.ops.rows.sort import Sort
from privjail.ops.rows.window import Lag, Window
from privjail.plan.cells import Cell, charged
from privjail.plan.domain import IntDomain
from privjail.plan.node import Lit

from ..ops.checking import carried, table
from ..ops.people import Part, People
from ..tables import World, edits

# A column with ties and nulls, and one that tells every row from the others.
WORLD = World((("x", IntDomain(True, 0, 2)), ("y", IntDomain(False, 0, 9))), ())
X, Y = WORLD.column("x"), WORLD.column("y")
BOUNDS = (None, 0, 1, 2, 3, -1, -2, -3)
dice = random.Random(20240229)
TABLES = [tuple((dice.choice((None, 0, 1, 2)), i) for i in range(n)) for n in (0, 1, 2, 3, 5, 6, 7, 8, 9, 9)]

PRELUDE = """
From Coq Require Import List ZArith QArith Bool Lia.
From PrivJail Require People Samples.
From PrivJail Require Import Distance Rows Slices Chains Windows Groups Values Cells Budget.
Import ListNotations.
Set Printing Depth 1000000.
Set Printing Width 200.
Open Scope Z_scope.
Definition row : Type := option Z * Z.
Definition rising (a b : row) : bool :=
  match fst a, fst b with Some x, Some y => x <=? y | Some _, None => true | None, Some _ => false | None, None => true end.
Definition falling (a b : row) : bool :=
  match fst a, fst b with Some x, Some y => y <=? x | Some _, None => true | None, Some _ => false | None, None => true end.
Definition is_1 (a : row) : bool := match fst a with Some x => x =? 1 | None => false end.
Definition ids (l : list row) : list Z := map snd l.
Definition number (n : option nat) : Z := match n with Some k => Z.of_nat k | None => -1 end.
Definition visit : Type := Z * Z * Z.  (* whose it is, a key, its number *)
Definition whose (v : visit) : option Z := Some (fst (fst v)).
Definition equal_keys (a b : visit) : bool := snd (fst a) =? snd (fst b).
Definition any_keys (a b : visit) : bool := true.
Definition or_none (v : option Z) : Z := match v with Some n => n | None => -1 end.
Definition both (p : visit * option visit) : list Z := [snd (fst p); or_none (option_map snd (snd p))].
Definition ratio (q : Q) : list Z := [Qnum (Qred q); Z.pos (Qden (Qred q))].
"""


def coq(value):
    """A Python value as Coq writes it."""
    match value:
        case None:
            return "None"
        case int():
            return f"({value})"
        case Fraction():
            return f"({value.numerator} # {value.denominator})%Q"
        case list():
            return f"[{'; '.join(map(coq, value))}]"
        case tuple():
            return f"({', '.join(map(coq, value))})"
        case str():
            return value
    raise TypeError(value)


def rows(data):
    return coq([(f"Some ({x})" if x is not None else "None", y) for x, y in data])


def bound(z):
    return "None" if z is None else f"(Some ({z}))"


@pytest.fixture(scope="module")
def compute(checked, tmp_path_factory):
    """Coq computes a list of expressions, each a list of whole numbers or a list of such lists."""
    folder = tmp_path_factory.mktemp("definitions")

    def run(expressions):
        text = PRELUDE + "".join(f"Eval vm_compute in ({each}).\n" for each in expressions)
        (folder / "Run.v").write_text(text, encoding="utf-8")
        command = ["coqc", "-q", "-Q", str(checked), "PrivJail", str(folder / "Run.v")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        found = re.findall(r"= (.*?)\n\s+: ", done.stdout, re.S)
        assert len(found) == len(expressions), done.stdout
        return [ast.literal_eval(" ".join(each.split()).replace(";", ",").replace("%nat", "")) for each in found]

    return run


def shown(plan, data):
    """The rows that the engine gives, by the column that tells them apart."""
    return [y for (y,) in table(plan, [carried(plan, Y)], data)]


def sights(before, after, data):
    """For each row: what it sees above it, the nearest first, and itself with what it sees below it."""
    window = Window(WORLD.source, before, after)
    lags = [Lag(window, Y, k) for k in (*range(1, before + 1), *range(0, -after - 1, -1))]
    return [[v for v in line if v is not None] for line in table(window, lags, data)]


def test_the_definitions_are_what_the_code_computes(compute):
    """One test, so that the definitions are compiled once."""
    source = WORLD.source
    cases = []  # (expression for Coq, what the code says)
    for data in TABLES:
        t = rows(data)
        cases.append((f"ids (filter is_1 {t})", shown(Filter(source, Compare("==", X, Lit.of(1))), data)))
        cases.append((f"ids (dropna [@fst (option Z) Z] {t})", shown(Filter(source, Not(IsNull(X))), data)))
        for way, order in enumerate(("rising", "falling")):
            cases.append((f"ids (stable_sort {order} {t})", shown(Sort(source, (X,), (way,)), data)))
        for k in (1, 2):
            cases.append(
                (f"ids (group_head Z.eq_dec (@fst (option Z) Z) {k} {t})", shown(GroupHead(source, X, k), data))
            )
        for before, after in ((0, 0), (1, 0), (0, 2), (2, 1)):
            view = f"map (fun v => ids (fst v) ++ ids (snd v)) (windows {before} {after} {t})"
            cases.append((view, sights(before, after, data)))
    for data in TABLES[:6]:
        for a in BOUNDS:
            got = [shown(Slice(source, a, b), data) for b in BOUNDS]
            each = "; ".join(f"ids (slice {bound(a)} {bound(b)} {rows(data)})" for b in BOUNDS)
            cases.append((f"[{each}]", got))
    for expression, expected, got in zip(*zip(*cases, strict=True), compute([c for c, _ in cases]), strict=True):
        assert got == expected, expression


def test_the_rules_are_what_the_code_claims(compute):
    pairs = [(a, b) for a in BOUNDS for b in BOUNDS]
    factors = "; ".join(f"Z.of_nat (moves {bound(a)} {bound(b)})" for a, b in pairs)
    widths = "; ".join(f"number (width {bound(a)} {bound(b)})" for a, b in pairs)
    chains = [(p, q) for p in pairs[::3] for q in pairs[::5]]
    each = (f"[({bound(a)}, {bound(b)}); ({bound(c)}, {bound(d)})]" for (a, b), (c, d) in chains)
    joined = "; ".join(f"Z.of_nat (leaves (ends_of_chain {chain}))" for chain in each)
    tables = [
        ([dice.randrange(3) for _ in range(dice.randrange(7))], [dice.randrange(3) for _ in range(dice.randrange(7))])
        for _ in range(200)
    ]
    apart = "; ".join(f"Z.of_nat (edits Z.eq_dec {coq(left)} {coq(right)})" for left, right in tables)

    got = compute([f"[{factors}]", f"[{widths}]", f"[{joined}]", f"[{apart}]"])

    assert got[0] == [1 + goes_out(ends_of_chain([pair])) for pair in pairs]
    assert got[1] == [-1 if width(a, b) is None else width(a, b) for a, b in pairs]
    assert got[2] == [goes_out(ends_of_chain(chain)) for chain in chains]
    assert got[3] == [edits(left, right) for left, right in tables]


def test_the_scores_of_candidates_are_those_of_the_code(compute):
    candidates, expected, asked = (0, 1, 2, 3), [], []
    for _ in range(30):
        values = [dice.randrange(4) for _ in range(dice.randrange(8))]
        below, above, target = dice.randrange(4), dice.randrange(4), dice.randrange(-3, 4)
        node = QuantileScores(
            WORLD.source, Y, tuple(map(Lit.of, candidates)), Fraction(below, 3), Fraction(above, 3), Fraction(target, 3)
        )
        fewer = [sum(v < c for v in values) for c in candidates]
        more = [sum(v > c for v in values) for c in candidates]
        expected.append([Fraction(s) * node.grid * 3 for s in node.scores(fewer, more, len(values))])
        asked.append(f"map (score (fun v : Z => v) {below} {above} ({target}) {coq(values)}) {coq(list(candidates))}")

    assert compute(asked) == expected


# Three tables about the same persons: visits and notes, with a key and a number, and at most one row of each as a patient.
WHO, KEY, NUMBER = IntDomain(False, 0, 3), IntDomain(False, 0, 1), IntDomain(False, 0, 99)
SHAPE = (("who", WHO), ("key", KEY), ("number", NUMBER))
VISITS, NOTES, PATIENTS = (
    Part("visits", SHAPE, ()),
    Part("notes", SHAPE, (), most=9),
    Part("patients", SHAPE, (), most=1),
)
CLINIC = People((VISITS, NOTES, PATIENTS))


def _visits(n, owners):
    return tuple((who, dice.randrange(2), i) for i, who in zip(range(n), owners, strict=False))


def _paired(keys, how, database):
    mine, theirs = (tuple(map(part.column, keys)) for part in (VISITS, NOTES))
    pairs = Pairs(VISITS.source, mine, NOTES.source, theirs, how)
    columns = (Carried(pairs, VISITS.column("number")), Paired(pairs, NOTES.column("number")))
    return [[a, -1 if b is None else b] for a, b in CLINIC.table(pairs, columns, database)]


def test_the_definitions_for_persons_are_what_the_code_computes(compute):
    """Joins, look-ups, tables below each other and one row per person."""
    cases = []
    number, persons = VISITS.column("number"), PerPerson(VISITS.source, VISITS.column("who"))
    found = Lookup((VISITS.column("who"),), PATIENTS.source, (PATIENTS.column("who"),), PATIENTS.column("number"))
    below = Append(VISITS.source, NOTES.source)
    told = (persons.owner(), Aggregate(persons, "size", None), Aggregate(persons, "sum", number))
    for n in (0, 1, 3, 5, 8, 8):
        visits, notes = (_visits(k, [dice.randrange(4) for _ in range(k)]) for k in (n, dice.randrange(7)))
        database = (visits, notes, _visits(4, dice.sample(range(4), dice.randrange(5))))
        v, m, p = (f"({coq(list(each))} : list visit)" for each in database)
        for keys, agree in ((("who",), "any_keys"), (("who", "key"), "equal_keys")):
            for how, left in (("inner", "false"), ("left", "true")):
                made = f"map both (People.pairs Z.eq_dec whose whose {agree} {left} {v} {m})"
                cases.append((made, _paired(keys, how, database)))
        joined = f"map (fun p => [snd (fst p); snd (snd p)]) (join Z.eq_dec whose whose {v} {m})"
        cases.append((joined, _paired(("who",), "inner", database)))
        looked = f"map (fun p => [snd (fst p); or_none (snd p)]) (People.with_column Z.eq_dec whose whose any_keys snd {v} {p})"
        seen = CLINIC.table(VISITS.source, (number, found), database)
        cases.append((looked, [[a, -1 if b is None else b] for a, b in seen]))
        all_rows = CLINIC.table(below, (Appended(below, number, NOTES.column("number")),), database)
        cases.append((f"map snd ({v} ++ {m})", [a for (a,) in all_rows]))
        sums = "(fun _ rows => [Z.of_nat (length rows); fold_right Z.add 0 (map snd rows)])"
        cases.append((f"map (fun p => fst p :: snd p) (aggregate Z.eq_dec whose {sums} {v})",
                      [list(each) for each in CLINIC.table(persons, told, database)]))  # fmt: skip
    for expression, expected, got in zip(*zip(*cases, strict=True), compute([c for c, _ in cases]), strict=True):
        assert got == expected, expression


def test_a_sample_is_the_rows_whose_coins_say_so_in_their_order(compute):
    """The coins are those that the engine must have thrown: the rows that came are the sample by these, in this order."""
    asked, expected = [], []
    for i, data in enumerate(TABLES):
        came = shown(Sample(WORLD.source, Fraction(1, 2), f"draw {i}"), data)
        coins = [(y, "true" if y in came else "false") for _, y in data]
        asked.append(f"Samples.sample ({coq(coins)} : list (Z * bool))")
        expected.append(came)

    assert compute(asked) == expected


def _steps(most):
    return [(dice.randrange(2), dice.randrange(2)) for _ in range(dice.randrange(most + 1))]


def test_the_cost_of_charges_is_that_of_the_ledger(compute):
    asked, expected = [], []
    for _ in range(60):
        charges = [(_steps(3), Fraction(dice.randrange(1, 9), dice.randrange(1, 5))) for _ in range(dice.randrange(9))]
        tree = CostTree((Fraction(0),))
        for address, amount in charges:
            tree.add(tuple((str(g), str(k)) for g, k in address), (amount,))
        expected.append([tree.total[0].numerator, tree.total[0].denominator])
        asked.append(f"ratio (ledger_cost Z.eq_dec Z.eq_dec ({coq(charges)} : list (list (Z * Z) * Q)))")

    assert compute(asked) == expected


def test_a_release_is_charged_where_the_code_charges_it(compute):
    asked, expected = [], []
    for _ in range(60):
        touched = [_steps(3) for _ in range(dice.randrange(1, 5))]
        cells = {_cell(steps): steps for steps in touched}
        expected.append(sorted(_address(cell) for cell in charged(cells)))
        asked.append(
            "map (fun c => flat_map (fun s => [fst s; snd s]) c) "
            f"(charged Z.eq_dec Z.eq_dec 4 ({coq(touched)} : list (list (Z * Z))))"
        )

    assert [sorted(each) for each in compute(asked)] == expected


def _cell(steps):
    cell = Cell(None, "charged", "charged")
    for g, k in steps:
        cell = Cell(cell, str(g), Lit.of(k))
    return cell


def _address(cell):
    return [n for step in cell.path()[1:] for n in (int(step.partition), step.key.value)]
