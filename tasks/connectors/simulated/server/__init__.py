"""Simulated respondents over HTTP, in the providers' protocols."""
