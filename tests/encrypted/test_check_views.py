"""What the decryption server sees of a record in the check, and what the compute server draws for it.

False alarms: every statistical line fails on good code with probability at most 1e-6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from privjail.encrypted import compare, decrypt, keys, onehot, seal, wire
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.numbers import BITS, SLOTS, K, P, Q, uniform
from privjail.encrypted.owner import Submitter
from privjail.encrypted.wire import Caller, CheckLost
from privjail.errors import DPError

from .parties import Parties
from .test_refusals import BINS, good, poly, sent
from .test_views import ALARM

SAME, BIN = 256, 3


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory):
    made = Parties(tmp_path_factory.mktemp("study"), bins=BINS)
    with made.in_threads():
        yield made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Every call between the parties."""
    found: list[tuple[str, Any]] = []
    call = Caller.call

    def listening(caller: Any, method: str, request: Any, *more: Any, **named: Any) -> Any:
        found.append((method, request))
        return call(caller, method, request, *more, **named)

    monkeypatch.setattr(Caller, "call", listening)
    return found


def opened(parties: Parties, asked: list[tuple[str, Any]]) -> list[tuple[Any, Any, Any]]:
    """What D has after each Check: the request, and its 27 numbers for each record, rounded and what lies beside."""
    key = onehot.key_vector(seal.Secret(seal.records(), keys.secret(parties.where / "ds", "records")))
    found = []
    for body in (body for method, body in asked if method == "Check"):
        head, c1 = wire.unframed(body)
        request = pb.CheckRequest.FromString(bytes(head))
        theirs = np.frombuffer(request.halves, dtype="<u8").reshape(-1, onehot.ROWS)
        together = ((onehot.halves(key, c1, request.seed, BINS) + theirs) % np.uint64(Q)).astype(np.int64) + K // 2
        found.append((request, together // K % P, together % K - K // 2))
    return found


def even(numbers: Any, below: int, cells: int = 32) -> bool:
    """Whether numbers are spread evenly over 0 … below - 1."""
    counts = np.bincount(np.ravel(numbers) * cells // below, minlength=cells)
    return bool(stats.chisquare(counts).pvalue > ALARM / 100)  # asked for each of 27 rows


def test_d_sees_uniform_numbers_whatever_bin_a_record_is_in(servers, asked):
    for bin, name in ((BIN, "here"), (None, "absent")):
        sent(servers, *((f"{name} {i}", good(servers, bin)) for i in range(SAME)))
    for request, rounded, beside in opened(servers, asked):
        # Masked: each number is uniform, and so are the shares; no two rows or records have the same mask.
        assert even(rounded, P) and all(even(row, P, 8) for row in rounded.T)
        assert all(even(share, P, 8) for share in onehot.joined(rounded))
        assert len(np.unique(rounded)) > 0.99 * rounded.size
        differences = (rounded[:, :BITS] - onehot.challenge(request.seed, BINS)[:BITS, BIN]) % P
        assert (
            even(differences, P)
            and even((rounded[1:] - rounded[:-1]) % P, P)
            and even((rounded[:, 1:] - rounded[:, :-1]) % P, P)
        )
        # Flooded: what lies beside is the flood, of the stated width, and too little is told apart.
        for part, flood in ((beside[:, :BITS], 1 << 21), (beside[:, BITS:], 1 << 26)):
            assert stats.kstest(part.ravel() / flood, stats.uniform(-1, 2).cdf).pvalue > ALARM
            assert stats.kstest(part.ravel() / (flood * 0.6), stats.uniform(-1, 2).cdf).pvalue < ALARM
        assert abs(np.corrcoef(beside.T)[np.triu_indices(onehot.ROWS, 1)]).max() < 6.5 / SAME**0.5


def test_each_check_has_a_seed_and_a_name_of_its_own(servers, asked):
    """Were it known before, an owner could make a record that passes."""
    for i in range(4):
        sent(servers, (f"seed {i}", good(servers)))
    requests = [request for request, _, _ in opened(servers, asked)]
    assert len({request.seed for request in requests}) == len({request.check for request in requests}) == 4
    assert {len(request.seed) for request in requests} == {32}
    drawn = np.frombuffer(b"".join(request.seed for request in requests), dtype=np.uint8)
    assert len(np.unique(drawn)) > 64  # of 128 bytes


def test_how_a_record_fails_is_not_shown():
    """In slots D finds 0 for a good record, and any number but 0, equally likely, for a bad one."""
    public, secret = seal.slots().new_keys()
    c, d = seal.Public(seal.slots(), public), seal.Secret(seal.slots(), secret)
    wrong = np.array([0] * 100 + [5] * 900)
    masks, z1 = uniform(P, 1000, onehot.ROWS), uniform(P, 1000)
    mask1, mask2 = onehot.joined(masks)
    y1, y2 = (z1 + mask1) % P, (z1 * z1 - wrong + mask2) % P
    message = onehot.tested(c, onehot.encrypted_shares(d, y1, y2), masks)
    found = compare.decrypted(d, message)

    assert (found[:100] == 0).all() and (found[1000:] == 0).all() and len(found) == SLOTS
    assert found[100:1000].all() and len(np.unique(found[100:1000])) > 890
    assert even(found[100:1000], P)
    assert onehot.passed(d, message, 1000).tolist() == [True] * 100 + [False] * 900


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_check_that_is_lost_in_between_is_made_again(servers, asked, monkeypatch, place):
    """Before Verdict, Each or Verdicts."""
    came: list[bytes] = []
    under_way = decrypt.Decryptor._under_way

    def losing(server: Any, name: bytes) -> Any:
        if len(came) == place:
            server._checks.clear()  # as after a restart
        came.append(name)
        return under_way(server, name)

    monkeypatch.setattr(decrypt.Decryptor, "_under_way", losing)
    results = sent(servers, (f"{place} 1", good(servers)), (f"{place} 2", poly(servers, "2x^3")))
    assert [status for status, _ in results] == ["kept", "refused"]
    assert len(came) == place + 1 + 3 and [name for name, _ in asked].count("Check") == 2
    (first, *_), (again, *_) = opened(servers, asked)
    assert first == again  # the same masks: fresh ones would show D two shares of a product


def test_a_check_that_is_lost_each_time_keeps_nothing(servers, monkeypatch):
    def gone(server: Any, name: bytes) -> Any:
        raise CheckLost("gone")

    with monkeypatch.context() as patch:
        patch.setattr(decrypt.Decryptor, "_under_way", gone)
        with Submitter(servers.study) as submitter, pytest.raises(DPError):
            submitter.submit([servers.record("lost", 1)])
    assert sent(servers, ("lost", good(servers))) == [("kept", "")]
