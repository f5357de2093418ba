"""The jail as a server: wire, sessions, limits, and the durable ledger."""
