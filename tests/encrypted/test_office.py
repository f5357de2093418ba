"""What a statistics office needs: attributes, cross tables, sums and means, periods, thresholds, and words for owners."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest

from privjail.encrypted import analyst, compute, decrypt, keys
from privjail.encrypted.attributes import Attribute, bin_of, bins_of, values, weights
from privjail.encrypted.consent import consent
from privjail.encrypted.owner import Submitter
from privjail.encrypted.study import Offer, Study, Terms
from privjail.errors import PlanError, RefusedError
from privjail.histograms import block_tree, identity
from privjail.histograms.weighted import mean, weighted

from .parties import Parties, free_port, privjail

AGE, REGION = Attribute.parse("age=0:80:20"), Attribute.parse("region=north,south,west")
BOTH = (AGE, REGION)


def made(folder, terms):
    """A study with these terms, as Parties makes one."""
    parties = Parties.__new__(Parties)
    parties.where, parties.processes = folder, {}
    offer = keys.make_decrypt(folder / "ds", terms, f"127.0.0.1:{free_port()}")
    parties.study = keys.make_compute(folder / "cs", offer, f"127.0.0.1:{free_port()}")
    parties.tickets = keys.Tickets(folder / "cs")
    return parties


def test_attributes_name_bins_and_bins_name_attributes():
    assert AGE.labels == ("0 to 20", "20 to 40", "40 to 60", "60 to 80") and bins_of(BOTH) == 12
    assert bin_of(BOTH, {"age": "45", "region": "west"}) == 2 * 3 + 2
    assert bin_of(BOTH, {"age": "-3", "region": "north"}) == 0 and bin_of(BOTH, {"age": "999", "region": "north"}) == 9
    grid = weights(BOTH, "age=20:60,region=south").reshape(4, 3)
    assert grid.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert weights(BOTH, "region=north:south").reshape(4, 3)[:, :2].all() and weights(BOTH, "").sum() == 12
    assert values(BOTH, "age").reshape(4, 3)[:, 0].tolist() == [10, 30, 50, 70]


@pytest.mark.parametrize("query", ["age=25:40", "age=60:20", "income=3", "region=east", "age", "region=north:"][:5])
def test_queries_without_sense_are_refused(query):
    with pytest.raises(PlanError):
        weights(BOTH, query)


@pytest.mark.parametrize("text", ["x=a", "x=a,a", "x=0:10:0", "x=5:0:1", "=a,b", "x=0:1e9:1"])
def test_attributes_without_sense_are_refused(text):
    with pytest.raises(PlanError):
        Attribute.parse(text)


def test_weighted_sums_have_exact_errors():
    """Against the covariance of the unbiased counts, column by column from unit noise."""
    rng, n = np.random.default_rng(1), 300
    x = rng.integers(0, 50, n)
    w = rng.integers(-2, 3, n).astype(float)
    found = [block_tree.release(x, 1, smooth=False) for _ in range(400)]
    sums = np.array([w @ h.unbiased for h in found])
    told = weighted(found[0], w)
    error = (told.high - told.low) / 2 / 1.959964
    assert np.std(sums) == pytest.approx(error, rel=0.12)
    plain = identity.release(x, 1)
    reach = weighted(plain, w)
    assert (reach.high - reach.low) / 2 / 1.959964 == pytest.approx(np.sqrt((w**2).sum() * plain.error(0, 1) ** 2))
    ranged = np.zeros(n)
    ranged[37:201] = 1
    same, range_ = weighted(found[0], ranged), found[0].answer(37, 201)
    assert (same.low, same.high) == pytest.approx((range_.low, range_.high))


def test_intervals_of_rectangles_sums_and_means_hold():
    rng = np.random.default_rng(2)
    x = rng.integers(100, 400, 12)
    cells, ages = weights(BOTH, "age=20:60,region=south"), values(BOTH, "age")
    truth = (float(cells @ x), float(ages @ x), float(ages @ x / x.sum()))
    held = np.zeros(3)
    for _ in range(300):
        h = block_tree.release(x, Fraction(1, 5))
        told = (weighted(h, cells), weighted(h, ages), mean(h, ages))
        held += [answer.low <= true <= answer.high for answer, true in zip(told, truth, strict=True)]
    assert held.min() >= 270 and held.max() <= 299  # 95 % of 300, within three standard errors below


def test_a_mean_of_nobody_is_no_number():
    with pytest.raises(PlanError, match="too few"):
        mean(block_tree.release(np.zeros(12, dtype=int), Fraction(1, 5)), values(BOTH, "age"))


def test_a_cross_table_from_submission_to_answer(tmp_path):
    """The command line, from attributes to a rectangle and a mean; noise is given as 0, so answers are exact."""
    terms = Terms(12, "add-remove", Fraction(10), attributes=BOTH)
    parties = made(tmp_path, terms)
    assert Study.load(tmp_path / "cs" / "study.json") == parties.study
    assert Offer.load(tmp_path / "cs" / "offer.json").terms == terms
    rng = np.random.default_rng(3)
    people = [(int(rng.integers(0, 80)), ("north", "south", "west")[rng.integers(3)]) for _ in range(60)]
    lines = ["owner,ticket,age,region"]
    lines += [f"p{i},{parties.tickets.owner(f'p{i}').hex()},{age},{region}" for i, (age, region) in enumerate(people)]
    lines += [f"gone,{parties.tickets.owner('gone').hex()},,"]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    silent = lambda scale, n: [0] * n  # noqa: E731
    with parties.in_threads(draw_d=silent, draw_c=silent):
        assert "61 kept" in privjail("submit", "cs/study.json", "people.csv", cwd=tmp_path).stdout
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", "block_tree", 5)
        shown = privjail("query", "cs/study.json", "age=20:60,region=south", cwd=tmp_path).stdout
        means = privjail("query", "cs/study.json", "--mean", "age", cwd=tmp_path).stdout
    inside = sum(20 <= age < 60 and region == "south" for age, region in people)
    assert found.released["leaves"].sum() == 60
    assert weights(BOTH, "age=20:60,region=south") @ found.released["leaves"] == inside
    assert "age=20:60,region=south" in shown and "mean of age" in means


def later(**gap):
    return (datetime.now(UTC) + timedelta(**gap)).isoformat(timespec="seconds")


def test_periods_and_thresholds_hold_at_both_servers(tmp_path, monkeypatch):
    closes = later(hours=1)
    parties = made(tmp_path, Terms(4, "add-remove", Fraction(10), least=3, closes=closes))
    ticket, after = parties.tickets.operator(), datetime.now(UTC) + timedelta(hours=2)
    with parties.in_threads(), Submitter(parties.study) as submitter:
        submitter.submit(parties.records([0, 1]))
        with pytest.raises(RefusedError, match="when its period ends"):
            analyst.publish(parties.study, ticket, "early", "block_tree", 1)
        monkeypatch.setattr(compute, "now", lambda: after)  # the compute server's clock alone is not enough
        with pytest.raises(RefusedError, match="at least 3"):
            analyst.publish(parties.study, ticket, "few", "block_tree", 1)
        monkeypatch.setattr(Terms, "publishing", _only_at_decryptor(Terms.publishing, compute))
        with pytest.raises(RefusedError, match="period ends"):
            analyst.publish(parties.study, ticket, "cheating", "block_tree", 1)
        monkeypatch.setattr(decrypt, "now", lambda: after)
        with pytest.raises(RefusedError, match="at least 3"):
            analyst.publish(parties.study, ticket, "cheating", "block_tree", 1)
        with pytest.raises(RefusedError, match="took records until"):
            submitter.submit(parties.records([0, 1, 2]))
    assert analyst  # the refusals above charged nothing:
    from privjail.encrypted.spending import Spending

    assert Spending(tmp_path / "ds", Fraction(10)).spent == 0


def _only_at_decryptor(check, computing):
    """A compute server that leaves the check out: its own call passes, the decryption server's does not."""

    def publishing(self, now, submissions):
        import inspect

        caller = inspect.stack()[1].filename
        return None if caller == computing.__file__ else check(self, now, submissions)

    return publishing


def test_a_study_that_is_not_open_yet_takes_no_record(tmp_path):
    parties = made(tmp_path, Terms(4, "add-remove", Fraction(1), opens=later(hours=1)))
    with parties.in_threads(), Submitter(parties.study) as submitter, pytest.raises(RefusedError, match="from"):
        submitter.submit(parties.records([0]))


@pytest.mark.parametrize(
    "wrong",
    [{"least": 0}, {"opens": "tomorrow"}, {"closes": "2027-01-01T00:00:00"}, {"attributes": (AGE,)}]
    + [{"opens": "2027-01-02T00:00:00+00:00", "closes": "2027-01-01T00:00:00+00:00"}],
)
def test_terms_without_sense_are_refused(wrong):
    with pytest.raises(PlanError):
        Terms(12, "replace", Fraction(1), **wrong)


def test_other_terms_are_another_study(tmp_path):
    """What an owner was told is in the fingerprint that she compares."""
    parties = made(tmp_path, Terms(12, "add-remove", Fraction(1), least=5, attributes=BOTH))
    spec = json.loads((tmp_path / "cs" / "study.json").read_text())
    for change in ({"least": 1}, {"budget": "2"}, {"closes": "2027-01-01T00:00:00+00:00"}):
        (tmp_path / "other.json").write_text(json.dumps(spec | {"terms": spec["terms"] | change}))
        assert Study.load(tmp_path / "other.json").fingerprint != parties.study.fingerprint


def test_owners_are_told_what_they_consent_to(tmp_path):
    parties = made(tmp_path, Terms(12, "add-remove", Fraction(1), least=500, attributes=BOTH))
    words = " ".join(consent(parties.study))
    for part in (
        "age (0 to 20",
        "region (north, south, west)",
        "2.72",
        "500",
        parties.study.fingerprint,
        "Only if both",
    ):
        assert part in words
    assert "•" in privjail("explain", str(tmp_path / "cs" / "study.json")).stdout
