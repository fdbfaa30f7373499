"""Metrics, traces and log lines of runs, where the environment asks for them."""
