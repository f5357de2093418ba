"""Records as owners send them, also those that they should not."""

from __future__ import annotations

from typing import Any

import numpy as np

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import Submitter, submission
from privjail.encrypted.records import encrypt_record, pack_record
from privjail.encrypted.seal import Public, records
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


def good(parties: Parties, bin: int | None = 3) -> bytes:
    return encrypt_record(Public(records(), parties.study.records_key), BINS, bin)


def poly(parties: Parties, text: str) -> bytes:
    """A record of any polynomial, as a malicious owner may encrypt it."""
    public = Public(records(), parties.study.records_key)
    ciphertext = public.scheme.seal.Ciphertext()
    public._encryptor.encrypt(public.scheme.seal.Plaintext(text), ciphertext)
    c0, c1 = public.scheme.words(ciphertext)[:, 0]
    return pack_record(np.concatenate([c1, c0[:BINS]]))
