"""The analyst's and the operator's side: publish once, then ask ranges of the published histogram for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.study import Study
from privjail.encrypted.wire import Caller
from privjail.errors import DPError
from privjail.histograms import PrivateHistogram


def fetch(study: Study, release: str = "") -> PrivateHistogram:
    """A published histogram, by default the newest. Its range queries need no server and cost nothing."""
    caller = Caller("Compute", study.compute)
    try:
        reply = caller.call("Histogram", pb.HistogramRequest(release=release), pb.HistogramReply)
    finally:
        caller.close()
    return PrivateHistogram.from_json(reply.histogram)


def publish(
    study: Study, ticket: bytes, release: str, method: str, epsilon: Any,
    told: Callable[[int, int, str], None] = lambda done, of, doing: None,
) -> PrivateHistogram:  # fmt: skip
    """Have the servers make a release. The same name again continues it, or returns what was published."""
    request = pb.PublishRequest(ticket=ticket, release=release, method=method, epsilon=str(epsilon))
    caller = Caller("Compute", study.compute)
    try:
        for progress in caller.parts("Publish", request, pb.Progress):
            told(progress.done, progress.of, progress.doing)
            if progress.histogram:
                return PrivateHistogram.from_json(progress.histogram)
    finally:
        caller.close()
    raise DPError("the compute server stopped in the middle", do="publish again under the same name: it goes on")


def status(study: Study, ticket: bytes) -> Any:
    """Submissions, refusals, what was spent and what was published."""
    caller = Caller("Compute", study.compute)
    try:
        return caller.call("Status", pb.StatusRequest(ticket=ticket), pb.StatusReply)
    finally:
        caller.close()
