"""Beside PyPI's other package named `privjail` nothing runs: some of the files would not be ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
IMPORT = "import privjail; print(privjail.__version__)"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A virtual environment with our package copied into it, as a wheel's would be: its Python and its packages."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    site = next(place.glob("lib/python*/site-packages"))
    shutil.copytree(ROOT / "src" / "privjail", site / "privjail", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "privjail_dp-0.1.0.dev0.dist-info").mkdir()
    (site / "needs.pth").write_text(sysconfig.get_path("purelib"))  # NumPy, pandas and the rest
    return place / "bin" / "python", site


def run(python: Path, *args: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ({"PYTHONPATH": path} if path else {})
    return subprocess.run([python, *args], capture_output=True, text=True, timeout=120, env=env, cwd="/")


def test_alone_it_is_imported(environment: tuple[Path, Path]) -> None:
    python, site = environment
    done = run(python, "-c", IMPORT + "; print(privjail.__file__)")
    assert done.returncode == 0 and str(site) in done.stdout, done.stderr


@pytest.mark.parametrize("name", ["privjail-0.1.2.dist-info", "privjail-0.0.2-py3.11.egg-info"])
def test_beside_the_other_package_it_is_not(environment: tuple[Path, Path], name: str) -> None:
    python, site = environment
    (site / name).mkdir()
    try:
        for command in (("-c", IMPORT), ("-c", "from privjail import pandas"), ("-m", "privjail.curator", "version")):
            done = run(python, *command)
            assert done.returncode == 1
            assert "another package named 'privjail'" in done.stderr and "pip uninstall privjail" in done.stderr
        # The other one was installed last: its __init__ is there instead of ours.
        ours = (site / "privjail" / "__init__.py").read_text()
        (site / "privjail" / "__init__.py").write_text("")
        done = run(python, "-m", "privjail.curator", "version")
        (site / "privjail" / "__init__.py").write_text(ours)
        assert done.returncode == 1 and "another package named 'privjail'" in done.stderr
        assert "Traceback" not in done.stderr
        # An editable install lies elsewhere, and nothing is mixed.
        done = run(python, "-c", IMPORT, path=str(ROOT / "src"))
        assert done.returncode == 0, done.stderr
    finally:
        (site / name).rmdir()


def test_the_check_loads_nothing_that_is_slow() -> None:
    code = (
        f"import runpy, sys; before = set(sys.modules); runpy.run_path({str(ROOT / 'src/privjail/distribution.py')!r}); "
        "print(sorted(m for m in set(sys.modules) - before if m.startswith('importlib.metadata') or m == 'pathlib'))"
    )
    assert run(Path(sys.executable), "-S", "-c", code).stdout.strip() == "[]"


def test_nothing_asks_pip_for_the_other_package() -> None:
    """Extras that name the package itself, hints and guides: each says privjail-dp, or a wheel of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [w for extra in project["optional-dependencies"].values() for w in extra if w.startswith("privjail")]
    assert project["name"] == "privjail-dp" and wanted and all(w.startswith("privjail-dp[") for w in wanted)
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "Makefile"]
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            found = line.partition("pip install ")[2].lstrip("'\"")
            assert not found.startswith(("privjail`", "privjail'", "privjail[", "privjail ")) or "another" in line, file
