"""Where everything lands: the Parquet lake and the DuckDB warehouse built from it."""
