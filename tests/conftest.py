"""For all tests."""

from hypothesis import settings

# A busy machine is no failure: what takes too long is found by looking at the slowest tests, not by a stopwatch.
settings.register_profile("privjail", deadline=None)
settings.load_profile("privjail")
