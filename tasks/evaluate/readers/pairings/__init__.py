"""Reads which attribute a reply gives each person."""
