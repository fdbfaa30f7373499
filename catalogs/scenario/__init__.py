"""Scenario, target and interaction files with every name resolved."""
