"""Three real processes on loopback: owners, compute server, decryption server, by their commands."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from privjail.encrypted import analyst
from privjail.encrypted.owner import Submitter
from privjail.errors import BudgetExceeded, DPError

from .parties import Parties, free_port, privjail


def said(*args: str, cwd: Path) -> str:
    done = privjail(*args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_from_keys_to_range_queries(tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    promise = said(
        "keys", "decrypt", "ds", "--bins", "8", "--budget", "2", "--address", f"127.0.0.1:{ports[0]}", cwd=tmp_path
    )
    assert "send an encryption of nothing" in " ".join(promise.split())
    said("keys", "compute", "cs", "--offer", "ds/offer.json", "--address", f"127.0.0.1:{ports[1]}", cwd=tmp_path)
    (tmp_path / "names").write_text("".join(f"p{i}\n" for i in range(40)))
    said("keys", "owners", "cs", "names", "--out", "tickets.csv", cwd=tmp_path)
    said("keys", "operator", "cs", cwd=tmp_path)
    fingerprint = promise.split("fingerprint: ")[1].split()[0]
    lines = ["owner,bin", *(f"p{i},{i % 4 if i < 30 else ''}" for i in range(40))]
    (tmp_path / "records.csv").write_text("\n".join(lines))
    parties = Parties.__new__(Parties)
    parties.where, parties.processes = tmp_path, {}
    with parties.as_processes():
        submit = ("submit", "cs/study.json", "records.csv", "--tickets", "tickets.csv", "--fingerprint")
        swapped = privjail(*submit, "0" * 32, cwd=tmp_path)
        submitted = said(*submit, fingerprint, cwd=tmp_path)
        again = said("submit", "cs/study.json", "records.csv", "--tickets", "tickets.csv", cwd=tmp_path)
        asked = ("publish", "cs/study.json", "--operator", "operator.ticket", "--epsilon", "3/2", "--for", "ranges",
                 "--release", "may")  # fmt: skip
        published = said(*asked, cwd=tmp_path)
        answers = said("query", "cs/study.json", "0:4", "4:8", "2", "--out", "may.json", cwd=tmp_path)
        plain = said("query", "cs/study.json", "0:4", "--unsmoothed", cwd=tmp_path)
        dear = privjail(*asked[:-1], "june", cwd=tmp_path)
        state = said("status", "cs/study.json", "--operator", "operator.ticket", cwd=tmp_path)
    offline = said("query", "may.json", "0:4", cwd=tmp_path)

    assert swapped.returncode == 2 and "another key, or other terms" in " ".join(swapped.stderr.split())
    assert "40 kept" in submitted and "40 there before" in again
    assert "8 bins" in published and "epsilon: 1.5" in published
    assert "0 … 3" in answers and "2 … 2" in answers and "0 … 3" in offline
    assert "0.95 of the time between" in answers and "± standard error" in plain
    assert dear.returncode == 2 and "privjail: error: " in dear.stderr
    assert "40 submissions" in state and "3/2 of 2" in state


@pytest.mark.slow
@pytest.mark.parametrize("method", ["block_tree", "partition"])
def test_either_server_may_be_killed_at_any_time(tmp_path: Path, method: str) -> None:
    parties = Parties(tmp_path, bins=16, budget=4000)
    bins = np.repeat(np.arange(16), 5)
    with parties.as_processes(), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(bins[:40]), batch=20)
        parties.kill("decrypt")
        with pytest.raises(DPError):  # a check is needed, and nobody answers it: nothing of the batch is taken
            Submitter(parties.study).caller.call(
                "Submit", submitter._encrypted(parties.records(bins)[40:42]), _reply(), patience=0.1
            )
        parties.start("decrypt")
        parties.kill("compute")
        parties.start("compute")
        report = submitter.submit(parties.records(bins), batch=20)
        told = []

        def interrupt(done: int, of: int, doing: str) -> None:
            told.append(doing)
            if doing.startswith("waiting") and len(told) < 4:
                parties.kill("decrypt")
                time.sleep(0.5)
                parties.start("decrypt")
            if doing.startswith("comparing"):
                parties.kill("compute")
                parties.start("compute")

        try:
            found = analyst.publish(parties.study, parties.tickets.operator(), "one", method, 2000, interrupt)
        except DPError:
            found = analyst.publish(parties.study, parties.tickets.operator(), "one", method, 2000)
        state = analyst.status(parties.study, parties.tickets.operator())

    assert (report.kept, report.known, report.refused) == (40, 40, {})
    assert (state.submissions, state.spent) == (80, "2000")  # nothing twice, and paid once
    # ε is so large that the noise is 0 but for a chance of e**-100: the counts must be exact.
    assert np.allclose(found.counts, 5)


def _reply():
    from privjail.encrypted import encrypted_pb2 as pb

    return pb.SubmitReply


def test_a_killed_server_goes_on_where_it_was(tmp_path: Path) -> None:
    """The short form of the test above: killed between two batches and in the middle of a release."""
    parties = Parties(tmp_path, bins=8, budget=4000)
    bins = np.repeat(np.arange(8), 4)
    with parties.as_processes(), Submitter(parties.study) as submitter:
        submitter.submit(parties.records(bins[:16]))
        parties.kill("compute")
        parties.start("compute")
        report = submitter.submit(parties.records(bins))

        def interrupt(done: int, of: int, doing: str) -> None:
            if doing.startswith("comparing"):
                parties.kill("decrypt")
                parties.start("decrypt")

        found = analyst.publish(parties.study, parties.tickets.operator(), "one", "partition", 2000, interrupt)
        state = analyst.status(parties.study, parties.tickets.operator())

    assert (report.kept, report.known) == (16, 16)
    assert (state.submissions, state.spent) == (32, "2000")
    assert np.allclose(found.counts, 4)  # at this ε the noise is 0 but for a chance of e**-100


def test_a_stranger_is_refused(tmp_path: Path) -> None:
    parties = Parties(tmp_path, budget=1)
    other = Parties(tmp_path / "other")
    with parties.as_processes():
        with pytest.raises(DPError, match="only the study's operator"):
            analyst.publish(parties.study, other.tickets.operator(), "x", "block_tree", 1)
        with pytest.raises(DPError, match="nothing of this name"):
            analyst.fetch(parties.study)
        analyst.publish(parties.study, parties.tickets.operator(), "x", "block_tree", 1)
        with pytest.raises(BudgetExceeded):
            analyst.publish(parties.study, parties.tickets.operator(), "y", "block_tree", "1/100")
