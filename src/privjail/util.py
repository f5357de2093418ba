"""The root of every error, under the name that a traceback prints: ``privjail.util.DPError``."""

from __future__ import annotations


class DPError(Exception):
    """A program that cannot be run without breaking differential privacy, or that makes no sense.

    The message says what is wrong, then where (``plan``), then what to do. It is made from public
    facts only, never from a data value: an error is an output too.
    """

    def __init__(self, what: str, *, plan: str | None = None, do: str | None = None) -> None:
        self.what, self.plan, self.do = what, plan, do
        lines = [what]
        if plan is not None:
            lines.append(f"  plan: {plan}")
        if do is not None:
            lines.append(f"  do:   {do}")
        super().__init__("\n".join(lines))
