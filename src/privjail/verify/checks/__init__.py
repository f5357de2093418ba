"""Checks of mechanisms: exact laws, draws, the black box; and wrong mechanisms that they must refute."""
