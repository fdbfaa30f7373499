"""Resolves all names in scenario, target and interaction files."""
