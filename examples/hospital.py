"""A made-up hospital: patients, their stays and the diagnoses of each stay. A few patients have very many stays.

`python examples/hospital.py FOLDER [PATIENTS]` writes three CSV files and their schemas. 200,000 patients make about
a million rows. No real person is in it.
"""

from __future__ import annotations

import csv
import json
import random
import sys
from pathlib import Path

WARDS = ("surgery", "maternity", "cardiology", "emergency")
CODES = ("A", "B", "C", "D", "E", "F")
MOST = 200  # stays of the patient with the most stays
SCHEMAS = {
    "patients": {
        "patient": {"type": "Int64"},
        "sex": {"type": "category", "categories": ["F", "M"]},
        "age": {"type": "Int64", "range": [0, 110]},
    },
    "stays": {
        "stay": {"type": "Int64"},
        "patient": {"type": "Int64"},
        "ward": {"type": "category", "categories": list(WARDS)},
        "admitted": {"type": "Int64", "range": [0, 364]},
        "discharged": {"type": "Int64", "range": [0, 400]},
        "cost": {"type": "Float64", "range": [0, 20000]},
    },
    "diagnoses": {
        "stay": {"type": "Int64"},
        "code": {"type": "category", "categories": list(CODES)},
    },
}


def tables(patients: int = 2000, seed: int = 1) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each table, in the order of the columns of its schema."""
    pick = random.Random(seed)
    people: list[tuple[object, ...]] = []
    stays: list[tuple[object, ...]] = []
    diagnoses: list[tuple[object, ...]] = []
    for patient in range(1, patients + 1):
        people.append((patient, pick.choice("FM"), min(110, int(pick.gauss(52, 20) % 110))))
        for _ in range(min(MOST, int(pick.paretovariate(1.5)))):
            admitted = pick.randrange(365)
            days = min(35, int(pick.expovariate(0.25)))
            cost = round(min(20000.0, 400 + 350 * days * pick.uniform(0.5, 1.5)), 2)
            stays.append((len(stays) + 1, patient, pick.choice(WARDS), admitted, admitted + days, cost))
            diagnoses += [(len(stays), pick.choice(CODES)) for _ in range(pick.randint(0, 2))]
    return {"patients": people, "stays": stays, "diagnoses": diagnoses}


def write_files(folder: str, patients: int = 2000) -> None:
    """The tables as CSV files, and their schemas as JSON."""
    for name, rows in tables(patients).items():
        with (Path(folder) / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(SCHEMAS[name])
            writer.writerows(rows)
        (Path(folder) / f"{name}.json").write_text(json.dumps(SCHEMAS[name], indent=1), encoding="utf-8")


if __name__ == "__main__":
    write_files(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
