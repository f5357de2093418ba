"""Before anybody is asked: which channels to offer, and how accurate the result will be."""
