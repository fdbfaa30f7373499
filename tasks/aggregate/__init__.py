"""Builds the warehouse from verdicts and queries its findings."""
