"""Known bugs in packages that are published: found again by running the package's own code.

Each package is installed from PyPI into an environment of its own, draws there (published_draws.py), and is judged here
while it draws: by the exact checker, or by the sequential auditor, which stops as soon as the claim is refuted. Beside
the bugs stand controls: what our tools must not refute. A package that cannot be installed is reported as such; that is
no failure.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import pstdev
from typing import Any

from privjail.errors import PlanError
from privjail.verify.checks.blackbox import Bound, lower_bound
from privjail.verify.checks.row import Watch
from privjail.verify.checks.sequential import refute_stream
from privjail.verify.laws import closed_forms

DRAWS = Path(__file__).with_name("published_draws.py")
OPENDP = ("opendp==0.16.0",)
POLARS = ("opendp[polars]==0.16.0",)
PRIVJAIL = ("privjail==0.1.2",)
DIFFPRIVLIB = ("diffprivlib==0.6.6", "scikit-learn<1.6")  # it does not start beside newer ones
SMARTNOISE = ("smartnoise-sql==1.0.10",)
PYDP = ("python-dp==1.1.5",)
CORE = ("tmlt.core==0.20.0",)
ANALYTICS = ("tmlt.analytics==0.21.0",)  # it starts Spark, which needs Java
Found = dict[str, Any]  # what is claimed, and "rounds": pairs of outputs on two neighbouring inputs, as they come
LEARNED = 1_000  # rounds that the auditor learns from, at most a third of all


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
    about: str
    what: str
    known: str
    samples: int
    judge: Callable[[Found], Judged]
    wrong: bool = True
    adapters: str = ""  # a file of them, instead of ours

    @property
    def package(self) -> str:
        return self.needs[0].replace("==", " ") if self.needs else Path(self.adapters).name


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


def _clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}


def _run(command: list[str], seconds: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds, env=_clean())
    return done.stdout


def judged(case: Case, seconds: float = 600) -> Finding:
    """Let the package draw, and judge."""
    python, reason = environment(case.needs, seconds)
    if python is None:
        return Finding(case, None, reason)
    command = [str(python), "-I", str(DRAWS), case.draws, str(case.samples), *filter(None, [case.adapters])]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,  # what a package writes beside itself
        tempfile.TemporaryFile("w+") as told,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=_clean(), cwd=folder) as process,
    ):
        late = threading.Timer(seconds, process.kill)
        late.start()
        ends = time.monotonic() + seconds
        try:
            assert process.stdout is not None
            claim = process.stdout.readline()
            if claim:
                rounds = (pair for line in process.stdout for pair in zip(*json.loads(line), strict=True))
                return Finding(case, case.judge({**json.loads(claim), "samples": case.samples, "rounds": rounds}))
            told.seek(0)
            reason = (told.read().strip().splitlines() or ["no reason given"])[-1]
        except (PlanError, ValueError) as error:  # it ended too early
            told.seek(0)
            reason = (told.read().strip().splitlines() or [str(error)])[-1]
        finally:
            late.cancel()
            process.kill()
        return Finding(case, None, reason if time.monotonic() < ends else f"not finished within {seconds:.0f} s")


def bound(found: Found) -> Bound:
    left, right = found["outputs"]
    return lower_bound(
        lambda side, _: found["outputs"][side], 0, 1, samples=min(len(left), len(right)),
        delta=found.get("delta", 0.0), claimed=found["epsilon"], many=True,
    )  # fmt: skip


def black_box(found: Found) -> Judged:
    """The sequential auditor: it reads no further than it must."""
    n = found["samples"]
    learned = min(LEARNED, n // 3)
    delta = found.get("delta", 0.0)
    audit = refute_stream(
        found["rounds"], epsilon=found["epsilon"], delta=delta, rounds=n - learned, learned=learned
    )  # fmt: skip
    if audit.rounds < n - learned and not audit.refuted:
        raise PlanError(f"{n - learned} rounds were asked for, {audit.rounds} came")
    claim = f"ε = {found['epsilon']:.4g}" + (f", δ = {delta:.4g}" if delta else "")
    seen = f"{audit.hits[0]} times on one input, {audit.hits[1]} on its neighbour ({audit.event})"
    text = f"sequential auditor, claim {claim}: {audit.rounds} rounds; the best event came {seen}"
    return Judged(audit.refuted, text)


def drawn(found: Found) -> Found:
    """All rounds, as two lists."""
    return {**found, "outputs": [list(side) for side in zip(*found["rounds"], strict=True)]}


def threshold(found: Found) -> Judged:
    """The exact δ of a histogram with noise of scale 1 that shows counts from 3 on, and what the black box sees."""
    from privjail.verify.checks.fit import fits
    from privjail.verify.laws.intervals import ball_decay, lower, precision

    found = drawn(found)
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

    found = drawn(found)
    with precision():
        delta = gaussian_delta(Fraction(found["sigma"]), Fraction(found["epsilon"]))
        over, low = bool(delta > ball(Fraction(found["delta"]))), lower(delta)
    wide = max(abs(pstdev(side) / found["sigma"] - 1) for side in found["outputs"])  # 10 %: beyond six deviations
    text = f"intervals: δ ≥ {low:.3g} with its σ = {found['sigma']:.4f}, claimed {found['delta']:g} at "
    text += f"ε = {found['epsilon']:g}; its draws are {'that wide' if wide < 0.1 else '**not** that wide'}"
    return Judged(over and wide < 0.1, text)


def noisy_max(found: Found) -> Judged:
    """Which law noisy max follows under zCDP, and whether its ρ is true of that law."""
    from privjail.verify.checks.refuted import SCORES, holds_rho, laws_followed

    found = drawn(found)
    streams = {scores: iter(side) for scores, side in zip(SCORES, found["outputs"], strict=True)}
    runs = laws_followed(lambda scores: next(streams[tuple(scores)]), len(found["outputs"][0]))
    kept, _ = holds_rho(closed_forms.exponential, Fraction(found["rho"]))
    text = f"its draws follow {' and '.join(sorted(runs)) or 'neither law'} (of Gumbel, permute and flip), "
    text += f"for which ρ = {found['rho']:g} {'holds' if kept else 'is not certified'}"
    return Judged(runs != {"Gumbel"} or kept is not True, text)


LAWS, FLOATS, MISSING, OVERFLOW = "laws", "floating point", "missing values", "overflow and bounds"
GROUPS, ORDER, TRUNCATION, COMPOSITION = "groups", "order", "truncation", "composition"
OPENDP_ISSUE = "[opendp#{0}](https://github.com/opendp/opendp/issues/{0})"
OURSELVES = "found here"
CONTROL = "control"

CASES = [
    Case("opendp_threshold", OPENDP, GROUPS, "`then_laplace_threshold(1, 3)`: its δ leaves out counts at the threshold",
         OPENDP_ISSUE.format(2922) + ", V-13", 4_000, threshold),
    Case("opendp_cut", POLARS, ORDER, "sum of `cut().to_physical()` in Polars: the codes depend on the order of rows",
         OPENDP_ISSUE.format(2944) + ", V-17", 1_000, black_box),
    Case("opendp_length", POLARS, TRUNCATION, "grouped sum with `max_length=3` in Polars: three rows out, three in are "
         "six edits", OPENDP_ISSUE.format(2945) + ", V-11", 3_000, black_box),
    Case("opendp_fill_null", POLARS, MISSING, "`fill_null(nan)` in Polars: the column is still said to have no NaN",
         OPENDP_ISSUE.format(2936) + ", V-16", 1_000, black_box),
    Case("opendp_float32", POLARS, OVERFLOW, "`cast(Float32)` in Polars: the sum is computed in 32 bits, its "
         "sensitivity in 64", OPENDP_ISSUE.format(2941) + ", V-10", 1_500, black_box),
    Case("opendp_deviations", OPENDP, FLOATS, "`make_sum_of_squared_deviations` of values near 2⁵⁰: the mean is "
         "rounded", OPENDP_ISSUE.format(2923) + ", V-8", 8_000, black_box),
    Case("privjail_gaussian", PRIVJAIL, LAWS, "`gaussian_mechanism(eps=10, delta=1e-5)`: the textbook σ, which needs "
         "ε < 1", "[Balle and Wang 2018](https://arxiv.org/abs/1805.06530), V-14", 4_000, gaussian),
    Case("privjail_laplace", PRIVJAIL, FLOATS, "`laplace_mechanism(eps=1)`: floating-point noise gives the input away",
         "[Mironov 2012](https://doi.org/10.1145/2382196.2382264), V-1, V-2", 6_000, black_box),
    Case("privjail_assign", PRIVJAIL, OVERFLOW, "`df[\"x\"] = 1000.0`: the column keeps its range [0, 1], so its sum "
         "gets too little noise", f"{OURSELVES}, V-10", 1_000, black_box),
    Case("diffprivlib_laplace", DIFFPRIVLIB, FLOATS, "`Laplace(epsilon=1)`: the last digits of the sum give the input "
         "away", "[Haney et al. 2022](https://arxiv.org/abs/2207.13793), V-2", 6_000, black_box),
    Case("diffprivlib_mean", DIFFPRIVLIB, MISSING, "`tools.mean(epsilon=1, bounds=…)`: a missing value makes the "
         "answer NaN", "[Cebere et al. 2026](https://arxiv.org/abs/2602.17454), V-16", 1_000, black_box),
    Case("diffprivlib_overflow", DIFFPRIVLIB, OVERFLOW, "`tools.sum(…, dtype=np.int8)`: the sum overflows, its "
         "sensitivity does not", "[Casacuberta et al. 2022](https://arxiv.org/abs/2207.10635), V-7", 3_000, black_box),
    Case("smartnoise_odometer", SMARTNOISE, COMPOSITION, "`Odometer.spent` after a hundred releases: δ·(1 − δ) is "
         "reported, which falls as δ grows", f"{OURSELVES}, V-40", 3_000, black_box),
    Case("opendp_noisy_max", OPENDP, LAWS, "`make_noisy_max` under zCDP, ρ = ε²/8", f"{CONTROL}: "
         f"{OPENDP_ISSUE.format(2911)}, V-12, is not true of this build", 3_000, noisy_max, wrong=False),
    Case("opendp_laplace", OPENDP, FLOATS, "`make_laplace` on floats", CONTROL, 3_000, black_box, wrong=False),
    Case("opendp_saturates", OPENDP, OVERFLOW, "`make_sum` of 32-bit numbers beyond their range", CONTROL, 3_000,
         black_box, wrong=False),
    Case("diffprivlib_geometric", DIFFPRIVLIB, LAWS, "`Geometric(epsilon=1)`", CONTROL, 3_000, black_box, wrong=False),
    Case("smartnoise_count", SMARTNOISE, LAWS, "`COUNT(*)`", CONTROL, 3_000, black_box, wrong=False),
    Case("smartnoise_sum", SMARTNOISE, OVERFLOW, "`SUM(x)`, a value outside the bounds", CONTROL, 3_000, black_box,
         wrong=False),
    Case("smartnoise_missing", SMARTNOISE, MISSING, "`AVG(x)`, a missing value", CONTROL, 3_000, black_box,
         wrong=False),
    Case("smartnoise_groups", SMARTNOISE, GROUPS, "`GROUP BY` with a threshold, δ = 0.05", CONTROL, 3_000, black_box,
         wrong=False),
    Case("pydp_count", PYDP, LAWS, "`Count`", CONTROL, 3_000, black_box, wrong=False),
    Case("pydp_sum", PYDP, FLOATS, "`BoundedSum` of floats", CONTROL, 3_000, black_box, wrong=False),
    Case("pydp_overflow", PYDP, OVERFLOW, "`BoundedSum` of 64-bit numbers beyond their range", CONTROL, 3_000,
         black_box, wrong=False),
    Case("pydp_missing", PYDP, MISSING, "`BoundedMean`, a missing value", CONTROL, 3_000, black_box, wrong=False),
    Case("pydp_infinite", PYDP, OVERFLOW, "`BoundedSum`, an infinite value", CONTROL, 3_000, black_box, wrong=False),
    Case("pydp_empty", PYDP, GROUPS, "`BoundedVariance` of nothing", CONTROL, 3_000, black_box, wrong=False),
    Case("core_laplace", CORE, FLOATS, "`AddLaplaceNoise` on floats", CONTROL, 3_000, black_box, wrong=False),
    Case("core_geometric", CORE, LAWS, "`AddGeometricNoise`", CONTROL, 3_000, black_box, wrong=False),
    Case("analytics_count", ANALYTICS, GROUPS, "`groupby(keys).count()`, groups that are absent", CONTROL, 900,
         black_box, wrong=False),
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
