"""Concurrency limits that runs share through a Prefect server."""
