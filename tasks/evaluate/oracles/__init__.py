"""Oracles: columns of replies to outcomes."""
