"""One file per operation: the node, its domain rule, its distance rule, and each engine's line."""
