"""Builds the DuckDB warehouse from the lake."""
