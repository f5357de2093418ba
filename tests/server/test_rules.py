"""Limits beside the budget: each refuses exactly what it says, charges nothing, and survives a restart and a checkpoint."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privjail.curator import house_rules
from privjail.curator.folder import JailFolder
from privjail.curator.views import Filter, search
from privjail.errors import BudgetExceeded, DPError, PlanError
from privjail.server.ledger.checkpoint import pack, sha256, unpack
from privjail.server.ledger.rules import Rule, Used, check, within
from privjail.server.limits import LimitError

from .jails import count, make_jail, serving

AT = "2026-11-18T10:30:00+00:00"
WHOLE = [("census", (), (Fraction(1, 2),))]


def spend(folder, cost, at=AT, user="ann"):
    folder.state.spend(user, [("census", (), (Fraction(cost),))], {}, at)


@pytest.fixture
def folder(tmp_path):
    return make_jail(tmp_path, users=("ann", "bob"))


def test_each_limit_refuses_what_is_beyond_it_and_nothing_else():
    used = Used()
    for _ in range(3):
        used.count(AT, Fraction(1, 4))
    allowed = [
        Rule(per_request=Fraction(1, 2)), Rule(per_day=Fraction(5, 4)), Rule(requests_per_day=4), Rule(requests_per_hour=4),
        Rule(hours="10:00-11:00"), Rule(hours="11:00-12:00 Europe/Zurich"), Rule(hours="22:00-10:31"), Rule(until="2026-11-19"),
    ]  # fmt: skip
    refused = [
        (Rule(per_request=Fraction(49, 100)), BudgetExceeded), (Rule(per_day=Fraction(124, 100)), BudgetExceeded),
        (Rule(requests_per_day=3), LimitError), (Rule(requests_per_hour=3), LimitError),
        (Rule(hours="08:00-10:30"), LimitError), (Rule(hours="10:00-11:00 Europe/Zurich"), LimitError),
        (Rule(hours="22:00-10:30"), LimitError), (Rule(until="2026-11-18"), PlanError),
    ]  # fmt: skip
    for rule in allowed:
        check(rule, "on 'x'", Fraction(1, 2), used, AT)
    for rule, error in refused:
        with pytest.raises(error, match="nothing was charged"):
            check(rule, "on 'x'", Fraction(1, 2), used, AT)
    tomorrow = "2026-11-19T00:00:00+00:00"
    check(Rule(per_day=Fraction(1, 2), requests_per_day=1, requests_per_hour=1), "", Fraction(1, 2), used, tomorrow)
    assert within("00:00-12:00", "2026-11-18T11:59:59+00:00") and not within("00:00-12:00", "2026-11-18T12:00:00+00:00")


def test_rules_hold_for_their_people_only(folder):
    house_rules.set_rule(folder, "census", Rule(per_request=Fraction(1, 10)), user="ann")
    with pytest.raises(BudgetExceeded, match="at most 0.1 by you"):
        spend(folder, "0.2")
    spend(folder, "0.1")
    spend(folder, "0.2", user="bob")
    folder.set_group("team", ["bob"])
    house_rules.set_rule(folder, "census", Rule(requests_per_day=1), group="team")
    folder.ledger.charge("bob", "00", "d", {}, [], {})  # charges nothing on census
    assert folder.state.used[("group", "team", "census")].requests == 0


def test_what_is_counted_follows_from_the_entries(folder, tmp_path):
    """A restart, and a checkpoint, give the same counts; a ledger without rules has the checkpoints that it always had."""
    plain = pack(folder.state)
    assert b"rules" not in __import__("zlib").decompress(plain)
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1)))
    for i in range(3):
        cell = root_of(folder)
        folder.ledger.charge("ann", f"{i:032x}", "d", {}, [(cell, (Fraction(1, 4),))], {})
    with pytest.raises(BudgetExceeded, match="at most 1 may be spent in a day on 'census', and 0.75 of it"):
        folder.ledger.charge("ann", "f" * 32, "d", {}, [(root_of(folder), (Fraction(1, 2),))], {})
    used = folder.state.used[("dataset", "", "census")]
    assert (used.spent, used.requests) == (Fraction(3, 4), 3)
    again = JailFolder(tmp_path / "jail")
    assert again.state.used == folder.state.used and again.state == folder.state
    packed = pack(folder.state)
    assert unpack(packed, {"sha256": sha256(packed)}).used == folder.state.used
    assert folder.state.total(("dataset", "", "census")) == (Fraction(3, 4),)


def root_of(folder):
    from privjail.ops.rows.source import Dataset, Source, Unit
    from privjail.plan.domain import IntDomain

    source = Source(Dataset("census", "census", (("age", IntDomain(True, 0, 120)),), Unit(None, 1)))
    from privjail.ops.numbers.tally import Tally

    return next(iter(Tally(source, (), None).cells)).root


def test_a_frozen_data_set_answers_nobody_until_it_is_unfrozen(folder):
    with pytest.raises(PlanError, match="needs a reason"):
        house_rules.freeze(folder, "census", None)
    house_rules.freeze(folder, "census", "an incident")
    with pytest.raises(PlanError, match="'census' is frozen; nothing was charged"):
        spend(folder, "0.1")
    with pytest.raises(PlanError, match="frozen already"):
        house_rules.freeze(folder, "census", "again")
    house_rules.freeze(folder, "census", "cleared", frozen=False)
    spend(folder, "0.1")


def test_loosening_needs_a_reason_and_tightening_does_not(folder):
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1), noise=Fraction(2)))
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(1, 2), noise=Fraction(3)))
    for looser in (Rule(per_day=Fraction(1, 2)), Rule(per_day=Fraction(1), noise=Fraction(3)), Rule(),
                   Rule(per_day=Fraction(1, 2), noise=Fraction(2))):  # fmt: skip
        with pytest.raises(PlanError, match="loosening a limit needs a reason"):
            house_rules.set_rule(folder, "census", looser)
    house_rules.set_rule(folder, "census", Rule(), reason="the study ended")
    assert folder.state.rules == {} and folder.state.used == {}


@pytest.mark.parametrize("given", [
    {"per_day": "0"}, {"per_day": "-1"}, {"per_day": "nan"}, {"per_day": "x"}, {"requests_per_day": "0"}, {"requests_per_day": "1.5"},
    {"hours": "8-18"}, {"hours": "08:00-08:00"}, {"hours": "08:00-18:00 Nowhere/Town"}, {"until": "tomorrow"}, {"unknown": "1"},
    {"hours": "08:00-18:00+01:00"}, {"hours": "2026-11-18"}, {"hours": "0800-1800"}, {"per_request": "1e400"}, {"noise": "1e-400"},
])  # fmt: skip
def test_rules_that_mean_nothing_are_refused(given):
    with pytest.raises(PlanError):
        house_rules.read_rule(given)


def test_a_limit_that_no_float_holds_does_not_break_the_log(folder):
    """Red before: `privjail limit … --per-day 1e400` was entered, and then neither log nor page could be shown."""
    house_rules.set_rule(folder, "census", Rule(per_day=Fraction(10**400)))
    (found,) = search(folder, Filter(what="rule"), None, 1)
    assert "at most 1e+300 a day" in found.line.details
    with pytest.raises(PlanError, match="are no hours"):  # red before: no answer any more, but a failure inside
        within("08:00-18:00+01:00", AT)
    for day in ("x", "20261118", "2026-02-30"):
        with pytest.raises(PlanError, match="is no day"):
            Filter(since=day)


def test_wishes_are_granted_or_declined_and_limited(folder):
    house_rules.wish(folder, "ann", "census", "2000", "a second study")
    house_rules.wish(folder, "ann", "no-such-data", "1", "hope")
    first, second = folder.state.wishes
    with pytest.raises(PlanError, match="there is no data set"):
        house_rules.approve(folder, second, "ok")
    house_rules.approve(folder, first, "fine")
    assert folder.state.limits[("user", "ann", "census")] == (2000,)
    house_rules.decline(folder, second, "there is none")
    assert folder.state.wishes == {}
    with pytest.raises(PlanError, match="no open request"):
        house_rules.decline(folder, second, "again")
    for _ in range(house_rules.MOST_WISHES):
        house_rules.wish(folder, "ann", "census", "1", "more")
    with pytest.raises(PlanError, match="not decided yet"):
        house_rules.wish(folder, "ann", "census", "1", "more")


def test_roles_are_checked(folder):
    with pytest.raises(PlanError, match="there is no role 'boss'"):
        folder.add_user("x", 3, role="boss")
    with pytest.raises(PlanError, match="has grants"):
        folder.add_user("ann", 3, role="curator")
    folder.add_user("maria", 3, role="curator")
    with pytest.raises(PlanError, match="'maria' is a curator: only analysts spend"):
        folder.grant("maria", "census", [1], False, None)
    folder.add_user("maria", 3)  # a new token, the same role
    assert folder.state.users["maria"].role == "curator"


def test_limits_and_refusals_at_a_real_jail(tmp_path):
    """The floor of noise, a role, a frozen data set, and what the security log says of each."""
    import json

    from privjail import client

    folder = make_jail(tmp_path, users=("ann",))
    (tmp_path / "maria.privjail").write_text(
        json.dumps(folder.add_user("maria", 3, role="curator") | {"insecure_loopback": True})
    )
    with serving(tmp_path):
        with pytest.raises(DPError, match="the jail answers analysts"):
            client.connect(tmp_path / "maria.privjail")
        ann = client.connect(tmp_path / "ann.privjail")
        ann.release([count(ann, 1)])
        house_rules.set_rule(folder, "census", Rule(noise=Fraction(2)))  # √2/ε ≥ 2: ε at most 0.707
        with pytest.raises(BudgetExceeded, match="noise of at least 2 times"):
            ann.release([count(ann, Fraction(71, 100))])
        ann.release([count(ann, Fraction(70, 100))])
        house_rules.freeze(folder, "census", "an incident")
        with pytest.raises(DPError, match="is frozen"):
            ann.release([count(ann, Fraction(1, 10))])
        folder.revoke("ann", None)
        with pytest.raises(DPError, match="not accepted"):
            ann.release([count(ann, Fraction(1, 10))])
        ann.close()
    assert folder.state.total(("dataset", "", "census")) == (Fraction(17, 10),)
    lines = [json.loads(x) for x in (tmp_path / "jail" / "security" / "jail.jsonl").read_text().splitlines()]
    kinds = [x["kind"] for x in lines]
    assert (
        kinds[0] == "started"
        and "token role" in kinds
        and "limit hit" in kinds
        and "refused" in kinds
        and "token revoked" in kinds
    )
    hit = next(x for x in lines if x["kind"] == "limit hit")
    assert hit["user"] == "ann" and hit["error"] == "BudgetExceeded" and "noise" in hit["what"]
    text = (tmp_path / "jail" / "security" / "jail.jsonl").read_text()
    assert json.loads((tmp_path / "ann.privjail").read_text())["token"] not in text
