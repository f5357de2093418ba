"""One charge, one draw of noise: whatever the other server sends, and whatever copy of its files a server starts from."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from privjail.encrypted import analyst, journal
from privjail.encrypted.numbers import P, centred
from privjail.encrypted.owner import Submitter
from privjail.errors import DPError

from .parties import Parties


@pytest.mark.parametrize("method", ["block_tree", "partition"])
def test_a_shift_by_the_decryption_server_does_not_get_past_the_other_noise(tmp_path: Path, method: str) -> None:
    """D shifts counts to the edge of the range: x ≤ 2 stays, x > 2 wraps. C's noise must move what wraps."""
    shift, noise = P // 2 - 2, 7
    counts = np.array([1, 2, 3, 4])
    seen: list[int] = []

    def shifted(scale: float, n: int) -> list[int]:
        seen.append(n)
        return [shift if method == "block_tree" or len(seen) > 1 else 10**6] * n  # cuts everywhere, then shifted sums

    def known(scale: float, n: int) -> list[int]:
        return [noise] * n

    parties = Parties(tmp_path, bins=4, budget=100)
    with parties.in_threads(shifted, known), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(np.repeat(np.arange(4), counts)))
        found = analyst.publish(parties.study, parties.tickets.operator(), "r", method, 1)

    released = found.released["leaves" if method == "block_tree" else "sums"]
    assert released.tolist() == centred(counts + noise + shift).tolist()
    assert (released < 0).all()  # at noise 7 all of them wrapped: the side tells nothing of x alone


@pytest.mark.parametrize("server", ["ds", "cs"])
def test_an_old_copy_of_the_state_draws_no_second_noise(tmp_path: Path, server: str) -> None:
    parties = Parties(tmp_path, bins=4, budget=100)
    ticket, state = parties.tickets.operator(), tmp_path / server / "state.sqlite"
    with parties.in_threads(), Submitter(parties.study) as submitter:
        submitter.submit(parties.records([0, 1, 2, 2]))
    shutil.copy(state, tmp_path / "old")
    with parties.in_threads():
        once = analyst.publish(parties.study, ticket, "r", "block_tree", 1)
    with parties.in_threads():  # a restart is no old copy
        assert analyst.publish(parties.study, ticket, "r", "block_tree", 1).to_json() == once.to_json()
    for each in (tmp_path / server).glob("state.sqlite*"):
        each.unlink()
    shutil.copy(tmp_path / "old", state)
    if server == "ds":  # and the compute server asks anew
        for name in ("state.sqlite*", "ledger.sqlite*", "anchor.*"):
            for each in (tmp_path / "cs").glob(name):
                each.unlink()
    with parties.in_threads(), pytest.raises(DPError, match="an old copy"):
        analyst.publish(parties.study, ticket, "r", "block_tree", 1)


@pytest.mark.parametrize("method", ["block_tree", "partition"])
def test_what_led_to_a_release_is_gone_when_it_is_published(tmp_path: Path, method: str) -> None:
    """Masks of C and shares of D, looked for in every file, the write-ahead log included."""
    parties = Parties(tmp_path, bins=64, budget=100)
    made: list[bytes] = []
    whole = journal.to_bytes

    def noted(arrays: journal.Arrays) -> bytes:
        made.extend(a.tobytes() for name, a in arrays.items() if name in ("masks", "y", "share", "coins"))
        return whole(arrays)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "to_bytes", noted)
        with parties.in_threads(), Submitter(parties.study) as submitter:
            submitter.submit(parties.records([0, 1, 2, 2]))
            analyst.publish(parties.study, parties.tickets.operator(), "r", method, 1)
            files = [each.read_bytes() for each in tmp_path.rglob("state.sqlite*")]
    assert len(made) == (1 if method == "block_tree" else 4)
    assert not any(secret[at : at + 240] in f for secret in made for at in (0, 240) for f in files)
