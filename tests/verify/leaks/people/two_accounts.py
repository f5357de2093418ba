"""What was spent on one table of a population is forgotten before the next is asked."""

import privjail as pj
from privjail import pandas as pd
from privjail import session

PATIENTS = {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}}
STAYS = {"stay": {"type": "Int64"}, "patient": {"type": "Int64"}, "cost": {"type": "Int64", "range": [0, 10]}}
people = pj.population("hospital", budget=1)
patients = pd.read_csv("patients.csv", PATIENTS, population=people, unit="patient", max_rows_per_unit=1)
stays = pd.read_csv("stays.csv", STAYS, population=people, unit="patient", key="stay")
print(patients.shape[0].reveal(eps=1))
(account,) = session.jail().ledger.accounts()
account.tree = type(account.tree)(account.notion.zero())
print(stays.groupby("patient").size().shape[0].reveal(eps=1))
