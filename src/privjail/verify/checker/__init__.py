"""An independent checker of certificates: each claim must follow from the claims of the node's inputs.

It shares no code with the library that made them. What it does not know it cannot check, and says so.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privjail.verify.checker.columns import Col, checked, read, widened
from privjail.verify.checker.costs import charged, least_cost, noise_fits, norm
from privjail.verify.checker.forms import CannotCheck, Cell, Wrong, largest
from privjail.verify.checker.tables import Table, Vec, rows_of, vector

ROWS = ("source", "filter", "sort", "slice", "group_head", "window")


@dataclass
class Report:
    """The verdict; where a claim is wrong or cannot be checked; where a claim is larger than it need be."""

    verdict: str = "ok"
    problems: list[str] = field(default_factory=list)
    larger: list[str] = field(default_factory=list)


def check(certificate: Any) -> Report:
    """Check a certificate: "ok", "refuted" or "cannot check"."""
    checking = _Checking()
    try:
        checking.all(certificate)
    except Wrong as e:
        checking.report.verdict = "refuted"
        checking.report.problems.append(f"{checking.at}: {e}")
    except CannotCheck as e:
        checking.report.verdict = "cannot check"
        checking.report.problems.append(f"{checking.at}: {e}")
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError) as e:
        checking.report.verdict = "cannot check"
        checking.report.problems.append(f"{checking.at}: malformed ({type(e).__name__})")
    return checking.report


def _number(x: Any) -> Fraction | None:
    return None if x is None else Fraction(x)


class _Checking:
    def __init__(self) -> None:
        self.report, self.at = Report(), "certificate"
        self.facts: list[Any] = []

    def all(self, c: dict[str, Any]) -> None:
        if c["privjail certificate"] != 1:
            raise CannotCheck("another version")
        self.sets, self.raw_cells = c["data sets"], c["cells"]
        for each in self.sets:
            public = {"columns": each["columns"], "unit": each["unit"]}
            if hashlib.sha256(json.dumps(public, sort_keys=True).encode()).hexdigest() != each["schema"]:
                raise Wrong("the schema is not the one of its hash")
        for i, node in enumerate(c["nodes"]):
            self.at = f"node {i} ({node['kind']})"
            self.facts.append(self.node(i, node["kind"], node["fields"], node["claims"]))
        self.at = "release"
        self.release(**c["release"])

    def cell(self, i: int) -> Cell:
        raw = self.raw_cells[i]
        if "data set" in raw:
            return ((raw["data set"],),)
        return (*self.cell(raw["of"]), (raw["base"], raw["by"], tuple(raw["key"])))

    def parsed(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.parsed(each) for each in x]
        if isinstance(x, dict):
            if "node" in x:
                return self.facts[x["node"]]
            return tuple(x["literal"]) if "literal" in x else Fraction(x["fraction"])
        return x

    def hold(self, what: str, claim: Fraction | None, needed: Fraction | None) -> None:
        """A claim must be at least what is needed; None is unbounded."""
        if claim is not None and (needed is None or claim < needed):
            raise Wrong(f"{what} is claimed to be {float(claim):g}, but is {'∞' if needed is None else f'{float(needed):g}'}")
        if claim != needed and not (needed and claim and claim <= needed * (1 + Fraction(1, 2**24))):
            self.report.larger.append(f"{self.at}: {what}")

    def node(self, i: int, kind: str, raw: list[Any], claims: dict[str, Any]) -> Any:
        if kind in ROWS:
            return self.rows(i, kind, raw, claims)
        f = self.parsed(raw)
        if "domain" in claims:
            return self.column(i, kind, f, claims)
        cells = [self.cell(c) for c in claims["cells"]]
        v = vector(kind, f)
        if v.size != claims["size"] or not set(v.cells) <= set(cells):
            raise Wrong("the size or the cells are not those claimed")
        steps = v.grid / Fraction(claims["grid"])
        if kind == "tally" and steps == Fraction(1, 2):
            steps = Fraction(1)  # at a power of two the engine may take the next coarser grid
        if steps.denominator != 1 or (v.capped and not claims["capped"]) or (claims["monotone"] and not v.monotone):
            raise Wrong("grid, cap or direction are not those claimed")
        self.hold("the distance", _number(claims["distance"]), norm(v, "linf"))
        return Vec(v.size, v.at, v.way, v.whole, Fraction(claims["grid"]), cells, claims["capped"], claims["monotone"])

    def column(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Col:
        claim, same, base = read(claims["domain"]), True, None
        if kind in ("carried", "lag", "column"):
            inner = Col(i, kind, f, read(dict(self.sets[f[0].fields[0]]["columns"])[f[1]]), i) if kind == "column" else f[1]
            base = f[0].id
            if kind != "column" and inner.base != f[0].fields[0].base:
                raise Wrong("the column belongs to other rows")
            if kind == "lag" and not -f[0].fields[2] <= f[2] <= f[0].fields[1]:
                raise Wrong("the row lies outside of the window")
            if claim != widened(inner.dom, kind == "lag" and f[2] != 0):
                raise Wrong("the claimed domain is not the column's")
        else:
            bases = {x.base for x in f if isinstance(x, Col)} - {None}
            if len(bases) > 1:
                raise Wrong("columns of different rows are put together")
            base, same = next(iter(bases), None), checked(kind, f, claim)
        if not same:
            self.report.larger.append(f"{self.at}: domain")
        return Col(i, kind, f, claim, base)

    def rows(self, i: int, kind: str, raw: list[Any], claims: dict[str, Any]) -> Table:
        cells = [self.cell(c) for c in claims["cells"]]
        if kind == "source":
            column, most = self.sets[raw[0]]["unit"]
            bound = _number(most)
            t = Table(i, kind, [raw[0], column], i, [((raw[0],),)], bound, None, bound, None)
        else:
            t = rows_of(kind, self.parsed(raw), i, cells, self.facts.__getitem__)
        if not set(t.cells) <= set(cells):
            raise Wrong("rows lie outside of the claimed cells")
        factor, cap = _number(claims["factor"]), _number(claims["cap"])
        claim = Table(i, kind, t.fields, t.base, cells, factor, cap, _number(claims["edits"]), claims["most"])
        self.hold("the factor", factor, t.factor) if cap is None and t.cap is None else self.hold("the cap", cap, largest(t.form))
        self.hold("the distance", _number(claims["distance"]), largest(claim.form))
        self.hold("the number of edits", claim.edits, t.edits)
        if claim.most is not None and (t.most is None or claim.most < t.most):
            raise Wrong("there can be more rows than claimed")
        return claim

    def release(self, value: int, mechanism: dict[str, Any], noise: dict[str, Any], charges: Any) -> None:
        v: Vec = self.facts[value]
        self.hold("the sensitivity", _number(noise["sensitivity"]), norm(v, noise["norm"]))
        if noise["sensitivity"] is None or {"laplace": "l1", "gaussian": "l2"}.get(mechanism["kind"], "linf") != noise["norm"]:
            raise Wrong("the sensitivity is unbounded, or in another norm than the mechanism's")
        proportional = noise_fits(mechanism, noise, v, Fraction(noise["sensitivity"]))
        if charges is None:
            raise CannotCheck("the certificate does not say where it was charged")
        paid = {self.cell(c): [Fraction(x) for x in cost] for c, cost in charges}
        due: set[Cell] = set()
        for root in {cell[0] for cell in v.cells}:
            notion = self.sets[root[0]]["notion"]
            whole = v.capped or not proportional or (mechanism["kind"] == "gaussian" and notion["kind"] == "approx")
            due |= charged([self.unsplit(cell) if whole else cell for cell in v.cells if cell[0] == root])
            for cost in (paid[cell] for cell in paid if cell[0] == root):
                for x, least in zip(cost, least_cost(mechanism, notion), strict=True):
                    self.hold("the cost", x, least)
        if any(not any(cell[:n] in paid for n in range(1, len(cell) + 1)) for cell in due):
            raise Wrong("a part of the data that the value depends on was not charged")
        if set(paid) != due:
            self.report.larger.append("release: charges")

    def unsplit(self, cell: Cell) -> Cell:
        """The part above the first partition in which one unit may be in several groups."""
        for n in range(1, len(cell)):
            edits = self.facts[cell[n][0]].edits
            if edits is None or edits > 1:
                return cell[:n]
        return cell
