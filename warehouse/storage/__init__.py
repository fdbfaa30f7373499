"""The Parquet lake: journals, runs, locks."""
