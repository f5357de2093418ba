"""What privacy costs: exact amounts, one accountant per notion of privacy, and the ledger."""
