"""The embedded engine: runs plans on Polars."""
