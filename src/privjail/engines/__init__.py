"""Engines run checked plans. They see data; nothing they compute leaves except through release.py."""
