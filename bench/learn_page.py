"""The page docs/learn-accuracy.md and its plot, from the results of bench/learn_accuracy.py."""

from __future__ import annotations

from pathlib import Path

import learn_data
import learn_rivals
import numpy

HEAD = """# Accuracy of models

Written by `bench/learn_accuracy.py`: our models (through a jail in one process, exact noise), diffprivlib and
interpret's DP-EBM, each in an environment of its own, on the same rows, with the same public ranges and categories and
the same price.

- **Adult** (UCI, official split, 32,561 rows to fit, 16,281 to test). Our defaults were chosen by cross-validation on
  its rows to fit. Earlier versions of the models had been scored on its test rows: read it as a test set that was
  looked at.
- **The other data sets** come with scikit-learn or are generated (`bench/learn_data.py`). No default was chosen on
  them. A first run showed that our tree, logistic and additive models learnt nothing from breast cancer and digits
  (few rows, many columns); rules that look at the number of rows were then made on other made-up data. A later run
  showed that the logistic model and the scaler still lost there, and they were changed likewise. So these two
  prompted changes; moons, mixture, diabetes, slopes and blobs did not. k-means and the
  rule for when a tree is grown were mended after a run on Adult, on its rows to fit. A seed draws the split, two thirds
  to fit. Ranges are those by which the data is generated; of
  breast cancer the largest value and 5 % more, of digits and diabetes what their descriptions state.
- A rival has its own defaults. Its seeds are those of the run; our noise has no seed.
- ± is the standard deviation over the seeds; a number without it is one run, and proves little. Seconds were measured
  on a busy machine: bounds, not benchmarks.
"""


def groups(results: list[dict]) -> dict[tuple, list[dict]]:
    found: dict[tuple, list[dict]] = {}
    for each in results:
        found.setdefault((each["library"], each["data"], each["model"], each["eps"], each["delta"]), []).append(each)
    return found


def shown(score: str, values: list[float]) -> str:
    several = len(values) > 1
    if score == "accuracy":
        return f"{100 * numpy.mean(values):.2f} %" + (f" ± {100 * numpy.std(values):.2f}" if several else "")
    return f"{numpy.mean(values):.4g}" + (f" ± {numpy.std(values):.2g}" if several else "")


def cell(found: dict[tuple, list[dict]], *key) -> tuple[str, float | None]:
    """What a table shows, and the mean; a rival that failed says so."""
    group = found.get(key)
    if not group:
        return "", None
    score = learn_rivals.SCORES.get(key[2], ("accuracy", True))[0]
    values = [each["value"] for each in group if each["value"] is not None]
    if not values:
        return f"failed: {group[0].get('problem', '')}".replace("|", "/")[:80], None
    failed = f" ({len(group) - len(values)} failed)" if len(values) < len(group) else ""
    return shown(score, values) + failed, float(numpy.mean(values))


def price(eps: float, delta: float | None) -> str:
    return f"ε = {eps:g}" + (f", δ = {delta:g}" if delta else "")


def same_name(found: dict[tuple, list[dict]]) -> list[str]:
    lines = [
        "| data | model | score | ε | PrivJail | diffprivlib | seeds | better |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for _, data, model, eps, delta in sorted((k for k in found if k[0] == "diffprivlib"), key=place):
        score, more = learn_rivals.SCORES.get(model, ("accuracy", True))
        (mine, a), (theirs, b) = (cell(found, each, data, model, eps, delta) for each in ("privjail", "diffprivlib"))
        if a is None:
            continue
        better = "" if b is None else ("PrivJail" if (a > b) == more else "**diffprivlib**")
        seeds = " and ".join(str(len(found[each, data, model, eps, delta])) for each in ("privjail", "diffprivlib"))
        lines.append(f"| {data} | {model} | {score} | {eps:g} | {mine} | {theirs} | {seeds} | {better} |")
    return lines


def place(key: tuple) -> tuple:
    _, data, model, eps, delta = key
    return list(learn_data.MODELS).index(data), model, eps, delta or 0


def adult(found: dict[tuple, list[dict]]) -> list[str]:
    lines = ["| model | price | accuracy | seconds | seeds |", "| --- | --- | --- | --- | --- |"]
    for key in sorted((k for k in found if k[0] == "privjail" and k[1] == "adult"), key=place):
        if key[2] in learn_data.CLASSIFIERS:
            took = numpy.mean([each["seconds"] for each in found[key]])
            lines.append(f"| {key[2]} | {price(*key[3:])} | {cell(found, *key)[0]} | {took:.1f} | {len(found[key])} |")
    return lines


def additive(found: dict[tuple, list[dict]]) -> list[str]:
    lines = ["| data | price | AdditiveClassifier | interpret's DP-EBM |", "| --- | --- | --- | --- |"]
    for _, data, model, eps, delta in sorted((k for k in found if k[0] == "interpret"), key=place):
        (mine, _), (theirs, _) = (cell(found, each, data, model, eps, delta) for each in ("privjail", "interpret"))
        lines.append(f"| {data} | {price(eps, delta)} | {mine} | {theirs} |")
    return lines


def plot(found: dict[tuple, list[dict]], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    colours = {name: f"C{i}" for i, name in enumerate(learn_data.CLASSIFIERS)}
    styles = {("privjail", None): "-", ("privjail", 1e-5): "--", ("diffprivlib", None): ":", ("interpret", 1e-5): "-."}
    for (library, delta), style in styles.items():
        for model, colour in colours.items():
            keys = sorted(k for k in found if k[:3] == (library, "adult", model) and k[4] == delta)
            points = [(k[3], cell(found, *k)[1]) for k in keys]
            points = [(e, 100 * v) for e, v in points if v is not None]
            if points:
                name = "DP-EBM" if library == "interpret" else model
                more = ", δ = 1e-5" if delta else ""
                axes.plot(*zip(*points, strict=True), style, color=colour, marker="o", markersize=3,
                          label=f"{library}: {name}{more}")  # fmt: skip
    axes.set(xscale="log", xlabel="ε", ylabel="accuracy on Adult's test rows (%)", ylim=(60, 87))
    axes.legend(fontsize=6, ncol=2, loc="lower right")
    figure.tight_layout()
    figure.savefig(file)


def write(results: list[dict], root: Path) -> None:
    found = groups(results)
    seeds = len({each["seed"] for each in results})
    versions = {k: v for each in results for k, v in each.get("versions", {}).items() if k != "numpy"}
    versions["numpy"] = ", ".join(sorted({each["versions"]["numpy"] for each in results if each.get("versions")}))
    parts = [HEAD, f"Seeds: up to {seeds}. Versions: {', '.join(f'{k} {v}' for k, v in sorted(versions.items()))}.\n"]
    parts += ["## Adult\n", *adult(found), "", "![accuracy over ε](figures/learn-accuracy.svg)\n"]
    parts += ["## Beside diffprivlib's models of the same name, at pure ε\n", *same_name(found), ""]
    parts += ["## Beside interpret's DP-EBM\n", *additive(found), ""]
    beside = root / "bench" / "learn_notes.md"
    parts.append(beside.read_text(encoding="utf-8").rstrip() + "\n")
    (root / "docs" / "learn-accuracy.md").write_text("\n".join(parts), encoding="utf-8")
    plot(found, root / "docs" / "figures" / "learn-accuracy.svg")
