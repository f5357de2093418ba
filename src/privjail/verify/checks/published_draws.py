"""Draws from published packages. Runs alone, inside the environment of one package: it imports nothing of ours.

    python published_draws.py CASE N

prints one line of JSON: what the package claims, and n outputs on each of two neighbouring inputs (or what the exact
checker needs instead).
"""

import json
import sys
import tempfile
import warnings
from importlib import import_module as load
from pathlib import Path
from typing import Any

Found = dict[str, Any]


def opendp() -> Any:
    dp = load("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def opendp_threshold(n: int) -> Found:
    """A histogram of one person's own key: she is there, or not."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    release = dp.t.make_count_by(*space) >> dp.m.then_laplace_threshold(scale=1.0, threshold=3)
    epsilon, delta = release.map(1)
    drawn = [[release(people).get("her key") for _ in range(n)] for people in (["her key"], [])]
    return {"epsilon": epsilon, "delta": delta, "outputs": drawn}


def opendp_cut(n: int) -> Found:
    """A sum of the codes of intervals; one row more, at the top."""
    dp, pl = opendp(), load("polars")
    columns = [dp.series_domain("x", dp.atom_domain(T=float, nan=False))]
    domain = dp.with_margin(dp.lazyframe_domain(columns), dp.polars.Margin(max_length=101))
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([1.0]).to_physical().dp.sum((0, 1), scale=1.0)
    )
    space = domain, dp.frame_distance(dp.symmetric_distance()), dp.max_divergence()
    release = dp.m.make_private_lazyframe(*space, query)
    tables = [pl.LazyFrame({"x": xs}) for xs in ([0.5] * 100, [2.0] + [0.5] * 100)]
    drawn = [[release(table).collect().item() for _ in range(n)] for table in tables]
    return {"epsilon": release.map([dp.polars.Bound(per_group=1)]), "outputs": drawn}


def opendp_length(n: int) -> Found:
    """A sum over a group of at most three rows, all of which change: six edits."""
    dp, pl = opendp(), load("polars")
    schema = {"a": pl.String, "b": pl.Int32}
    columns = [dp.series_domain("a", dp.atom_domain(T=str)), dp.series_domain("b", dp.atom_domain(T=int))]
    margin = dp.polars.Margin(by=["a"], max_length=3, max_groups=1, invariant="keys")
    query = pl.LazyFrame(schema=schema).group_by("a").agg(pl.col("b").dp.sum((-10, 10), scale=30.0))
    space = dp.with_margin(dp.lazyframe_domain(columns), margin), dp.symmetric_distance(), dp.max_divergence()
    release = dp.m.make_private_lazyframe(*space, query)
    tables = [pl.LazyFrame({"a": ["g"] * 3, "b": [b] * 3}, schema=schema) for b in (10, -10)]
    drawn = [[release(table).collect()["b"].item() for _ in range(n)] for table in tables]
    return {"epsilon": release.map(6), "outputs": drawn}


def opendp_noisy_max(n: int) -> Found:
    """Noisy max under zCDP, on two vectors of scores at distance 4."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    release = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=4.0)
    drawn = [[release(scores) for _ in range(n)] for scores in ([3, 0, 0], [-1, 4, 4])]
    return {"rho": release.map(4), "outputs": drawn}


def opendp_laplace(n: int) -> Found:
    """Laplace noise on a float: 0 or 1."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    release = dp.m.make_laplace(*space, scale=1.0)
    return {"epsilon": release.map(1.0), "outputs": [[release(x) for _ in range(n)] for x in (0.0, 1.0)]}


def privjail_sum(rows: list[str], accountant: str) -> Any:
    """The old PrivJail's sum of a column in [0, 1], as its users build it."""
    with tempfile.TemporaryDirectory() as folder:
        table, schema = Path(folder, "table.csv"), Path(folder, "schema.json")
        table.write_text("x\n" + "\n".join(rows) + "\n")
        schema.write_text(json.dumps({"x": {"type": "float64", "range": [0.0, 1.0]}}))
        return load("privjail.pandas").read_csv(str(table), str(schema), accountant=accountant)["x"].sum()


def privjail_laplace(n: int) -> Found:
    """Its Laplace noise, on a sum of 0 or of 1."""
    pj = load("privjail")
    sums = [privjail_sum(rows, "pure") for rows in (["0.0"], ["0.0", "1.0"])]
    return {"epsilon": 1.0, "outputs": [[pj.laplace_mechanism(x, eps=1.0) for _ in range(n)] for x in sums]}


def privjail_gaussian(n: int) -> Found:
    """The σ of its Gaussian noise at ε = 10, from its own function; and draws made with it."""
    pj, sigma_of = load("privjail"), load("privjail.mechanism").sigma_from_eps_delta
    sums = [privjail_sum(rows, "approx") for rows in (["0.0"], ["0.0", "1.0"])]
    drawn = [[pj.gaussian_mechanism(x, eps=10.0, delta=1e-5) for _ in range(n)] for x in sums]
    return {"epsilon": 10.0, "delta": 1e-5, "sigma": sigma_of(1.0, 10.0, 1e-5), "outputs": drawn}


def diffprivlib_laplace(n: int) -> Found:
    release = load("diffprivlib.mechanisms").Laplace(epsilon=1, sensitivity=1).randomise
    return {"epsilon": 1.0, "outputs": [[float(release(x)) for _ in range(n)] for x in (0.0, 1.0)]}


def diffprivlib_mean(n: int) -> Found:
    """A mean with known bounds; the value of one person is missing, or not."""
    mean = load("diffprivlib.tools").mean
    tables = [load("numpy").array([1.0, 2.0, x]) for x in (3.0, float("nan"))]
    return {"epsilon": 1.0, "outputs": [[float(mean(x, epsilon=1, bounds=(0, 10))) for _ in range(n)] for x in tables]}


def diffprivlib_geometric(n: int) -> Found:
    release = load("diffprivlib.mechanisms").Geometric(epsilon=1, sensitivity=1).randomise
    return {"epsilon": 1.0, "outputs": [[int(release(x)) for _ in range(n)] for x in (0, 1)]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))
