"""Settings that others rely on: locked versions, hooks that fetch nothing, strict tests."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def locked() -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for line in LOCK.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            pinned = Requirement(line)
            found.setdefault(pinned.name.lower(), []).append(pinned)
    return found


def asked() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    every = [*PROJECT["project"]["dependencies"], *extras["jail"], *extras["dev"], *extras["docs"]]
    return [r for r in map(Requirement, every) if r.name != "privjail-dp"]


def test_the_lock_has_one_exact_version_of_each_package_and_no_address():
    assert not re.search(r"https?:|file:|--index|--find-links|@ ", LOCK)
    assert all(str(pin.specifier).startswith("==") for pins in locked().values() for pin in pins)


def test_the_lock_holds_what_the_project_asks_for():
    """After a change of pyproject.toml: make lock."""
    for wanted in asked():
        pins = locked().get(wanted.name.lower())
        assert pins, f"{wanted.name} is not locked: run make lock"
        for pin in pins:
            version = Version(str(pin.specifier).removeprefix("=="))
            assert version in wanted.specifier, f"{pin} does not fit {wanted}: run make lock"


def test_hooks_run_the_projects_own_tools():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")

    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert set(re.findall(r"language: (\S+)", hooks)) == {"system"}
    assert all(entry.startswith(".venv/bin/") for entry in re.findall(r"entry: (\S+)", hooks))


def test_tests_are_strict():
    settings = PROJECT["tool"]["pytest"]["ini_options"]

    assert settings["xfail_strict"] is True
    assert settings["filterwarnings"][0] == "error"


def test_coverage_has_a_floor():
    assert PROJECT["tool"]["coverage"]["report"]["fail_under"] >= 80
