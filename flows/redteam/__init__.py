"""The red team as a Prefect flow, its forecast, tables and artifacts."""
