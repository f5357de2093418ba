"""Made-up rows from a jail: nothing of the data without a price, exactly the price with one, and nothing unless allowed."""

from __future__ import annotations

from fractions import Fraction

import pytest

import privjail as pj
from privjail.curator import examples
from privjail.curator.folder import JailFolder
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.ledger.checkpoint import pack, sha256, unpack

from .jails import make_jail, serving


def connected(where):
    pj.disconnect()
    pj.connect(where / "ann.privjail")


def test_rows_from_the_schema_are_the_same_whatever_the_data_is(tmp_path):
    found = []
    for i, rows in enumerate((200, 0)):
        where = tmp_path / str(i)
        where.mkdir()
        folder = make_jail(where, rows=rows)
        with serving(where):
            connected(where)
            with pytest.raises(DPError, match="has not allowed made-up rows of 'census'"):
                pj.made_up("census")
            examples.allow_schema(folder, "census", 60)
            found.append(pj.made_up("census"))
            examples.forbid(folder, "census")
            with pytest.raises(DPError, match="has not allowed"):
                pj.made_up("census")
            with pytest.raises(DPError, match="no data set 'other' for you"):
                pj.made_up("other")
            pj.disconnect()
        assert folder.state.total(("dataset", "", "census")) == (0,)
    assert found[0].equals(found[1]) and len(found[0]) == 60
    assert set(found[0]["sex"].dropna()) <= {"F", "M"} and found[0]["age"].dropna().between(0, 120).all()
    assert found[0].attrs == {"origin": "schema", "price": []}


def test_a_synthetic_table_costs_the_data_set_what_was_said(tmp_path):
    folder = make_jail(tmp_path, budget=3)
    with pytest.raises(PlanError, match="needs a reason"):
        examples.buy(folder, "census", [Fraction(2)], 50, None)
    with pytest.raises(BudgetExceeded):
        examples.buy(folder, "census", [Fraction(4)], 50, "too much")
    assert folder.state.total(("dataset", "", "census")) == (0,) and folder.state.examples == {}
    examples.buy(folder, "census", [Fraction(2)], 50, "for the students")
    state = folder.state
    assert state.total(("dataset", "", "census")) == (2,) == state.total(("user", "example.census.2", "census"))
    assert state.users["example.census.1"].revoked and state.users["example.census.2"].revoked
    assert state.examples["census"].price == (2,) and state.examples["census"].rows == 50
    folder.check()
    packed = pack(state)
    assert unpack(packed, {"sha256": sha256(packed)}).examples == state.examples
    assert JailFolder(tmp_path / "jail").state == state
    with serving(tmp_path):
        connected(tmp_path)
        rows = pj.made_up("census")
        assert len(rows) == 50 and list(rows.columns) == ["age", "sex"]
        assert rows.attrs == {"origin": "synthetic", "price": ["2"]}
        assert pj.made_up("census").equals(rows)
        pj.disconnect()
    assert folder.state.total(("dataset", "", "census")) == (2,)  # to get it costs nothing


@pytest.mark.parametrize("rows", [0, -1, examples.MOST_ROWS + 1])
def test_tables_have_a_length(tmp_path, rows):
    folder = make_jail(tmp_path)
    with pytest.raises(PlanError, match="no number of rows"):
        examples.allow_schema(folder, "census", rows)
