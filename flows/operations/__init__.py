"""Processes around a run: Prefect's server, expectations, secrets, `doctor`."""
