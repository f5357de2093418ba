"""Goodness of fit: does a sample look like a law?"""

from privjail.verify.checks.fit import NEVER, fits, fits_law, p_value

__all__ = ["NEVER", "fits", "fits_law", "p_value"]
