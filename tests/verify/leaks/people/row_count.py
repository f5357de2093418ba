"""The number of rows of one table decides how long the program runs; nothing of it is shown."""

import polars

import privjail as pj
from privjail import pandas as pd

PATIENTS = {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}}
STAYS = {"stay": {"type": "Int64"}, "patient": {"type": "Int64"}, "cost": {"type": "Int64", "range": [0, 10]}}
people = pj.population("hospital", budget=10)
patients = pd.read_csv("patients.csv", PATIENTS, population=people, unit="patient", max_rows_per_unit=1)
stays = pd.read_csv("stays.csv", STAYS, population=people, unit="patient", key="stay")
print(patients.shape[0].reveal(eps=0.5))
for _ in range(polars.read_csv("stays.csv").height):
    pass
