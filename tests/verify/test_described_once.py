"""The facts of a data set in certificates are made once, and certificates share nothing that can be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import privjail as pj
from privjail import pandas as pd
from privjail.verify import certificate

SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}, "sex": {"type": "category", "categories": ["F", "M"]}}


def test_a_changed_certificate_does_not_change_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n1,F\n2,M\n")
    df = pd.read_csv(tmp_path / "people.csv", SCHEMA)
    made = []
    monkeypatch.setattr(certificate, "facts", lambda dataset, facts=certificate.facts: made.append(1) or facts(dataset))

    with pj.certify() as first:
        df.shape[0].reveal(eps=1)
    first.all[0]["data sets"][0]["columns"][0][1]["range"][1] = "1000000"
    with pj.certify() as second:
        df.shape[0].reveal(eps=1)

    assert second.all[0]["data sets"][0]["columns"][0][1]["range"] == ["0", "120"]
    assert len(made) == 1
