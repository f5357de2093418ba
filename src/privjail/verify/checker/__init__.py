"""An independent checker of certificates: each claim must follow from the claims of the node's inputs.

It shares no code with the library that made them. What it does not know it cannot check, and says so.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from privjail.verify.checker.columns import LOW, Col, checked, read
from privjail.verify.checker.forms import CannotCheck, Cell, Wrong, largest, whole
from privjail.verify.checker.tables import Table, Vec, charged, least_cost, noise_fits, norm, rows_of, vector

MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
OVER = {"column": ("source",), "lag": ("window",), "carried": ("slice", "group_head", "window")}


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
    except (Wrong, CannotCheck, *MALFORMED) as e:
        checking.report.verdict = "refuted" if isinstance(e, Wrong) else "cannot check"
        why = f"malformed ({type(e).__name__})" if isinstance(e, MALFORMED) else str(e)
        checking.report.problems.append(f"{checking.at}: {why}")
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
            public = json.dumps({"columns": each["columns"], "unit": each["unit"]}, sort_keys=True)
            if hashlib.sha256(public.encode()).hexdigest() != each["schema"]:
                raise Wrong("the schema is not the one of its hash")
        for i, node in enumerate(c["nodes"]):
            self.at = f"node {i} ({node['kind']})"
            kind, claims = node["kind"], node["claims"]
            rule = self.rows if "factor" in claims else self.column if "domain" in claims else self.vector
            self.facts.append(rule(i, kind, self.parsed(node["fields"]), claims))
        self.at = "release"
        self.release(**c["release"])

    def cell(self, i: int) -> Cell:
        c = self.raw_cells[i]
        return (*self.cell(c["of"]), (c["base"], c["by"], tuple(c["key"]))) if "of" in c else ((c["data set"],),)

    def parsed(self, x: Any) -> Any:
        if isinstance(x, dict) and "node" in x:
            return self.facts[x["node"]]
        if isinstance(x, dict):
            return tuple(x["literal"]) if "literal" in x else Fraction(x["fraction"])
        return [self.parsed(each) for each in x] if isinstance(x, list) else x

    def hold(self, what: str, claim: Fraction | None, needed: Fraction | None) -> None:
        """A claim must be at least what is needed; None is unbounded."""
        if claim is not None and (needed is None or claim < needed):
            raise Wrong(f"{what} is said to be {float(claim):g}, but is {float('inf' if needed is None else needed):g}")
        if claim != needed and not (needed and claim and claim <= needed * (1 + Fraction(1, 2**24))):
            self.report.larger.append(f"{self.at}: {what}")

    def column(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Col:
        claim = read(claims["domain"])
        bases = {x.base for x in f if isinstance(x, Col)} - {None}
        if kind in ("carried", "lag", "column"):
            dom = read(dict(self.sets[f[0].fields[0]]["columns"])[f[1]]) if kind == "column" else f[1].dom
            if kind == "lag":
                dom = replace(dom, null=dom.null or f[2] != 0)
            seen = f[0].kind in OVER[kind] and (kind != "lag" or -f[0].fields[2] <= whole(f[2], LOW) <= f[0].fields[1])
            if claim != dom or not seen or (kind != "column" and bases - {f[0].fields[0].base}):
                raise Wrong("the domain is not the column's, or the column belongs to other rows")
            return Col(i, kind, f, claim, f[0].id)
        if len(bases) > 1:
            raise Wrong("columns of different rows are put together")
        if not checked(kind, f, claim):
            self.report.larger.append(f"{self.at}: domain")
        return Col(i, kind, f, claim, next(iter(bases), None))

    def rows(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Table:
        cells = [self.cell(c) for c in claims["cells"]]
        if kind == "source":
            column, most = self.sets[f[0]]["unit"]
            most = None if most is None else Fraction(whole(most, 1))
            t = Table(i, kind, [f[0], column], i, [((f[0],),)], most, None, most, None)
        else:
            t = rows_of(kind, f, i, cells, self.facts.__getitem__)
        factor, cap, edits = (_number(claims[name]) for name in ("factor", "cap", "edits"))
        factor = factor if cap is None else None  # beside a cap the factor is not looked at, so nothing may rest on it
        claim = replace(t, cells=cells, factor=factor, cap=cap, edits=edits, most=claims["most"])
        if not set(t.cells) <= set(cells):
            raise Wrong("rows lie outside of the claimed cells")
        self.hold("the reach", *((factor, t.factor) if cap is None else (cap, largest(t.form))))
        self.hold("the distance", _number(claims["distance"]), largest(claim.form))
        self.hold("the number of edits", edits, t.edits)
        if claim.most is not None and (t.most is None or whole(claim.most, 0) < t.most):
            raise Wrong("there can be more rows than claimed")
        return claim

    def vector(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Vec:
        v, cells, grid = vector(kind, f), [self.cell(c) for c in claims["cells"]], Fraction(claims["grid"])
        if v.size != claims["size"] or not set(v.cells) <= set(cells):
            raise Wrong("the size or the cells are not those claimed")
        on_grid = (v.grid / grid).denominator == 1 or (kind == "tally" and grid == 2 * v.grid)  # at a power of two
        if grid <= 0 or not on_grid or (v.capped and not claims["capped"]) or (claims["monotone"] and not v.monotone):
            raise Wrong("grid, cap or direction are not those claimed")
        self.hold("the distance", _number(claims["distance"]), norm(v, "linf"))
        return replace(v, grid=grid, cells=cells, capped=claims["capped"], monotone=claims["monotone"])

    def release(self, value: int, mechanism: dict[str, Any], noise: dict[str, Any], charges: Any) -> None:
        v: Vec = self.facts[value]
        used = {"laplace": "l1", "gaussian": "l2"}.get(mechanism["kind"], "linf")
        self.hold("the sensitivity", _number(noise["sensitivity"]), norm(v, used))
        proportional = noise_fits(mechanism, noise, v, Fraction(noise["sensitivity"]))
        if charges is None:
            raise CannotCheck("the certificate does not say where it was charged")
        paid = {self.cell(c): [Fraction(x) for x in cost] for c, cost in charges}
        due: set[Cell] = set()
        for root in {cell[0] for cell in v.cells}:
            notion = self.sets[root[0]]["notion"]
            whole = v.capped or not proportional or (used == "l2" and notion["kind"] == "approx")
            due |= charged([self.unsplit(cell) if whole else cell for cell in v.cells if cell[0] == root])
            for cost in (paid[cell] for cell in paid if cell[0] == root):
                for x, least in zip(cost, least_cost(mechanism, notion), strict=True):
                    self.hold("the cost", x, least)
        if any(not any(cell[:n] in paid for n in range(1, len(cell) + 1)) for cell in due):
            raise Wrong("a part of the data that the value depends on was not charged")
        if set(paid) != due:
            self.report.larger.append(f"{self.at}: charges")

    def unsplit(self, cell: Cell) -> Cell:
        """The part above the first partition in which one unit may be in several groups."""
        edits = [self.facts[step[0]].edits for step in cell[1:]]
        return cell[: next((n for n, e in enumerate(edits, 1) if e is None or e > 1), len(cell))]
