"""Tries to refute mechanisms and programs: exactly where possible, statistically where not."""
