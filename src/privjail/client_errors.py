"""What goes wrong between a client and a jail, as errors for the analyst."""

from __future__ import annotations

import json
from typing import Any

from privjail import errors
from privjail.errors import DPError


class SessionLost(DPError):
    """The jail no longer knows this session."""


class NotAccepted(DPError):
    """The jail does not accept the token."""


class Unreachable(DPError):
    """The jail does not answer."""


def refused(status: str, details: str) -> Exception:
    """The error that a single call would have raised."""
    from privjail.server.wire.rpc import grpc

    class Refused(grpc.RpcError):  # type: ignore[misc]
        def code(self) -> Any:
            return grpc.StatusCode[status]

        def details(self) -> str:
            return details

    return Refused()


def answer_in(e: Any) -> Any:
    """The jail's error in a gRPC error; None if the error is gRPC's own."""
    try:
        name, what, plan, do = json.loads(e.details())
    except (ValueError, TypeError):
        return None
    return name, what, plan, do


def error_of(e: Any) -> DPError:
    """The jail's error as a Python exception."""
    answer = answer_in(e)
    if answer is None:
        return unreachable(e)
    name, what, plan, do = answer
    if name == "SessionError":
        return SessionLost(what, plan=plan, do=do)
    if e.code().name == "UNAUTHENTICATED":
        return NotAccepted(what, plan=plan, do=do)
    known = getattr(errors, name, DPError)
    cls = known if isinstance(known, type) and issubclass(known, DPError) else DPError
    return cls(what, plan=plan, do=do)


def unreachable(e: Any) -> DPError:
    from privjail.server.wire.rpc import grpc

    if e.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return DPError("the request is too large for this jail", do="release less at once")
    return Unreachable(
        f"the jail cannot be reached ({e.code().name.lower()})",
        do="is it served, and at the address that the connection file says?",
    )
