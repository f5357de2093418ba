"""Private numbers and vectors: counts, sums, and what is computed from them."""
