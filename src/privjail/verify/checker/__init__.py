"""An independent checker of certificates: each claim must follow from the claims of the node's inputs.

It shares no code with the library that made them. What it does not know it cannot check, and says so.
"""

import hashlib
import json
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import erfc, exp, floor, inf, sqrt
from typing import Any

from privjail.verify.checker.columns import LOW, Col, Wrong, number, read, value, whole
from privjail.verify.checker.tables import Cell, Table, Vec, largest, rows_of, vector

MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
OVER = {"column": ("source",), "lag": ("window",), "carried": ("slice", "group_head", "window")}
NORMS = {"laplace": "l1", "gaussian": "l2", "exponential": "linf", "noisy_max": "linf", "above_threshold": "linf"}


@dataclass
class Report:
    """The verdict; where a claim is wrong or cannot be checked; where a claim is larger than it need be."""

    verdict: str = "ok"
    problems: list[str] = field(default_factory=list)
    larger: list[str] = field(default_factory=list)
    at: str = "certificate"
    facts: list[Any] = field(default_factory=list)

    def all(self, c: dict[str, Any]) -> None:
        if c["privjail certificate"] != 1:
            raise NotImplementedError("another version")
        self.sets, self.raw_cells = c["data sets"], c["cells"]
        for each in self.sets:
            public = json.dumps({"columns": each["columns"], "unit": each["unit"]}, sort_keys=True)
            if hashlib.sha256(public.encode()).hexdigest() != each["schema"]:
                raise Wrong("the schema is not the one of its hash")
        for i, node in enumerate(c["nodes"]):
            kind, claims = node["kind"], node["claims"]
            self.at = f"node {i} ({kind})"
            rule = self.rows if "factor" in claims else self.column if "domain" in claims else self.vector
            f = self.parsed(node["fields"])
            bases = {y.base for x in f for y in (x if isinstance(x, list) else [x]) if isinstance(y, Col)} - {None}
            if len(bases) > 1 or (bases and rule != self.column and bases != {f[0].base}):
                raise Wrong("columns of different rows are put together")
            self.facts.append(rule(i, kind, f, claims))
        self.at = "release"
        self.release(**c["release"])

    def cell(self, i: int) -> Cell:
        c = self.raw_cells[i]
        return (*self.cell(c["of"]), (c["base"], c["by"], value(c["key"]))) if "of" in c else ((c["data set"],),)

    def parsed(self, x: Any) -> Any:
        if isinstance(x, dict) and "node" in x:
            return self.facts[x["node"]]
        if isinstance(x, dict):
            return value(x["literal"]) if "literal" in x else number(x["fraction"])
        return [self.parsed(each) for each in x] if isinstance(x, list) else x

    def hold(self, what: str, claim: Any, needed: Any) -> None:
        if claim < needed:
            raise Wrong(f"{what} is said to be {claim!s:.40}, but is {needed!s:.40}")
        if claim != needed and not (needed and claim <= needed * (1 + Fraction(1, 2**24))):
            self.larger.append(f"{self.at}: {what}")

    def column(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Col:
        inputs = [x for x in f if isinstance(x, Col)]
        parts = {part.id: part for x in inputs for part in (*x.parts.values(), x)}
        base = next((x.base for x in inputs if x.base is not None), None)
        col = Col(i, kind, f, inputs, parts, read(claims["domain"]), base)
        if kind in OVER:
            dom = read(dict(self.sets[f[0].fields[0]]["columns"])[f[1]]) if kind == "column" else f[1].dom
            dom = dom._replace(null=dom.null or (kind == "lag" and f[2] != 0))
            seen = f[0].kind in OVER[kind] and (kind != "lag" or -f[0].fields[2] <= whole(f[2], LOW) <= f[0].fields[1])
            if col.dom != dom or not seen or (kind != "column" and base not in (None, f[0].fields[0].base)):
                raise Wrong("the domain is not the column's, or the column belongs to other rows")
            return col._replace(base=f[0].id)
        if not col.checked():
            self.larger.append(f"{self.at}: domain")
        return col

    def rows(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Table:
        cells = [self.cell(c) for c in claims["cells"]]
        if kind == "source":
            root, (column, most) = ((f[0],),), self.sets[f[0]]["unit"]
            most = inf if most is None else Fraction(whole(most, 1))
            t = Table(i, kind, [f[0], column], i, [root], [{root: most}], most, inf)
        else:
            t = rows_of(kind, f, i, cells, self.facts.__getitem__)
        claimed = {name: inf if x is None or name == "cells" else number(x) for name, x in claims.items()}
        factor, cap, edits, most = (claimed[name] for name in ("factor", "cap", "edits", "most"))
        if not set(t.cells) <= set(cells) or most < t.most:
            raise Wrong("rows lie outside of the claimed cells, or there can be more than claimed")
        needed = inf if None in t.form[0] else max(t.form[0].values(), default=max(factor, 0))
        if cap < inf:  # then the factor is not looked at, and nothing rests on it
            factor, needed = cap, t.edits if kind == "slice" else largest(t.form)
        self.hold("the reach", factor, needed)
        form = [dict.fromkeys([None] if cap < inf else cells or [((None,),)] * (factor == inf), factor)]
        self.hold("the distance", claimed["distance"], largest(form))
        self.hold("the number of edits", edits, t.edits)
        return t._replace(cells=cells, form=form, edits=edits, most=most)

    def vector(self, i: int, kind: str, f: list[Any], claims: dict[str, Any]) -> Vec:
        v, cells, grid = vector(kind, f), [self.cell(c) for c in claims["cells"]], number(claims["grid"])
        fits = v.size == claims["size"] and set(v.cells) <= set(cells) and v.capped <= claims["capped"]
        on_grid = (v.grid / grid).denominator == 1 or (kind == "tally" and grid == 2 * v.grid)  # at a power of two
        if not fits or not on_grid or grid <= 0 or v.monotone < claims["monotone"]:
            raise Wrong("size, cells, grid, cap or direction are not those claimed")
        self.hold("the distance", inf if claims["distance"] is None else number(claims["distance"]), v.norm("linf"))
        return v._replace(grid=grid, cells=cells, capped=claims["capped"], monotone=claims["monotone"])

    def release(self, *, mechanism: dict[str, Any], noise: dict[str, Any], charges: Any, **of: int) -> None:
        v, kind, reach = self.facts[of["value"]], mechanism["kind"], number(noise["sensitivity"])
        if kind not in NORMS or charges is None:
            raise NotImplementedError("another mechanism, or the certificate does not say where it was charged")
        self.hold("the sensitivity", reach, v.norm(NORMS[kind]))
        used = _Mechanism(mechanism)
        proportional = used.fits(noise, v, reach)
        paid = {self.cell(c): [number(x) for x in cost] for c, cost in charges}
        due: set[Cell] = set()
        for root in {cell[0] for cell in v.cells}:
            notion = self.sets[root[0]]["notion"]
            joint = v.capped or not proportional or (kind == "gaussian" and notion["kind"] == "approx")
            # jointly: above where a unit is in several groups
            for cell in [cell for cell in v.cells if cell[0] == root]:
                several = (n for n, step in enumerate(cell[1:], 1) if joint and self.facts[step[0]].edits > 1)
                due.add(cell[: next(several, len(cell))])
            for cost in (paid[cell] for cell in paid if cell[0] == root):
                for x, least in zip(cost, used.cost(notion), strict=True):
                    self.hold("the cost", x, least)
        due = charged(due)
        if any(not any(cell[:n] in paid for n in range(1, len(cell) + 1)) for cell in due):
            raise Wrong("a part of the data that the value depends on was not charged")
        if set(paid) != due:
            self.larger.append(f"{self.at}: charges")


def check(certificate: Any) -> Report:
    """Check a certificate: "ok", "refuted" or "cannot check" (what is not known, takes too long, or is malformed)."""
    report = Report()
    try:
        report.all(certificate)
    except (Wrong, NotImplementedError, *MALFORMED) as e:
        report.verdict = "refuted" if isinstance(e, Wrong) else "cannot check"
        report.problems.append(f"{report.at}: {f'malformed ({type(e).__name__})' if isinstance(e, MALFORMED) else e}")
    return report


class _Mechanism:
    """ε, δ and ρ: those that it has and no others, or one could be noised for and another be paid."""

    def __init__(self, m: dict[str, Any]) -> None:
        given = {k: number(m[k]) for k in ("epsilon", "delta", "rho") if m.get(k) is not None}
        own = [["epsilon", "delta"], ["rho"]] if m["kind"] == "gaussian" else [["epsilon"]]
        if [*given] not in own or min(given.values()) <= 0:
            raise Wrong("the parameters are not those of the mechanism, or not positive")
        self.kind, self.best = m["kind"], whole(m.get("k", 1), 1)
        self.eps, self.delta, self.rho = (given.get(k, Fraction(0)) for k in ("epsilon", "delta", "rho"))

    def fits(self, noise: dict[str, Any], v: Vec, reach: Fraction) -> bool:
        """Refuse noise that is too small. Whether a share of the edits costs that share of the loss."""
        used = {name: number(x) for name, x in noise.items() if name != "norm" and x is not None}
        eps, finer = self.eps, used.get("grid", v.grid) / v.grid
        if self.kind == "exponential":
            enough = not reach or used["rate"] * 2 * reach <= eps
        elif self.rho:
            enough = used["sigma"] ** 2 * 2 * self.rho >= reach * reach
        elif self.kind == "gaussian":
            sigma, spare = float(used["sigma"] / reach if reach else inf), v.size * (1 + exp(eps)) / (12 * 2.0**80)
            near, far = (erfc((eps * sigma + x / sigma) / sqrt(2)) / 2 for x in (-0.5, 0.5))
            enough = (near - exp(eps) * far) * (1 - 1e-9) + spare <= self.delta
        else:
            share = {"laplace": 1, "above_threshold": 4, "noisy_max": self.best * (2 - bool(v.monotone))}[self.kind]
            rounded = (finer != 1) * (v.size if self.kind == "laplace" else 1)
            least = share * (floor(reach / used["grid"]) + rounded) / eps
            enough = finer >= 1 == finer.denominator and used["scale"] >= least
            enough &= self.kind != "above_threshold" or used["outer"] >= least / 2
        if not enough or min(used.values()) < 0:
            raise Wrong("the noise is too small for the sensitivity")
        return bool(finer == 1)

    def cost(self, notion: dict[str, Any]) -> Any:
        """What a release must at least be charged, in a notion of privacy."""
        eps, pure = self.eps, self.kind != "gaussian"
        rho = eps * eps / (8 if self.kind == "exponential" else 2) if pure else self.rho
        known: dict[str, Any] = {"pure": pure and [eps], "approx": eps and [eps, self.delta], "zcdp": rho and [rho]}
        if notion["kind"] == "renyi" and rho:
            if (order := number(notion["order"])) <= 1:
                raise Wrong("the order of a Rényi budget is above 1")
            with localcontext(Context(60)):  # of randomised response, the largest that ε-DP allows; a little less
                e, a = (Decimal(x.numerator) / x.denominator for x in (eps, order))
                most = (((a * e).exp() + (e - a * e).exp()).ln() - (1 + e.exp()).ln()) / (a - 1)
            known["renyi"] = [min([order * rho, *[Fraction(most) * (1 - Fraction(1, 10**12))] * pure])]
        if not known.get(notion["kind"]):
            raise NotImplementedError(f"{self.kind} paid under {notion['kind']}")
        return known[notion["kind"]]


def charged(left: set[Cell]) -> set[Cell]:
    """Cells that all exclude each other inside one partition: two that do not become their lowest common ancestor."""
    for a, b in combinations(left, 2):
        n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
        if n == min(len(a), len(b)) or a[n][:2] != b[n][:2]:
            return charged(left - {a, b} | {a[:n]})
    return left
