"""What each server sees. Each message has the law that decision 0302 states; a variant without protection is told apart.

False alarms: every statistical line fails on good code with probability at most 1e-6.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privjail.encrypted import analyst, compare, release
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.numbers import SLOTS, P, centred, uniform
from privjail.encrypted.plans import plan
from privjail.encrypted.wire import Caller
from privjail.histograms import Law
from privjail.mechanisms.noise import Noise

from .parties import Parties
from .test_equal import put

ALARM = 1e-6


def rows_in_the_clear(y: Any, r: Any, blinding: compare.Blinding) -> Any:
    """What D decrypts of C's blinded comparison (test_schemes.py holds it against real ciphertexts)."""
    constants, factors = compare.rows_of(r)
    bits = compare.bits_of(compare.in_slots(2 * y % P))
    rows = constants + 1 - 2 * blinding.coins + (factors * bits[None]).sum(axis=1)
    return np.take_along_axis(rows, blinding.order, axis=0) * blinding.factors % P


def features(rows: Any) -> dict[str, Any]:
    """All that the rows hold, slot by slot: is there a zero, where, how many, and how the others are spread."""
    zero = rows == 0
    values = rows[~zero]
    return {
        "found": np.bincount(zero.any(axis=0), minlength=2),
        "how many": np.bincount(np.minimum(zero.sum(axis=0), 2), minlength=3),
        "where": zero.sum(axis=1),
        "values": np.bincount(values * 64 // P, minlength=64),
        "small": np.bincount(np.minimum(values, 200), minlength=201)[1:200:20] + 1,
        "first row": np.bincount(rows[0] * 16 // P, minlength=16),
        "last row": np.bincount(rows[-1] * 16 // P, minlength=16),
    }


def view(v: int, change: Any = lambda blinding: None, times: int = 4) -> dict[str, Any]:
    """D's view of comparisons whose number is v in every slot."""
    total: dict[str, Any] = {}
    for _ in range(times):
        r, blinding = uniform(P, SLOTS), compare.Blinding()
        change(blinding)
        for name, counts in features(rows_in_the_clear((v + r) % P, r, blinding)).items():
            total[name] = total.get(name, 0) + counts
    return total


def told_apart(left: dict[str, Any], right: dict[str, Any]) -> float:
    """The smallest p-value of two-sample tests on every feature, times their number."""
    p = [1.0]
    for name in left:
        table = np.array([left[name], right[name]])
        table = table[:, table.sum(axis=0) > 20]
        if table.shape[1] > 1:
            p.append(stats.chi2_contingency(table).pvalue if table.sum(axis=1).all() else 0.0)
    return min(1.0, len(p) * min(p))


def test_blinded_comparisons_look_alike_whatever_is_compared():
    views = [view(v) for v in (3, 2**22, -1, -(2**20), 0)]
    assert all(told_apart(views[0], other) > ALARM for other in views[1:])
    for seen in views:  # and the law is the stated one
        assert stats.binomtest(int(seen["found"][1]), int(seen["found"].sum())).pvalue > ALARM
        assert seen["how many"][2] == 0
        assert stats.chisquare(seen["where"]).pvalue > ALARM
        assert stats.chisquare(seen["values"]).pvalue > ALARM


def _no_coin(blinding):
    blinding.coins[:] = 0


def _no_order(blinding):
    blinding.order[:] = np.arange(compare.ROWS)[:, None]


def _no_factor(blinding):
    blinding.factors[:] = 1


@pytest.mark.parametrize(("change", "pair"), [(_no_coin, (3, -3)), (_no_order, (1, 2**22)), (_no_factor, (1, 2**22))])
def test_without_one_of_its_parts_the_blinding_fails(change, pair):
    """The control: the same test tells inputs apart as soon as coin, order or factors are left out."""
    assert told_apart(view(pair[0], change), view(pair[1], change)) < ALARM


def test_shares_are_uniform_whatever_the_counts():
    low, high = ((np.full(SLOTS, x) + uniform(P, SLOTS)) % P for x in (0, 2**20))
    counted = [np.bincount(y * 64 // P, minlength=64) for y in (low, high)]
    assert all(stats.chisquare(c).pvalue > ALARM for c in counted)
    assert stats.chi2_contingency(counted).pvalue > ALARM


class Heard:
    """Both ends of every call from the compute server to the decryption server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
        call = Caller.call

        def listening(caller: Any, method: str, request: Any, reply: Any, *more: Any, **named: Any) -> Any:
            answer = call(caller, method, request, reply, *more, **named)
            self.calls[method].append((request, answer))
            return answer

        monkeypatch.setattr(Caller, "call", listening)


class Drawn:
    """The exact sampler, remembering what it drew: a server's own randomness."""

    def __init__(self, silent: bool = False) -> None:
        self.drawn: dict[float, Any] = {}
        self._silent = silent

    def __call__(self, scale: float, n: int) -> Any:
        self.drawn[scale] = np.array([0] * n if self._silent else Noise().laplace(scale, n))
        return self.drawn[scale].tolist()


def follows(samples: Any, law: Law) -> bool:
    """Whether samples follow a law: a chi-squared test on bins that each expect at least 20."""
    reach = 4096
    expected = law.pmf(reach) * len(samples)
    edges, mass = [], 0.0
    for x in range(-reach, reach + 1):
        mass += expected[x + reach]
        if mass >= 20:
            edges.append(x)
            mass = 0.0
    cells = np.searchsorted(edges[:-1], samples, side="left")
    counts = np.bincount(cells, minlength=len(edges))
    groups = np.searchsorted(edges[:-1], np.arange(-reach, reach + 1), side="left")
    wanted = np.bincount(groups, expected, minlength=len(edges))
    return bool(stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > ALARM)


def ran(where: Path, monkeypatch: pytest.MonkeyPatch, method: str, d: Drawn, c: Drawn, counts: Any) -> Any:
    """One release; everything that was said, and C's masks."""
    parties = Parties(where, bins=len(counts), budget=100)
    put(parties, counts)
    heard, masks = Heard(monkeypatch), []
    monkeypatch.setattr(release, "uniform", lambda below, n: masks.append(uniform(below, n)) or masks[-1])
    with parties.in_threads(d, c):
        found = analyst.publish(parties.study, parties.tickets.operator(), "x", method, 1)
    return found, heard.calls, masks[0], plan(method, 1, parties.study.terms)


def test_block_tree_neither_server_can_remove_the_others_noise(tmp_path, monkeypatch):
    counts = np.arange(4096) % 7
    d, c = Drawn(), Drawn()
    found, calls, masks, made = ran(tmp_path, monkeypatch, "block_tree", d, c, counts)
    ((request, reply),) = calls["Share"]
    law, weak = Law.of(made.scales[0]), Law.of(0.7 * made.scales[0])

    # C knows its masks and its noise: what remains for it is x + D's noise, of the full scale.
    remains = centred(np.array(reply.leaves) - masks) - counts
    assert (remains == d.drawn[made.scales[0]]).all()
    assert follows(remains, law) and not follows(remains, weak)
    # D knows its noise and the published leaves: what remains for it is x + C's noise, of the full scale.
    remains = found.released["leaves"] - d.drawn[made.scales[0]] - counts
    assert (remains == c.drawn[made.scales[0]]).all()
    assert follows(remains, law) and not follows(remains, weak)
    # All else that D saw are the masked counts, uniform and independent of x.
    y = (counts + masks) % P
    assert stats.chisquare(np.bincount(y * 32 // P, minlength=32)).pvalue > ALARM
    assert set(calls) == {"Share"} and {f.name for f, _ in request.ListFields()} == {
        "release",
        "method",
        "epsilon",
        "masked",
        "chain",
    }


def test_for_ranges_sums_of_every_size_carry_the_noise_of_both(tmp_path, monkeypatch):
    counts = np.arange(4096) % 7
    d, c = Drawn(), Drawn()
    found, calls, _, made = ran(tmp_path, monkeypatch, "block_tree for ranges", d, c, counts)
    assert list(found.released) == ["leaves", "blocks", "large blocks"] and len(made.sizes) == len(made.scales) == 3
    for row, size, scale in zip(found.released.values(), made.sizes, made.scales, strict=True):
        exact = np.add.reduceat(counts, np.arange(0, 4096, size))
        assert (row - exact == d.drawn[scale] + c.drawn[scale]).all() and d.drawn[scale].any() and c.drawn[scale].any()
    assert sum(found.epsilons.values()) == 1 and set(calls) == {"Share"}


def test_with_noise_of_one_server_only_that_server_reads_everything(tmp_path, monkeypatch):
    """The control, and the thesis' fault: the server that drew all the noise subtracts it."""
    counts = np.arange(4096) % 7
    d = Drawn()
    found, *_, made = ran(tmp_path, monkeypatch, "block_tree", d, Drawn(silent=True), counts)
    assert (found.released["leaves"] - d.drawn[made.scales[0]] == counts).all()


def test_partition_shows_bits_and_noisy_sums_only(tmp_path, monkeypatch):
    counts = np.arange(4096) // 512 * 40
    d, c = Drawn(), Drawn()
    found, calls, masks, made = ran(tmp_path, monkeypatch, "partition", d, c, counts)
    (_, bits), (blind, pair), (both, opened) = calls["Share"][0], calls["Compare"][0], calls["Open"][0]
    merges, sums = 1 - np.diff(found.released["buckets"]), found.released["sums"]
    starts = np.concatenate([[0], 1 + np.flatnonzero(merges == 0)])

    assert {name: len(said) for name, said in calls.items()} == {"Share": 1, "Compare": 1, "Open": 1}
    # To C: ciphertexts, the published bits, and sums under D's noise.
    assert not bits.leaves and not bits.blocks and len(bits.bits) == 24 and len(pair.shares) == 3
    assert np.frombuffer(opened.merges, np.uint8).tolist() == merges.tolist()
    left = centred(np.array(opened.sums) - np.add.reduceat(masks, starts)) - np.add.reduceat(counts, starts)
    assert (left == d.drawn[made.scales[1]]).all()
    # To D: masked counts, blinded rows, and the AND. Its own noise taken off the published sums, C's remains.
    assert ((sums - d.drawn[made.scales[1]] - np.add.reduceat(counts, starts)) == c.drawn[made.scales[1]]).all()
    assert len(blind.rows) == 25 and {len(row) for row in blind.rows} == {16 * SLOTS} and len(both.both) == 16 * SLOTS
    for scale in (made.scales[0], made.scales[1]):
        assert d.drawn[scale].any() and c.drawn[scale].any()
    assert follows(d.drawn[made.scales[0]], Law.of(made.scales[0])) and follows(
        c.drawn[made.scales[0]], Law.of(made.scales[0])
    )
    assert {f.name for f in pb.OpenReply.DESCRIPTOR.fields} == {"merges", "sums"}


def test_the_same_question_twice_gets_the_same_answer_and_another_is_refused(tmp_path, monkeypatch):
    """Else C would ask for the same counts under fresh noise, and average it away."""
    from privjail.encrypted.decrypt import Decryptor
    from privjail.errors import DPError

    parties = Parties(tmp_path, bins=8, budget=1)
    put(parties, np.arange(8))
    server = Decryptor(tmp_path / "ds")

    def ask(release: str) -> Any:
        masked = uniform(P, 8).astype("<u4").tobytes()
        return pb.ShareRequest(release=release, method="block_tree", epsilon="1", masked=masked, chain=bytes(32))

    first = ask("a")
    assert server.share(first) == server.share(first)
    with pytest.raises(DPError, match="with another message"):
        server.share(ask("a"))
    with pytest.raises(DPError, match="0 of the study's 1 are left"):
        server.share(ask("b"))
    server.close()
