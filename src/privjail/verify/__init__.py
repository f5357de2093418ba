"""Claims that are checked: mechanisms, programs and single releases."""
