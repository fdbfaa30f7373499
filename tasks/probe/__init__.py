"""Builds the cases of a bias probe from a target file."""
