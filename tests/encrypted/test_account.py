"""One budget over several studies of the same owners: each server keeps it by itself."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.encrypted import analyst
from privjail.encrypted.owner import Submitter
from privjail.encrypted.plans import plan
from privjail.encrypted.spending import Spending, make_account, opened_account, use_account
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.ledger import anchor, store

from .parties import Parties, privjail


def two_studies(tmp_path, servers):
    studies = [Parties(tmp_path / name, bins=4, budget=10) for name in ("spring", "autumn")]
    for server in servers:
        make_account(tmp_path / f"account-{server}", Fraction(3))
        for parties in studies:
            use_account(parties.where / server, tmp_path / f"account-{server}")
    return studies


@pytest.mark.parametrize("servers", [["cs"], ["ds"]], ids=["compute server alone", "decryption server alone"])
def test_two_studies_of_the_same_owners_spend_one_budget(tmp_path, servers):
    """Each budget is 10, the account's 3: spent together. Either server alone holds to it."""
    spring, autumn = two_studies(tmp_path, servers)

    def publish(parties, name, epsilon):
        return analyst.publish(parties.study, parties.tickets.operator(), name, "block_tree", epsilon)

    with spring.in_threads(), autumn.in_threads():
        for parties in (spring, autumn):
            with Submitter(parties.study) as submitter:
                submitter.submit(parties.records([0, 1]))
        publish(spring, "a", 2)
        with pytest.raises(BudgetExceeded):
            publish(autumn, "a", "1.5")
        publish(autumn, "b", 1)
        publish(autumn, "b", 1)  # what was published is returned, and costs nothing
        with pytest.raises(BudgetExceeded):
            publish(spring, "c", "0.01")


def test_the_same_name_in_two_studies_is_two_charges(tmp_path):
    make_account(tmp_path / "account", Fraction(3))
    (tmp_path / "one").mkdir()
    use_account(tmp_path / "one", tmp_path / "account")
    terms = Parties(tmp_path / "study", bins=4).study.terms
    charged = [opened_account(tmp_path / "one", bytes([i]) * 32) for i in (1, 2)]
    for each in charged:
        each.charge("r", plan("block_tree", 1, terms), "mark")
        each.charge("r", plan("block_tree", 1, terms), "mark")
    with pytest.raises(DPError, match="lost, or an old copy"):
        charged[0].charge("r", plan("block_tree", 1, terms), "another mark")
    for each in charged:
        each.close()
    found = Spending(tmp_path / "account", Fraction(3))
    assert found.spent == 2
    found.close()


@pytest.mark.parametrize("run", ["another run", ""])
def test_an_account_is_opened_after_a_restart_of_the_machine(tmp_path, monkeypatch, run):
    make_account(tmp_path / "account", Fraction(3))
    (tmp_path / "one").mkdir()
    use_account(tmp_path / "one", tmp_path / "account")
    terms = Parties(tmp_path / "study", bins=4).study.terms
    account = opened_account(tmp_path / "one", bytes(32))
    account.charge("r", plan("block_tree", 1, terms), "mark")
    account.close()
    for module in (anchor, store):
        monkeypatch.setattr(module, "machine_run", lambda: run)  # "": a system that does not tell its runs apart
    for _ in range(2):
        found = Spending(tmp_path / "account", Fraction(3))
        assert found.spent == 1
        found.close()


def test_an_account_is_made_once_and_not_replaced_by_an_empty_one(tmp_path):
    make_account(tmp_path / "account", Fraction(1))
    with pytest.raises(PlanError, match="left as it is"):
        make_account(tmp_path / "account", Fraction(9))
    (tmp_path / "one").mkdir()
    use_account(tmp_path / "one", tmp_path / "account")
    (tmp_path / "account" / "ledger.sqlite").unlink()
    with pytest.raises(PlanError, match="not there"):
        opened_account(tmp_path / "one", bytes(32))
    with pytest.raises(PlanError, match="no account"):
        use_account(tmp_path / "one", tmp_path / "nowhere")


def test_the_command_line_makes_and_joins_an_account(tmp_path):
    Parties(tmp_path / "study", bins=4)
    done = privjail(
        "keys", "account", str(tmp_path / "all"), "--budget", "3", "--server", str(tmp_path / "study" / "cs")
    )
    assert done.returncode == 0 and "1 servers charge it" in done.stdout, done.stderr
    assert opened_account(tmp_path / "study" / "cs", bytes(32)).budget == 3
