"""Multi-agent interactions as a Prefect flow, their forecast, tables and artifacts."""
