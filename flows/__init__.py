"""Wiring: Prefect flows over the four verbs, and the command line."""
