"""Engines that are asked in SQL: DuckDB in this process, and Spark through Spark Connect."""
