"""Nodes and their public facts: domain, distance, rows, cell. Nothing here ever sees a data value."""
