"""Nothing leaks: joins, one row per person, isin and concat over three tables of a population."""

import privjail as pj
from privjail import pandas as pd

PATIENTS = {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}}
STAYS = {"stay": {"type": "Int64"}, "patient": {"type": "Int64"}, "cost": {"type": "Int64", "range": [0, 10]}}
NOTES = {"stay": {"type": "Int64"}, "code": {"type": "category", "categories": ["x", "y"]}}
people = pj.population("hospital", budget=10)
patients = pd.read_csv("patients.csv", PATIENTS, population=people, unit="patient", max_rows_per_unit=1)
stays = pd.read_csv("stays.csv", STAYS, population=people, unit="patient", key="stay")
notes = pd.read_csv("notes.csv", NOTES, population=people, link="stay=stays.stay")

women = patients[patients["sex"] == "F"]
count = women.shape[0].reveal(eps=0.5)
print(count)
joined = stays.merge(patients, on="patient")
each = joined.groupby("patient").agg(n=("cost", "size"), total=("cost", "sum"), sex=("sex", "first"))
if count > 3:
    print(each["total"].clip(0, 20).sum().reveal(eps=0.5))
print(each[each["n"] >= 2].shape[0].reveal(eps=0.5))
met = notes.merge(stays, on="stay").groupby("patient").head(3)
print(met[met["code"] == "x"]["cost"].sum().reveal(eps=0.5))
few = stays.groupby("patient").head(2)
print(few[few["patient"].isin(women["patient"])].shape[0].reveal(eps=0.5))
print(pd.concat([few[["patient", "cost"]], few[few["cost"] > 4][["patient", "cost"]]])["cost"].sum().reveal(eps=0.5))
print(few.merge(notes.groupby("patient").head(2), on="patient").shape[0].reveal(eps=0.5))
print(pj.noisy_max(each["sex"].value_counts(sort=False), eps=0.5))
print(pj.consumed_privacy_budget())
