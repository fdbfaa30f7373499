"""Scenes that a model writes for review."""
