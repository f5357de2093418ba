"""The rehearsal of every example that releases something equals its real bill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .test_rehearsal import environment

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: examples without a release of their own: data, and other settings
NOTHING = {"adult", "census", "hospital", "patients", "encrypted_demo", "local_figures", "local_paper"}

#: how each of the others is run in one process; what it prints last is {data set: cost}
PROGRAMS = {
    "session": "import session; session.run()",
    "diffpid3": "import sys, diffpid3; sys.argv = ['diffpid3.py', '--depth', '4']; diffpid3.main()",
    "demo": """
import os, tempfile, census, demo
from privjail import pandas as pd
os.chdir(tempfile.mkdtemp())
train, _, schema = census.write_files(".")
demo.questions(pd.read_csv(train, schema=schema, budget=3))
demo.tree(pd.read_csv(train, schema=schema, budget=3))
""",
    "numpy_pca": "import numpy_pca; numpy_pca.main(rows=200)",
    "numpy_dpsgd": "import numpy_dpsgd; numpy_dpsgd.main(rows=200, rounds=2)",
}

RUN = """
import contextlib, io, json, os, sys, tempfile
import privjail as pj
program, rehearsed = sys.argv[1], sys.argv[2] == "rehearsed"
os.chdir(tempfile.mkdtemp())
with contextlib.redirect_stdout(io.StringIO()), (pj.rehearsal() if rehearsed else contextlib.nullcontext()) as bill:
    exec(program, {})
total = bill.total if rehearsed else pj.consumed_privacy_budget()
assert not rehearsed or not pj.consumed_privacy_budget()
print(json.dumps({os.path.basename(name): cost for name, cost in total.items()}))
"""


def test_every_example_is_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == NOTHING | set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rehearsal_of_an_example_equals_its_bill(name: str) -> None:
    bills = []
    for how in ("rehearsed", "real"):
        line = [sys.executable, "-c", RUN, PROGRAMS[name], how]
        env = environment() | {"PYTHONPATH": str(EXAMPLES) + ":" + environment()["PYTHONPATH"], "COLUMNS": "100"}
        done = subprocess.run(line, capture_output=True, text=True, env=env, timeout=300)
        assert done.returncode == 0, done.stderr
        bills.append(json.loads(done.stdout.splitlines()[-1]))
    rehearsed, real = bills
    assert rehearsed == real and all(cost > 0 for cost in real.values())
