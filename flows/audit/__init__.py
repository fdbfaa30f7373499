"""The audit as a Prefect flow, its forecast, tables and artifacts."""
