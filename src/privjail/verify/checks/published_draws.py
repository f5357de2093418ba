"""Draws from published packages. Runs alone, inside the environment of one package: it imports nothing of ours.

    python published_draws.py CASE N [ADAPTERS]

prints lines of JSON: first what the package claims, then pairs of lists, the outputs on two neighbouring inputs, until
there are n of each. Whoever reads them may stop at any time. ADAPTERS: a file of such functions, instead of this one.
"""

import json
import os
import secrets
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module as load
from pathlib import Path
from runpy import run_path
from typing import Any

Claim = dict[str, Any]  # with "draw": from a side and n to n outputs
GROUPS = 300  # of equal rows, where one query gives many independent answers
NAN, INF = float("nan"), float("inf")


def of(release: Callable[[Any], Any], *inputs: Any) -> Callable[[int, int], list[Any]]:
    """Outputs of a release on two inputs, one call for each."""
    return lambda side, n: [release(inputs[side]) for _ in range(n)]


def opendp() -> Any:
    dp = load("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def opendp_threshold() -> Claim:
    """A histogram of one person's own key: she is there, or not."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    release = dp.t.make_count_by(*space) >> dp.m.then_laplace_threshold(scale=1.0, threshold=3)
    epsilon, delta = release.map(1)
    draw = of(lambda people: release(people).get("her key"), ["her key"], [])
    return {"epsilon": epsilon, "delta": delta, "draw": draw}


def opendp_frame(columns: list[Any], margin: dict[str, Any], query: Any, distance: Any = None) -> Any:
    """A release of a Polars query, under pure ε."""
    dp = opendp()
    domain = dp.with_margin(dp.lazyframe_domain(columns), dp.polars.Margin(**margin))
    return dp.m.make_private_lazyframe(domain, distance or dp.symmetric_distance(), dp.max_divergence(), query)


def opendp_cut() -> Claim:
    """A sum of the codes of intervals; one row more, at the top."""
    dp, pl = opendp(), load("polars")
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([1.0]).to_physical().dp.sum((0, 1), scale=1.0)
    )
    columns = [dp.series_domain("x", dp.atom_domain(T=float, nan=False))]
    release = opendp_frame(columns, {"max_length": 101}, query, dp.frame_distance(dp.symmetric_distance()))
    tables = [pl.LazyFrame({"x": xs}) for xs in ([0.5] * 100, [2.0] + [0.5] * 100)]
    claim = release.map([dp.polars.Bound(per_group=1)])
    return {"epsilon": claim, "draw": of(lambda table: release(table).collect().item(), *tables)}


def opendp_length() -> Claim:
    """A sum over a group of at most three rows, all of which change: six edits."""
    dp, pl = opendp(), load("polars")
    schema = {"a": pl.String, "b": pl.Int32}
    columns = [dp.series_domain("a", dp.atom_domain(T=str)), dp.series_domain("b", dp.atom_domain(T=int))]
    query = pl.LazyFrame(schema=schema).group_by("a").agg(pl.col("b").dp.sum((-10, 10), scale=30.0))
    release = opendp_frame(columns, {"by": ["a"], "max_length": 3, "max_groups": 1, "invariant": "keys"}, query)
    tables = [pl.LazyFrame({"a": ["g"] * 3, "b": [b] * 3}, schema=schema) for b in (10, -10)]
    return {"epsilon": release.map(6), "draw": of(lambda table: release(table).collect()["b"].item(), *tables)}


def opendp_fill_null() -> Claim:
    """A sum in which missing values become NaN; one row is missing, or not: two edits."""
    dp, pl = opendp(), load("polars")
    filled = pl.col("x").fill_null(NAN).clip(0.0, 1.0).sum()
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(filled.dp.noise(scale=1.0))
    columns = [dp.series_domain("x", dp.option_domain(dp.atom_domain(T=float, nan=False)))]
    release = opendp_frame(columns, {"max_length": 100}, query, dp.frame_distance(dp.symmetric_distance()))
    tables = [pl.LazyFrame({"x": [x] + [1.0] * 99}) for x in (None, 1.0)]
    claim = release.map([dp.polars.Bound(per_group=2)])
    return {"epsilon": claim, "draw": of(lambda table: release(table).collect().item(), *tables)}


def opendp_float32() -> Claim:
    """A sum in 32 bits, which overflows upwards or downwards."""
    dp, pl, big = opendp(), load("polars"), 1e38
    narrow = pl.col("x").cast(pl.Float32).fill_nan(0.0).clip(-big, big).sum()
    query = pl.LazyFrame(schema={"x": pl.Float64}).select(narrow.dp.noise(scale=big))
    columns = [dp.series_domain("x", dp.atom_domain(T=float, nan=False))]
    release = opendp_frame(columns, {"max_length": 11}, query, dp.frame_distance(dp.symmetric_distance()))
    tables = [pl.LazyFrame({"x": [big] * n + [-big] * 7}) for n in (4, 3)]
    claim = release.map([dp.polars.Bound(per_group=1)])
    return {"epsilon": claim, "draw": of(lambda table: release(table).collect().item(), *tables)}


def opendp_deviations() -> Claim:
    """Squared deviations of values near 2⁵⁰: another value of one row moves the rounded mean."""
    dp, start, n = opendp(), 2.0**50, 1024
    domain = dp.vector_domain(dp.atom_domain(bounds=(start, start + 1), nan=False), size=n)
    squares = dp.t.make_sum_of_squared_deviations(domain, dp.symmetric_distance())
    release = squares >> dp.m.then_laplace(scale=squares.map(2))
    tables = [[start + x] + [start + 0.25] * (n - 1) for x in (0.25, 0.5)]
    return {"epsilon": release.map(2), "draw": of(release, *tables)}


def opendp_noisy_max() -> Claim:
    """Noisy max under zCDP, on two vectors of scores at distance 4."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    release = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=4.0)
    return {"rho": release.map(4), "draw": of(release, [3, 0, 0], [-1, 4, 4])}


def opendp_laplace() -> Claim:
    """Laplace noise on a float: 0 or 1."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    release = dp.m.make_laplace(*space, scale=1.0)
    return {"epsilon": release.map(1.0), "draw": of(release, 0.0, 1.0)}


def opendp_saturates() -> Claim:
    """A sum of 32-bit numbers beyond their range."""
    dp, most = opendp(), 2**31 - 1
    space = dp.vector_domain(dp.atom_domain(bounds=(0, most), T="i32")), dp.symmetric_distance()
    total = dp.t.make_sum(*space)
    release = total >> dp.m.then_laplace(scale=float(total.map(1)))
    return {"epsilon": release.map(1), "draw": of(release, [most], [most] * 2)}


def privjail_frame(rows: list[str], accountant: str) -> Any:
    """The old PrivJail's table of one column in [0, 1], as its users open it."""
    with tempfile.TemporaryDirectory() as folder:
        table, schema = Path(folder, "table.csv"), Path(folder, "schema.json")
        table.write_text("x\n" + "\n".join(rows) + "\n")
        schema.write_text(json.dumps({"x": {"type": "float64", "range": [0.0, 1.0]}}))
        return load("privjail.pandas").read_csv(str(table), str(schema), accountant=accountant)


def privjail_laplace() -> Claim:
    """Its Laplace noise, on a sum of 0 or of 1."""
    pj = load("privjail")
    sums = [privjail_frame(rows, "pure")["x"].sum() for rows in (["0.0"], ["0.0", "1.0"])]
    return {"epsilon": 1.0, "draw": of(lambda x: pj.laplace_mechanism(x, eps=1.0), *sums)}


def privjail_assign() -> Claim:
    """A column in [0, 1] is set to 1000 for everybody, and added up: its sum of one row, and of two."""
    pj, sums = load("privjail"), []
    for rows in (["0.0"], ["0.0", "1.0"]):
        frame = privjail_frame(rows, "pure")
        frame["x"] = 1000.0
        sums.append(frame["x"].sum())
    return {"epsilon": 1.0, "draw": of(lambda x: pj.laplace_mechanism(x, eps=1.0), *sums)}


def privjail_gaussian() -> Claim:
    """The σ of its Gaussian noise at ε = 10, from its own function; and draws made with it."""
    pj, sigma_of = load("privjail"), load("privjail.mechanism").sigma_from_eps_delta
    sums = [privjail_frame(rows, "approx")["x"].sum() for rows in (["0.0"], ["0.0", "1.0"])]
    draw = of(lambda x: pj.gaussian_mechanism(x, eps=10.0, delta=1e-5), *sums)
    return {"epsilon": 10.0, "delta": 1e-5, "sigma": sigma_of(1.0, 10.0, 1e-5), "draw": draw}


def diffprivlib_laplace() -> Claim:
    release = load("diffprivlib.mechanisms").Laplace(epsilon=1, sensitivity=1).randomise
    return {"epsilon": 1.0, "draw": of(lambda x: float(release(x)), 0.0, 1.0)}


def diffprivlib_mean() -> Claim:
    """A mean with known bounds; the value of one person is missing, or not."""
    mean = load("diffprivlib.tools").mean
    tables = [load("numpy").array([1.0, 2.0, x]) for x in (3.0, NAN)]
    return {"epsilon": 1.0, "draw": of(lambda x: float(mean(x, epsilon=1, bounds=(0, 10))), *tables)}


def diffprivlib_overflow() -> Claim:
    """A sum in eight bits: 200 does not fit, 127 does. The value of one person differs."""
    np, total = load("numpy"), load("diffprivlib.tools").sum
    tables = [np.array([100, x], dtype=np.int8) for x in (100, 27)]
    draw = of(lambda x: int(total(x, epsilon=1, bounds=(0, 100), dtype=np.int8)), *tables)
    return {"epsilon": 1.0, "draw": draw}


def diffprivlib_geometric() -> Claim:
    release = load("diffprivlib.mechanisms").Geometric(epsilon=1, sensitivity=1).randomise
    return {"epsilon": 1.0, "draw": of(lambda x: int(release(x)), 0, 1)}


def smartnoise(query: str, rows: list[list[float]], kind: str = "float", delta: float = 1e-6) -> Claim:
    """An SQL query of 300 groups, each with these rows: one query gives 300 answers. Absent groups give None."""
    snsql, pd = load("snsql"), load("pandas")
    column = {"type": kind, "lower": 0, "upper": 10}
    censored = delta > 1e-6
    facts = {"": {"s": {"t": {"row_privacy": True, "censor_dims": censored, "x": column, "g": {"type": "int"}}}}}
    readers = []
    for each in rows:
        table = [(-1, 1.0)] * 50 + [(g, x) for g in range(GROUPS) for x in each]
        frame = pd.DataFrame(table, columns=["g", "x"]).astype({"x": kind})
        readers.append(snsql.from_df(frame, privacy=snsql.Privacy(epsilon=1.0, delta=delta), metadata=facts))
    sql = f"SELECT g, {query} AS answer FROM s.t GROUP BY g"
    epsilon, least = map(float, readers[0].get_privacy_cost(sql))

    def draw(side: int, n: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < n:
            answers = {row[0]: row[1] for row in readers[side].execute(sql)[1:]}
            found += [answers.get(g) for g in range(GROUPS)]
        return found[:n]

    return {"epsilon": epsilon, "delta": least, "draw": draw, "batch": GROUPS}


def smartnoise_count() -> Claim:
    return smartnoise("COUNT(*)", [[1.0], [1.0, 1.0]])


def smartnoise_sum() -> Claim:
    """A sum of floats; the row of one person lies outside the declared bounds."""
    return smartnoise("SUM(x)", [[1.0], [1.0, 1e9]])


def smartnoise_missing() -> Claim:
    return smartnoise("AVG(x)", [[1.0, 1.0], [1.0, 1.0, NAN]])


def smartnoise_groups() -> Claim:
    """Groups of one row, which are shown with a chance of at most δ; or absent."""
    return smartnoise("COUNT(*)", [[1.0], []], delta=0.05)


def smartnoise_odometer() -> Claim:
    """A hundred releases, each (0.1, 0.01)-DP: each tells everything with a chance of 1 %, and else nothing."""
    odometer = load("snsql.sql.odometer").Odometer(load("snsql").Privacy(epsilon=0.1, delta=0.01))
    odometer.spend(100)
    epsilon, delta = map(float, odometer.spent)
    dice = secrets.SystemRandom()

    def told(x: int) -> int | None:
        return x if any(dice.random() < 0.01 for _ in range(100)) else None

    return {"epsilon": epsilon, "delta": delta, "draw": of(told, 0, 1)}


def pydp(name: str, *inputs: list[Any], **options: Any) -> Claim:
    algorithm = getattr(load("pydp.algorithms.laplacian"), name)
    return {"epsilon": 1.0, "draw": of(lambda xs: algorithm(epsilon=1.0, **options).quick_result(xs), *inputs)}


def pydp_count() -> Claim:
    return pydp("Count", [1.0] * 3, [1.0] * 4, dtype="float")


def pydp_sum() -> Claim:
    return pydp("BoundedSum", [0.0], [0.0, 1.0], lower_bound=0.0, upper_bound=1.0, dtype="float")


def pydp_overflow() -> Claim:
    """The sum of four numbers is 2⁶³, which 64 bits cannot hold."""
    big = 2**61
    return pydp("BoundedSum", [big] * 3, [big] * 4, lower_bound=0, upper_bound=big, dtype="int64")


def pydp_missing() -> Claim:
    return pydp("BoundedMean", [1.0, 2.0], [1.0, 2.0, NAN], lower_bound=0.0, upper_bound=10.0, dtype="float")


def pydp_infinite() -> Claim:
    return pydp("BoundedSum", [1.0], [1.0, INF], lower_bound=0.0, upper_bound=10.0, dtype="float")


def pydp_empty() -> Claim:
    return pydp("BoundedVariance", [], [5.0], lower_bound=0.0, upper_bound=10.0, dtype="float")


def core_laplace() -> Claim:
    np, noise = load("numpy"), load("tmlt.core.measurements.noise_mechanisms")
    release = noise.AddLaplaceNoise(load("tmlt.core.domains.numpy_domains").NumpyFloatDomain(), scale=1)
    claim = float(release.privacy_function(1).to_float(round_up=True))
    return {"epsilon": claim, "draw": of(lambda x: float(release(np.float64(x))), 0.0, 1.0)}


def core_geometric() -> Claim:
    np, noise = load("numpy"), load("tmlt.core.measurements.noise_mechanisms")
    release = noise.AddGeometricNoise(alpha=1)
    claim = float(release.privacy_function(1).to_float(round_up=True))
    return {"epsilon": claim, "draw": of(lambda x: int(release(np.int64(x))), 0, 1)}


def spark() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers are of this environment
    builder = load("pyspark.sql").SparkSession.builder.master("local[1]")
    for name, value in {"ui.enabled": "false", "sql.shuffle.partitions": "1", "driver.memory": "1g",
                        "driver.host": "127.0.0.1"}.items():  # fmt: skip
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def analytics_count() -> Claim:
    """Counts of 300 groups that are absent, or have one row."""
    tmlt, pd, sessions = load("tmlt.analytics"), load("pandas"), []
    for groups in ([-1], range(-1, GROUPS)):
        frame = spark().createDataFrame(pd.DataFrame({"g": list(groups)}))
        budget, change = tmlt.PureDPBudget(INF), tmlt.AddOneRow()
        sessions.append(tmlt.Session.from_dataframe(budget, "t", frame, protected_change=change))
    asked = tmlt.QueryBuilder("t").groupby(tmlt.KeySet.from_dict({"g": list(range(GROUPS))})).count()

    def draw(side: int, n: int) -> list[Any]:
        found: list[Any] = []
        while len(found) < n:
            answers = sessions[side].evaluate(asked, tmlt.PureDPBudget(1)).toPandas().sort_values("g")
            found += answers.iloc[:, 1].tolist()
        return found[:n]

    return {"epsilon": 1.0, "draw": draw, "batch": GROUPS}


def main(case: str, n: int, adapters: str = "") -> None:
    lines, sys.stdout = sys.stdout, sys.stderr  # what a package prints is no output of ours
    claim = (run_path(adapters) if adapters else globals())[case]()
    draw, batch = claim.pop("draw"), claim.pop("batch", 100)
    print(json.dumps(claim), file=lines, flush=True)
    for done in range(0, n, batch):
        print(json.dumps([draw(side, min(batch, n - done)) for side in (0, 1)]), file=lines, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
