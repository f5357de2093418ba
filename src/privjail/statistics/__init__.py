"""Statistics that are ordinary programs over releases: what every face (pandas, numpy) offers under its own names.

Each function asks the jail for private counts, sums or scores in one step, and computes the rest from the public
answers. Nothing here is trusted: a mistake costs accuracy, never privacy.
"""
