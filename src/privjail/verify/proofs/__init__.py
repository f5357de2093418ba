"""Theorems of differential privacy as obligations for z3."""
