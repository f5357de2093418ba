"""Error and speed of privjail.local beside pure-ldp and multi-freq-ldpy, at equal ε, in one run.

    python bench/local_vs_libraries.py [--quick] [--rounds-factor 1] [--rivals FOLDER] [--fresh]

Their libraries go into an environment of their own (build/local-rivals, or --rivals); one that does not install
is named and everything else still runs. Finished settings are kept in build/, so a stopped run goes on
where it was; --fresh forgets them. Writes docs/local-benchmarks.md and its plot.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np
from local_page import write_page
from local_speed import speed
from rich.progress import Progress

from privjail.local import Categories, KaryResponse, LocalHashing, Survey, Unary
from privjail.local.estimation.smooth import FEW, Counts, posterior_mean

ROOT = Path(__file__).parents[1]
PROTOCOLS = {"kary": KaryResponse.of, "unary": Unary.optimised, "hashing": LocalHashing.of}
# What they import without asking for it, and the last xxhash that hashes text as they do.
BESIDE = ["scikit-learn", "statsmodels", "xxhash<4"]
ROUNDS = {2: 30, 10: 30, 100: 15, 1000: 5}
PEOPLE, EPSILONS = (1000, 10_000), (0.5, 1.0, 2.0, 4.0)
BATCH = 48
SAME = 0.001  # for two answers all are the same formula, up to where EM stops: no difference to speak of
SHAPES = ("zipf", "even", "peaked", "geometric", "half empty", "two levels")
WHOLE = [(p, k) for k in (10, 100) for p in PROTOCOLS]


def population(k: int, shape: str) -> np.ndarray:
    place = np.arange(k)
    weights = {
        "zipf": 1 / (place + 1.0),
        "even": np.ones(k),
        "peaked": np.where(place == 0, max(k - 1.0, 9.0), 1.0),
        "geometric": 0.8**place,
        "half empty": (place < max(1, k // 2)).astype(float),
        "two levels": np.where(place < max(1, k // 10), 9.0, 1.0),
    }[shape]
    return weights / weights.sum()


def install(folder: Path) -> tuple[Path | None, str]:
    """An interpreter with both libraries; or none, and pip's reason."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "pure-ldp", "multi-freq-ldpy", *BESIDE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return python, ""


def settings(quick: bool) -> list[dict]:
    cells = [
        {"protocol": p, "k": k, "epsilon": e, "n": n, "shape": s, "whole": False}
        for k, p, e, n, s in product(ROUNDS, ("kary", "unary"), EPSILONS, PEOPLE, SHAPES)
        if not quick or (e in (0.5, 2.0) and n == PEOPLE[1])
    ]
    whole = [{"protocol": p, "k": k, "epsilon": 1.0, "n": 2000, "shape": "zipf", "whole": True} for p, k in WHOLE]
    return cells + whole


def measure(cell: dict, rounds: int, seed: list[int]) -> tuple[np.ndarray, dict]:
    """Our errors for each round, and what the others get: the same counts (or the same people)."""
    rng = np.random.default_rng(seed)  # simulates people; for counts also noise, by the exact law
    k, n, truth = cell["k"], cell["n"], population(cell["k"], cell["shape"])
    channel = PROTOCOLS[cell["protocol"]](Categories.numbered(k), cell["epsilon"])
    survey = Survey("", {"t": channel}, {"t": 1})
    p, q = (float(rate) for rate in channel.rates)
    ours, given = [], []
    for _ in range(rounds):
        people = rng.choice(k, size=n, p=truth)
        if cell["whole"] or k <= FEW:
            reports = channel.draw(people)
            guess = survey.estimate(reports).frequencies
            given.append(people if cell["whole"] else channel.tally(reports))
        else:
            held = np.bincount(people, minlength=k)
            if cell["protocol"] == "unary":
                tally = rng.binomial(held, p) + rng.binomial(n - held, q)
            else:
                tally = rng.multinomial(n, q + (p - q) * truth)
            guess = posterior_mean([Counts(tally.astype(float), n, p, q, cell["protocol"] == "kary")])
            given.append(tally)
        ours.append(float(((guess - truth) ** 2).mean()))
    return np.array(ours), {"given": np.array(given), "truth": truth, "task": cell | {"p": p, "q": q}}


def theirs(python: Path, asked: list[dict], folder: Path) -> tuple[dict, list[dict]]:
    held = {"tasks": json.dumps([a["task"] for a in asked])}
    for i, a in enumerate(asked):
        held |= {f"given{i}": a["given"], f"truth{i}": a["truth"]}
    path = folder / "local-asked.npz"
    np.savez(path, **held)
    command = [str(python), str(Path(__file__).with_name("local_rivals.py")), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(asked) + 1:
        raise SystemExit(f"the other libraries failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return lines[0], lines[1:]


def name_of(cell: dict, again: bool) -> str:
    parts = (cell["protocol"], cell["k"], cell["epsilon"], cell["n"], cell["shape"], cell["whole"], again)
    return "/".join(map(str, parts))


def run(cells: list[dict], python: Path, store: dict, path: Path, factor: float, again: bool) -> None:
    """Measure whatever is not in the store yet, many settings at a time: starting the others takes seconds."""
    todo = [(i, c) for i, c in enumerate(cells) if name_of(c, again) not in store["errors"]]
    with Progress() as bar:
        task = bar.add_task("measured again" if again else "measured", total=len(todo))
        for start in range(0, len(todo), BATCH):
            asked, ours = [], []
            for i, cell in todo[start : start + BATCH]:
                rounds = max(3, round(factor * (4 if cell["whole"] else ROUNDS[cell["k"]]) * (4 if again else 1)))
                # The second time, which settings there are depends on the first: the seed does not.
                seed = crc32(name_of(cell, again).encode()) if again else i
                mine, others = measure(cell, rounds, [seed, again])
                ours.append(mine.tolist())
                asked.append(others)
            store["versions"], found = theirs(python, asked, path.parent)
            for (_, cell), mine, errors in zip(todo[start : start + BATCH], ours, found, strict=True):
                store["errors"][name_of(cell, again)] = {"privjail": mine} | errors
            path.write_text(json.dumps(store), encoding="utf-8")
            bar.advance(task, len(asked))


def chance(ours: list[float], theirs_: list[float]) -> float:
    """One-sided p of a paired t-test that ours is the larger error, by more than SAME of it."""
    from scipy.stats import t

    apart = np.array(ours) - (1 + SAME) * np.array(theirs_)
    spread = apart.std(ddof=1) / len(apart) ** 0.5
    if spread == 0:
        return 0.5 if apart.mean() <= 0 else 0.0
    return float(t.sf(apart.mean() / spread, len(apart) - 1))


def worse(errors: dict, level: float) -> list[str]:
    """The rivals whose error is smaller than ours: beyond sampling error, or by more than a quarter in the mean.

    The second condition is there because a t-test is blind to an error that is rare and large.
    """
    ours = errors["privjail"]
    return [
        name
        for name, e in errors.items()
        if name != "privjail" and (chance(ours, e) < level or np.mean(ours) > 1.25 * np.mean(e))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a quarter of the settings; writes no page")
    parser.add_argument("--rounds-factor", type=float, default=1.0, help="more rounds, smaller error bars")
    parser.add_argument("--rivals", type=Path, default=ROOT / "build" / "local-rivals")
    parser.add_argument("--fresh", action="store_true", help="forget finished settings")
    parser.add_argument("--skip-speed", action="store_true")
    given = parser.parse_args()
    path = ROOT / "build" / "local-bench.json"
    path.parent.mkdir(exist_ok=True)
    store = {"errors": {}, "versions": {}, "speed": []}
    if path.exists() and not given.fresh:
        store = json.loads(path.read_text(encoding="utf-8"))
    python, reason = install(given.rivals)
    cells = settings(given.quick)
    if python is None:
        print(f"the other libraries do not install here, so nothing is compared: {reason}")
    else:
        run(cells, python, store, path, given.rounds_factor, again=False)
        # Among hundreds of settings some look worse by luck: those are measured again, with four times the rounds.
        doubtful = [c for c in cells if worse(store["errors"][name_of(c, False)], 0.02)]
        run(doubtful, python, store, path, given.rounds_factor, again=True)
    if not given.skip_speed and not store["speed"]:
        store["speed"] = speed()
        path.write_text(json.dumps(store), encoding="utf-8")
    results = [(c, store["errors"][name_of(c, False)], store["errors"].get(name_of(c, True))) for c in cells if python]
    lost = [(c, last, worse(last, 0.01)) for c, _, last in results if last and worse(last, 0.01)]
    for cell, errors, names in lost:
        print(f"worse: {name_of(cell, True)}: ours {np.mean(errors['privjail']):.3g}, {names}")
    print(f"no worse than any other estimator in {len(results) - len(lost)} of {len(results)} settings")
    if not given.quick:
        write_page(ROOT / "docs", results, lost, store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
