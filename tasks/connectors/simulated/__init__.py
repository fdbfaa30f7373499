"""Simulated models of known bias: the truth against which the whole pipeline is checked, with no key."""
