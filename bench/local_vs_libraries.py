"""Error and speed of privjail.local beside pure-ldp and multi-freq-ldpy, at equal ε, in one run.

    python bench/local_vs_libraries.py [--rounds 4] [--people 5000] [--out FILE.md]

The other libraries are installed into an environment of their own; a library that does not install is
named and left out. Every library sees the same people. Errors are mean squared errors of one frequency,
averaged over rounds, with the standard error of that average. The others' clients take one value at a
time, so their k = 1,000 rounds are slow: rounds are few, and error bars say how few.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from privjail.local import Categories, KaryResponse, LocalHashing, Survey, Unary

PROTOCOLS = {"kary": KaryResponse.of, "unary": Unary.optimised, "hashing": LocalHashing.of}
# What each needs beside itself: pure-ldp imports two packages without asking for them, and both hash text
# in a way that xxhash 4 refuses.
RIVALS = {"pure-ldp": ["scikit-learn", "statsmodels", "xxhash<4"], "multi-freq-ldpy": ["xxhash<4"]}
SIZES = (10, 100, 1000)
RIVAL_SCRIPT = Path(__file__).with_name("local_rivals.py")


def population(k: int, kind: str) -> np.ndarray:
    """Zipf: a few frequent answers. Even: all nearly alike, where noise tempts an estimator most."""
    weights = 1 / np.arange(1, k + 1) if kind == "zipf" else np.ones(k)
    return weights / weights.sum()


def ours(values: np.ndarray, truth: np.ndarray, protocol: str, epsilon: float) -> dict[str, float]:
    channel = PROTOCOLS[protocol](Categories.numbered(len(truth)), epsilon)
    survey = Survey("", {"t": channel}, {"t": 1})
    reports = channel.draw(values)
    found = {}
    for method in ("unbiased", "shrunk", "ml"):
        if method == "ml" and protocol == "unary" and len(values) * len(truth) > 2e6:
            continue  # exact, but slow: reports all differ
        estimate = survey.estimate(reports, method=method)
        found[f"privjail {method}"] = float(((estimate.frequencies - truth) ** 2).mean())
    return found


def install(folder: Path) -> tuple[Path, list[str], dict[str, str]]:
    """An interpreter with whatever could be installed, and what could not, with pip's last line."""
    venv.create(folder, with_pip=True)
    python, ready, failed = folder / "bin" / "python", [], {}
    for package, beside in RIVALS.items():
        command = [str(python), "-m", "pip", "install", "--quiet", package, *beside]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            ready.append(package)
        else:
            failed[package] = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return python, ready, failed


def theirs(python: Path, package: str, task: dict[str, object], rounds: list[np.ndarray]) -> list[dict]:
    """One rival's estimates for each round, made in its own environment; none if it fails."""
    command = [str(python), str(RIVAL_SCRIPT), package, json.dumps(task)]
    text = json.dumps([values.tolist() for values in rounds])
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{package} fails at {task}: {done.stderr.strip().splitlines()[-1]}")
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def compare(python: Path, ready: list[str], rounds: int, people: int, epsilon: float) -> list[dict]:
    rows = []
    rng = np.random.default_rng(0)  # simulates people; every library adds its own noise
    for k in SIZES:
        for kind in ("zipf", "even"):
            truth = population(k, kind)
            for protocol in PROTOCOLS:
                surveys = [rng.choice(k, size=people, p=truth) for _ in range(rounds)]
                errors: dict[str, list[float]] = {}
                for values in surveys:
                    for name, error in ours(values, truth, protocol, epsilon).items():
                        errors.setdefault(name, []).append(error)
                for package in ready:
                    task = {"protocol": protocol, "k": k, "epsilon": epsilon}
                    for found in theirs(python, package, task, surveys):
                        for name, guess in found.items():
                            error = float(((np.array(guess) - truth) ** 2).mean())
                            errors.setdefault(f"{package} {name}", []).append(error)
                row = {"k": k, "people": kind, "protocol": protocol, "errors": errors}
                rows.append(row)
                print(describe(row), flush=True)
    return rows


def summary(errors: list[float]) -> tuple[float, float]:
    return float(np.mean(errors)), float(np.std(errors) / max(1, len(errors) - 1) ** 0.5)


def describe(row: dict) -> str:
    found = {name: summary(errors) for name, errors in row["errors"].items()}
    parts = [f"{name} {mean:.3g} ± {error:.1g}" for name, (mean, error) in found.items()]
    return f"k={row['k']} {row['people']} {row['protocol']}: " + "; ".join(parts)


def verdict(row: dict) -> bool:
    """Our best estimator is no worse than any of theirs, beyond three standard errors of the difference."""
    found = {name: summary(e) for name, e in row["errors"].items()}
    best = min(v for n, v in found.items() if n.startswith("privjail"))
    rivals = [v for n, v in found.items() if not n.startswith("privjail")]
    return all(best[0] <= r[0] + 3 * (best[1] ** 2 + r[1] ** 2) ** 0.5 for r in rivals)


def speed() -> list[str]:
    """Ten million reports, unbiased and by likelihood, for every protocol that keeps them in memory."""
    lines = []
    for k in (10, 100, 1000):
        values = np.random.default_rng(1).integers(0, k, size=10_000_000)
        for protocol, build in PROTOCOLS.items():
            if protocol == "unary" and k == 1000:
                continue  # 1.25 GB of reports: randomising them is the slow part, not estimating
            channel = build(Categories.numbered(k), 1)
            reports = channel.draw(values)
            survey = Survey("", {"t": channel}, {"t": 1})
            for method in ("unbiased", "ml"):
                if method == "ml" and protocol == "unary" and k > 16:
                    continue
                start = time.perf_counter()
                survey.estimate(reports, method=method)
                taken = time.perf_counter() - start
                lines.append(f"10,000,000 reports, k = {k}, {protocol}, {method}: {taken:.2f} s")
                print(lines[-1], flush=True)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--people", type=int, default=5000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--skip-speed", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python, ready, failed = install(Path(folder))
        for package, reason in failed.items():
            print(f"{package} does not install here: {reason}")
        rows = compare(python, ready, given.rounds, given.people, given.epsilon)
    timings = [] if given.skip_speed else speed()
    bad = [row for row in rows if not verdict(row)]
    print(f"{len(rows) - len(bad)} of {len(rows)} settings: no worse than {', '.join(ready) or 'nobody'}")
    if given.out:
        lines = [*(describe(row) for row in rows), *timings]
        given.out.write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
