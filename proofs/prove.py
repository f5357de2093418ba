"""Check every proof with Coq, and write docs/machine-checked.md: what `make prove` runs, with Python and Coq only."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "machine-checked.md"
PACKAGES = ("coq", "libcoq-coquelicot")
OCAML = ("ocaml-findlib", "libzarith-ocaml-dev")  # for the extracted checker
CHECKER = HERE / "build" / "certified_checker"

# In the order of the page. Each file may use those above it.
FILES = (
    "Distance",
    "Rows",
    "Slices",
    "Chains",
    "Windows",
    "Groups",
    "People",
    "Values",
    "Numbers",
    "Vectors",
    "Certified",
    "Cells",
    "Budget",
    "Forms",
    "Laws",
    "Laplace",
    "NoisyMax",
    "Choices",
    "PermuteAndFlip",
    "NoisyMaxAsDrawn",
    "RealLaplace",
    "RealNoisyMax",
    "AboveThreshold",
    "PrivateKeys",
    "Composition",
    "Samples",
    "Blocks",
    "Gaussian",
)

# Tables, cells, the budget and the certified checker: every statement of these rests on nothing at all.
WITHOUT_AXIOMS = FILES[: FILES.index("Forms") + 1]

# Elsewhere: what the standard library's real numbers rest on, and nothing else.
ALLOWED_AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
FORBIDDEN = re.compile(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|give_up|bypass_check|Unset Guard Checking)\b")


@dataclass(frozen=True)
class Theorem:
    """One statement: where it stands, what it says, what it is about, and the words above it."""

    file: str
    line: int
    kind: str
    name: str
    statement: str
    ops: tuple[str, ...]
    mechanisms: tuple[str, ...]
    words: str

    @property
    def full(self) -> str:
        return f"{self.file}.{self.name}"


STATEMENT = re.compile(r"^(Theorem|Corollary|Example) (\w+)(.*?)\.\n(?=Proof)", re.M | re.S)
MARKS = re.compile(r"\(\*\s*(op|mechanism):\s*([^*]*?)\s*\*\)")
WORDS = re.compile(r"\(\*\*\s*(.*?)\s*\*\)\s*(?:\(\*\s*(?:op|mechanism):[^*]*\*\)\s*)*$", re.S)


def theorems(name: str) -> list[Theorem]:
    """The theorems, corollaries and examples of one file."""
    text = (HERE / f"{name}.v").read_text(encoding="utf-8")
    found = []
    for match in STATEMENT.finditer(text):
        above = text[: match.start()].rpartition("\n\n")[2]
        marks = [(what, name) for what, names in MARKS.findall(above) for name in names.split()]
        words = WORDS.search(above)
        found.append(
            Theorem(
                name,
                text.count("\n", 0, match.start()) + 1,
                match[1],
                match[2],
                match[0].strip(),
                tuple(mark for what, mark in marks if what == "op"),
                tuple(mark for what, mark in marks if what == "mechanism"),
                " ".join(words[1].split()) if words else "",
            )
        )
    return found


def without_comments(text: str) -> str:
    """Coq's comments may be nested."""
    out, depth, i = [], 0, 0
    while i < len(text):
        pair = text[i : i + 2]
        if pair == "(*":
            depth, i = depth + 1, i + 2
        elif pair == "*)" and depth:
            depth, i = depth - 1, i + 2
        else:
            if not depth:
                out.append(text[i])
            i += 1
    return "".join(out)


def shortcuts(text: str) -> list[str]:
    """Words by which a file would assume what it should prove."""
    return [match[0] for match in FORBIDDEN.finditer(without_comments(text))]


def find_coq(install: bool) -> str | None:
    """Coq's compiler, if Coquelicot is there too; both are installed from Debian's packages if allowed and wanted."""
    coqc = complete_coq()
    if coqc is None and install and shutil.which("apt-get") and os.geteuid() == 0:
        print(f"installing {' and '.join(PACKAGES)} …")
        run = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES, *OCAML]
        if subprocess.run(run, stdout=subprocess.DEVNULL).returncode:
            subprocess.run(["apt-get", "update", "-qq"], stdout=subprocess.DEVNULL)
            subprocess.run(run, stdout=subprocess.DEVNULL)
        coqc = complete_coq()
    return coqc


def complete_coq() -> str | None:
    coqc = shutil.which("coqc")
    if coqc is None:
        return None
    where = subprocess.run([coqc, "-where"], capture_output=True, text=True).stdout.strip()
    return coqc if (Path(where) / "user-contrib" / "Coquelicot").is_dir() else None


def compile_file(coqc: str, folder: Path, name: str) -> str:
    """Check one file; returns what Coq says if it refuses."""
    run = [coqc, "-q", "-Q", str(folder), "PrivJail", str(folder / f"{name}.v")]
    done = subprocess.run(run, capture_output=True, text=True, cwd=folder)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check_all(coqc: str) -> None:
    """Check the files that changed, and those that come after them."""
    stale = False
    for name in FILES:
        source, result = HERE / f"{name}.v", HERE / f"{name}.vo"
        stale = stale or not result.exists() or result.stat().st_mtime < source.stat().st_mtime
        bad = shortcuts(source.read_text(encoding="utf-8"))
        if bad:
            sys.exit(f"proofs/{name}.v assumes what it should prove: {', '.join(bad)}")
        if stale:
            print(f"checking proofs/{name}.v", flush=True)
            trouble = compile_file(coqc, HERE, name)
            if trouble:
                sys.exit(trouble)


def assumptions(coqc: str, found: list[Theorem]) -> dict[str, tuple[str, ...]]:
    """What each theorem rests on, as Coq prints it: nothing, or the names of axioms.

    All theorems of a file are looked at together first: if they rest on nothing together, each of them does.
    """
    by_file: dict[str, list[Theorem]] = {}
    for each in found:
        by_file.setdefault(each.file, []).append(each)
    together = printed(coqc, {name: [each.full for each in those] for name, those in by_file.items()})
    out = {each.full: () for each in found if not together[each.file]}
    rest = {each.full: [each.full] for each in found if together[each.file]}
    return out | (printed(coqc, rest) if rest else {})


def printed(coqc: str, wanted: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """`Print Assumptions` of some theorems at once, for each name."""
    lines = [f"From PrivJail Require {' '.join(FILES)}."]
    for i, (name, those) in enumerate(wanted.items()):
        lines.append(f"Definition all_{i} := ({', '.join('@' + each for each in those)}, tt).")
        lines += [f'Goal True. idtac "@@ {name}". exact I. Qed.', f"Print Assumptions all_{i}."]
    work = HERE / "Assumptions_printed.v"
    work.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        run = [coqc, "-q", "-Q", str(HERE), "PrivJail", str(work)]
        done = subprocess.run(run, capture_output=True, text=True, cwd=HERE)
    finally:
        for left in [*HERE.glob("Assumptions_printed.*"), HERE / ".Assumptions_printed.aux"]:
            left.unlink(missing_ok=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return read_assumptions(done.stdout)


def read_assumptions(printed: str) -> dict[str, tuple[str, ...]]:
    """The names of axioms below each theorem in Coq's output."""
    out: dict[str, tuple[str, ...]] = {}
    for part in printed.split("@@ ")[1:]:
        name, _, rest = part.partition("\n")
        closed = "Closed under the global context" in rest
        axioms = re.findall(r"^([A-Za-z_][\w.']*)(?= *:|$)", rest.partition("Axioms:")[2], re.M)
        if not closed and not axioms:
            sys.exit(f"what Coq prints for {name} is not understood:\n{rest}")
        out[name.strip()] = () if closed else tuple(axioms)
    return out


def not_allowed(rests_on: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The theorems that rest on what they may not, and on what."""
    out = {}
    for name, axioms in rests_on.items():
        allowed = set() if name.partition(".")[0] in WITHOUT_AXIOMS else ALLOWED_AXIOMS
        if alien := sorted(set(axioms) - allowed):
            out[name] = alien
    return out


def build_checker(coqc: str) -> str:
    """Write the checker of Certified.v as OCaml and compile it; returns what went wrong."""
    if shutil.which("ocamlfind") is None:
        return f"OCaml is not installed: sudo apt install {' '.join(OCAML)}"
    folder = CHECKER.parent
    folder.mkdir(exist_ok=True)
    for source in (HERE / "checker").iterdir():
        shutil.copy(source, folder)
    for run in (
        [coqc, "-q", "-Q", str(HERE), "PrivJail", "Extract.v"],
        ["ocamlfind", "ocamlopt", "-w", "-a", "-package", "zarith", "-linkpkg", "certified.mli", "certified.ml",
         "main.ml", "-o", CHECKER.name],
    ):  # fmt: skip
        done = subprocess.run(run, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            return f"{done.stdout}{done.stderr}\nNeeded: {' '.join(OCAML)}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-install", action="store_true", help="never install packages")
    parser.add_argument("--page", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    coqc = find_coq(not options.no_install)
    if coqc is None:
        sys.exit(
            "Coq with Coquelicot is not installed, and may not be installed from here.\n"
            f"On Debian and Ubuntu: sudo apt install {' '.join(PACKAGES)}. Then run make prove again."
        )
    check_all(coqc)
    trouble = build_checker(coqc)
    print(f"the certified checker was not built: {trouble}" if trouble else f"built {CHECKER}")
    found = [each for name in FILES for each in theorems(name)]
    rests_on = assumptions(coqc, found)
    if alien := not_allowed(rests_on):
        sys.exit(f"these theorems rest on axioms that are not allowed there: {alien}")
    from page import write

    write(options.page, found, rests_on)
    print(f"{len(found)} statements are proved; {options.page} says what they rest on")


if __name__ == "__main__":
    main()
