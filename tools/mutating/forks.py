"""Run tests with a change, in a child of a process that has imported everything already.

A change inside a function is made in the running child: the code of the function is exchanged. Any other change (a
constant of a module, a default) is made when the file is imported, in a child that has imported no file of ours yet.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

from mutating.changes import HOME, ROOT, Mutant

PACKAGES = ("pytest", "_pytest.assertion.rewrite", "hypothesis", "hypothesis.strategies", "hypothesis.extra.numpy",
            "_hypothesis_pytestplugin", "numpy", "pandas", "polars", "opendp.prelude", "opendp.measurements",
            "scipy.stats", "scipy.optimize", "grpc", "google.protobuf", "duckdb", "coverage")  # fmt: skip
FACES = ("privjail.pandas", "privjail.numpy", "privjail.server.server", "privjail.engines.polars.engine",
         "privjail.engines.reference", "privjail.engines.sql.duckdb", "privjail.verify.certificate",
         "privjail.statistics.mean", "privjail.rehearsals.stage", "privjail.curator.folder")  # fmt: skip
SECONDS = 150  # of the processor, for the tests of one change: one that runs so long is noticed, too
ENOUGH = 25.0  # after so many no further test is begun, so that an unchanged library does not come near that limit
STUCK = 6000  # looks at a child, a tenth of a second apart, without any work done in between
EXAMPLES = 12  # of a property, on the first try
DUCKDB = "[duckdb"

Code = types.CodeType


def module_of(path: str) -> str:
    name = "privjail." + path.removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


def prepare(paths: list[str]) -> None:
    """Import the library, and every file that will be changed."""
    for name in (*FACES, *map(module_of, paths)):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def import_packages() -> None:
    os.chdir(HOME)
    sys.path[:0] = [str(HOME)]
    for name in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class ChangedFile(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds one module, with a change."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(module_of(mutant.path), str(ROOT / mutant.path))
        self.changed = mutant.source()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        where = [os.path.dirname(self.path)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=where
        )

    def get_code(self, fullname: str) -> Code:
        return compile(self.changed, self.path, "exec", dont_inherit=True)


def codes(code: Code) -> Iterator[Code]:
    """The code of a file and of all functions in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, Code):
            yield from codes(each)


def key(code: Code) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def exchange(mutant: Mutant) -> bool:
    """Exchange the code of the functions that a change is in. False if that cannot be done."""
    where = str(ROOT / mutant.path)
    before = {key(c): c for c in codes(compile((ROOT / mutant.path).read_bytes(), where, "exec", dont_inherit=True))}
    after = {key(c): c for c in codes(compile(mutant.source(), where, "exec", dont_inherit=True))}
    changed = {k: c for k, c in after.items() if k in before and before[k] != c and k[1] != "<module>"}
    found = set()
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and key(each.__code__) in changed:
            try:
                each.__code__ = changed[key(each.__code__)]
            except ValueError:
                return False
            found.add(key(each.__code__))
        elif isinstance(each, functools._lru_cache_wrapper) and str(each.__module__).startswith("privjail"):
            each.cache_clear()
    return bool(found)


def in_child(work: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """What ``work`` returns in a fork of this process; None if it dies, takes too long or hangs."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        os.setsid()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with its parent
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        quiet = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(quiet, fd)
        try:
            told = json.dumps(work()).encode()
        except BaseException as error:
            told = json.dumps({"failed": f"{type(error).__name__}: {error}"[:200]}).encode()
        with contextlib.suppress(BaseException), os.fdopen(writing, "wb") as pipe:
            pipe.write(told)
        os._exit(0)
    os.close(writing)
    try:
        return _answer(child, reading)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.close(reading)


def _answer(child: int, reading: int) -> Any:
    """Read until the child closes its end; a clock would count the time in which this machine was paused."""
    os.set_blocking(reading, False)
    told, idle, worked = b"", 0, -1
    while idle < STUCK:
        try:
            more = os.read(reading, 1 << 20)
        except BlockingIOError:
            time.sleep(0.02 if idle < 3 else 0.1)
            now = _work_of(child)
            idle, worked = (idle + 1, worked) if now == worked else (0, now)
            continue
        if not more:
            break
        told += more
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(told) if told else None


def _work_of(child: int) -> int:
    """Ticks of the processor that a process and its ended children have used."""
    try:
        with open(f"/proc/{child}/stat", encoding="utf-8") as stat:
            return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:15]))
    except OSError:
        return -1


class Chosen:
    """A plugin of pytest: runs the chosen tests in their order, stops at the first that fails, and notes times."""

    def __init__(self, wanted: list[str] | None, examples: int | None, seconds: float = 60.0) -> None:
        self.until = time.process_time() + seconds  # no test is begun later
        self.order = None if wanted is None else {name: i for i, name in enumerate(wanted)}
        self.examples = examples
        self.only = ""
        self.failed: str | None = None
        self.passed: dict[str, float] = {}
        self.bad: set[str] = set()
        self.broken = False
        self.context: Callable[[str], None] = lambda name: None

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order is not None:
            order = self.order
            items[:] = sorted([i for i in items if i.nodeid in order], key=lambda i: order[i.nodeid])
        items[:] = [i for i in items if self.only in i.nodeid]
        for item in items:
            fewer(getattr(item, "obj", None), self.examples)

    def pytest_collectreport(self, report: Any) -> None:
        self.broken = self.broken or report.failed

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.context(nodeid)

    def pytest_runtest_setup(self, item: Any) -> None:
        if time.process_time() > self.until:
            item.session.shouldstop = "no time is left"

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid
            self.bad.add(report.nodeid)
        elif not report.skipped:
            self.passed[report.nodeid] = self.passed.get(report.nodeid, 0.0) + report.duration


def fewer(test: Any, examples: int | None) -> None:
    """A property is tried on the same examples every time, and nothing is done to make a failure shorter."""
    from hypothesis import HealthCheck, Phase, settings

    test = getattr(test, "__func__", test)
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    if chosen is not None:
        most = chosen.max_examples if examples is None else min(chosen.max_examples, examples)
        phases = (Phase.explicit, Phase.generate)
        test._hypothesis_internal_use_settings = settings(
            chosen, max_examples=most, derandomize=True, database=None, phases=phases, print_blob=False,
            deadline=None, suppress_health_check=list(HealthCheck),
        )  # fmt: skip


def pytest_run(files: list[str], chosen: Chosen, stop: bool, marked: str = "not slow") -> None:
    import pytest

    options = ["-q", "--no-header", "--tb=no", "-m", marked, "-p", "no:cacheprovider", "-p", "no:xdist",
               "-p", "no:randomly", "-p", "no:cov", "-p", "no:playwright", "-p", "no:anyio",
               "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip
    pytest.main([*options, *(["-x"] if stop else []), *files], plugins=[chosen])


def noticed(mutant: Mutant | None, tests: list[str], examples: int | None, live: bool) -> dict[str, Any]:
    """In a child: make the change and run these tests. ``live``: the library is imported already.

    A whole file stands for its tests on DuckDB, which are slow, so that it is not known which lines they run.
    """
    if mutant is not None and not live:
        sys.meta_path.insert(0, ChangedFile(mutant))
    elif mutant is not None and not exchange(mutant):
        return {"by": None, "again": True}
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    chosen = Chosen(None if files == tests else tests, examples, ENOUGH)
    chosen.only = DUCKDB if files == tests else ""
    pytest_run(files, chosen, stop=True, marked="slow" if files == tests else "not slow")
    if chosen.broken and not chosen.failed:
        chosen.failed = "(the tests cannot be imported)"
    return {"by": chosen.failed, "ran": len(chosen.passed)}
