"""All stays of a patient are counted as one: the bound on rows per person is passed by."""

import privjail as pj
from privjail import pandas as pd

PATIENTS = {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}}
STAYS = {"stay": {"type": "Int64"}, "patient": {"type": "Int64"}, "cost": {"type": "Int64", "range": [0, 10]}}
people = pj.population("hospital", budget=10)
patients = pd.read_csv("patients.csv", PATIENTS, population=people, unit="patient", max_rows_per_unit=1)
stays = pd.read_csv("stays.csv", STAYS, population=people, unit="patient", key="stay")
rows = stays._rows
object.__setattr__(rows, "lineage", rows.lineage._replace(factor=1, edits=1, inserted=1))
print(stays.merge(patients, on="patient").shape[0].reveal(eps=0.5))
