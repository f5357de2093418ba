"""DiffPID3 and the guide's programs run unchanged on every engine, and cost the same.

The pages print budgets and prices, which are compared to the last digit; what is noisy may be 10 % off.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from privjail import session
from privjail.engines.engine import Engine
from privjail.engines.polars.engine import PolarsEngine
from privjail.engines.sql.duckdb import DuckDBEngine
from privjail.engines.sql.spark import SparkEngine, SparkStore
from tests.docs.test_pages import ROOT, RUNNER, blocks, env, patients

GUIDES = [
    "README.md",
    *(f"docs/guide/{name}.md" for name in ("analyst", "arrays-and-models", "curator", "people", "statistics")),
]
ON = ["duckdb", pytest.param("sail", marks=pytest.mark.slow), pytest.param("spark", marks=pytest.mark.slow)]
#: Lines of a page that Spark never runs (a pattern on free text, see tests/ops/gaps.py): refused before the charge.
NEVER_ON_SPARK = {"docs/guide/analyst.md": 1}
MOST_JOBS = 2  # of one release


def place(request: Any, engine: str) -> str:
    """duckdb, or the address of a server."""
    return engine if engine == "duckdb" else str(request.getfixturevalue(engine))


@pytest.mark.parametrize("engine", ON)
@pytest.mark.parametrize("page", GUIDES)
def test_the_guides_programs_run_unchanged(page: str, engine: str, tmp_path: Path, request: Any) -> None:
    patients.write_files(str(tmp_path))
    (tmp_path / "page.json").write_text(json.dumps(blocks(ROOT / page)), encoding="utf-8")
    command = [sys.executable, str(RUNNER), "page.json", place(request, engine)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=3600, env=env())

    assert done.returncode == 0, done.stdout + done.stderr
    refused = 0 if engine == "duckdb" else NEVER_ON_SPARK.get(page, 0)
    assert done.stdout.splitlines()[-1] == f"refused by the engine: {refused}"


class Counted(SparkEngine):
    """Notes how many statements each release takes."""

    def __init__(self, store: SparkStore) -> None:
        super().__init__(store)
        self.jobs: list[int] = []

    def evaluate_all(self, values: Any) -> Any:
        assert isinstance(self.store, SparkStore)
        before = self.store.jobs
        found = super().evaluate_all(values)
        self.jobs.append(self.store.jobs - before)
        return found


@pytest.mark.parametrize("engine", ON)
def test_diffpid3_costs_the_same_and_takes_at_most_two_jobs_a_release(
    engine: str, tmp_path: Path, request: Any, capsys: Any
) -> None:
    sys.path.insert(0, str(ROOT / "examples"))
    import census
    import diffpid3

    where = place(request, engine)
    ours: Engine = DuckDBEngine() if engine == "duckdb" else Counted(SparkStore(where, seconds=600))
    files = census.write_files(str(tmp_path), rows=20_000)
    spent = {}
    for name, each in (("polars", PolarsEngine()), (engine, ours)):
        copy = shutil.copy(files[0], tmp_path / f"{name}.csv")  # a file of its own, so that its budget starts at 0
        before = session.jail().engine
        session.set_engine(each)
        try:
            found = diffpid3.measure(str(copy), *files[1:], eps=2.0, depth=3)
        finally:
            session.set_engine(before)
        assert found["accuracy"] > 0.8
        spent[name] = found["spent"]

    assert spent[engine] == spent["polars"] == 2.0
    if isinstance(ours, Counted):
        assert 0 < max(ours.jobs) <= MOST_JOBS
        with capsys.disabled():
            print(f"\nDiffPID3 on {engine}: {len(ours.jobs)} releases, {sum(ours.jobs)} jobs, at most {max(ours.jobs)}")
