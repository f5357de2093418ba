"""The two numpy examples (components of digits, gradient descent on them) beside PyPI's privjail 0.1.2, in one run.

    python bench/learn_numpy.py --seeds 3

The same images, bounds, rounds and ρ for both. A seed draws the split; noise has no seed on either side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "src")]

import numpy  # noqa: E402
import numpy_dpsgd  # noqa: E402
import numpy_pca  # noqa: E402

ROUNDS, K, DELTA = 10, 4, 1e-5
SCHEMA = {
    "X": {"shape": [None, 64], "value_range": [0, 16], "alignment_signature": "images"},
    "Y": {"shape": [None, 10], "value_range": [0, 1], "alignment_signature": "images"},
}


def environment() -> Path:
    """The Python of privjail 0.1.2, in an environment of its own; made when it is missing."""
    python = ROOT / "build" / "rivals" / "pj012" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "privjail==0.1.2"], check=True)
    return python


def rival(seed: int, eps: float) -> tuple[float | str, float | str]:
    train, test = numpy_pca.images(None, seed)
    pixels, digits = test[numpy_pca.PIXELS].to_numpy(float), test["digit"].to_numpy()
    with tempfile.TemporaryDirectory() as name:
        file, schema = Path(name) / "digits.npz", Path(name) / "schema.json"
        hot = numpy.eye(10)[train["digit"].to_numpy()]
        numpy.savez(file, X=train[numpy_pca.PIXELS].to_numpy(float), Y=hot)
        schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
        program = str(ROOT / "bench" / "learn_numpy_rival.py")
        command = [str(environment()), program, str(file), str(schema), str(eps), str(DELTA), str(ROUNDS), str(K)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    basis, weights = found["components"], found["weights"]
    held = basis if isinstance(basis, str) else numpy_pca.captured(numpy.array(basis), pixels)
    right = weights if isinstance(weights, str) else numpy_dpsgd.recognised(numpy.array(weights), pixels, digits)
    return held, right


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=3)
    for eps in (1.0, 3.0):
        rows: dict[str, list] = {
            "ours, components": [],
            "0.1.2, components": [],
            "ours, digits": [],
            "0.1.2, digits": [],
        }
        for seed in range(options.parse_args().seeds):
            rows["ours, components"].append(numpy_pca.main(k=K, eps=eps, delta=DELTA, seed=seed))
            rows["ours, digits"].append(numpy_dpsgd.main(rounds=ROUNDS, eps=eps, delta=DELTA, seed=seed))
            held, right = rival(seed, eps)
            rows["0.1.2, components"].append(held)
            rows["0.1.2, digits"].append(right)
        for name, values in rows.items():
            numbers = [v for v in values if not isinstance(v, str)]
            failed = [v for v in values if isinstance(v, str)]
            mean = f"{numpy.mean(numbers):.1%} ± {numpy.std(numbers):.1%} of {len(numbers)}" if numbers else ""
            print(f"ε = {eps:g}: {name}: {mean} {failed[:1] or ''}", flush=True)


if __name__ == "__main__":
    main()
