"""Row-wise expressions: one value per row of a base."""
