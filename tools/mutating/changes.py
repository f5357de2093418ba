"""Small changes of a file: where each stands, what stands there instead, and its name."""

from __future__ import annotations

import ast
import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
ROOT = HOME / "src" / "privjail"
UNSEEN = {"text", "spell_out", "quotes", "shown", "__str__", "__repr__", "_whose", "fold"}  # words for people

COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
            ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
            ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}  # fmt: skip
CALLED = {"any": "all", "all": "any", "min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "sorted": "list"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two places of a file, and what stands there instead."""

    path: str  # below src/privjail
    line: int
    begin: int  # in bytes
    end: int
    before: str
    after: str
    inside: bool = False  # in the body of a function, so that it can be changed after the file was imported
    last: int = 0  # the last of its lines

    @property
    def name(self) -> str:
        """The same as long as the line is the same, wherever it moves to."""
        source = (ROOT / self.path).read_bytes()
        start = source.rfind(b"\n", 0, self.begin) + 1
        stop = source.find(b"\n", self.end)
        at = f"{self.path}|{source[start:stop].decode()}|{self.begin - start}|{self.after}"
        return hashlib.sha256(at.encode()).hexdigest()[:12]

    def source(self) -> bytes:
        """The whole file with this change. Every other line keeps its number."""
        source, after = (ROOT / self.path).read_bytes(), self.after
        missing = "\n" * (self.before.count("\n") - after.count("\n"))
        after = f"{after[:-1]}{missing})" if after.endswith(")") else after + missing
        return source[: self.begin] + after.encode() + source[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before!r} → {self.after!r}"


def changes(node: ast.AST) -> Iterator[ast.AST | str]:
    """What else could stand in the place of a node."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield ast.Compare(node.left, [COMPARED[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from values[:1] + values[-1:]
        case ast.BinOp(op=op) if type(op) in COMPUTED and not isinstance(node.left, ast.JoinedStr):
            yield ast.BinOp(node.left, COMPUTED[type(op)](), node.right)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield ast.Call(ast.Name(CALLED[name]), node.args, node.keywords)
        case ast.Call(args=[ast.Name(id=one), ast.Name(id=other)], keywords=[]) if one != other:
            yield ast.Call(node.func, node.args[::-1], [])
        case ast.Constant(value=bool() as value):
            yield str(not value)
        case ast.Constant(value=int() as value):
            yield f"({value + 1})"
            yield f"({value - 1})"
        case ast.IfExp():
            yield node.body
            yield node.orelse
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "pass"


def mutants_of(path: str) -> list[Mutant]:
    """Every change of a file."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Mutant] = []

    def visit(node: ast.AST, inside: bool) -> None:
        if isinstance(node, FUNCTIONS) and node.name in UNSEEN:
            return
        for change in changes(node) if hasattr(node, "end_col_offset") else ():
            begin = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
            end = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
            after = change if isinstance(change, str) else f"({ast.unparse(ast.fix_missing_locations(change))})"
            before = source[begin:end].decode()
            found.append(Mutant(path, node.lineno, begin, end, before, after, inside, node.end_lineno))  # type: ignore[attr-defined]
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "exc") or isinstance(node, ast.JoinedStr):
                continue  # types and texts
            deeper = inside or (isinstance(node, FUNCTIONS) and field == "body")
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, deeper)

    visit(ast.parse(source), False)
    return found


def spread(paths: list[str], wanted: int | None, seed: int) -> list[Mutant]:
    """So many changes, the same number in every file as long as it has any; all of them if None are wanted.

    The order within a file does not depend on how many are wanted, so a larger sample contains the smaller one.
    """
    waiting = []
    for path in paths:
        found = mutants_of(path)
        random.Random(f"{seed} {path}").shuffle(found)
        waiting.append(list({mutant.name: mutant for mutant in found}.values()))
    chosen: list[Mutant] = []
    for turn in range(max(map(len, waiting), default=0)):
        for found in waiting:
            if turn < len(found) and (wanted is None or len(chosen) < wanted):
                chosen.append(found[turn])
    return sorted(chosen, key=lambda each: (each.path, each.begin))
