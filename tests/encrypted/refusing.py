"""Records as owners send them, also those that they should not."""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import Submitter, submission
from privjail.encrypted.records import Encryptor
from privjail.encrypted.study import Study

from .parties import Parties

BINS = 16


def sent(
    parties: Parties, *submissions: tuple[str, bytes], study: Study | None = None, ticket: bytes | None = None
) -> Any:
    study = study or parties.study
    owners = [(name, ticket or parties.tickets.owner(name)) for name, _ in submissions]
    request = submission(study, owners, [record for _, record in submissions])
    with Submitter(parties.study) as submitter:
        return [(r.status, r.why) for r in submitter.caller.call("Submit", request, pb.SubmitReply).results]


def encryptor(parties: Parties) -> Encryptor:
    return Encryptor(parties.study.id, parties.study.records_key, parties.study.terms.bins)


def good(parties: Parties, bin: int | None = 3) -> bytes:
    return encryptor(parties).record(bin)


def holding(parties: Parties, counts: dict[int, int]) -> bytes:
    """A record of any numbers, as a malicious owner may encrypt them."""
    plain = np.zeros(parties.study.terms.bins, dtype=np.int64)
    for bin, count in counts.items():
        plain[bin] = count
    return encryptor(parties).encrypted(plain)
