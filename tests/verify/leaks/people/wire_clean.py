"""Nothing leaks: joins, one row per person, isin and concat over three tables of a served population."""

import privjail as pj
from privjail import pandas as pd

pj.connect("analyst.privjail")
patients, stays, notes = (pd.read_csv(name) for name in ("patients", "stays", "notes"))
women = patients[patients["sex"] == "F"]
print(women.shape[0].reveal(eps=0.5))
joined = stays.merge(patients, on="patient")
each = joined.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"), sex=("sex", "first"))
print(each["total"].clip(0, 20).sum().reveal(eps=0.5))
print(each[each["n"] >= 2].shape[0].reveal(eps=0.5))
met = notes.merge(stays, on="stay").groupby("patient").head(3)
print(met[met["code"] == "x"]["cost"].sum().reveal(eps=0.5))
few = stays.groupby("patient").head(2)
print(few[few["patient"].isin(women["patient"])].shape[0].reveal(eps=0.5))
print(pd.concat([few[["patient", "cost"]], few[few["cost"] > 4][["patient", "cost"]]])["cost"].sum().reveal(eps=0.5))
print(pj.consumed_privacy_budget())
