"""Data sets as the curator describes them: schemas, and loading that enforces them."""
