"""The wire: messages, and the encoding and decoding of nodes by their declared types."""
