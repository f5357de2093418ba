"""Every command and code block of README and docs is run, and what is deterministic is compared.

A page is run from top to bottom in one process, in a folder that holds patients.csv and patients.json:
```python blocks are executed (those with >>> as a session whose answers are compared); a ```text block below a
```python or ```sh block is what it prints. Numbers that a release prints are noisy: they may be 10 % off, like numbers
after ≈. ```json and ```toml blocks are schemas. ```sh lines are run, or checked where running them would
install or test everything.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import patients  # noqa: E402

# Run by tests of their own, which set up a jail (tests/server/test_wire.py), a survey (tests/local/test_docs.py) or two
# servers (tests/encrypted/test_docs.py), or a gateway (tests/gateway/test_docs.py).
ELSEWHERE = [
    ROOT / "docs/guide/jail-analyst.md", ROOT / "docs/guide/gateway.md", ROOT / "docs/encrypted.md", *sorted((ROOT / "docs").glob("local*.md")),
]  # fmt: skip
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
RUNNER = Path(__file__).with_name("run_page.py")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
KNOWN = {"python", "text", "sh", "json", "toml"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def ids(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def with_kind(*kinds: str) -> list[Path]:
    return [page for page in PAGES if page not in ELSEWHERE and any(kind in kinds for kind, _ in blocks(page))]


def env() -> dict[str, str]:
    paths = [str(ROOT / "src"), str(ROOT / "examples"), *(p for p in sys.path if p)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "100"}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("patients")
    patients.write_files(str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path, written: Path) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {kind for kind, _ in blocks(page)} <= KNOWN


@pytest.mark.parametrize("page", with_kind("python"), ids=ids(with_kind("python")))
def test_the_code_runs_and_answers_as_printed(page: Path, folder: Path) -> None:
    (folder / "page.json").write_text(json.dumps(blocks(page)), encoding="utf-8")
    command = [sys.executable, str(RUNNER), "page.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=env())

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("code", "want", "got", "same"),
    [
        ("n.reveal(eps=0.1)", "24496.0", "24470.0", True),
        ("n.reveal(eps=0.1)", "24496.0", "21000.0", False),
        ("n.error(eps=0.1)", "30.0", "31.0", False),
        ("df.shape", "(4, 2)", "(4, 3)", False),
        ("df.mean(eps=1)", "ward\nsurgery 4.66\nName: days", "ward\nsurgery 4.71\nName: days", True),
        ("df.mean(eps=1)", "ward\nsurgery 4.66\nName: days", "ward\nsurgery 4.71\nName: cost", False),
        ("verify", "newest: 13:0123456789abcdef", "newest: 13:fedcba9876543210", True),
        ("verify", "newest: 13:0123456789abcdef", "newest: 14:fedcba9876543210", False),
    ],
)
def test_printed_output_is_compared(code: str, want: str, got: str, same: bool) -> None:
    sys.path.insert(0, str(RUNNER.parent))
    from run_page import differs, is_noisy

    assert (differs(want, got, [is_noisy(code)]) is None) == same


@pytest.mark.parametrize("page", with_kind("json", "toml"), ids=ids(with_kind("json", "toml")))
def test_schemas_are_schemas(page: Path) -> None:
    from privjail.catalogue.schema import read_schema

    for kind, body in blocks(page):
        if kind in ("json", "toml"):
            read_schema(json.loads(body) if kind == "json" else tomllib.loads(body))


@pytest.mark.parametrize("page", with_kind("sh"), ids=ids(with_kind("sh")))
def test_commands_work(page: Path, folder: Path) -> None:
    found = blocks(page)
    for i, (kind, body) in enumerate(found):
        if kind != "sh":
            continue
        printed = "".join(command(line, folder) for line in body.splitlines() if line and not line.startswith("#"))
        if i + 1 < len(found) and found[i + 1][0] == "text":
            sys.path.insert(0, str(RUNNER.parent))
            from run_page import differs

            assert not differs(found[i + 1][1], printed), printed


def command(line: str, folder: Path) -> str:
    """Run a line of a page, or check that what it names exists. What it prints is returned."""
    words = shlex.split(line.partition("  #")[0])
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert words[1] in targets, line
    elif words[0] == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        named = re.search(r"\[(\w+)\]", line)
        assert named is None or named[1] in extras["optional-dependencies"], line
    elif words == [".venv/bin/pre-commit", "install"]:
        assert (ROOT / ".pre-commit-config.yaml").exists()
    elif words == ["source", ".venv/bin/activate"]:
        assert "-m venv .venv" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif words[0] in ("head", "echo", "printf"):  # they write a file
        subprocess.run(line, shell=True, cwd=folder, check=True)  # noqa: S602
    elif words[0] == ".ci/run":
        assert os.access(ROOT / ".ci" / "run", os.X_OK)
    elif words[0] == "python" and words[1] != "examples/patients.py":
        assert (ROOT / words[1]).exists(), line  # tests/examples runs these
    else:
        program = [str(ROOT / words[1])] if words[0] == "python" else ["-m", "privjail.curator", *words[1:]]
        assert words[0] in ("python", "privjail"), f"nobody checks this command: {line}"
        if words[1] in ("serve", "console"):
            return served([sys.executable, *program, "--port", "0"], folder)
        done = subprocess.run(
            [sys.executable, *program], cwd=folder, capture_output=True, text=True, timeout=600, env=env()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
    return ""


def served(args: list[str], folder: Path) -> str:
    """Start what serves until it is stopped, and stop it once it says where."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(args, cwd=folder, env=env(), **pipes) as process:
        line = process.stdout.readline()
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert " on " in line and not errors, errors
    return line


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
