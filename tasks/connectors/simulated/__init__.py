"""Simulated models of known bias, which check the whole pipeline without an API key."""
