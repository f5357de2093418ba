"""All proofs checked by Coq, and the certified checker built: once for all tests of a run, and all processes of it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"
sys.path.insert(0, str(PROOFS))
import prove  # noqa: E402

# What the certified checker is made of: the files up to its own, and what reads the certificates.
PARTS = prove.FILES[: prove.FILES.index("Certified") + 1]


def shared(folders: pytest.TempPathFactory) -> Path:
    """A folder for all processes of this run: with pytest-xdist each has its own below it."""
    own = folders.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def checked_proofs(folder: Path, proofs: Path = PROOFS) -> Path:
    """Check all proofs below this folder. Whoever comes first does it, the others wait for the same result."""
    with (folder / "proofs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = folder / "checked"
        said, place = root / "said", root / "proofs"
        if not said.exists():
            shutil.rmtree(root, ignore_errors=True)  # of a process that was stopped
            place.mkdir(parents=True)
            (root / "src").symlink_to(ROOT / "src")  # the page names the files of the rules
            for path in [*proofs.glob("*.v"), *proofs.glob("*.py")]:
                shutil.copy(path, place)
            shutil.copytree(proofs / "checker", place / "checker")
            run = [sys.executable, str(place / "prove.py"), "--no-install", "--page", str(place / "page.md")]
            done = subprocess.run(run, capture_output=True, text=True, timeout=1800)
            said.write_text(f"{done.returncode}\n{done.stdout}{done.stderr}", encoding="utf-8")
    code, _, words = said.read_text(encoding="utf-8").partition("\n")
    assert code == "0", words
    return place


def no_coq() -> str | None:
    """Why the proofs cannot be checked here."""
    missing = prove.find_coq(install=False) is None
    return f"Coq with Coquelicot is not installed: apt install {' '.join(prove.PACKAGES)}" if missing else None


def no_tools() -> str | None:
    """Why the certified checker cannot be built here. Where it can be, a test that needs it must not be skipped."""
    missing = shutil.which("ocamlfind") is None
    return no_coq() or (f"OCaml is not installed: apt install {' '.join(prove.OCAML)}" if missing else None)


def up_to_date(program: Path) -> bool:
    """Whether a program was built after the last change of what it is made of."""
    sources = [*(PROOFS / f"{name}.v" for name in PARTS), *(PROOFS / "checker").iterdir()]
    return program.is_file() and program.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


def built_in(proofs: Path) -> Path:
    """The certified checker among checked proofs. It is an error if it is not there."""
    program = proofs / "build" / prove.CHECKER.name
    said = proofs.parent / "said"
    if not program.is_file():
        words = said.read_text(encoding="utf-8") if said.exists() else ""
        pytest.fail(f"Coq and OCaml are installed, and the certified checker was not built: {words}")
    return program


def already_built(folders: pytest.TempPathFactory) -> Path | None:
    """The certified checker, if `make prove` or a test of this run has built it; nothing is built here."""
    found = shared(folders) / "checked" / "proofs" / "build" / prove.CHECKER.name
    if (shared(folders) / "checked" / "said").exists() and found.is_file():
        return found
    return prove.CHECKER if up_to_date(prove.CHECKER) else None
