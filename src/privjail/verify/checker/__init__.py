"""An independent checker of certificates. Start with README.md in this folder; ``check`` is in check.py.

It shares no code with the library that writes certificates. What it does not know it cannot check, and says so.
"""

from privjail.verify.checker.check import check
from privjail.verify.checker.verdict import Report

__all__ = ["Report", "check"]
