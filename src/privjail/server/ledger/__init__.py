"""The durable ledger: events in one chain, anchors, SQLite or PostgreSQL."""
