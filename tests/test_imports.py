"""What an import loads, and which folder may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "privjail"
HEAVY = (
    "polars",
    "opendp",
    "pyarrow",
    "typer",
    "dp_accounting",
    "grpc",
    "pyspark",
    "matplotlib",
    "cryptography",
    "tenseal",
    "starlette",
)

#: A folder imports only from those above it; names on one line do not import each other.
LAYERS = [
    {"util", "simplex", "collector", "distribution", "page_server"}, {"errors"}, {"faults", "notebook", "other_libraries"}, {"terminal"}, {"plan"}, {"ops"}, {"budget"}, {"mechanisms"}, {"engines"}, {"catalogue", "histograms"},
    {"release", "population"}, {"records"}, {"server"}, {"client_errors"}, {"client"}, {"session"}, {"prisoner", "together", "made_up_rows"}, {"rowwise", "samples"}, {"answers"}, {"rehearsals"}, {"sensitive"}, {"choices", "opening", "statistics"},
    {"numpy"}, {"pandas"}, {"gateway"}, {"curator"},
    {"encrypted", "verify", "local"}, {"learn"}, {"stats", "synth"}, {"__init__"},
]  # fmt: skip


@pytest.mark.parametrize("statement", ["import privjail", "from privjail import pandas"])
def test_an_import_loads_no_engine_and_no_sampler(statement):
    code = f"import sys; {statement}; print([m for m in {HEAVY!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def imported(path: Path) -> set[str]:
    """The parts of privjail that a file imports when it is loaded (not inside functions)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {id(n) for i in ast.walk(tree) if isinstance(i, ast.If) for n in ast.walk(i)}
    lazy = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    top = [n for n in ast.walk(tree) if id(n) not in guarded | lazy]
    names = [name for n in top for name in modules(n)]
    return {name.split(".")[1] for name in names if name.startswith("privjail.")}


def modules(statement: ast.AST) -> list[str]:
    """The modules that an import statement names; none for anything else."""
    if isinstance(statement, ast.Import):
        return [a.name for a in statement.names]
    if not isinstance(statement, ast.ImportFrom):
        return []
    assert statement.level == 0, "imports name the whole path"
    if statement.module == "privjail":
        return [f"privjail.{a.name}" for a in statement.names]
    return [statement.module or ""]


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_every_part_has_its_place_among_the_layers():
    """A part that is not listed would not be checked at all."""
    listed = [name for names in LAYERS for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) == {part_of(path) for path in SOURCE.rglob("*.py")}


def test_a_folder_imports_only_from_those_above_it():
    height = {name: i for i, names in enumerate(LAYERS) for name in names}
    for path in SOURCE.rglob("*.py"):
        part = part_of(path)
        below = {name for name in imported(path) - {part} if height[name] >= height[part]}
        assert not below, f"{path.relative_to(SOURCE)} imports {sorted(below)}, which stand below it"


@pytest.mark.parametrize(
    "line", ["from privjail.pandas.frame import PrivDataFrame", "from privjail import pandas", "import privjail.pandas"]
)
def test_imports_are_found_however_they_are_written(tmp_path: Path, line: str):
    (tmp_path / "low.py").write_text(f"{line}\n")
    assert imported(tmp_path / "low.py") == {"pandas"}


def test_plan_imports_no_engine():
    """Not even inside a function: facts of a plan are the same whatever engine computes it."""
    known = {*sys.stdlib_module_names, "privjail"}
    for path in (SOURCE / "plan").rglob("*.py"):
        names = {name for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) for name in modules(n)}
        foreign = {name for name in names if name.split(".")[0] not in known}
        upper = {name for name in names if name.startswith(("privjail.engines", "privjail.ops", "privjail.catalogue"))}
        assert not foreign | upper, f"{path.relative_to(SOURCE)} imports {sorted(foreign | upper)}"


def test_no_source_file_is_long():
    lengths = {str(p.relative_to(SOURCE)): len(p.read_text().splitlines()) for p in (SOURCE / "pandas").rglob("*.py")}
    facades = {
        "pandas/frame.py",
        "pandas/series.py",
        "pandas/groups.py",
        "pandas/vectors.py",
        "pandas/datetimes.py",
        "pandas/text.py",
    }  # as long as what pandas offers
    assert not {name: n for name, n in lengths.items() if n > 400 and name not in facades}


def writes(path: Path) -> list[tuple[int, str]]:
    """Where a file sets attributes of frozen objects other than the one whose method it is (setattr cannot): line, call."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[tuple[int, str]] = []
    called_at_once = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):  # under another name its calls would not be found
            found += [
                (each.lineno, f"{a.name} as {a.asname}") for a in each.names if a.name == "set_frozen" and a.asname
            ]
        elif isinstance(each, (ast.Attribute, ast.Name)) and id(each) not in called_at_once:
            name = each.attr if isinstance(each, ast.Attribute) else each.id
            found += [(each.lineno, ast.unparse(each))] if name in ("set_frozen", "__setattr__", "__delattr__") else []
        elif isinstance(each, ast.Call):
            called = ast.unparse(each.func)
            into, _, method = called.rpartition(".")
            if method in ("update", "setdefault", "pop", "clear") and (
                into.endswith(".__dict__")
                and into != "self.__dict__"
                or into.startswith("vars(")
                and into != "vars(self)"
            ):
                found.append((each.lineno, f"{called}(…)"))
            target = ast.unparse(each.args[0]) if each.args else ""
            if called.split(".")[-1] in ("set_frozen", "__setattr__", "__delattr__") and target != "self":
                found.append((each.lineno, f"{called}({target}, …)"))
            owner = called.removesuffix(".fact").removesuffix(".change")
            if owner not in (called, "self"):
                found.append((each.lineno, f"{called}(…)"))
        elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            owner = ast.unparse(each.value)
            found += (
                [(each.lineno, ast.unparse(each))] if owner.endswith(".__dict__") or owner.startswith("vars(") else []
            )
    return found


#: Writes onto objects that are no nodes.
OTHER_OBJECTS = {
    "budget/notions.py": "object.__setattr__(made, …)",  # a notion of privacy that is being built
}


def test_only_plan_sets_facts_of_other_nodes():
    """What an upper layer derives about a node is kept beside it (plan/node_table.py)."""
    found = {
        f"{path.relative_to(SOURCE)}:{line}: {what}"
        for path in SOURCE.rglob("*.py")
        if not path.is_relative_to(SOURCE / "plan")
        for line, what in writes(path)
        if OTHER_OBJECTS.get(str(path.relative_to(SOURCE))) != what
    }
    assert not found


def test_only_plan_and_ops_set_facts_at_all():
    below = {SOURCE / "plan", SOURCE / "ops"}
    upper = [path for path in SOURCE.rglob("*.py") if not any(path.is_relative_to(each) for each in below)]
    assert not [str(path.relative_to(SOURCE)) for path in upper if "set_frozen" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize(
    "line",
    [
        "set_frozen(node, '_steps', 1)",
        "object.__setattr__(condition, 'group', found)",
        "node.fact(steps=1)",
        "rows.change(factor=1)",
        "node.__dict__['_steps'] = 1",
        "vars(node)['_steps'] = 1",
        "vars(node).update(_steps=1)",
        "node.__dict__.setdefault('_steps', 1)",
        "put = object.__setattr__",
        "from privjail.plan.node import set_frozen as put",
        "list(map(set_frozen, nodes, names, values))",
    ],
)
def test_writes_onto_others_are_found(tmp_path: Path, line: str):
    (tmp_path / "upper.py").write_text(f"def upper(self, node, rows, condition, found):\n    {line}\n")
    assert [at for at, _ in writes(tmp_path / "upper.py")] == [2]
    (tmp_path / "own.py").write_text(
        "def own(self):\n    set_frozen(self, 'a', 1)\n    self.fact(b=2)\n    self.x[1] = 2\n"
    )
    assert writes(tmp_path / "own.py") == []
