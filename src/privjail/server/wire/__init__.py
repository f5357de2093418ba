"""What travels: messages, and nodes encoded and decoded from their declared types."""
