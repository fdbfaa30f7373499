"""Catalog commands: import, augment, accept, coverage."""
