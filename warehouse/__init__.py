"""The Parquet lake and the DuckDB warehouse that is built from it."""
