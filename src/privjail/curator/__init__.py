"""What the owner of the data runs: schemas now; publishing, grants and the ledger with the jail."""
