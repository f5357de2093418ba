"""Known bugs in packages that are published: found again by running the package's own code.

Each package is installed from PyPI into an environment of its own, draws there (published_draws.py), and is judged here
by the exact checker, the black box, or both. Beside the bugs stand controls: what our tools must not refute. A package
that cannot be installed is reported as such; that is no failure.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import pstdev
from typing import Any

from privjail.verify.checks.blackbox import Bound, lower_bound
from privjail.verify.checks.row import Watch
from privjail.verify.laws import closed_forms

DRAWS = Path(__file__).with_name("published_draws.py")
OPENDP = ("opendp==0.16.0",)
POLARS = ("opendp[polars]==0.16.0",)
PRIVJAIL = ("privjail==0.1.2",)
DIFFPRIVLIB = ("diffprivlib==0.6.6", "scikit-learn<1.6")  # it does not start beside newer ones
Found = dict[str, Any]


@dataclass(frozen=True)
class Judged:
    """Whether the claim is refuted, and what was found."""

    refuted: bool
    found: str


@dataclass(frozen=True)
class Case:
    """One claim of one package; ``wrong``: whether it is known to be false."""

    draws: str
    needs: tuple[str, ...]
    what: str
    known: str
    samples: int
    judge: Callable[[Found], Judged]
    wrong: bool = True

    @property
    def package(self) -> str:
        return self.needs[0].replace("==", " ")


@dataclass(frozen=True)
class Finding:
    """A case, and what was said of it; None: the package could not be run."""

    case: Case
    judged: Judged | None
    reason: str = ""

    @property
    def good(self) -> bool:
        return self.judged is None or self.judged.refuted == self.case.wrong


def place() -> Path:
    """The folder of the environments; they are kept, so that they are made once."""
    return Path(os.environ.get("PRIVJAIL_PUBLISHED", Path(tempfile.gettempdir(), "privjail-published")))


def environment(needs: tuple[str, ...], seconds: float = 600) -> tuple[Path | None, str]:
    """An interpreter that has these packages; or none, and the reason."""
    if _here(needs):
        return Path(sys.executable), ""
    folder = place() / "+".join(needs).translate(str.maketrans("[]<=>", "-----"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    python, ready = folder / "bin" / "python", folder / "ready"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not ready.exists():
                _run([sys.executable, "-m", "venv", "--clear", str(folder)], seconds)
                _run(install, seconds)
                ready.touch()
        except subprocess.TimeoutExpired:
            return None, f"not installed within {seconds:.0f} s"
        except subprocess.CalledProcessError as e:
            return None, (e.stderr.strip().splitlines() or ["no reason given"])[-1]
    return python, ""


def _here(needs: tuple[str, ...]) -> bool:
    """Whether this interpreter has exactly these versions."""
    try:
        return all(version(name) == wanted for name, _, wanted in (need.partition("==") for need in needs))
    except PackageNotFoundError:
        return False


def _run(command: list[str], seconds: float) -> str:
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds, env=clean)
    return done.stdout


def judged(case: Case, seconds: float = 600) -> Finding:
    """Draw from the package, and judge."""
    python, reason = environment(case.needs, seconds)
    if python is None:
        return Finding(case, None, reason)
    try:
        printed = _run([str(python), "-I", str(DRAWS), case.draws, str(case.samples)], seconds)
        return Finding(case, case.judge(json.loads(printed.splitlines()[-1])))
    except subprocess.TimeoutExpired:
        return Finding(case, None, f"no draws within {seconds:.0f} s")
    except subprocess.CalledProcessError as e:
        return Finding(case, None, (e.stderr.strip().splitlines() or ["no reason given"])[-1])


def bound(found: Found) -> Bound:
    left, right = found["outputs"]
    return lower_bound(
        lambda side, _: found["outputs"][side], 0, 1, samples=min(len(left), len(right)),
        delta=found.get("delta", 0.0), claimed=found["epsilon"], many=True,
    )  # fmt: skip


def black_box(found: Found) -> Judged:
    """A lower bound on ε from the outputs alone."""
    said = bound(found)
    a, b = said.hits
    shown = (
        f"black box: ε ≥ {said.epsilon:.2f}, claimed {found['epsilon']:g} ({said.event}: {a} of {said.tested} on one "
    )
    return Judged(said.epsilon > found["epsilon"], shown + f"input, {b} on its neighbour)")


def threshold(found: Found) -> Judged:
    """The exact δ of a histogram with noise of scale 1 that shows counts from 3 on, and what the black box sees."""
    from privjail.verify.checks.fit import fits
    from privjail.verify.laws.intervals import ball_decay, lower, precision

    with precision():
        delta = lower(closed_forms.histogram_delta(3, ball_decay(Fraction(1))))
    shown = sum(x is not None for x in found["outputs"][0])
    tied = fits([shown, len(found["outputs"][0]) - shown], [delta, 1 - delta])
    said, claim = bound({**found, "delta": 0.0}), found["delta"]
    text = f"exact law: δ ≥ {delta:.4f}, claimed {claim:.4f} at ε = {found['epsilon']:g}; its draws "
    text += f"{'follow' if tied else '**do not follow**'} that law; black box: δ ≥ {said.delta:.4f}"
    return Judged(tied and delta > claim and said.delta > claim, text)


def gaussian(found: Found) -> Judged:
    """The exact δ of Gaussian noise with the σ that the package computes and draws with."""
    from privjail.verify.laws.intervals import ball, gaussian_delta, lower, precision

    with precision():
        delta = gaussian_delta(Fraction(found["sigma"]), Fraction(found["epsilon"]))
        over, low = bool(delta > ball(Fraction(found["delta"]))), lower(delta)
    wide = max(abs(pstdev(drawn) / found["sigma"] - 1) for drawn in found["outputs"])  # 10 %: beyond six deviations
    text = f"intervals: δ ≥ {low:.3g} with its σ = {found['sigma']:.4f}, claimed {found['delta']:g} at "
    text += f"ε = {found['epsilon']:g}; its draws are {'that wide' if wide < 0.1 else '**not** that wide'}"
    return Judged(over and wide < 0.1, text)


def noisy_max(found: Found) -> Judged:
    """Which law noisy max follows under zCDP, and whether its ρ is true of that law."""
    from privjail.verify.checks.refuted import SCORES, holds_rho, laws_followed

    streams = {scores: iter(drawn) for scores, drawn in zip(SCORES, found["outputs"], strict=True)}
    runs = laws_followed(lambda scores: next(streams[tuple(scores)]), len(found["outputs"][0]))
    kept, _ = holds_rho(closed_forms.exponential, Fraction(found["rho"]))
    text = f"its draws follow {' and '.join(sorted(runs)) or 'neither law'} (of Gumbel, permute and flip), "
    text += f"for which ρ = {found['rho']:g} {'holds' if kept else 'is not certified'}"
    return Judged(runs != {"Gumbel"} or kept is not True, text)


CASES = [
    Case("opendp_threshold", OPENDP, "`then_laplace_threshold(1, 3)`: its δ leaves out counts at the threshold",
         "[opendp#2922](https://github.com/opendp/opendp/issues/2922), V-13", 4_000, threshold),
    Case("opendp_cut", POLARS, "sum of `cut().to_physical()` in Polars: the codes depend on the order of rows",
         "[opendp#2944](https://github.com/opendp/opendp/issues/2944), V-17", 1_000, black_box),
    Case("opendp_length", POLARS, "grouped sum with `max_length=3` in Polars: three rows out, three in are six edits",
         "[opendp#2945](https://github.com/opendp/opendp/issues/2945), V-11", 3_000, black_box),
    Case("privjail_gaussian", PRIVJAIL, "`gaussian_mechanism(eps=10, delta=1e-5)`: the textbook σ, which needs ε < 1",
         "V-14", 4_000, gaussian),
    Case("privjail_laplace", PRIVJAIL, "`laplace_mechanism(eps=1)`: floating-point noise gives the input away",
         "[Mironov 2012](https://doi.org/10.1145/2382196.2382264), V-1, V-2", 6_000, black_box),
    Case("diffprivlib_laplace", DIFFPRIVLIB, "`Laplace(epsilon=1)`: the last digits of the sum give the input away",
         "[Haney et al. 2022](https://arxiv.org/abs/2207.13793), V-2", 6_000, black_box),
    Case("diffprivlib_mean", DIFFPRIVLIB, "`tools.mean(epsilon=1, bounds=…)`: a missing value makes the answer NaN",
         "[Cebere et al. 2026](https://arxiv.org/abs/2602.17454), V-16", 1_000, black_box),
    Case("opendp_noisy_max", OPENDP, "`make_noisy_max` under zCDP, ρ = ε²/8", "control: "
         "[opendp#2911](https://github.com/opendp/opendp/issues/2911), V-12, is not true of this build", 3_000,
         noisy_max, wrong=False),
    Case("opendp_laplace", OPENDP, "`make_laplace` on floats", "control", 6_000, black_box, wrong=False),
    Case("diffprivlib_geometric", DIFFPRIVLIB, "`Geometric(epsilon=1)`", "control", 6_000, black_box, wrong=False),
]  # fmt: skip


def findings(watch: Watch, seconds: float = 600) -> list[Finding]:
    """Every case; packages that cannot be installed are asked for once."""
    found: list[Finding] = []
    missing: dict[tuple[str, ...], str] = {}
    for case in CASES:
        if case.needs in missing:
            found.append(Finding(case, None, missing[case.needs]))
        else:
            found.append(judged(case, seconds))
            if found[-1].judged is None:
                missing[case.needs] = found[-1].reason
        watch()
    return found
