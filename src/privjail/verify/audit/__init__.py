"""Audits of programs: what a run on dummy data shows, compared with runs on neighbouring data."""
