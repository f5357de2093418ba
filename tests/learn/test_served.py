"""Vector sums and a fit through a served jail: the same nodes, rebuilt and checked there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import privjail as pj
from privjail import learn
from privjail import numpy as np
from privjail import pandas as pd
from privjail.curator.folder import JailFolder
from privjail.errors import DPError
from tests.server.jails import free_port, serving

from .test_additive import COLUMNS, SCHEMA, TEST, people


@pytest.fixture
def served(tmp_path: Path):
    people(4000, 0).to_csv(tmp_path / "people.csv", index=False)
    folder = JailFolder.init(tmp_path / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{free_port()}", None)
    folder.add_dataset("people", str(tmp_path / "people.csv"), SCHEMA, [2], "zcdp", (None, 1))
    file = folder.add_user("ann", 30) | {"insecure_loopback": True}
    (tmp_path / "ann.privjail").write_text(json.dumps(file), encoding="utf-8")
    folder.grant("ann", "people", [2], False, None)
    folder.ledger.close()
    with serving(tmp_path):
        pj.connect(tmp_path / "ann.privjail")
        yield
        pj.disconnect()


def test_arrays_and_models_work_through_a_served_jail(served):
    df = pd.read_csv("people")
    X = df[["age", "pay"]].to_numpy()
    short = pj.clip_norm(X / numpy.array([100.0, 100_000.0]), 1)
    gram = (short.T @ short).reveal(rho=0.1)
    assert numpy.allclose(gram, gram.T) and gram[0, 0] > 500
    assert (short.T @ np.eye(4)[df["ward"]]).reveal(rho=0.1).shape == (2, 4)

    model = learn.AdditiveClassifier(rounds=3).fit(df[COLUMNS], df["ill"], rho=1)
    assert model.score(TEST, TEST["ill"]) > 0.72
    spent = pj.consumed_privacy_budget()
    with pytest.raises(DPError, match="nothing was charged"):
        learn.AdditiveClassifier().fit(df[COLUMNS], df["ill"], rho=1)
    with pytest.raises(DPError, match="nothing was charged"):
        df[["age", "pay"]].describe(eps=40)
    assert pj.consumed_privacy_budget() == spent
    df[["age", "pay"]].median(eps=0.5)
    assert pj.consumed_privacy_budget() != spent
