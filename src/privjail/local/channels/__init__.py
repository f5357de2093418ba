"""Randomisers, each with an exact law, and the strength of a menu of them."""
