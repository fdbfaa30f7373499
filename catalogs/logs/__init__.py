"""Logs of other evaluation tools: read, recognised by content, and mapped to samples by fields."""
