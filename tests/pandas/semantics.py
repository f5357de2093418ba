"""Expressions as an analyst types them, for the comparison with pandas. E stands for a very large ε.

The same text runs on a private table and, without prices and reveals, on a pandas frame of the same rows.
"""

from __future__ import annotations

from itertools import product

ROWWISE = """
d["i"] + d["j"]; d["i"] - 2.5; 7 - d["x"]; d["i"] * d["x"]; d["i"] / d["j"]; d["i"] // 4; d["i"] % 4; d["i"] ** 2; -d["i"]
d["i"].abs(); d["x"].round(1); d["x"].clip(-1, 1); d["i"].clip(lower=0); d["i"].add(1).mul(2).sub(3).div(4); d["x"].pow(2)
d["i"].eq(3); d["i"].ne(3); d["i"].lt(3); d["i"].le(3); d["i"].gt(3); d["i"].ge(3); d["i"].between(-2, 5)
d["i"].between(-2, 5, inclusive="left"); d["i"].isin([1, 2, 3]); d["c"].isin(["u", "w"]); d["i"].isna(); d["i"].notna()
d["i"].fillna(0); d["x"].fillna(d["j"]); d["c"].fillna("w"); d["b"].fillna(False); d["i"].where(d["i"] > 0)
d["i"].where(d["i"] > 0, 0); d["i"].mask(d["i"] > 0, 0); d["j"].map({1: 10, 2: 20, 3: 30, 4: 40, 5: 50})
d["k"].map({"no": 0, "yes": 1}); d["j"].replace({1: 100}); d["i"].astype("Float64"); d["j"].astype("string"); d["b"].astype("Int64")
(d["i"] > 0) & d["b"]; (d["i"] > 0) | d["b"]; ~(d["i"] > 0); (d["i"] > 0) ^ (d["x"] > 0); d["c"] == "u"; d["c"] != "u"
d["s"] == "alpha"; d["s"] != "alpha"; d["t"] > "1990-05-05"; d["t"] <= "1990-05-05"; d["t"].dt.year; d["t"].dt.month; d["t"].dt.day
d["t"].dt.dayofweek; d["t"].dt.hour; d["t"].dt.quarter; d["t"].dt.dayofyear; d["t"].dt.normalize(); d["t"].dt.is_month_end
d["s"].str.lower(); d["s"].str.upper(); d["s"].str.len(); d["s"].str.strip(); d["s"].str.contains("a"); d["s"].str.startswith("al")
d["s"].str.endswith("a"); d["s"].str.replace("a", "b"); d["s"].str[0:3]; d["s"] + "!"; d["i"].shift(1); d["i"].shift(-2)
d["j"].diff(); d["j"].rolling(3).sum(); d["j"].rolling(3).mean(); d["j"].rolling(3).max(); d["j"].rolling(4).min()
d["j"].rolling(3).std(); d["j"].rolling(3).var(); d["j"].rolling(3).count(); d["x"].rolling(3, min_periods=1).mean()
d["x"].rolling(4, min_periods=2).sum(); d["j"].pct_change(); d["c"].cat.codes; d["i"].case_when([(d["i"] > 5, 5)])
d["j"].apply(lambda n: n * 2); d["k"].map({"no": "n"}); d["i"].nlargest(7); d["j"].sort_values().head(20)
"""

TABLES = """
d[d["i"] > 0]; d[d["c"] == "u"]; d[d["c"] != "u"]; d[~d["c"].isin(["u"])]; d.query("i > 0 and c == 'u'"); d.loc[d["j"] > 2, ["i", "x"]]
d.dropna(); d.dropna(subset=["i", "x"]); d.dropna(thresh=7); d.dropna(how="all"); d.fillna({"i": 0, "x": 1.5}); d.sort_values("j", kind="stable")
d.sort_values(["j", "i"], ascending=[False, True]); d.head(7); d.tail(7); d.iloc[5:20]; d.iloc[:, 1:3]; d[["i", "x"]].clip(-1, 1)
d[["i", "x"]] * 2; d[["i", "x"]].isna(); d.rename(columns={"i": "n"}); d.drop(columns=["s", "t"]); d.assign(z=d["i"] + d["j"])
d.assign(z=lambda t: t["i"] * 2); d[["i", "j"]].add_prefix("q_"); d.filter(like="i"); d.select_dtypes("number"); d.nlargest(9, "j")
d.nsmallest(9, "j"); d.drop_duplicates("j"); d.replace({"c": {"u": "v"}}); d.astype({"j": "Float64"}); d.copy(); d.convert_dtypes()
d[["i", "j"]].shift(1); d[["i", "j"]].abs(); d[["i", "x"]].where(d["j"] > 2, 0); d.pipe(lambda t: t[t["j"] > 3])
pd.get_dummies(d["j"]); pd.get_dummies(d[["j", "k"]], columns=["k"], dtype=int); pd.get_dummies(d["k"], prefix="k", drop_first=True)
pd.concat([d["i"], d["x"]], axis=1); d[["i"]].join(d[["x"]]); d.sum(axis=1, numeric_only=True); d[["i", "x"]].mean(axis=1)
d[["i", "x"]].max(axis=1); d[["i", "x"]].min(axis=1); d[["i", "x"]].count(axis=1); d.isna().any(axis=1); d.notna().all(axis=1)
"""

RELEASED = """
d.shape[0].reveal(E); d["i"].count().reveal(E); d["b"].sum().reveal(E); d["b"].mean(eps=E); (d["i"] > 0).sum().reveal(E)
d.isna().sum().reveal(E); d.count().reveal(E); d[["i", "x"]].sum().reveal(E); d[["i", "x", "j"]].mean(eps=E); d.isna().mean(eps=E)
d["c"].value_counts(eps=E); d["c"].value_counts(normalize=True, eps=E); d["c"].value_counts(dropna=False, eps=E)
d["j"].value_counts(sort=False, eps=E).sort_index(); d["j"].value_counts(ascending=True, eps=E); d["k"].value_counts(sort=False, eps=E)
d["j"].value_counts(eps=E).sort_index(); d["b"].value_counts(eps=E); d["i"].value_counts(eps=E).sort_index(); d["c"].nunique().reveal(E)
d["s"].nunique().reveal(E); d["i"].nunique().reveal(E); d["k"].mode(eps=E); d["c"].mode(eps=E); d[["i", "x"]].corr(eps=E)
d[["i", "x", "j"]].cov(eps=E); d["i"].corr(d["x"], eps=E); d["i"].cov(d["j"], eps=E); d[["i", "x"]].corrwith(d["j"], eps=E)
d["i"].agg("mean", eps=E); d["i"].agg(["mean", "std"], eps=E); d[["i", "x"]].agg(["mean", "std"], eps=E); d.agg({"i": "mean", "j": "sum"}, eps=E)
d["i"].describe(eps=E)[["count", "mean", "std"]]; d[["i", "x"]].describe(eps=E).loc[["count", "mean", "std"]]
pd.crosstab(d["k"], d["j"], eps=E); pd.crosstab(d["k"], d["j"], normalize=True, eps=E); pd.crosstab(d["k"], d["j"], normalize="index", eps=E)
pd.crosstab(d["k"], d["j"], normalize="columns", eps=E); pd.crosstab(d["k"], d["j"], margins=True, eps=E)
pd.crosstab(d["k"], d["j"], values=d["x"], aggfunc="mean", eps=E); pd.crosstab(d["k"], d["j"], values=d["x"], aggfunc="sum", eps=E)
pd.crosstab(d["k"], d["j"], margins=True, normalize=True, eps=E); pd.crosstab([d["k"], d["b"]], d["j"], eps=E)
d.pivot_table("x", index="k", columns="j", eps=E); d.pivot_table("x", index="k", aggfunc="sum", eps=E); d.pivot_table("j", index="k", aggfunc=["mean", "count"], eps=E)
d.pivot_table(["i", "x"], index="k", eps=E); d.pivot_table("x", index="k", columns="j", aggfunc="count", eps=E)
d.pivot_table("j", index="k", columns="b", aggfunc="sum", margins=True, eps=E); d.pivot_table("j", index="k", columns="b", margins=True, eps=E)
d.groupby("k").size().reveal(E); d.groupby(["k", "j"]).size().reveal(E); d.groupby(["k", "b"])["x"].mean(eps=E)
d.groupby("k")[["i", "x"]].mean(eps=E); d.groupby("k")["i"].agg(["mean", "count", "sum"], eps=E); d.groupby("k").agg({"i": "mean", "x": "std"}, eps=E)
d.groupby("k").agg(n=("i", "count"), m=("x", "mean"), eps=E); d.groupby("k").agg({"i": ["mean", "std"], "j": ["sum"]}, eps=E)
d.groupby("k", as_index=False)["x"].mean(eps=E); d.groupby("k")["c"].value_counts(sort=False).reveal(E); d.groupby("k")["b"].mean(eps=E)
d.groupby("k")["b"].value_counts(normalize=True, sort=False, eps=E); d.groupby("k")["j"].nunique(eps=E); d.groupby(d["j"] > 2)["x"].mean(eps=E)
d.groupby(pd.cut(d["i"], [-10, 0, 10]))["x"].mean(eps=E); pd.cut(d["i"], [-10, -3, 3, 10]).value_counts(sort=False, eps=E)
pd.cut(d["i"], [-10, -3, 3, 10], labels=["low", "mid", "high"]).value_counts(sort=False, eps=E); d.groupby("k").corr(numeric_only=True, eps=E)
d.groupby("k")["x"].apply(lambda x: x.isna().mean(eps=E)); d.groupby("k").get_group("yes")["x"].mean(eps=E); d[d["c"] != "u"].shape[0].reveal(E)
d["t"].dt.month.value_counts(eps=E).sort_index(); d.groupby(d["t"].dt.quarter).size().reveal(E); d["x"].hist(bins=[-4, 0, 2, 4], eps=E)
d.mean(numeric_only=True, eps=E); d["x"].std(ddof=0, eps=E); d["x"].var(ddof=0, eps=E); d[d["k"] == "no"]["x"].sum().reveal(E)
d.groupby("k")["i"].count().reveal(E); d.groupby("k").count().reveal(E); d.value_counts(["k", "j"], eps=E).sort_index()
d["i"].fillna(0).mean(eps=E); d["x"].dropna().mean(eps=E); (d["i"] + d["j"]).mean(eps=E); (d["x"] > 0).mean(eps=E); d["s"].str.len().clip(0, 20).mean(eps=E)
d["c"].eq("u").mean(eps=E); d["i"].isin([1, 2]).groupby(d["k"]).mean(eps=E); d["x"].groupby(d["k"]).std(eps=E); d.nunique(eps=E)
"""

STATISTICS = [
    f'd["{column}"].{call}'
    for column, call in product(
        "ijx", ["sum().reveal(E)", "mean(eps=E)", "std(eps=E)", "var(eps=E)", "sem(eps=E)", "skew(eps=E)", "kurt(eps=E)"]
    )
] + [
    f'd.groupby("{key}")["{column}"].{call}'
    for key, column, call in product("kj", "ix", ["sum().reveal(E)", "mean(eps=E)", "std(eps=E)", "var(eps=E)"])
]  # fmt: skip

RANKS = [
    f'd["{column}"].{call}'
    for column, call in product(
        "ijx", ["min(eps=E)", "max(eps=E)", "median(eps=E)", "quantile(0.25, eps=E)", "quantile([0.1, 0.9], eps=E)"]
    )
] + [f'd.groupby("k")["{column}"].{call}' for column, call in product("ix", ["median(eps=E)", "max(eps=E)"])]  # fmt: skip


def listed(text: str) -> list[str]:
    return [each.strip() for line in text.strip().splitlines() for each in line.split("; ") if each.strip()]


#: Expressions that mean something else here than in pandas, and the line of the guide that says so.
DIFFERENT = {
    'd["i"] / (d["j"] - 3)': "division by zero",
    'd["b"].astype(bool)': "missing truth values",
    'd["s"].astype("Int64")': "text that is no number",
    'd.groupby("c")["x"].mean(eps=E)': "empty groups",
    'd["j"][d["j"] > 2].value_counts(sort=False, eps=E)': "values that do not occur",
    'd.groupby("c", observed=True).size().reveal(E)': "values that do not occur",
    'd["x"].quantile(0.5, eps=E)': "candidates",
    'd.drop_duplicates("i")': "drop_duplicates",
    'd["i"].unique()': "unique",
    'd.sort_values("j")': "ties",
    "d.index": "rows have no labels",
    'd["j"].rank()': "rank",
}
