"""Tries to refute mechanisms, programs and single releases: exactly where possible, statistically where not."""
