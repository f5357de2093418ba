"""The jail: another process holds the data. This folder, with client.py, is all that knows the wire."""
