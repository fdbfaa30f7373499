"""The bias probe as a Prefect flow, its forecast, tables and artifacts."""
